"""The same rows in every format, library and type of column that `dx.apply` reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

Rows = dict[str, list[Any]]
Carrier = Callable[[Path, Rows], Any]


def csv_of(folder: Path, rows: Rows) -> Path:
    """A file of CSV, with numbers as Python writes them and nothing for missing values."""
    file = folder / "data.csv"
    lines = zip(*rows.values(), strict=True)
    text = "\n".join(",".join("" if cell is None else f'"{cell}"' for cell in line) for line in lines)
    file.write_text(f"{','.join(rows)}\n{text}\n", encoding="utf-8")
    return file


def arrow_of(rows: Rows, kind: Any = None) -> Any:
    """A table of Arrow whose persons have a type."""
    return pa.table({name: pa.array(values, kind if name == "person" else None) for name, values in rows.items()})


def parquet_of(kind: Any = None) -> Carrier:
    """A file of Parquet whose persons have a type."""

    def make(folder: Path, rows: Rows) -> Path:
        pq.write_table(arrow_of(rows, kind), folder / "data.parquet")
        return folder / "data.parquet"

    return make


def geojson_of(folder: Path, rows: Rows) -> Path:
    """A file of GeoJSON without geometry."""
    entries = [dict(zip(rows, line, strict=True)) for line in zip(*rows.values(), strict=True)]
    features = [{"type": "Feature", "properties": entry, "geometry": None} for entry in entries]
    file = folder / "data.geojson"
    file.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return file


def pandas_of(kind: Any = None, *, index: bool = False) -> Carrier:
    """A frame of pandas whose persons have a type, or are the index."""

    def make(folder: Path, rows: Rows) -> Any:
        frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in rows.items()})
        frame["beds"] = frame["beds"].astype(float)
        frame["person"] = frame["person"] if kind is None else frame["person"].astype(kind)
        return frame.set_index("person") if index else frame

    return make


def polars_of(kind: Any = None) -> Carrier:
    """A frame of Polars whose persons have a type."""

    def make(folder: Path, rows: Rows) -> Any:
        kept = {name: values for name, values in rows.items() if name != "person"}
        return pl.DataFrame(kept).insert_column(0, pl.Series("person", rows["person"], dtype=kind, strict=False))

    return make


TEXT: dict[str, Carrier] = {
    "csv": csv_of,
    "geojson": geojson_of,
    "parquet": parquet_of(),
    "parquet large": parquet_of(pa.large_string()),
    "parquet dictionary": parquet_of(pa.dictionary(pa.int32(), pa.string())),
    "pandas object": pandas_of(),
    "pandas string": pandas_of("string"),
    "pandas category": pandas_of("category"),
    "pandas index": pandas_of(index=True),
    "polars": polars_of(pl.String),
    "polars category": polars_of(pl.Categorical),
    "arrow": lambda folder, rows: arrow_of(rows),
    "arrow dictionary": lambda folder, rows: arrow_of(rows, pa.dictionary(pa.int8(), pa.string())),
}
"""Those that hold any text."""
WHOLE: dict[str, Carrier] = {
    "csv": csv_of,
    "geojson": geojson_of,
    "parquet": parquet_of(pa.int64()),
    "parquet small": parquet_of(pa.uint16()),
    "parquet decimal": parquet_of(pa.decimal128(30, 2)),
    "pandas int": pandas_of("int64"),
    "pandas object": pandas_of(),
    "pandas Int64": pandas_of("Int64"),
    "pandas category": pandas_of("category"),
    "pandas index": pandas_of("int64", index=True),
    "polars": polars_of(pl.Int64),
    "polars decimal": polars_of(pl.Decimal(30, 2)),
    "arrow": lambda folder, rows: arrow_of(rows, pa.int32()),
}
"""Those that hold whole numbers."""
FLOATS: dict[str, Carrier] = {
    "csv": csv_of,
    "geojson": geojson_of,
    "parquet": parquet_of(pa.float64()),
    "pandas float": pandas_of(float),
    "pandas Float64": pandas_of("Float64"),
    "pandas float32": pandas_of("float32"),
    "pandas index": pandas_of(float, index=True),
    "polars": polars_of(pl.Float64),
    "arrow": lambda folder, rows: arrow_of(rows, pa.float64()),
}
"""Those that hold floats, as columns of numbers with gaps do."""

NARROW: dict[str, Carrier] = {
    "parquet": parquet_of(pa.float32()),
    "pandas float32": pandas_of("float32"),
    "pandas Float32": pandas_of("Float32"),
    "pandas index": pandas_of("float32", index=True),
    "pandas category": lambda folder, rows: pandas_of("float32")(folder, rows).astype({"person": "category"}),
    "pandas Arrow": pandas_of(pd.ArrowDtype(pa.float32())),
    "polars": polars_of(pl.Float32),
    "arrow": lambda folder, rows: arrow_of(rows, pa.float32()),
}
"""Those that hold floats of 32 bits."""
NANOSECONDS: dict[str, Carrier] = {
    "parquet": parquet_of(pa.timestamp("ns")),
    "pandas": pandas_of("datetime64[ns]"),
    "pandas category": lambda folder, rows: pandas_of("datetime64[ns]")(folder, rows).astype({"person": "category"}),
    "pandas object": pandas_of(),
    "pandas Arrow": pandas_of(pd.ArrowDtype(pa.timestamp("ns"))),
    "pandas Arrow category": lambda folder, rows: pandas_of(pd.ArrowDtype(pa.timestamp("ns")))(folder, rows).astype(
        {"person": "category"}
    ),
    "pandas index": pandas_of("datetime64[ns]", index=True),
    "polars": lambda folder, rows: pl.from_arrow(arrow_of(rows, pa.timestamp("ns"))),
    "arrow": lambda folder, rows: arrow_of(rows, pa.timestamp("ns")),
}
"""Those that hold times to the nanosecond."""
TIMES: dict[str, Carrier] = {
    "csv": csv_of,
    "parquet": parquet_of(pa.timestamp("us")),
    "parquet ns": parquet_of(pa.timestamp("ns")),
    "pandas object": pandas_of(),
    "pandas": pandas_of("datetime64[ns]"),
    "pandas category": pandas_of("category"),
    "polars": polars_of(pl.Datetime("ms")),
    "arrow": lambda folder, rows: arrow_of(rows, pa.timestamp("s")),
}
"""Those that hold times."""
COLUMNS: dict[str, Callable[[Any], Any]] = {
    "list": list,
    "array": lambda array: array,
    "object": lambda array: np.array(list(array), dtype=object),
    "pandas": pd.Series,
    "pandas index": pd.Index,
    "pandas category": lambda array: pd.Series(array).astype("category"),
    "pandas categories": lambda array: pd.CategoricalIndex(pd.Index(array)),
    "pandas array": lambda array: pd.Series(array).array,
    "pandas Arrow": lambda array: pd.Series(pd.array(pa.array(array), dtype=pd.ArrowDtype(pa.array(array).type))),
    "pandas Arrow category": lambda array: COLUMNS["pandas Arrow"](array).astype("category"),
    "arrow": pa.array,
    "arrow chunks": lambda array: pa.chunked_array([array[:1], array[1:]]),
    "arrow dictionary": lambda array: pa.array(array).dictionary_encode(),
    "polars": lambda array: pl.from_arrow(pa.array(array)),
}
"""Columns of every library, made of an array of NumPy."""
