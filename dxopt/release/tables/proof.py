"""Whether a table of integers is private, decided by integers alone.

Nearly all triples (x, x', z) are settled by the leading 63 bits of each number, in words of 64 bits, where every
rounding is against privacy; the others by integers of any length.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.release.tables.powers import PRECISION, power_below

Words = NDArray[np.uint64]
Counts = NDArray[np.object_]
_LEADING = 63
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
    """The first pair (x, x') of those bound with Σ_z max(0, N[x, z] - e^{εd} N[x', z]) > δT, and its worst report.

    None proves that there is no such pair. The converse fails only where an inequality holds by less than 2^-280 of
    its sides, or by a budget beyond 700.

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
    """For each distinct distance e^{εd} ≥ P / 2^320, and e^{-εd} ≤ G 2^{-62-q} with G of 63 bits, rounded up."""

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
    """The leading 63 bits n of each count and how many follow: n 2^shift ≤ N < (n + 1) 2^shift."""

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
        """Where N[x', z] ≥ G 2^{-62-q} N[x, z] is not seen from the leading bits, for k of the x', `(k, m)`.

        G (n + 1) < 2^64 (h + 4), h being the product of the upper halves and the upper halves of the mixed products.
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
