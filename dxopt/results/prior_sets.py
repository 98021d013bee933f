"""The priors of a problem, one or a set in a result folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dxopt.errors import CertificateError, SpecError
from dxopt.model.fitting_sets import Fitting, unpack_fitting
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.objective import Objective, WorstExpectedLoss, WorstRegret, losses_of
from dxopt.model.prior import Prior
from dxopt.model.prior_sets import Hull, PriorSet, unpack_set
from dxopt.model.problem import Problem
from dxopt.proofs.certify import Certificate

_SET = "prior_set"


def packed_set(problem: Problem, mechanism: Mechanism) -> dict[str, Any]:
    """The arrays of a set beside its centre, with what proves a mechanism's value; none where there is no set."""
    priors = problem.priors
    if priors is None:
        return {}
    arrays = priors.arrays()
    if isinstance(problem.objective, WorstRegret):
        arrays |= {"lowest": problem.objective.lowest, "highest": problem.objective.highest}
    if isinstance(priors, Fitting) and isinstance(mechanism, MatrixMechanism):
        arrays["proof"] = priors.multipliers(losses_of(problem, mechanism.matrix, priors.reach))
    return {_SET: priors.kind, **{f"{_SET}.{key}": array for key, array in arrays.items()}}


def believed(name: str, objective: str, asked: Mapping[str, Any]) -> Prior | PriorSet:
    """The prior of problem.npz, or the set of priors where the objective is about one.

    Raises
    ------
    SpecError
        If the arrays are none of a prior or a set, or of another one than is said.
    """
    prior = Prior(asked["prior"], name)
    if objective not in (WorstExpectedLoss.name, WorstRegret.name):
        return prior
    arrays = {key.removeprefix(f"{_SET}."): array for key, array in asked.items() if key.startswith(f"{_SET}.")}
    if str(asked[_SET]) == Fitting.kind:
        return unpack_fitting(prior.probabilities, arrays)
    return unpack_set(str(asked[_SET]), prior.probabilities, name, arrays)


def against_known(prior: Prior | PriorSet, asked: Mapping[str, Any], objective: str | Objective) -> str | Objective:
    """The objective, with what problem.npz has of the optima that a regret is against.

    Raises
    ------
    SpecError
        If there is not one number for each prior.
    """
    if objective != WorstRegret.name or not isinstance(prior, Hull):
        return objective
    lowest, highest = (np.array(asked[f"{_SET}.{key}"], dtype=float) for key in ("lowest", "highest"))
    for known in (lowest, highest):
        if known.shape != (len(prior.members),) or not np.isfinite(known).all():
            raise SpecError("prior", "has no optimum for each of its members", "solve the problem again")
    return WorstRegret(prior, lowest, highest)


def require_optima(objective: Objective, members: Sequence[tuple[Problem, Certificate]]) -> None:
    """CertificateError unless some answers prove the optima that a regret is against."""
    if not isinstance(objective, WorstRegret) or objective.lowest is None or objective.highest is None:
        return
    if len(members) != len(objective.lowest):
        raise CertificateError("there is not an optimum for each prior that the regret is about")
    each = zip(members, objective.priors.members, objective.lowest, objective.highest, strict=True)
    for (problem, proof), member, low, high in each:
        same = problem.objective.name == "expected_loss" and np.array_equal(problem.prior.probabilities, member)
        if not same or proof.bound != low or proof.value != high:
            raise CertificateError(f"the optimum for {problem.prior.name} is not the one that was saved")
