"""Staircase noise moved to the nearest report, as an exact matrix."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.mechanisms.classic.contract import CLASSICS, Classic, proven
from dxopt.mechanisms.classic.coordinates import Positioned, largest_rate, manhattan
from dxopt.mechanisms.classic.laplace import moved
from dxopt.mechanisms.noise.contract import checked_positive
from dxopt.mechanisms.noise.staircase import Staircase as StaircaseNoise
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.written import Written
from dxopt.spaces.lattices import line
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
_EQUAL = 1e-9
"""Budgets that differ by this part count as equal."""
_WHOLE = 1e-12


@CLASSICS.register("staircase")
@dataclass(frozen=True, eq=False)
class Staircase(Positioned, Classic):
    """Staircase noise on numbers, moved to the nearest secret (Geng and Viswanath 2014).

    The noise is c⌈|x - x'|/Δ⌉-private, and moving only processes that; c is the largest that makes it εd-private.

    Parameters
    ----------
    sensitivity : float, optional
        Δ; by default the largest |x - x'| among secrets at the least positive distance.
    share : float, optional
        γ, the part of a step with the higher density, from 0 to 1; by default 1/(1 + e^{c/2}).
    positions : (n,) or (n, 1) array, optional
        The numbers; by default the points of the space, or its labels where they are numbers.
    """

    sensitivity: float | None = None
    share: float | None = None
    name: ClassVar[str] = "staircase"
    instead: ClassVar[str] = "give positions, use laplace"

    def __post_init__(self) -> None:
        if self.sensitivity is not None:
            checked_positive("sensitivity", self.sensitivity)
        StaircaseNoise(1.0, share=self.share)

    def refuses(self, problem: Problem) -> str | None:
        """Return the reason why there is none, or None."""
        if not problem.reports.secrets:
            return "needs the secrets themselves as reports"
        numbers = self.coordinates(problem.space)
        if numbers is None or numbers.shape[1] > 1:
            return "needs one number for each secret"
        rate, _ = self._steepest(problem, manhattan(numbers))
        return None if rate > 0 else "needs a distance above 0 between secrets with different numbers"

    def channel(self, problem: Problem) -> Array:
        """The channel `(n, n)`, up to rounding."""
        numbers = self.required(problem.space)
        rate, sensitivity = self._steepest(problem, manhattan(numbers))
        noise = StaircaseNoise(rate, sensitivity, self.share) if math.isfinite(rate) else None

        # Of secrets with the same number, the first is reported; the others have columns of zeros.
        values, first = np.unique(numbers[:, 0], return_index=True)
        channel = np.zeros(problem.shape)
        channel[:, first] = moved(noise, numbers[:, 0], values)
        return channel

    def _steepest(self, problem: Problem, apart: Array) -> tuple[float, float]:
        """The largest level per step of Δ, and Δ."""
        sensitivity = self.sensitivity or _widest_step(problem.budgets, apart)
        return largest_rate(problem.budgets, _ceiling(apart / sensitivity)), sensitivity

    @staticmethod
    def examples() -> list[Problem]:
        """A line, uneven steps, and sums where numbers up to five apart are at distance 1."""
        uneven = MetricSpace.from_points([0.0, 3.0, 1.0, 1.5])
        spaces = (line(4), uneven, _sums(12, 5))
        return [Problem(s, epsilon=0.9, prior=Prior.uniform(s), loss="binary") for s in spaces]


def _sums(size: int, widest: int) -> MetricSpace:
    """Answers of a sum query where one record counts for 0 to `widest`."""
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return MetricSpace.from_distances(-(-apart // widest))


def _widest_step(budgets: Array, apart: Array) -> float:
    """The largest |x - x'| among pairs of different numbers with the least positive budget; 1 without any."""
    different = (apart > 0) & np.isfinite(budgets)
    least = budgets[different & (budgets > 0)].min(initial=np.inf)
    return float(apart[different & (budgets <= least * (1 + _EQUAL))].max(initial=0.0)) or 1.0


def _ceiling(steps: Array) -> Array:
    """⌈steps⌉, where what is above a whole number by 1e-12 relative counts as that number."""
    whole = np.round(steps)
    return np.where(np.abs(steps - whole) <= _WHOLE * whole, whole, np.ceil(steps))


def staircase(
    space: MetricSpace,
    *,
    epsilon: Written,
    sensitivity: float | None = None,
    share: float | None = None,
    positions: ArrayLike | None = None,
) -> Mechanism:
    """Staircase noise moved to the nearest secret, proven private (Geng and Viswanath 2014).

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
    return proven(Staircase(sensitivity, share, positions=positions), space, epsilon)
