"""Refusals of matrices that are not private: by how much, and what would be right."""

from __future__ import annotations

import math
from decimal import Context, Decimal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError, SpecError
from dxopt.model.problem import Problem
from dxopt.numerics.excess import bound_pairs, excesses, least_delta
from dxopt.proofs.privacy import ROW_SUM_ERROR, realised_levels, require_channel

ROUNDING = 1e-9
"""Entries that a repair moves by no more were wrong by rounding alone."""
_DIGITS = 6
_EXACT = Context(prec=60)


def refused(problem: Problem, matrix: NDArray[np.float64]) -> SpecError:
    """Explain why a matrix is not private, by how much, and what would be right."""
    mended = "write dx.certify(..., repair=True) to have it changed" if problem.private else ""
    try:
        require_channel(matrix)
    except CertificateError:
        off = np.array([abs(math.fsum([-1.0, *row])) for row in matrix])
        wrong = f"row {int(off.argmax())} sums to 1 only within {off.max():.1e}; {ROW_SUM_ERROR:.1e} is allowed"
        return SpecError("matrix", wrong, _either("divide each row by its sum", mended))
    if problem.delta:
        bound = bound_pairs(problem.separations, problem.pairs)
        least = least_delta(matrix, problem.separations, problem.epsilon, bound)
        apart = excesses(matrix, problem.separations, problem.epsilon, bound)
        x, other = (problem.space.labels[int(i)] for i in np.unravel_index(int(apart.argmax()), apart.shape))
        told = f"{x} is told from {other} by delta {_above(min(least, 1.0))}"
        wrong = f"is not private at epsilon {problem.epsilon:.6g}: {told}"
        fix = _either(f"give delta {_above(least)} or more" if least < 1 else "", mended)
        return SpecError("matrix", f"{wrong}, above {problem.delta:.6g}", fix)
    return _above_level(problem, matrix, mended)


def _either(*ways: str) -> str:
    return ", or ".join(filter(None, ways))


def _above_level(problem: Problem, matrix: NDArray[np.float64], mended: str) -> SpecError:
    """Name the pair of secrets that needs the largest ε, and in which report."""
    distances = problem.space.distances
    levels = realised_levels(matrix, distances)
    x, other = (int(index) for index in np.unravel_index(int(levels.argmax()), levels.shape))
    least = float(levels.max())
    labels = problem.space.labels
    with np.errstate(divide="ignore", over="ignore"):
        ratios = np.divide(matrix[x], matrix[other], out=np.zeros(matrix.shape[1]), where=matrix[x] > 0)
    report = int(ratios.argmax())
    where = f"report {problem.reports.labels[report]} has probability {matrix[x, report]:.6g} for {labels[x]} and "
    where += f"{matrix[other, report]:.6g} for {labels[other]}"
    if math.isinf(least):
        apart = "at distance 0" if distances[x, other] == 0 else f"{distances[x, other]:.6g} apart"
        wrong = f"is private at no epsilon: {where}, which are {apart}"
        return SpecError("matrix", wrong, mended)
    if least <= problem.epsilon * (1 + ROUNDING):
        allowed, found = (
            _limit(problem.epsilon, distances[x, other]),
            _ratio(matrix[x, report], matrix[other, report]),
        )
        near = "above" if found > allowed else "too close to"
        limit = f"e^(epsilon d) = {allowed:.18g}, as epsilon is the double {problem.epsilon!r}"
        wrong = f"is private but for rounding: {where}, a ratio of {found:.18g}, {near} {limit}"
        return SpecError(
            "matrix", wrong, "write dx.certify(..., repair=True), which moves entries by about as much as rounding"
        )
    allowed = math.exp(min(float(problem.budgets[x, other]), 700.0))
    budget = f"{distances[x, other]:.6g} apart, a factor {ratios[report]:.6g} where {allowed:.6g} is allowed"
    wrong = f"is not private at epsilon {problem.epsilon:.6g}: {where}, {budget}"
    return SpecError("matrix", wrong, _either(f"give epsilon {_above(least)} or more", mended))


def _limit(epsilon: float, distance: float) -> Decimal:
    """e^{εd} of the real product of two doubles."""
    return _EXACT.exp(_EXACT.multiply(Decimal(epsilon), Decimal(float(distance))))


def _ratio(more: float, less: float) -> Decimal:
    return _EXACT.divide(Decimal(float(more)), Decimal(float(less)))


def _above(number: float) -> str:
    """Return a number rounded up to some digits."""
    if not 0 < number < math.inf:
        return f"{number:g}"
    unit = 10.0 ** (math.floor(math.log10(number)) - _DIGITS + 1)
    return f"{math.ceil(number / unit) * unit:.{_DIGITS}g}"
