"""Columns that are kept or dropped, however they are listed; and messages about those that are missing."""

from __future__ import annotations

import shlex
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from tests.material.carriers import TEXT, Carrier
from tests.material.people import counts

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

LISTS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "dict": dict.fromkeys,
    "keys": lambda names: dict.fromkeys(names).keys(),
    "deque": deque,
    "generator": lambda names: (name for name in names),
    "map": lambda names: map(str, names),
    "filter": lambda names: filter(None, names),
    "iterator": iter,
    "NumPy": np.array,
    "index": pd.Index,
    "Series": pd.Series,
    "Polars": pl.Series,
}
ROWS = {"person": ["ann", "bob", "cem"], "beds": [1, 2, 4]}


def columns_of(folder: Path, carrier: Carrier, columns: dx.Columns) -> list[str]:
    """The columns of the output for these people."""
    data = carrier(folder, ROWS)
    if not isinstance(data, Path):
        return list(dx.apply(counts(), data, column="beds", columns=columns).columns)
    done = dx.apply(counts(), data, data.with_stem("out"), column="beds", columns=columns)
    return [*done.said["columns"]["kept"]]


@pytest.mark.parametrize("kind", ["csv", "geojson", "parquet", "pandas object", "polars"])
@pytest.mark.parametrize("form", LISTS)
def test_columns_are_listed_in_any_way(tmp_path: Path, form: str, kind: str) -> None:
    listed = LISTS[form]
    assert "person" not in columns_of(tmp_path, TEXT[kind], dx.Columns(drop=listed(["person"])))
    (tmp_path / "keep").mkdir()
    assert "person" in columns_of(tmp_path / "keep", TEXT[kind], dx.Columns(keep=listed(["person"])))


@pytest.mark.parametrize("field", ["keep", "drop"])
@pytest.mark.parametrize("given", [0, False, 1.5, b"person", "person", [["person"]], [b"person"], [None], [1]])
def test_what_names_no_columns_is_refused(field: str, given: Any) -> None:
    with pytest.raises(dx.SpecError) as refused:
        dx.Columns(**{field: given})
    assert refused.value.field == field
    assert dx.Columns(drop=None).drop == ()  # pyright: ignore[reportArgumentType]


FIRST = {
    "no header": "ann,XX",
    "JSON lines": '{"lat":45.701,"XX":4.812}',
    "blanks": "ann 45.701 XX",
    "colons": "ann:45.701:XX",
    "a shape": "ann,POINT (4.812 XX)",
    "a number, and words above numbers": "ann,45.701,no fix,XX",
}


@pytest.mark.parametrize("first", FIRST)
def test_no_message_quotes_a_first_line_that_may_be_data(tmp_path: Path, first: str) -> None:
    (tmp_path / "a.csv").write_text(f"{FIRST[first]}\nbob,two,4.81,home\n", encoding="utf-8")
    for columns in (dx.Columns(), dx.Columns(label="word"), dx.Columns(drop=["word"]), dx.Columns(header=True)):
        asked = None if columns.label else "word"
        with pytest.raises(dx.SpecError) as refused:
            dx.apply(counts(), tmp_path / "a.csv", tmp_path / "b.csv", column=asked, columns=columns)
        assert "XX" not in str(refused.value) and "45.701" not in str(refused.value)


MARKS = [
    "\\N",
    "#N/A",
    "n.a.",
    "k.A.",
    "(null)",
    ".",
    "--",
    "*",
    "1_0",
    "0x3",
    "NULL",
    "N/A",
    "-",
    "?",
    "unknown",
    "<NA>",
]


@pytest.mark.parametrize("mark", MARKS)
def test_no_message_quotes_a_first_line_whose_number_is_missing(tmp_path: Path, mark: str) -> None:
    (tmp_path / "a.csv").write_text(f"ann XX,{mark}\nbob,3\ncem,4\n", encoding="utf-8")
    for header in (None, True):
        with pytest.raises(dx.SpecError) as refused:
            columns = dx.Columns(header=header)
            dx.apply(counts(), tmp_path / "a.csv", tmp_path / "b.csv", column="beds", columns=columns)
        assert "XX" not in str(refused.value)


PLACES = [
    "891f902e627ffff",
    "617548414773100543",
    "0x891F902E627FFFF",
    "POINT (4.8 45.7)",
    "8FQ6PR2G+3X",
    "geo:45.7,4.8",
]


@pytest.mark.parametrize("kind", ["csv", "parquet", "geojson", "frame"])
@pytest.mark.parametrize("place", PLACES)
def test_a_place_is_no_name_of_a_column(tmp_path: Path, place: str, kind: str) -> None:
    for names in (["person", place], [place, "beds"]):
        rows = dict(zip(names, ROWS.values(), strict=True))
        data = pd.DataFrame(rows) if kind == "frame" else TEXT[kind](tmp_path, rows)
        output = () if kind == "frame" else (data.with_stem("out"),)
        with pytest.raises(dx.SpecError) as refused:
            dx.apply(counts(), data, *output, column=names[1])
        assert refused.value.field == "header"
        assert place not in str(refused.value)


def test_names_beyond_doubt_are_listed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("person,beds\nann,2\n", encoding="utf-8")
    for columns in (dx.Columns(drop=["persons"]), dx.Columns(keep=["persons"], header=True)):
        with pytest.raises(dx.SpecError, match="choose among person, beds"):
            dx.apply(counts(), tmp_path / "a.csv", tmp_path / "b.csv", column="beds", columns=columns)


REPORTED = ["report", "epsilon", "delta", "uncertainty", "worst_case_uncertainty", "dataGeneralizations"]
REPORTED += ["coordinateUncertaintyInMeters", "worstCaseUncertaintyInMeters"]


@pytest.mark.parametrize("lean", [False, True])
@pytest.mark.parametrize("kind", ["csv", "geojson", "parquet", "pandas object", "polars"])
@pytest.mark.parametrize("name", REPORTED)
def test_no_column_of_the_data_passes_for_one_of_reports(tmp_path: Path, name: str, kind: str, lean: bool) -> None:
    data = TEXT[kind](tmp_path, {**ROWS, name: [7, 8, 9]})
    output = (data.with_stem("out"),) if isinstance(data, Path) else ()

    def made(**columns: Any) -> None:
        dx.apply(counts(), data, *output, column="beds", columns=dx.Columns(lean=lean, **columns))

    with pytest.raises(dx.SpecError) as refused:
        made()
    assert refused.value.options == {"drop"}
    made(drop=[name])


def test_a_column_of_such_a_name_is_kept_where_it_is_named_and_not_made() -> None:
    frame = pd.DataFrame({**ROWS, "delta": [7, 8, 9]})
    frame.columns.name = "of somebody"
    found = dx.apply(counts(), frame, column="beds", columns=dx.Columns(keep=["delta"]))
    assert found["delta"].tolist() == [7, 8, 9] and found.columns.name is None


@pytest.mark.parametrize("names", [["c"], ["c", "d"], ["a b", "it's"]])
def test_the_advice_to_drop_columns_works_on_the_command_line(tmp_path: Path, names: list[str]) -> None:
    counts().save(tmp_path / "beds.dxt")
    pd.DataFrame({**ROWS, **dict.fromkeys(names, ROWS["beds"])}).to_csv(tmp_path / "a.csv", index=False)
    asked = ["apply", str(tmp_path / "beds.dxt"), str(tmp_path / "a.csv"), "-o", str(tmp_path / "b.csv")]
    refused = CliRunner().invoke(app, [*asked, "--column", "beds"], env={"COLUMNS": "500"})
    advice = refused.stderr[refused.stderr.index("--drop") :].partition(", or ")[0]
    done = CliRunner().invoke(app, [*asked, "--column", "beds", *shlex.split(advice)])
    assert (refused.exit_code, done.exit_code) == (2, 0)
