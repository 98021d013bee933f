"""The rows of a published file: CSV, GeoJSON or Parquet, by its ending."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dxopt.errors import SpecError, UnsupportedError
from dxopt.verify.verdict import Broken

GEOMETRY = "geometry"
_DELIMITERS = ",;\t|"

Entries = Callable[[Sequence[str]], Iterator[tuple[int, tuple[Any, ...]]]]


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a file.

    Attributes
    ----------
    names : tuple of str
        The columns.
    entries : callable
        Given some of them, yields the number of each row and its entries: text in CSV; points of GeoJSON are
        latitude and longitude.
    noun : str
        What the numbers count from 1, as `apply` does: lines of CSV, rows of Parquet, features of GeoJSON.
    """

    names: tuple[str, ...]
    entries: Entries
    noun: str


def require_readable(file: Path) -> None:
    """Raise SpecError unless the ending of a file is one of those that are read, and what reads it is installed."""
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise SpecError("file", f"{file} has the ending {file.suffix!r}", f"give one of {', '.join(_READERS)}")
    if reader is _parquet and find_spec("pyarrow") is None:
        raise UnsupportedError("pyarrow", "is not installed", "install dxopt[frames]")


def read_rows(file: Path) -> Rows:
    """The rows of a file.

    Raises
    ------
    Broken
        If it is none of its ending; of CSV perhaps not before the row is read where that shows.
    """
    return _READERS[file.suffix.lower()](file)


def _csv(file: Path) -> Rows:
    with file.open(encoding="utf-8-sig", newline="") as stream:
        first = stream.readline()
        delimiter = max(_DELIMITERS, key=lambda mark: len(next(csv.reader([first], delimiter=mark), [])))
        stream.seek(0)
        names = tuple(next(csv.reader(stream, delimiter=delimiter), ()))
    if len(set(names)) < len(names):
        raise Broken("the file has two columns of one name")

    def entries(columns: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
        places = [names.index(column) for column in columns]
        with file.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            try:
                next(reader)
                line = reader.line_num + 1  # the first one of a row that has several
                for row in reader:
                    if row and len(row) != len(names):
                        raise Broken(f"line {line} has {len(row)} fields, and the first {len(names)}")
                    if row:
                        yield line, tuple(row[place] for place in places)
                    line = reader.line_num + 1
            except csv.Error as error:
                raise Broken(f"line {reader.line_num} is no CSV: {error}") from None

    return Rows(names, entries, "line")


def _geojson(file: Path) -> Rows:
    content = json.loads(file.read_text(encoding="utf-8-sig"))
    features = [_flat(feature) for feature in content["features"]]
    names = dict.fromkeys(name for feature in features for name in feature)

    def entries(columns: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        return ((number, tuple(map(feature.get, columns))) for number, feature in enumerate(features, 1))

    return Rows(tuple(names), entries, "feature")


def _flat(feature: dict[str, Any]) -> dict[str, Any]:
    """The properties of a feature and, where it has one, its geometry; what is no plain value as text."""
    found = dict(feature.get("properties") or {})
    geometry = feature.get(GEOMETRY)
    if geometry is not None:
        plain = isinstance(geometry, dict) and geometry.get("type") == "Point"
        found[GEOMETRY] = tuple(geometry["coordinates"][1::-1]) if plain else geometry
    return {name: json.dumps(value) if isinstance(value, dict | list) else value for name, value in found.items()}


def _parquet(file: Path) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        opened = pq.ParquetFile(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise Broken(f"the file is no Parquet ({' '.join(str(error).split())[:120]})") from None

    def entries(columns: Sequence[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
        number = 1
        for batch in opened.iter_batches(columns=list(columns)):
            yield from enumerate(zip(*(batch.column(name).to_pylist() for name in columns), strict=True), number)
            number += batch.num_rows

    return Rows(tuple(opened.schema_arrow.names), entries, "row")


_READERS: dict[str, Callable[[Path], Rows]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), _csv),
    **dict.fromkeys((".parquet", ".geoparquet"), _parquet),
    **dict.fromkeys((".geojson", ".json"), _geojson),
}
