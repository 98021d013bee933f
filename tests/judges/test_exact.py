"""The exact judge is judged first."""

from __future__ import annotations

from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from tests.judges.exact import at_most, exp_enclosure, infinite_leakage, row_sum_errors, violations


def decimal_of(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)


@pytest.mark.parametrize("exponent", [0.0, 5e-324, 1e-300, 1e-9, 0.1, 0.5, 1.0, np.log(2.0), 3.7, 60.0, 700.0])
@pytest.mark.parametrize("bits", [64, 128, 300])
def test_enclosure_holds_the_known_value_and_is_narrow(exponent: float, bits: int) -> None:
    getcontext().prec = 450
    low, high = exp_enclosure(Fraction(exponent), bits)
    known = Decimal(exponent).exp()
    assert decimal_of(low) <= known <= decimal_of(high)
    assert high - low <= high * Fraction(1, 2 ** (bits - 30))


def test_enclosure_of_one_starts_with_the_digits_of_e() -> None:
    low, high = exp_enclosure(Fraction(1), 200)
    digits = 271828182845904523536028747135266249775724709369
    assert int(low * 10**47) == int(high * 10**47) == digits


def test_enclosure_of_nothing_negative() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        exp_enclosure(Fraction(-1))


def neighbours_of_the_exponential(exponent: float) -> tuple[float, float]:
    """The doubles next to e^exponent, below and above it."""
    low, _ = exp_enclosure(Fraction(exponent), 200)
    number = float(low)
    if Fraction(number) > low:
        number = float(np.nextafter(number, 0.0))
    return number, float(np.nextafter(number, np.inf))


@pytest.mark.parametrize("exponent", [1e-12, 0.3, 1.0, 12.5, 60.0, 600.0])
def test_decides_on_both_sides_of_a_tight_pair(exponent: float) -> None:
    below, above = neighbours_of_the_exponential(exponent)
    tiny = 2.0**-1000
    for bits in (16, 64, 128):
        assert at_most(below * tiny, Fraction(exponent), tiny, bits)
        assert not at_most(above * tiny, Fraction(exponent), tiny, bits)


def test_decides_the_extremes() -> None:
    assert at_most(0.0, Fraction(0), 0.0)
    assert not at_most(5e-324, Fraction(10**6), 0.0)
    assert at_most(1.0, Fraction(745), 5e-324)
    assert not at_most(1.0, Fraction(744), 5e-324)
    assert at_most(1.0, Fraction(10**300), 5e-324)
    assert not at_most(1.0 + 2.0**-52, Fraction(5e-324), 1.0)
    assert at_most(1.0 + 2.0**-52, Fraction(2.0**-52), 1.0) == (
        Fraction(1.0 + 2.0**-52) <= exp_enclosure(Fraction(2.0**-52), 300)[0]
    )


def geometric(size: int, epsilon: float) -> np.ndarray:
    """The truncated geometric mechanism in plain doubles."""
    ratio = np.exp(-epsilon)
    points = np.arange(size)
    weight = np.full(size, (1 - ratio) / (1 + ratio))
    weight[[0, -1]] = 1 / (1 + ratio)
    return np.exp(-epsilon * np.abs(points[:, None] - points[None, :])) * weight


def distances_on_a_line(size: int) -> np.ndarray:
    points = np.arange(size, dtype=float)
    return np.abs(points[:, None] - points[None, :])


def test_accepts_a_geometric_mechanism_with_room_and_rejects_it_without() -> None:
    distances = distances_on_a_line(12)
    channel = geometric(12, 0.7)
    assert violations(channel, distances, 0.7 * (1 + 1e-12)) == []
    assert violations(channel, distances, 0.7 * (1 - 1e-12)) != []


@pytest.mark.parametrize("budget", [0.25, 1.0, 9.0])
def test_rejects_one_unit_in_the_last_place(budget: float) -> None:
    distances = np.array([[0.0, budget], [budget, 0.0]])
    below, above = neighbours_of_the_exponential(budget)
    small = 2.0**-20
    good = np.array([[below * small, 0.5], [small, 0.5]])
    bad = np.array([[above * small, 0.5], [small, 0.5]])
    assert violations(good, distances, 1.0) == []
    assert violations(bad, distances, 1.0) == [(0, 1, 0)]


def test_product_is_the_real_one() -> None:
    """The product of the doubles 0.1 and 554 lies well below its rounding."""
    epsilon = 0.1
    distance = 554.0
    assert Fraction(epsilon * distance) - Fraction(epsilon) * Fraction(distance) > 1e-15
    small = 2.0**-100
    between = neighbours_of_the_exponential(epsilon * distance)[0] * small
    channel = np.array([[between, 0.5], [small, 0.5]])
    distances = np.array([[0.0, distance], [distance, 0.0]])
    assert violations(channel, distances, epsilon) == [(0, 1, 0)]
    assert violations(channel, distances * epsilon, 1.0) == []


def test_distances_of_zero_and_infinity() -> None:
    free = np.array([[0.0, np.inf], [np.inf, 0.0]])
    alike = np.zeros((2, 2))
    apart = np.eye(2)
    assert violations(apart, free, 1.0) == []
    assert violations(apart, alike, 1.0) == [(0, 1, 0), (1, 0, 1)]
    assert violations(np.full((2, 2), 0.5), alike, 1.0) == []
    one_way = np.array([[0.0, 0.0], [np.inf, 0.0]])
    assert violations(apart, one_way, 1.0) == [(0, 1, 0)]
    nearly = np.array([[0.5, 0.5], [np.nextafter(0.5, 0), 0.5]])
    assert violations(nearly, alike, 1.0) == [(0, 1, 0)]


def test_orientation_of_asymmetric_distances() -> None:
    distances = np.array([[0.0, 2.0], [1.0, 0.0]])
    channel = np.array([[0.75, 0.25], [0.25, 0.75]])  # ratios of 3 = e^1.0986 both ways
    assert violations(channel, distances, 1.0) == [(1, 0, 1)]


def test_agrees_with_plain_comparison_where_that_is_clear() -> None:
    generator = np.random.default_rng(3)
    for _ in range(30):
        channel = generator.dirichlet(np.ones(4), size=5) * (generator.random((5, 4)) > 0.1)
        points = generator.random((5, 2)) * 2
        distances = np.linalg.norm(points[:, None] - points[None], axis=2)
        distances[generator.random((5, 5)) < 0.2] = np.inf
        with np.errstate(over="ignore", invalid="ignore"):
            allowed = np.exp(1.5 * distances)[:, :, None]
            over = channel[:, None, :] > np.where(channel[None] > 0, allowed * channel[None], 0.0)
        over[np.isinf(distances)] = False
        expected = [tuple(int(i) for i in triple) for triple in np.argwhere(over) if triple[0] != triple[1]]
        assert violations(channel, distances, 1.5) == expected


def test_infinite_leakage_and_row_sums() -> None:
    channel = np.array([[0.5, 0.5, 0.0], [0.5, 0.25, 0.25], [0.5, 0.5, 0.0]])
    distances = np.array([[0.0, 1.0, np.inf], [1.0, 0.0, np.inf], [np.inf, np.inf, 0.0]])
    assert infinite_leakage(channel, distances) == [(1, 0, 2)]
    assert row_sum_errors(channel) == [0, 0, 0]
    assert row_sum_errors(np.array([[0.1] * 10])) == [10 * Fraction(0.1) - 1]
    assert row_sum_errors(np.array([[1.0, 5e-324]])) == [Fraction(5e-324)]
