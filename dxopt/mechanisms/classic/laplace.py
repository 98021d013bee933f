"""Continuous Laplace noise moved to the nearest report, as an exact matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.mechanisms.classic.contract import CLASSICS, Classic, proven
from dxopt.mechanisms.classic.coordinates import Positioned, coordinates_of_reports, largest_rate, manhattan
from dxopt.mechanisms.noise.contract import LineNoise
from dxopt.mechanisms.noise.laplace import Laplace as LaplaceNoise
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.written import Written
from dxopt.spaces.lattices import grid, line
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
MOST_CELLS = 10_000_000
_BLOCK_CELLS = 4_000_000
_SECONDS = 1e-8
"""For each cell and each secret or report."""


@CLASSICS.register("laplace")
@dataclass(frozen=True, eq=False)
class Laplace(Positioned, Classic):
    """Noise of density (c/2)^k e^{-c‖z - x‖_1}, moved to the nearest report (CABP13, Figure 2 (i) and (iii)).

    On the line a report stands for all that is nearer to it than to others. Of k coordinates each is moved to the
    nearest value that it has among the reports, and the cell of the grid so found to the nearest report under d_1,
    the first of equals. K[x, z] is the mass of the cells of z under noise around x. Private because that only
    processes a private report; c is the largest that is, the least εd(x, x')/d_1(x, x').
    """

    name: ClassVar[str] = "laplace"
    instead: ClassVar[str] = "give positions, use exponential"

    def refuses(self, problem: Problem) -> str | None:
        """Return the reason why there is none, or None."""
        secrets = self.coordinates(problem.space)
        if secrets is None:
            return "needs numbers for coordinates or labels"
        reports = coordinates_of_reports(problem, secrets)
        if reports is None:
            return "needs the secrets as reports, or reports with as many coordinates"
        if math.prod(len(np.unique(column)) for column in reports.T) > MOST_CELLS:
            return f"needs a grid of at most {MOST_CELLS:,} cells around the reports"
        rate = largest_rate(problem.budgets, manhattan(secrets))
        return None if rate > 0 else "needs a distance above 0 between secrets at different coordinates"

    def channel(self, problem: Problem) -> Array:
        """The channel `(n, m)`, up to rounding."""
        secrets = self.required(problem.space)
        reports = coordinates_of_reports(problem, secrets)
        if reports is None:
            raise SpecError("positions", "are missing", "ask `refuses` first")
        rate = largest_rate(problem.budgets, manhattan(secrets))
        noise = LaplaceNoise(rate) if math.isfinite(rate) else None
        axes = [np.unique(column) for column in reports.T]
        masses = [moved(noise, column, values) for column, values in zip(secrets.T, axes, strict=True)]
        return _gathered(masses, axes, reports)

    def expected_seconds(self, problem: Problem) -> float:
        """About how long `channel` takes: each cell is looked up for every secret and report."""
        reports = coordinates_of_reports(problem, self.required(problem.space))
        if reports is None:
            return math.inf
        return _SECONDS * sum(problem.shape) * math.prod(len(np.unique(column)) for column in reports.T)

    @staticmethod
    def examples() -> list[Problem]:
        """A line of uneven steps, a grid, scattered points, and reports between the secrets."""
        uneven = MetricSpace.from_points([0.0, 3.0, 1.0, 1.5])
        scattered = MetricSpace.from_points([[0.0, 0.3], [1.0, 2.0], [2.5, 0.0], [0.9, 1.1]], "manhattan")
        spaces = ((uneven, None), (grid((3, 2)), None), (scattered, None), (line(4), Reports.at([[0.5], [2.5]])))
        return [Problem(s, epsilon=0.9, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in spaces]


def moved(noise: LineNoise | None, numbers: Array, values: Array) -> Array:
    """The probability `(n, m)` that each of ascending values is nearest to a number `(n,)` with noise, or with none.

    A value stands for all numbers between the middles to its neighbours.
    """
    middles = values[:-1] + 0.5 * np.diff(values)
    if noise is None:
        return np.equal(np.searchsorted(middles, numbers)[:, None], np.arange(len(values))).astype(float)
    edges = np.concatenate([[-np.inf], middles, [np.inf]]) - numbers[:, None]
    return noise.mass_between(edges[:, :-1], edges[:, 1:])


def _gathered(masses: list[Array], axes: list[Array], reports: Array) -> Array:
    """The masses `(n, m)` of reports from those of the values of each coordinate, `(n, values)` each.

    The values span a grid of cells. The mass of a cell is a product over coordinates, and goes to the nearest report.
    """
    from scipy.sparse import csr_array

    sizes = [len(values) for values in axes]
    channel = np.zeros((len(masses[0]), len(reports)))
    step = max(1, _BLOCK_CELLS // (len(channel) + len(reports)))
    for start in range(0, math.prod(sizes), step):
        # Some cells at a time: where they are along each axis, ...
        indices = np.unravel_index(np.arange(start, min(start + step, math.prod(sizes))), sizes)
        count = len(indices[0])

        # ... d_1 from them to the reports, and their masses, ...
        apart = np.zeros((count, len(reports)))
        cells = np.ones((len(channel), count))
        for index, values, column, mass in zip(indices, axes, reports.T, masses, strict=True):
            apart += np.abs(values[index][:, None] - column)
            cells *= mass[:, index]

        # ... which go to the nearest report, the first of equals.
        nearest = apart.argmin(axis=1), np.arange(count)
        channel += (csr_array((np.ones(count), nearest), shape=apart.shape[::-1]) @ cells.T).T
    return channel


def laplace(
    space: MetricSpace, *, epsilon: Written, reports: Reports | None = None, positions: ArrayLike | None = None
) -> Mechanism:
    """Laplace noise on each coordinate moved to the nearest report, proven private (CABP13, Figure 2 (i) and (iii)).

    The level per unit of each coordinate is the largest that is private for the distances of the space: ε for the
    Manhattan distance, ε/√k for the Euclidean and ε/k for the Chebyshev one in k coordinates.

    Parameters
    ----------
    space : MetricSpace
        n secrets.
    epsilon : float
        Privacy level per unit of distance.
    reports : Reports, optional
        Any points with as many coordinates; the secrets by default. A grid of all values that coordinates of reports
        take may have 10,000,000 cells.
    positions : (n,) or (n, k) array, optional
        Coordinates of the secrets, anywhere. By default those of the space, or its labels where they are numbers.

    Raises
    ------
    SpecError
        If ε or the positions are wrong, or there are no coordinates, too many cells, or secrets at different
        coordinates and distance 0 (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.laplace(dx.line(4), epsilon=1.0)
    >>> print(mechanism.row(label="1").round(3).tolist())
    [0.303, 0.393, 0.192, 0.112]
    """
    return proven(Laplace(positions=positions), space, epsilon, reports=reports)
