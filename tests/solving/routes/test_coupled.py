"""Worst loss, adversary's error and relaxed privacy, against a dense linear program that shares no code."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.checks import assert_private
from tests.material.few import few
from tests.material.instances import KINDS, problem_of
from tests.material.optima import optimum

CLOSE = 1e-7
SOLVERS = ("clarabel", "columns", "highs")


def guesses_of(problem: dx.Problem, seed: int) -> np.ndarray:
    """What guesses cost: losses of either sign for up to 5 guesses, now and then twice the same one."""
    generator = np.random.default_rng([seed, 77])
    costs = generator.random((len(problem.space), int(generator.integers(1, 6)))) * 2 - 0.3 * (seed % 2)
    return np.hstack([costs, costs[:, :1]]) if seed % 3 == 0 else costs


def assert_optimal(problem: dx.Problem, **options: Any) -> dx.Report:
    """That the answer is proven, and that no bit of the proof is on the wrong side of the oracle's optimum."""
    finer: dict[str, Any] = {"tolerance": 1e-7} if options.get("solver") == "columns" else {}
    report, value = dx.solve(problem, method="optimal", **options, **finer), optimum(problem)
    proof, sign = report.certificate, problem.objective.sign
    assert proof.private is problem.private
    assert proof.gap <= 1e-6
    assert proof.value == pytest.approx(value, abs=CLOSE)
    assert proof.bound == pytest.approx(value, abs=CLOSE)
    assert sign * (proof.value - value) >= -1e-9
    assert sign * (value - proof.bound) >= -1e-9
    assert_private(report)
    return report


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", few(range(6)))
@pytest.mark.parametrize("kind", KINDS)
def test_worst_loss(kind: str, seed: int, solver: str) -> None:
    assert_optimal(problem_of(kind, seed).but(objective="worst_loss"), solver=solver)


@pytest.mark.parametrize("seed", few(range(6)))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("private", "solver"), [(True, "auto"), (True, "columns"), (False, "auto")])
def test_adversary_error(kind: str, seed: int, private: bool, solver: str) -> None:
    plain = problem_of(kind, seed)
    least, blind = dx.solve(plain).certificate.value, float(plain.costs.sum(axis=0).min())
    if not private:
        least = float(plain.costs.min(axis=1).sum())
    for share in (0.1, 0.6):
        objective = dx.AdversaryError(least + share * (blind - least) + 1e-6, guesses_of(plain, seed))
        problem = plain.but(objective=objective, **({} if private else {"epsilon": None}))
        assert_optimal(problem, solver=solver)


def test_budgets_next_to_the_least_loss_by_columns() -> None:
    """Where loss is dear: columns first guess at a highest price, and have to raise it."""
    space = dx.grid((4, 4))
    prior = dx.Prior.from_weights(space, 1 + (11 * np.arange(16)) % 7)
    plain = dx.Problem(space, epsilon=0.5, prior=prior)
    budget = 1.001 * dx.solve(plain).certificate.value
    problem = plain.but(objective=dx.AdversaryError(budget, "binary"))
    columns, known = (dx.solve(problem, solver=solver).certificate for solver in ("columns", "clarabel"))
    assert columns.gap <= 1e-6
    assert columns.value == pytest.approx(known.value, abs=1e-6)
    assert columns.bound >= known.value - 1e-9


@pytest.mark.parametrize("changes", [{"delta": 0.1}, {"objective": dx.AdversaryError(9.0), "epsilon": None}])
def test_columns_are_of_a_cone(changes: dict[str, Any]) -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)).but(**changes)
    with pytest.raises(dx.UnsupportedError, match=r"^solver: "):
        dx.solve(problem, solver="columns")


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("seed", few(range(6)))
@pytest.mark.parametrize("kind", KINDS)
def test_relaxed(kind: str, seed: int, pairs: str) -> None:
    delta = (1e-6, 0.003, 0.2)[seed % 3]
    report = assert_optimal(problem_of(kind, seed).but(delta=delta, pairs=pairs))
    assert report.certificate.delta <= delta


@pytest.mark.parametrize("kind", KINDS)
def test_relaxed_with_other_objectives(kind: str) -> None:
    plain = problem_of(kind, 4).but(delta=0.05)
    assert_optimal(plain.but(objective="worst_loss"))
    most = 1.05 * dx.solve(plain).certificate.value + 0.01
    assert_optimal(plain.but(objective=dx.AdversaryError(most, "binary")))


def test_delta_can_only_help() -> None:
    plain = problem_of("euclidean", 1)
    values = [dx.solve(plain.but(delta=delta)).certificate.value for delta in (0.0, 0.01, 0.1, 0.5)]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1] + 0.01


def test_which_pairs_carry_delta_matters() -> None:
    """4 points on a line, δ = 0.1, ε = 0.5: 0.6567 with adjacent pairs only, 0.7229 with all."""
    space = dx.line(4)
    problem = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space), delta=0.1)
    every = dx.solve(problem).certificate.value
    adjacent = dx.solve(problem.but(pairs="adjacent")).certificate.value
    assert (round(adjacent, 4), round(every, 4)) == (0.6567, 0.7229)
    assert every == pytest.approx(optimum(problem), abs=1e-8)


@pytest.mark.parametrize(("secrets", "epsilon", "delta"), [(2, 0.5, 0.0), (4, 1.0, 0.1), (7, 2.0, 0.3)])
def test_randomised_response_is_minimax(secrets: int, epsilon: float, delta: float) -> None:
    """Its error is the least there is under the discrete metric (HLM14 Thm 7 and Example 7)."""
    space = dx.MetricSpace.from_distances(1 - np.eye(secrets))
    others = secrets - 1
    report = dx.solve(dx.Problem(space, epsilon=epsilon, prior=None, objective="worst_loss", delta=delta))
    assert report.certificate.value == pytest.approx((1 - delta) * others / (others + math.exp(epsilon)), abs=1e-8)
    assert report.certificate.gap <= 1e-6


def test_adversary_error_of_an_optimum_is_what_evaluate_says() -> None:
    space = dx.grid((3, 3))
    prior = dx.Prior.from_weights(space, np.arange(1, 10))
    problem = dx.Problem(space, epsilon=None, prior=prior, objective=dx.AdversaryError(0.8, "binary"))
    report = dx.solve(problem)
    assert report.certificate.value == pytest.approx(dx.evaluate.adversary_error(report.mechanism, prior, "binary"))
    assert dx.evaluate.expected_loss(report.mechanism, prior, "distance") <= 0.8 + 1e-12
    assert report.mechanism.privacy is None


def test_budget_that_no_channel_meets() -> None:
    space = dx.line(5)
    prior = dx.Prior.uniform(space)
    problem = dx.Problem(space, epsilon=0.5, prior=prior, objective=dx.AdversaryError(0.1))
    with pytest.raises(dx.SpecError) as refused:
        dx.solve(problem)
    assert refused.value.field == "max_loss"
    told = [float(number) for number in re.findall(r"\d\.\d+", refused.value.wrong)]
    assert dx.solve(problem.but(objective=dx.AdversaryError(max(told)))).certificate.private
    assert dx.solve(problem.but(epsilon=None)).certificate.value == pytest.approx(0.1, abs=1e-8)


def test_the_least_budget_there_is() -> None:
    space = dx.line(5)
    problem = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space))
    least = dx.solve(problem).certificate.value
    report = dx.solve(problem.but(objective=dx.AdversaryError(least * (1 + 1e-9))))
    assert report.certificate.gap <= 1e-6


def test_budget_of_nothing() -> None:
    """Only the secret itself costs nothing, and then the adversary knows it."""
    space = dx.line(4)
    problem = dx.Problem(space, epsilon=None, prior=dx.Prior.uniform(space), objective=dx.AdversaryError(0.0))
    report = dx.solve(problem)
    assert report.certificate.value == 0.0
    assert np.array_equal(report.mechanism.matrix, np.eye(4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"delta": 1.0}, "delta: is 1; give a number from 0 to below 1"),
        ({"delta": "much"}, "delta: is 'much', which is not a number"),
        ({"pairs": "some"}, "pairs: is 'some'; choose one of all, adjacent"),
        ({"objective": "least"}, "objective: is 'least'; choose one of expected_loss, worst_loss"),
        ({"objective": "adversary_error"}, "objective: adversary_error needs a budget"),
        ({"epsilon": None}, "epsilon: is missing, which expected_loss needs"),
        ({"epsilon": None, "objective": "worst_loss"}, "epsilon: is missing, which worst_loss needs"),
        ({"prior": None}, "prior: is missing, which expected_loss needs"),
        (
            {"loss": [[0, np.inf], [np.inf, 0]], "objective": "worst_loss"},
            "loss: leaves no report to secret 0",
        ),
    ],
)
def test_what_does_not_fit_together(changes: dict[str, Any], message: str) -> None:
    space = dx.line(2)
    given = {"epsilon": 1.0, "prior": dx.Prior.from_weights(space, [1, 0]), **changes}
    with pytest.raises(dx.SpecError) as caught:
        dx.Problem(space, **given)
    assert message in str(caught.value)


@pytest.mark.parametrize("budget", [math.nan, math.inf, "all"])
def test_budgets_are_numbers(budget: Any) -> None:
    with pytest.raises(dx.SpecError, match="max_loss"):
        dx.AdversaryError(budget)


def test_delta_without_epsilon() -> None:
    space = dx.line(2)
    with pytest.raises(dx.SpecError, match="without an epsilon to relax"):
        dx.Problem(space, epsilon=None, prior=dx.Prior.uniform(space), objective=dx.AdversaryError(1), delta=0.1)


@pytest.mark.parametrize("changes", [{"delta": 0.1}, {"objective": dx.AdversaryError(1.0), "epsilon": None}])
def test_tight_refuses(changes: dict[str, Any]) -> None:
    space = dx.line(4)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary").but(**changes)
    with pytest.raises(dx.UnsupportedError, match="tight does not apply, as"):
        dx.solve(problem, method="tight")
    report = dx.solve(problem)
    assert report.certificate.gap <= 1e-6
    assert "does not apply, as" in report.refused["tight"]


def test_tight_is_not_called_optimal_for_the_worst_loss() -> None:
    space = dx.line(4)
    problem = dx.Problem(space, epsilon=1.0, prior=None, loss="binary", objective="worst_loss")
    report = dx.solve(problem, method="tight")
    assert report.claim == "valid"
    assert report.certificate.bound <= dx.solve(problem).certificate.value + 1e-9


@pytest.mark.parametrize(
    "changes",
    [{"objective": "worst_loss"}, {"delta": 0.02}, {"objective": dx.AdversaryError(1.4, "binary"), "epsilon": None}],
)
def test_results_are_read_back_and_proven_again(changes: dict[str, Any], tmp_path: Any) -> None:
    space = dx.grid((2, 3))
    problem = dx.Problem(space, epsilon=0.6, prior=dx.Prior.uniform(space)).but(**changes)
    report = dx.solve(problem)
    again = dx.load(report.save(tmp_path / "result"))
    assert (again.certificate.value, again.certificate.bound) == (report.certificate.value, report.certificate.bound)
    assert again.problem.objective.name == problem.objective.name
    assert (again.problem.delta, again.problem.epsilon) == (problem.delta, problem.epsilon)
    assert "Infinity" not in (tmp_path / "result" / "claims.json").read_text()


def test_duals_of_another_objective_prove_nothing() -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    worst = dx.solve(problem.but(objective="worst_loss"))
    from dxopt.proofs.bounds import proven_bound

    with pytest.raises(dx.CertificateError, match="none of a problem of expected_loss"):
        proven_bound(problem, worst.dual)
