"""Randomised response is what HLM14 Examples 6 and 7 say, private for δ > 0 in exact arithmetic, and no further."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.classic.response import RandomisedResponse
from dxopt.numerics.hockey_stick import bound_pairs, least_delta
from tests.judges.exact import exp_enclosure, row_sum_errors

CASES = list(itertools.product([2, 3, 4, 9, 40], [0.1, 1.0, 3.0], [0.0, 1e-9, 0.05, 0.6]))


def categories(size: int) -> dx.MetricSpace:
    return dx.MetricSpace.from_points(range(size), "discrete")


def exceeds(mechanism: dx.Mechanism, epsilon: float, delta: float) -> bool:
    """Whether some pair at finite distance exceeds δ for some set of reports, in exact arithmetic."""
    distances, matrix = mechanism.space.distances, mechanism.matrix
    for x, other in itertools.permutations(range(len(matrix)), 2):
        if np.isinf(distances[x, other]):
            continue
        low, _ = exp_enclosure(Fraction(epsilon) * Fraction(float(distances[x, other])))
        over = (
            Fraction(mine) - low * Fraction(theirs) for mine, theirs in zip(matrix[x], matrix[other], strict=True)
        )
        if sum(one for one in over if one > 0) > Fraction(delta):
            return True
    return False


def test_hobbies() -> None:
    """HLM14 Example 6 with two hobbies, ε = ln 3, δ = 0.1: p = 0.9 / (3 + 3); Example 7: the error is 3p."""
    hobbies = dx.MetricSpace.from_points(["none", "chess", "music", "both"], "discrete")
    mechanism = dx.classic.randomised_response(hobbies, epsilon=np.log(3), delta=0.1)
    assert mechanism.matrix == pytest.approx(0.15 + 0.4 * np.eye(4), abs=1e-12)
    assert dx.evaluate.worst_loss(mechanism, "distance") == pytest.approx(0.45, abs=1e-12)


@pytest.mark.parametrize(("size", "epsilon", "delta"), CASES)
def test_formula_and_proof(size: int, epsilon: float, delta: float) -> None:
    mechanism = dx.classic.randomised_response(categories(size), epsilon=epsilon, delta=delta)
    matrix, privacy = mechanism.matrix, mechanism.privacy
    other = (1 - delta) / (size - 1 + np.exp(epsilon))
    assert matrix[~np.eye(size, dtype=bool)] == pytest.approx(other, abs=1e-12)
    assert np.diagonal(matrix) == pytest.approx(1 - (size - 1) * other, abs=1e-12)
    assert max(abs(error) for error in row_sum_errors(matrix)) <= Fraction(1, 2**50)
    assert privacy is not None
    assert privacy.epsilon <= epsilon
    assert delta - 1e-13 <= privacy.delta <= delta
    if size < 9:
        assert not exceeds(mechanism, privacy.epsilon, privacy.delta)


@pytest.mark.parametrize(("size", "epsilon", "delta"), CASES)
def test_no_better_than_claimed(size: int, epsilon: float, delta: float) -> None:
    """HLM14 eq 12 is necessary: neither ε nor δ can be lowered."""
    mechanism = dx.classic.randomised_response(categories(size), epsilon=epsilon, delta=delta)
    distances = mechanism.space.distances
    bound = bound_pairs(distances)
    assert least_delta(mechanism.matrix, distances, 0.99 * epsilon, bound) > delta
    if delta:
        assert least_delta(mechanism.matrix, distances, epsilon, bound) > 0.99 * delta


@pytest.mark.parametrize(("size", "epsilon", "delta"), CASES)
def test_attains_the_packing_bound(size: int, epsilon: float, delta: float) -> None:
    """HLM14 Example 7."""
    space = categories(size)
    worst = dx.evaluate.worst_loss(dx.classic.randomised_response(space, epsilon=epsilon, delta=delta), "distance")
    for budget in ("metric", "uniform"):
        bounds = dx.sanitisation.error_bounds(space, epsilon=epsilon, delta=delta, budget=budget)
        assert bounds.packing <= worst
        assert bounds.packing == pytest.approx(worst, abs=1e-12)
        assert bounds.best == bounds.packing


@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_the_nearest_pair_binds(delta: float) -> None:
    one_way = dx.MetricSpace.from_distances([[0, 1.5, 0.5], [2, 0, 1], [np.inf, 2, 0]], close=True)
    for space, nearest in ((dx.grid((2, 3), spacing=0.7), 0.7), (one_way, 0.5)):
        mechanism = dx.classic.randomised_response(space, epsilon=1.1, delta=delta)
        m = len(space) - 1
        assert mechanism.matrix[0, 1] == pytest.approx((1 - delta) / (m + np.exp(1.1 * nearest)), abs=1e-12)
        assert not exceeds(mechanism, 1.1, delta)
        assert exceeds(mechanism, 1.09, delta)


def test_secrets_that_nothing_binds_are_told() -> None:
    apart = dx.MetricSpace.from_distances([[0, np.inf], [np.inf, 0]])
    for space in (apart, dx.line(1)):
        for delta in (0.0, 0.3):
            mechanism = dx.classic.randomised_response(space, epsilon=1.0, delta=delta)
            assert np.array_equal(mechanism.matrix, np.eye(len(space)))


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-14, 1e-15), (800.0, 1e-15), (800.0, 0.5), (1e-14, 0.999999)])
def test_extreme_levels(epsilon: float, delta: float) -> None:
    mechanism = dx.classic.randomised_response(categories(7), epsilon=epsilon, delta=delta)
    assert not exceeds(mechanism, epsilon, delta)
    assert (mechanism.matrix > 0).all()


def test_refused() -> None:
    alike = dx.MetricSpace.from_distances([[0, 0], [1, 0]])
    for delta in (0.0, 0.1):
        with pytest.raises(dx.UnsupportedError, match=r"^space: "):
            dx.classic.randomised_response(alike, epsilon=1.0, delta=delta)
    space = dx.line(2)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=np.ones((2, 3)))
    assert RandomisedResponse().refuses(problem) == "needs the secrets themselves as reports"


@pytest.mark.parametrize("delta", [-0.1, 1.0, float("nan"), "much"])
def test_a_delta_that_is_none_is_refused(delta: float) -> None:
    with pytest.raises(dx.SpecError, match=r"^delta: "):
        dx.classic.randomised_response(dx.line(2), epsilon=1.0, delta=delta)


def test_proven_at_levels_below_rounding() -> None:
    mechanism = dx.classic.randomised_response(categories(5), epsilon=1e-16, delta=1e-18)
    assert mechanism.privacy is not None
    assert mechanism.privacy.delta <= 1e-18
