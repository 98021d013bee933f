"""Optima under pairs of beliefs: those of a dense linear program, proven; and what must not answer refuses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from tests.judges.oracle_beliefs import best_for_beliefs, keeps
from tests.material.believed import believed, random_pairs, trace
from tests.material.few import few


def oracle(problem: dx.Problem) -> float:
    pairs = problem.beliefs
    assert pairs is not None
    return best_for_beliefs(
        problem.losses,
        problem.prior.probabilities,
        pairs.first,
        pairs.second,
        pairs.budgets.tolist(),
        between=problem.budgets if problem.private else None,
        objective=problem.objective.name,
    )


def assert_proven(report: dx.Report) -> None:
    pairs, proof = report.problem.beliefs, report.certificate
    assert pairs is not None
    assert proof.belief_level is not None
    assert proof.belief_level <= pairs.level
    budgets = [Fraction(proof.belief_level) * Fraction(float(distance)) for distance in pairs.distances]
    assert keeps(pairs.first, pairs.second, budgets, report.mechanism.matrix)
    assert proof.private is report.problem.private
    assert proof.bound <= proof.value
    assert proof.gap <= 1e-6
    assert report.status == "optimal"


@pytest.mark.parametrize("objective", ["expected_loss", "worst_loss"])
@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("seed", few(range(4)))
def test_the_optimum_is_the_oracles(seed: int, private: bool, objective: str) -> None:
    problem = believed(seed, private=private, objective=objective)
    report = dx.solve(problem)
    assert_proven(report)
    assert abs(report.certificate.value - oracle(problem)) <= 1e-7
    alone = dx.solve(problem.but(beliefs=None)) if private else None
    if alone is not None:
        assert alone.certificate.value <= report.certificate.value + 1e-7
        assert report.certificate.epsilon <= problem.epsilon


@pytest.mark.parametrize("solver", ["clarabel", "highs"])
def test_a_trace_by_each_solver(solver: str) -> None:
    problem = trace()
    report = dx.solve(problem, solver=solver)
    assert_proven(report)
    assert abs(report.certificate.value - oracle(problem)) <= 1e-7


@pytest.mark.parametrize("objective", ["expected_loss", "worst_loss"])
def test_beliefs_that_are_certain_give_ordinary_privacy(objective: str) -> None:
    """All pairs of point masses, as far apart as the points: the very same constraints."""
    rng = np.random.default_rng(7)
    space = dx.MetricSpace.from_points(rng.random((5, 2)), "euclidean")
    plain = dx.Problem(space, epsilon=2.0, prior=rng.dirichlet(np.ones(5)), objective=objective)
    certain = np.eye(5)
    apart = [(x, y) for x in range(5) for y in range(5) if x != y]
    pairs = dx.BeliefPairs(
        [certain[x] for x, _ in apart],
        [certain[y] for _, y in apart],
        distances=[space.distances[pair] for pair in apart],
    )
    report = dx.solve(plain.but(epsilon=None, beliefs=pairs.at(2.0)))
    assert_proven(report)
    assert abs(report.certificate.value - dx.solve(plain).certificate.value) <= 1e-8
    dx.certify(report.mechanism, space, 2.0 * (1 + 1e-13))


def test_points_at_distance_0_are_kept_together_beside_beliefs() -> None:
    space = dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    rng = np.random.default_rng(2)
    problem = dx.Problem(
        space, epsilon=1.0, prior=[0.2, 0.3, 0.5], loss="binary", beliefs=random_pairs(space, rng).at(0.3)
    )
    report = dx.solve(problem)
    assert_proven(report)
    assert abs(report.certificate.value - oracle(problem)) <= 1e-7
    assert np.array_equal(report.mechanism.matrix[0], report.mechanism.matrix[1])


@pytest.mark.parametrize("method", ["tight", "exponential", "planar_laplace", "geometric", "randomised_response"])
def test_mechanisms_by_name_know_of_no_beliefs(method: str) -> None:
    space = dx.line(3)
    pairs = random_pairs(space, np.random.default_rng(0)).at(1.0)
    problem = dx.Problem(space, epsilon=1.0, prior="uniform", loss="binary", beliefs=pairs)
    with pytest.raises(dx.UnsupportedError, match=f"{method} knows of no beliefs; use method: optimal"):
        dx.solve(problem, method=method)


def test_structure_claims_nothing_that_beliefs_take_away() -> None:
    """A line and a product, whose own routes would answer at once: with beliefs the value is the oracle's."""
    rng = np.random.default_rng(3)
    for space in (dx.line(6), dx.product(dx.line(2), dx.line(3))):
        pairs = random_pairs(space, rng).at(0.2)
        problem = dx.Problem(space, epsilon=1.0, prior=rng.dirichlet(np.ones(6)), loss="distance", beliefs=pairs)
        report = dx.solve(problem)
        assert_proven(report)
        assert abs(report.certificate.value - oracle(problem)) <= 1e-7
        assert report.certificate.value > dx.solve(problem.but(beliefs=None)).certificate.value + 1e-4
        assert {"product", "line", "tight"} <= set(report.refused)


def test_what_does_not_go_with_beliefs_is_refused() -> None:
    problem = believed(0, private=True)
    refused = "beliefs: do not go with a"
    with pytest.raises(dx.UnsupportedError, match=refused):
        dx.compare(problem, ["exponential"])
    with pytest.raises(dx.UnsupportedError, match=refused):
        dx.sweep(problem, [0.5, 1.0])
    with pytest.raises(dx.UnsupportedError, match=refused):
        dx.frontier(problem, 0.5, 1.0)
    with pytest.raises(dx.UnsupportedError, match=refused):
        dx.smallest_epsilon(problem, 1.0)
    with pytest.raises(dx.UnsupportedError, match="columns does not apply, as beliefs are given"):
        dx.solve(problem, solver="columns")
    with pytest.raises(dx.UnsupportedError, match="does not go with this problem: beliefs are given"):
        dx.solve(problem, spanner=1.5)
    report = dx.solve(problem)
    with pytest.raises(dx.UnsupportedError, match="beliefs"):
        _ = report.table  # integers are not proven for beliefs


def test_too_many_rows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dxopt.solving.routes.limits.BELIEFS_LIMIT", 20)
    with pytest.raises(dx.UnsupportedError, match="over the limit of 20; give fewer pairs"):
        dx.solve(believed(0))


def test_time_that_is_up_leaves_a_constant_report() -> None:
    problem = believed(0)
    report = dx.solve(problem, time_limit=1e-6)
    assert report.status != "optimal" or report.certificate.gap <= 1e-6
    pairs = problem.beliefs
    assert pairs is not None
    budgets = [Fraction(pairs.level) * Fraction(float(distance)) for distance in pairs.distances]
    assert keeps(pairs.first, pairs.second, budgets, report.mechanism.matrix)
