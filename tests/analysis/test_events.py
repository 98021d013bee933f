"""CABP13 Theorems 1 and 3 for every event Z: the largest change of conclusions, against all sets of reports."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxopt as dx
from dxopt.analysis import characterise as events
from dxopt.verify import measures as checker
from dxopt.verify.measures import is_largest


def by_hand(first: np.ndarray, second: np.ndarray) -> float:
    """d_P of the posteriors after every event with both, by the definition."""
    found = 0.0
    reports = range(first.shape[1])
    for event in itertools.chain.from_iterable(itertools.combinations(reports, size) for size in range(1, 9)):
        one, other = (joint[:, list(event)].sum(axis=1) for joint in (first, second))
        if not (one.any() and other.any()):
            continue
        for a, b in zip(one / one.sum(), other / other.sum(), strict=True):
            if (a > 0) != (b > 0):
                return math.inf
            found = max(found, abs(math.log(a / b)) if a > 0 else 0.0)
    return found


def some(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix, perhaps with zeros, a prior, perhaps with zeros, and a hiding function."""
    rng = np.random.default_rng(seed)
    secrets, reports = rng.integers(2, 5), rng.integers(2, 7)
    matrix = rng.random((secrets, reports)) ** 3 * (rng.random((secrets, reports)) < rng.choice([0.7, 1.0]))
    matrix[:, 0] += 1e-3
    prior = rng.random(secrets) ** 2 * (rng.random(secrets) < 0.8)
    prior[0] += 0.1
    return matrix / matrix.sum(axis=1, keepdims=True), prior / prior.sum(), rng.integers(0, secrets, secrets)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_best_of_all_events_is_found(seed: int) -> None:
    matrix, prior, hiding = some(seed)
    plain, hidden = prior[:, None] * matrix, prior[:, None] * matrix[hiding]
    found = events.most_telling(plain, hidden)
    assert found.gain == pytest.approx(by_hand(plain, hidden), rel=1e-9, abs=1e-12)
    one, other = (joint[:, list(found.reports)].sum(axis=1) for joint in (plain, hidden))
    attained = dx.characterise.multiplicative_distance(one / one.sum(), other / other.sum())
    assert attained == pytest.approx(found.gain, rel=1e-9, abs=1e-12)
    assert found.limit >= found.gain - 1e-12


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_limit_is_that_of_events_with_coins(seed: int) -> None:
    """Against the checker's integers, and against a mechanism whose every report is told with a coin."""
    matrix, prior, hiding = some(seed)
    whole = np.round(matrix * 2**20).astype(int)
    whole[:, 0] += whole.sum(axis=1).max() - whole.sum(axis=1)
    counts = np.round(prior * 1000).astype(int)
    exact = counts[:, None] / counts.sum() * whole / whole[0].sum()
    hidden = counts[:, None] / counts.sum() * whole[hiding] / whole[0].sum()
    found = events.most_telling(exact, hidden)
    numbers = counts.tolist(), whole.tolist(), hiding.tolist()
    assert is_largest(*numbers, found.limit, Fraction(1, 10**11) * max(1, Fraction(min(found.limit, 1e3))))
    assert math.isinf(found.limit) or not is_largest(*numbers, found.limit + 1e-9, Fraction(1, 10**10))
    coins = np.random.default_rng(seed).random(exact.shape[1])
    with_coins = [np.hstack([joint * coins, joint * (1 - coins)]) for joint in (exact, hidden)]
    again = events.most_telling(with_coins[0], with_coins[1])
    assert again.gain <= found.limit * (1 + 1e-9) + 1e-12
    assert again.limit == pytest.approx(found.limit, rel=1e-9, abs=1e-12)


def test_an_event_says_more_than_its_reports() -> None:
    """Four secrets, exactly: reports move beliefs by factors of 8 at most, reports 0 and 2 together by 19."""
    parts = [[8, 6, 1, 5], [1, 9, 1, 9], [1, 9, 1, 9], [1, 6, 8, 5]]
    prior, hiding = [Fraction(1, 100), Fraction(0), Fraction(99, 100), Fraction(0)], [1, 1, 3, 3]

    def odds(event: tuple[int, ...], x: int) -> Fraction:
        likely = [sum(row[z] for z in event) for row in parts]
        plain = sum(weight * one for weight, one in zip(prior, likely, strict=True))
        hidden = sum(weight * likely[other] for weight, other in zip(prior, hiding, strict=True))
        return Fraction(likely[x], likely[hiding[x]]) * hidden / plain

    def moved(event: tuple[int, ...]) -> Fraction:
        return max(max(odds(event, x), 1 / odds(event, x)) for x in (0, 2))

    single = max(moved((z,)) for z in range(4))
    assert (single, moved((0, 2))) == (Fraction(793, 100), Fraction(893, 46))
    space = dx.MetricSpace.from_distances(6.0 * (1 - np.eye(4)))
    mechanism = dx.certify(np.array(parts) / 20, space, 1.0)
    learned = dx.characterise.after_hiding(mechanism, dx.Prior.from_weights(space, [1, 0, 99, 0]), hiding)
    assert learned.event == (0, 2)
    assert learned.gain == pytest.approx(math.log(Fraction(893, 46)))
    assert learned.gain <= learned.limit <= learned.bound


@pytest.mark.parametrize("seed", range(3))
def test_many_reports(seed: int) -> None:
    """Beyond the sizes where all events are tried: the gain is attained, no report beats it, and the limit holds."""
    rng = np.random.default_rng(seed)
    space = dx.line(40)
    mechanism = dx.classic.exponential(space, epsilon=0.8)
    prior = dx.Prior.from_weights(space, rng.random(40) ** 3)
    hiding = np.clip(np.arange(40) + rng.integers(-2, 3, 40), 0, 39)
    learned = dx.characterise.after_hiding(mechanism, prior, hiding)
    plain, hidden = (prior.probabilities[:, None] * rows for rows in (mechanism.matrix, mechanism.matrix[hiding]))
    for event in [learned.event, *([z] for z in range(40)), *rng.choice(40, (200, 4))]:
        one, other = (joint[:, list(event)].sum(axis=1) for joint in (plain, hidden))
        moved = dx.characterise.multiplicative_distance(one / one.sum(), other / other.sum())
        assert moved <= learned.limit * (1 + 1e-12)
        if len(event) == 1:
            assert moved <= learned.gain * (1 + 1e-12)
    first = [joint[:, list(learned.event)].sum(axis=1) for joint in (plain, hidden)]
    assert dx.characterise.multiplicative_distance(*(one / one.sum() for one in first)) == pytest.approx(learned.gain)
    assert learned.gain <= learned.limit <= learned.bound


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_single_reports_are_enough_within_a_neighbourhood(seed: int) -> None:
    """CABP13 Thms 2 and 4: no set of reports moves π|N further than its reports."""
    matrix, prior, _ = some(seed)
    space = dx.MetricSpace.from_distances(1 - np.eye(len(matrix)))
    members = [x for x in range(len(prior)) if x != 1]
    mechanism = dx.Mechanism.from_matrix(space, matrix, dx.Reports(tuple("abcdefg"[: matrix.shape[1]])))
    learned = dx.characterise.within(mechanism, dx.Prior.from_weights(space, prior), members, epsilon=1.0)
    inside = prior[members, None] * np.ones_like(matrix[members])
    assert learned.gain == pytest.approx(by_hand(inside, inside * matrix[members]), rel=1e-9, abs=1e-12)
    assert (len(learned.event), learned.limit) == (1, learned.gain)


def test_few_reports_are_tried_in_all_events() -> None:
    """Ten reports, of which one after another leads to a lesser event than the best."""
    rng = np.random.default_rng(4445)
    size, share, spread = int(rng.integers(5, 11)), rng.choice([0.5, 1e-2, 1e-4]), rng.choice([0.3, 1, 3])
    rare = rng.dirichlet(np.full(size, spread), 2) * share
    rest = rng.dirichlet(np.full(size, spread), 2) * (1 - share)
    plain, hidden = np.array([rare[0], rest[0]]), np.array([rare[1], rest[1]])
    found = events.most_telling(plain, hidden)
    assert found.reports == (5, 7)
    assert found.gain == pytest.approx(by_hand(plain, hidden))


@pytest.mark.parametrize("more", [-1, 1])
def test_the_checker_takes_no_other_factor(more: int) -> None:
    """A smaller one is exceeded by some weights of two reports, and a larger one by none."""
    numbers = [1, 0, 99, 0], [[8, 6, 1, 5], [1, 9, 1, 9], [1, 9, 1, 9], [1, 6, 8, 5]], [1, 1, 3, 3]
    matrix, prior = np.array(numbers[1]) / 20, np.array(numbers[0]) / 100
    limit = events.most_telling(prior[:, None] * matrix, prior[:, None] * matrix[numbers[2]]).limit
    assert limit > math.log(893 / 46)
    assert is_largest(*numbers, limit, Fraction(1, 10**12))
    for off in (1e-11, 0.5, limit + 1, math.inf):
        assert not is_largest(*numbers, limit + more * off, Fraction(1, 10**12))


@pytest.mark.parametrize(
    ("over", "under", "factor", "exceeds"),
    [
        ((3, 0, 0), (1, 2, 1), Fraction(2), True),  # at t = 0
        ((0, 0, 3), (1, 2, 1), Fraction(2), True),  # for large t
        ((0, 4, 0), (1, 0, 1), Fraction(199, 100), True),  # 2 at t = 1, and nowhere more
        ((0, 4, 0), (1, 0, 1), Fraction(2), False),
        ((1, 1, 1), (1, 2, 1), Fraction(1), False),
    ],
)
def test_whether_a_quotient_exceeds_a_factor(over: tuple, under: tuple, factor: Fraction, exceeds: bool) -> None:
    assert checker._exceeds(over, under, factor) == exceeds
