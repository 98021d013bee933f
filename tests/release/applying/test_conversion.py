"""Outputs in another format than the data: what they keep, what they refuse, and that they are proven again."""

from __future__ import annotations

import csv
import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dxopt as dx
from dxopt.verify import verify_published

PLACES = [[45.5, -73.6], [45.51, -73.61], [45.52, -73.62]]
CSV, GEOJSON, PARQUET = "people.csv", "people.geojson", "people.parquet"
NAMED: dict[str, Any] = {"lat": "lat", "lon": "lon"}
WHEN = dt.datetime(2024, 1, 2, 3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("conversion")
    space = dx.geo.points(PLACES, labels=["a", "b", "c"])
    dx.integer_table(dx.classic.exponential(space, epsilon=1.0)).save(where / "town.dxt")
    (where / CSV).write_text("who;lat;lon;n\nann;45,5;-73,6;007\n;;;\nbob;45,51;-73,61;\n", encoding="utf-8")
    features = [
        {"type": "Feature", "properties": given, "geometry": {"type": "Point", "coordinates": place[::-1]}}
        for given, place in zip(
            [{"who": "ann", "n": 1, "x": 1.5, "ok": True}, {"who": "bob", "x": 2}], PLACES, strict=False
        )
    ]
    (where / GEOJSON).write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    columns = {"lat": [45.5, 45.51], "lon": [-73.6, -73.61], "who": ["ann", None], "at": [WHEN, None], "n": [1, None]}
    pq.write_table(pa.table(columns), where / PARQUET)
    return where


def applied(folder: Path, data: str, output: Path, **asked: Any) -> dx.Applied:
    where = {} if data == GEOJSON else NAMED
    return dx.apply(folder / "town.dxt", folder / data, output, unusable="drop", **where, **asked)


def kept(file: Path) -> list[dict[str, Any]]:
    """Rows of a file without what is the same in all formats."""
    if file.suffix in (".csv", ".tsv"):
        with file.open(encoding="utf-8", newline="") as stream:
            rows: list[Any] = list(csv.DictReader(stream, delimiter="\t" if file.suffix == ".tsv" else ","))
    elif file.suffix == ".geojson":
        rows = [one["properties"] for one in json.loads(file.read_text(encoding="utf-8"))["features"]]
    else:
        rows = pq.read_table(file).to_pylist()
    made = ("lat", "lon", "geometry", "report", "epsilon", "coordinateUncertaintyInMeters", "dataGeneralizations")
    return [{name: value for name, value in row.items() if name not in made} for row in rows]


TEXTS = [{"who": "ann", "n": "007"}, {"who": "bob", "n": ""}]
OF_GEOJSON = [{"who": "ann", "n": "1", "x": "1.5", "ok": "true"}, {"who": "bob", "n": "", "x": "2", "ok": ""}]
TYPED = [{"who": "ann", "n": 1, "x": 1.5, "ok": True}, {"who": "bob", "n": None, "x": 2.0, "ok": None}]
TIMED = [{"who": "ann", "at": "2024-01-02T03:00:00", "n": 1}, {"who": None, "at": None, "n": None}]
TIMED_TEXTS = [{"who": "ann", "at": "2024-01-02T03:00:00", "n": "1"}, {"who": "", "at": "", "n": ""}]


@pytest.mark.parametrize(
    ("data", "output", "made", "rows"),
    [
        (CSV, "out.parquet", ("lat", "lon"), TEXTS),
        (CSV, "out.geoparquet", ("geometry",), TEXTS),
        (CSV, "out.geojson", ("geometry",), TEXTS),
        (GEOJSON, "out.csv", ("lat", "lon"), OF_GEOJSON),
        (GEOJSON, "out.tsv", ("lat", "lon"), OF_GEOJSON),
        (GEOJSON, "out.parquet", ("geometry",), TYPED),
        (PARQUET, "out.csv", ("lat", "lon"), TIMED_TEXTS),
        (PARQUET, "out.geojson", ("geometry",), TIMED),
    ],
)
def test_rows_are_kept_and_proven_again(
    folder: Path, tmp_path: Path, data: str, output: str, made: tuple[str, ...], rows: list[dict[str, Any]]
) -> None:
    done = applied(folder, data, tmp_path / output)
    assert kept(done.output) == rows
    assert done.record.columns.made[: len(made)] == made
    assert set(done.record.columns.kept) == {*rows[0]}
    # what is counted are the lines of the data
    counted = {CSV: ("line", [3]), GEOJSON: ("feature", []), PARQUET: ("row", [])}
    assert (done.record.rows.noun, done.dropped) == counted[data]
    verdict = verify_published(done.output, folder / "town.dxt")
    assert verdict.exit_code == 0, verdict.checks


def test_points_are_those_of_the_reports(folder: Path, tmp_path: Path) -> None:
    done = applied(folder, CSV, tmp_path / "out.geojson")
    for feature in json.loads(done.output.read_text(encoding="utf-8"))["features"]:
        place = PLACES["abc".index(feature["properties"]["report"])]
        assert feature["geometry"]["coordinates"] == place[::-1]


def test_another_point_is_no_report(folder: Path, tmp_path: Path) -> None:
    done = applied(folder, CSV, tmp_path / "out.geojson")
    text = done.output.read_text(encoding="utf-8")
    done.output.write_text(text.replace("-73.6", "-73.7", 1), encoding="utf-8")
    verdict = verify_published(done.output, folder / "town.dxt")
    assert {check.name for check in verdict.checks if check.status == "fails"} >= {"file", "reports"}


@pytest.mark.parametrize(
    ("columns", "output"),
    [
        ({"tags": [["a"], ["b"]]}, "out.csv"),
        ({"raw": [b"a", b"b"]}, "out.geojson"),
        ({"x": [float("nan"), 1.0]}, "out.geojson"),
        ({"long": [dt.timedelta(1), None]}, "out.csv"),
    ],
)
def test_what_an_output_cannot_hold_is_refused(folder: Path, tmp_path: Path, columns: dict, output: str) -> None:
    file = tmp_path / "data.parquet"
    pq.write_table(pa.table({"lat": [45.5, 45.5], "lon": [-73.6, -73.6], "who": ["a", "b"], **columns}), file)
    with pytest.raises(dx.SpecError) as caught:
        dx.apply(folder / "town.dxt", file, tmp_path / output, **NAMED)
    assert caught.value.field == "output" and next(iter(columns)) in caught.value.wrong
    assert [path.name for path in tmp_path.iterdir()] == ["data.parquet"]
    dx.apply(folder / "town.dxt", file, tmp_path / output, columns=dx.Columns(drop=[*columns]), **NAMED)


@pytest.mark.parametrize("values", [[1, "one"], [True, 2], [2**53 + 1, 0.5], [2**63, 1]])
def test_values_of_several_types_are_no_column_of_parquet(folder: Path, tmp_path: Path, values: list) -> None:
    point = {"type": "Point", "coordinates": [-73.6, 45.5]}
    features = [{"type": "Feature", "properties": {"n": value}, "geometry": point} for value in values]
    (tmp_path / "in.json").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    with pytest.raises(dx.SpecError, match=r"^output: .*'n'"):
        dx.apply(folder / "town.dxt", tmp_path / "in.json", tmp_path / "out.parquet")


def test_a_column_is_not_overwritten_by_reports(folder: Path, tmp_path: Path) -> None:
    point = {"type": "Point", "coordinates": [-73.6, 45.5]}
    feature = {"type": "Feature", "properties": {"lat": 1}, "geometry": point}
    (tmp_path / "in.json").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    drop = dx.Columns(keep=["lat"])
    with pytest.raises(dx.SpecError, match=r"^data: has a column 'lat'"):
        dx.apply(folder / "town.dxt", tmp_path / "in.json", tmp_path / "out.csv", columns=drop)


def test_formulas_are_neutralised_in_csv_alone(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(dx.SpecError, match=r"^formulas: "):
        applied(folder, CSV, tmp_path / "out.geojson", columns=dx.Columns(formulas="neutralise"))
