"""Write rows in another format than they were read in: what that cannot hold is refused before anything is drawn.

Text of CSV stays text, as nothing says what it is of. Where a format has no times they become text as in ISO 8601;
what is missing becomes an empty cell of CSV. Points become two columns of CSV, and two columns points of GeoJSON.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Collection, Sequence
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError, optional
from dxopt.release.applying.column_mapping import Layout, Where
from dxopt.release.applying.csv_files import CsvFile, CsvSink
from dxopt.release.applying.formats import Chunk
from dxopt.release.applying.formulas import neutralised
from dxopt.release.applying.geojson_files import GEOMETRY, GeoJsonFile, GeoJsonSink
from dxopt.release.applying.parquet_files import ParquetFile, ParquetSink, points_of_wgs84
from dxopt.runtime.arrow import values_of
from dxopt.verify.published.sidecar import PLACES

_OF_POINTS = ".geoparquet"
_TABS = ".tsv"
_TIMES = (dt.datetime, dt.date, dt.time)
_WHOLE, _EXACT = 2**63, 2**53
"""From here on integers of Parquet end, and doubles have not all integers."""


class Conversion:
    """Change of format from a source to the file of an output.

    `kind` is the class of that format. `look` is called with all rows before a sink is made: their values give the
    types of columns.
    """

    def __init__(self, source: Any, kind: type, output: Path) -> None:
        self._source = source
        self._kind = kind
        self._ending = output.suffix.lower()
        self._types: dict[str, set[type]] = {}
        self._neutral = getattr(source, "neutral", False)
        if self._neutral and kind is not CsvFile:
            raise SpecError("formulas", "are a matter of CSV, and the output is none", "leave it out")

    def placed(self, where: Where) -> Where:
        """Return the columns in which the output has reports: points where its format has them."""
        if where.kind != "earth":
            return where
        if self._kind is GeoJsonFile or self._ending == _OF_POINTS or (where.geometry and self._kind is ParquetFile):
            return Where("earth", (GEOMETRY,), geometry=True)
        return Where("earth", PLACES) if where.geometry else where

    def look(self, chunk: Chunk, names: Collection[str]) -> None:
        """Note the types of values in columns that are kept; SpecError where the output cannot hold one."""
        if self._kind is GeoJsonFile and GEOMETRY in names:
            raise SpecError("data", f"has a column {GEOMETRY!r}, as GeoJSON has its points", "rename it")
        for name in names:
            types = self._types.setdefault(name, set())
            for value in self._cells(chunk, name):
                types.add(self._checked(name, value))

    def _checked(self, name: str, value: Any) -> type:
        """Return the type of a value as the output has it."""
        if value is None or isinstance(value, str | bool | dt.datetime | dt.date | dt.time):
            return type(value)
        if isinstance(value, int):
            if self._kind is ParquetFile and not -_WHOLE <= value < _WHOLE:
                raise self._refused(name, "integers of more than 64 bits")
            return int if abs(value) <= _EXACT else Decimal
        if isinstance(value, float | Decimal):
            if self._kind is GeoJsonFile and not math.isfinite(value):
                raise self._refused(name, "numbers that are not finite")
            return float
        raise self._refused(name, "lists, objects or bytes" if not isinstance(value, dt.timedelta) else "durations")

    def _refused(self, name: str, what: str) -> SpecError:
        """Return the error about a column that the output cannot hold."""
        wrong = f"of the ending {self._ending} cannot hold column {name!r}, which has {what}"
        return SpecError(
            "output", wrong, "keep the format of the data, or leave the column out: ", Option("drop", [name])
        )

    def _cells(self, chunk: Chunk, name: str) -> list[Any]:
        """Return a column of a chunk as plain values."""
        if not isinstance(self._source, ParquetFile):
            cells = self._source.values(chunk, name)
            return [neutralised(cell) for cell in cells] if self._neutral else cells
        column = chunk.rows.column(name)
        if optional("pyarrow").types.is_temporal(column.type):
            return list(values_of(column))
        try:
            return column.to_pylist()
        except UnicodeDecodeError:
            raise self._refused(name, "bytes that are no text") from None

    def sink(self, stream: IO[bytes], layout: Layout) -> ConvertedSink:
        """Return a writer of the rows in the format of the output."""
        if self._kind is CsvFile:
            text = SimpleNamespace(delimiter="\t" if self._ending == _TABS else ",", decimal=".")
            target: Any = SimpleNamespace(names=layout.kept, text=text, marked=False, end="\n", neutral=False)
            return ConvertedSink(CsvSink(target, stream, layout), lambda chunk: self._as_csv(chunk, layout.kept))
        if self._kind is GeoJsonFile:
            return ConvertedSink(
                GeoJsonSink(None, stream, layout), lambda chunk: self._as_geojson(chunk, layout.kept)
            )
        schema = self._schema(layout)
        target = SimpleNamespace(schema=schema, metadata=points_of_wgs84)
        return ConvertedSink(ParquetSink(target, stream, layout), lambda chunk: self._as_parquet(chunk, schema))

    def _as_csv(self, chunk: Chunk, kept: Sequence[str]) -> Any:
        columns = [[_text(value) for value in self._cells(chunk, name)] for name in kept]
        return list(zip(*columns, strict=True)) if columns else [()] * len(chunk.lines)

    def _as_geojson(self, chunk: Chunk, kept: Sequence[str]) -> Any:
        columns = {name: [_of_json(value) for value in self._cells(chunk, name)] for name in kept}
        rows = ({name: cells[row] for name, cells in columns.items()} for row in range(len(chunk.lines)))
        return [{"id": False, "properties": properties} for properties in rows]

    def _schema(self, layout: Layout) -> Any:
        """Return the types of columns that are kept; SpecError where its values have no type of Parquet in common."""
        pa = optional("pyarrow")
        kinds = {str: pa.string(), bool: pa.bool_(), int: pa.int64(), float: pa.float64()}
        fields = []
        for name in layout.kept:
            types = self._types.get(name, set()) - {type(None)}
            if types <= {int, Decimal}:
                types = {int} if types else {str}
            elif types == {int, float}:
                types = {float}
            if len(types) > 1:
                raise self._refused(name, "values of several types")
            fields.append(pa.field(name, kinds[types.pop()]))
        return pa.schema(fields)

    def _as_parquet(self, chunk: Chunk, schema: Any) -> Any:
        pa = optional("pyarrow")
        columns = [pa.array(map(_number_of, self._cells(chunk, field.name)), field.type) for field in schema]
        if not columns:
            return pa.RecordBatch.from_pydict({"": pa.nulls(len(chunk.lines))})
        return pa.RecordBatch.from_arrays(columns, schema=schema)


class ConvertedSink:
    """Writer of rows that makes them those of another format."""

    def __init__(self, sink: Any, convert: Callable[[Chunk], Any]) -> None:
        self._sink = sink
        self._convert = convert

    @property
    def layout(self) -> Layout:
        """The columns of the output."""
        return self._sink.layout

    def write(self, chunk: Chunk, kept: NDArray[np.bool_], drawn: NDArray[np.int64]) -> None:
        """Write the rows of a chunk that are kept, each with its report of those `drawn`."""
        self._sink.write(Chunk(self._convert(chunk), chunk.lines, chunk.share), kept, drawn)

    def close(self) -> None:
        """Write the end of the file."""
        self._sink.close()


def _text(value: Any) -> str:
    """Return a value as a cell of CSV."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, _TIMES) else str(value)


def _of_json(value: Any) -> Any:
    """Return a value as JSON has it."""
    return value.isoformat() if isinstance(value, _TIMES) else value


def _number_of(value: Any) -> Any:
    """Return a value as Arrow has it: of digits beyond those of a double none is kept, as in GeoJSON."""
    return float(value) if isinstance(value, Decimal) else value
