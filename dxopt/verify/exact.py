"""Exact numbers: doubles as integers over a power of two, and rational enclosures of e^t. No library is trusted.

A finite double is an integer times a power of two, so that sums and products of doubles are exact in integers. e^t is
enclosed by a Taylor polynomial in integers, rounded outwards, and repeated squaring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from operator import mul

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
BITS = 128
"""Binary digits after the point in enclosures of e^t, unless more are asked for."""
HUGE = 2200
"""e^2200 exceeds the ratio of any two positive doubles."""
_MANTISSA = 53
_BEYOND = 3000
"""2^3000 is less than e^2200."""
MULTIPLES = 10 * HUGE
"""Claimed logarithms are at most this: what is measured are products of few doubles."""


@dataclass(frozen=True)
class Exact:
    """Numbers as integers over one power of two, row by row: entry [x, z] is rows[x][z] / 2^bits."""

    rows: Sequence[Sequence[int]]
    bits: int

    @classmethod
    def of(cls, array: Array) -> Exact:
        """Return the entries of an array of finite doubles; one of one axis becomes a single row."""
        table = np.atleast_2d(np.asarray(array, dtype=np.float64))
        if not np.isfinite(table).all():
            raise ValueError("there are infinite numbers")
        # Each double is f·2^e with ½ ≤ |f| < 1, where f has 53 binary digits: f·2^53 is an integer, times 2^(e - 53).
        fractions, exponents = np.frexp(table)
        whole = np.ldexp(fractions, _MANTISSA).astype(np.int64)
        shifts = exponents.astype(np.int64) - _MANTISSA
        # The least of these exponents is the common one; all others are shifted up to it, in Python's integers.
        lowest = min(0, int(shifts[table != 0].min(initial=0)))
        moved = np.where(table != 0, shifts - lowest, 0)
        rows = [list(map(int.__lshift__, *pair)) for pair in zip(whole.tolist(), moved.tolist(), strict=True)]
        return cls(rows, -lowest)

    def scaled(self, bits: int) -> list[list[int]]:
        """Return the floors of the entries times 2^bits."""
        up = bits - self.bits
        return [[shifted(entry, up) for entry in row] for row in self.rows]


def shifted(amount: int, up: int) -> int:
    """Return the floor of an integer times 2^up."""
    return amount << up if up >= 0 else amount >> -up


def total(array: Array) -> Fraction:
    """Return the sum of an array of finite doubles `(k,)`."""
    exact = Exact.of(array)
    return Fraction(sum(exact.rows[0]), 1 << exact.bits)


def two_digits_up(number: Fraction) -> str:
    """Format a rational number of 0 or more to two digits, rounded up, so that an upper bound stays one."""
    context = Context(2, ROUND_CEILING)
    return f"{float(context.divide(Decimal(number.numerator), Decimal(number.denominator))):.1e}"


def weighted_sum(weights: Sequence[float], values: Sequence[Fraction]) -> Fraction:
    """Return Σ weights·values for finite doubles and rationals."""
    pairs = zip(weights, values, strict=True)
    return sum((Fraction(weight) * value for weight, value in pairs if weight), Fraction(0))


def dot(left: Sequence[int], right: Sequence[int]) -> int:
    """Return Σ left·right."""
    return sum(map(mul, left, right))


@lru_cache(maxsize=200_000)
def exp_bounds(exponent: Fraction, bits: int = BITS) -> tuple[int, int]:
    """Return integers (low, high) with low ≤ 2^bits e^exponent ≤ high, for an exponent from 0 on.

    The relative width is about 2^(h + 8 - bits), where h is the number of squarings.
    """
    if exponent < 0:
        raise ValueError("the exponent must be 0 or more")
    # The exponent t is divided by 2^h, with h so large that s = t / 2^h < 2^-8; below ≤ 2^bits s ≤ above.
    halvings = (exponent.numerator // exponent.denominator).bit_length() + 8
    one = 1 << bits
    below = (exponent.numerator << bits) // (exponent.denominator << halvings)
    above = below + 1
    # The terms s^k / k! of the series, each from the one before: rounded down in one sum, up in the other.
    low, high = one, one
    low_term, high_term = one, one
    order = 0
    while high_term > 1:
        order += 1
        low_term = (low_term * below >> bits) // order
        high_term = -(-(high_term * above) // (order << bits))
        low += low_term
        high += high_term
    # All terms left out are positive, so that low needs nothing. Each is below 2^-8 of the one before, so that they
    # sum to less than the last one that was added; twice that is added to high.
    high += 2 * high_term
    # e^t is e^s squared h times: products of lower bounds rounded down, of upper bounds rounded up.
    for _ in range(halvings):
        low = low * low >> bits
        high = -(-high * high >> bits)
    return low, high


def at_most(left: int, exponent: Fraction, right: int) -> bool:
    """Return whether left ≤ e^exponent · right, for integers of 0 or more and an exponent from 0 on."""
    if left <= right:
        return True
    if right == 0 or exponent == 0:
        return False
    if exponent >= HUGE and left.bit_length() - right.bit_length() < _BEYOND:
        return True
    # e to a rational other than 0 is irrational, so that both sides differ: some enclosure is narrow enough to
    # decide.
    bits = BITS
    while True:
        low, high = exp_bounds(exponent, bits)
        if left << bits <= low * right:
            return True
        if left << bits >= high * right:
            return False
        bits *= 2


def decay_bounds(amount: int, exponent: Fraction) -> tuple[int, int]:
    """Return integers at most and at least amount·e^-exponent, for an amount and an exponent from 0 on."""
    if exponent > HUGE:
        return 0, (amount >> _BEYOND) + 1
    low, high = exp_bounds(exponent)
    return (amount << BITS) // high, -(-(amount << BITS) // low)


def logarithm_of_two() -> tuple[Fraction, Fraction]:
    """Return rationals below and above ln 2 = Σ 1 / (k 2^k), 2^-100 apart."""
    low = sum((Fraction(1, k << k) for k in range(1, 101)), Fraction(0))
    return low, low + Fraction(1, 1 << 100)


def is_power(number: Fraction, exponent: float, slack: Fraction, *, of_two: bool = False) -> bool:
    """Return whether b^(exponent - slack) ≤ number ≤ b^(exponent + slack), for b = e or 2.

    So a claimed logarithm is checked without computing one. Exponents beyond `MULTIPLES` count as wrong.
    """
    if abs(exponent) > MULTIPLES:
        return False
    less, more = logarithm_of_two() if of_two else (Fraction(1), Fraction(1))
    below, above = (Fraction(exponent) + side * slack for side in (-1, 1))
    low = exponential(min(below * less, below * more))[0]
    return low <= number <= exponential(max(above * less, above * more))[1]


def exponential(exponent: Fraction) -> tuple[Fraction, Fraction]:
    """Return rationals below and above e^exponent, for an exponent of either sign."""
    if exponent < 0:
        low, high = exponential(-exponent)
        return 1 / high, 1 / low
    low, high = exp_bounds(exponent)
    return Fraction(low, 1 << BITS), Fraction(high, 1 << BITS)
