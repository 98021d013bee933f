"""Exact numbers of the verifier, against another series and rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dxopt.verify.exact import Exact, at_most, exp_bounds, is_power, total
from tests.judges.exact import exp_enclosure


@pytest.mark.parametrize("exponent", [0.0, 1e-300, 1e-9, 0.1, 1.0, math.pi, 20.0, 699.9])
def test_powers_enclose_those_of_another_series(exponent: float) -> None:
    low, high = exp_bounds(Fraction(exponent))
    less, more = exp_enclosure(Fraction(exponent), 400)
    assert Fraction(low, 1 << 128) <= less
    assert more <= Fraction(high, 1 << 128)
    assert high - low <= low >> 90


def test_comparisons_of_integers_are_exact() -> None:
    low, high = exp_enclosure(Fraction(1), 600)
    size = 1 << 500
    below, above = int(low * size), int(high * size) + 1
    assert at_most(below, Fraction(1), size)
    assert not at_most(above, Fraction(1), size)
    assert at_most(7, Fraction(0), 7)
    assert not at_most(8, Fraction(0), 7)
    assert not at_most(1, Fraction(5), 0)
    assert at_most(0, Fraction(5), 0)


def test_doubles_are_taken_as_they_are() -> None:
    numbers = np.array([0.1, -3e-310, 2.0**-1074, 0.0, 1e300])
    exact = Exact.of(numbers)
    assert [Fraction(entry, 1 << exact.bits) for entry in exact.rows[0]] == [Fraction(x) for x in numbers.tolist()]
    assert total(numbers) == sum(map(Fraction, numbers.tolist()))
    assert Exact.of(np.zeros(2)).rows == [[0, 0]]


def test_powers_of_two() -> None:
    slack = Fraction(1, 10**12)
    for number in (3.0, 0.2, 1.0, 1e6):
        assert is_power(Fraction(number), math.log2(number), slack, of_two=True)
        assert not is_power(Fraction(number), math.log2(number) + 1e-6, slack, of_two=True)
        assert not is_power(Fraction(number), math.log2(number) - 1e-6, slack, of_two=True)


def test_exponents_of_any_size_are_decided_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether beyond that of two doubles, or next to it, where e^t is enclosed."""
    assert not at_most(1 << 3200, Fraction(2200), 1)
    assert at_most(1 << 3100, Fraction(2200), 1)
    monkeypatch.setattr("dxopt.verify.exact.exp_bounds", None)
    for exponent in (Fraction(2200), Fraction(10) ** 300):
        assert at_most(1 << 2999, exponent, 1)
        assert at_most(1 << 3999, exponent, 1 << 1000)
