"""Read and write Parquet, and GeoParquet with points, in batches of rows."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, optional
from dxopt.release.applying.column_mapping import Layout
from dxopt.release.applying.formats import ROWS, Chunk, places_of, written_points
from dxopt.release.applying.row_checks import Fingerprints, fingerprints
from dxopt.runtime.arrow import bare_array, bare_type, values_of
from dxopt.runtime.column_names import as_asked, is_name, require_distinct
from dxopt.runtime.reading import MOST_CHUNK, MOST_OF_GROUP, MOST_ROW, MOST_UNPACKED, require_few, too_long
from dxopt.spaces.positions import require_wgs84
from dxopt.verify.published.geo_parquet import described
from dxopt.verify.published.parquet_pages import UNIT_OF_INT96, WRITTEN, opened_parquet
from dxopt.verify.published.sidecar import Noun

if TYPE_CHECKING:
    import pyarrow as pa

_GEO = b"geo"
_NATIVE, _AXES = "point", ("x", "y")
"""Encoding of points as structs of Arrow (GeoParquet 1.1), and their fields."""
_BUFFER = 1 << 16
"""Bytes of each column that are read at once, instead of all those of a group of rows."""
_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
"""Columns that pandas makes of an index without a name."""


class ParquetFile:
    """A file of Parquet; with `geometry` where it is GeoParquet."""

    noun: Noun = "row"

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        pa, pq = optional("pyarrow"), optional("pyarrow.parquet")
        self._stored = path.stat().st_size
        self._broken = (pa.ArrowException, OSError, UnicodeDecodeError)
        try:
            head = opened_parquet(path)
            self._rows, packed = _unpacked(head.metadata, self._stored)
            # what a dictionary has once is repeated in memory only for the rows that are wanted
            how = {"buffer_size": _BUFFER, "coerce_int96_timestamp_unit": UNIT_OF_INT96}
            self._file = pq.ParquetFile(path, metadata=head.metadata, read_dictionary=packed, **how)
        except self._broken as error:
            raise self._damaged(error) from None
        stored: pa.Schema = head.schema_arrow
        require_few(stored.names)
        self.names = as_asked(stored.names, columns)
        require_distinct(self.names)
        named = dict(zip(stored.names, self.names, strict=True))
        types = (bare_type(field.type) for field in stored)
        self.schema: pa.Schema = pa.schema(zip(self.names, types, strict=True))
        # its coordinate system and encoding are checked when it is used
        self._described = _described(stored)
        self.geometry = next((name for old, name in named.items() if old == self._described.name), None)
        numeric = [
            field.name for field in self.schema if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        ]
        self.named = self.geometry is not None or any(map(is_name, numeric))
        beside = (*self._described.beside, *filter(_UNNAMED_INDEX.fullmatch, stored.names))
        self.hidden = tuple(name for old, name in named.items() if old in beside)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows, in batches, without metadata and dictionaries."""
        import pyarrow as pa

        first = 1
        unpacked = 0
        total = max(1, self._file.metadata.num_rows)
        try:
            for batch in self._batches():
                for part, size in _parts(batch, first):
                    unpacked += size
                    _require_modest(unpacked, self._stored)
                    columns = [bare_array(column) for column in part.columns]
                    rows = pa.RecordBatch.from_arrays(columns, schema=self.schema)
                    yield Chunk(rows, np.arange(first, first + len(rows)), (first - 1 + len(rows)) / total)
                    first += len(rows)
        except self._broken as error:
            raise self._damaged(error) from None

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield rows as they are stored. Arrow joins no nested columns of two groups where it keeps dictionaries."""
        import pyarrow as pa

        nested = any(map(pa.types.is_nested, self.schema.types))
        for groups in ([number] for number in range(self._file.num_row_groups)) if nested else (None,):
            yield from self._file.iter_batches(batch_size=self._rows, row_groups=groups)

    def columns(self, chunk: Chunk, names: Collection[str]) -> Iterator[tuple[str, Any]]:
        """Yield columns of a chunk by name."""
        return ((name, self.values(chunk, name)) for name in names)

    def values(self, chunk: Chunk, name: str) -> Any:
        """Return a column of a chunk."""
        return values_of(chunk.rows.column(name))

    def places(self, chunk: Chunk) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return latitudes and longitudes of the points of the geometry."""
        column = chunk.rows.column(self.geometry)
        if self._described.encoding == _NATIVE:
            lon, lat = (column.field(axis).to_numpy(zero_copy_only=False) for axis in _AXES)
            empty = ~np.asarray(column.is_valid())
            return np.where(empty, np.nan, lat), np.where(empty, np.nan, lon)
        return places_of(column.to_pylist())

    def fingerprints(self, chunk: Chunk) -> Fingerprints:
        """Return a fingerprint for each row `(k,)`, the same for rows equal in every column."""
        return fingerprints(chunk.rows.columns)

    def sink(self, stream: IO[bytes], layout: Layout) -> ParquetSink:
        """Return a writer of rows."""
        return ParquetSink(self, stream, layout)

    def metadata(self, layout: Layout) -> dict[bytes, bytes] | None:
        """Return the metadata of the output, of which nothing is the input's but the code of WGS 84."""
        if self.geometry is None or self.geometry not in layout.made:
            return None
        code = self._described.code
        system = None if code is None else (str(code[0]).upper(), str(code[1]).upper())
        return {_GEO: described(self.geometry, system)}

    def require_points(self) -> None:
        """Raise SpecError unless the geometry is in WKB or points of Arrow, and in WGS 84."""
        if self._described.encoding not in ("WKB", _NATIVE):
            raise SpecError("geometry", f"is encoded as {self._described.encoding}", "write points, or WKB")
        if self._described.encoding == _NATIVE:
            pa = optional("pyarrow")
            kind = self.schema.field(self.geometry).type
            axes = {field.name: field.type for field in kind} if pa.types.is_struct(kind) else {}
            if any(axes.get(axis) != pa.float64() for axis in _AXES):
                raise SpecError("geometry", f"has the type {str(kind)[:80]}", "write points of doubles x and y")
        if self._described.code is not None:
            require_wgs84(*self._described.code)

    def _damaged(self, error: Exception) -> SpecError:
        """Return the error of a file that cannot be read, with the reason that Arrow gives, cut short."""
        reason = " ".join(str(error).split())[:120]
        return SpecError("data", f"is no Parquet, or damaged ({reason})", "write it again")


def points_of_wgs84(layout: Layout) -> dict[bytes, bytes] | None:
    """Return the metadata of an output whose data had no metadata of points, where it has points."""
    column = next((name for name, values in layout.made.items() if values.ndim == 2), None)
    return None if column is None else {_GEO: described(column, None)}


class ParquetSink:
    """Writer of the output in Parquet."""

    def __init__(self, source: ParquetFile, stream: IO[bytes], layout: Layout) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.layout = layout
        self._made: dict[str, pa.Array] = {}
        fields = []
        for name in layout.order:
            if name in layout.made:
                values = layout.made[name]
                points = values.ndim == 2
                self._made[name] = pa.array(written_points(values), pa.binary()) if points else pa.array(values)
                fields.append(pa.field(name, self._made[name].type))
            else:
                fields.append(source.schema.field(name))
        self._schema = pa.schema(fields, metadata=source.metadata(layout))
        self._writer = pq.ParquetWriter(stream, self._schema, **WRITTEN)

    def write(self, chunk: Chunk, kept: NDArray[np.bool_], drawn: NDArray[np.int64]) -> None:
        """Write the rows of a batch that are kept, each with its report of those `drawn`."""
        import pyarrow as pa

        rows = chunk.rows if kept.all() else chunk.rows.filter(pa.array(kept))
        taken = pa.array(drawn)
        columns = [
            self._made[name].take(taken) if name in self._made else rows.column(name) for name in self.layout.order
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        """Write the end of the file, without which it cannot be read."""
        self._writer.close()


def _unpacked(metadata: Any, whole: int) -> tuple[int, list[int]]:
    """Return the number of rows to unpack at once, and the columns to keep dictionaries of, by what a file says.

    Few bytes may stand for many: a text for thousands of rows, a list of a value for millions of times. SpecError
    where a group of rows is larger than memory should be, and a hundred times as large as in the file; or all groups,
    and a thousand times as large as the `whole` file.
    """
    count, packed = ROWS, {*range(metadata.num_columns)}
    kinds = [metadata.schema.column(place) for place in range(metadata.num_columns)]
    in_all = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        stored = unpacked = at_once = 0
        for place, kind in enumerate(kinds):
            column = group.column(place)
            size = column.total_uncompressed_size
            values = column.num_values * (kind.length if kind.physical_type == "FIXED_LEN_BYTE_ARRAY" else 8)
            # each value may repeat all that was before
            shared = "DELTA_BYTE_ARRAY" in column.encodings
            text = kind.physical_type == "BYTE_ARRAY" and not shared and size <= MOST_UNPACKED
            if not text or not any("DICTIONARY" in one for one in column.encodings):
                packed.discard(place)
            stored += column.total_compressed_size
            unpacked += max(size, values) if kind.max_repetition_level else size
            at_once += size * group.num_rows if shared else max(size, values)
        if unpacked > max(MOST_OF_GROUP, 100 * stored):
            raise _too_much(unpacked, stored)
        in_all += unpacked
        if at_once:
            count = min(count, MOST_UNPACKED * group.num_rows // at_once)
    _require_modest(in_all, whole)
    return max(1, count), sorted(packed)


def _require_modest(unpacked: int, stored: int) -> None:
    """Raise SpecError where a file unpacks to more than memory should have at once, and a thousand times its size."""
    if unpacked > max(MOST_UNPACKED, 1000 * stored):
        raise _too_much(unpacked, stored)


def _too_much(unpacked: int, stored: int) -> SpecError:
    """Return the error about a file that unpacks to far more than it has."""
    wrong = f"unpacks to {unpacked:,} bytes or more, from {stored:,}"
    return SpecError("data", wrong, "leave out columns that are not needed, or write it again")


def _parts(batch: Any, first: int) -> Iterator[tuple[Any, int]]:
    """Yield the rows of a batch, the first with this number, in parts of at most so many bytes, and these.

    SpecError if a row has more than a row may.
    """
    size = sum(map(_size, batch.columns))
    if size > MOST_ROW and len(batch) == 1:
        raise too_long("row", first, "bytes")
    if size <= MOST_CHUNK or len(batch) == 1:
        yield batch, size
        return
    half = len(batch) // 2
    yield from _parts(batch.slice(0, half), first)
    yield from _parts(batch.slice(half), first + half)


def _size(array: Any) -> int:
    """Return the bytes of an array of Arrow, with its dictionaries written out."""
    pa, pc = optional("pyarrow"), optional("pyarrow.compute")
    if pa.types.is_struct(array.type):
        return sum(map(_size, array.flatten()))
    if pa.types.is_map(array.type):
        entries = pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])
        array = array.cast(pa.list_(entries))
    if pa.types.is_nested(array.type):
        return 8 * len(array) + _size(array.flatten())
    if not pa.types.is_dictionary(array.type):
        return array.nbytes
    try:
        lengths = pc.binary_length(array.dictionary)
    except pa.ArrowNotImplementedError:  # numbers
        return 8 * len(array)
    return 8 * len(array) + (pc.sum(lengths.take(array.indices)).as_py() or 0)


class _Described(NamedTuple):
    """GeoParquet's metadata: the column of points, its encoding, the code of its coordinate system where it has one.

    `beside` are other columns that hold positions: boxes around points, and further geometry.
    """

    name: str | None = None
    encoding: Any = None
    code: tuple[Any, Any] | None = None
    beside: tuple[Any, ...] = ()


def _described(schema: pa.Schema) -> _Described:
    """Return GeoParquet's metadata of columns; empty for other files."""
    stored = (schema.metadata or {}).get(_GEO)
    if stored is None:
        return _Described()
    if len(stored) > MOST_ROW:
        raise SpecError("data", f"has GeoParquet metadata of more than {MOST_ROW:,} bytes", "write it again")
    try:
        found = json.loads(stored)
        name, columns = found["primary_column"], found["columns"]
        boxes = [((column.get("covering") or {}).get("bbox") or {}).values() for column in columns.values()]
        beside = [*(other for other in columns if other != name), *(path[0] for box in boxes for path in box)]
        named = ((columns[name].get("crs") or {}).get("id")) or {}
        code = (named.get("authority"), named.get("code")) if "crs" in columns[name] else None
        return _Described(name, columns[name].get("encoding"), code, tuple(beside))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise SpecError("data", "has GeoParquet metadata that are damaged", "write it again") from None
