"""Repair and proof on their own: anything in, a private channel out, and nothing false is ever proven."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy
from threadpoolctl import threadpool_info, threadpool_limits

import dxopt as dx
from dxopt.numerics.rounding import factor_above, factor_below
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from dxopt.proofs.duals import Dual
from dxopt.proofs.privacy import prove_private
from dxopt.proofs.repair import bring_within_budget, constant_channel, expected_above, repair
from tests.judges.exact import exp_enclosure, row_sum_errors, violations
from tests.judges.oracle import best_channel
from tests.material.instances import KINDS, problem_of


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
        assert problem.objective.value(problem, channel) == pytest.approx(value, abs=1e-7)


def test_systems_of_a_repair_are_solved_by_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more, each waits for the others: 30 times the work of one at 900 secrets."""
    threads: list[int] = []
    factor = scipy.linalg.cho_factor

    def counted(*args: Any, **options: Any) -> Any:
        threads.extend(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")
        return factor(*args, **options)

    monkeypatch.setattr(scipy.linalg, "cho_factor", counted)
    problem = problem_of(KINDS[0], 0)
    with threadpool_limits(2, user_api="blas"):
        repair(problem, np.full(problem.shape, 1 / 6))
    assert set(threads) == {1}


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


@pytest.mark.parametrize("amount", [1e-3, 1e-20, 1e-149])
@pytest.mark.parametrize("apart", [290.0, 600.0, 5000.0])
def test_a_faint_entry_far_from_all_others_becomes_private(apart: float, amount: float) -> None:
    space = dx.MetricSpace.from_points([0.0, apart, 2 * apart])
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    raw = np.array([[1 - amount, 0.0, amount], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    mechanism = certify(problem, Candidate(raw)).mechanism
    assert violations(mechanism.matrix, space.distances, 1.0) == []


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


@pytest.mark.parametrize("budget", [1e-16, 3e-15, 4e-15, 1e-9, 0.3, 1.0, 5.0, 40.0, 650.0])
def test_proof_decides_around_the_last_places_of_a_tight_pair(budget: float) -> None:
    """All that is proven is true, and a pair with a little room is proven."""
    space = dx.MetricSpace.from_distances(np.array([[0.0, budget], [budget, 0.0]]))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=np.ones((2, 2)))
    generator = np.random.default_rng(int(budget * 10))
    accepted = set()
    for places in range(-80, 81):
        low = float(generator.uniform(0.1, 0.4)) * math.exp(-budget)
        high = low * math.exp(budget) * (1 - places * 2.0**-53)
        channel = np.array([[high, 1 - high], [low, 1 - low]])
        try:
            prove_private(problem, channel)
        except dx.CertificateError:
            continue
        accepted.add(places)
        assert violations(channel, space.distances, 1.0) == []
    if 0.1 < budget < 10:
        assert accepted >= set(range(70, 81))


def test_proof_compares_points_at_distance_zero_exactly() -> None:
    lengths = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    space = dx.MetricSpace.from_distances(lengths)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=np.ones((3, 3)))
    channel = np.array([[0.25, 0.25, 0.5], [0.25, 0.25, 0.5], [0.25, 0.25, 0.5]])
    prove_private(problem, channel)
    channel[0] = [np.nextafter(0.25, 1), np.nextafter(0.25, 0), 0.5]
    assert violations(channel, lengths, 1.0) == [(0, 1, 0)]
    with pytest.raises(dx.CertificateError, match="secrets 0 and 1 are told apart by report 0"):
        prove_private(problem, channel)
    # rows need not sum to 1 exactly: one may be above the other, which is at distance 0 from it, but not it from that
    channel[0] = [np.nextafter(0.25, 1), 0.25, 0.5]
    assert violations(channel, lengths, 1.0) == [(0, 1, 0)]
    with pytest.raises(dx.CertificateError, match="secrets 0 and 1 are told apart by report 0"):
        prove_private(problem, channel)
    channel[0] = [np.nextafter(0.25, 0), 0.25, 0.5]
    prove_private(problem, channel)


def test_proof_refuses_infinite_leakage_however_small(problem: dx.Problem) -> None:
    two = dx.Problem(problem.space, epsilon=1.0, prior=problem.prior, loss=np.ones((3, 2)))
    for amount in (1e-9, 1e-200, 5e-324):
        for nothing in (0.0, -0.0):
            channel = np.array([[amount, 1.0 - amount], [nothing, 1.0], [0.0, 1.0]])
            with pytest.raises(dx.CertificateError, match="secrets 0 and 1 are told apart"):
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
    proven = certify(problem, Candidate(np.eye(3), name="told"))
    mechanism, proof = proven.mechanism, proven.certificate
    assert violations(mechanism.matrix, problem.space.distances, 1.0) == []
    assert mechanism.name == "told"
    assert proof.bound == proven_bound(problem, None)[0] == pytest.approx(0.0)
    assert proof.value == pytest.approx(dx.evaluate.expected_loss(mechanism, problem.prior, "distance"))


def test_bound_counts_what_is_lost_in_long_sums() -> None:
    """Each multiplier of 1e-17 is lost beside the first one of 1, but not in exact arithmetic."""
    space = dx.MetricSpace.from_distances(np.zeros((2, 2)))
    loss = np.array([[1.0, 1.0], [1.0, 1.0]])
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=loss)
    for count in (1, 30, 3000):
        amounts = np.array([1.0, *[1e-17] * count])
        report, origin, there = (np.full(len(amounts), number) for number in (0, 1, 0))
        bound = proven_bound(problem, Dual(np.zeros(2), report, origin, there, amounts))[0]
        true = Fraction(1, 2) - sum(map(Fraction, amounts.tolist())) + Fraction(1, 2)
        assert true - Fraction(count + 10, 2**50) <= Fraction(bound) <= true


def test_bound_holds_in_exact_arithmetic() -> None:
    """At distance 0 all numbers are rational: many multipliers in few places, of very different sizes."""
    generator = np.random.default_rng(0)
    space = dx.MetricSpace.from_distances(np.zeros((3, 3)))
    prior = dx.Prior.from_weights(space, generator.random(3) + 0.1)
    problem = dx.Problem(space, epsilon=1.0, prior=prior, loss=generator.random((3, 4)))
    for scale in range(-3, 3):
        report, first, second = (generator.integers(0, top, 200) for top in (4, 3, 3))
        amounts = 10.0 ** generator.uniform(-9, scale, 200)
        masses = map(Fraction, prior.probabilities.tolist())
        losses = problem.losses.tolist()
        exact = [[mass * Fraction(loss) for loss in row] for mass, row in zip(masses, losses, strict=True)]
        for place, amount in enumerate(amounts.tolist()):
            exact[second[place]][report[place]] -= Fraction(amount)
            exact[first[place]][report[place]] += Fraction(amount)
        true = sum(min(row) for row in exact)
        bound = Fraction(proven_bound(problem, Dual(np.zeros(3), report, first, second, amounts))[0])
        assert true - (1 + Fraction(float(amounts.sum()))) / 10**11 <= bound <= true


@pytest.mark.parametrize("space", [dx.MetricSpace.from_distances(1.0 - np.eye(3)), dx.line(5), dx.grid((3, 3))])
@pytest.mark.parametrize("epsilon", [0.7, 0.9281933116787509, 1.7])
def test_a_channel_a_bit_over_its_budget_is_hardly_moved(space: dx.MetricSpace, epsilon: float) -> None:
    """However little is over the budget, what the repair costs is of the order of rounding."""
    plain = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space))
    constant = constant_channel(plain.costs)
    within = dx.solve(plain).mechanism.matrix
    channel = repair(plain, 0.5 * within + 0.5 * constant)
    loss = expected_above(plain, channel)
    for over in (0.0, 2.0**-53, 2.0**-51, 2.0**-48):
        budget = loss - over * abs(loss)
        problem = plain.but(objective=dx.AdversaryError(budget, "binary"))
        moved = bring_within_budget(problem, channel, within)
        assert expected_above(problem, moved) <= budget
        assert np.abs(moved - channel).max() <= 1e-9
    # and where much is over it, what the budget allows is used
    budget = 0.5 * (loss + expected_above(plain, within))
    problem = plain.but(objective=dx.AdversaryError(budget, "binary"))
    assert budget - 1e-9 <= expected_above(problem, bring_within_budget(problem, channel, within)) <= budget
