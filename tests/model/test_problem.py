"""Problems: what is refused at construction, and what is computed from them."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx


@pytest.fixture
def line() -> dx.MetricSpace:
    return dx.line(3)


@pytest.fixture
def prior(line: dx.MetricSpace) -> dx.Prior:
    return dx.Prior.from_weights(line, [1, 0, 3])


def test_what_it_holds(line: dx.MetricSpace, prior: dx.Prior) -> None:
    problem = dx.Problem(line, epsilon=2, prior=prior, loss=[[1, 2], [3, 4], [5, -6]], name="mine")
    assert problem.shape == (3, 2)
    assert problem.costs.tolist() == [[0.25, 0.5], [0, 0], [3.75, -4.5]]
    assert problem.budgets[0].tolist() == [0, 2, 4]
    assert "mine" in repr(problem)
    for array in (problem.costs, problem.budgets, problem.losses):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1.0


def test_loss_is_by_distance_by_default(line: dx.MetricSpace, prior: dx.Prior) -> None:
    problem = dx.Problem(line, epsilon=5.0, prior=prior)
    assert np.array_equal(problem.losses, line.distances)


@pytest.mark.parametrize("epsilon", [0, -1.0, np.nan, np.inf, "much", None])
def test_bad_levels(line: dx.MetricSpace, prior: dx.Prior, epsilon: object) -> None:
    with pytest.raises(dx.SpecError, match="epsilon"):
        dx.Problem(line, epsilon=epsilon, prior=prior)  # pyright: ignore[reportArgumentType]


def test_sizes_must_agree(line: dx.MetricSpace, prior: dx.Prior) -> None:
    with pytest.raises(dx.SpecError, match="prior"):
        dx.Problem(dx.line(4), epsilon=1.0, prior=prior)
    other = dx.Loss.of("distance", dx.line(4))
    with pytest.raises(dx.SpecError, match="loss"):
        dx.Problem(line, epsilon=1.0, prior=prior, loss=other)


def test_reports_are_those_of_a_given_loss(line: dx.MetricSpace, prior: dx.Prior) -> None:
    loss = dx.Loss.of("distance", line)
    assert dx.Problem(line, epsilon=1.0, prior=prior, loss=loss, reports=dx.Reports.of(line)).reports is loss.reports
    for others in (dx.Reports(["a", "b"]), dx.Reports.at([[0.5], [1.5], [2.5]], labels=line.labels)):
        with pytest.raises(dx.SpecError, match="others than those of the loss") as caught:
            dx.Problem(line, epsilon=1.0, prior=prior, loss=loss, reports=others)
        assert caught.value.field == "reports"


def test_infinite_losses(line: dx.MetricSpace, prior: dx.Prior) -> None:
    fine = np.array([[0, 1.0], [np.inf, 3.0], [1, 0]])  # the prior of secret 1 is 0
    problem = dx.Problem(line, epsilon=1.0, prior=prior, loss=fine)
    assert problem.impossible is not None and problem.impossible[:, 0].all()
    assert dx.solve(problem).mechanism.matrix.tolist() == [[0, 1]] * 3
    fine[2, 1] = np.inf
    with pytest.raises(dx.SpecError) as caught:
        dx.Problem(line, epsilon=1.0, prior=prior, loss=fine)
    assert caught.value.field == "loss"


def test_infinite_distances_as_loss(prior: dx.Prior) -> None:
    space = dx.MetricSpace.from_distances([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    found = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))).mechanism.matrix
    assert (found[:2, 2] == 0).all() and found[2].tolist() == [0, 0, 1]
    assert dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary").shape == (3, 3)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"method": "magic"}, "method"),
        ({"solver": "abacus"}, "solver"),
        ({"solver": "gurobi_not_here"}, "solver"),
        ({"spanner": 0.5}, "spanner"),
        ({"spanner": np.nan}, "spanner"),
        ({"spanner": 1.5, "method": "tight"}, "spanner"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": 1.5}, "tolerance"),
        ({"time_limit": 0.0}, "time_limit"),
        ({"time_limit": np.nan}, "time_limit"),
    ],
)
def test_bad_options(line: dx.MetricSpace, prior: dx.Prior, options: dict, field: str) -> None:
    with pytest.raises(dx.SpecError) as caught:
        dx.solve(dx.Problem(line, epsilon=1.0, prior=prior), **options)
    assert caught.value.field == field


def test_progress_is_told(line: dx.MetricSpace, prior: dx.Prior) -> None:
    lines: list[str] = []
    dx.solve(dx.Problem(line, epsilon=1.0, prior=prior), solver="clarabel", progress=lines.append)
    assert any("linear program" in line for line in lines)
    assert lines[-2] == "proving privacy"
    assert lines[-1].startswith("proven: ")
