"""Prove a table of integers: exact privacy, and its exact distance from a channel in doubles.

Nearly all triples (x, x', z) are settled by the leading 63 bits of each number, in words of 64 bits, where every
rounding is against privacy; the others by integers of any length.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from numpy.typing import NDArray

_DIGITS = 53
"""Binary digits of a double."""


def over_power_of_two(numbers: NDArray[np.float64]) -> tuple[list[int], int]:
    """Return finite numbers `(m,)` as exact fractions: integers k, and the s of 0 or more with numbers = k / 2^s."""
    # Each number is an integer of 53 bits times a power of two; 0 has none, and asks for no shift.
    parts, exponents = np.frexp(numbers)
    exponents = np.where(parts == 0, 0, exponents - _DIGITS)
    shift = max(0, -int(exponents.min(initial=0)))
    whole = np.ldexp(parts, _DIGITS).astype(np.int64).tolist()
    return [part << shift + power for part, power in zip(whole, exponents.tolist(), strict=True)], shift


PRECISION = 320
"""Binary digits after the point of every bound, enough to decide counts out of 2^256 to the unit."""
MOST = 700
"""Larger budgets count as this one, which is safe in a lower bound."""
_FINE = 8
"""The budget is halved to at most 2^-8, where Taylor's series needs few terms."""


def power_below(epsilon: float, distance: float) -> int:
    """Return an integer P with P / 2^320 ≤ e^{εd}, at least 2^320, for finite ε and d of 0 or more.

    What is proven with this lower bound holds for e^{εd} itself. The budget is halved until it is at most 2^-8;
    Taylor's polynomial, all of whose terms are positive, is summed with every rounding downwards, and squared as
    often.
    """
    # The budget εd as a quotient of integers, exactly.
    epsilon_top, epsilon_bottom = epsilon.as_integer_ratio()
    distance_top, distance_bottom = distance.as_integer_ratio()
    top = epsilon_top * distance_top
    bottom = epsilon_bottom * distance_bottom
    if top > MOST * bottom:
        top = MOST
        bottom = 1
    # Halved so often that it is at most 2^-8, in units of 2^-320 and rounded down.
    halvings = (top // bottom).bit_length() + _FINE
    budget = (top << PRECISION) // (bottom << halvings)
    # Σ budget^k / k!, until a term is below 2^-320: each term from the one before it.
    power = 1 << PRECISION
    term = power
    order = 0
    while term:
        order += 1
        term = (term * budget >> PRECISION) // order
        power += term
    # e^{2b} = (e^b)², as often as the budget was halved.
    for _ in range(halvings):
        power = power * power >> PRECISION
    return power


Words = NDArray[np.uint64]
Counts = NDArray[np.object_]
_LEADING = 63
"""Leading bits that are compared; one less than a word has, so that sums of their products do not overflow."""
_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)
_BLOCK_CELLS = 1 << 16


def violation(
    counts: Counts,
    distances: NDArray[np.float64],
    bound: NDArray[np.bool_],
    epsilon: float,
    allowed: Fraction,
    tell: Callable[[str], None],
) -> tuple[int, int, int] | None:
    """Find a pair (x, x') of those bound with Σ_z max(0, N[x, z] - e^{εd} N[x', z]) > δT, and its worst report.

    None proves that there is no such pair, so that the table is private. A pair may be found wrongly only where its
    inequality holds by less than 2^-280 of its sides, or only thanks to a budget εd beyond 700.

    Parameters
    ----------
    counts : (n, m) array of int
        N, of 0 or more.
    distances : (n, n) array
    bound : (n, n) array of bool
        The ordered pairs that count; finite distances.
    epsilon : float
    allowed : Fraction
        δT; at 0, N[x, z] ≤ e^{εd} N[x', z] in every report.
    tell : callable
        Is called with lines that report how far it is.
    """
    factors = _Factors.of(distances, bound, epsilon)
    tops = _Tops.of(counts)
    # For each x the x' bound to it, as many at a time as a block of words in cache allows.
    step = max(1, _BLOCK_CELLS // counts.shape[1])
    for x, row in enumerate(counts):
        tell(f"proving the rows of {x:,} of {len(counts):,} secrets")
        others = np.flatnonzero(bound[x])
        for some in np.split(others, range(step, len(others), step)):
            unsettled = tops.unsettled(x, some, factors)
            # A report that is settled exceeds nothing, so that the sum over the others is the whole excess of the
            # pair: in exact integers, with the lower bound on e^{εd}, so that it is never too small.
            for k in np.flatnonzero(unsettled.any(axis=1)):
                other = int(some[k])
                reports = np.flatnonzero(unsettled[k])
                power = factors.powers[factors.which[x, other]]
                against = counts[other]
                over = [(row[z] << PRECISION) - power * against[z] for z in reports]
                excess = sum(extra for extra in over if extra > 0)
                if excess * allowed.denominator > allowed.numerator << PRECISION:
                    return x, other, int(reports[over.index(max(over))])
    return None


@dataclass(frozen=True)
class _Factors:
    """Bounds for each distinct distance: e^{εd} ≥ P / 2^320 (`powers`), and e^{-εd} ≤ G 2^{-62-q}, rounded up.

    G has 63 bits (`tops`), q are the `shifts`; `which` `(n, n)` has the place of each pair's distance in them.
    """

    which: NDArray[np.int64]
    powers: list[int]
    tops: Words
    shifts: NDArray[np.int64]

    @classmethod
    def of(cls, distances: NDArray[np.float64], bound: NDArray[np.bool_], epsilon: float) -> _Factors:
        # G is 2^{62+q} over P / 2^320, rounded up; the shift q is such that it has 63 bits.
        distinct, which = np.unique(np.where(bound, distances, 0.0), return_inverse=True)
        powers = [power_below(epsilon, distance) for distance in distinct.tolist()]
        shifts = [power.bit_length() - PRECISION for power in powers]
        tops = [
            -(-(1 << _LEADING - 1 + shift + PRECISION) // power) for power, shift in zip(powers, shifts, strict=True)
        ]
        return cls(which.reshape(distances.shape), powers, np.array(tops, dtype=np.uint64), np.array(shifts))


@dataclass(frozen=True)
class _Tops:
    """The leading 63 bits n of each count N, and how many bits follow: n 2^shift ≤ N < (n + 1) 2^shift.

    The shift is negative for a count of fewer bits, which is filled up with zeros.
    """

    leading: Words
    shifts: NDArray[np.int64]

    @classmethod
    def of(cls, counts: Counts) -> _Tops:
        flat = counts.ravel().tolist()
        shifts = [count.bit_length() - _LEADING for count in flat]
        leading = [
            count >> shift if shift > 0 else count << -shift for count, shift in zip(flat, shifts, strict=True)
        ]
        return cls(np.array(leading, dtype=np.uint64).reshape(counts.shape), np.array(shifts).reshape(counts.shape))

    def unsettled(self, x: int, others: NDArray[np.int64], factors: _Factors) -> NDArray[np.bool_]:
        """Return a mask `(k, m)` of the reports that leading bits do not settle, for secret x and k others x'.

        A report is settled if they show N[x', z] ≥ G 2^{-62-q} N[x, z], and so N[x, z] ≤ e^{εd} N[x', z]. Words hold
        no product G n of 126 bits, so that its upper word is bounded: G (n + 1) < 2^64 (h + 4), where h is the
        product of the upper halves plus the upper halves of the two mixed products.
        """
        kind = factors.which[x, others]
        left = self.leading[x]
        factor = factors.tops[kind, None]
        upper = factor >> _HALF
        lower = factor & _LOW
        # h, in units of 2^64, from halves of 32 bits. G n has below 3 more of them: the product of the lower halves
        # and the lower halves of the two mixed products. G itself is below one unit.
        product = upper * (left >> _HALF)
        product += upper * (left & _LOW) >> _HALF
        product += lower * (left >> _HALF) >> _HALF
        # As G is over 2^(62+q), a unit of h is one of 2^(2-q), times the shift of x: N[x', z] in these units, rounded
        # down. A shift below 0 counts as 0, which only makes it smaller.
        shift = self.shifts[x] + 2 - factors.shifts[kind, None] - self.shifts[others]
        np.clip(shift, 0, _LEADING, out=shift)
        right = self.leading[others] >> shift.view(np.uint64)
        return (right <= product + np.uint64(3)) & (left > 0)


Array = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """Changes from a channel K `(n, m)` to its table N, in exact arithmetic: the cost that is claimed and limited.

    `prior` is π `(n,)`; `losses` are l `(n, m)`, None where there is no loss.
    """

    channel: Array
    prior: Array
    losses: Array | None

    @cached_property
    def expected(self) -> float:
        """The channel's expected loss, Σ_x π_x Σ_z K[x, z] l(x, z) over finite losses; 0 without losses."""
        return (
            0.0 if self.losses is None else float((self.prior[:, None] * self.channel * _finite(self.losses)).sum())
        )

    def cost(self, counts: Counts, bits: int) -> float:
        """Return how much more the table loses: Σ_x π_x Σ_z (N[x, z] / T - K[x, z]) l(x, z); NaN without losses.

        It is infinite if, at a secret of positive prior, a report of infinite loss is possible in one of the two and
        not in the other. Where it is possible in both, only finite losses are compared.
        """
        if self.losses is None:
            return math.nan
        losses = _finite(self.losses)
        total = Fraction(0)
        for x in np.flatnonzero(self.prior).tolist():
            endless = (losses[x] != self.losses[x]) & ((self.channel[x] > 0) != (counts[x] > 0))
            if endless.any():
                return math.inf
            # A sum of products of integers over a power of two, and one fraction for each secret.
            moved, shift = self._changes(x, counts, bits)
            paid, unit = over_power_of_two(losses[x])
            total += Fraction(float(self.prior[x])) * Fraction(sum(map(mul, moved, paid)), 1 << shift + unit)
        return float(total)

    def variation(self, counts: Counts, bits: int) -> float:
        """Return the largest total variation between rows of the two, max_x ½ Σ_z |N[x, z] / T - K[x, z]|."""
        worst = Fraction(0)
        for x in range(len(counts)):
            moved, shift = self._changes(x, counts, bits)
            worst = max(worst, Fraction(sum(map(abs, moved)), 1 << shift + 1))
        return float(worst)

    def _changes(self, x: int, counts: Counts, bits: int) -> tuple[list[int], int]:
        """Return N[x, z] / T - K[x, z] of all reports as integers k and one s: each is k / 2^s exactly."""
        row, shift = over_power_of_two(self.channel[x])
        moved = [(count << shift) - (entry << bits) for count, entry in zip(counts[x], row, strict=True)]
        return moved, shift + bits


def _finite(losses: Array) -> Array:
    """Return losses with 0 for infinite ones, which would make sums infinite, or no numbers."""
    return np.where(np.isfinite(losses), losses, 0.0)
