"""Parts that several formats share: chunks of rows, and points of geometry columns."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, optional
from dxopt.runtime.reading import MOST_CHUNK

if TYPE_CHECKING:
    import pyarrow as pa

_POINT = struct.Struct("<BIdd")


def places_of(column: Sequence[bytes | None]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return latitudes and longitudes of points in well-known binary (WKB), `(k,)`; NaN for whatever is no point.

    UnsupportedError if shapely is not installed; SpecError if it is no well-known binary.
    """
    shapely = optional("shapely")
    try:
        shapes = shapely.from_wkb(np.array(column, dtype=object))
    except (shapely.GEOSException, TypeError, ValueError):
        raise SpecError("geometry", "is no well-known binary", "write points as WKB") from None
    return places_of_shapes(shapes)


def places_of_shapes(shapes: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return latitudes and longitudes of points of shapely `(k,)`; NaN where there is none, or another shape."""
    import shapely

    shapes = np.asarray(shapes, dtype=object)
    # x and y of whatever is no point are NaN, but those of an empty one an error
    shapes = np.where(shapely.is_empty(shapes), None, shapes)
    return shapely.get_y(shapes), shapely.get_x(shapes)


def written_points(places: NDArray[np.float64]) -> list[bytes]:
    """Return points `(m, 2)`, latitude first, in well-known binary, longitude first."""
    return [_POINT.pack(1, 1, lon, lat) for lat, lon in places.tolist()]


def bare_type(kind: pa.DataType) -> pa.DataType:
    """Return a type of Arrow without metadata and dictionaries, which may hold values of rows that are left out.

    Views and runs become columns of the usual kind. SpecError for a union, of which Arrow filters none.
    """
    return _mapped(kind, _usual)


def _mapped(kind: pa.DataType, leaf: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a bare type of Arrow, with other types for those that have no parts."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        return _mapped(kind.storage_type, leaf)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _mapped(kind.value_type, leaf)
    if types.is_struct(kind):
        fields = map(kind.field, range(kind.num_fields))
        return pa.struct([pa.field(field.name, _mapped(field.type, leaf)) for field in fields])
    if types.is_map(kind):
        return pa.map_(_mapped(kind.key_type, leaf), _mapped(kind.item_type, leaf))
    if types.is_fixed_size_list(kind):
        return pa.list_(_mapped(kind.value_type, leaf), kind.list_size)
    name = str(kind)
    if name.startswith(("list", "large_list")):
        build = pa.large_list if name.startswith("large") else pa.list_
        return build(_mapped(kind.value_type, leaf))
    return leaf(kind)


def _usual(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_union(kind):
        raise SpecError("data", "has a column whose values are of several types", "leave it out first")
    return {"string_view": pa.string(), "binary_view": pa.binary()}.get(str(kind), kind)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a type that has the same bytes and a value of Python for any: times are integers, and texts bytes."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_temporal(kind) and not types.is_interval(kind):
        return pa.int32() if kind.bit_width == 32 else pa.int64()
    return {"string": pa.binary(), "large_string": pa.large_binary()}.get(str(kind), kind)


def bare_array(array: Any) -> Any:
    """Return an array of Arrow, or a chunked one, of its bare type, rebuilt from its values alone.

    Nothing else that its buffers have is in it, such as what is under nulls, around a slice, between lists.
    """
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array(map(bare_array, array.chunks), bare_type(array.type))
    return _rebuilt(array, _usual)


def plain_array(array: Any) -> pa.Array:
    """Return a bare array, or a chunked one, in one piece, whose values Python has whatever they are."""
    import pyarrow as pa

    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    return pa.concat_arrays([_rebuilt(chunk, _plain) for chunk in chunks or [pa.array([], array.type)]])


def _rebuilt(array: Any, leaf: Callable[[pa.DataType], pa.DataType]) -> Any:
    """Return an array of its values alone, with other types for those that have no parts."""
    import pyarrow as pa
    from pyarrow import types

    kind = _mapped(array.type, leaf)
    if isinstance(array.type, pa.BaseExtensionType):
        return _rebuilt(array.storage, leaf)
    if types.is_null(kind):
        return pa.nulls(len(array))
    rows = np.arange(array.offset, array.offset + len(array))
    if types.is_dictionary(array.type):
        return _rebuilt(array.dictionary, leaf).take(array.indices)
    if types.is_run_end_encoded(array.type):
        return _rebuilt(array.values, leaf).take(pa.array(np.searchsorted(array.run_ends, rows, side="right")))
    if not types.is_nested(kind):
        return array.cast(_usual(array.type)).take(pa.array(rows - array.offset)).view(kind)
    valid = np.asarray(array.is_valid())
    buffers = [pa.py_buffer(np.packbits(valid, bitorder="little")) if array.null_count else None]
    if types.is_struct(kind):
        parts = [_rebuilt(part, leaf) for part in array.flatten()]
        return pa.Array.from_buffers(kind, len(array), buffers, children=parts)
    if types.is_fixed_size_list(kind):
        starts, sizes = rows * kind.list_size, np.full(len(array), kind.list_size)
    elif "list_view<" in str(array.type)[:16]:
        starts, sizes = np.asarray(array.offsets), np.where(valid, array.sizes, 0)
    else:
        starts, sizes = np.asarray(array.offsets)[:-1], np.where(valid, np.diff(array.offsets), 0)
    ends = np.cumsum(np.append(0, sizes))
    places = np.repeat(starts - ends[:-1], sizes) + np.arange(ends[-1])
    first, behind = (places.min(), places.max() + 1) if len(places) else (0, 0)
    taken = pa.array(places - first, mask=~valid.repeat(sizes))
    parts = [array.keys, array.items] if types.is_map(kind) else [array.values]
    parts = [_rebuilt(part.slice(first, behind - first), leaf).take(taken) for part in parts]
    if types.is_map(kind):
        return pa.MapArray.from_arrays(pa.array(ends, pa.int32(), mask=np.append(~valid, False)), *parts)
    if not types.is_fixed_size_list(kind):
        buffers.append(pa.py_buffer(ends.astype(np.int64 if types.is_large_list(kind) else np.int32)))
    return pa.Array.from_buffers(kind, len(array), buffers, children=parts)


def values_of(array: Any) -> Any:
    """Return the values of a bare array, or a chunked one, of the same kind also where some are missing."""
    import pyarrow as pa

    kind = array.type
    listed = pa.types.is_temporal(kind) or (array.null_count and not pa.types.is_floating(kind))
    try:
        return array.to_pylist() if listed else np.asarray(array.to_numpy(zero_copy_only=False))
    except (ValueError, OverflowError, pa.ArrowException):
        # dates and times that Python has none of, or text that is none
        written = pa.types.is_temporal(kind)
        return (array.cast(pa.string()) if written else plain_array(array)).to_pylist()


ROWS = 1 << 16
"""Largest number of rows in memory at once; `MOST_CHUNK` bounds their letters."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows, as the format has them, the line or number of each from 1, and the share of the file read by now."""

    rows: Any
    lines: NDArray[np.int64]
    share: float


def chunked(rows: Iterable[tuple[int, int, Any]], share: Callable[[], float]) -> Iterator[Chunk]:
    """Gather rows, each with its line or number and its letters, into chunks of `ROWS`, or of fewer long ones."""
    some: list[Any] = []
    lines: list[int] = []
    size = 0
    for line, letters, row in rows:
        some.append(row)
        lines.append(line)
        size += letters
        if len(some) == ROWS or size >= MOST_CHUNK:
            yield Chunk(some, np.array(lines), share())
            some, lines, size = [], [], 0
    if some:
        yield Chunk(some, np.array(lines), share())
