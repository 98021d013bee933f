"""Reading of a result folder: its arrays are decoded, and its claims compared with what `proofs.certify` proves."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dxopt.errors import CertificateError, SpecError
from dxopt.model.loss import Loss
from dxopt.model.mechanism import Mechanism, is_matrix, unpacked
from dxopt.model.objective import AdversaryError, ExpectedLoss, WorstRegret
from dxopt.model.problem import Problem
from dxopt.model.reports import unpack_reports
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import Certificate, certify, gap, is_optimal
from dxopt.proofs.duals import pack_dual, unpack_dual
from dxopt.results.claims import Claims, LevelFile, Notes, read_typed, undamaged
from dxopt.results.comparison_folder import difference, read_comparison
from dxopt.results.folder import CLAIMS, DUAL, HELD_OUT, LEVEL, MECHANISM, NOTES, PARTS, PROBLEM, SWEEP, holds_report
from dxopt.results.packing import (
    AtPositions,
    unit_names,
    unpack_beliefs,
    unpack_held_out,
    unpack_prior,
    with_known_optima,
)
from dxopt.results.report import Report
from dxopt.runtime.reading import as_path, is_file, no_result, read_arrays
from dxopt.runtime.stopping import Status
from dxopt.spaces.archive import unpack as unpack_space
from dxopt.spaces.archive import with_distances
from dxopt.spaces.geo.levels import Level
from dxopt.verify.entries import require_posed
from dxopt.verify.folder import Result, require_sizes
from dxopt.verify.proving import require_named
from dxopt.verify.verdict import Broken

AGREEMENT = 1e-12
"""Tolerance of a number proven again against the saved one, relative where it is above 1."""


def load(folder: str | Path) -> Report:
    """Read a result folder, proving privacy, value and bound again from its arrays.

    Measures and the comparison are those that were saved; `dxopt verify` proves them.

    Raises
    ------
    SpecError
        If the folder is no result, misses a file, has another format version, or an entry or array of a wrong kind.
    CertificateError
        If the channel cannot be proven private, or a number of the certificate differs from the saved one by more
        than 1e-12.

    Examples
    --------
    >>> import dxopt as dx
    >>> report = dx.solve(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"))
    >>> again = dx.load(report.save("results/line"))
    >>> print(again.certificate.private, again.certificate.value == report.certificate.value)
    True True
    """
    folder = as_path(folder, "folder")
    if is_file(folder / SWEEP):
        fix = f"load a level of it, as {folder / PARTS / '000'}, or use dx.EpsilonSweep.load"
        raise SpecError("folder", f"{folder} is a sweep", fix)
    if not holds_report(folder):
        raise no_result(folder, "folder", "is no result folder of a report", "name one that `save` wrote")
    with undamaged(folder):
        if is_file(folder / LEVEL):
            read_typed(folder / LEVEL, LevelFile)
        report = _read_report(folder)
        return replace(report, comparison=read_comparison(folder, report, load))


def read_problem(folder: Path) -> tuple[Problem, Claims]:
    """Decode the problem of a result folder, with its claims, without proving the mechanism that is saved with it.

    Raises
    ------
    SpecError
        If the folder misses a file, has another format version, or arrays of wrong shapes or numbers.
    """
    with undamaged(folder):
        claims = read_typed(folder / CLAIMS, Claims)
        return _decode(folder, claims)[0], claims


def _read_report(folder: Path) -> Report:
    """Return the report of a folder, without its comparison, after proving what its claims say."""
    claims, notes = read_typed(folder / CLAIMS, Claims), read_typed(folder / NOTES, Notes)
    problem, mechanism = _decode(folder, claims)
    if (units := unit_names(problem)) != claims.problem.units:
        raise CertificateError(
            f"{CLAIMS}: problem.units are {units} by the arrays, but {claims.problem.units} was saved"
        )
    problem = _with_optima(folder, problem)
    stored = read_arrays(folder / DUAL)
    dual = unpack_dual(stored)
    if other := {*pack_dual(dual, len(problem.space))} ^ {*stored}:
        raise SpecError(f"{DUAL}: {min(other)}", "is unknown or missing", "solve the problem again")
    proven = certify(problem, Candidate(mechanism, dual, claims.found.claim))
    proof = proven.certificate
    optimal = is_optimal(problem, proven.mechanism, proof.value, proof.bound, claims.tolerance)
    _require_claimed(claims, proof, optimal=optimal)
    positions = tuple(None if note is None else AtPositions(**_with_infinity(note)) for note in notes.held_out)
    return Report(
        problem=problem,
        mechanism=proven.mechanism,
        certificate=proof,
        dual=dual,
        status=Status(claims.status),
        **dict(claims.found),
        tolerance=claims.tolerance,
        evaluation=claims.evaluation,
        beliefs=claims.beliefs,
        held_out=unpack_held_out(read_arrays(folder / HELD_OUT), positions, proven.mechanism, problem)
        if positions
        else (),
        route=notes.route,
        seconds=notes.seconds,
        refused=notes.refused,
        reductions=notes.reductions,
        plugins=notes.plugins,
    )


def _with_infinity(numbers: dict[str, Any]) -> dict[str, Any]:
    """Return losses at positions from JSON, with infinity for null; a null standard error is unknown instead."""
    return {key: math.inf if one is None and key != "standard_error" else one for key, one in numbers.items()}


def _require_claimed(claims: Claims, proof: Certificate, *, optimal: bool) -> None:
    """Raise CertificateError where claims.json claims something else than was proven just now."""
    for name, claimed in claims.certificate:
        proven = getattr(proof, name)
        number = math.inf if name == "epsilon" and claimed is None else claimed  # JSON has no infinity
        if name == "gap":
            # a gap near 0 has no digits of its own: it is compared with that of the saved value and bound
            proven = gap(claims.certificate.value, claims.certificate.bound)
            same = abs(number - proven) <= AGREEMENT * proven
        elif number is None or proven is None or isinstance(number, bool):
            same = number is proven
        else:
            same = math.isclose(number, proven, rel_tol=AGREEMENT, abs_tol=AGREEMENT)
        if not same:
            raise CertificateError(f"{CLAIMS}: certificate.{name} is {proven} by the arrays, but {claimed} was saved")
    if (claims.status == Status.OPTIMAL) != optimal:
        raise CertificateError(f"{CLAIMS}: status {claims.status!r} does not fit a gap of {proof.gap:.2e}")


def _decode(folder: Path, claims: Claims) -> tuple[Problem, Mechanism]:
    """Return the problem and the mechanism of a folder; one with a matrix has no privacy before it is proven."""
    try:
        require_sizes(folder)
        asked, stored = read_arrays(folder / PROBLEM), read_arrays(folder / MECHANISM)
        require_posed(asked, claims.problem.objective)
    except Broken as error:
        raise ValueError(error) from None
    if odd := [key for key in ("format", "name") if key in stored and stored[key].ndim]:
        raise ValueError(f"{odd[0]} of {MECHANISM} is an array {stored[odd[0]].shape}")
    if is_matrix(stored):
        space = unpack_space(stored)
        space = with_distances(space, asked["distances"]) if "distances" in asked else space
        reports = unpack_reports(stored, space)
        mechanism = Mechanism.from_matrix(space, stored["matrix"], reports, name=str(stored["name"]))
    else:
        mechanism = unpacked(stored)
    if other := {*mechanism.packed(), "format"} ^ {*stored}:
        raise SpecError(f"{MECHANISM}: {min(other)}", "is unknown or missing", "solve the problem again")
    problem = _problem_from(claims, asked, mechanism)
    try:
        require_named(Result(folder, {}, claims.problem.model_dump(), {}, asked, stored, {}))
    except Broken as error:
        raise CertificateError(f"{CLAIMS}: the prior or the loss is another than it is named: {error}") from None
    return problem, mechanism


def _problem_from(claims: Claims, asked: dict[str, Any], mechanism: Mechanism) -> Problem:
    """Return the problem of claims.json and the arrays `asked` of problem.npz, on the space of a mechanism."""
    space, reports, posed = mechanism.space, mechanism.reports, claims.problem
    # a loss that is a function of distances is not saved where those between secrets and reports are known
    if posed.loss_by_distance and (reports.secrets or space.metric is not None):
        loss = Loss.of(posed.loss, space, reports, unit=posed.units["loss"])
    else:
        asked["losses"].flags.writeable = False
        loss = Loss(asked["losses"], reports, posed.loss, unit=posed.units["loss"])
    prior = unpack_prior(posed.prior, posed.objective, asked)
    objective = with_known_optima(prior, asked, posed.objective)
    if objective == AdversaryError.name:
        guesses = Loss.of(asked["adversary_loss"], space, unit=posed.units["value"])
        objective = AdversaryError(float(asked["max_loss"]), guesses)
    epsilon = float(asked["epsilon"])
    within = posed.within and Level(epsilon, posed.within.level, posed.within.radius, posed.within.positions)
    return Problem(
        space,
        prior=prior,
        loss=loss,
        epsilon=within or epsilon,
        delta=float(asked["delta"]),
        pairs=posed.pairs,
        objective=objective,
        beliefs=unpack_beliefs(asked, space.labels),
        name=posed.name,
    )


def _with_optima(folder: Path, problem: Problem) -> Problem:
    """Return a problem about regret with the reports of the optima that it is against, each proven again.

    CertificateError where a part is not the optimum for its prior that was saved; other problems stay as they are.
    """
    against = problem.objective
    if not isinstance(against, WorstRegret) or against.lowest is None or against.highest is None:
        return problem
    found = tuple(load(folder / PARTS / f"{place:03}") for place in range(len(against.priors.members)))
    each = zip(found, against.priors.members, against.lowest, against.highest, strict=True)
    for one, member, low, high in each:
        prior, proof = one.problem.prior, one.certificate
        if not np.array_equal(prior.probabilities, member) or proof.bound != low or proof.value != high:
            raise CertificateError(f"the optimum for {prior.name} is not the one that was saved")
        if differs := difference(problem.but(prior=prior, objective=ExpectedLoss.name), one.problem):
            raise CertificateError(f"the optimum for {prior.name} is that of a problem with {differs}")
    return problem.but(objective=replace(against, reports=found))
