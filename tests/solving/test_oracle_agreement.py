"""Every kind of small problem, by every solver, against a dense linear program that shares no code."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.solvers import SOLVERS, require_solver
from tests.judges.oracle import optimum
from tests.material.checks import assert_proven
from tests.material.few import few
from tests.material.instances import KINDS, problem_of

CLOSE = 1e-7


@cache
def known(kind: str, seed: int) -> tuple[dx.Problem, float]:
    problem = problem_of(kind, seed)
    value = optimum(problem.space.distances, problem.epsilon, problem.prior.probabilities, np.array(problem.losses))
    return problem, value


def installed(name: str) -> bool:
    try:
        require_solver(name)
    except dx.SpecError:
        return False
    return name in SOLVERS


@pytest.mark.parametrize("solver", ["clarabel", "columns", "highs"])
@pytest.mark.parametrize("seed", few(range(12)))
@pytest.mark.parametrize("kind", KINDS)
def test_optimum(kind: str, seed: int, solver: str) -> None:
    problem, value = known(kind, seed)
    report = dx.solve(problem, method="optimal", solver=solver, tolerance=CLOSE)
    assert_proven(report)
    proof = report.certificate
    assert proof.value == pytest.approx(value, abs=CLOSE)
    assert proof.bound == pytest.approx(value, abs=CLOSE)
    assert value - 1e-9 <= proof.value
    assert proof.bound <= value + 1e-9


@pytest.mark.parametrize("seed", few(range(4)))
@pytest.mark.parametrize("kind", KINDS)
def test_automatic_choice(kind: str, seed: int) -> None:
    problem, value = known(kind, 4 * seed)  # binary loss
    report = dx.solve(problem, tolerance=CLOSE)
    assert_proven(report)
    assert report.certificate.value == pytest.approx(value, abs=CLOSE)


@pytest.mark.parametrize("solver", ["scs", "osqp"])
@pytest.mark.parametrize("kind", KINDS)
def test_rough_solvers_are_honest(kind: str, solver: str) -> None:
    if not installed(solver):
        pytest.skip(f"{solver} is not installed")
    for seed in range(3):
        problem, value = known(kind, seed)
        report = dx.solve(problem, method="optimal", solver=solver)
        assert_proven(report)
        assert report.certificate.value >= value - 1e-12 - 1e-9 * abs(value)
        assert report.certificate.bound <= value + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_cross_check_by_scipy(kind: str) -> None:
    if not installed("scipy"):
        pytest.skip("scipy is not reached through cvxpy")
    for seed in range(3):
        problem, value = known(kind, seed)
        report = dx.solve(problem, method="optimal", solver="scipy")
        assert_proven(report)
        assert report.certificate.value == pytest.approx(value, abs=CLOSE)
        assert report.certificate.bound == pytest.approx(value, abs=CLOSE)


@pytest.mark.parametrize("seed", few(range(6)))
def test_reports_at_other_places(seed: int) -> None:
    generator = np.random.default_rng(seed)
    space = dx.MetricSpace.from_points(generator.random((5, 2)) * 2)
    reports = dx.Reports.at(generator.random((3 + seed, 2)) * 2)
    prior = dx.Prior.from_weights(space, generator.random(5))
    problem = dx.Problem(space, epsilon=1.5, prior=prior, loss="squared", reports=reports)
    assert space.points is not None
    assert reports.points is not None
    apart = space.points[:, None, :] - reports.points[None, :, :]
    assert problem.losses == pytest.approx((apart**2).sum(axis=2))
    value = optimum(space.distances, 1.5, prior.probabilities, np.array(problem.losses))
    report = dx.solve(problem, tolerance=CLOSE)
    assert_proven(report)
    assert report.certificate.value == pytest.approx(value, abs=CLOSE)
