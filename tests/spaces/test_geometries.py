"""Points of GeoPandas as places, and answers as GeoDataFrames."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import dxopt as dx

geopandas = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")
DEGREES = np.array([[45.5, -73.6], [45.51, -73.6], [45.5, -73.58], [45.52, -73.57]])


def _series(crs: Any = "EPSG:4326") -> Any:
    return geopandas.GeoSeries.from_xy(DEGREES[:, 1], DEGREES[:, 0], crs=crs)


@pytest.mark.parametrize("crs", ["EPSG:4326", "OGC:CRS84", "EPSG:3857", "EPSG:32618", "EPSG:2950", "EPSG:4269"])
def test_any_crs(crs: str) -> None:
    """Latitudes are the same whether a CRS names them first (EPSG:4326) or last, and in metres as well."""
    given = _series().to_crs(crs)
    for points in (given, geopandas.GeoDataFrame({"name": list("abcd")}, geometry=given)):
        for space in (dx.geo.points(points), dx.MetricSpace.from_points(points, "haversine")):
            assert space.points == pytest.approx(DEGREES, abs=2e-5)
            assert dx.geo.positions(space).degrees == pytest.approx(DEGREES, abs=2e-5)
    space = dx.geo.points(DEGREES)
    assert dx.geo.nearest(space, given).tolist() == [0, 1, 2, 3]
    assert dx.Prior.from_check_ins(space, given).probabilities == pytest.approx(np.full(4, 0.25))


@pytest.mark.parametrize(
    ("given", "metric", "wrong"),
    [
        (lambda: _series(None), "haversine", "have no CRS; set it"),
        (lambda: _series("EPSG:4326").to_crs(3857).buffer(1), "haversine", "row 0 is a Polygon, not a point"),
        (lambda: _series(), "euclidean", "use metric haversine or"),
        (lambda: geopandas.GeoSeries([shapely.Point(1, 2), None], crs=4326), "geodesic", "row 1 has no geometry"),
        (lambda: geopandas.GeoSeries([shapely.Point()], crs=4326), "geodesic", "row 0 has no geometry"),
        (lambda: geopandas.GeoSeries([shapely.Point(1e12, 1e12)], crs=32618), "geodesic", "row 0 is nowhere"),
        (lambda: geopandas.GeoSeries([shapely.Point(45.5, 173)], crs=4326), "geodesic", "point 0"),
    ],
)
def test_what_are_no_places(given: Any, metric: str, wrong: str) -> None:
    with pytest.raises(dx.SpecError, match=wrong):
        dx.MetricSpace.from_points(given(), metric)


def test_answers_in_a_crs() -> None:
    space = dx.geo.points(_series(), labels=list("abcd"))
    report = dx.solve(dx.Problem(space, epsilon=1, prior=dx.Prior.uniform(space), loss="distance"))
    plain = dx.to_geodataframe(report, secret="b")
    assert np.column_stack([plain.geometry.y, plain.geometry.x]) == pytest.approx(DEGREES)
    assert plain["given_secret"].to_numpy() == pytest.approx(report.mechanism.row("b"))
    metres = dx.to_geodataframe(report, secret="b", crs="EPSG:32618")
    assert metres.crs == "EPSG:32618"
    assert metres.geometry.distance(metres.geometry.iloc[0]).to_numpy()[1:] == pytest.approx(
        1000 * space.distances[0, 1:], rel=5e-3
    )
    assert dx.geo.points(metres).points == pytest.approx(DEGREES)
    with pytest.raises(dx.SpecError, match=r"^crs: "):
        dx.to_geodataframe(report, crs="EPSG:0")


def test_without_geopandas(monkeypatch: pytest.MonkeyPatch) -> None:
    space = dx.geo.points(DEGREES)
    monkeypatch.setitem(sys.modules, "geopandas", None)
    with pytest.raises(dx.UnsupportedError, match=r"^geopandas: "):
        dx.to_geodataframe(dx.classic.exponential(space, epsilon=1))
