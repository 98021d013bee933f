"""Privacy-loss distributions on a grid, each a bound from above or from below, with every rounding counted.

Two rows P and Q of a channel are told apart by their privacy loss ln(P_z / Q_z), where z follows P. What k
independent releases exceed is δ(t) = E[max(0, 1 - e^{t - L})] with L the sum of their losses (Meiser and Mohammadi
2018). On a grid such sums stay on the grid, so that rounding to it happens once for each release. Releases are
convolved directly, not by Fourier transforms: these err by 2^-53 of the largest mass or more (Higham 2002, Thm 24.2),
which hides a small δ, while sums of products of what is not negative are right to some 2^-53 of themselves, however
small (§3.1 there). The assumption of `numerics.rounding` is made of `expm1` as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.rounding import UNIT

Array = NDArray[np.float64]
Side = Literal["above", "below"]
TAIL = 2.0**-100
"""At most this mass is cut off each end of a distribution, and counted."""
_LOST = 2.0**-1000
"""More than what all products that underflow can amount to."""
_SLIP = 2.0**-30
"""From below, a loss that is this part of a step under a grid point counts as being there; the level pays for it."""


@dataclass(frozen=True, eq=False)
class LossDistribution:
    """Masses of P on the grid of privacy losses.

    Attributes
    ----------
    side : {"above", "below"}
        Whether `delta` is an upper or a lower bound.
    step : float
        Of the grid: mass i is at the loss (start + i)·step.
    start : int
    masses : (c,) array
    infinite : float
        The mass of reports that the other secret never makes.
    most : float
        From above: no loss is larger, so that δ is 0 from there on. Infinite where a loss is.
    releases : int
    """

    side: Side
    step: float
    start: int
    masses: Array
    infinite: float
    most: float
    releases: int = 1

    def then(self, other: LossDistribution) -> LossDistribution:
        """The sum of two independent losses."""
        masses = np.convolve(self.masses, other.masses)
        ours, theirs = float(self.masses.sum()), float(other.masses.sum())
        infinite = self.infinite * (theirs + other.infinite) + ours * other.infinite
        # Sums of as many products as the shorter one has, and those of the masses.
        room = _room(self.side, len(self.masses) + len(other.masses))
        return _trimmed(
            LossDistribution(
                self.side,
                self.step,
                self.start + other.start,
                masses * room,
                infinite * room,
                (self.most + other.most) * (1 + 2 * UNIT),
                self.releases + other.releases,
            )
        )

    def power(self, count: int) -> LossDistribution:
        """The sum of as many independent losses, by repeated squaring."""
        if count == 1:
            return self
        half = self.power(count // 2)
        double = half.then(half)
        return double.then(self) if count % 2 else double

    def delta(self, level: float) -> float:
        """A bound on what the releases exceed at the level t = εd: E[max(0, 1 - e^{t - L})]."""
        if level >= self.most:
            return 0.0
        grid = (self.start + np.arange(len(self.masses))) * self.step
        error = 4 * UNIT * (np.abs(grid) + abs(level))
        if self.side == "above":
            gaps = level - grid - error
        else:
            gaps = level - grid + error + self.releases * (_SLIP * self.step) * (1 + 4 * UNIT)
        counted = gaps < 0
        total = float(self.masses[counted] @ -np.expm1(gaps[counted])) + self.infinite
        total *= _room(self.side, len(grid) + 16)
        return min(total + _LOST, 1.0) if self.side == "above" else min(max(total - _LOST, 0.0), 1.0)


def loss_distribution(first: Array, second: Array, step: float, side: Side) -> LossDistribution:
    """The losses of one release, where P and Q are `first` and `second`, `(m,)`, right to 2^-53 of each entry.

    From above, each report is split between the two points of the grid about its loss, so that both P and Q keep
    their masses: δ(t) becomes its chords in e^t between the points of the grid, which lie above as it is convex
    (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). From below, each loss is rounded down.
    """
    told = (first > 0) & (second == 0)
    seen = (first > 0) & (second > 0)
    p = first[seen]
    here, there = np.log(p), np.log(second[seen])
    # The error of two logarithms of numbers that are right to a unit, of their difference, and of grid points.
    error = 16 * UNIT * (1 + np.abs(here) + np.abs(there))
    room = _room(side, len(first) + 8)
    infinite = float(first[told].sum()) * room
    if side == "below":
        cells = np.floor((here - there - error) / step + _SLIP / 2).astype(np.int64)
        start, masses = _gathered(cells, p)
        return LossDistribution(side, step, start, masses * room, infinite, math.inf)
    losses = here - there + error
    cells = np.floor(losses / step).astype(np.int64)
    into = np.maximum(losses - cells * step, 0.0)
    # e^{-θ} = w + (1 - w) e^{-h}: the part w that stays at the lower point, rounded down.
    stay = np.expm1(step - into) / math.expm1(step) * (1 - 16 * UNIT) - 8 * UNIT * (1 + step)
    low = p * np.clip(stay, 0.0, 1.0)
    start, masses = _gathered(np.concatenate([cells, cells + 1]), np.concatenate([low, p - low]))
    most = math.inf if told.any() else float(losses.max(initial=0.0))
    return LossDistribution(side, step, start, masses * room, infinite, most)


def largest_loss(first: Array, second: Array) -> float:
    """The largest finite |ln(P_z / Q_z)|, about; 0 where there is none."""
    seen = (first > 0) & (second > 0)
    return float(np.abs(np.log(first[seen]) - np.log(second[seen])).max(initial=0.0))


def most_loss(first: Array, second: Array) -> float:
    """The largest ln(P_z / Q_z), rounded up; infinite where only P makes a report."""
    if ((first > 0) & (second == 0)).any():
        return math.inf
    seen = first > 0
    here, there = np.log(first[seen]), np.log(second[seen])
    return max(float((here - there + 16 * UNIT * (1 + np.abs(here) + np.abs(there))).max()), 0.0)


def _gathered(cells: NDArray[np.int64], masses: Array) -> tuple[int, Array]:
    """Return the start of the grid, and the masses on it."""
    if not len(cells):
        return 0, np.zeros(1)
    start = int(cells.min())
    return start, np.bincount(cells - start, masses).astype(np.float64)


def _room(side: Side, terms: int) -> float:
    """A factor that makes a sum of so many products a bound, whatever their order."""
    return 1 + 2 * (terms + 8) * UNIT if side == "above" else 1 - 2 * (terms + 8) * UNIT


def _trimmed(given: LossDistribution) -> LossDistribution:
    """Without its tails. From above what is cut moves up: to infinity, or to the lowest point that is kept."""
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
    fields = (
        given.side,
        given.step,
        given.start + low,
        inner * _room(given.side, 1),
        infinite * _room(given.side, 1),
    )
    return LossDistribution(*fields, given.most, given.releases)
