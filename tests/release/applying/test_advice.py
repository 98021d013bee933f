"""Each fix in a message about data that are to be replaced, followed: to reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from tests.material.people import town

POINT = '{"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [4.8, 45.7]}}'
PLACES: dict[str, Any] = {"lat": "lat", "lon": "lon"}


def collection(crs: Any) -> bytes:
    """Return GeoJSON of one point with a member `crs`."""
    members = {"type": "FeatureCollection", "crs": crs, "features": [json.loads(POINT)]}
    return json.dumps(members).encode()


def refused(folder: Path, name: str, content: bytes, **how: Any) -> dx.SpecError | None:
    """Return what is wrong with a file and options, if anything; then nothing may be written."""
    (folder / name).write_bytes(content)
    output = folder / f"out{Path(name).suffix}"
    output.unlink(missing_ok=True)
    try:
        dx.apply(town(), folder / name, output, **how)
    except dx.SpecError as error:
        assert not output.exists() and error.fix
        return error
    assert output.exists()
    return None


BROKEN: dict[str, tuple[str, bytes, bytes]] = {
    "twice in the header": ("a.csv", b"lat,lat,lon\n45.7,4.8,4.8\n", b"lat,lat2,lon\n45.7,4.8,4.8\n"),
    "no header": ("a.csv", b"p093,1,45.71,4.81\n", b"who,n,lat,lon\np093,1,45.71,4.81\n"),
    "short line": ("a.csv", b"lat,lon\n45.7,4.8\n45.7\n", b"lat,lon\n45.7,4.8\n45.7,4.8\n"),
    "open quote": ("a.csv", b'lat,lon\n45.7,"4.8\n', b'lat,lon\n45.7,"4.8"\n'),
    "no UTF-8": ("a.csv", b"lat,lon,n\n45.7,4.8,\xff\n", "lat,lon,n\n45.7,4.8,ÿ\n".encode()),
    "no number": ("a.csv", b"lat,lon\n45.7,4.8\n45.7,x\n", b"lat,lon\n45.7,4.8\n45.7,4.8\n"),
    "empty": ("a.csv", b"lat,lon\n45.7,\n", b"lat,lon\n45.7,4.8\n"),
    "open GeoJSON": ("a.geojson", b"{", collection(None)),
    "features without a collection": ("a.geojson", b'{"features": []}', collection(None)),
    "no features": ("a.geojson", b'{"type": "FeatureCollection", "features": []}', collection(None)),
    "no geometry": (
        "a.geojson",
        b'{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": null}]}',
        collection(None),
    ),
}


@pytest.mark.parametrize("kind", list(BROKEN))
def test_mended_files_are_taken(tmp_path: Path, kind: str) -> None:
    name, before, after = BROKEN[kind]
    how = PLACES if name.endswith("csv") else {}
    assert refused(tmp_path, name, before, **how) is not None
    assert refused(tmp_path, name, after, **how) is None


@pytest.mark.parametrize(
    "crs",
    [
        {"type": "EPSG", "properties": {"code": 2154}},
        {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}},
        {"type": "link", "properties": {"href": "https://example.org/2154"}},
        {"type": "name", "properties": {}},
        {"type": "name"},
        {"type": "name", "properties": {"name": None}},
        "EPSG:2154",
        [],
    ],
    ids=str,
)
def test_another_datum_is_to_be_converted_never_to_be_left_unsaid(tmp_path: Path, crs: Any) -> None:
    error = refused(tmp_path, "a.geojson", collection(crs))
    assert error is not None and error.field == "geometry"
    assert "remove" not in error.fix and "leave" not in error.fix
    assert "convert" in error.fix and "to_crs(4326)" in error.fix
    # what GeoPandas writes after that
    assert refused(tmp_path, "a.geojson", collection({"type": "name", "properties": {"name": "EPSG:4326"}})) is None


@pytest.mark.parametrize("crs", [None, {"type": "EPSG", "properties": {"code": 4326}}], ids=str)
def test_wgs84_is_taken(tmp_path: Path, crs: Any) -> None:
    assert refused(tmp_path, "a.geojson", collection(crs)) is None


OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "no columns": ({}, PLACES),
    "one column": ({"lat": "lat"}, PLACES),
    "one column twice": ({"lat": "lat", "lon": "lat"}, PLACES),
    "other coordinates": ({"columns": dx.Columns(x="lat", y="lon")}, PLACES),
    "places and labels": ({**PLACES, "columns": dx.Columns(label="note")}, PLACES),
    "no such column": ({"lat": "lat", "lon": "lng"}, PLACES),
    "no such rule": ({**PLACES, "outside": "ignore"}, {**PLACES, "outside": "refuse"}),
    "negative distance": ({**PLACES, "within": -1}, {**PLACES, "within": 1}),
}
FAR = b"lat,lon,note\n45.7,4.8,a\n-45.7,4.8,b\n"


@pytest.mark.parametrize("kind", list(OPTIONS))
def test_mended_options_are_taken(tmp_path: Path, kind: str) -> None:
    wrong, right = OPTIONS[kind]
    content = b"lat,lon,note\n45.7,4.8,a\n"
    assert refused(tmp_path, "a.csv", content, **wrong) is not None
    assert refused(tmp_path, "a.csv", content, **right) is None


@pytest.mark.parametrize("outside", ["nearest", "drop"])
def test_far_rows_go_by_what_the_message_offers(tmp_path: Path, outside: str) -> None:
    error = refused(tmp_path, "a.csv", FAR, **PLACES)
    assert error is not None and error.field == "data"
    assert refused(tmp_path, "a.csv", FAR, **PLACES, outside=outside) is None


def test_swapped_coordinates_are_exchanged_where_they_are_written(tmp_path: Path) -> None:
    """In GeoJSON there are no names of columns to exchange, but the numbers of each point."""
    swapped = collection(None).replace(b"[4.8, 45.7]", b"[45.7, 4.8]")
    assert swapped != collection(None)
    points = refused(tmp_path, "a.geojson", swapped)
    columns = refused(tmp_path, "a.csv", b"a,b\n4.8,45.7\n", lat="a", lon="b")
    assert points is not None and columns is not None
    assert points.field == columns.field == "data" and points.wrong == columns.wrong and points.fix != columns.fix
    assert refused(tmp_path, "a.geojson", collection(None)) is None
    assert refused(tmp_path, "a.csv", b"a,b\n4.8,45.7\n", lat="b", lon="a") is None
