"""The truncated geometric mechanism, on a line or coordinate by coordinate on a grid."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import CertificateError, UnsupportedError
from dxopt.mechanisms.classic.base import CLASSICS, Classic, make_proven, titled
from dxopt.mechanisms.classic.calibration import Positioned, largest_rate, manhattan
from dxopt.mechanisms.kernel import line_mechanism
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import Written
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
IMPLICIT_FROM = 1_000
"""From this many points on, a line gets no matrix."""


@CLASSICS.register("geometric")
@dataclass(frozen=True, eq=False)
class Geometric(Positioned, Classic):
    """K[x, z] = Π_k e^{-c|x_k - z_k|} w(z_k) for the largest c that is private (CABP13, Theorem 10; ECP14 §7.1).

    With p the e^{-c·step} on either side, w is 1/(1+p) at an end of an axis and (1-pp')/((1+p)(1+p')) inside it.
    Private because K(x)/K(x') is at most e^{c·d_1(x, x')}, and reached: c is the least ε·d(x, x')/d_1(x, x').
    """

    name: ClassVar[str] = "geometric"
    instead: ClassVar[str] = "give positions, use exponential"

    def refuses(self, problem: Problem) -> str | None:
        if not problem.reports.secrets:
            return "needs the secrets themselves as reports"
        positions = self.coordinates(problem.space)
        if positions is None:
            return "needs numbers for coordinates or labels"
        return None if _axes(positions) else "needs points on a line, all different, or a full grid of points"

    def channel(self, problem: Problem) -> Array:
        positions = self.required_coordinates(problem.space)
        axes = _axes(positions)
        assert axes is not None
        rate = largest_rate(problem.budgets, manhattan(positions))

        # The mechanism of each axis, with a row and column for each secret; their product is that of the grid.
        factors = [_on_axis(values, rate)[np.ix_(index, index)] for values, index in axes]
        return reduce(np.multiply, factors)

    def implicit(self, problem: Problem) -> Mechanism | None:
        # On a long line it is the tight-constraints mechanism, which has rows on demand.
        space = problem.space
        if self.positions is not None or len(space) < IMPLICIT_FROM or space.structure.kind != "path":
            return None
        # Where points are too close for a proof without a matrix, the matrix is repaired and proven instead.
        with suppress(UnsupportedError, CertificateError):
            return replace(line_mechanism(space, problem.epsilon), name=titled(self.name))
        return None


def _axes(positions: Array) -> list[tuple[Array, Indices]] | None:
    """Return the ascending values of each coordinate, and the index of each point among them; None if no grid."""
    axes = [np.unique(column, return_inverse=True) for column in positions.T]
    sizes = [len(values) for values, _ in axes]
    if math.prod(sizes) != len(positions):
        return None
    # With as many points as cells, it is a full grid if no two points are in the same cell.
    cells = np.ravel_multi_index([index for _, index in axes], sizes)
    return axes if len(np.unique(cells)) == len(positions) else None


def _on_axis(values: Array, rate: float) -> Array:
    """Return the mechanism `(m, m)` on m ascending numbers."""
    # p and p' on either side of each value, 0 beyond the ends; 1 - pp' without cancellation.
    steps = rate * np.diff(values)
    steps = np.concatenate([[np.inf], steps, [np.inf]])
    before = np.exp(-steps[:-1])
    after = np.exp(-steps[1:])
    weights = -np.expm1(-(steps[:-1] + steps[1:])) / ((1 + before) * (1 + after))
    apart = np.abs(values[:, None] - values[None, :])
    with np.errstate(invalid="ignore"):  # where nothing binds, the rate is infinite and the diagonal 0·∞
        return np.where(apart > 0, np.exp(-rate * apart), 1.0) * weights


def geometric(space: MetricSpace, *, epsilon: Written, positions: ArrayLike | None = None) -> Mechanism:
    """Make the truncated geometric mechanism, proven private (CABP13, Figure 2 (iv), Theorem 10; ECP14 §7.1).

    With answers that are multiples of q up to qk, as in that figure, the space is `dx.line(k + 1, step=q)`. On a line
    it is the tight-constraints mechanism. On a full grid the coordinates are perturbed independently, each
    at the largest level c per unit that is private for the distances of the space: ε for the Manhattan distance, ε/√k
    for the Euclidean and ε/k for the Chebyshev one in k coordinates, ε/v where answers up to v apart are adjacent.

    Parameters
    ----------
    space : MetricSpace
        n secrets, which are the reports as well. On a line of 1,000 points or more, in ascending or descending
        order, the mechanism is implicit: rows on demand, at an ε lowered by a hair against rounding.
    epsilon : float
        Privacy level per unit of distance.
    positions : (n,) or (n, k) array, optional
        Coordinates of the secrets, evenly spaced or not: a line, or all points of a grid. By default those of the
        space, or its labels where they are numbers.

    Raises
    ------
    SpecError
        If ε or the positions are wrong, or are not a line or full grid (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> counts = dx.line(4)
    >>> mechanism = dx.classic.geometric(counts, epsilon="ln(2)")
    >>> print(mechanism.row(label="1").round(3).tolist())
    [0.333, 0.333, 0.167, 0.167]
    """
    return make_proven(Geometric(positions=positions), space, epsilon)
