"""Files that hold more than was written, with a sidecar that names them as they are, do not hold."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import dxopt as dx
from dxopt.verify import verify_published
from tests.material.people import counts, people, town, write_geojson

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

HOME = [4.8, 45.7]


def said_to_be(file: Path) -> None:
    """Let the sidecar name the file as it is."""
    side = file.with_name(f"{file.name}.dxopt.json")
    said = json.loads(side.read_text(encoding="utf-8"))
    said["output"]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    said["output"]["bytes"] = file.stat().st_size
    side.write_text(json.dumps(said), encoding="utf-8")


def first(content: dict[str, Any]) -> dict[str, Any]:
    return content["features"][0]


MEMBERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "third coordinate": lambda content: first(content)["geometry"]["coordinates"].append(5.0),
    "member of the collection": lambda content: content.update(home=HOME),
    "member of a feature": lambda content: first(content).update(home=HOME),
    "member of a geometry": lambda content: first(content)["geometry"].update(home=HOME),
    "box of the collection": lambda content: content.update(bbox=[*HOME, *HOME]),
    "box of a feature": lambda content: first(content).update(bbox=[*HOME, *HOME]),
    "box of a geometry": lambda content: first(content)["geometry"].update(bbox=[*HOME, *HOME]),
    "id": lambda content: first(content).update(id={"home": HOME}),
    "system": lambda content: content.update(crs={"type": "name", "properties": {"name": "EPSG:3857"}}),
    "property": lambda content: first(content)["properties"].update(home=HOME),
    "another geometry": lambda content: first(content).update(geometry={"type": "LineString", "coordinates": [HOME]}),
}
TEXTS = {
    "coordinates twice": ('"coordinates":', '"coordinates": [4.8, 45.7], "coordinates":'),
    "properties twice": ('"properties":', '"properties": {"home": 1}, "properties":'),
    **{f"property {name}": ('"person": "[^"]*"', f'"person": {name}') for name in ("NaN", "Infinity", "-Infinity")},
    **{f"within {name}": ('"person": "[^"]*"', f'"person": [{name}]') for name in ("NaN", "Infinity")},
    "features twice": ('"features":', '"features": [], "features":'),
}


@pytest.mark.parametrize("name", ["untouched", *MEMBERS, *TEXTS])
def test_geojson(name: str, tmp_path: Path) -> None:
    table = town().save(tmp_path / "town.dxt")
    output = tmp_path / "out.geojson"
    dx.apply(town(), write_geojson(tmp_path / "in.geojson", people(8)), output, columns=dx.Columns(keep=["person"]))
    text = output.read_text(encoding="utf-8")
    if name in MEMBERS:
        content = json.loads(text)
        MEMBERS[name](content)
        output.write_text(json.dumps(content), encoding="utf-8")
    else:
        before, after = TEXTS.get(name, ("", ""))
        spaced = text.replace('":', '": ').replace('":  ', '": ')
        output.write_text(re.sub(before, after, spaced, count=1) if before else text, encoding="utf-8")
    said_to_be(output)
    assert verify_published(output, table).exit_code == (0 if name == "untouched" else 1)


def _negative(table: Any) -> Any:
    beds = [-0.0 if value == 0 else float(value) for value in table["beds"].to_pylist()]
    return table.set_column(table.schema.get_field_index("beds"), "beds", pa.array(beds))


def _first_field(table: Any, field: Any) -> Any:
    return table.cast(pa.schema([field, *list(table.schema)[1:]], metadata=table.schema.metadata))


TABLES: dict[str, Callable[[Any], Any]] = {
    "untouched": lambda table: table,
    "metadata of the file": lambda table: table.replace_schema_metadata({b"home": b"45.7, 4.8"}),
    "metadata of pandas": lambda table: table.replace_schema_metadata({b"pandas": b'{"attrs": {"home": 1}}'}),
    "metadata of a field": lambda table: _first_field(table, table.schema.field(0).with_metadata({b"home": b"1"})),
    "negative zeros": _negative,
    "another column": lambda table: table.append_column("home", pa.array(["45.7"] * len(table))),
}


@pytest.mark.parametrize("name", TABLES)
def test_parquet(name: str, tmp_path: Path) -> None:
    table = counts().save(tmp_path / "beds.dxt")
    output = tmp_path / "out.parquet"
    pd.DataFrame({"ward": ["a"] * 40, "beds": [0, 1] * 20}).to_parquet(tmp_path / "in.parquet")
    dx.apply(counts(), tmp_path / "in.parquet", output, column="beds")
    pq.write_table(TABLES[name](pq.read_table(output)), output)
    said_to_be(output)
    assert verify_published(output, table).exit_code == (0 if name == "untouched" else 1)
