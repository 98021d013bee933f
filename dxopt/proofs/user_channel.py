"""Prove a mechanism from anywhere: a matrix or a mechanism, certified, repaired, or refused with the reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Context, Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import CertificateError, DxoptError, SpecError, UnsupportedError, required
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import MatrixMechanism, Mechanism, unpacked
from dxopt.model.privacy import LARGEST, level_to_prove
from dxopt.model.problem import PROBLEM_CELLS, Problem
from dxopt.model.reports import required_reports
from dxopt.numerics.coerce import DUST, as_flag, as_numbers, require_values
from dxopt.numerics.hockey_stick import bound_pairs, excesses, least_delta, least_epsilon
from dxopt.numerics.number_syntax import Written, digits_up, excluded_text, level_text, ordered_texts
from dxopt.numerics.rounding import UNIT
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import Proven, certificate_of_matrix, privacy_alone, proven_privacy, proven_repair
from dxopt.proofs.certify import certify as proven_candidate
from dxopt.proofs.privacy import ROW_SUM_ERROR, provable_level, realised_levels, require_channel, worst_report
from dxopt.proofs.repair import repair as brought_to_privacy
from dxopt.spaces.archive import are_same
from dxopt.spaces.space import MetricSpace, required_space

ROUNDING = 1e-9
"""Levels and entries that are off by no more are wrong by rounding alone."""
LEAST = "least"
"""Asks for the least ε at which a mechanism is private."""
MOST_MOVED = 1e-3
"""Sum of the changes of a row that a repair may make: more makes another mechanism of it."""
_EXACT = Context(prec=60)
_LARGEST_BUDGET = 2000
"""No ratio of two doubles exceeds e^2000."""
_ROUNDINGS = 64 * UNIT
"""All roundings of the proof of a pair, relative to the ratio."""


def refusal(problem: Problem, matrix: NDArray[np.float64]) -> SpecError:
    """Return the error for a matrix that is not private: why, by how much, and what would be right."""
    repair_advice = _repair_advice(problem, matrix) if problem.private else ""
    try:
        require_channel(matrix)
    except CertificateError:
        off = np.array([abs(math.fsum([-1.0, *row])) for row in matrix])
        within = f"sums to 1 only within {digits_up(off.max(), 2):.1e}"
        wrong = f"row {int(off.argmax())} {within}; {ROW_SUM_ERROR:.1e} is allowed"
        return SpecError("matrix", wrong, _either(_rows_fix(matrix), repair_advice))
    return _privacy_refusal(problem, matrix, matrix, repair_advice)


def _privacy_refusal(
    problem: Problem, matrix: NDArray[np.float64], shown: NDArray[np.float64], repair_advice: str
) -> SpecError:
    """Return the error for a channel that is not private; entries are told as they are in `shown`."""
    if problem.delta:
        bound = bound_pairs(problem.separations, problem.pairs)
        least = least_delta(matrix, problem.separations, problem.epsilon, bound)
        apart = excesses(matrix, problem.separations, problem.epsilon, bound)
        x, other = (problem.space.labels[int(i)] for i in np.unravel_index(int(apart.argmax()), apart.shape))
        allowed, found = ordered_texts(problem.delta, min(least, 1.0))
        told = f"{x} is told from {other} by delta {found}"
        wrong = f"is not private at epsilon {excluded_text(problem.epsilon)}: {told}"
        fix = _either(f"give delta {level_text(least, 6)} or more" if least < 1 else "", repair_advice)
        return SpecError("matrix", f"{wrong}, above {allowed}", fix)
    return _level_refusal(problem, matrix, shown, repair_advice)


def _own_level(problem: Problem, matrix: NDArray[np.float64], dust: float) -> float:
    """Return the least ε at which a channel is private at the problem's δ, rounded up; up to dust where it has some.

    Entries up to `dust` count as if they were as large, so that a repair at this level raises none by more. Infinite
    where rows at distance 0 differ by more than a repair may change; others are left to it, or to the proof.
    """
    counted, distances = np.maximum(matrix, dust), problem.separations
    if any(np.abs(matrix[x] - matrix[other]).sum() > MOST_MOVED for x, other in np.argwhere(distances == 0)):
        return math.inf
    if not problem.delta:
        return provable_level(counted, distances)
    return least_epsilon(counted, distances, problem.delta, bound_pairs(distances, problem.pairs) & (distances > 0))


def _repair_advice(problem: Problem, matrix: NDArray[np.float64]) -> str:
    """Return how a matrix that is not private would be repaired; "" where that would help no more than its level."""
    own = _own_level(problem, matrix, DUST)
    if own <= problem.epsilon:
        return "write dx.certify(..., repair=True) to have it changed"
    if own < _own_level(problem, matrix, 0.0) * (1 - ROUNDING):
        return f"give epsilon {level_text(own, 6)} or more and repair=True"
    return ""


def _beyond_repair(problem: Problem, matrix: NDArray[np.float64], changes: NDArray[np.float64]) -> SpecError:
    """Return the error for a matrix whose rows a repair would change by this much, `(n,)`; it names the own level."""
    row = int(changes.argmax())
    label = problem.space.labels[row]
    far = f"a repair would change the row of {label} by {changes[row]:.3g} in all, above {MOST_MOVED:g}"
    own = _own_level(problem, matrix, DUST)
    if own <= problem.epsilon:
        return SpecError("matrix", far, "give a larger epsilon, or ask the solver for more accuracy")
    error = _privacy_refusal(problem, np.maximum(matrix, DUST), matrix, "")
    level = f"give epsilon {level_text(own, 6)} or more, at which it is private up to dust"
    fix = level if math.isfinite(own) else error.fix
    return SpecError("matrix", f"{error.wrong}; {far}", fix)


def _either(*ways: str) -> str:
    """Return pieces of advice, some of which may be empty, as one."""
    return ", or ".join(filter(None, ways))


def _level_refusal(
    problem: Problem, matrix: NDArray[np.float64], shown: NDArray[np.float64], repair_advice: str
) -> SpecError:
    """Return the error that names the pair of secrets that needs the largest ε, and the report where."""
    distances = problem.space.distances
    levels = realised_levels(matrix, distances)
    x, other = (int(index) for index in np.unravel_index(int(levels.argmax()), levels.shape))
    least = float(levels.max())
    labels = problem.space.labels
    report, _ = worst_report(matrix, x, other)
    where = f"report {problem.reports.labels[report]} has probability {shown[x, report]:.6g} for {labels[x]} and "
    where += f"{shown[other, report]:.6g} for {labels[other]}"
    if math.isinf(least):
        apart = "at distance 0" if distances[x, other] == 0 else f"{distances[x, other]:.6g} apart"
        wrong = f"is private at no epsilon: {where}, which are {apart}"
        return SpecError("matrix", wrong, repair_advice or ("give equal rows" if distances[x, other] == 0 else ""))
    # doubles cannot always show which is larger, e^{εd} or the ratio: 60 digits can
    budget = _EXACT.multiply(Decimal(problem.epsilon), Decimal(float(distances[x, other])))
    allowed = _EXACT.exp(min(budget, Decimal(_LARGEST_BUDGET)))
    found = _EXACT.divide(Decimal(float(matrix[x, report])), Decimal(float(matrix[other, report])))
    if least <= problem.epsilon * (1 + ROUNDING) or found <= allowed * (1 + Decimal(_ROUNDINGS)):
        fix = "write dx.certify(..., repair=True), which moves entries by about as much as rounding"
        if found < allowed * (1 - Decimal(ROUNDING)):
            faint = matrix[matrix > 0].min()
            return SpecError("matrix", f"has entries of {faint:.3g}, too small for a proof in doubles", fix)
        near = "above" if found > allowed else "too close to"
        limit = f"e^(epsilon d) = {allowed:.18g}, as epsilon is the double {problem.epsilon!r}"
        wrong = f"is private but for rounding: {where}, a ratio of {found:.18g}, {near} {limit}"
        return SpecError("matrix", wrong, fix)
    digits = next(digits for digits in range(6, 19) if f"{found:.{digits}g}" != f"{allowed:.{digits}g}")
    counted = "" if matrix[other, report] == shown[other, report] else " up to dust"
    factors = f"a factor {found:.{digits}g}{counted} where {allowed:.{digits}g} is allowed"
    asked = excluded_text(problem.epsilon)
    wrong = f"is not private at epsilon {asked}: {where}, {distances[x, other]:.6g} apart, {factors}"
    # at this level the proof, whose roundings count more where secrets are near, holds as well
    room = np.divide(_ROUNDINGS, distances, out=np.zeros_like(levels), where=(levels > 0) & (distances > 0))
    advised = level_text(float((levels + room).max()), 6)
    return SpecError("matrix", wrong, _either(f"give epsilon {advised} or more", repair_advice))


WRITTEN_TRIPLES = 50_000_000
"""Up to this n²·m an implicit mechanism is written down, and its matrix is proven, which tells the least ε."""


def certify(
    mechanism: Mechanism | ArrayLike,
    space: MetricSpace,
    epsilon: Written = LEAST,
    *,
    reports: Reports | None = None,
    delta: float = 0.0,
    pairs: str = "all",
    repair: bool = False,
    name: str | None = None,
) -> Mechanism:
    """Prove a mechanism of one's own private: K[x, z] ≤ e^{εd(x, x')} K[x', z], every pair in every report.

    Nothing is changed: a matrix that is not private is refused, with a pair that shows it and the least ε at which it
    is. Tables of integers, comparisons and whatever else needs a proof take the result. At the "least" ε it is
    proven at that one, with `repair` up to the dust of a solver.

    Parameters
    ----------
    mechanism : Mechanism or (n, m) array
        Probabilities, or any mechanism, with or without a proof. Mechanisms of more than 100 million entries need to
        be of a kind that dxopt makes, whose proof is then repeated from what they follow from.
    space : MetricSpace
        The n secrets, with the distances that count. It may be another one than that of the mechanism.
    epsilon : float or str
        Per unit of distance, as for `Problem`, or "least".
    reports : Reports, optional
        Those of the mechanism; for an array the secrets, or columns numbered from 0.
    delta, pairs
        As for `Problem`.
    repair : bool
        Change what a solver, or rounding, left: entries are raised as little as the inequalities ask for, and rows
        scaled to sum to 1. `privacy.how` of the result states by how much entries moved. A matrix may then have
        entries of -1e-6 or more, and rows that sum to 1 within 1e-6; entries up to 1e-6 are dust, which does not
        count for the level where it is in the way of a proof. What would change the entries of a row by more than
        0.001 in all is refused, with the level from which on it would not.
    name : str, optional

    Returns
    -------
    Mechanism
        With its proof as `privacy`: the realised ε (at most the one asked), and how it was proven.

    Raises
    ------
    SpecError
        If it is no channel on the space, not private, or private at no ε; the message names the secrets and the
        report.
    UnsupportedError
        If it is too large to be proven.

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(2)
    >>> print(round(dx.certify([[0.7, 0.3], [0.3, 0.7]], space, 1.0).privacy.epsilon, 4))
    0.8473
    >>> try:
    ...     dx.certify([[0.8, 0.2], [0.2, 0.8]], space, 1.0)
    ... except dx.SpecError as error:
    ...     print(error.field)
    matrix
    >>> left_by_a_solver = [[0.7, 0.3 + 1e-9, -1e-9], [0.3, 0.7, 0.0]]
    >>> print(round(dx.certify(left_by_a_solver, space, repair=True).privacy.epsilon, 4))
    0.8473
    """
    required_space(space)
    if reports is not None:
        required_reports(reports)
    required("name", name, str | None, "give text")
    repair = as_flag(repair, "repair")
    given = _channel(without_dust(mechanism) if repair else mechanism, space, reports)
    least = isinstance(epsilon, str) and epsilon == LEAST
    problem = privacy_alone(space, given.reports, 1.0 if least else epsilon, delta, pairs)
    if least:
        problem = problem.at(_level_to_take(problem, given, DUST if repair else 0.0))
    if not repair:
        return proven_as_it_is(problem, given, name)
    return _mended(problem, mechanism, given, name)[0]


def _level_to_take(problem: Problem, given: Mechanism, dust: float) -> float:
    """Return the own level of a mechanism as one to prove; what it claims if it is too large to be written down."""
    if dust or given.privacy is None or isinstance(given, MatrixMechanism) or not _is_large(problem):
        _require_cells(problem, given)
        own = _own_level(problem, given.matrix, dust)
    else:
        own = given.privacy.epsilon
    return min(level_to_prove(own), LARGEST)


def _is_large(problem: Problem) -> bool:
    return len(problem.space) * problem.variables > WRITTEN_TRIPLES


def proven_as_it_is(problem: Problem, mechanism: Mechanism | ArrayLike, name: str | None = None) -> Mechanism:
    """Return a mechanism proven to be as private as a problem asks for; its objective and loss do not matter.

    Raises SpecError where it does not fit or is not private, and UnsupportedError where it is too large to be proven.
    """
    given = _channel(mechanism, problem.space, problem.reports)
    called = name or given.name
    if _is_large(problem) and not isinstance(given, MatrixMechanism):
        known = _proven_again(problem, given)
        if known is not None:
            return known
    _require_cells(problem, given)
    matrix = given.matrix
    try:
        privacy = proven_privacy(problem, matrix)
    except CertificateError as error:
        known = None if isinstance(given, MatrixMechanism) else _proven_again(problem, given)
        if known is not None:
            return known
        raise refusal(problem, matrix) from error
    proof = privacy if problem.private else None
    return Mechanism.from_matrix(problem.space, matrix, given.reports, name=called, privacy=proof)


def proven_or_mended(
    problem: Problem, mechanism: Mechanism | ArrayLike, name: str | None = None
) -> tuple[Mechanism, float]:
    """Return a mechanism as `proven_as_it_is` does, or as `certify` repairs it, and by how much entries moved.

    SpecError where it does not fit, or a repair would change a row by more than `MOST_MOVED`.
    """
    try:
        return proven_as_it_is(problem, mechanism, name), 0.0
    except SpecError:
        if not problem.private:
            raise
    given = _channel(without_dust(mechanism), problem.space, problem.reports)
    alone = privacy_alone(problem.space, given.reports, problem.epsilon, problem.delta, problem.pairs)
    return _mended(alone, mechanism, given, name)


def _mended(
    problem: Problem, mechanism: Mechanism | ArrayLike, given: Mechanism, name: str | None
) -> tuple[Mechanism, float]:
    """Return a matrix repaired at its own level, or the problem's if that is lower, and by how much entries moved.

    `given` is the mechanism without dust. SpecError where the change of a row would be more than `MOST_MOVED` in all.
    """
    _require_cells(problem, given)
    raw = _as_given(mechanism)
    # the loss 1 - K gives what rows lack to a frequent report
    asked = problem.but(loss=Loss(1.0 - given.matrix, given.reports, "unlikely"))
    channel = brought_to_privacy(asked, given.matrix)
    moved = np.abs(channel - raw)
    # dust that is raised to what the problem allows would hide the level of all else
    if moved.max() > _ROUNDINGS and (own := _own_level(problem, given.matrix, DUST)) < problem.epsilon:
        nearer = asked.at(level_to_prove(own))
        found = brought_to_privacy(nearer, given.matrix)
        if np.abs(found - raw).sum(axis=1).max() <= MOST_MOVED:
            asked, channel, moved = nearer, found, np.abs(found - raw)
    changes = moved.sum(axis=1)
    if changes.max() > MOST_MOVED:
        raise _beyond_repair(problem, given.matrix, changes)
    return proven_repair(asked, raw, channel, name or given.name)[0], float(moved.max())


def proven_answer(problem: Problem, mechanism: Mechanism) -> Proven:
    """Prove a mechanism, without repair, as an answer: its privacy, its value, and the bound that needs no dual."""
    if not isinstance(mechanism, MatrixMechanism):
        return proven_candidate(problem, Candidate(mechanism))
    privacy = proven_privacy(problem, mechanism.matrix)
    if mechanism.privacy is not None:
        privacy = replace(privacy, how=mechanism.privacy.how)
    proof, _ = certificate_of_matrix(problem, mechanism.matrix, privacy, None)
    return Proven(mechanism, proof, None, "valid")


def without_dust(given: Mechanism | ArrayLike) -> Mechanism | ArrayLike:
    """Return a matrix without what solvers leave, entries just below 0 and rows just off 1; all else as it is.

    SpecError where an entry is further below, or a row further off.
    """
    matrix = _as_given(given)
    if isinstance(given, Mechanism) or matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        return given
    if (least := matrix.min()) < -DUST:
        wrong = f"entry {np.argwhere(matrix == least)[0].tolist()} is {least:.6g}"
        raise SpecError("matrix", wrong, f"give probabilities, from {-DUST:g} on")
    sums = matrix.sum(axis=1)
    if (off := np.abs(sums - 1)).max() > DUST:
        worst = int(off.argmax())
        wrong = f"row {worst} sums to {sums[worst]:.9g}, off by more than {DUST:g}"
        raise SpecError("matrix", wrong, _rows_fix(matrix))
    if least >= 0 and off.max() <= _ROUNDINGS:
        return given
    cleared = np.maximum(matrix, 0.0)
    return cleared / cleared.sum(axis=1, keepdims=True)


def _rows_fix(matrix: NDArray[np.float64]) -> str:
    """Return what to do with a matrix whose rows do not sum to 1."""
    if np.abs(matrix.sum(axis=0) - 1).max() <= DUST:
        return "transpose it: a row has the reports of one secret, and here the columns sum to 1"
    return "divide each row by its sum"


def _as_given(given: Mechanism | ArrayLike) -> NDArray[np.float64]:
    """Return the matrix of a mechanism, or the numbers of an array as they are."""
    if isinstance(given, Mechanism):
        return given.matrix
    return as_numbers(given, "matrix", "give an array of probabilities, or a mechanism")


def _channel(given: Any, space: MetricSpace, reports: Reports | None) -> Mechanism:
    """Return a mechanism on the space with these reports; SpecError where an array or a mechanism does not fit."""
    if isinstance(given, Mechanism):
        secrets = len(given.space)
        columns = len(given.reports)
        if secrets != len(space) or (reports is not None and columns != len(reports)):
            wanted = f"{len(space):,} secrets" + ("" if reports is None else f" and {len(reports):,} reports")
            wrong = f"{given.name} has {secrets:,} secrets and {columns:,} reports, not {wanted}"
            raise SpecError("mechanism", wrong, "make it for this space and these reports")
        if given.space is not space:
            _require_same("secrets", given, given.space.labels, space.labels)
        if reports is not None and not (given.reports.secrets and reports.secrets):
            _require_same("reports", given, given.reports.labels, reports.labels)
        return given
    require_values(given, "matrix")
    if hasattr(given, "columns"):
        fix = "use dx.mechanism_from_frame(space, frame), which matches labels, and certify what it returns"
        raise SpecError("matrix", f"is a {type(given).__name__}, which has labels of its own", fix)
    matrix = _as_given(given)
    if reports is not None and matrix.shape != (len(space), len(reports)):
        wrong = f"has shape {matrix.shape}, not {(len(space), len(reports))}"
        raise SpecError("matrix", wrong, "give a row for each secret and a column for each report")
    if matrix.ndim != 2 or len(matrix) != len(space) or not matrix.size:
        fix = f"give a row of probabilities for each of the {len(space):,} secrets"
        raise SpecError("matrix", f"has shape {matrix.shape}", fix)
    if reports is None:
        square = matrix.shape[1] == len(space)
        reports = Reports.of(space) if square else Reports(tuple(map(str, range(matrix.shape[1]))))
    return Mechanism.from_matrix(space, matrix, reports, name="own mechanism")


def _require_same(what: str, given: Mechanism, own: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise SpecError where a mechanism is about other secrets, or other reports, of the same number."""
    for index, (one, other) in enumerate(zip(own, wanted, strict=True)):
        if one != other:
            wrong = f"{given.name} has other {what}: number {index} is {one!r}, not {other!r}"
            raise SpecError("mechanism", wrong, f"give its matrix, if its {what} are these in this order")


def _proven_again(problem: Problem, given: Mechanism) -> Mechanism | None:
    """Return the mechanism itself, where its kind is proven from what it follows from, at the problem's level."""
    if given.privacy is None or problem.delta or not are_same(given.space, problem.space):
        return None
    try:
        found = unpacked({name: np.asarray(array) for name, array in given.packed().items()})
    except (DxoptError, KeyError):
        return None
    privacy = found.privacy
    if type(found) is not type(given) or privacy is None or privacy.delta or privacy.epsilon > problem.epsilon:
        return None
    return given


def _require_cells(problem: Problem, given: Mechanism) -> None:
    """Raise UnsupportedError where the matrix of a mechanism is too large to be proven."""
    if max(problem.variables, len(problem.space) ** 2) > PROBLEM_CELLS:
        if given.privacy is not None and given.privacy.epsilon > problem.epsilon:
            asked = excluded_text(problem.epsilon)
            wrong = f"is proven private at epsilon {level_text(given.privacy.epsilon, 6)}, not at {asked}"
            raise UnsupportedError("mechanism", wrong, f"make it at {asked}")
        wrong = f"has {len(problem.space):,} secrets and {len(problem.reports):,} reports, too many for a proof"
        raise UnsupportedError("mechanism", wrong, "take fewer, or dx.tight_constraints or dx.solve on this space")
