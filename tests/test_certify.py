"""Repair and proof on their own: anything in, a private channel out, and nothing false is ever proven."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from exact import exp_enclosure, row_sum_errors, violations
from instances import KINDS, problem_of
from oracle import best_channel

import dxopt as dx
from dxopt.certify import certify, expected_cost, prove_private, safe_bound
from dxopt.repair import close, repair
from dxopt.rounding import factor_above, factor_below


def spoilt(problem: dx.Problem, generator: np.random.Generator, how: str) -> np.ndarray:
    raw = generator.random(problem.shape)
    if how == "nothing":
        raw[:] = 0.0
    elif how == "junk":
        raw[generator.random(problem.shape) < 0.3] = np.nan
        raw[generator.random(problem.shape) < 0.2] = np.inf
        raw -= 0.5
    elif how == "deterministic":
        raw = np.eye(*problem.shape)
    elif how == "tiny":
        raw **= 200
    elif how == "huge":
        raw *= 1e100
    return raw


@pytest.mark.parametrize("how", ["nothing", "junk", "deterministic", "tiny", "huge", "random"])
@pytest.mark.parametrize("kind", KINDS)
def test_anything_becomes_private(kind: str, how: str) -> None:
    for seed in range(4):
        problem = problem_of(kind, seed)
        channel = repair(problem, spoilt(problem, np.random.default_rng(seed), how))
        assert violations(channel, problem.space.distances, problem.epsilon) == []
        assert max(abs(error) for error in row_sum_errors(channel)) <= 2.0**-50
        prove_private(problem, channel)


@pytest.mark.parametrize("kind", KINDS)
def test_a_good_channel_is_hardly_moved(kind: str) -> None:
    for seed in range(6):
        problem = problem_of(kind, seed)
        losses = np.array(problem.losses)
        value, raw = best_channel(problem.space.distances, problem.epsilon, problem.prior.probabilities, losses)
        channel = repair(problem, raw)
        assert channel == pytest.approx(raw, abs=1e-6)
        assert expected_cost(problem, channel) == pytest.approx(value, abs=1e-7)


def test_what_is_missing_goes_where_it_costs_least() -> None:
    space = dx.line(4)
    loss = np.array([[9.0, 9.0, 1.0]] * 4)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=loss)
    raw = np.zeros((4, 3))
    raw[:, 0] = [0.8, 0.7, 0.6, 0.7]
    channel = repair(problem, raw)
    assert violations(channel, space.distances, 1.0) == []
    assert channel[:, 2].min() > 0.05
    assert channel[:, 1].max() == 0.0


def test_closure_is_the_least_one() -> None:
    generator = np.random.default_rng(2)
    distances = dx.MetricSpace.from_points(generator.random((9, 2)) * 4).distances
    factors = factor_above(1.0, distances)
    rows = generator.random((9, 5)) ** 4
    closed = close(rows, factors)
    assert (closed >= rows).all()
    assert closed == pytest.approx((np.exp(-distances)[:, :, None] * rows[:, None, :]).max(axis=0), rel=1e-12)
    assert np.array_equal(close(closed, factors), closed)


def test_closure_settles_on_a_long_chain() -> None:
    distances = dx.line(400).distances
    rows = np.zeros((400, 2))
    rows[0, 0] = rows[-1, 1] = 1.0
    closed = close(rows, factor_above(0.01, distances))
    assert closed[:, 0] == pytest.approx(np.exp(-0.01 * np.arange(400)), rel=1e-11)
    assert closed[::-1, 1] == pytest.approx(closed[:, 0], rel=1e-11)


def test_factors_are_on_their_side() -> None:
    generator = np.random.default_rng(0)
    distances = np.concatenate([10.0 ** generator.uniform(-18, 2.5, 300), [0.0, 1e-300, np.inf, 1.0, np.log(2)]])
    for epsilon in (0.1, 1.0, 1 / 3):
        above, below = factor_above(epsilon, distances), factor_below(epsilon, distances)
        for distance, high, low in zip(distances, above, below, strict=True):
            if math.isinf(distance):
                assert high == low == 0.0
                continue
            if distance == 0:
                assert high == low == 1.0
                continue
            least, most = exp_enclosure(Fraction(epsilon) * Fraction(float(distance)), 200)
            assert Fraction(high) * least >= 1
            assert Fraction(low) * most <= 1
            assert low > 0.999999 * high


@pytest.fixture
def problem() -> dx.Problem:
    space = dx.line(3)
    return dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))


def test_proof_refuses_what_is_not_private(problem: dx.Problem) -> None:
    for channel, message in (
        (np.eye(3), "secrets 0 and 1 are told apart by report 0"),
        (np.full((3, 3), 0.33), "sums to 1"),
        (np.array([[2, -0.5, -0.5]] * 3), "no probabilities"),
        (np.full((3, 3), np.nan), "no probabilities"),
    ):
        with pytest.raises(dx.CertificateError, match=message):
            prove_private(problem, channel)


def test_proof_refuses_a_violation_in_the_last_places(problem: dx.Problem) -> None:
    small = 2.0**-3
    tight = np.array([[small * math.e * (1 + 1e-15), 0.0], [small, 0.0], [small, 0.0]])
    tight[:, 1] = 1 - tight[:, 0]
    assert violations(tight, problem.space.distances, 1.0) != []
    two = dx.Problem(problem.space, epsilon=1.0, prior=problem.prior, loss=np.ones((3, 2)))
    with pytest.raises(dx.CertificateError, match="told apart"):
        prove_private(two, tight)


def test_proof_refuses_infinite_leakage_however_small(problem: dx.Problem) -> None:
    two = dx.Problem(problem.space, epsilon=1.0, prior=problem.prior, loss=np.ones((3, 2)))
    for amount in (1e-9, 1e-200, 5e-324):
        channel = np.array([[amount, 1.0 - amount], [0.0, 1.0], [0.0, 1.0]])
        with pytest.raises(dx.CertificateError, match="told apart"):
            prove_private(two, channel)


def test_realised_level_is_the_least_one(problem: dx.Problem) -> None:
    weaker = dx.Problem(problem.space, epsilon=0.4, prior=problem.prior, loss="binary")
    channel = dx.solve(weaker, method="tight").mechanism.matrix
    realised = prove_private(problem, channel)
    assert realised == pytest.approx(0.4, abs=1e-12)
    assert violations(channel, problem.space.distances, realised) == []
    assert violations(channel, problem.space.distances, realised * (1 - 1e-12)) != []
    assert prove_private(problem, np.full((3, 3), [0.25, 0.5, 0.25])) == pytest.approx(0.0, abs=1e-14)


def test_certify_without_a_dual(problem: dx.Problem) -> None:
    mechanism, proof = certify(problem, np.eye(3), None, name="told")
    assert violations(mechanism.matrix, problem.space.distances, 1.0) == []
    assert mechanism.name == "told"
    assert proof.bound == safe_bound(problem, None) == pytest.approx(0.0)
    assert proof.value == pytest.approx(dx.evaluate.expected_loss(mechanism, problem.prior, "distance"))
