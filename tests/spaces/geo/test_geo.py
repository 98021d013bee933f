"""Locations: distances, what is nearest, and check-ins, against independent computations."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces import geo
from dxopt.spaces.archive import pack, unpack
from dxopt.spaces.positions import unrolled
from tests.material.places import around, great_circle, network

# points


def test_level() -> None:
    assert geo.level(math.log(4), 0.2) == pytest.approx(math.log(4) / 0.2, rel=1e-15)
    for level, radius, field in (
        (0, 1, "level"),
        (1, -1, "radius"),
        (1, math.inf, "radius"),
        (1e-300, 1e300, "radius"),
    ):
        with pytest.raises(dx.SpecError) as caught:
            geo.level(level, radius)
        assert caught.value.field == field


@pytest.mark.parametrize(("unit", "scale"), [("km", 1.0), ("m", 1000.0), ("mi", 1 / 1.609344)])
def test_points_have_great_circles(unit: str, scale: float) -> None:
    rng = np.random.default_rng(1)
    places = np.column_stack([rng.uniform(-90, 90, 12), rng.uniform(-180, 180, 12)])
    space = geo.points(places, labels=range(12), unit=unit)
    expected = [[scale * great_circle(a, b) for b in places] for a in places]
    assert space.distances == pytest.approx(np.array(expected), rel=1e-9, abs=1e-6)
    assert space.labels[3] == "3"
    assert geo.positions(space).degrees.tolist() == places.tolist()


@pytest.mark.parametrize("latitude", [0.0, 45.5, -60.0])
def test_a_local_plane_is_as_faithful_as_stated(latitude: float) -> None:
    places = around(np.random.default_rng(2), 40, (latitude, 10.0), 0.2)
    globe, plane = geo.points(places), geo.points(places, project=True)
    bound = math.tan(math.radians(abs(places[:, 0]).max())) * math.radians(np.ptp(places[:, 0])) / 2
    apart = ~np.eye(40, dtype=bool)
    off = np.abs(plane.distances[apart] / globe.distances[apart] - 1)
    assert off.max() <= bound + 1e-6
    assert latitude == 0 or off.max() > bound / 20
    assert plane.labels == globe.labels
    assert plane.metric == dx.MetricSpace.from_points([[0, 0]]).metric
    assert geo.positions(plane).degrees == pytest.approx(places, abs=1e-12)


def test_a_local_plane_crosses_the_antimeridian() -> None:
    places = [[-17.0, 179.9], [-17.0, -179.9]]
    plane = geo.points(places, project=True, unit="m")
    assert plane.distances[0, 1] == pytest.approx(1000 * great_circle(*places), rel=1e-4)
    east = plane.points
    assert east is not None and east[1, 0] > east[0, 0]
    assert plane.labels == geo.points(places).labels
    assert plane.labels[1] == "(-17, -179.9)"


@pytest.mark.parametrize(
    "places", [[[0, 0], [60, 0]], [[0, 0], [0, 90]], [[89.5, 0], [89.9, 0]], [[50, 0], [50, 179]]]
)
def test_no_plane_where_distances_would_be_wrong(places: Any) -> None:
    with pytest.raises(dx.SpecError, match="great circles"):
        geo.points(places, project=True)


def test_points_must_be_in_degrees() -> None:
    ragged = [[45.5, -73.6], [45.5]]
    for bad in ([[91, 0]], [[0, 0, 0]], [[math.nan, 0]], [["a", "b"]], [1.0, 2.0], ragged, np.zeros((0, 2))):
        for project in (False, True):
            with pytest.raises(dx.SpecError) as caught:
                geo.points(bad, project=project)
            assert caught.value.field == "points"
    with pytest.raises(dx.SpecError, match="unit"):
        geo.points([[0, 0]], unit="ell")
    with pytest.raises(dx.UnsupportedError, match="positions"):
        geo.positions(dx.grid((2, 2)))


# what is nearest


def test_nearest_on_the_globe_is_that_of_all_distances() -> None:
    rng = np.random.default_rng(5)
    everywhere = np.column_stack([rng.uniform(-90, 90, 60), rng.uniform(-180, 180, 60)])
    asked = np.column_stack([rng.uniform(-90, 90, 200), rng.uniform(-180, 180, 200)])
    space = geo.points(everywhere)
    apart = np.array([[great_circle(a, b) for b in everywhere] for a in asked])
    assert geo.nearest(space, asked).tolist() == apart.argmin(axis=1).tolist()
    near = geo.nearest(space, asked, within=800)
    assert near.tolist() == np.where(apart.min(axis=1) <= 800, apart.argmin(axis=1), -1).tolist()
    assert -1 in near and near.max() >= 0
    metres = geo.points(everywhere, unit="m")
    assert geo.nearest(metres, asked, within=800_000).tolist() == near.tolist()


def test_within_is_along_the_globe_and_equal_places_count_for_the_first() -> None:
    which = np.random.default_rng(10).integers(0, 3, 200)
    crowded = geo.points(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])[which])
    assert geo.nearest(crowded, [[1, 1], [1, 2], [1, 3]]).tolist() == [which.tolist().index(i) for i in range(3)]
    space = geo.points([[0, 0], [0, 0]])
    far = [[0, math.degrees(5000 / 6371.0088)]]
    assert [geo.nearest(space, far, within=most).tolist() for most in (4999, 5001, 1e9)] == [[-1], [0], [0]]


def test_longitudes_on_one_map() -> None:
    assert unrolled(np.array([-180.0, -179.0, 179.0, 181.0, 541.0]), 0.0).tolist() == [-180, -179, 179, -179, -179]
    assert unrolled(np.array([-179.0, 1.0]), 170.0).tolist() == [181, 1]


@pytest.mark.parametrize(("unit", "scale"), [("km", 1.0), ("m", 1000.0), ("mi", 1 / 1.609344)])
@pytest.mark.parametrize("project", [False, True])
def test_nearest_across_the_antimeridian(unit: str, scale: float, project: bool) -> None:
    rng = np.random.default_rng(12)
    places, asked = (around(rng, size, (-17.0, 179.9), 1.0) for size in (40, 120))
    for located in (places, asked):
        located[:, 1] -= np.where(located[:, 1] > 180, 360.0, 0.0)
    apart = scale * np.array([[great_circle(a, b) for b in places] for a in asked])
    within = 16 * scale
    expected = np.where(apart.min(axis=1) <= within, apart.argmin(axis=1), -1)
    assert np.count_nonzero(expected < 0) > 20 < np.count_nonzero(expected >= 0)
    space = geo.points(places, project=project, unit=unit)
    assert geo.nearest(space, asked, within=within).tolist() == expected.tolist()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev", "normalised_manhattan", "discrete"])
def test_nearest_in_coordinates(metric: str) -> None:
    rng = np.random.default_rng(6)
    points = rng.integers(0, 8, (40, 2)).astype(float)
    space = dx.MetricSpace.from_points(points, metric)
    asked = rng.integers(0, 16, (100, 2)) / 2
    apart = space.distances_to(asked)
    assert geo.nearest(space, asked).tolist() == apart.argmin(axis=0).tolist()  # the first of many ties
    some = geo.nearest(space, asked, within=0.5)
    assert some.tolist() == np.where(apart.min(axis=0) <= 0.5, apart.argmin(axis=0), -1).tolist()


def test_check_ins_count_for_the_nearest_location(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    places, seen, weights = around(rng, 15), around(rng, 400, spread=0.3), rng.random(400)
    for space in (geo.points(places), geo.points(places, project=True)):
        expected = np.zeros(15)
        for place, weight in zip(seen, weights, strict=True):
            expected[int(np.argmin([great_circle(place, other) for other in places]))] += weight
        prior = dx.Prior.from_check_ins(space, seen, weights)
        assert prior.probabilities == pytest.approx(expected / expected.sum(), abs=1e-12)
        assert prior.name == "check-ins"
    city = dx.Prior.from_check_ins(geo.roads(network(tmp_path)), [[45.5, -73.6], [45.512, -73.581], [45.51, -73.579]])
    assert city.probabilities == pytest.approx([1 / 3, 0, 2 / 3])


def test_check_ins_far_away_are_left_out_and_counted() -> None:
    space = geo.points([[45.5, -73.6], [45.6, -73.6]])
    prior = dx.Prior.from_check_ins(space, [[45.5, -73.6], [45.61, -73.6], [46, -73.6]], [1, 2, 9], within=2)
    assert prior.probabilities == pytest.approx([1 / 3, 2 / 3])
    assert prior.name == "check-ins (1 of 3 further than 2 left out)"


@pytest.mark.parametrize(
    ("places", "weights", "within", "field"),
    [
        ([[45.5, -73.6]], [-1], None, "weight"),
        ([[45.5, -73.6]], [1, 2], None, "weight"),
        ([[45.5, -73.6]], ["x"], None, "weight"),
        ([[45.5, -73.6]], [math.nan], None, "weight"),
        ([[45.5, -73.6]], [0], None, "weight"),
        (np.empty((0, 2)), None, None, "points"),
        ([[0, 0]], None, 5, "within"),
        ([[0, 0]], None, -5, "within"),
        ([[0, 0, 0]], None, None, "points"),
        ([[99, 0]], None, None, "points"),
        ([["x", 0]], None, None, "points"),
    ],
)
def test_bad_check_ins(places: Any, weights: Any, within: float | None, field: str) -> None:
    with pytest.raises(dx.SpecError) as caught:
        dx.Prior.from_check_ins(geo.points([[45.5, -73.6]]), places, weights, within=within)
    assert caught.value.field == field
    with pytest.raises(dx.SpecError, match="order of the coordinates"):
        dx.Prior.from_check_ins(geo.points([[45.5, -73.6]]), [[-73.6, 45.5]], within=5)
    with pytest.raises(dx.SpecError):
        dx.Prior.from_check_ins(dx.MetricSpace.from_distances([[0, 1], [1, 0]]), [[0, 0]])


# keeping


def test_positions_are_kept_in_archives(tmp_path: Path) -> None:
    for space in (
        geo.bounding_grid(45, -74, 46, -73, shape=(2, 2), project=True),
        geo.roads(network(tmp_path)),
        geo.roads(network(tmp_path), directed=False),
    ):
        found, again = geo.positions(space), unpack(pack(space))
        kept = geo.positions(again)
        assert again.distances == pytest.approx(space.distances, rel=1e-15)
        assert kept.unit == found.unit
        for name in ("degrees", "outlines", "streets"):
            ours, theirs = getattr(found, name), getattr(kept, name)
            assert (ours if ours is None else ours.tolist()) == (theirs if theirs is None else theirs.tolist())
