"""Programs of two and three points, solved by hand."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from tests.material.checks import assert_proven

EPSILONS = [0.1, float(np.log(2)), float(np.log(4)), 3.0]
SOLVERS = ["clarabel", "highs"]
CLOSE = 1e-8


def value(problem: dx.Problem, solver: str) -> float:
    report = dx.solve(problem, method="optimal", solver=solver)
    assert_proven(report)
    assert report.status == "optimal"
    return report.certificate.value


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_two_points_randomised_response(epsilon: float, solver: str) -> None:
    space = dx.line(2)
    for loss in ("binary", "distance", "squared"):
        problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss=loss)
        assert value(problem, solver) == pytest.approx(1 / (1 + np.exp(epsilon)), abs=CLOSE)


def test_two_points_at_ln_2_is_a_third() -> None:
    space = dx.line(2)
    problem = dx.Problem(space, epsilon=np.log(2), prior=dx.Prior.uniform(space), loss="binary")
    assert value(problem, "clarabel") == pytest.approx(1 / 3, abs=CLOSE)
    assert dx.solve(problem).mechanism.matrix == pytest.approx(np.array([[2, 1], [1, 2]]) / 3, abs=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("prior", [0.5, 0.6, 0.7, 0.9])
def test_two_points_with_a_prior(prior: float, solver: str) -> None:
    """Randomised response until the prior is so lopsided that the constant report is as good."""
    space = dx.line(2)
    problem = dx.Problem(
        space, epsilon=np.log(2), prior=dx.Prior.from_weights(space, [prior, 1 - prior]), loss="binary"
    )
    assert value(problem, solver) == pytest.approx(min(1 / 3, 1 - prior), abs=CLOSE)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_discrete_metric(size: int, epsilon: float, solver: str) -> None:
    space = dx.MetricSpace.from_points(range(size), "discrete")
    problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="binary")
    assert value(problem, solver) == pytest.approx((size - 1) / (size - 1 + np.exp(epsilon)), abs=CLOSE)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_three_points_on_a_line(epsilon: float, solver: str) -> None:
    """Binary loss: the truncated geometric mechanism. Diagonal 1/(1+p), (1-p)/(1+p), 1/(1+p) with p = e^-ε."""
    space = dx.line(3)
    ratio = np.exp(-epsilon)
    problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="binary")
    assert value(problem, solver) == pytest.approx(1 - (3 - ratio) / (3 * (1 + ratio)), abs=CLOSE)


@pytest.mark.parametrize("solver", SOLVERS)
def test_no_constraint_and_no_freedom(solver: str) -> None:
    apart = dx.MetricSpace.from_distances(np.where(np.eye(3) == 1, 0.0, np.inf))
    alike = dx.MetricSpace.from_distances(np.zeros((3, 3)))
    loss = np.array([[1.0, 2.0], [4.0, 3.0], [6.0, 5.0]])
    for space, expected in ((apart, (1 + 3 + 5) / 3), (alike, 10 / 3)):
        problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=loss)
        assert value(problem, solver) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_sided_constraint(solver: str) -> None:
    """K[0, z] ≤ e K[1, z] only: the first secret is told for sure, which leaves 1/e of it with the second."""
    space = dx.MetricSpace.from_distances([[0.0, 1.0], [np.inf, 0.0]])
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary")
    report = dx.solve(problem, method="optimal", solver=solver)
    assert_proven(report)
    assert report.certificate.value == pytest.approx(0.5 / np.e, abs=CLOSE)
    assert report.mechanism.matrix == pytest.approx(np.array([[1, 0], [1 / np.e, 1 - 1 / np.e]]), abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_third_report_in_the_middle(solver: str) -> None:
    """Losses (0, 1, h) against (1, 0, h): the safe report h wins below the loss of randomised response, 1/4."""
    space = dx.line(2)
    for middle, expected in ((0.2, 0.2), (0.3, 0.25)):
        loss = np.array([[0.0, 1.0, middle], [1.0, 0.0, middle]])
        problem = dx.Problem(space, epsilon=np.log(3), prior=dx.Prior.uniform(space), loss=loss)
        assert value(problem, solver) == pytest.approx(expected, abs=CLOSE)


def test_one_point() -> None:
    space = dx.line(1)
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=[[3.0, -2.0, 5.0]]))
    assert_proven(report)
    assert report.certificate.value == pytest.approx(-2.0, abs=1e-6)
