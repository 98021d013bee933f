"""Exact draws: every way that a draw may go is followed, and its probability added up in rationals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest

from dxopt.numerics.draws import Coins

Outcomes = list[tuple[object, Fraction]]


class Asked(Exception):
    """A draw goes on after what was said of it so far; these are the ways."""

    def __init__(self, outcomes: Outcomes) -> None:
        super().__init__()
        self.outcomes = outcomes


class Said(Coins):
    """Coins whose primitive draws come up as said; `falls` is one where there is a `chance` that it is true."""

    def __init__(self, said: list[object], chance: Callable[[int, int], Fraction] | None = None) -> None:
        super().__init__(lambda size: b"")
        self.said = iter(said)
        self.count = 0
        self.chance = chance

    def below(self, bound: int) -> int:
        return self._next([(value, Fraction(1, bound)) for value in range(bound)])  # pyright: ignore[reportReturnType]

    def falls(self, numerator: int, denominator: int) -> bool:
        if self.chance is None:
            return super().falls(numerator, denominator)
        true = self.chance(numerator, denominator)
        return self._next([(True, true), (False, 1 - true)])  # pyright: ignore[reportReturnType]

    def _next(self, outcomes: Outcomes) -> object:
        self.count += 1
        for one in self.said:
            return one
        raise Asked(outcomes)


def every_way(
    draw: Callable[[Said], object], most: int, chance: Callable[[int, int], Fraction] | None = None
) -> Iterator[tuple[list[object], object, Fraction]]:
    """Yield what came up, what was drawn of it, and its probability, for each way of so many primitive draws."""
    ways: list[tuple[list[object], Fraction]] = [([], Fraction(1))]
    while ways:
        said, probability = ways.pop()
        try:
            yield said, draw(Said(said, chance)), probability
        except Asked as asked:
            if len(said) < most:
                ways += [([*said, one], probability * each) for one, each in asked.outcomes if each]


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 2), (1, 2), (2, 3), (1, 1)])
def test_falls_is_true_with_the_sum_of_the_alternating_series(numerator: int, denominator: int) -> None:
    most = 4
    found: Counter[object] = Counter()
    for _, drawn, probability in every_way(lambda coins: coins.falls(numerator, denominator), most):
        found[drawn] += probability  # pyright: ignore[reportArgumentType]
    ratio = Fraction(numerator, denominator)
    terms = [(-ratio) ** order / math.factorial(order) for order in range(most + 1)]
    # the sum of an even number of terms of e^{-ratio} is below it, and what is missing is the other outcome's and
    # that of longer draws
    assert found[True] == sum(terms[:most])
    assert found[True] + found[False] == 1 - abs(terms[most])


@pytest.mark.parametrize("exponent", [Fraction(2, 3), Fraction(3), Fraction(4, 3)])
@pytest.mark.parametrize("base", [Fraction(1, 2), Fraction(5, 7)])
def test_laplace_is_the_two_sided_geometric_distribution(exponent: Fraction, base: Fraction) -> None:
    """Its probabilities are rational in e^{-1/denominator}, for which any number between 0 and 1 may stand."""
    numerator, denominator = exponent.as_integer_ratio()

    def chance(part: int, whole: int) -> Fraction:
        return base ** (part * denominator // whole)

    class Again(Exception):
        """The draw begins anew."""

    def first_try(coins: Said) -> object:
        below = coins.below

        def once(bound: int) -> int:
            if bound == denominator and coins.count:
                raise Again
            return below(bound)

        coins.below = once
        try:
            return coins.laplace(exponent)
        except Again:
            return "again"

    largest = 2
    longest = 4 + (numerator * (largest + 1)) // denominator
    found: Counter[object] = Counter()
    for _, drawn, probability in every_way(first_try, longest, chance):
        found[drawn] += probability  # pyright: ignore[reportArgumentType]
    # all ways that begin anew were followed: a part that is refused, and zero with a minus
    refused = sum(Fraction(1, denominator) * (1 - base**part) for part in range(denominator))
    assert found["again"] == refused + found[0]
    ratio = base**numerator
    for size in range(-largest, largest + 1):
        exact = (1 - ratio) / (1 + ratio) * ratio ** abs(size)
        assert found[size] / (1 - found["again"]) == exact
