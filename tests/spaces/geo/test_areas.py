"""Grids over bounding boxes, and hexagons."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces import geo
from tests.material.places import around, great_circle

# bounding boxes


def test_a_grid_has_the_middles_of_equal_cells() -> None:
    space = geo.bounding_grid(45.0, -74.0, 45.6, -73.0, shape=(3, 2))
    expected = [[lat, lon] for lat in (45.1, 45.3, 45.5) for lon in (-73.75, -73.25)]
    assert space.points == pytest.approx(np.array(expected), abs=1e-12)
    assert space.labels[3] == "(1, 1)"
    assert space.distances[0, 1] == pytest.approx(great_circle(*expected[:2]), rel=1e-9)
    outlines = geo.positions(space).outlines
    assert outlines is not None and outlines.mean(axis=1) == pytest.approx(np.array(expected), abs=1e-12)
    assert outlines[0].tolist() == pytest.approx(np.array([[45, -74], [45, -73.5], [45.2, -73.5], [45.2, -74]]))


def test_spacing_gives_cells_of_about_that_size() -> None:
    space = geo.bounding_grid(45.40, -73.75, 45.65, -73.45, spacing=1.9)
    outlines = geo.positions(space).outlines
    assert outlines is not None
    high = great_circle(outlines[0, 0], outlines[0, 3])
    wide = great_circle(outlines[len(space) // 2, 0], outlines[len(space) // 2, 1])
    assert len(space) == 15 * 12
    assert high == pytest.approx(1.9, rel=0.05) and wide == pytest.approx(1.9, rel=0.05)
    metres = geo.bounding_grid(45.40, -73.75, 45.65, -73.45, spacing=1900, unit="m")
    assert metres.distances == pytest.approx(1000 * space.distances)
    assert len(geo.bounding_grid(0, 0, 0.01, 0.01, spacing=100)) == 1
    assert len(geo.bounding_grid(45, -74, 46, -73, shape=tuple(np.array([2, 3])))) == 6


@pytest.mark.parametrize("project", [False, True])
def test_a_grid_crosses_the_antimeridian(project: bool) -> None:
    space = geo.bounding_grid(-18, 178, -16, -178, shape=(1, 4), project=project)
    found = geo.positions(space)
    assert project or np.abs(found.degrees[:, 1]).max() < 180
    assert np.mod(found.degrees[:, 1], 360) == pytest.approx([178.5, 179.5, 180.5, 181.5])
    assert space.distances[1, 2] == pytest.approx(great_circle((-17, 179.5), (-17, -179.5)), rel=1e-3)


@pytest.mark.parametrize(
    ("box", "asked", "field"),
    [
        ((46, -74, 45, -73), {"shape": (2, 2)}, "north"),
        ((45, -74, 45, -73), {"shape": (2, 2)}, "north"),
        ((45, -74, 46, -74), {"shape": (2, 2)}, "east"),
        ((-91, -74, 46, -73), {"shape": (2, 2)}, "south"),
        ((45, -74, 46, 190), {"shape": (2, 2)}, "east"),
        ((45, math.nan, 46, 0), {"shape": (2, 2)}, "west"),
        ((45, -74, 46, -73), {}, "shape"),
        ((45, -74, 46, -73), {"shape": (2, 2), "spacing": 1}, "spacing"),
        ((45, -74, 46, -73), {"shape": (2, 0)}, "shape"),
        ((45, -74, 46, -73), {"shape": (2,)}, "shape"),
        ((45, -74, 46, -73), {"shape": 4}, "shape"),
        ((45, -74, 46, -73), {"shape": (2.0, 2)}, "shape"),
        ((45, -74, 46, -73), {"shape": (2000, 501)}, "shape"),
        ((45, -74, 46, -73), {"spacing": 1e-9}, "spacing"),
        ((45, -74, 46, -73), {"spacing": 0}, "spacing"),
        ((45, -74, 46, -73), {"spacing": 1, "unit": "ell"}, "unit"),
    ],
)
def test_impossible_boxes(box: Any, asked: dict[str, Any], field: str) -> None:
    with pytest.raises(dx.SpecError) as caught:
        geo.bounding_grid(*box, **asked)
    assert caught.value.field == field


# hexagons


def test_hexagons_of_a_box() -> None:
    h3 = pytest.importorskip("h3")
    space = geo.h3_cells(7, box=(45.42, -73.70, 45.60, -73.50))
    found = geo.positions(space)
    assert found.outlines is not None and found.outlines.shape == (len(space), 6, 2)
    assert list(space.labels) == sorted(space.labels)
    for label, place in zip(space.labels, found.degrees, strict=True):
        assert h3.latlng_to_cell(*place, 7) == label
        assert 45.42 <= place[0] <= 45.60 and -73.70 <= place[1] <= -73.50
    inside = {h3.latlng_to_cell(*place, 7) for place in around(np.random.default_rng(3), 500, (45.51, -73.6), 0.07)}
    assert inside <= set(space.labels)
    assert space.distances[0, 5] == pytest.approx(great_circle(found.degrees[0], found.degrees[5]), rel=1e-9)


def test_hexagons_of_a_polygon_of_places_and_by_name() -> None:
    h3 = pytest.importorskip("h3")
    box = geo.h3_cells(6, box=(45.4, -73.8, 45.6, -73.4))
    polygon = geo.h3_cells(6, polygon=[(45.4, -73.8), (45.4, -73.4), (45.6, -73.4), (45.6, -73.8)])
    assert polygon.labels == box.labels
    assert geo.h3_cells(cells=box.labels[::-1]).labels == box.labels[::-1]
    places = around(np.random.default_rng(4), 30)
    assert set(geo.h3_cells(8, points=places).labels) == {h3.latlng_to_cell(*place, 8) for place in places}


def test_hexagons_cross_the_antimeridian() -> None:
    pytest.importorskip("h3")
    space = geo.h3_cells(4, box=(-18, 178, -16, -178))
    found = geo.positions(space)
    assert np.abs(found.degrees[:, 1]).min() >= 178
    assert {*np.sign(found.degrees[:, 1])} == {-1.0, 1.0}
    assert found.outlines is not None and np.ptp(found.outlines[:, :, 1], axis=1).max() < 2


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({}, "h3_cells"),
        ({"resolution": 7}, "h3_cells"),
        ({"resolution": 16, "box": (45, -74, 46, -73)}, "resolution"),
        ({"box": (45, -74, 46, -73)}, "resolution"),
        ({"resolution": 15, "box": (45, -74, 46, -73)}, "resolution"),
        ({"resolution": 0, "box": (45, -74, 45.1, -73.9)}, "resolution"),
        ({"resolution": 3, "box": (-10, -100, 10, 100)}, "east"),
        ({"resolution": 5, "cells": ["872baa090ffffff"]}, "resolution"),
        ({"cells": ["x"]}, "cells"),
        ({"cells": []}, "cells"),
        ({"cells": ["872baa090ffffff"] * 2}, "cells"),
        ({"resolution": 5, "polygon": [(0, 0), (1, 1)]}, "polygon"),
        ({"resolution": 5, "polygon": [("a", 0), (1, 1), (0, 1)]}, "polygon"),
        ({"resolution": 5, "points": [(100, 0)]}, "points"),
        ({"resolution": 5, "points": [("a", 0)]}, "points"),
        ({"resolution": 5, "points": np.zeros((0, 2))}, "points"),
        ({"resolution": 5, "box": (45, -74, 46)}, "box"),
    ],
)
def test_impossible_hexagons(asked: dict[str, Any], field: str) -> None:
    pytest.importorskip("h3")
    with pytest.raises(dx.SpecError) as caught:
        geo.h3_cells(**asked)
    assert caught.value.field == field


def test_hexagons_without_h3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h3", None)
    with pytest.raises(dx.UnsupportedError, match=r"dxopt\[geo\]"):
        geo.h3_cells(7, box=(45, -74, 46, -73))
