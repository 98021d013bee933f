"""Every rounding counted in what is proven of regularity: against rationals, at sizes where the margin decides."""

from __future__ import annotations

import math
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.analysis import regularity
from dxopt.analysis.regularity.bounds import _raised
from dxopt.analysis.regularity.thresholds import distinct, dominant_from, regular_between, status_at
from dxopt.analysis.regularity.verdicts import _products_below, separates, status_of_signs
from dxopt.analysis.regularity.weights import Enclosure, Quotient
from dxopt.numerics.rounding import UNIT
from tests.judges.duality import grown

TIMES = 40


def alike(size: int, length: float) -> dx.MetricSpace:
    """Points at one distance from each other."""
    return dx.MetricSpace.from_distances(length * (1 - np.eye(size)))


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """The solution of a linear system by elimination."""
    rows = [[*row, last] for row, last in zip(matrix, right, strict=True)]
    for place in range(len(rows)):
        pivot = next(row for row in range(place, len(rows)) if rows[row][place])
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [number / rows[place][place] for number in rows[place]]
        for other in range(len(rows)):
            if other != place:
                factor = rows[other][place]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[place], strict=True)]
    return [row[-1] for row in rows]


def exactly(array: np.ndarray) -> list:
    """Doubles as the rationals that they are."""
    return [exactly(one) for one in array] if array.ndim > 1 else [Fraction(float(one)) for one in array]


@pytest.mark.parametrize("size", [2, 3, 60])
def test_utility_is_not_understated(size: int) -> None:
    """Points at one distance: Σμ = Σπ / (1 + (n - 1) e^{-εd}), where they are alike or two."""
    rng = np.random.default_rng(size)
    for most in [3.0, 30.0] * (TIMES // 2):
        length, epsilon = float(rng.uniform(0.1, most)), float(rng.uniform(0.1, 3))
        space = alike(size, length)
        odds = np.ones(size) if size > 2 else 1 + 1e-3 * rng.random(2)
        prior = dx.Prior.from_weights(space, odds)
        power = grown(Fraction(epsilon) * Fraction(length))[1]
        exact = sum(exactly(prior.probabilities)) / (1 + (size - 1) / power)
        for found in (regularity.utility_bound, regularity.binary_utility_bound):
            claimed = Fraction(found(prior, space, epsilon))
            assert exact * (1 - Fraction(1, 2**150)) <= claimed <= exact * (1 + Fraction(1, 10**8))


def test_a_vector_that_is_raised_is_raised_past_its_rounding() -> None:
    """Terms a bit over half a unit in the last place round up one after another, so that too little seems enough."""
    size = 300
    budget = -math.log(1.01 * UNIT)
    space = alike(size, budget)
    power = grown(Fraction(budget))[1]
    exact = size / (1 + (size - 1) / power)
    for less in range(0, 80, 8):
        mu = np.full(size, float(Fraction(exact) / size) * (1 - less * UNIT))
        claimed = Fraction(_raised(mu, np.ones(size), space, 1.0))
        assert exact <= claimed <= exact * (1 + Fraction(1, 10**11))


def test_a_vector_is_raised_by_no_less_than_it_is_short_of() -> None:
    """Of points that are infinitely far from each other: what is far below π is raised to it."""
    space = dx.MetricSpace.from_distances([[0.0, np.inf], [np.inf, 0.0]])
    rng = np.random.default_rng(0)
    for odds in rng.random((TIMES, 2)):
        for mu in (np.zeros(2), odds * 0.3, odds * (1 - 2.0**-40)):
            assert (
                sum(exactly(odds)) <= Fraction(_raised(mu, odds, space, 1.0)) <= sum(exactly(odds)) * (1 + 40 * UNIT)
            )


@pytest.mark.parametrize("values", [2, 7])
def test_leakage_is_not_understated(values: int) -> None:
    """2^bound against |V| e^ε / (|V| - 1 + e^ε), where bits of one record are told in the last place."""
    rng = np.random.default_rng(values)
    near, above = (sum(Fraction(1, k << k) for k in range(1, 300)) + more for more in (0, Fraction(1, 1 << 299)))
    for individuals in (1, 3):
        for _ in range(TIMES):
            epsilon = float(10.0 ** rng.uniform(-6, 1.5))
            low, high = grown(Fraction(epsilon))
            most = values * high / (values - 1 + high)
            least = values * low / (values - 1 + low)
            claimed = Fraction(regularity.database_leakage_bound(values, individuals, epsilon)) / individuals
            assert grown(claimed * above)[1] >= least
            assert grown(claimed * near * (1 - Fraction(1, 10**12)) - Fraction(1, 10**13))[0] <= most
            space = alike(values, 1.0)
            claimed = Fraction(regularity.leakage_bound(None, space, epsilon))
            assert grown(claimed * above)[1] >= least


@pytest.mark.parametrize("size", [2, 5, 400])
@pytest.mark.parametrize("scale", [1.0, 1e-170])
def test_products_are_not_overstated(size: int, scale: float) -> None:
    """v A for every A between two bounds, by rationals: long sums that cancel, and some that underflow."""
    rng = np.random.default_rng(size)
    for _ in range(TIMES if size < 100 else 2):
        vector = scale * rng.standard_normal(size)
        low = scale * rng.random((size, 3))
        high = low * (1 + 1e-3 * rng.random((size, 3)))
        found = _products_below(vector, low, high)
        weights = exactly(vector)
        for column in range(3):
            bounds = zip(weights, exactly(low[:, column]), exactly(high[:, column]), strict=True)
            exact = sum((number * (least if number > 0 else most) for number, least, most in bounds), Fraction(0))
            assert exact - Fraction(scale) ** 2 / 10**9 - Fraction(1, 10**289) <= Fraction(found[column]) <= exact


def test_what_is_regular_by_one_bit_is_not_separated() -> None:
    """A = [[1, a], [b, 1]] has a solution of Ar = 1 that is nowhere negative where a and b are at most 1."""
    one = np.array([[1.0, 1.0], [0.5, 1.0]])
    assert not separates(one, one)
    beyond = np.array([[1.0, 1.001], [0.5, 1.0]])
    assert separates(beyond, beyond)
    assert not separates(one, beyond)


@pytest.mark.parametrize("near", [1.0, 1e-3, 1e-7])
@pytest.mark.parametrize("size", [2, 4])
def test_solutions_are_enclosed(size: int, near: float) -> None:
    """Systems from well to badly conditioned, with right sides that are off, by exact elimination."""
    rng = np.random.default_rng(size)
    told = 0
    for _ in range(TIMES):
        low = np.ones((size, size)) + near * rng.standard_normal((size, size))
        high = low * (1 + float(rng.choice([0.0, 1e-12])) * rng.random((size, size)))
        enclosure = Enclosure.of(np.minimum(low, high), np.maximum(low, high))
        if enclosure is None:
            continue
        told += 1
        right = rng.standard_normal(size)
        unsure = float(rng.choice([0.0, 1e-9]))
        found, error = enclosure.solve(right, unsure)
        guess = found * (1 + 1e-7 * rng.standard_normal(size))
        for matrix in (low, high):
            sides = [one + Fraction(unsure) * int(rng.choice([1, -1])) for one in exactly(right)]
            exact = solved(exactly(matrix), sides)
            for claimed, off in ((found, error), (guess, enclosure.error(guess, right, unsure))):
                for mine, room, true in zip(exactly(claimed), exactly(off), exact, strict=True):
                    assert abs(mine - true) <= room
    assert told > TIMES // 2


@pytest.mark.parametrize("width", [1e-12, 0.01, 0.3])
def test_solutions_of_wide_systems_are_enclosed(width: float) -> None:
    """The error of a solution is not only that of its residual: 1/a for every a of an interval, and of more."""
    rng = np.random.default_rng(9)
    for size in (1, 3):
        for _ in range(TIMES):
            middle = np.eye(size) + 0.1 * rng.standard_normal((size, size))
            low, high = (middle + side * width * 0.3 * np.abs(middle) for side in (-1, 1))
            enclosure = Enclosure.of(low, high)
            assert enclosure is not None
            right = rng.standard_normal(size)
            claimed, off = enclosure.solve(right)
            matrix = np.where(rng.random((size, size)) < 0.5, low, high) if size > 1 else low
            for mine, room, true in zip(
                exactly(claimed), exactly(off), solved(exactly(matrix), exactly(right)), strict=True
            ):
                assert abs(mine - true) <= room


def test_paths_are_regular_at_every_level() -> None:
    for size in (2, 3, 7):
        space = dx.MetricSpace.from_graph(nx.path_graph(size))
        found = regularity.threshold(space)
        assert (found.value, found.low, found.high, found.proven, found.sampled) == (0.0, 0.0, 0.0, True, 0)


def test_sums_over_classes_are_enclosed() -> None:
    """Both bounds of a quotient hold of the real sums, in the last place."""
    rng = np.random.default_rng(7)
    for size in (2, 5, 30):
        for _ in range(10):
            space = dx.MetricSpace.from_graph(nx.star_graph(size))
            odds = np.array([1.0, *[rng.uniform(0.5, 2)] * size])
            quotient = Quotient.of(space.distances, odds)
            epsilon = float(rng.uniform(0.1, 3))
            low, high = quotient.between(epsilon, epsilon)
            hub = int(np.flatnonzero(quotient.sizes == 1)[0])
            leaf = 1 - hub
            less, more = grown(Fraction(epsilon))
            ratio = Fraction(float(quotient.prior[leaf])) / Fraction(float(quotient.prior[hub]))
            for power in (less, more):
                assert Fraction(low[hub, leaf]) <= size / power * ratio <= Fraction(high[hub, leaf])
                assert Fraction(low[leaf, hub]) <= 1 / power / ratio <= Fraction(high[leaf, hub])
            twice_less, twice_more = grown(2 * Fraction(epsilon))
            assert Fraction(low[leaf, leaf]) <= 1 + (size - 1) / twice_more
            assert 1 + (size - 1) / twice_less <= Fraction(high[leaf, leaf])
            steep, steeper = quotient.slopes(epsilon, epsilon)
            assert Fraction(steep[hub, leaf]) <= size / more * ratio
            assert size / less * ratio <= Fraction(steeper[hub, leaf])


@pytest.mark.parametrize("leaves", [3, 5, 9])
def test_no_interval_below_the_threshold_of_a_star_is_proven(leaves: int) -> None:
    """The hub of a star has the weight 1 - k / (1 + e^ε): regular from ln(k - 1) on, whatever the width."""
    rng = np.random.default_rng(leaves)
    space = dx.MetricSpace.from_graph(nx.star_graph(leaves))
    quotient = Quotient.of(space.distances, np.full(leaves + 1, 1 / (leaves + 1)))
    threshold = math.log(leaves - 1)
    for width in 10.0 ** rng.uniform(-12, 0, TIMES):
        for low in (threshold - width, threshold - 0.5 * width, threshold - 1e-13, 0.3 * threshold):
            assert not regular_between(quotient, low, low + width)
    for low in threshold + rng.uniform(1e-3, 2, TIMES):
        assert regular_between(quotient, low, low + 1e-4)
    for level in threshold * (1 + 10.0 ** rng.uniform(-14, -1, TIMES)):
        assert status_at(quotient, level) != "not regular"
        assert status_at(quotient, threshold - (level - threshold)) != "regular"
    assert status_at(quotient, threshold + 1e-6) == "regular"
    assert status_at(quotient, threshold - 1e-6) == "not regular"


@pytest.mark.parametrize("leaves", [1500, 3000])
def test_the_threshold_of_a_large_star_is_bracketed(leaves: int) -> None:
    """The sum over all its edges is rounded as often as there are edges, whatever the tolerance."""
    space = dx.MetricSpace.from_graph(nx.star_graph(leaves))
    found = regularity.threshold(space, tolerance=1e-15)
    assert grown(Fraction(found.low))[1] <= leaves - 1 <= grown(Fraction(found.high))[0]
    assert found.high - found.low <= 1e-10


def test_points_are_distinct_by_their_rows() -> None:
    """Distances to others count, not those from them: rows 0 and 1 are alike, and so are columns 1 and 2."""
    distances = np.array([[0.0, 0.0, 0.0, 3.0], [0.0, 0.0, 0.0, 3.0], [1.0, 0.0, 0.0, 3.0], [3.0, 3.0, 3.0, -0.0]])
    prior = np.array([0.25, 0.25, 0.5, 0.75])
    kept, left = distinct(distances, prior)
    assert np.array_equal(kept, distances[np.ix_([0, 2, 3], [0, 2, 3])])
    assert np.array_equal(left, prior[[0, 2, 3]])


@pytest.mark.parametrize("size", [2, 3, 50])
def test_a_dominant_kernel_is_one(size: int) -> None:
    rng = np.random.default_rng(size)
    for _ in range(10):
        length = float(rng.uniform(0.1, 10))
        found = dominant_from(length * (1 - np.eye(size)), np.ones(size))
        assert found is not None
        power = grown(Fraction(found) * Fraction(length))[0]
        assert size - 1 < power
        assert found <= 1.02 * max(math.log(size - 1) if size > 2 else 0.0, 1e-300) / length + 1 / length * (
            size == 2
        )


def test_signs_within_errors() -> None:
    assert status_of_signs(np.array([1.0, 0.5]), np.array([0.1, 0.5])) == "regular"
    assert status_of_signs(np.array([1.0, 0.5]), np.array([0.1, 0.500001])) == "undecided"
    assert status_of_signs(np.array([1.0, -0.5]), np.array([0.1, 0.5])) == "undecided"
    assert status_of_signs(np.array([1.0, -0.5]), np.array([0.1, 0.499999])) == "not regular"


@pytest.mark.parametrize("epsilon", [1.0, 40.0, 600.0])
def test_no_utility_is_above_that_of_the_secret_itself(epsilon: float) -> None:
    rng = np.random.default_rng(7)
    for _ in range(5):
        prior = dx.Prior.from_weights(dx.line(6), rng.random(6))
        most = math.fsum(prior.probabilities)
        assert regularity.binary_utility_bound(prior, dx.line(6), epsilon) <= most * (1 + 2 * UNIT)


@pytest.mark.parametrize("part", [0.0, 0.5, 1.0])
def test_what_is_left_of_a_ratio_is_rounded_down(part: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its error and its fall take all of a ratio, or a few units more, the prior is not proven regular."""

    class Known:
        """A ratio of 1 in the middle up to `narrow`, which an interval of width 2 takes down by `rate`."""

        def __init__(self, taken: float) -> None:
            self.narrow, self.rate = taken * part, taken * (1 - part)

        def solve(self, right: np.ndarray, unsure: object = None) -> tuple[np.ndarray, np.ndarray]:
            found = (1.0, self.narrow) if unsure is None else (self.rate, 0.0)
            return np.array(found[:1]), np.array(found[1:])

        def error(self, *given: object) -> np.ndarray:
            return np.full(1, 2.0)

    quotient = Quotient.of(np.zeros((1, 1)), np.ones(1))
    for places in (*range(-10, 1), 60):
        for name in ("of", "around"):
            where = f"dxopt.analysis.regularity.thresholds.Enclosure.{name}"
            monkeypatch.setattr(where, lambda *given, taken=1 - places * UNIT: Known(taken))
        assert regular_between(quotient, 1.0, 3.0) == (places > 0), places
