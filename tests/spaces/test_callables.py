"""Metrics that are functions: called for every pair, checked as matrices are, and passed what was given."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dxopt as dx

POINTS = np.random.default_rng(5).normal(size=(12, 2))


def test_distances_are_those_of_the_function() -> None:
    space = dx.MetricSpace.from_points(POINTS, math.dist)
    known = dx.MetricSpace.from_points(POINTS, "euclidean")
    assert np.allclose(space.distances, known.distances, rtol=1e-15)
    assert space.symmetric
    assert space.metric is not None
    assert space.metric.name == "callable"
    assert np.array_equal(space.block([1, 2], [3]), space.distances[1:3, 3:4])
    one = dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform"))
    assert one.certificate.value == pytest.approx(
        dx.solve(dx.Problem(known, epsilon=1.0, prior="uniform")).certificate.value, rel=2e-6
    )


def test_it_may_be_one_sided_and_infinite() -> None:
    space = dx.MetricSpace.from_points([0, 1, 2], lambda a, b: b - a if b >= a else math.inf)
    assert space.distances.tolist() == [[0, 1, 2], [math.inf, 0, 1], [math.inf, math.inf, 0]]
    assert not space.symmetric


def test_what_it_is_called_with() -> None:
    seen: list[object] = []

    def same(one: object, other: object) -> float:
        seen.append(one)
        return 0.0

    dx.MetricSpace.from_points([1, 2], same)
    assert all(type(one) is float for one in seen)
    seen.clear()
    dx.MetricSpace.from_points([[1], [2]], same)
    assert all(isinstance(one, np.ndarray) for one in seen)
    words = dx.MetricSpace.from_points(["ab", "abc"], lambda one, other: abs(len(one) - len(other)))
    assert words.distances.tolist() == [[0, 1], [1, 0]]


def test_reports_elsewhere_and_saving(tmp_path: object) -> None:
    space = dx.MetricSpace.from_points(POINTS, math.dist)
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform", reports=dx.Reports.at([[0.0, 0], [1, 1]])))
    assert report.certificate.private
    report.save(f"{tmp_path}/out")
    assert np.array_equal(dx.load(f"{tmp_path}/out").problem.space.distances, space.distances)


@pytest.mark.parametrize(
    "metric",
    [
        lambda a, b: -1.0 if a != b else 0.0,
        lambda a, b: 1.0,
        lambda a, b: math.nan if a != b else 0.0,
        lambda a, b: "far",
        lambda a: a,
        lambda a, b: (a - b) ** 2,
    ],
)
def test_what_it_returns_is_checked(metric: object) -> None:
    with pytest.raises(dx.SpecError, match=r"^metric: "):
        dx.MetricSpace.from_points([0, 1, 2], metric)  # pyright: ignore[reportArgumentType]


def test_rounding_breaks_no_triangle() -> None:
    points = np.linspace(0, 1, 40)
    space = dx.MetricSpace.from_points(points, lambda a, b: abs(a / 3 - b / 3) * 3)
    assert len(space) == 40


@pytest.mark.parametrize("elsewhere", [math.nan, -5.0])
def test_distances_to_other_points_are_checked_as_well(elsewhere: float) -> None:
    space = dx.MetricSpace.from_points(
        [0, 1, 2], lambda one, other: abs(one - other) if other in (0, 1, 2) else elsewhere
    )
    with pytest.raises(dx.SpecError, match=r"^metric: "):
        dx.Loss.of("distance", space, dx.Reports.at([[1.0], [0.5]]))
