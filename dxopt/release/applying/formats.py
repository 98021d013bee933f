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
    """Return a type of Arrow without metadata and dictionaries, which may hold values of rows that are left out."""
    import pyarrow as pa
    from pyarrow import types

    if isinstance(kind, pa.BaseExtensionType):
        return bare_type(kind.storage_type)
    if types.is_dictionary(kind):
        return bare_type(kind.value_type)
    if types.is_struct(kind):
        fields = map(kind.field, range(kind.num_fields))
        return pa.struct([pa.field(field.name, bare_type(field.type)) for field in fields])
    if types.is_map(kind):
        return pa.map_(bare_type(kind.key_type), bare_type(kind.item_type))
    if types.is_fixed_size_list(kind):
        return pa.list_(bare_type(kind.value_type), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(bare_type(kind.value_type))
    return pa.list_(bare_type(kind.value_type)) if types.is_list(kind) else kind


def bare_array(array: Any) -> Any:
    """Return an array of Arrow, or a chunked one, of its bare type."""
    import pyarrow as pa

    kind = bare_type(array.type)
    if kind == array.type:
        return array
    if isinstance(array.type, pa.BaseExtensionType) and not isinstance(array, pa.ChunkedArray):
        return bare_array(array.storage)
    try:
        # casts of nested arrays are of all that a part is of, and not of the part alone
        whole = array.take(pa.array(range(len(array)))) if pa.types.is_nested(kind) else array
        return whole.cast(kind)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return pa.array(array.to_pylist(), kind)


def bare_table(table: pa.Table) -> pa.Table:
    """Return a table of Arrow without metadata and dictionaries."""
    import pyarrow as pa

    return pa.table({name: bare_array(table.column(name)) for name in table.column_names})


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
