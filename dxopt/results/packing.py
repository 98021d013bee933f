"""Conversion of parts of a report to arrays of a result folder and back: sets of priors, beliefs, held-out data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dxopt.analysis.held_out import AtPositions, HeldOut, Observed, worth_on
from dxopt.errors import SpecError
from dxopt.model.beliefs.pairs import BeliefPairs
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.moment_sets import Fitting, unpack_fitting
from dxopt.model.objective import Objective, WorstExpectedLoss, WorstRegret, losses_of
from dxopt.model.prior import Prior
from dxopt.model.prior_sets import Hull, PriorSet, unpack_set
from dxopt.model.problem import Problem
from dxopt.results.folder import HELD_OUT
from dxopt.runtime.archive import names_in
from dxopt.spaces.units import per
from dxopt.words.report import named_loss


def unit_names(problem: Problem) -> dict[str, str]:
    """Return the units of distances, losses and the value, "" where they are not known."""
    return {"distance": problem.space.unit, "loss": problem.loss.unit, "value": problem.unit}


def level_axis(problem: Problem) -> str:
    """Return the label of a figure's axis of privacy levels."""
    return f"ε {per(problem.space.unit)}"


def value_axis(problem: Problem) -> str:
    """Return the label of a figure's axis of values of the objective."""
    # an adversary's error (sign -1) is in the adversary's loss, not in that of the problem
    unit = problem.unit if problem.objective.sign < 0 else named_loss(problem)
    return f"{problem.objective.title} ({unit})" if unit else problem.objective.title


_SET = "prior_set"
"""Entry of problem.npz with the kind of the set, and prefix of its arrays."""


def pack_set(problem: Problem, mechanism: Mechanism) -> dict[str, Any]:
    """Return the entries of problem.npz about the problem's set of priors; empty where there is one prior alone.

    The centre of the set is not among them: it is stored as the prior. `proof` are multipliers that prove the value
    of the mechanism over all priors that fit given totals.
    """
    priors = problem.priors
    if priors is None:
        return {}
    arrays = priors.arrays()
    if isinstance(problem.objective, WorstRegret):
        arrays |= {"lowest": problem.objective.lowest, "highest": problem.objective.highest}
    if isinstance(priors, Fitting) and isinstance(mechanism, MatrixMechanism):
        arrays["proof"] = priors.multipliers(losses_of(problem, mechanism.matrix, priors.reach))
    return {_SET: priors.kind, **{f"{_SET}.{key}": array for key, array in arrays.items()}}


def unpack_prior(name: str, objective: str, asked: Mapping[str, Any]) -> Prior | PriorSet:
    """Return the prior in the arrays of problem.npz; the set of `pack_set` where the objective is about one."""
    prior = Prior(asked["prior"], name)
    if objective not in (WorstExpectedLoss.name, WorstRegret.name):
        return prior
    arrays = {key.removeprefix(f"{_SET}."): array for key, array in asked.items() if key.startswith(f"{_SET}.")}
    if str(asked[_SET]) == Fitting.kind:
        return unpack_fitting(prior.probabilities, arrays)
    return unpack_set(str(asked[_SET]), prior.probabilities, name, arrays)


def with_known_optima(
    prior: Prior | PriorSet, asked: Mapping[str, Any], objective: str | Objective
) -> str | Objective:
    """Return the objective; for a worst regret with the optimum of each member of the hull, from problem.npz.

    `lowest` are the proven bounds of these optima, and `highest` their values.
    """
    if objective != WorstRegret.name or not isinstance(prior, Hull):
        return objective
    lowest, highest = (np.array(asked[f"{_SET}.{key}"], dtype=float) for key in ("lowest", "highest"))
    for known in (lowest, highest):
        if known.shape != (len(prior.members),) or not np.isfinite(known).all():
            raise SpecError("prior", "has no optimum for each of its members", "solve the problem again")
    return WorstRegret(prior, lowest, highest)


PREFIX = "belief_"
KEYS = ("first", "second", "distances", "epsilon", "names", "left_out")
"""Names of the arrays of pairs of beliefs in problem.npz: `PREFIX` and one of `KEYS`."""
NO_TABLE = "rounded to integers it would not be proven for the pairs of beliefs"


def pack_beliefs(pairs: BeliefPairs | None) -> dict[str, Any]:
    """Return the arrays from which `unpack_beliefs` rebuilds the pairs, for problem.npz; empty for None.

    `pairs.level` raises SpecError if no ε was set. `left_out` names the requested events that have probability 0
    under a belief.
    """
    if pairs is None:
        return {}
    found = {key: getattr(pairs, key) for key in ("first", "second", "distances")}
    found |= {"epsilon": pairs.level, "names": np.array(pairs.names), "left_out": np.array(pairs.left_out, dtype=str)}
    return {PREFIX + key: found[key] for key in KEYS}


def unpack_beliefs(arrays: Mapping[str, Any], labels: Sequence[str]) -> BeliefPairs | None:
    """Return the pairs that `pack_beliefs` stored, about secrets with these labels; None where none are stored."""
    if not any(PREFIX + key in arrays for key in KEYS):
        return None
    found = {key: arrays[PREFIX + key] for key in KEYS}
    return BeliefPairs(
        found["first"],
        found["second"],
        distances=found["distances"],
        epsilon=float(found["epsilon"]),
        names=names_in(found, "names", len(found["first"])),
        labels=labels,
        left_out=names_in(found, "left_out"),
    )


def pack_held_out(several: Sequence[HeldOut]) -> dict[str, Any]:
    """Return the arrays of held_out.npz: the weight of each data set at each secret, from which its losses follow."""
    return {
        f"{place}/{key}": getattr(found.data, key)
        for place, found in enumerate(several)
        for key in ("name", "weights", "squares", "rows", "outside")
    }


def unpack_held_out(
    arrays: Mapping[str, Any], positions: Sequence[AtPositions | None], mechanism: Mechanism, problem: Problem
) -> tuple[HeldOut, ...]:
    """Rebuild evaluations on held-out data from the arrays of `pack_held_out`, their losses computed again.

    Only `positions`, losses between positions or None, are as they were noted: the folder does not hold that data.
    """
    several = []
    for place, at in enumerate(positions):
        weights, squares = (np.asarray(arrays[f"{place}/{key}"], dtype=float) for key in ("weights", "squares"))
        rows, outside = int(arrays[f"{place}/rows"]), float(arrays[f"{place}/outside"])
        wanted = (len(mechanism.space),)
        good = all(found.shape == wanted and np.isfinite(found).all() for found in (weights, squares))
        if not (
            good and min(weights.min(), squares.min()) >= 0 and weights.any() and rows > 0 and 0 <= outside < np.inf
        ):
            raise SpecError(HELD_OUT, f"set {place} is no data about {wanted[0]} secrets", "solve the problem again")
        data = Observed(str(arrays[f"{place}/name"]), weights, squares, rows, outside)
        again = worth_on(data, mechanism, problem.loss, problem.prior.probabilities)
        several.append(replace(again, positions=at))
    return tuple(several)
