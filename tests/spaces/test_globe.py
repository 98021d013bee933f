"""Metrics on the Earth: the ellipsoid, and great circles beside it."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.metrics import (
    EARTH_RADIUS_KM,
    METRICS_ON_EARTH,
    STRETCH,
    ConservativeHaversine,
    Geodesic,
    Haversine,
)

Geod = pytest.importorskip("pyproj").Geod
QUARTER = 10_001.965729313
"""Kilometres from a pole to the equator."""


def _pyproj(points: np.ndarray) -> np.ndarray:
    rows, columns = (np.stack(np.broadcast_arrays(points[:, None], points[None]))[k].reshape(-1, 2) for k in (0, 1))
    _, _, metres = Geod(ellps="WGS84").inv(rows[:, 1], rows[:, 0], columns[:, 1], columns[:, 0])
    return np.reshape(metres, (len(points), len(points)))


def test_poles_equator_and_antipodes() -> None:
    points = [[0, 0], [90, 10], [90, -70], [-90, 0], [0, 180], [0, -180], [0, 90], [45, 0], [-45, 180]]
    distances = dx.MetricSpace.from_points(points, "geodesic").distances
    equator = math.pi / 2 * 6378.137
    assert distances[0] == pytest.approx(
        np.array([0, QUARTER, QUARTER, QUARTER, 2 * QUARTER, 2 * QUARTER, equator, 4984.944378, 15018.987081])
    )
    assert distances[1, 2] == 0
    assert distances[4, 5] == 0
    assert distances[7, 8] == pytest.approx(2 * QUARTER)


@pytest.mark.parametrize("span", [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.17, 0.3, 3, 40])
@pytest.mark.parametrize("middle", [(0, 0), (45.5, -73.6), (-60, 180), (89.99, 3), (-90, 0)])
def test_triangles_symmetry_and_pyproj(span: float, middle: tuple[float, float]) -> None:
    """On rows and columns of a grid, where ways by a third point are no longer: also in a town, and over ±180°."""
    ticks = np.linspace(-span, span, 7)
    points = np.array([(np.clip(middle[0] + y, -90, 90), middle[1] + x) for y in ticks for x in ticks])
    points[:, 1] -= np.where(points[:, 1] > 180, 360, 0)
    distances = dx.MetricSpace.from_points(points, Geodesic("m")).distances
    assert np.array_equal(distances, distances.T)
    assert not np.diagonal(distances).any()
    detours = distances[:, :, None] + distances[None, :, :]
    assert (distances[:, None, :] <= detours * (1 + 5e-13)).all()
    assert np.abs(distances - _pyproj(points)).max() < 3e-8


def test_blocks_are_those_of_the_matrix() -> None:
    """However they are cut, and whichever end is the row."""
    points = np.random.default_rng(3).uniform([-90, -360], [90, 360], (40, 2))
    space = dx.MetricSpace.from_points(points, "geodesic")
    assert np.array_equal(space.block([3, 30], range(10, 20)), space.distances[[3, 30], 10:20])
    assert np.array_equal(space.block(range(10, 20), [3, 30]), space.distances[10:20, [3, 30]])
    assert np.array_equal(space.row(index=7), space.distances[7])


def test_units() -> None:
    points = [[48.8566, 2.3522], [51.5074, -0.1278]]
    km, m, mi = (dx.geo.points(points, metric="geodesic", unit=unit).distances[0, 1] for unit in ("km", "m", "mi"))
    assert (m, mi * 1.609344) == pytest.approx((1000 * km, km))
    assert km == pytest.approx(343.923, abs=1e-3)


def test_the_sphere_is_off_by_as_much_as_is_said() -> None:
    """Great circles are at most R a / b² times too long, at the equator north to south, and R b / a² at the least."""
    rng = np.random.default_rng(5)
    start = rng.uniform([-90, -180], [90, 180], (4000, 2))
    end = np.where(rng.random((4000, 1)) < 0.5, start + rng.normal(size=(4000, 2)) * 0.01, rng.permutation(start))
    end = end.clip([-90, -360], [90, 360])
    _, _, metres = Geod(ellps="WGS84").inv(start[:, 1], start[:, 0], end[:, 1], end[:, 0])
    sphere, short = (
        np.array([metric.block(a[None], b[None])[0, 0] for a, b in zip(start, end, strict=True)])
        for metric in (Haversine("m"), ConservativeHaversine("m"))
    )
    most, least = 6371008.8 * 6378137.0 / 6356752.314245**2, 6371008.8 * 6356752.314245 / 6378137.0**2
    assert most == pytest.approx(1.0056144, abs=1e-7)
    assert least == pytest.approx(0.9955333, abs=1e-7)
    assert (sphere / metres).max() <= most * (1 + 1e-7)
    assert (sphere / metres).min() >= least * (1 - 1e-7)
    assert (short <= metres).all()
    # as good as reached: 1 km north of the equator
    _, _, north = Geod(ellps="WGS84").inv(0, -0.005, 0, 0.005)
    assert math.radians(0.01) * EARTH_RADIUS_KM * 1000 / north == pytest.approx(most, abs=1e-7)


def test_the_factor_is_more_than_the_most_that_great_circles_are_too_long() -> None:
    """R a / b² in exact numbers; so little below 1.005615 that no more privacy is given away than that."""
    major, flattening = Fraction(6378137), 1 / Fraction("298.257223563")
    most = Fraction("6371008.8") / (major * (1 - flattening) ** 2)
    assert most < Fraction(STRETCH) < most + Fraction(1, 10**6)


@pytest.mark.parametrize("metric", METRICS_ON_EARTH)
def test_spaces_on_the_earth(metric: str) -> None:
    """Every maker of spaces takes the metric, and its positions are those of the points."""
    grid = dx.geo.bounding_grid(45.4, -73.7, 45.6, -73.5, shape=(2, 3), metric=metric, unit="m")
    hexagons = dx.geo.h3_cells(7, points=[[45.5, -73.6], [45.6, -73.6]], metric=metric, unit="m")
    for space in (grid, hexagons):
        assert space.metric == METRICS_ON_EARTH[metric]("m")
        assert dx.geo.positions(space).unit == "m"
    assert dx.geo.nearest(grid, [[45.44, -73.51]]).tolist() == [2]
    with pytest.raises(dx.SpecError, match="latitude"):
        dx.MetricSpace.from_points([[91, 0], [0, 0]], metric)


def test_bad_metrics() -> None:
    with pytest.raises(dx.SpecError, match="metric: is 'euclidean'; choose one of haversine"):
        dx.geo.points([[45, 5], [46, 5]], metric="euclidean")
    with pytest.raises(dx.SpecError, match="straight distances, not geodesic"):
        dx.geo.points([[45, 5], [45.1, 5]], metric="geodesic", project=True)
    with pytest.raises(dx.SpecError, match="unit: is 'feet'"):
        dx.geo.points([[45, 5], [46, 5]], metric="geodesic", unit="feet")


def test_without_pyproj(monkeypatch: pytest.MonkeyPatch) -> None:
    from dxopt.spaces import metrics as globe

    globe._ellipsoid.cache_clear()
    monkeypatch.setitem(sys.modules, "pyproj", None)
    with pytest.raises(dx.UnsupportedError, match=r"^pyproj: "):
        dx.geo.points([[45, 5], [46, 5]], metric="geodesic")
    globe._ellipsoid.cache_clear()
