"""Reports inside of areas alone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx

shapely = pytest.importorskip("shapely")
geopandas = pytest.importorskip("geopandas")
RING = [[5.0, 45.0], [5.4, 45.0], [5.4, 45.2], [5.0, 45.2], [5.0, 45.0]]
HOLE = [[5.15, 45.05], [5.25, 45.05], [5.25, 45.15], [5.15, 45.15], [5.15, 45.05]]
POLYGON = {"type": "Polygon", "coordinates": [RING, HOLE]}
PLACES = [[45.1, 5.1], [45.1, 5.2], [45.1, 5.3], [45.1, 5.5], [45.2, 5.1], [5.1, 45.1]]
WITHIN = [True, False, True, False, True, False]
"""The hole, what is east, and swapped coordinates lie outside; the border within."""


def _forms(folder: Path) -> dict[str, Any]:
    feature = {"type": "Feature", "properties": {}, "geometry": POLYGON}
    empty = {"type": "Feature", "properties": {}, "geometry": None}
    file = folder / "area.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [feature, empty]}))
    shape = shapely.Polygon(RING, [HOLE])
    frame = geopandas.GeoDataFrame(geometry=[shape], crs=4326)
    return {
        "mapping": POLYGON,
        "feature": feature,
        "file": file,
        "name": str(file),
        "collection": {"type": "GeometryCollection", "geometries": [POLYGON]},
        "shape": shape,
        "multiple": shapely.MultiPolygon([shape]),
        "frame": frame,
        "series": frame.geometry,
    }


def test_every_form_of_an_area(tmp_path: Path) -> None:
    for name, area in _forms(tmp_path).items():
        assert dx.geo.inside(PLACES, area).tolist() == WITHIN, name
        assert dx.geo.inside(dx.geo.points(PLACES), area).tolist() == WITHIN, name


def test_an_area_in_metres() -> None:
    frame = geopandas.GeoDataFrame(geometry=[shapely.Polygon(RING, [HOLE])], crs=4326).to_crs(3857)
    assert dx.geo.inside(PLACES[:4], frame).tolist() == WITHIN[:4]
    with pytest.raises(dx.SpecError, match=r"^area: "):
        dx.geo.inside(PLACES, geopandas.GeoSeries([shapely.Polygon(RING)]))


@pytest.mark.parametrize("ring", [[170, 190], [-190, -170]])
def test_an_area_across_the_antimeridian(ring: list[int]) -> None:
    area = shapely.box(ring[0], -10, ring[1], 10)
    assert dx.geo.inside([[0, 175], [0, -175], [0, 185], [0, 0], [0, 160]], area).tolist() == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_reports_within_an_area() -> None:
    space = dx.geo.points(PLACES[:5], labels=list("abcde"))
    reports = dx.Reports.within(space, POLYGON)
    assert list(reports.labels) == ["a", "c", "e"]
    problem = dx.Problem(
        space, epsilon=0.1, prior=dx.Prior.uniform(space), loss=dx.Loss.of("distance", space, reports)
    )
    report = dx.solve(problem)
    assert report.certificate.private
    assert report.mechanism.matrix.shape == (5, 3)
    assert "5 places, 3 outputs" in str(report)
    assert dx.Reports.within(space, shapely.box(0, 0, 90, 90)).secrets
    with pytest.raises(dx.SpecError, match=r"^reports: "):
        dx.Reports.within(space, shapely.box(0, 0, 1, 1))


@pytest.mark.parametrize(
    "area",
    [
        {"type": "LineString", "coordinates": RING},
        {"type": "FeatureCollection", "features": []},
        {"type": "Polygon", "coordinates": 3},
        {"type": "FeatureCollection", "features": [3]},
        {"type": "FeatureCollection"},
        17,
        "nowhere.geojson",
        {**POLYGON, "crs": {"type": "name", "properties": {"name": "EPSG:3857"}}},
        shapely.box(500_000, 5_000_000, 510_000, 5_010_000),
    ],
)
def test_no_areas(area: Any) -> None:
    with pytest.raises(dx.SpecError, match=r"^area: "):
        dx.geo.inside(PLACES, area)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    file = tmp_path / "area.geojson"
    file.write_text("{")
    with pytest.raises(dx.SpecError, match=r"area\.geojson is no GeoJSON"):
        dx.geo.inside(PLACES, file)
    with pytest.raises(dx.SpecError, match="cannot be read"):
        dx.geo.inside(PLACES, tmp_path)


def test_without_shapely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shapely", None)
    with pytest.raises(dx.UnsupportedError, match=r"^shapely: "):
        dx.geo.inside(PLACES, POLYGON)


def test_problem_files(tmp_path: Path) -> None:
    (tmp_path / "area.geojson").write_text(json.dumps(POLYGON))
    file = tmp_path / "town.yaml"
    text = (
        f"name: town\nspace: {{kind: points, values: {PLACES[:5]}, metric: geodesic}}\nepsilon: 0.1\nloss: distance\n"
    )
    file.write_text(text + "prior: {kind: uniform}\nreports: {kind: within, area: area.geojson}\n")
    problem = dx.read(file)
    assert len(problem.reports) == 3
    report = dx.solve(problem)
    report.save(tmp_path / "out")
    assert dx.load(tmp_path / "out").mechanism.matrix == pytest.approx(report.mechanism.matrix)
    file.write_text(text + "prior: {kind: uniform}\nreports: {kind: within, area: missing.geojson}\n")
    with pytest.raises(dx.SpecError, match=r"6:\d+: reports.area: there is no file"):
        dx.read(file)


NAMED = {
    True: [
        "EPSG:4326",
        "epsg:4326",
        "OGC:CRS84",
        "urn:ogc:def:crs:OGC:1.3:CRS84",
        "urn:ogc:def:crs:OGC::CRS84",
        "urn:ogc:def:crs:EPSG::4326",
        "urn:x-ogc:def:crs:EPSG:6.9:4326",
        "http://www.opengis.net/def/crs/OGC/1.3/CRS84",
        "https://www.opengis.net/def/crs/EPSG/0/4326",
        4326,
    ],
    False: [
        "EPSG:43261",
        "EPSG:14326",
        "ESRI:4326",
        "OGC:CRS84h",
        "OGC:4326",
        "EPSG:3857 not 4326",
        "urn:ogc:def:crs:EPSG:4326:3857",
        "urn:ogc:def:crs:EPSG::4326,urn:ogc:def:crs:EPSG::5773",
        "4326",
        "",
        None,
        43261,
        {"name": "EPSG:4326"},
    ],
}


@pytest.mark.parametrize(("name", "right"), [(name, right) for right in NAMED for name in NAMED[right]], ids=str)
def test_the_system_of_geojson_is_told_by_authority_and_code(name: Any, right: bool, tmp_path: Path) -> None:
    """Areas and the data of `apply` are taken and refused alike."""
    crs = {"type": "name", "properties": {"name": name}}
    if isinstance(name, int):
        crs = {"type": "EPSG", "properties": {"code": name}}
    feature = {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [1, 1]}}
    data = tmp_path / "in.geojson"
    data.write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": [feature]}), encoding="utf-8")
    table = dx.integer_table(dx.classic.exponential(dx.geo.points([[1, 1], [1, 2]]), epsilon=1))
    calls = {
        "area": lambda: dx.geo.inside(PLACES, {**POLYGON, "crs": crs}),
        "geometry": lambda: dx.apply(table, data, tmp_path / "out.geojson"),
    }
    for field, call in calls.items():
        if right:
            call()
        else:
            with pytest.raises(dx.SpecError) as refused:
                call()
            assert refused.value.field == field
