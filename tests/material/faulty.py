"""Values and places that are none, in every format and library that `dx.apply` reads."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.material.carriers import Carrier, Rows, arrow_of

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")
shapely = pytest.importorskip("shapely")
geopandas = pytest.importorskip("geopandas")


def _nested(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


VALUES: dict[str, Any] = {
    "none": None,
    "nan": math.nan,
    "infinite": math.inf,
    "400 digits": 10**400,
    "-400 digits": -(10**400),
    "5000 digits": 10**5000,
    "text of 400 digits": "9" * 400,
    "text of 5000 digits": "9" * 5000,
    "surrogate": "\ud800",
    "nul": "a\0b",
    "control": "\x1b[2J",
    "long": "x" * 200_000,
    "bytes": b"\xff",
    "true": True,
    "list": [1, 2],
    "deep": _nested(40),
    "empty object": {},
    "cell": 608754114343469055,
}


def _csv(folder: Path, rows: Rows) -> Path:
    def cell(value: Any) -> str:
        text = value if isinstance(value, str) else repr(value)
        return "" if value is None else f'"{text}"'

    lines = [",".join(rows), *(",".join(map(cell, line)) for line in zip(*rows.values(), strict=True))]
    (folder / "data.csv").write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    return folder / "data.csv"


def _geojson(folder: Path, rows: Rows) -> Path:
    entries = [dict(zip(rows, line, strict=True)) for line in zip(*rows.values(), strict=True)]
    features = [{"type": "Feature", "properties": entry, "geometry": None} for entry in entries]
    (folder / "data.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return folder / "data.geojson"


def _parquet(folder: Path, rows: Rows) -> Path:
    pq.write_table(arrow_of(rows), folder / "data.parquet")
    return folder / "data.parquet"


def _objects(folder: Path, rows: Rows) -> Any:
    return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in rows.items()})


FORMS: dict[str, Carrier] = {
    "csv": _csv,
    "geojson": _geojson,
    "parquet": _parquet,
    "pandas": lambda folder, rows: pd.DataFrame(rows),
    "pandas object": _objects,
    "pandas string": lambda folder, rows: pd.DataFrame(rows).astype({"person": "string", "other": "string"}),
    "polars": lambda folder, rows: pl.DataFrame(rows, strict=False),
    "polars object": lambda folder, rows: pl.DataFrame(
        {name: pl.Series(values, dtype=pl.Object) for name, values in rows.items()}
    ),
    "arrow": lambda folder, rows: arrow_of(rows),
}


def carried(form: str, folder: Path, rows: Rows) -> Any:
    """Return the rows in a form; None where that form has no such value."""
    try:
        return FORMS[form](folder, rows)
    except Exception:  # each library has errors of its own
        return None


POINT = shapely.Point(4.8, 45.7)
GEOMETRIES: dict[str, Any] = {
    "empty": shapely.Point(),
    "none": None,
    "nan": shapely.Point(math.nan, 1),
    "infinite": shapely.Point(math.inf, 1),
    "huge": shapely.Point(1e300, 1e300),
    "polygon": shapely.box(0, 0, 1, 1),
    "empty polygon": shapely.Polygon(),
    "empty points": shapely.MultiPoint(),
    "collection": shapely.GeometryCollection(),
}


def _frame(shapes: list[Any]) -> Any:
    return geopandas.GeoDataFrame({"person": [f"p{at}" for at in range(len(shapes))]}, geometry=shapes, crs=4326)


def _geoparquet(folder: Path, shapes: list[Any]) -> Path:
    _frame(shapes).to_parquet(folder / "data.parquet")
    return folder / "data.parquet"


def _points(folder: Path, shapes: list[Any]) -> Path:
    given = [None if shape is None else json.loads(shapely.to_geojson(shape)) for shape in shapes]
    return geojson_of_geometries(folder, [json.dumps(one) for one in given])


def geojson_of_geometries(folder: Path, geometries: list[str]) -> Path:
    """A file of GeoJSON whose geometries are written so."""
    features = (
        f'{{"type": "Feature", "properties": {{"person": "p{at}"}}, "geometry": {one}}}'
        for at, one in enumerate(geometries)
    )
    text = f'{{"type": "FeatureCollection", "features": [{", ".join(features)}]}}'
    (folder / "data.geojson").write_text(text, encoding="utf-8")
    return folder / "data.geojson"


PLACES: dict[str, Callable[[Path, list[Any]], Any]] = {
    "geopandas": lambda folder, shapes: _frame(shapes),
    "geoparquet": _geoparquet,
    "geojson": _points,
}

COORDINATES = {
    "400 digits": f"[{'9' * 400}, 45.7]",
    "400 digits last": f"[4.8, {'9' * 400}]",
    "5000 digits": f"[{'9' * 5000}, 45.7]",
    "1e400": "[1e400, 45.7]",
    "NaN": "[NaN, 45.7]",
    "Infinity": "[4.8, -Infinity]",
    "text": '["4.8", "45.7"]',
    "surrogate": '["\\ud800", 45.7]',
    "one": "[4.8]",
    "none": "[]",
    "null": "null",
    "nested": "[[4.8, 45.7]]",
    "true": "[true, false]",
    "object": "{}",
}
PROPERTIES = {
    "surrogate": '"\\ud800"',
    "5000 digits": "9" * 5000,
    "1e400": "1e400",
    "deep": "[" * 900 + "]" * 900,
    "deep objects": '{"a": ' * 300 + "1" + "}" * 300,
    "digits of coordinates": f"[{'9' * 400}, 1.5]",
    "text that is deep": f'"{"[" * 900}"',
}
_TYPES = [4, 5, 6, 7, 9, 11, 12, 1007, 3007, 0x20000007, 0x10007]
NESTED = {
    f"type {kind}, {order}": b"".join([struct.pack(f"{order}BII", order == "<", kind, 1)] * 20_000)
    + shapely.to_wkb(POINT)
    for kind in _TYPES
    for order in "<>"
}
"""Geometries in WKB within geometries, deeper than GEOS can read."""
METADATA = {
    "no object": b"[]",
    "no text": b"\xff",
    "deep": b"[" * 2_000,
    "long": b'{"x": "' + b"9" * 5_000_000 + b'"}',
    **{
        f"{part} {value!r}": json.dumps(
            {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"} | {part: value}}}
        ).encode()
        for part, values in {
            "encoding": ["\ud800", 3, None, [1]],
            "crs": ["x", 3, [], {"id": 3}, {"id": {"authority": ["a"], "code": "\ud800"}}, None],
            "covering": [3, [1], "x", {"bbox": 3}, {"bbox": {"xmin": 3}}, {"bbox": {"xmin": [["geometry"]]}}],
        }.items()
        for value in values
    },
    **{
        f"{part} {value!r}": json.dumps(
            {"primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}} | {part: value}
        ).encode()
        for part, values in {"primary_column": [3, None, [3], "x"], "columns": [3, [], {}, {"geometry": 3}]}.items()
        for value in values
    },
}


def corrupted(content: bytes, seed: int, number: int) -> Iterator[bytes]:
    """Yield copies of a file with bytes changed, cut off, filled at random, or with pages exchanged."""
    rng = np.random.default_rng(seed)
    used = np.flatnonzero(np.frombuffer(content, dtype=np.uint8))
    for at in range(number):
        found = bytearray(content)
        match at % 5:
            case 0:
                for place in rng.choice(len(found), rng.choice([1, 3, 20])):
                    found[place] = rng.integers(256)
            case 1:
                del found[rng.integers(len(found)) :]
            case 2:
                start, size = rng.integers(len(found)), rng.integers(1, 2_000)
                found[start : start + size] = rng.bytes(len(found[start : start + size]))
            case 3:
                for place in rng.choice(used, rng.choice([1, 2, 5])):
                    found[place] = rng.choice([0, 65, 128, 0xD8, 255])
            case 4:
                one, two = (
                    slice(4096 * page, 4096 * page + 4096) for page in rng.integers(len(found) // 4096, size=2)
                )
                found[one], found[two] = found[two], found[one]
        yield bytes(found)
