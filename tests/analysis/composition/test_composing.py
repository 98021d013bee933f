"""Composition against all tuples of reports in exact rationals."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from tests.judges.composition import exceeded

SPACE = dx.line(3)
UNEVEN = dx.MetricSpace.from_distances([[0, 1, 2.5], [1, 0, 1.5], [2.5, 1.5, 0]])


def fractions(mechanism: dx.Mechanism | dx.IntegerTable) -> list[list[Fraction]]:
    if isinstance(mechanism, dx.IntegerTable):
        return [[Fraction(count, mechanism.total) for count in row] for row in mechanism.counts.tolist()]
    return [[Fraction(float(entry)) for entry in row] for row in mechanism.matrix]


def worst(mechanisms: list, counts: list[int], epsilon: float, pairs: str = "all") -> Fraction:
    space = mechanisms[0].space
    channels = [fractions(one) for one, count in zip(mechanisms, counts, strict=True) for _ in range(count)]
    bound = [(0, 1), (1, 0), (1, 2), (2, 1)] + ([(0, 2), (2, 0)] if pairs == "all" else [])
    return max(exceeded(channels, x, o, epsilon, float(space.distances[x, o])) for x, o in bound)


def random_mechanism(seed: int, zeros: bool, space: dx.MetricSpace = SPACE) -> dx.Mechanism:
    rng = np.random.default_rng(seed)
    rows = rng.gamma(0.7, size=(3, 4)) + 1e-3
    if zeros:
        rows[rng.random(rows.shape) < 0.3] = 0.0
        rows[:, 0] += 0.2
    reports = dx.Reports(tuple("abcd"))
    return dx.Mechanism.from_matrix(space, rows / rows.sum(axis=1, keepdims=True), reports)


def optimal(delta: float = 0.0) -> dx.Mechanism:
    prior = dx.Prior(np.array([0.5, 0.2, 0.3]), space=SPACE)
    return dx.solve(dx.Problem(SPACE, epsilon=0.7, prior=prior, delta=delta)).mechanism


def cases() -> list:
    geometric = dx.classic.geometric(SPACE, epsilon=0.8)
    exponential = dx.classic.exponential(SPACE, epsilon=0.6)
    response = dx.classic.randomised_response(SPACE, epsilon=0.5, delta=0.05)
    table = dx.integer_table(geometric)
    return [
        pytest.param([geometric], [4], id="geometric"),
        pytest.param([exponential], [3], id="exponential"),
        pytest.param([response], [3], id="randomised response with delta"),
        pytest.param([optimal()], [4], id="optimal"),
        pytest.param([optimal(0.05)], [3], id="optimal with delta"),
        pytest.param([table], [4], id="integers"),
        pytest.param([geometric, exponential, table], [2, 1, 1], id="different"),
        *(pytest.param([random_mechanism(seed, False)], [4], id=f"random {seed}") for seed in range(3)),
        *(pytest.param([random_mechanism(seed, True)], [3], id=f"zeros {seed}") for seed in range(3)),
        pytest.param([random_mechanism(7, True), random_mechanism(8, False)], [2, 2], id="zeros and not"),
        pytest.param([random_mechanism(9, False, UNEVEN)], [3], id="uneven distances"),
    ]


@pytest.mark.parametrize("mechanisms, counts", cases())
def test_delta_is_the_truth_from_above_and_below(mechanisms: list, counts: list[int]) -> None:
    composition = dx.compose(mechanisms, counts)
    for epsilon in (1e-3, 0.3, 1.0, 2.0, 3.7):
        truth = worst(mechanisms, counts, epsilon)
        found = composition.delta(epsilon)
        # Nothing is allowed for rounding: bounds are bounds.
        assert Fraction(found.least) <= truth <= Fraction(found.delta)
        # How far above: 1e-3 of the truth, and 1e-15 where that is next to 0.
        assert found.delta <= float(truth) * (1 + 1e-3) + 1e-15


@pytest.mark.parametrize("mechanisms, counts", cases())
def test_epsilon_is_enough_and_hardly_less_would_be(mechanisms: list, counts: list[int]) -> None:
    composition = dx.compose(mechanisms, counts)
    for delta in (0.0, 1e-4, 0.06, 0.4):
        found = composition.epsilon(delta)
        if math.isinf(found.epsilon):
            assert found.least > 30
            assert worst(mechanisms, counts, 30.0) > Fraction(delta)
            continue
        if found.epsilon > 0:
            assert worst(mechanisms, counts, found.epsilon) <= Fraction(delta)
        if found.least > 0:
            assert worst(mechanisms, counts, found.least * (1 - 1e-12)) > Fraction(delta)
        assert found.least <= found.epsilon <= found.least * (1 + 3e-3) + 1e-9
        assert found.epsilon <= found.pure * (1 + 1e-12)


def test_adjacent_pairs_are_fewer() -> None:
    mechanism = dx.classic.geometric(SPACE, epsilon=0.8)
    every, adjacent = dx.compose(mechanism, 2), dx.compose(mechanism, 2, pairs="adjacent")
    assert adjacent.delta(0.2).delta < every.delta(0.2).delta
    truth = worst([mechanism], [2], 0.2, "adjacent")
    assert truth <= Fraction(adjacent.delta(0.2).delta) <= truth * Fraction(1001, 1000)


def test_a_small_delta_is_not_lost_in_rounding() -> None:
    mechanism = dx.classic.geometric(SPACE, epsilon=20.0)
    found = dx.compose(mechanism, 2).delta(39.0)
    truth = worst([mechanism], [2], 39.0)
    rare = [[1 - 1e-40, 1e-40], [1 - 1e-44, 1e-44], [1 - 1e-43, 1e-43]]
    tiny = dx.Mechanism.from_matrix(SPACE, rare, dx.Reports(tuple("ab")))
    assert truth <= Fraction(found.delta) <= truth * Fraction(1001, 1000) + Fraction(1, 10**15)
    answer = dx.compose(tiny).delta(4.0)
    assert 0 < answer.least <= float(worst([tiny], [1], 4.0)) <= answer.delta < 1e-38


def test_many_releases_of_two_answers_are_a_binomial_sum() -> None:
    # Randomised response of two secrets: the loss is a multiple of its level (Kairouz, Oh, Viswanath 2015, Thm 3.3).
    space = dx.line(2)
    response = dx.classic.randomised_response(space, epsilon=0.1)
    k, p = 1000, float(response.matrix[0, 0])
    t = 0.1 * 150
    truth = math.fsum(
        math.exp(_log_binomial(k, i) + i * math.log(p) + (k - i) * math.log1p(-p))
        * -math.expm1(min(t - (2 * i - k) * math.log(p / (1 - p)), 0.0))
        for i in range(k + 1)
    )
    found = dx.compose(response, k).delta(t)
    assert found.least == pytest.approx(truth, rel=1e-4)
    assert found.delta == pytest.approx(truth, rel=1e-4)
    assert found.pure == pytest.approx(100.0)
    assert dx.compose(response, k).epsilon(found.delta).epsilon == pytest.approx(t, rel=1e-5)


def _log_binomial(k: int, i: int) -> float:
    return math.lgamma(k + 1) - math.lgamma(i + 1) - math.lgamma(k - i + 1)


def test_one_release_is_what_evaluate_says() -> None:
    mechanism = random_mechanism(5, False)
    assert dx.compose(mechanism).delta(0.4).delta == pytest.approx(
        dx.evaluate.smallest_delta(mechanism, 0.4), rel=1e-3
    )
    assert dx.compose(mechanism).pure == pytest.approx(dx.evaluate.smallest_epsilon(mechanism))
    deltas = [one.delta for one in dx.compose(mechanism, 3).curve([0.1, 0.5, 1.0, 2.0])]
    assert deltas == sorted(deltas, reverse=True)


def test_points_at_distance_0_and_infinity() -> None:
    space = dx.MetricSpace.from_distances([[0, 0, math.inf], [0, 0, math.inf], [math.inf, math.inf, 0]])
    alike = dx.Mechanism.from_matrix(space, [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    found = dx.compose(alike, 5).epsilon(0.0)
    assert (found.epsilon, found.delta, found.pure, found.worst) == (0.0, 0.0, 0.0, None)
    apart = dx.Mechanism.from_matrix(space, [[0.6, 0.4, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    composition = dx.compose(apart, 2)
    assert math.isinf(composition.epsilon(0.0).epsilon) and math.isinf(composition.pure)
    # The largest total variation of two draws: the tuples in which the first secret is likelier.
    assert composition.delta(1.0).delta == pytest.approx(0.6 * 0.6 - 0.25, rel=1e-3)
    assert composition.epsilon(0.2).epsilon == 0.0


def test_answers_print_readably() -> None:
    composition = dx.compose(dx.classic.geometric(SPACE, epsilon=0.8), 3)
    assert "3 releases together, for all pairs of secrets: epsilon 1, delta at most" in str(composition.delta(1.0))
    assert str(composition.epsilon(1e-3)).endswith("delta 0 at epsilon 2.4")
    told = dx.Mechanism.from_matrix(SPACE, np.eye(3))
    assert "no epsilon at delta 0" in str(dx.compose(told).epsilon(0.0))
    assert "1 release together" in str(dx.compose(told).delta(1.0))


@pytest.mark.parametrize(
    "given, field",
    [
        (lambda g: dx.compose([]), "mechanisms"),
        (lambda g: dx.compose([g.matrix]), "mechanisms"),  # pyright: ignore[reportArgumentType]
        (lambda g: dx.compose([g, dx.classic.geometric(dx.line(4), epsilon=1.0)]), "mechanisms"),
        (lambda g: dx.compose([g, dx.classic.geometric(dx.line(3, step=2.0), epsilon=1.0)]), "mechanisms"),
        (lambda g: dx.compose(g, 0), "counts"),
        (lambda g: dx.compose(g, [1, 2]), "counts"),
        (lambda g: dx.compose(g, [1.5]), "counts"),  # pyright: ignore[reportArgumentType]
        (lambda g: dx.compose(g, 10**7), "counts"),
        (lambda g: dx.compose(g, pairs="near"), "pairs"),
        (lambda g: dx.compose(g, accuracy=0.0), "accuracy"),
        (lambda g: dx.compose(g).delta(-1.0), "epsilon"),
        (lambda g: dx.compose(g).epsilon(1.0), "delta"),
    ],
)
def test_bad_input_is_refused_in_one_line(given, field: str) -> None:
    with pytest.raises((dx.SpecError, dx.UnsupportedError), match=f"^{field}") as caught:
        given(dx.classic.geometric(SPACE, epsilon=1.0))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("level", "releases"), [(1.0, 2), (0.5, 12), (0.1, 3)])
def test_sums_are_shown_without_their_rounding(level: float, releases: int) -> None:
    found = dx.compose(dx.classic.geometric(dx.line(6), epsilon=level), releases).epsilon(delta=0.0)
    shown = {float(one) for one in re.findall(r">([\d.]+)</td>", found._repr_html_())}
    assert f"epsilon at most {level * releases:g} at" in str(found)
    assert round(level * releases, 9) in shown
