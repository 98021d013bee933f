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
