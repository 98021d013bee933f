"""Every metric by values worked out by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.metrics import (
    EARTH_RADIUS_KM,
    METRICS,
    METRICS_ON_EARTH,
    Haversine,
    NormalisedManhattan,
    OverTraces,
)

CORNERS = [[0.0, 0.0], [3.0, 4.0], [-1.0, 1.0]]

BY_HAND = {
    "euclidean": [[0, 5, math.sqrt(2)], [5, 0, 5], [math.sqrt(2), 5, 0]],
    "manhattan": [[0, 7, 2], [7, 0, 7], [2, 7, 0]],
    "normalised_manhattan": [[0, 1.75, 0.5], [1.75, 0, 1.75], [0.5, 1.75, 0]],
    "chebyshev": [[0, 4, 1], [4, 0, 4], [1, 4, 0]],
    "hamming": [[0, 2, 2], [2, 0, 2], [2, 2, 0]],
    "discrete": [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    space = dx.MetricSpace.from_points(CORNERS, name)
    assert space.distances == pytest.approx(np.array(BY_HAND[name], dtype=float))
    assert space.symmetric
    assert space.metric is not None
    assert space.metric.name == name


def test_numerical_distance() -> None:
    """CABP13 §2: on the reals d_1, d_2 and d_∞ are all |x - x'|."""
    numbers = np.random.default_rng(2).uniform(-9, 9, 12)
    apart = np.abs(np.subtract.outer(numbers, numbers))
    for name in ("manhattan", "euclidean", "chebyshev"):
        assert dx.MetricSpace.from_points(numbers[:, None], name).distances == pytest.approx(apart)
    steps = 0.5 * np.abs(np.subtract.outer(range(5), range(5)))
    assert dx.line(5, step=0.5).distances == pytest.approx(steps)
    assert dx.grid((5, 1), metric="manhattan").distances == pytest.approx(2 * steps)


def test_every_registered_metric_is_tested() -> None:
    assert set(METRICS) == {*BY_HAND, *METRICS_ON_EARTH}


@pytest.mark.parametrize("name", [*BY_HAND, *METRICS_ON_EARTH])
def test_is_a_metric_on_random_points(name: str) -> None:
    if name == "geodesic":
        pytest.importorskip("pyproj")
    points = np.random.default_rng(0).uniform(-80, 80, (12, 2)).round(1)
    distances = dx.MetricSpace.from_points(points, name).distances
    assert (np.diagonal(distances) == 0).all()
    assert np.array_equal(distances, distances.T)
    detours = distances[:, :, None] + distances[None, :, :]
    assert (distances[:, None, :] <= detours * (1 + 1e-12)).all()


def test_words_have_hamming_and_discrete_distance() -> None:
    points = [["a", "x"], ["a", "y"], ["b", "y"]]
    assert dx.MetricSpace.from_points(points, "hamming").distances.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert dx.MetricSpace.from_points(points, "discrete").distances.tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    with pytest.raises(dx.SpecError, match="numbers"):
        dx.MetricSpace.from_points(points, "euclidean")


def test_euclidean_neither_overflows_nor_underflows() -> None:
    for scale in (1e-200, 1e200):
        space = dx.MetricSpace.from_points(np.array(CORNERS) * scale)
        assert space.distances[0, 1] == pytest.approx(5 * scale)


def test_haversine() -> None:
    degree = math.pi * EARTH_RADIUS_KM / 180
    points = [[0, 0], [0, 90], [90, 0], [0, 180], [1, 0], [0, 359]]
    distances = dx.MetricSpace.from_points(points, "haversine").distances
    assert distances[0] == pytest.approx(np.array([0, 90, 90, 180, 1, 1]) * degree)
    paris, london = (48.8566, 2.3522), (51.5074, -0.1278)
    between = dx.MetricSpace.from_points([paris, london], "haversine").distances[0, 1]
    assert between == pytest.approx(343.56, abs=0.1)
    metres = dx.MetricSpace.from_points([paris, london], Haversine("m")).distances[0, 1]
    miles = dx.MetricSpace.from_points([paris, london], Haversine("mi")).distances[0, 1]
    assert metres == pytest.approx(1000 * between)
    assert miles * 1.609344 == pytest.approx(between)
    assert dx.MetricSpace.from_points([[10, 20], [10, 20]], "haversine").distances[0, 1] == 0


@pytest.mark.parametrize("points", [[[91, 0], [0, 0]], [[0, 361], [0, 0]], [[0, 0, 0]], [[np.nan, 0]]])
def test_haversine_bad_points(points: list[list[float]]) -> None:
    with pytest.raises(dx.SpecError, match="points"):
        dx.MetricSpace.from_points(points, "haversine")


def test_haversine_bad_unit() -> None:
    with pytest.raises(dx.SpecError, match="unit"):
        dx.MetricSpace.from_points([[0, 0]], Haversine("furlong"))


def test_normalised_manhattan_with_a_given_diameter() -> None:
    space = dx.MetricSpace.from_points(CORNERS, NormalisedManhattan(7.0))
    assert space.distances[0] == pytest.approx([0, 1, 2 / 7])
    for diameter in (0.0, -1.0, math.inf):
        with pytest.raises(dx.SpecError, match="diameter"):
            dx.MetricSpace.from_points(CORNERS, NormalisedManhattan(diameter))
    with pytest.raises(dx.SpecError, match="diameter"):
        dx.MetricSpace.from_points([[1.0], [1.0]], "normalised_manhattan")


def test_traces() -> None:
    here, there = [0.0, 0.0], [3.0, 4.0]
    traces = [here + here, here + there, there + there]
    space = dx.MetricSpace.from_points(traces, OverTraces(2))
    assert space.distances == pytest.approx(np.array([[0, 5, 5], [5, 0, 5], [5, 5, 0]]))
    with pytest.raises(dx.SpecError, match="length"):
        dx.MetricSpace.from_points(traces, OverTraces(3))
    # of drawn traces the largest distance of places at one time, not their mean or sum
    drawn = np.random.default_rng(1).uniform(-5, 5, (7, 3, 2))
    found = dx.MetricSpace.from_points(drawn.reshape(7, 6), OverTraces(3)).distances
    for one, other in itertools.product(range(7), repeat=2):
        steps = [math.dist(a, b) for a, b in zip(drawn[one], drawn[other], strict=True)]
        assert found[one, other] == pytest.approx(max(steps))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_points_that_are_nowhere(value: float) -> None:
    with pytest.raises(dx.SpecError, match="point 1"):
        dx.MetricSpace.from_points([[0.0], [value]])


def test_unknown_metric() -> None:
    with pytest.raises(dx.SpecError, match="euclidean"):
        dx.MetricSpace.from_points(CORNERS, "cosine")
