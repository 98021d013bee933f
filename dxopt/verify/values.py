"""Values of a channel, exactly: each a rational, or two that enclose it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import Exact, dot, weighted_sum
from dxopt.verify.prior_sets import Priors
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
AGREEMENT = Fraction(1, 10**12)
"""Numbers that agree differ by no more than this, times the size of what they are made of."""
LEAST = Fraction(1, 1 << 1074)
"""The least positive double."""
_UNIT = 2.0**-53
_SMALLEST = 2.0**-1022
_WIDEST = Fraction(1, 10**10)
_MOST_EXACT = 1_000_000
_NOTHING = Fraction(1, 10**200)


@dataclass(frozen=True)
class Enclosed:
    """A number between two rationals, and the size of the terms whose sum it is, to which agreement is relative.

    Doubles that are subnormal have fewer digits: `lost` bounds what that takes from such a sum of doubles.
    """

    low: Fraction
    high: Fraction
    size: Fraction
    lost: Fraction = 4 * LEAST

    def agrees(self, claimed: float) -> bool:
        """Return whether a number is this one up to 1e-12 of the terms' size; Unproved if the bounds are wide."""
        if self.high - self.low > _WIDEST * self.size + _NOTHING:
            raise Unproved(f"it is enclosed by {float(self.low):.17g} and {float(self.high):.17g} alone")
        room = AGREEMENT * self.size + self.lost
        return bool(np.isfinite(claimed)) and self.low - room <= Fraction(claimed) <= self.high + room


@dataclass(frozen=True)
class Worth:
    """A channel `(n, m)` with a prior `(n,)`: what it is worth under each objective."""

    matrix: Array
    prior: Array

    @cached_property
    def _entries(self) -> Exact:
        return Exact.of(self.matrix)

    @cached_property
    def _beliefs(self) -> Exact:
        return Exact.of(self.prior)

    def rows(self, losses: Array, *, everywhere: bool = False) -> list[tuple[Fraction, Fraction]]:
        """Return Σ_z K[x, z] l(x, z) and the size of its terms for each secret; 0 where π is, unless `everywhere`."""
        counted = np.ones(len(self.prior), dtype=bool) if everywhere else self.prior > 0
        used = np.where((self.matrix > 0) & counted[:, None], losses, 0.0)
        if not np.isfinite(used).all():
            x, z = np.argwhere(~np.isfinite(used))[0]
            raise Broken(f"the loss of secret {x} and report {z} is {losses[x, z]}")
        paid = Exact.of(used)
        entries = self._entries
        scale = 1 << paid.bits + entries.bits
        return [
            (Fraction(dot(row, costs), scale), Fraction(dot(row, list(map(abs, costs))), scale))
            for row, costs in zip(entries.rows, paid.rows, strict=True)
        ]

    def expected_loss(self, losses: Array) -> Enclosed:
        """Return the expected loss Σ_x π_x Σ_z K[x, z] l(x, z)."""
        rows = self.rows(losses)
        found, size = (weighted_sum(self.prior.tolist(), [row[side] for row in rows]) for side in (0, 1))
        return Enclosed(found, found, size, self._lost(losses))

    def _lost(self, losses: Array) -> Fraction:
        """Return the largest error of products of doubles π K, and of these and losses, where they are subnormal."""
        finite = np.where(np.isfinite(losses), np.abs(losses), 0.0)
        return 2 * self.matrix.size * LEAST * (1 + Fraction(float(finite.max(initial=0.0))))

    def largest_loss(self, losses: Array, priors: Priors) -> Enclosed:
        """Return max_π Σ_x π_x Σ_z K[x, z] l(x, z) over a set of priors; of a regret, less the optimum for each."""
        rows = self.rows(losses, everywhere=True)
        worst = priors.largest([loss for loss, _ in rows])
        against = max(map(abs, priors.lowest), default=Fraction(0))
        return Enclosed(worst, worst, max(size for _, size in rows) + against, 2 * self.matrix.size * LEAST)

    def correct(self) -> Fraction:
        """Return the probability that the best guess after a report is right, Σ_z max_x π_x K[x, z]."""
        beliefs = self._beliefs
        entries = self._entries
        columns = zip(*entries.rows, strict=True)
        best = sum(max(map(int.__mul__, beliefs.rows[0], column)) for column in columns)
        return Fraction(best, 1 << beliefs.bits + entries.bits)

    def adversary_error(self, guessed: Array) -> Enclosed:
        """Return Σ_z min_g Σ_x π_x K[x, z] d(x, g), enclosed by doubles with every rounding counted.

        A guess that is infinitely far from some possible secret is none.
        """
        # A guess is allowed after a report if all secrets that may have made this report are at finite distance.
        used = np.isfinite(guessed)
        possible = (self.prior[:, None] > 0) & (self.matrix > 0)
        allowed = ~((~used).T.astype(np.float64) @ possible.astype(np.float64) > 0)
        if not allowed.any(axis=0).all():
            lost = int(allowed.any(axis=0).argmin())
            raise Unproved(f"it is infinite: no guess after report {lost} is at finite distance")
        # The error of each guess after each report `(g, m)`, and the sum of the sizes of its terms.
        guessed = np.where(used, guessed, 0.0)
        joint = self.prior[:, None] * self.matrix
        sums = guessed.T @ joint
        sizes = np.abs(guessed).T @ joint
        # A sum of n products of three doubles, in any order, is off by less than (n + 3)·2^-53 of the sum of their
        # sizes to first order, of which twice is counted, and by (n + 3)·2^-1022 where they are subnormal.
        terms = len(self.prior) + 3
        off = 2 * terms * _UNIT * sizes + terms * _SMALLEST * (1 + np.abs(guessed).max(initial=0.0))
        # The least of lower bounds is a lower bound on the least, and so for upper ones; they are summed exactly.
        sums = np.where(allowed, sums, np.inf)
        low, high = ((sums + side * off).min(axis=0) for side in (-1, 1))
        chosen = np.take_along_axis(sizes, sums.argmin(axis=0)[None, :], axis=0)[0]
        low, high, size = (sum(map(Fraction, numbers.tolist()), Fraction(0)) for numbers in (low, high, chosen))
        # where that is too wide, as for tiny or huge numbers, integers decide, unless there are too many of them
        if high - low > _WIDEST * size + _NOTHING and self.matrix.size * guessed.shape[1] <= _MOST_EXACT:
            low, size = self._exact_error(guessed, allowed)
            high = low
        return Enclosed(low, high, size, self._lost(guessed))

    def _exact_error(self, guessed: Array, allowed: NDArray[np.bool_]) -> tuple[Fraction, Fraction]:
        """Return the error of an adversary in integers, and the size of its terms."""
        entries, costs = self._entries, Exact.of(guessed)
        beliefs = self._beliefs.rows[0]
        scale = 1 << self._beliefs.bits + entries.bits + costs.bits
        found = size = 0
        for column, guesses in zip(zip(*entries.rows, strict=True), allowed.T, strict=True):
            joint = list(map(mul, beliefs, column))
            tried = [missed for missed, good in zip(zip(*costs.rows, strict=True), guesses, strict=True) if good]
            errors = [dot(joint, missed) for missed in tried]
            best = min(range(len(errors)), key=errors.__getitem__)
            found += errors[best]
            size += dot(joint, list(map(abs, tried[best])))
        return Fraction(found, scale), Fraction(size, scale)
