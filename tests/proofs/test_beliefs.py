"""Repair, proof and bound for pairs of beliefs, judged in rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics.belief_mixtures import mixtures, shortfalls
from dxopt.proofs.beliefs import prove_beliefs
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify
from dxopt.proofs.duals import BeliefDual, Dual, LineDual, WorstDual
from dxopt.proofs.repair import repair
from tests.judges.exact import row_sum_errors, violations
from tests.judges.oracle_beliefs import expected, keeps, largest_ratio
from tests.material.believed import believed
from tests.material.few import few


def budgets(problem: dx.Problem, level: float | None = None) -> list[Fraction]:
    pairs = problem.beliefs
    assert pairs is not None
    return [Fraction(pairs.level if level is None else level) * Fraction(float(one)) for one in pairs.distances]


def holds(problem: dx.Problem, channel: np.ndarray, level: float | None = None) -> bool:
    pairs = problem.beliefs
    assert pairs is not None
    return keeps(pairs.first, pairs.second, budgets(problem, level), channel)


@pytest.mark.parametrize("seed", few(range(20)))
@pytest.mark.parametrize("private", [False, True])
def test_whatever_is_repaired_holds_in_rationals(seed: int, private: bool) -> None:
    rng = np.random.default_rng(seed)
    problem = believed(seed, private=private)
    n, m = problem.shape
    raw = rng.dirichlet(np.full(m, 0.1 + seed % 3), size=n) * rng.choice([1.0, 1.0, 1e-9, 1e-160], (n, m))
    channel = repair(problem, raw)
    assert max(map(abs, row_sum_errors(channel))) <= Fraction(1, 2**50)
    assert holds(problem, channel)
    level = prove_beliefs(problem, channel)
    pairs = problem.beliefs
    assert pairs is not None
    ratios = largest_ratio(pairs.first, pairs.second, channel)
    least = max(math.log(max(ratio or 0, 1)) / d for ratio, d in zip(ratios, pairs.distances, strict=True))
    assert least <= level <= min(pairs.level, least + 1e-11)
    assert holds(problem, channel, level)
    if private:
        assert violations(channel, problem.space.distances, problem.epsilon) == []


def test_a_repair_is_small_where_little_is_broken() -> None:
    problem = believed(3)
    good = dx.solve(problem).mechanism.matrix
    assert holds(problem, good)
    assert np.abs(repair(problem, good) - good).max() <= 1e-14
    noise = np.random.default_rng(0).normal(size=good.shape) * 1e-9
    near = np.maximum(good + noise, 0.0)
    assert np.abs(repair(problem, near / near.sum(axis=1, keepdims=True)) - good).max() <= 1e-7


def test_a_report_that_is_never_given_stays_so() -> None:
    problem = believed(4, size=4)
    n, m = problem.shape
    problem = problem.but(loss=problem.losses + 100 * np.eye(m)[0])
    raw = np.random.default_rng(1).dirichlet(np.ones(m), size=n)
    raw[:, 0] = 0.0
    raw /= raw.sum(axis=1, keepdims=True)
    assert not repair(problem, raw)[:, 0].any()


def test_what_one_rounding_breaks_is_not_accepted() -> None:
    """θK against θ'K at the very limit: a unit in the last place too much is seen."""
    space = dx.line(2)
    pairs = dx.BeliefPairs([[1.0, 0.0]], [[0.0, 1.0]])
    low, level = 0.25, float(np.log(2.0))
    for step in range(-2000, 2001, 50):
        high = 0.5 + step * 2.0**-54
        channel = np.array([[high, 1 - high], [low, 1 - low]])
        problem = dx.Problem(space, epsilon=None, prior="uniform", beliefs=pairs.at(level))
        try:
            prove_beliefs(problem, channel)
            proven = True
        except dx.CertificateError as error:
            assert "told apart by report 0, pair 0" in str(error)
            proven = False
        if proven:
            assert holds(problem, channel)
        assert proven or step > -200, "the margin is a few units, no more"
        assert not proven or step < 1


@pytest.mark.parametrize("seed", few(range(10)))
def test_mixtures_are_enclosed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(30, 0.05), size=4) * (rng.random((4, 30)) < 0.5)
    channel = rng.dirichlet(np.full(6, 0.05), size=30) * rng.choice([1.0, 0.0, 1e-200], (30, 6))
    low, high = mixtures(weights, channel)
    for pair, theta in enumerate(weights):
        for report, exact in enumerate(expected(theta, channel)):
            assert Fraction(low[pair, report]) <= exact <= Fraction(high[pair, report])
            assert exact or not high[pair, report], "0 is exactly 0"
            assert high[pair, report] - low[pair, report] <= 1e-13 * high[pair, report] + 1e-300


def test_something_tiny_against_nothing_is_never_proven() -> None:
    """The budget is so large that e^{-εd} θK underflows; still no budget allows what is possible in one alone."""
    space = dx.line(2)
    problem = dx.Problem(
        space, epsilon=None, prior="uniform", beliefs=dx.BeliefPairs([[1.0, 0.0]], [[0.0, 1.0]]).at(699.0)
    )
    for tiny in (1e-10, 1e-100, 1e-300, 5e-324):
        with pytest.raises(dx.CertificateError, match="told apart by report 0"):
            prove_beliefs(problem, np.array([[tiny, 1.0], [0.0, 1.0]]))
    assert prove_beliefs(problem, np.array([[1e-10, 1.0 - 1e-10], [1e-300, 1.0]])) > 600


def test_what_lacks_is_rounded_up() -> None:
    problem = believed(5)
    pairs = problem.beliefs
    assert pairs is not None
    channel = np.random.default_rng(5).dirichlet(np.ones(problem.shape[1]), size=5)
    found = shortfalls(pairs.first, pairs.second, pairs.distances, pairs.level, channel)
    for pair in range(len(pairs)):
        power = Fraction(float(np.exp(-pairs.budgets[pair])))
        ours, theirs = expected(pairs.first[pair], channel), expected(pairs.second[pair], channel)
        for report in range(problem.shape[1]):
            exact = power * ours[report] - theirs[report]
            assert Fraction(found[pair, report]) >= exact - Fraction(1, 2**60)
            assert found[pair, report] <= float(exact) + 1e-13


def garbage(problem: dx.Problem, rng: np.random.Generator, size: float) -> BeliefDual:
    """Multipliers of any quality, some twice, some no numbers."""
    n, m = problem.shape
    assert problem.beliefs is not None
    wild = rng.choice([1.0, -1.0, np.nan, np.inf], 20, p=[0.9, 0.05, 0.03, 0.02])
    plain = Dual(rng.random(n), rng.integers(0, m, 8), rng.integers(0, n, 8), rng.integers(0, n, 8), rng.random(8))
    keep = plain.first != plain.second
    inner = Dual(plain.prices, *(getattr(plain, key)[keep] for key in ("report", "first", "second", "multiplier")))
    worst = problem.objective.name == "worst_loss"
    with np.errstate(over="ignore"):
        multipliers = size * rng.exponential(size=20) * wild
    return BeliefDual(
        rng.integers(0, len(problem.beliefs), 20),
        rng.integers(0, m, 20),
        multipliers,
        WorstDual(rng.exponential(size=n), inner) if worst else inner,
    )


@pytest.mark.parametrize("objective", ["expected_loss", "worst_loss"])
@pytest.mark.parametrize("private", [False, True])
def test_no_multipliers_prove_too_much(private: bool, objective: str) -> None:
    rng = np.random.default_rng(11)
    for seed in range(3):
        problem = believed(seed, private=private, objective=objective)
        best = dx.solve(problem).certificate
        for size in (1e-3, 0.1, 10.0, 1e200, 1e308):
            bound, _ = proven_bound(problem, garbage(problem, rng, size))
            assert bound <= best.value
        good, _ = proven_bound(problem, dx.solve(problem).dual)
        assert good >= best.value - 1e-6 * abs(best.value)


def test_duals_of_other_problems_are_refused() -> None:
    problem = believed(0)
    dual = dx.solve(problem).dual
    assert isinstance(dual, BeliefDual)
    with pytest.raises(dx.CertificateError, match="no pairs of beliefs"):
        proven_bound(believed(0, private=True).but(beliefs=None), dual)
    with pytest.raises(dx.CertificateError, match="none of a problem of worst_loss"):
        proven_bound(problem.but(objective="worst_loss"), dual)
    line = LineDual(np.zeros(5), np.zeros(problem.shape[1], np.int64))
    with pytest.raises(dx.CertificateError, match="none of a problem with pairs of beliefs"):
        proven_bound(problem, line)
    far = BeliefDual(dual.belief + 100, dual.report, dual.multiplier, dual.inner)
    with pytest.raises(dx.CertificateError, match="not about"):
        proven_bound(problem, far)


def test_what_is_not_written_down_is_not_proven_for_beliefs() -> None:
    space = dx.line(300)
    mechanism = dx.tight_constraints(space, 1.0)
    pairs = dx.BeliefPairs.of(space, [(np.eye(300)[0], np.eye(300)[1])]).at(1.0)
    problem = dx.Problem(space, epsilon=1.0, prior="uniform", beliefs=pairs)
    with pytest.raises(dx.CertificateError, match="not written down"):
        certify(problem, Candidate(mechanism))


def test_a_level_next_to_0_is_a_loud_failure_or_holds() -> None:
    problem = believed(2)
    assert problem.beliefs is not None
    for level in (1e-3, 1e-7, 1e-12, 1e-17):
        small = problem.but(beliefs=problem.beliefs.at(level))
        try:
            report = dx.solve(small)
        except dx.CertificateError:
            assert level < 1e-6
            continue
        assert holds(small, report.mechanism.matrix)
