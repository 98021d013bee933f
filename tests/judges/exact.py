"""Privacy decided in exact arithmetic: an independent judge that imports nothing from the package it judges.

A channel K is private when K[x, z] ≤ e^{εd(x, x')} K[x', z] for all secrets x, x' and reports z, where εd is the
real product of two doubles. Every double is a rational, and e to a rational other than 0 is irrational, so each
inequality is decided by a rational enclosure of the exponential that is narrow enough.

Most triples are settled by one double multiplication, which is sound because nothing is assumed of any library's
`exp`: the factor is a double that provably lies below e^t (1 - 2^-51) (or above e^t (1 + 2^-51)), taken from the
rational enclosure, and IEEE 754 rounds a product that is neither subnormal nor infinite by at most 2^-53 relative.
What is not settled that way is decided by integers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Triple = tuple[int, int, int]
Matrix = NDArray[np.float64]

SMALLEST_NORMAL = 2.0**-1022
SAFE_EXPONENT = 700  # doubles in [0, 2] times e^700 do not overflow
HUGE_EXPONENT = 2200  # e^2200 exceeds the ratio of any two positive doubles
MARGIN = Fraction(1, 2**51)


def exp_enclosure(exponent: Fraction, bits: int = 128) -> tuple[Fraction, Fraction]:
    """Rationals (low, high) with low ≤ e^exponent ≤ high, for an exponent of 0 or more.

    The exponent is halved until it is at most 1/2, a Taylor polynomial is evaluated on integers scaled by 2^bits
    with every division rounded outwards, and the result is squared as often as the exponent was halved.
    """
    if exponent < 0:
        raise ValueError("the exponent must be 0 or more")
    halvings = max(0, (exponent.numerator // exponent.denominator).bit_length() + 8)
    reduced = exponent / 2**halvings
    one = 1 << bits
    low_s = (reduced.numerator << bits) // reduced.denominator
    high_s = low_s + 1
    low, high = one, one
    low_term = one
    high_term = one
    order = 0
    while high_term > 1:
        order += 1
        low_term = (low_term * low_s >> bits) // order
        high_term = _up(_up(high_term * high_s, one), order)
        low, high = low + low_term, high + high_term
    high += 2 * high_term  # the tail is below its first term times 1 + 1/2 + 1/4 + ...
    for _ in range(halvings):
        low, high = low * low >> bits, _up(high * high, one)
    return Fraction(low, one), Fraction(high, one)


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


@lru_cache(maxsize=100_000)
def _enclosure(exponent: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    return exp_enclosure(exponent, bits)


def at_most(left: float, exponent: Fraction, right: float, bits: int = 128) -> bool:
    """Whether left ≤ e^exponent · right, exactly, for doubles of 0 or more and an exponent of 0 or more.

    `bits` is the precision to begin with; it is doubled until the enclosure decides.
    """
    if left == 0.0:
        return True
    if right == 0.0:
        return False
    ratio = Fraction(left) / Fraction(right)
    if exponent == 0 or ratio <= 1:
        return ratio <= 1
    if exponent >= HUGE_EXPONENT:
        return True
    while True:
        low, high = _enclosure(exponent, bits)
        if ratio <= low:
            return True
        if ratio >= high:
            return False
        bits *= 2


def _double_below(bound: Fraction) -> float:
    number = float(bound)
    return number if Fraction(number) <= bound else float(np.nextafter(number, 0.0))


def _double_above(bound: Fraction) -> float:
    number = float(bound)
    return number if Fraction(number) >= bound else float(np.nextafter(number, np.inf))


def _factors(exponents: list[Fraction]) -> tuple[Matrix, Matrix]:
    """Doubles provably below e^t (1 - 2^-51), with t capped at 700, and above e^t (1 + 2^-51), or inf."""
    below, above = np.empty(len(exponents)), np.empty(len(exponents))
    for index, exponent in enumerate(exponents):
        low, _ = _enclosure(min(exponent, Fraction(SAFE_EXPONENT)), 128)
        below[index] = _double_below(low * (1 - MARGIN))
        high = _enclosure(exponent, 128)[1] if exponent <= SAFE_EXPONENT else None
        above[index] = np.inf if high is None else _double_above(high * (1 + MARGIN))
    return below, above


def violations(matrix: Matrix, distances: Matrix, epsilon: float) -> list[Triple]:
    """The triples (x, x', z) with K[x, z] > e^{εd(x, x')} K[x', z], decided exactly.

    Parameters
    ----------
    matrix : (n, m) array of doubles between 0 and 2
    distances : (n, n) array
        Infinite entries constrain nothing; 0 asks for K[x, z] ≤ K[x', z], so equality where it goes both ways.
    epsilon : float
    """
    if not ((matrix >= 0) & (matrix <= 2)).all():
        raise ValueError("the entries must lie between 0 and 2")
    bound = np.isfinite(distances)
    distinct, which = np.unique(np.where(bound, distances, 0.0), return_inverse=True)
    which = which.reshape(distances.shape)
    exponents = [Fraction(epsilon) * Fraction(float(distance)) for distance in distinct]
    below, above = _factors(exponents)
    found: list[Triple] = []
    for x in range(len(matrix)):
        others = np.flatnonzero(bound[x] & (np.arange(len(matrix)) != x))
        mine = matrix[x][None, :]
        theirs = matrix[others]
        safe, broken = _settled(mine, theirs, below[which[x, others], None], above[which[x, others], None])
        found += [(x, int(others[i]), int(z)) for i, z in np.argwhere(broken)]
        for i, z in np.argwhere(~safe & ~broken):
            exponent = exponents[which[x, others[i]]]
            if not at_most(float(matrix[x, z]), exponent, float(theirs[i, z])):
                found.append((x, int(others[i]), int(z)))
    return sorted(found)


def _settled(mine: Matrix, theirs: Matrix, below: Matrix, above: Matrix) -> tuple[NDArray, NDArray]:
    with np.errstate(invalid="ignore", over="ignore"):
        least = theirs * below
        most = theirs * above
    safe = (mine == 0) | ((mine <= least) & (least >= SMALLEST_NORMAL))
    broken = (mine > 0) & ((theirs == 0) | ((mine >= most) & (most >= SMALLEST_NORMAL)))
    return safe, broken


def infinite_leakage(matrix: Matrix, distances: Matrix) -> list[Triple]:
    """The triples (x, x', z) with K[x, z] > 0 = K[x', z] although d(x, x') is finite."""
    return [
        (x, int(other), int(z))
        for x in range(len(matrix))
        for other, z in np.argwhere(np.isfinite(distances[x])[:, None] & (matrix == 0) & (matrix[x] > 0)[None, :])
    ]


def row_sum_errors(matrix: Matrix) -> list[Fraction]:
    """Σ_z K[x, z] - 1 for every secret x, exactly."""
    return [_sum(row) - 1 for row in matrix]


def _sum(row: Matrix) -> Fraction:
    scale = 1074
    ratios: list[tuple[int, int]] = [float(entry).as_integer_ratio() for entry in row]
    shifted: Callable[[int, int], int] = lambda top, bottom: top << (scale - bottom.bit_length() + 1)  # noqa: E731
    return Fraction(sum(shifted(top, bottom) for top, bottom in ratios), 1 << scale)
