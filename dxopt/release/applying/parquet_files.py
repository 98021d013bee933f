"""Read and write Parquet, and GeoParquet with points, in batches of rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, optional
from dxopt.release.applying.column_mapping import Layout
from dxopt.release.applying.formats import (
    ROWS,
    Chunk,
    bare_array,
    bare_type,
    places_of,
    require_wgs84,
    written_points,
)
from dxopt.release.applying.row_checks import Fingerprints, of_frame
from dxopt.runtime.column_names import is_name
from dxopt.verify.published.sidecar import Noun

if TYPE_CHECKING:
    import pyarrow as pa

_GEO = b"geo"
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
"""Columns that pandas makes of an index without a name."""


class ParquetFile:
    """A file of Parquet; with `geometry` where it is GeoParquet."""

    noun: Noun = "row"

    def __init__(self, path: Path) -> None:
        pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
        self._broken = (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError)
        try:
            self._file = pq.ParquetFile(path)
        except self._broken as error:
            raise self._damaged(error) from None
        self.schema: pa.Schema = self._file.schema_arrow
        self.names = tuple(self.schema.names)
        if len(set(self.names)) < len(self.names):
            raise SpecError("data", "has two columns of one name", "name each column once")
        numeric = [
            field.name for field in self.schema if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        ]
        self._geo = _described(self.schema)
        primary = self._geo.get("primary_column")
        # its coordinate system and encoding are checked when it is used
        self.geometry: str | None = primary if primary in self.names else None
        self.named = self.geometry is not None or any(map(is_name, numeric))
        self._code: tuple[Any, Any] | None = None
        beside = (*self._covering(), *filter(_UNNAMED_INDEX.fullmatch, self.names))
        self.hidden = tuple(name for name in beside if name in self.names)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows, in batches."""
        first = 1
        total = max(1, self._file.metadata.num_rows)
        try:
            for batch in self._file.iter_batches(batch_size=ROWS):
                yield Chunk(batch, np.arange(first, first + len(batch)), (first - 1 + len(batch)) / total)
                first += len(batch)
        except self._broken as error:
            raise self._damaged(error) from None

    def values(self, chunk: Chunk, name: str) -> Any:
        """Return a column of a chunk; integers stay integers where some are missing."""
        column = chunk.rows.column(name)
        return column.to_pylist() if column.null_count else column.to_numpy(zero_copy_only=False)

    def places(self, chunk: Chunk) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return latitudes and longitudes of the points of the geometry."""
        return places_of(chunk.rows.column(self.geometry).to_pylist())

    def fingerprints(self, chunk: Chunk) -> Fingerprints:
        """Return a fingerprint for each row `(k,)`, the same for rows equal in every column."""
        return of_frame(chunk.rows.to_pandas(ignore_metadata=True, types_mapper=_nullable))

    def sink(self, stream: IO[bytes], layout: Layout) -> ParquetSink:
        """Return a writer of rows."""
        return ParquetSink(self, stream, layout)

    def metadata(self, layout: Layout) -> dict[bytes, bytes] | None:
        """Return the metadata of the output, of which nothing is the input's but the code of WGS 84."""
        if self.geometry not in layout.made:
            return None
        column: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Point"]}
        if self._code is not None:
            column["crs"] = optional("pyproj").CRS.from_authority(*self._code).to_json_dict()
        content = {"version": "1.1.0", "primary_column": self.geometry, "columns": {self.geometry: column}}
        return {_GEO: json.dumps(content).encode()}

    def require_points(self) -> None:
        """Raise SpecError unless the geometry is in WKB and WGS 84."""
        column = self._geo["columns"][self.geometry]
        if column.get("encoding") != "WKB":
            raise SpecError("geometry", f"is encoded as {column.get('encoding')}", "write it as WKB")
        if "crs" in column:
            named = (column["crs"] or {}).get("id") or {}
            self._code = named.get("authority"), named.get("code")
            require_wgs84(*self._code)

    def _covering(self) -> Iterator[str]:
        """Yield the names of other columns that hold positions: boxes around points, and further geometry."""
        for name, column in self._geo.get("columns", {}).items():
            if name != self.geometry:
                yield name
            for path in (column.get("covering") or {}).get("bbox", {}).values():
                yield path[0]

    def _damaged(self, error: Exception) -> SpecError:
        """Return the error of a file that cannot be read, with the reason that Arrow gives, cut short."""
        reason = " ".join(str(error).split())[:120]
        return SpecError("data", f"is no Parquet, or damaged ({reason})", "write it again")


class ParquetSink:
    """Writer of the output in Parquet."""

    def __init__(self, source: ParquetFile, stream: IO[bytes], layout: Layout) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._layout = layout
        self._made: dict[str, pa.Array] = {}
        fields = []
        for name in layout.order:
            if name in layout.made:
                values = layout.made[name]
                points = values.ndim == 2
                self._made[name] = pa.array(written_points(values), pa.binary()) if points else pa.array(values)
                fields.append(pa.field(name, self._made[name].type))
            else:
                fields.append(pa.field(name, bare_type(source.schema.field(name).type)))
        self._schema = pa.schema(fields, metadata=source.metadata(layout))
        self._writer = pq.ParquetWriter(stream, self._schema)

    def write(self, chunk: Chunk, kept: NDArray[np.bool_], drawn: NDArray[np.int64]) -> None:
        """Write the rows of a batch that are kept, each with its report of those `drawn`."""
        import pyarrow as pa

        rows = chunk.rows if kept.all() else chunk.rows.filter(pa.array(kept))
        taken = pa.array(drawn)
        columns = [
            self._made[name].take(taken) if name in self._made else bare_array(rows.column(name))
            for name in self._layout.order
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        """Write the end of the file, without which it cannot be read."""
        self._writer.close()


def _nullable(kind: pa.DataType) -> Any:
    """Return a type of pandas that has missing values, None for the usual one, so that all batches have the same."""
    import pandas as pd
    from pyarrow import types

    if types.is_uint64(kind):
        return pd.UInt64Dtype()
    if types.is_integer(kind):
        return pd.Int64Dtype()
    return pd.BooleanDtype() if types.is_boolean(kind) else None


def _described(schema: pa.Schema) -> dict[str, Any]:
    """Return GeoParquet's metadata of columns; empty for other files."""
    stored = (schema.metadata or {}).get(_GEO)
    if stored is None:
        return {}
    try:
        found = json.loads(stored)
        return found if isinstance(found["columns"][found["primary_column"]], dict) else {}
    except (ValueError, KeyError, TypeError):
        raise SpecError("data", "has GeoParquet metadata that are damaged", "write it again") from None
