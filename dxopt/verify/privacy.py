"""Privacy of a channel, in doubles or in integers, decided exactly.

All entries are integers over one scale, and εd is the real product of two doubles. Most triples (x, x', z) are
settled by a double product, which is sound: the factor is a double that is proven to be below e^t (1 - 2^-49), the
entries are within 2^-53 of the integers, and IEEE 754 rounds a product that is not subnormal by at most 2^-53. What
that does not settle is decided in integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import BITS, HUGE, Exact, at_most, exp_bounds

Array = NDArray[np.float64]
Rows = Sequence[Sequence[int]]
Triple = tuple[int, int, int]
"""Two secrets and a report."""
ROW_SUM = Fraction(1, 1 << 50)
"""Rows sum to 1 within this."""
LEAST_DELTA = Fraction(1, 10**11)
"""A δ counts as the least if no δ smaller by more than this would do."""
_MARGIN = Fraction(1, 1 << 49)
_SAFE = 700
_CACHED = 1 << 17
"""Doubles that stay in the cache of a processor."""
_FEW = 20_000
"""Of more distances than this powers are enclosed in doubles, all at once."""
_NORMAL = 2.0**-1022
_AGREEMENT = Fraction(1, 10**12)
_MOST_BITS = 4096


@dataclass(frozen=True)
class Channel:
    """Probabilities rows[x][z] / scale, and doubles within 2^-53 of them, relative, or subnormal."""

    rows: Rows
    scale: int
    near: Array

    @classmethod
    def of(cls, matrix: Array) -> Channel:
        """Return a channel of the doubles of a matrix `(n, m)`, as they are."""
        exact = Exact.of(matrix)
        return cls(exact.rows, 1 << exact.bits, matrix)

    @classmethod
    def integers(cls, counts: Rows, scale: int) -> Channel:
        """Return a channel of counts out of `scale`, a power of two, as of a table."""
        return cls(counts, scale, np.array([[count / scale for count in row] for row in counts]))

    def sums(self) -> list[Fraction]:
        """Return the sums of rows."""
        return [Fraction(sum(row), self.scale) for row in self.rows]


@dataclass(frozen=True)
class Levels:
    """Budgets ε·d of the ordered pairs that are bound, `(n, n)`.

    `which` `(n, n)` is the index of each distance among the k distinct `distances` `(k,)`, which rise, and `below`
    `(k,)` are doubles below e^{εd} (1 - 2^-49).
    """

    bound: NDArray[np.bool_]
    which: NDArray[np.int64]
    distances: Array
    epsilon: Fraction
    below: Array

    @classmethod
    def of(cls, distances: Array, bound: NDArray[np.bool_], epsilon: Fraction) -> Levels:
        """Return the budgets at ε of distances `(n, n)`."""
        distinct, which = np.unique(np.where(bound, distances, 0.0), return_inverse=True)  # others may be infinite
        if len(distinct) > _FEW:
            below = powers_below(float(epsilon), distinct)
        else:
            below = np.array([_double_below(epsilon * Fraction(distance)) for distance in distinct.tolist()])
        return cls(bound, which.reshape(distances.shape), distinct, epsilon, below)

    def exponent(self, kind: int) -> Fraction:
        """Return ε·d of one of the distinct distances, exactly."""
        return self.epsilon * Fraction(float(self.distances[kind]))

    def pairs(self, width: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Yield each secret x with some x' of its pairs, whose rows of a `width` stay in the cache together."""
        step = max(1, _CACHED // width)
        for x, row in enumerate(self.bound):
            others = np.flatnonzero(row)
            for first in range(0, len(others), step):
                yield x, others[first : first + step]


def _double_below(exponent: Fraction) -> float:
    """Return a double below e^t (1 - 2^-49): one below the nearest, as conversion may have rounded it up."""
    low, _ = exp_bounds(min(exponent, Fraction(_SAFE)))
    return float(np.nextafter(float(Fraction(low, 1 << BITS) * (1 - _MARGIN)), 0.0))


def powers_below(epsilon: float, distances: Array) -> Array:
    """Return doubles below e^{εd} (1 - 2^-49) for distances `(k,)`, all at once; e^700 stands for larger ones.

    A double t below ε·d is i + j / 256 + r, exactly, with whole numbers i and j < 256. The powers of i and j / 256
    are rounded down from exact enclosures, and that of r < 2^-8 is a sum of positive terms. Fewer than 8 roundings
    of 2^-53 each are made up for by 2^-48.
    """
    down = np.nextafter(epsilon, 0.0) * distances
    exponents = np.minimum(np.where(down > _NORMAL, np.nextafter(down, 0.0), 0.0), float(_SAFE))
    whole = np.floor(exponents)
    parts = np.floor((exponents - whole) * 256)
    rest = exponents - whole - parts / 256
    series = np.ones_like(rest)
    for order in range(7, 0, -1):
        series = 1 + series * rest / order
    units, fine = (
        np.array([_double_below(Fraction(k, step)) for k in range(count)]) for step, count in ((1, 701), (256, 256))
    )
    product = units[whole.astype(np.int64)] * fine[parts.astype(np.int64)] * series
    return product * (1 - 2.0**-48)


def bound_pairs(distances: Array, pairs: str) -> NDArray[np.bool_]:
    """Return the ordered pairs at finite distance; for "adjacent" those without a third secret between them.

    One is between if the way through it is no longer than 1 + 1e-12 times the distance, and both its parts are
    shorter than 1 - 1e-9 times it: the definition of adjacency in doubles.
    """
    bound = np.isfinite(distances)
    np.fill_diagonal(bound, False)
    if pairs == "adjacent":
        most = distances * (1 + 1e-12)
        shorter = distances * (1 - 1e-9)
        for via in range(len(distances)):
            there, back = distances[:, via, None], distances[None, via, :]
            bound &= ~((there + back <= most) & (there < shorter) & (back < shorter))
    return bound


def violation(channel: Channel, levels: Levels) -> Triple | None:
    """Return the first (x, x', z) with K[x, z] > e^{εd(x, x')} K[x', z], or None, which proves that there is none."""
    for x, others in levels.pairs(channel.near.shape[1]):
        # All reports and all x' at once: a triple is settled if K[x, z] is at most a double that is proven to be
        # below e^{εd} K[x', z]. The margin of 2^-49 covers the roundings of both entries and of the product, which
        # are relative ones as long as neither side is subnormal.
        mine = channel.near[x]
        least = channel.near[others] * levels.below[levels.which[x, others], None]
        if (mine <= least).all() and least.min() >= _NORMAL and not ((mine > 0) & (mine < _NORMAL)).any():
            continue
        settled = (mine == 0) | ((mine >= _NORMAL) & (mine <= least) & (least >= _NORMAL))
        # What is left, few triples near equality or with tiny entries, is decided in integers.
        row = channel.rows[x]
        for index, z in np.argwhere(~settled).tolist():
            other = int(others[index])
            exponent = levels.exponent(levels.which[x, other])
            if row[z] and not at_most(row[z], exponent, channel.rows[other][z]):
                return x, other, z
    return None


def is_least(channel: Channel, levels: Levels) -> bool:
    """Return whether no smaller ε would do: a triple breaks budgets of t - (1 + t)·1e-12, t = εd, or all are below 0.

    One triple is enough: the one with the largest ln(K[x, z] / K[x', z]) / d is found in doubles, and decided
    exactly.
    """
    # Double logarithms only choose the triple: a wrong choice could make a least level seem not to be one, never
    # the other way round.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logs = np.log(channel.near)
        # entries of 0 count as far below all others, so that what only one of two secrets reports needs the most
        high, low = (np.where(channel.near > 0, logs, far) for far in (-1e6, -1e5))
        best, worst = (0, 0, 0), -np.inf
        for x, others in levels.pairs(channel.near.shape[1]):
            ratios = high[x] - low[others]
            distances = levels.distances[levels.which[x, others]]
            needed = np.where(distances > 0, (ratios.max(axis=1) + 1e-13) / distances, -np.inf)
            index = int(needed.argmax())
            if needed[index] > worst:
                worst = needed[index]
                best = x, int(others[index]), int(ratios[index].argmax())
    if worst == -np.inf:  # no pair needs any budget: only 0 is the least
        return not (levels.epsilon and levels.distances.any())
    x, other, z = best
    exponent = levels.exponent(levels.which[x, other])
    reduced = exponent - (1 + exponent) * _AGREEMENT
    return reduced < 0 or not at_most(channel.rows[x][z], reduced, channel.rows[other][z])


def excess(channel: Channel, levels: Levels, allowed: Fraction) -> tuple[Fraction, Triple | None]:
    """Return a lower bound on the largest Σ_z max(0, K[x, z] - e^{εd} K[x', z]), the least δ, and who breaks it.

    That is the first pair with more than δ = `allowed`, and the report that exceeds most; None proves δ. Then the
    lower bound is within 1e-12 of the largest.
    """
    # Entries are at most 1 or so, so that sums of m of them in doubles are off by much less than this.
    margin = (channel.near.shape[1] + 64) * 2.0**-48
    largest = Fraction(0)
    seen = float(allowed)
    for x, others in levels.pairs(channel.near.shape[1]):
        over = channel.near[x] - levels.below[levels.which[x, others], None] * channel.near[others]
        sums = np.maximum(over, 0.0).sum(axis=1)
        largest = max(largest, Fraction(float(sums.max())) - Fraction(margin))
        # Pairs whose sum is not below what is allowed even with all its roundings are summed in integers.
        for index in np.flatnonzero(sums + margin > seen).tolist():
            other = int(others[index])
            exponent = levels.exponent(levels.which[x, other])
            if not _is_within(channel.rows[x], channel.rows[other], exponent, allowed * channel.scale):
                return largest, (x, other, int(over[index].argmax()))
    return largest, None


def _is_within(mine: Sequence[int], theirs: Sequence[int], exponent: Fraction, allowed: Fraction) -> bool:
    """Return whether Σ max(0, a - e^t b) ≤ allowed; False also where enclosures of e^t by 4096 bits do not decide."""
    bits = BITS
    while bits <= _MOST_BITS:
        low, high = exp_bounds(min(exponent, Fraction(HUGE)), bits) if exponent else (1 << bits, 1 << bits)
        pairs = [(a << bits, b) for a, b in zip(mine, theirs, strict=True) if a > b]
        # The lower bound on e^t gives the largest sum, the upper bound the smallest.
        if sum(max(0, a - low * b) for a, b in pairs) <= allowed * (1 << bits):
            return True
        if sum(max(0, a - high * b) for a, b in pairs) > allowed * (1 << bits):
            return False
        bits *= 2
    return False
