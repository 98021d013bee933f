"""Other objectives and δ at their limits: δ below what solvers can tell from 0, budgets that a mechanism exceeds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.proofs.repair import expected_above
from dxopt.verify import Outcome, verify


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("delta", [5e-324, 1e-30, 2.0**-64, 1e-16, 1e-13])
@pytest.mark.parametrize(
    ("epsilon", "weights"), [(1.46, [7, 3]), (4.38, [2, 4, 5]), (0.13, [8, 3, 5, 6, 3])], ids=["2", "3", "5"]
)
def test_a_tiny_delta_costs_nothing(
    epsilon: float, weights: list[int], delta: float, pairs: str, tmp_path: Path
) -> None:
    space = dx.line(len(weights))
    problem = dx.Problem(
        space, epsilon=epsilon, prior=dx.Prior.from_weights(space, weights), delta=delta, pairs=pairs
    )
    report = dx.solve(problem)
    assert report.status == "optimal"
    assert report.certificate.private
    assert report.certificate.delta <= delta
    without = dx.solve(problem.but(delta=0.0)).certificate
    assert report.certificate.value == pytest.approx(without.value, rel=1e-6)
    assert verify(report.save(tmp_path / "out")).outcome is Outcome.HOLDS


def test_a_mechanism_above_the_budget_is_refused_with_its_loss() -> None:
    space = dx.line(4)
    objective = dx.AdversaryError(0.5, "distance")
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="distance", objective=objective)
    with pytest.raises(dx.UnsupportedError, match=r"^method: "):
        dx.solve(problem, method="geometric")


def test_a_loss_that_underflows_is_not_within_a_budget_of_nothing() -> None:
    space = dx.MetricSpace.from_points([[0.0], [1.0]])
    prior = dx.Prior.from_weights(space, [1.0, 5e-324])
    objective = dx.AdversaryError(0.0, "binary")
    problem = dx.Problem(space, epsilon=None, prior=prior, loss="binary", objective=objective)
    assert expected_above(problem, np.array([[1.0, 0.0], [1e-16, 1.0]])) > 0
    assert np.array_equal(dx.solve(problem).mechanism.matrix, np.eye(2))


@pytest.mark.parametrize("delta", [1e-18, 1e-16, 1e-14])
@pytest.mark.parametrize("epsilon", [1e-6, 7e-6, 1e-4])
def test_budgets_next_to_the_roundings_are_repaired_with_delta(epsilon: float, delta: float) -> None:
    """The scale of the repair was negative."""
    space = dx.MetricSpace.from_distances([[0.0, 5e-10], [5.5e-10, 0.0]])
    problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="binary", delta=delta)
    for method in ("laplace", "auto"):
        report = dx.solve(problem, method=method)
        assert report.certificate.private
        assert report.certificate.delta <= delta
        assert report.certificate.value == pytest.approx(0.5, abs=1e-6)


def test_a_classic_whose_roundings_are_above_delta_is_repaired_without_it() -> None:
    space = dx.MetricSpace.from_points([[0.9571542184801922], [0.9571542184801938]])
    problem = dx.Problem(
        space,
        epsilon=2.481237264011647,
        prior=dx.Prior.from_weights(space, [1.0, 2.0]),
        loss=[[4.0, 6.0], [3.0, 2.0]],
        delta=2.0**-64,
    )
    report = dx.solve(problem, method="laplace")
    assert report.certificate.delta <= 2.0**-64
