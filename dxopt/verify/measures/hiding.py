"""How far it moves beliefs after any event whether a secret was hidden: decided in integers (CABP13 Thms 1, 3)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.verdict import Unproved

_CLOSE = Fraction(1, 10**13)
_MARGIN = 1e-9
Array = NDArray[np.float64]
Polynomial = tuple[int, int, int]


class _Case(NamedTuple):
    """The odds of a secret after an event Z: A(Z) B(Z) / (C(Z) D(Z)), by what each report adds to the four.

    A and C are the probabilities of Z at this secret, B and D those of Z under the prior the other way round.
    """

    reports: list[tuple[int, int, int, int]]

    def over(self, first: int, second: int) -> Polynomial:
        """AB for a weight of 1 for one report and t for another, as a polynomial in t."""
        return _product(self.reports[first][:2], self.reports[second][:2])

    def under(self, first: int, second: int) -> Polynomial:
        """CD likewise."""
        return _product(self.reports[first][2:], self.reports[second][2:])

    def silent_pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs of which one report has no weight in C or in D."""
        for first, (_, _, c, d) in enumerate(self.reports):
            if c == 0 or d == 0:
                yield from ((first, second) for second in range(len(self.reports)))

    def ratios(self) -> tuple[Array, Array]:
        """A/C and B/D of each report in doubles, right to a relative 1e-15; infinite over 0, and 0 for 0/0."""
        one, other = (np.array([_over(report[part], report[part + 2]) for report in self.reports]) for part in (0, 1))
        return one, other

    def cap(self) -> float:
        """No factor is above it: both ratios at their largest, each at a report of its own."""
        one, other = self.ratios()
        return float(one.max() * other.max()) * (1 + _MARGIN)

    def pairs_above(self, factor: Fraction) -> Iterator[tuple[int, int]]:
        """Pairs of reports that may exceed a factor: larger ratios of the two come to so much."""
        if self.cap() <= factor:
            return
        one, other = self.ratios()
        for first in range(len(self.reports)):
            with np.errstate(invalid="ignore"):  # where all of one ratio are 0, nothing exceeds anything
                most = np.maximum(one[first], one[first:]) * np.maximum(other[first], other[first:])
            yield from ((first, first + int(later)) for later in np.flatnonzero(most * (1 + _MARGIN) > float(factor)))


def largest_factor(weights: Sequence[int], rows: Sequence[Sequence[int]], instead: Sequence[int]) -> Fraction | None:
    """The largest factor between beliefs with hiding and without, for any weights of reports; None if endless.

    Weights from 0 to 1 are events that a coin tells, and their scale cancels. If some weights exceed a factor f, two
    reports do: two linear conditions have a solution with two. The largest f is guessed in doubles and then proven:
    it is attained, and AB ≤ f(1 + 1e-13)CD is decided for all pairs of reports and all t by the signs of a quadratic.

    Raises
    ------
    Unproved
        If the guess is not good enough.
    """
    cases = list(_cases(weights, rows, instead))
    if any(_endless(case, *pair) for case in cases for pair in case.silent_pairs()):
        return None
    best = Fraction(1)
    for case in sorted(cases, key=_Case.cap, reverse=True):
        if case.cap() > best:
            best = max(best, _guessed(case))
    limit = best * (1 + _CLOSE)
    for case in cases:
        if any(_exceeds(case.over(*pair), case.under(*pair), limit) for pair in case.pairs_above(limit)):
            raise Unproved("the largest factor between two beliefs is not found in doubles")
    return best


def _cases(weights: Sequence[int], rows: Sequence[Sequence[int]], instead: Sequence[int]) -> Iterator[_Case]:
    plain = [sum(map(int.__mul__, weights, column)) for column in zip(*rows, strict=True)]
    hidden = [sum(map(int.__mul__, weights, column)) for column in zip(*(rows[x] for x in instead), strict=True)]
    for secret, weight in enumerate(weights):
        if weight:
            mine, other = rows[secret], rows[instead[secret]]
            for four in ((mine, hidden, other, plain), (other, plain, mine, hidden)):
                yield _Case([report for report in zip(*four, strict=True) if report[1] or report[3]])


def _over(one: int, other: int) -> float:
    try:
        return one / other if other else math.inf if one else 0.0
    except OverflowError:
        return math.inf


def _product(one: tuple[int, ...], other: tuple[int, ...]) -> Polynomial:
    """(u + tu')(v + tv')."""
    (u, v), (more_u, more_v) = one, other
    return u * v, u * more_v + more_u * v, more_u * more_v


def _endless(case: _Case, first: int, second: int) -> bool:
    """Whether the factor is infinite for a weight, or grows without end where one of the two weights vanishes."""
    for one, other in ((first, second), (second, first)):
        over, under = case.over(one, other), case.under(one, other)
        if under[0] == 0 and (over[0] > 0 or (under[1] == 0 and over[1] > 0)):
            return True
    return False


def _exceeds(over: Polynomial, under: Polynomial, factor: Fraction) -> bool:
    """Whether over(t) > factor·under(t) for some t ≥ 0."""
    up, down = factor.numerator, factor.denominator
    constant, linear, square = (down * more - up * less for more, less in zip(over, under, strict=True))
    if constant > 0 or square > 0:
        return True
    return linear > 0 and linear * linear > 4 * constant * square


def _guessed(case: _Case) -> Fraction:
    """The factor at the weights that are best in doubles: never above the largest."""
    scale = [more + less for _, more, _, less in case.reports]
    a, b, c, d = (
        np.array([entry / size for entry, size in zip(column, scale, strict=True)])
        for column in zip(*case.reports, strict=True)
    )
    over = _terms(a, b)
    under = _terms(c, d)
    with np.errstate(all="ignore"):
        # where the derivative of the quotient vanishes, and at t = 0; all pairs both ways, so that t → ∞ is there too
        zero = over[1] * under[0] - over[0] * under[1]
        one = over[2] * under[0] - over[0] * under[2]
        two = over[2] * under[1] - over[1] * under[2]
        root = np.sqrt(one * one - zero * two)
        weights = [
            np.zeros_like(one),
            (root - one) / two,
            (-root - one) / two,
            zero / (-one - root),
            zero / (root - one),
        ]
        factors = [
            (over[0] + t * (over[1] + t * over[2])) / (under[0] + t * (under[1] + t * under[2])) for t in weights
        ]
        factors[0] = np.where(under[0] > 0, factors[0], over[1] / under[1])
    best = Fraction(0)
    for t, factor in zip(weights, factors, strict=True):
        usable = np.isfinite(t) & (t >= 0) & np.isfinite(factor)
        first, second = np.unravel_index(int(np.argmax(np.where(usable, factor, -1.0))), factor.shape)
        if usable[first, second]:
            ratio = Fraction(float(t[first, second])) * Fraction(scale[first], scale[second])
            best = max(best, _at(case, int(first), int(second), ratio))
    return best


def _terms(u: Array, v: Array) -> tuple[Array, Array, Array]:
    mixed = np.outer(u, v)
    ones = np.ones_like(mixed)
    return (u * v)[:, None] * ones, mixed + mixed.T, (u * v) * ones


def _at(case: _Case, first: int, second: int, weight: Fraction) -> Fraction:
    over, under = case.over(first, second), case.under(first, second)
    below = under[0] + weight * (under[1] + weight * under[2])
    if below:
        return (over[0] + weight * (over[1] + weight * over[2])) / below
    return Fraction(over[1], under[1]) if under[1] else Fraction(0)
