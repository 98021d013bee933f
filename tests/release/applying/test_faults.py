"""Values, places and metadata that are none, in every format: one line, and nothing is paid for what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from tests.material import faulty
from tests.material.people import counts, town

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore")
OUTSIDE = ("refuse", "nearest", "drop")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[dx.Budgets]:
    """A ledger that pays for everything."""
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=1000) as ledger:
        ledger._file._db.execute("PRAGMA synchronous = OFF")  # pyright: ignore[reportPrivateUsage]
        yield ledger


def applied(table: dx.IntegerTable, data: Any, ledger: dx.Budgets, **options: Any) -> str:
    """The field of the error, or "" if the data was published; whatever was refused has cost nothing."""
    output = data.with_name(f"out{data.suffix}") if isinstance(data, Path) else None
    before = ledger.totals().rows
    try:
        dx.apply(table, data, output, person="person", ledger=ledger, **options)
    except dx.SpecError as error:
        assert str(error).isprintable() and len(str(error)) < 5_000
        assert ledger.totals().rows == before
        assert output is None or not output.exists()
        return error.field
    assert ledger.totals().rows > before
    return ""


@pytest.mark.parametrize(("form", "column"), [*product(faulty.FORMS, ["person", "beds", "other"])])
def test_values(form: str, column: str, tmp_path: Path, ledger: dx.Budgets) -> None:
    tried = 0
    for number, value in enumerate(faulty.VALUES.values()):
        rows: dict[str, list[Any]] = {"person": [*"abcd"], "beds": [1, 2, 3, 4], "other": [*"wxyz"]}
        rows[column][1] = value
        (folder := tmp_path / str(number)).mkdir()
        if (data := faulty.carried(form, folder, rows)) is not None:
            tried += 1
            assert applied(counts(), data, ledger, column="beds") in ("", "data", "person")
    assert tried


@pytest.mark.parametrize(("form", "outside"), [*product(faulty.PLACES, OUTSIDE)])
def test_points(form: str, outside: str, tmp_path: Path, ledger: dx.Budgets) -> None:
    for number, (name, shape) in enumerate(faulty.GEOMETRIES.items()):
        (folder := tmp_path / str(number)).mkdir()
        data = faulty.PLACES[form](folder, [faulty.POINT, shape, faulty.POINT])
        found = applied(town(), data, ledger, outside=outside)
        assert (found == "") == (outside == "drop"), name


@pytest.mark.parametrize("form", faulty.PLACES)
def test_nothing_but_empty_points(form: str, tmp_path: Path, ledger: dx.Budgets) -> None:
    data = faulty.PLACES[form](tmp_path, [faulty.GEOMETRIES["empty"]])
    assert applied(town(), data, ledger, outside="drop") == "data"


@pytest.mark.parametrize(("name", "outside"), [*product(faulty.COORDINATES, OUTSIDE)])
def test_coordinates_of_geojson(name: str, outside: str, tmp_path: Path, ledger: dx.Budgets) -> None:
    good = '{"type": "Point", "coordinates": [4.8, 45.7]}'
    bad = f'{{"type": "Point", "coordinates": {faulty.COORDINATES[name]}}}'
    data = faulty.geojson_of_geometries(tmp_path, [good, bad, good])
    found = applied(town(), data, ledger, outside=outside)
    assert found == ("" if outside == "drop" and name != "5000 digits" else "data")


@pytest.mark.parametrize(("name", "named"), [*product(faulty.PROPERTIES, [False, True])])
def test_properties_of_geojson(name: str, named: bool, tmp_path: Path, ledger: dx.Budgets) -> None:
    data = faulty.geojson_of_geometries(tmp_path, ['{"type": "Point", "coordinates": [4.8, 45.7]}'])
    text = data.read_text(encoding="utf-8")
    data.write_text(text.replace('"person"', f'"q": {faulty.PROPERTIES[name]}, "person"'), encoding="utf-8")
    columns = dx.Columns(keep=["q"] if named else None)
    assert applied(town(), data, ledger, columns=columns) in ("", "data")


@pytest.mark.parametrize("name", faulty.METADATA)
def test_metadata_of_geoparquet(name: str, tmp_path: Path, ledger: dx.Budgets) -> None:
    points = pa.array([faulty.shapely.to_wkb(faulty.POINT)])
    table = pa.table({"person": ["a"], "geometry": points}).replace_schema_metadata({b"geo": faulty.METADATA[name]})
    faulty.pq.write_table(table, tmp_path / "data.parquet")
    assert applied(town(), tmp_path / "data.parquet", ledger) in ("", "data", "geometry", "columns")


@pytest.mark.parametrize(("name", "text"), [*product(faulty.NESTED, [False, True])])
def test_deep_geometries_are_no_points(name: str, text: bool, tmp_path: Path, ledger: dx.Budgets) -> None:
    shapes = [faulty.NESTED[name], faulty.shapely.to_wkb(faulty.POINT)]
    column = pa.array([shape.hex() for shape in shapes] if text else shapes)
    meant = json.dumps({"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}})
    rows = pa.table({"person": ["a", "b"], "geometry": column}).replace_schema_metadata({"geo": meant})
    faulty.pq.write_table(rows, tmp_path / "data.parquet")
    assert applied(town(), tmp_path / "data.parquet", ledger) == "data"
    assert applied(town(), tmp_path / "data.parquet", ledger, outside="drop") == ""


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300, "/".join(["y" * 200] * 30), ""])
@pytest.mark.parametrize("field", ["data", "output", "sidecar", "table", "ledger", "key"])
def test_names_that_no_file_has(name: str, field: str, tmp_path: Path) -> None:
    good = tmp_path / "data.csv"
    good.write_text("person,beds\na,1\n", encoding="utf-8")
    bad = f"{name}.csv" if name and field in ("data", "output") else name
    calls = {
        "data": lambda: dx.apply(counts(), bad, tmp_path / "out.csv", column="beds"),
        "output": lambda: dx.apply(counts(), good, bad, column="beds"),
        "sidecar": lambda: dx.apply(
            counts(), faulty.pd.DataFrame({"beds": [1]}), dx.Output(sidecar=bad), column="beds"
        ),
        "table": lambda: dx.IntegerTable.load(bad),
        "ledger": lambda: dx.Budgets.open(bad, create=True),
        "key": lambda: dx.Key.load(bad),
    }
    with pytest.raises(dx.SpecError) as caught:
        calls[field]()
    assert str(caught.value).isprintable()
