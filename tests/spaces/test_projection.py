"""The plane around places on the globe."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.metrics import EARTH_RADIUS_KM, Haversine
from dxopt.spaces.positions import local_plane

TOWN = 45.5 + np.random.default_rng(2).random((12, 2)) * [0.1, 0.2] - [0.0, 119.0]


def test_small_distances_are_those_of_the_globe() -> None:
    for unit in ("km", "m", "mi"):
        globe = dx.MetricSpace.from_points(TOWN, Haversine(unit)).distances
        plane = dx.MetricSpace.from_points(local_plane(TOWN, unit)).distances
        assert plane == pytest.approx(globe, rel=2e-3)


def test_by_hand() -> None:
    degree = EARTH_RADIUS_KM * math.pi / 180
    plane = local_plane([[62.0, 10.0], [60.0, 10.0], [58.0, 14.0]])
    east = 4 * degree * math.cos(math.radians(60.0))
    assert plane == pytest.approx(np.array([[-east / 2, 2 * degree], [-east / 2, 0], [east / 2, -2 * degree]]))


def test_longitudes_are_modulo_360() -> None:
    across = local_plane([[0.0, 179.9], [1.0, -179.9], [0.5, 180.3 - 360]])
    assert across == pytest.approx(local_plane([[0.0, -0.1], [1.0, 0.1], [0.5, 0.3]]), abs=1e-9)
    assert across == pytest.approx(local_plane([[0.0, 179.9], [1.0, 180.1], [0.5, 180.3]]), abs=1e-9)


@pytest.mark.parametrize(
    "places",
    [
        [[90.0, 0.0], [80.0, 0.0]],
        [[80.0, 0.0], [80.0, 120.0], [80.0, 240.0]],
        [[0.0, 0.0], [0.0, 180.0]],
        [[95.0, 0.0]],
        [[1.0, 2.0, 3.0]],
        [[math.nan, 0.0]],
        [1.0, 2.0],
        [["a", "b"]],
    ],
)
def test_places_that_no_plane_shows(places: list) -> None:
    with pytest.raises(dx.SpecError, match=r"^points: "):
        local_plane(places)


def test_an_unknown_unit() -> None:
    with pytest.raises(dx.SpecError, match=r"^unit: "):
        local_plane([[0.0, 0.0]], "ft")
