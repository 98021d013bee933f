"""Columns that are kept or dropped, however they are listed; and messages about those that are missing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
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
}


@pytest.mark.parametrize("first", FIRST)
def test_no_message_quotes_a_first_line_that_may_be_data(tmp_path: Path, first: str) -> None:
    (tmp_path / "a.csv").write_text(f"{FIRST[first]}\nbob,two\n", encoding="utf-8")
    for columns in (dx.Columns(), dx.Columns(label="word"), dx.Columns(drop=["word"])):
        asked = None if columns.label else "word"
        with pytest.raises(dx.SpecError) as refused:
            dx.apply(counts(), tmp_path / "a.csv", tmp_path / "b.csv", column=asked, columns=columns)
        assert "XX" not in str(refused.value) and "45.701" not in str(refused.value)


def test_names_beyond_doubt_are_listed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("person,beds\nann,2\n", encoding="utf-8")
    for columns in (dx.Columns(drop=["persons"]), dx.Columns(keep=["persons"], header=True)):
        with pytest.raises(dx.SpecError, match="choose among person, beds"):
            dx.apply(counts(), tmp_path / "a.csv", tmp_path / "b.csv", column="beds", columns=columns)
