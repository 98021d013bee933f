"""`dx.apply` on files: every format, whole or not at all, rows in their order."""

from __future__ import annotations

import csv
import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.release.applying import csv_files, parquet_files
from dxopt.release.applying import formats as chunks
from dxopt.release.applying import geojson_files as json_stream
from dxopt.runtime.locking import locked
from tests.material.people import counts, people, town, write_geojson

pd = pytest.importorskip("pandas")
gpd = pytest.importorskip("geopandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ADDED = ["report", "epsilon", "coordinateUncertaintyInMeters", "dataGeneralizations"]


@pytest.fixture(params=["small", "large"])
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Files are read in few rows at once, or whole."""
    size = 7 if request.param == "small" else chunks.ROWS
    for module in (chunks, parquet_files):
        monkeypatch.setattr(module, "ROWS", size)
    monkeypatch.setattr(json_stream, "_BLOCK", 50 if size == 7 else 1 << 20)
    return size


@pytest.mark.parametrize(
    ("values", "options", "moved", "told"),
    [
        (["1", "2", "6"], {}, (0, 0), None),
        (
            ["1", "2.5", "-0.4"],
            {},
            (2, 0.5),
            "2, taken for the nearest secret, at most 0.5",
        ),
        (["3.0000000001"], {}, (0, 0), None),
        (
            ["1", "9", "2"],
            {"outside": "nearest", "within": 0},
            (1, 3),
            "1, taken for the nearest secret, at most 3",
        ),
        (["1", "2.25", "9"], {"outside": "drop"}, (1, 0.25), "1, taken for the nearest secret, at most 0.25"),
    ],
)
def test_values_that_are_no_secrets_are_told_on_the_screen_alone(
    tmp_path: Path, block: int, values: list[str], options: dict[str, Any], moved: tuple, told: str | None
) -> None:
    file = tmp_path / "beds.csv"
    file.write_text("beds\n" + "".join(f"{value}\n" for value in values), encoding="utf-8")
    done = dx.apply(counts(), file, tmp_path / "out.csv", column="beds", **options)
    assert (done.moved.values, done.moved.furthest) == pytest.approx(moved)
    for shown in (str(done), done._repr_html_()):
        assert ("values that are no secrets" in shown) is (told is not None)
        assert told is None or f"{told} away" in shown
    assert "moved" not in json.dumps(done.said)


def test_positions_stand_for_their_cells_without_a_word(tmp_path: Path) -> None:
    pd.DataFrame(people()).to_csv(tmp_path / "people.csv", index=False)
    done = dx.apply(town(), tmp_path / "people.csv", tmp_path / "out.csv", lat="lat", lon="lon")
    assert done.moved.values == 0 and "no secrets" not in str(done)


def only(folder: Path, *names: str) -> None:
    """Nothing but these files is in a folder."""
    assert {path.name for path in folder.iterdir()} == set(names)


def test_csv_keeps_its_text_its_delimiter_and_its_line_ends(tmp_path: Path, block: int) -> None:
    given = people()
    file = tmp_path / "people.csv"
    lines = [
        "person;lat;00;lon;note",
        *(
            f'{a};{b!r};007.50;{c!r};"a;\n{a}"'
            for a, b, c in zip(given["person"], given["lat"], given["lon"], strict=True)
        ),
    ]
    file.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([*lines[:5], "", *lines[5:], ""]).encode())
    done = dx.apply(town(), file, tmp_path / "out.csv", lat="lat", lon="lon")
    content = (tmp_path / "out.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbfperson;lat;00;lon;note;report;epsilon;")
    assert content.count(b"\r\n") == 41
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter=";"))
    assert [row["person"] for row in rows] == given["person"]
    assert {row["00"] for row in rows} == {"007.50"}
    assert [row["note"] for row in rows] == [f"a;\n{name}" for name in given["person"]]
    assert not {row["lat"] for row in rows} & set(map(repr, given["lat"]))
    assert done.said["rows"] == {
        "given": 40,
        "out": 40,
        "outside": 0,
        "unusable": 0,
        "dropped": [],
        "noun": "line",
    }
    only(tmp_path, "people.csv", "out.csv", "out.csv.dxopt.json")


def test_lines_are_those_of_the_file(tmp_path: Path, block: int) -> None:
    file = tmp_path / "people.csv"
    good = "45.7,4.8"
    file.write_text(f'note,lat,lon\n"two\nlines",{good}\n\nx,nan,4.8\ny,{good}\nz,46.9,4.8\n', encoding="utf-8")
    done = dx.apply(town(), file, tmp_path / "out.csv", lat="lat", lon="lon", outside="drop")
    assert done.dropped == [5, 7]
    assert (done.record.rows.outside, done.record.rows.unusable) == (1, 1)
    assert "lines 5, 7" in str(done)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 4


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_of_every_dialect(tmp_path: Path, end: str, delimiter: str) -> None:
    lines = [["lat", "lon", "n"], ["45.7", " 4.8 ", f'"a{delimiter}b"'], ['"45.7"', "4.8", '""']]
    (tmp_path / "a.csv").write_bytes("".join(delimiter.join(line) + end for line in lines).encode())
    dx.apply(town(), tmp_path / "a.csv", tmp_path / "b.csv", lat="lat", lon="lon")
    with (tmp_path / "b.csv").open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream, delimiter=delimiter))
    assert [row["n"] for row in found] == [f"a{delimiter}b", ""]


def test_parquet_keeps_types_and_order_and_the_index_as_a_column(tmp_path: Path, block: int) -> None:
    frame = pd.DataFrame({**people(), "day": pd.Timestamp("2026-01-02"), "tags": [["a", "b"]] * 40})
    frame.index = pd.Index([f"i{number}" for number in range(40)], name="key")
    frame.to_parquet(tmp_path / "people.parquet")
    dx.apply(town(), tmp_path / "people.parquet", tmp_path / "out.parquet", lat="lat", lon="lon")
    found = pd.read_parquet(tmp_path / "out.parquet")
    assert list(found.columns) == [*frame.columns, "key", *ADDED]
    assert found["key"].tolist() == list(frame.index)
    for name in ("person", "time", "note", "day"):
        assert found[name].tolist() == frame[name].tolist()
    assert found["coordinateUncertaintyInMeters"].dtype == np.int64
    assert pq.read_schema(tmp_path / "out.parquet").metadata is None


def test_geoparquet_gets_points_and_loses_boxes(tmp_path: Path, block: int) -> None:
    given = people()
    points = gpd.points_from_xy(given["lon"], given["lat"])
    frame = gpd.GeoDataFrame({"person": given["person"]}, geometry=points, crs=4326)
    frame["work"] = frame.geometry
    frame.to_parquet(tmp_path / "people.parquet", write_covering_bbox=True)
    done = dx.apply(town(), tmp_path / "people.parquet", tmp_path / "out.parquet")
    found = gpd.read_parquet(tmp_path / "out.parquet")
    assert list(found.columns) == ["person", "geometry", *ADDED]
    assert found.crs == 4326
    assert found["person"].tolist() == given["person"]
    places = {tuple(place) for place in np.asarray(town().reports.points).tolist()}
    assert {(point.y, point.x) for point in found.geometry} <= places
    assert sorted(done.said["columns"]["left_out"]) == ["bbox", "work"]
    described = json.loads(pq.read_schema(tmp_path / "out.parquet").metadata[b"geo"])["columns"]["geometry"]
    assert set(described) == {"encoding", "geometry_types", "crs"}


def test_geojson_keeps_properties_and_nothing_else(tmp_path: Path, block: int) -> None:
    given = people()
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    write_geojson(tmp_path / "people.geojson", given, crs=crs)
    dx.apply(town(), tmp_path / "people.geojson", tmp_path / "out.geojson")
    text = (tmp_path / "out.geojson").read_text(encoding="utf-8")
    found = json.loads(text)
    assert set(found) == {"type", "features"}
    assert "bbox" not in text
    assert "center" not in text
    assert "123.25" not in text
    assert [one["id"] for one in found["features"]] == list(range(40))
    assert found["features"][0]["properties"]["extra"] == [1, {"a": None}]
    assert "extra" not in found["features"][1]["properties"]
    assert [one["properties"]["person"] for one in found["features"]] == given["person"]
    places = {tuple(place) for place in np.asarray(town().reports.points).tolist()}
    assert {tuple(one["geometry"]["coordinates"][::-1]) for one in found["features"]} <= places


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "g.parquet", "g.geojson"])
def test_rows_that_are_left_out_move_no_others(tmp_path: Path, name: str, block: int) -> None:
    given = people()
    out = [0, 9, 10, 39]
    for row in out:
        given["lat"][row] = 47.0
    file = tmp_path / name
    frame = pd.DataFrame(given)
    points = gpd.GeoDataFrame(frame[["person"]], geometry=gpd.points_from_xy(frame["lon"], frame["lat"]), crs=4326)
    match name:
        case "a.csv":
            frame.to_csv(file, index=False)
        case "a.parquet":
            frame.to_parquet(file)
        case "g.parquet":
            points.to_parquet(file)
        case _:
            write_geojson(file, given)
    columns: dict[str, Any] = {"lat": "lat", "lon": "lon"} if name.startswith("a") else {}
    key = dx.Key(bytes(32))
    asked: dict[str, Any] = {"key": key, "person": "person", "release": "r", "outside": "drop", **columns}
    done = dx.apply(town(), file, tmp_path / f"out{file.suffix}", **asked)
    assert done.dropped == [row + (2 if name == "a.csv" else 1) for row in out]
    read = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".geojson": gpd.read_file}[file.suffix]
    found = read(tmp_path / f"out{file.suffix}")
    expected = dx.apply(town(), frame.drop(index=out), **{**asked, "lat": "lat", "lon": "lon"})
    assert list(found["person"]) == list(expected["person"])
    assert list(found["report"]) == list(expected["report"])


def test_other_columns_of_files_with_geometry_lose_it(tmp_path: Path) -> None:
    given = people(3)
    write_geojson(tmp_path / "a.geojson", given)
    content = json.loads((tmp_path / "a.geojson").read_text())
    for beds, feature in zip((2, 0, 1), content["features"], strict=True):
        feature["properties"]["beds"] = beds
    (tmp_path / "a.geojson").write_text(json.dumps(content))
    done = dx.apply(counts(), tmp_path / "a.geojson", tmp_path / "b.geojson", columns=dx.Columns(label="beds"))
    found = json.loads((tmp_path / "b.geojson").read_text())
    assert all(feature["geometry"] is None for feature in found["features"])
    assert all(feature["properties"]["beds"] in counts().reports.labels for feature in found["features"])
    assert done.said["columns"]["left_out"] == ["geometry"]


def test_unsafe_outputs_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    pd.DataFrame(people()).to_csv(file, index=False)
    before = file.read_bytes()
    (tmp_path / "link.csv").symlink_to(file)
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "folder.csv").mkdir()
    for name, words in {
        "people.csv": "output: .* is the input",
        "link.csv": "output: .* is the input",
        "there.csv": "output: .* is there already; name another file, or replace it with force=True",
        "folder.csv": "output: .* is a folder",
        ".": "output: .* is a folder",
        "..": "output: .* is a folder",
        "/dev/null": "output: .* is a device or a pipe",
        "no/out.csv": "output: there is no folder",
        "out.xlsx": "output: .* has the ending '.xlsx'; give one of .csv",
    }.items():
        force = name != "there.csv"
        with pytest.raises(dx.SpecError, match=words):
            dx.apply(town(), file, dx.Output(tmp_path / name, force=force), lat="lat", lon="lon")
    assert file.read_bytes() == before
    dx.apply(town(), file, dx.Output(tmp_path / "there.csv", force=True), lat="lat", lon="lon")
    assert len((tmp_path / "there.csv").read_text().splitlines()) == 41
    with pytest.raises(dx.SpecError, match="output: is missing"):
        dx.apply(town(), file, lat="lat", lon="lon")
    with pytest.raises(dx.SpecError, match="output: is given for a frame"):
        dx.apply(town(), pd.DataFrame(people()), tmp_path / "out.csv", lat="lat", lon="lon")
    only(tmp_path, "people.csv", "link.csv", "there.csv", "there.csv.dxopt.json", "folder.csv")


@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
@pytest.mark.parametrize("name", ["out.csv", "out.csv.dxopt.json"])
@pytest.mark.parametrize("kind", ["ledger", "key", "notes"])
def test_ledgers_and_keys_are_never_replaced(kind: str, name: str, link: str | None, tmp_path: Path) -> None:
    pd.DataFrame(people()).to_csv(file := tmp_path / "people.csv", index=False)
    place = tmp_path / (name if link is None else "there")
    ledger = dx.Budgets.open(place if kind == "ledger" else tmp_path / "l", create=True, unit="per km", default=100)
    if kind == "key":
        dx.Key.new().save(place)
    elif kind == "notes":
        place.write_text('{"mine": 1}')
    if link is not None:
        getattr(tmp_path / name, link)(place)
    before = place.read_bytes()
    asked: dict[str, Any] = {"lat": "lat", "lon": "lon", "person": "person", "ledger": ledger}
    for force in (False, True)[: 1 if kind == "notes" else 2]:
        for data, output in (
            (file, dx.Output(tmp_path / "out.csv", force=force)),
            (pd.DataFrame(people()), dx.Output(sidecar=tmp_path / name, force=force)),
        ):
            with pytest.raises(dx.SpecError) as caught:
                dx.apply(town(), data, output, **asked)
            assert caught.value.field == "output"
    assert place.read_bytes() == before and not any(account.spent for account in ledger.accounts())
    ledger.close()
    if kind == "notes":
        dx.apply(town(), file, dx.Output(tmp_path / "out.csv", force=True), lat="lat", lon="lon")


@pytest.mark.parametrize("ledger", [False, True])
def test_a_loop_of_links_is_replaced(ledger: bool, tmp_path: Path) -> None:
    pd.DataFrame(people()).to_csv(file := tmp_path / "people.csv", index=False)
    (tmp_path / "out.csv").symlink_to(tmp_path / "out.csv")
    with dx.Budgets.open(tmp_path / "l", create=True, unit="per km", default=100) as budgets:
        asked: dict[str, Any] = {"person": "person", "ledger": budgets} if ledger else {}
        dx.apply(town(), file, tmp_path / "out.csv", lat="lat", lon="lon", **asked)
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 41


def test_a_run_at_a_time_writes_an_output(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    pd.DataFrame(people()).to_csv(file, index=False)
    part = tmp_path / ".out.csv.part"
    part.write_text("of a run that was killed")
    with locked(tmp_path / ".out.csv.part.lock"):
        with pytest.raises(dx.SpecError, match="output: another run is writing"):
            dx.apply(town(), file, tmp_path / "out.csv", lat="lat", lon="lon")
        assert part.read_text() == "of a run that was killed"
    dx.apply(town(), file, tmp_path / "out.csv", lat="lat", lon="lon")
    only(tmp_path, "people.csv", "out.csv", "out.csv.dxopt.json")
    assert "killed" not in (tmp_path / "out.csv").read_text()


def test_what_fails_while_it_writes_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "people.csv"
    pd.DataFrame(people()).to_csv(file, index=False)
    (tmp_path / "out.csv").write_text("earlier")

    def fails(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(csv_files.CsvSink, "write", fails)
    with pytest.raises(KeyboardInterrupt):
        dx.apply(town(), file, dx.Output(tmp_path / "out.csv", force=True), lat="lat", lon="lon")
    monkeypatch.setattr(csv_files.CsvSink, "write", lambda *_: os.write(os.open("/dev/full", os.O_WRONLY), b"x"))
    with pytest.raises(dx.SpecError, match=r"output: .* cannot be written: No space left"):
        dx.apply(town(), file, dx.Output(tmp_path / "out.csv", force=True), lat="lat", lon="lon")
    only(tmp_path, "people.csv", "out.csv")
    assert (tmp_path / "out.csv").read_text() == "earlier"


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_parquet_that_is_interrupted_ends_quietly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "people.parquet"
    pd.DataFrame(people()).to_parquet(file)
    monkeypatch.setattr(parquet_files, "ROWS", 4)

    def interrupted(line: str, share: float) -> None:
        if line.startswith("drawing, 12 "):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dx.apply(town(), file, tmp_path / "out.parquet", lat="lat", lon="lon", progress=interrupted)
    gc.collect()
    only(tmp_path, "people.parquet")


def test_a_file_that_changes_between_the_passes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    pd.DataFrame(people()).to_csv(file, index=False)

    def append(line: str, share: float) -> None:
        if line.startswith("checking"):
            with file.open("a") as stream:
                stream.write("new,45.7,1,4.8,\n")

    with pytest.raises(dx.SpecError, match="data: was changed while it was read"):
        dx.apply(town(), file, tmp_path / "out.csv", lat="lat", lon="lon", progress=append)
    only(tmp_path, "people.csv")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"", "data: is empty"),
        ("a.csv", b"lat,lon\n", "data: has no rows"),
        ("a.csv", b"lat,lon,lat\n1,2,3\n", "data: has two columns 'lat'"),
        ("a.csv", b"45.7,4.8,45.7\n45.7,4.8,1\n", "header: the first line looks like data"),
        ("a.csv", b"p093,1,45.71,4.81\n", "header: the first line looks like data"),
        ("a.csv", b"lat,lon\n45.7,4.8\n45.7\n", "data: line 3 has 1 cells where the first line has 2"),
        ("a.csv", b'lat,lon\n45.7,"4.8\n', "data: line 2 is no CSV"),
        ("a.csv", b"lat,lon\n45.7,4.8\xff\n", "data: is no text in UTF-8"),
        ("a.csv", "lat,lon\n".encode("utf-16"), "data: has no rows"),
        ("a.csv", b"latitude,lon\n1,2\n", "columns: there is no column 'lat'; choose among latitude, lon"),
        ("a.csv", b"lat,lon\n45.7,4.8\n45.7,x\n", r"data: 1 of 2 rows \(line 3\) is empty or no number"),
        ("a.parquet", b"PAR1", "data: is no Parquet, or damaged"),
        ("a.geojson", b"{", "data: is no GeoJSON FeatureCollection"),
        ("a.geojson", b"[1, 2]", "data: is no GeoJSON FeatureCollection"),
        ("a.geojson", b'{"features": [{"type": "Feature"}', "data: is no GeoJSON FeatureCollection"),
        ("a.geojson", b'{"features": []}', "data: is no GeoJSON FeatureCollection"),
        ("a.geojson", b'{"type": "FeatureCollection", "features": []}', "data: has no rows"),
        ("a.geojson", b'{"type": "FeatureCollection", "features": [3]}', "data: feature 1 is none"),
        (
            "a.geojson",
            b'{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": null}]}',
            r"data: 1 of 1 rows \(feature 1\) is empty or no point",
        ),
        (
            "a.geojson",
            b'{"type": "FeatureCollection", "crs": {"properties": {"name": "urn:ogc:def:crs:EPSG::3857"}},'
            b' "features": [{"type": "Feature", "geometry": {"type": "Point", "coordinates": [1, 2]}}]}',
            "geometry: is in another coordinate system",
        ),
        ("a.xlsx", b"x", "data: .* has the ending '.xlsx'; give one of .csv"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    (tmp_path / name).write_bytes(content)
    columns: dict[str, Any] = {} if name.endswith("json") else {"lat": "lat", "lon": "lon"}
    output = tmp_path / f"out{Path(name).suffix}"
    with pytest.raises(dx.SpecError, match=words) as found:
        dx.apply(town(), tmp_path / name, output, **columns)
    assert "\n" not in str(found.value)
    only(tmp_path, name)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    for name in ("none.csv", "pipe.csv", "folder.csv"):
        with pytest.raises(dx.SpecError, match="data: there is no file"):
            dx.apply(town(), tmp_path / name, tmp_path / "out.csv", lat="lat", lon="lon")


def test_geoparquet_of_other_kinds_is_refused(tmp_path: Path) -> None:
    given = people()
    frame = gpd.GeoDataFrame(geometry=gpd.points_from_xy(given["lon"], given["lat"]), crs=4326)
    frame.to_crs(2154).to_parquet(tmp_path / "lambert.parquet")
    several = frame.dissolve(by=np.arange(len(frame)) // 2)  # two points each
    several.to_parquet(tmp_path / "arrow.parquet", geometry_encoding="geoarrow")
    frame.set_crs(None, allow_override=True).to_parquet(tmp_path / "none.parquet")
    for name, words in {
        "lambert": r"geometry: is in another coordinate system \(EPSG:2154\); convert the data to WGS 84",
        "arrow": "geometry: is encoded as multipoint; write points, or WKB",
        "none": "geometry: is in another coordinate system",
    }.items():
        with pytest.raises(dx.SpecError, match=words):
            dx.apply(town(), tmp_path / f"{name}.parquet", tmp_path / "out.parquet")


@pytest.mark.parametrize(("library", "extra"), [("pyarrow", "frames"), ("shapely", "geo")])
def test_what_is_not_installed_is_named(
    tmp_path: Path, library: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = people()
    frame = gpd.GeoDataFrame(geometry=gpd.points_from_xy(given["lon"], given["lat"]), crs=4326)
    frame.to_parquet(tmp_path / "people.parquet")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(dx.UnsupportedError, match=rf"{library}: is not installed; install dxopt\[{extra}\]"):
        dx.apply(town(), tmp_path / "people.parquet", tmp_path / "out.parquet")
    only(tmp_path, "people.parquet")
