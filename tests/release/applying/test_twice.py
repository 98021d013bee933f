"""Rows that come twice: told in every format, but never where equal rows are natural or persons are counted."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.release.applying import formats as chunks
from dxopt.release.applying import frames, parquet_files
from dxopt.release.applying import row_checks as twice
from tests.material.people import counts, town

pd = pytest.importorskip("pandas")
gpd = pytest.importorskip("geopandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

WHERE = {"lat": "lat", "lon": "lon"}
KINDS = ["csv", "parquet", "geoparquet", "geojson", "pandas", "polars", "arrow", "geopandas"]


@pytest.fixture(params=[2, chunks.ROWS], autouse=True)
def block(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are looked at in twos, or all at once."""
    for module in (chunks, frames, parquet_files):
        monkeypatch.setattr(module, "ROWS", request.param)


def told(*given: Any, **options: Any) -> list[str]:
    """The warnings of rows that come twice."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        dx.apply(*given, **options)
    found = [one for one in seen if getattr(one.message, "kind", "") == "rows_twice"]
    assert all(one.filename == __file__ for one in found)
    return [str(one.message) for one in found]


def applied(folder: Path, kind: str, columns: dict[str, list[Any]], **options: Any) -> list[str]:
    """The warnings for such people in one of the formats."""
    frame = pd.DataFrame(columns)
    file, output = folder / f"people.{kind}", folder / f"out.{kind}"
    places = {} if kind.startswith("geo") else WHERE
    if kind.startswith("geo"):
        points = gpd.points_from_xy(frame["lon"], frame["lat"], crs=4326)
        frame = gpd.GeoDataFrame(frame.drop(columns=["lat", "lon"]), geometry=points)
    match kind:
        case "csv":
            frame.to_csv(file, index=False)
        case "parquet":
            frame.to_parquet(file, index=False)
        case "geoparquet":
            frame.to_parquet(file, index=False, write_covering_bbox=True)
        case "geojson":
            content = json.loads(frame.to_json(drop_id=True))
            file.write_text(json.dumps(content), encoding="utf-8")
        case _:
            other = {"polars": pl.from_pandas, "arrow": pa.Table.from_pandas}.get(kind, lambda same: same)
            return told(town(), other(frame), **places, **options)
    return told(town(), file, dx.Output(output, force=True), **places, **options)


def five() -> dict[str, list[Any]]:
    """The last two rows are the first and the third again; the second and the third differ in one digit."""
    place = [0, 1, 2, 0, 2]
    return {
        "lat": [[45.70, 45.71, 45.71][row] for row in place],
        "lon": [4.8] * 5,
        "seen": [[1 << 62, (1 << 62) + 1, 7][row] for row in place],
        "day": [["mon", None, "tue"][row] for row in place],
    }


@pytest.mark.parametrize("kind", KINDS)
def test_equal_rows_are_counted_in_every_format(tmp_path: Path, kind: str) -> None:
    what = {"csv": "line", "geojson": "feature"}.get(kind, "row")
    assert applied(tmp_path, kind, five()) == [
        f"data: 2 {what}s are the same as earlier ones in every column: each gets a report of its own, and n reports "
        f"of a secret protect it n times less; often data that were appended or joined twice: remove such {what}s, "
        "unless each is somebody else's"
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_differ_in_one_column_are_others(tmp_path: Path, kind: str) -> None:
    for number in ([1, 2, 3, 4, 5], [-1, -2, 0, 1, 2], [(1 << 62) + row for row in range(5)]):
        assert applied(tmp_path, kind, {**five(), "seen": number}) == []
    assert applied(tmp_path, kind, {**five(), "day": [None, "", "a", "b", "c"]}) == []
    assert applied(tmp_path, kind, {**five(), "lat": [45.70, 45.71, 45.71, 45.70 + 1e-9, 45.71 + 1e-9]}) == []


@pytest.mark.parametrize("kind", KINDS)
def test_equal_positions_alone_are_natural(tmp_path: Path, kind: str) -> None:
    bare = {name: five()[name] for name in ("lat", "lon")}
    assert applied(tmp_path, kind, bare) == []
    assert len(applied(tmp_path, kind, {**bare, "kind": ["tree"] * 5})) == 1


def test_counts_alone_are_natural_and_wards_are_not() -> None:
    frame = pd.DataFrame({"beds": [3, 3, 3]})
    assert told(counts(), frame, column="beds", within=0) == []
    words = told(counts(), frame.assign(ward=["a", "a", "b"]), column="beds", within=0)
    assert len(words) == 1 and words[0].startswith("data: 1 row is the same as an earlier one in every column: ")


def test_an_index_with_a_name_says_whose_rows_they_are() -> None:
    frame = pd.DataFrame({"beds": [3, 3], "kind": ["x", "x"]}, index=pd.Index(["a", "b"], name="ward"))
    assert told(counts(), frame, column="beds") == []
    again = frame.set_axis(pd.Index(["a", "a"], name="ward"))
    assert len(told(counts(), again[["beds"]], column="beds")) == 1
    assert len(told(counts(), frame.set_axis([4, 7]), column="beds")) == 1


def test_persons_are_never_warned_of(tmp_path: Path) -> None:
    frame = pd.DataFrame({"who": ["ann", "ann"], "beds": [3, 3]})
    keyed: dict[str, Any] = {"key": dx.Key(bytes(range(32))), "person": "who", "release": "r"}
    assert told(counts(), frame, column="beds", **keyed) == []
    with dx.Budgets.open(tmp_path / "l.sqlite", create=True, unit="per unit", default=9) as ledger:
        assert told(counts(), frame, column="beds", person="who", ledger=ledger) == []
        frame.to_csv(tmp_path / "a.csv", index=False)
        files = (tmp_path / "a.csv", tmp_path / "b.csv")
        assert told(counts(), *files, column="beds", person="who", ledger=ledger) == []
    assert len(told(counts(), frame, column="beds")) == 1


def test_rows_that_are_left_out_do_not_count(tmp_path: Path) -> None:
    out = {**five(), "lat": [50.0, 45.71, 45.70, 50.0, 45.72]}
    assert applied(tmp_path, "pandas", out, outside="drop") == []
    assert applied(tmp_path, "csv", out, outside="drop") == []


def test_times_lists_and_rare_kinds_of_columns_are_compared(tmp_path: Path) -> None:
    times = pd.to_datetime(["2020-01-01", None, "2020-01-02"])
    columns = {
        "time": times,
        "zoned": times.tz_localize("Europe/Paris"),
        "tags": [[1, 2], None, [1, 3]],
        "sort": pd.Categorical(["x", None, "y"]),
        "number": pd.array([0, None, 2], dtype="Int64"),
        "half": np.array([0, np.nan, 2], dtype="float32"),
        "sure": [True, None, False],
    }
    for name, column in columns.items():
        frame = pd.DataFrame({"beds": [3, 3, 3], name: column})
        for some, count in ((frame, 0), (frame.loc[[0, 1, 2, 1, 0]], 2)):
            some.to_parquet(tmp_path / "a.parquet", index=False)
            files = (tmp_path / "a.parquet", dx.Output(tmp_path / "b.parquet", force=True))
            found = [*told(counts(), some, column="beds"), *told(counts(), *files, column="beds")]
            assert [words[:7] for words in found] == ([f"data: {count}"] * 2 if count else []), name


def test_whole_numbers_in_two_columns_are_told_apart() -> None:
    east, north = np.meshgrid(np.arange(120.0), np.arange(120.0))
    frame = pd.DataFrame({"beds": 3, "east": east.ravel(), "north": north.ravel()})
    assert told(counts(), frame, column="beds") == []


def test_so_many_rows_are_looked_at_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twice, "LOOKED_AT", 3)
    frame = pd.DataFrame({"beds": [3] * 5, "ward": ["a", "b", "a", "a", "a"]})
    assert "1 row is the same as an earlier one in every column among the first 3: " in told(
        counts(), frame, column="beds"
    )[0]  # fmt: skip
    assert "among" not in told(counts(), frame[:3], column="beds")[0]


def test_a_command_prints_it_and_an_error_leaves_nothing(tmp_path: Path) -> None:
    counts().save(tmp_path / "beds.dxt")
    (tmp_path / "a.csv").write_text("ward,beds\na,3\na,3\n", encoding="utf-8")
    given = ["apply", str(tmp_path / "beds.dxt"), str(tmp_path / "a.csv"), "-o", str(tmp_path / "b.csv")]
    done = CliRunner().invoke(app, [*given, "--column", "beds", "--within", "0"])
    assert done.exit_code == 0 and done.stderr.startswith("warning: data: 1 line is the same as an earlier one")
    with warnings.catch_warnings():
        warnings.simplefilter("error", dx.PlausibilityWarning)
        with pytest.raises(dx.PlausibilityWarning, match="1 line is the same"):
            dx.apply(counts(), tmp_path / "a.csv", tmp_path / "c.csv", column="beds")
    assert {path.name for path in tmp_path.iterdir()} == {"beds.dxt", "a.csv", "b.csv", "b.csv.dxopt.json"}
