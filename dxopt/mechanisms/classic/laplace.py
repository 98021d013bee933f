"""Laplace and staircase noise on a line moved to the nearest report, as exact matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.mechanisms.classic.base import CLASSICS, Classic, make_proven
from dxopt.mechanisms.classic.calibration import Positioned, coordinates_of_reports, largest_rate, manhattan
from dxopt.mechanisms.noise.base import LineNoise
from dxopt.mechanisms.noise.laplace import Laplace as LaplaceNoise
from dxopt.mechanisms.noise.staircase import Staircase as StaircaseNoise
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import POSITIVE, keep_number
from dxopt.numerics.number_syntax import Written
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
        secrets = self.required_coordinates(problem.space)
        reports = coordinates_of_reports(problem, secrets)
        assert reports is not None
        rate = largest_rate(problem.budgets, manhattan(secrets))
        noise = LaplaceNoise(rate) if math.isfinite(rate) else None  # no noise where nothing binds
        axes = [np.unique(column) for column in reports.T]
        masses = [masses_of_values(noise, column, values) for column, values in zip(secrets.T, axes, strict=True)]
        return _masses_of_reports(masses, axes, reports)

    def expected_seconds(self, problem: Problem) -> float:
        # Each cell is looked up for every secret and report.
        reports = coordinates_of_reports(problem, self.required_coordinates(problem.space))
        assert reports is not None
        return _SECONDS * sum(problem.shape) * math.prod(len(np.unique(column)) for column in reports.T)


def masses_of_values(noise: LineNoise | None, numbers: Array, values: Array) -> Array:
    """Return the probability `(n, m)` that each of m ascending values is nearest to a number `(n,)` with noise.

    A value stands for all numbers between the middles to its neighbours. No noise at all is None, for an infinite
    rate.
    """
    middles = values[:-1] + 0.5 * np.diff(values)
    if noise is None:
        return np.equal(np.searchsorted(middles, numbers)[:, None], np.arange(len(values))).astype(float)
    edges = np.concatenate([[-np.inf], middles, [np.inf]]) - numbers[:, None]
    return noise.mass_between(edges[:, :-1], edges[:, 1:])


def _masses_of_reports(masses: list[Array], axes: list[Array], reports: Array) -> Array:
    """Return the masses `(n, m)` of reports from those of the values of each coordinate, `(n, values)` each.

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
    """Move Laplace noise on each coordinate to the nearest report, proven private (CABP13, Figure 2 (i) and (iii)).

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
    return make_proven(Laplace(positions=positions), space, epsilon, reports=reports)


_EQUAL = 1e-9
"""Budgets that differ by this part count as equal."""
_WHOLE = 1e-12


@CLASSICS.register("staircase")
@dataclass(frozen=True, eq=False)
class Staircase(Positioned, Classic):
    """Staircase noise on numbers, moved to the nearest secret (Geng and Viswanath 2014).

    The noise is c⌈|x - x'|/Δ⌉-private, and moving only processes that; c is the largest that makes it εd-private.
    """

    sensitivity: float | None = None
    share: float | None = None
    name: ClassVar[str] = "staircase"
    instead: ClassVar[str] = "give positions, use laplace"

    def __post_init__(self) -> None:
        if self.sensitivity is not None:
            keep_number(self, "sensitivity", *POSITIVE)
        StaircaseNoise(1.0, share=self.share)  # refuses a share that is not from 0 to 1

    def refuses(self, problem: Problem) -> str | None:
        if not problem.reports.secrets:
            return "needs the secrets themselves as reports"
        numbers = self.coordinates(problem.space)
        if numbers is None or numbers.shape[1] > 1:
            return "needs one number for each secret"
        rate, _ = self._rate_and_sensitivity(problem, manhattan(numbers))
        return None if rate > 0 else "needs a distance above 0 between secrets with different numbers"

    def channel(self, problem: Problem) -> Array:
        numbers = self.required_coordinates(problem.space)
        rate, sensitivity = self._rate_and_sensitivity(problem, manhattan(numbers))
        noise = StaircaseNoise(rate, sensitivity, self.share) if math.isfinite(rate) else None

        # Of secrets with the same number, the first is reported; the others have columns of zeros.
        values, first = np.unique(numbers[:, 0], return_index=True)
        channel = np.zeros(problem.shape)
        channel[:, first] = masses_of_values(noise, numbers[:, 0], values)
        return channel

    def _rate_and_sensitivity(self, problem: Problem, apart: Array) -> tuple[float, float]:
        """Return c, the largest level per Δ at which the noise is εd-private, and Δ; `apart` `(n, n)` is |x - x'|."""
        budgets = problem.budgets
        sensitivity = self.sensitivity
        if sensitivity is None:
            # The largest |x - x'| among pairs of different numbers with the least positive budget; 1 without any.
            different = (apart > 0) & np.isfinite(budgets)
            least = budgets[different & (budgets > 0)].min(initial=np.inf)
            sensitivity = float(apart[different & (budgets <= least * (1 + _EQUAL))].max(initial=0.0)) or 1.0
        # ⌈steps⌉, where what is above a whole number by 1e-12 relative counts as that number.
        with np.errstate(over="ignore"):
            steps = apart / sensitivity
        if not np.isfinite(steps[np.isfinite(apart)]).all():
            raise SpecError("sensitivity", f"is {sensitivity:g}, too small for doubles", "give a larger one")
        whole = np.round(steps)
        steps = np.where(np.abs(steps - whole) <= _WHOLE * whole, whole, np.ceil(steps))
        return largest_rate(budgets, steps), sensitivity


def staircase(
    space: MetricSpace,
    *,
    epsilon: Written,
    sensitivity: float | None = None,
    share: float | None = None,
    positions: ArrayLike | None = None,
) -> Mechanism:
    """Move staircase noise to the nearest secret, proven private (Geng and Viswanath 2014).

    It suits distances ⌈|x - x'|/Δ⌉, such as those of sums that one record changes by Δ at most: there the level per
    Δ is ε. For others it is the largest that is private for the distances of the space.

    Parameters
    ----------
    space : MetricSpace
        n secrets with one number each, which are the reports as well.
    epsilon : float
        Privacy level per unit of distance.
    sensitivity : float, optional
        Δ; by default the largest |x - x'| among secrets at the least positive distance.
    share : float, optional
        γ, from 0 to 1: the part of a step with the higher density. By default 1/(1 + e^{c/2}) at a level c per Δ,
        which has the least expected |z - x| before moving.
    positions : (n,) or (n, 1) array, optional
        The numbers, in any order. By default the points of the space, or its labels where they are numbers.

    Raises
    ------
    SpecError
        If ε, Δ, γ or the positions are wrong, or there is not one number for each secret (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> sums = dx.line(5)
    >>> mechanism = dx.classic.staircase(sums, epsilon=1.0, sensitivity=2.0)
    >>> print(mechanism.row(label="2").round(3).tolist())
    [0.232, 0.138, 0.261, 0.138, 0.232]
    """
    return make_proven(Staircase(sensitivity, share, positions=positions), space, epsilon)
