"""Multipliers of any quality prove no more than what is true, whatever the objective."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.model.moment_sets import Fitting
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.duals import AdversaryDual, Dual, LineDual, ProductDual, WorstDual
from tests.material.few import few
from tests.material.instances import KINDS, problem_of
from tests.material.optima import optimum


def posed(kind: str, seed: int) -> list[dx.Problem]:
    """A random problem with each objective, and with δ for all pairs and for adjacent ones."""
    plain = problem_of(kind, seed)
    least = dx.solve(plain).certificate.value
    error = dx.AdversaryError(least + 0.2, "binary")
    relaxed = [plain.but(delta=0.05, pairs=pairs) for pairs in ("all", "adjacent")]
    worst, guessed = plain.but(objective="worst_loss"), plain.but(objective=error)
    return [plain, *relaxed, worst, worst.but(delta=0.1, pairs="adjacent"), guessed, guessed.but(epsilon=None)]


def noise(problem: dx.Problem, rng: np.random.Generator, size: float) -> Dual:
    """Multipliers on pairs of all kinds, bound or not, some of them twice."""
    n, m = problem.shape
    report = rng.integers(0, m, 40)
    first, second = rng.integers(0, n, 40), rng.integers(0, n, 40)
    apart = first != second
    multipliers = (
        size * rng.exponential(size=40) * rng.choice([1.0, -1.0, np.nan, np.inf], 40, p=[0.9, 0.05, 0.03, 0.02])
    )
    return Dual(rng.random(n), report[apart], first[apart], second[apart], multipliers[apart])


@pytest.mark.parametrize("seed", few(range(4)))
@pytest.mark.parametrize("kind", KINDS)
def test_random_multipliers(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for problem in posed(kind, seed):
        value, (n, m) = optimum(problem), problem.shape
        for _ in range(20):
            inner = noise(problem, rng, 0.3 * rng.random() ** 3)
            match problem.objective.name:
                case "worst_loss":
                    dual = WorstDual(rng.random(n), inner)
                case "adversary_error":
                    dual = AdversaryDual(rng.random((m, n)), rng.random(), inner)
                case _:
                    dual = inner
            bound, _ = proven_bound(problem, dual)
            assert problem.objective.sign * (value - bound) >= -1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_no_more_than_what_was_found(kind: str, seed: int) -> None:
    """The multipliers of an optimum, some of them made larger: the bound gets worse, and still holds."""
    rng = np.random.default_rng(seed)
    for problem in posed(kind, seed):
        value, dual = optimum(problem), dx.solve(problem, solver="clarabel").dual
        inner = dual.inner if isinstance(dual, WorstDual | AdversaryDual) else dual
        if not isinstance(inner, Dual) or dual is None:
            continue
        for _ in range(5):
            factors = 1 + 0.2 * rng.random(len(inner.multiplier))
            other = Dual(inner.prices, inner.report, inner.first, inner.second, inner.multiplier * factors)
            match dual:
                case WorstDual():
                    changed = WorstDual(dual.weights * 3.0, other)
                case AdversaryDual():
                    changed = AdversaryDual(dual.guesses * 2.0, dual.price, other)
                case _:
                    changed = other
            bound, _ = proven_bound(problem, changed)
            assert problem.objective.sign * (value - bound) >= -1e-9


def test_pairs_that_are_not_bound_prove_nothing() -> None:
    space = dx.line(4)
    every = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), delta=0.1)
    adjacent = every.but(pairs="adjacent")
    dual = dx.solve(every).dual
    assert optimum(adjacent) < optimum(every) - 0.01
    assert proven_bound(adjacent, dual)[0] <= optimum(adjacent) + 1e-9


def test_guesses_and_weights_that_do_not_fit() -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    worst, error = problem.but(objective="worst_loss"), problem.but(objective=dx.AdversaryError(1.0))
    for posed_as, dual in (
        (worst, WorstDual(np.zeros(3))),
        (worst, WorstDual(np.ones(2))),
        (error, AdversaryDual(np.ones((2, 3)), 1.0)),
        (error, AdversaryDual(np.zeros((3, 3)), 1.0)),
        (error, WorstDual(np.ones(3))),
    ):
        with pytest.raises(dx.CertificateError):
            proven_bound(posed_as, dual)


def test_factors_have_a_dual_each() -> None:
    space = dx.product(dx.line(3), dx.MetricSpace.from_distances(1 - np.eye(3)))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary").but(loss="distance")
    inner = LineDual(np.full(3, 0.1), np.arange(3))
    assert np.isfinite(proven_bound(problem, ProductDual((inner, None)))[0])
    for factors in ((), (inner,), (inner, None, None)):
        with pytest.raises(dx.CertificateError, match=f"{len(factors)} duals do not fit 2 factors"):
            proven_bound(problem, ProductDual(factors))


def test_prices_that_overflow_leave_what_each_secret_pays() -> None:
    """What e^{εd} moves on is without end, so that the prices prove nothing."""
    space = dx.line(2, step=700.0)
    problem = dx.Problem(space, epsilon=1.0, prior=[0.5, 0.5], loss=np.array([[1.0, 3.0], [2.0, 1.5]]))
    dual = LineDual(np.array([1e10, 0.0]), np.array([1, 1]))
    bound, how = proven_bound(problem, dual)
    assert bound == pytest.approx(0.5 * 1 + 0.5 * 1.5)
    assert how == "no dual needed"


@pytest.mark.parametrize("within", [1e-9, 1e-16, 1e-17, 1e-30])
def test_priors_that_fit_totals_may_be_short_of_1(within: float) -> None:
    """Without a dual each secret pays the least of all losses, times a sum of beliefs from 1 - within on."""
    space = dx.line(3)
    around = np.array([0.25, 0.25, 0.5])
    among = Fitting(np.array([[1.0, 1.0, 0.0]]), np.array([0.5]), np.array([0.5]), within, space, around=around)
    problem = dx.Problem(space, epsilon=1.0, prior=among, loss=np.full((3, 2), 1.0))
    found = Fraction(proven_bound(problem, None)[0])
    assert 1 - 3 * Fraction(within) - Fraction(1, 10**14) <= found <= 1 - Fraction(within)
