"""Solves that begin with the prices of an earlier answer: as exact as others, and shorter where answers are alike."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dxopt as dx
from tests.judges.oracle import optimum
from tests.material.by_columns import by_columns, spaces
from tests.material.checks import assert_proven, weights


def rounds(problem: dx.Problem, start: dx.Report | None, tolerance: float = 1e-6) -> int:
    lines: list[str] = []
    report = by_columns(problem, start=start, progress=lines.append, tolerance=tolerance)
    assert_proven(report)
    assert report.certificate.gap <= tolerance
    return sum("round" in line for line in lines)


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 7), factor=st.floats(0.3, 3.0))
def test_the_optimum_does_not_depend_on_the_start(seed: int, size: int, factor: float) -> None:
    """The earlier answer is for another ε, prior and loss; equal points, islands and one-way ways included."""
    rng = np.random.default_rng(seed)
    for space in spaces(rng, size):
        n = len(space)
        one, other = (
            dx.Problem(
                space,
                epsilon=0.7 * change,
                prior=dx.Prior.from_weights(space, rng.random(n) * (rng.random(n) < 0.8) + 0.01),
                loss=rng.random((n, 4)),
            )
            for change in (1.0, factor)
        )
        report = by_columns(other, tolerance=1e-7, start=by_columns(one))
        best = optimum(space.distances, other.epsilon, other.prior.probabilities, other.losses)
        assert_proven(report)
        assert report.certificate.value == pytest.approx(best, abs=1e-7)
        assert report.certificate.bound == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_fewer_rounds_from_prices_of_the_same_problem(metric: str) -> None:
    space = dx.grid((8, 8), metric=metric)
    problem = dx.Problem(space, epsilon=0.5, prior=weights(space), loss="distance")
    assert rounds(problem, by_columns(problem)) < 0.8 * rounds(problem, None)


def clustered(epsilon: float) -> dx.Problem:
    rng = np.random.default_rng(0)
    centres = 4 * rng.random((5, 2))
    space = dx.MetricSpace.from_points(centres[rng.integers(0, 5, 80)] + 0.3 * rng.normal(size=(80, 2)))
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.from_weights(space, rng.pareto(1.2, 80) + 0.05))


@cache
def answer_at(epsilon: float) -> dx.Report:
    return by_columns(clustered(epsilon), tolerance=1e-5)


@pytest.mark.parametrize(
    ("factor", "share"),
    [(1.1, 0.9), pytest.param(1.02, 0.9, marks=pytest.mark.full), pytest.param(0.33, 1.2, marks=pytest.mark.full)],
)
def test_answers_at_another_level_save_rounds_where_it_is_close_and_cost_few_elsewhere(
    factor: float, share: float
) -> None:
    """Clustered places of heavy-tailed weights, where prices of another level prove little."""
    problem = clustered(3.0 * factor)
    assert rounds(problem, answer_at(3.0), 1e-5) <= share * rounds(problem, None, 1e-5)


def test_the_first_bound_is_the_earlier_one() -> None:
    """Also under symmetry, where prices belong to classes of points."""
    space = dx.grid((5, 5), metric="euclidean")
    problem = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space), loss="distance")
    lines: list[str] = []
    report = by_columns(problem, start=by_columns(problem), progress=lines.append)
    first = next(line for line in lines if "bound" in line)
    assert float(first.split("bound ")[1].split(",")[0]) == pytest.approx(report.certificate.bound, rel=1e-5)


def test_other_answers_start_nothing() -> None:
    """A mechanism without prices of its rows, and prices of other classes of points, are left aside."""
    space = dx.MetricSpace.from_points([[0.0], [0.0], [1.0], [3.0]])
    apart = dx.MetricSpace.from_points([[0.0], [2.0], [1.0], [3.0]])
    problem, other = (dx.Problem(one, epsilon=1.0, prior=weights(one), loss=np.eye(4)) for one in (space, apart))
    for first, second in ((problem, other), (other, problem)):
        cold = by_columns(second).certificate.value
        for start in (by_columns(first), dx.solve(first, method="exponential")):
            assert by_columns(second, start=start).certificate.value == pytest.approx(cold, rel=1e-6)


def test_another_shape_is_refused() -> None:
    small, large = (
        dx.Problem(dx.grid((n, n)), epsilon=1.0, prior=weights(dx.grid((n, n))), loss="distance") for n in (2, 3)
    )
    start = dx.solve(small)
    with pytest.raises(dx.SpecError, match=r"^start: "):
        dx.solve(large, start=start)
