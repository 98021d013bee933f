"""Distributions of the privacy loss on a grid, whose sums bound from above and from below what releases exceed.

Two rows P and Q of a channel are told apart by their privacy loss ln(P_z / Q_z), where z follows P. What k
independent releases exceed is δ(t) = E[max(0, 1 - e^{t - L})] with L the sum of their losses (Meiser and Mohammadi
2018). On a grid such sums stay on the grid, so that rounding to it happens once for each release. Here releases are
convolved directly: sums of products of what is not negative are right to some 2^-53 of themselves, however small
(Higham 2002, §3.1). The assumption of `numerics.rounding` is made of `expm1` as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.rounding import UNIT

Array = NDArray[np.float64]
Side = Literal["above", "below"]
TAIL = 2.0**-100
"""At most this mass is cut off each end of a distribution, and counted."""
LOST = 2.0**-1000
"""More than what all products that underflow can amount to."""
_SLIP = 2.0**-30
"""From below, a loss that is this part of a step under a grid point counts as being there; the level pays for it."""


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """Masses of P, the reports of one secret, on the grid of losses against Q, those of another.

    Mass i is at the loss (start + i)·step. `side` tells whether `delta` is an upper or a lower bound. Reports that
    the other secret never makes have the mass `infinite`. From above, no loss is larger than `most`, so that δ is 0
    from there on; `most` is infinite where a loss is.
    """

    side: Side
    step: float
    start: int
    masses: Array
    infinite: float
    most: float
    releases: int = 1

    def then(self, other: LossDistribution) -> LossDistribution:
        """Return the sum of two independent losses."""
        masses = np.convolve(self.masses, other.masses)
        ours, theirs = float(self.masses.sum()), float(other.masses.sum())
        infinite = self.infinite * (theirs + other.infinite) + ours * other.infinite
        # Sums of as many products as the shorter one has, and those of the masses.
        room = _room(self.side, len(self.masses) + len(other.masses))
        most = (self.most + other.most) * (1 + 2 * UNIT)
        start, releases = self.start + other.start, self.releases + other.releases
        return _trimmed(LossDistribution(self.side, self.step, start, masses * room, infinite * room, most, releases))

    def power(self, count: int) -> LossDistribution:
        """Return the sum of as many independent losses, by repeated squaring."""
        if count == 1:
            return self
        half = self.power(count // 2)
        double = half.then(half)
        return double.then(self) if count % 2 else double

    def delta(self, level: float) -> float:
        """Return a bound on what the releases exceed at the level t = εd: E[max(0, 1 - e^{t - L})]."""
        if level >= self.most:
            return 0.0
        grid = (self.start + np.arange(len(self.masses))) * self.step
        error = 4 * UNIT * (np.abs(grid) + abs(level))
        # t - L at each point of the grid, off to the side on which the result stays a bound
        if self.side == "above":
            gaps = level - grid - error
        else:
            gaps = level - grid + error + self.releases * (_SLIP * self.step) * (1 + 4 * UNIT)
        counted = gaps < 0
        total = float(self.masses[counted] @ -np.expm1(gaps[counted])) + self.infinite
        total *= _room(self.side, len(grid) + 16)
        return min(total + LOST, 1.0) if self.side == "above" else min(max(total - LOST, 0.0), 1.0)


def loss_distribution(first: Array, second: Array, step: float, side: Side) -> LossDistribution:
    """Return the losses of one release, where P and Q are `first` and `second`, `(m,)`, right to 2^-53 of each entry.

    From above, each report is split between the two points of the grid about its loss, so that both P and Q keep
    their masses: δ(t) becomes its chords in e^t between the points of the grid, which lie above as it is convex
    (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). From below, each loss is rounded down.
    """
    only_first = (first > 0) & (second == 0)
    p = first[(first > 0) & (second > 0)]
    losses, error = _finite_losses(first, second)
    room = _room(side, len(first) + 8)
    infinite = float(first[only_first].sum()) * room
    if side == "below":
        cells = np.floor((losses - error) / step + _SLIP / 2).astype(np.int64)
        start, masses = _masses_by_cell(cells, p)
        return LossDistribution(side, step, start, masses * room, infinite, math.inf)
    cells, stay = split(losses + error, step)
    low = p * stay
    start, masses = _masses_by_cell(np.concatenate([cells, cells + 1]), np.concatenate([low, p - low]))
    return LossDistribution(side, step, start, masses * room, infinite, most_loss(first, second))


def split(losses: Array, step: float | Array) -> tuple[NDArray[np.int64], Array]:
    """Return the points of the grid under losses, and the parts of their masses that stay there, rounded down.

    The part w solves e^{-θ} = w + (1 - w) e^{-h}, where the loss is θ above that point, and h is the step.
    """
    cells = np.floor(losses / step)
    above = np.maximum(losses - cells * step, 0.0)
    stay = np.expm1(step - above) / np.expm1(step) * (1 - 16 * UNIT) - 8 * UNIT * (1 + step)
    return cells.astype(np.int64), np.clip(stay, 0.0, 1.0)


def _finite_losses(first: Array, second: Array) -> tuple[Array, Array]:
    """Return ln(P_z / Q_z) of the reports that both make, and bounds on its error."""
    seen = (first > 0) & (second > 0)
    here, there = np.log(first[seen]), np.log(second[seen])
    # The error of two logarithms of numbers that are right to a unit, of their difference, and of grid points.
    return here - there, 16 * UNIT * (1 + np.abs(here) + np.abs(there))


def most_loss(first: Array, second: Array) -> float:
    """Return the largest ln(P_z / Q_z), or 0, rounded up; infinite where only P makes a report."""
    if ((first > 0) & (second == 0)).any():
        return math.inf
    losses, error = _finite_losses(first, second)
    return float((losses + error).max(initial=0.0))


def largest_finite_loss(first: Array, second: Array) -> float:
    """Return the largest |ln(P_z / Q_z)| of the reports that both make."""
    return float(np.abs(_finite_losses(first, second)[0]).max(initial=0.0))


def _masses_by_cell(cells: NDArray[np.int64], masses: Array) -> tuple[int, Array]:
    """Add up masses by the cell of the grid they are in: return the lowest cell, and the masses from there on."""
    if not len(cells):
        return 0, np.zeros(1)
    start = int(cells.min())
    return start, np.bincount(cells - start, masses).astype(np.float64)


def _room(side: Side, terms: int) -> float:
    """Return a factor that makes a computed sum of so many products an upper or lower bound, whatever their order."""
    return 1 + 2 * (terms + 8) * UNIT if side == "above" else 1 - 2 * (terms + 8) * UNIT


def _trimmed(given: LossDistribution) -> LossDistribution:
    """Cut the tails, so that sums of many losses stay short. What is cut moves to where the result stays a bound.

    From above it moves up: to infinity, or to the lowest point that is kept.
    """
    masses = given.masses
    kept = np.flatnonzero((np.cumsum(masses) > TAIL) & (np.cumsum(masses[::-1])[::-1] > TAIL))
    if not len(kept) or len(kept) == len(masses):
        return given
    low, high = int(kept[0]), int(kept[-1])
    inner = masses[low : high + 1].copy()
    under, over = float(masses[:low].sum()), float(masses[high + 1 :].sum())
    room = _room(given.side, len(masses))
    infinite = given.infinite
    if given.side == "above":
        inner[0] += under * room
        infinite += over * room
    else:
        # From below it moves down: to the highest point that is kept, or away.
        inner[-1] += over * room
    room = _room(given.side, 1)
    return replace(given, start=given.start + low, masses=inner * room, infinite=infinite * room)


def sum_losses(
    rows: Sequence[tuple[Array, Array]], counts: Sequence[int], step: float, side: Side
) -> LossDistribution:
    """Return the sum of independent losses, `counts` times that of each pair of rows."""
    parts = (loss_distribution(*pair, step, side).power(count) for pair, count in zip(rows, counts, strict=True))
    return reduce(LossDistribution.then, parts)


_STEPS = 200
_CLOSE = 1e-9
"""Two levels that differ by this part at most are near enough."""


def level_bracket(losses: LossDistribution, delta: float, distance: float) -> tuple[float, float]:
    """Bracket the least ε at which the losses exceed no more than δ, per unit of distance.

    Return two levels near each other: δ is exceeded at the first, and not at the second. Both are 0 where it is never
    exceeded, and infinite where it always is.
    """
    if losses.delta(0.0) <= delta:
        return 0.0, 0.0
    # The masses end at the largest loss: no more than what is infinite is left there.
    end = max((losses.start + len(losses.masses)) * losses.step, 0.0)
    high = min(losses.most, end + 1) if losses.side == "above" else end + 1
    if distance == 0 or losses.delta(high) > delta:
        return math.inf, math.inf
    low = 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high or high - low <= _CLOSE * high:
            break
        if losses.delta(middle) <= delta:
            high = middle
        else:
            low = middle
    # Divided by the distance, away from each other by more than rounding: ε·d is not below `high`.
    return low / distance * (1 - 2.0**-51), high / distance * (1 + 2.0**-51)
