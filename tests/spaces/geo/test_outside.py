"""Locations outside of a space are refused, dropped or taken to the nearest point; those inside never are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import dxopt as dx
from dxopt.spaces import geo

LYON = geo.bounding_grid(45.70, 4.78, 45.80, 4.92, spacing=1)
HOME = [45.75, 4.85]
PARIS = [48.86, 2.35]


def test_paris_in_a_grid_of_lyon() -> None:
    with pytest.raises(dx.SpecError, match=r"1 of 2 lie outside of the space: number 1 is 38\d km from") as caught:
        geo.nearest(LYON, [HOME, PARIS])
    assert caught.value.field == "points"
    home = int(geo.nearest(LYON, [HOME])[0])
    assert geo.nearest(LYON, [HOME, PARIS], outside="drop").tolist() == [home, -1]
    near = geo.nearest(LYON, [HOME, PARIS], outside="nearest").tolist()
    assert near[0] == home and near[1] >= 0
    assert geo.nearest(LYON, [HOME, PARIS], within=500).tolist() == near
    assert geo.nearest(LYON, [HOME, PARIS], within=50).tolist() == [home, -1]
    assert geo.nearest(LYON, [HOME, PARIS], within=50, outside="nearest").tolist() == near
    with pytest.raises(dx.SpecError, match="further than 50 from all points"):
        geo.nearest(LYON, [HOME, PARIS], within=50, outside="refuse")
    with pytest.raises(dx.SpecError, match=r"^outside: "):
        geo.nearest(LYON, [HOME], outside="skip")


def test_the_whole_box_and_a_little_more_are_inside() -> None:
    box = np.random.default_rng(2).uniform([45.70, 4.78], [45.80, 4.92], (500, 2))
    for space in (LYON, geo.bounding_grid(45.70, 4.78, 45.80, 4.92, shape=(2, 60))):
        assert geo.nearest(space, box).min() >= 0
    assert geo.nearest(LYON, [[45.805, 4.85]]).min() >= 0
    with pytest.raises(dx.SpecError, match="outside"):
        geo.nearest(LYON, [[45.83, 4.85]])


@pytest.mark.parametrize(
    ("space", "inside", "outside"),
    [
        (geo.points([HOME, [45.8, 4.9], [45.7, 4.8]]), [[45.8, 4.8], [45.82, 4.9]], PARIS),
        (geo.points([HOME, [45.8, 4.9], [45.7, 4.8]], project=True), [[45.8, 4.8]], PARIS),
        (geo.points([[-17, 179.9], [-17, -179.9], [-16.9, 180]]), [[-16.95, -179.95], [-16.95, 179.95]], [-17, 178]),
        (dx.grid((5, 5)), [[0, 0], [2.4, 3.6], [4.9, -0.9]], [40, 2]),
        (dx.line(11, step=2.0), [[0], [19.3], [22]], [45]),
        (dx.MetricSpace.from_points([[0.0, 0], [10, 0], [10, 10]], "manhattan"), [[0, 10], [5, 5]], [60, 5]),
    ],
)
def test_what_lies_around_other_points(space: dx.MetricSpace, inside: Any, outside: Any) -> None:
    assert geo.nearest(space, inside).min() >= 0
    assert geo.nearest(space, [outside], outside="drop").tolist() == [-1]
    with pytest.raises(dx.SpecError, match="outside of the space"):
        geo.nearest(space, [outside])


def test_no_scale_no_outside() -> None:
    assert geo.nearest(geo.points([HOME]), [PARIS]).tolist() == [0]
    hamming = dx.MetricSpace.from_points([[0.0, 0], [1, 1]], "normalised_manhattan")
    assert geo.nearest(hamming, [[40.0, 40]]).tolist() == [1]


def test_columns_in_the_wrong_order_are_refused() -> None:
    frame = pd.DataFrame([HOME, [45.8, 4.9]], columns=["lat", "lon"])
    turned = frame[["lon", "lat"]]
    calls = [
        lambda given: dx.MetricSpace.from_points(given, "haversine"),
        lambda given: geo.points(given),
        lambda given: geo.nearest(LYON, given),
        lambda given: dx.Prior.from_check_ins(LYON, given),
    ]
    for call in calls:
        call(frame)
        with pytest.raises(dx.SpecError, match=r"^points: "):
            call(turned)
    assert dx.MetricSpace.from_points(turned).axes == ("lon", "lat")


@pytest.mark.parametrize("size", [1.0, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("axes", [1, 2, 5])
@pytest.mark.parametrize("far", [1e17, 1e160, 1e300, -1.7e308])
def test_locations_of_any_size_have_a_nearest_point(size: float, axes: int, far: float) -> None:
    points = size * np.concatenate([np.zeros((1, axes)), np.eye(axes)])
    space = dx.MetricSpace.from_points(points)
    located = np.concatenate([points, np.full((1, axes), far)])
    assert dx.geo.nearest(space, located[:-1]).tolist() == list(range(axes + 1))
    assert dx.geo.nearest(space, located, outside="drop").tolist()[:-1] == list(range(axes + 1))
    if abs(far) > 1e3 * size:
        with pytest.raises(dx.SpecError):
            dx.geo.nearest(space, located)
