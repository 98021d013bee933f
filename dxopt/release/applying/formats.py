"""Parts that several formats share: chunks of rows, and points of geometry columns."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, optional
from dxopt.runtime.reading import MOST_CHUNK

_POINT = struct.Struct("<BIdd")
_LONGEST_POINT = 41
"""Bytes of a point in WKB with an SRID and four coordinates."""
_SEVERAL_POINTS = 4
"""Type of a MultiPoint, in WKB and for shapely."""
_WITH_PARTS = range(_SEVERAL_POINTS, 18)
"""Types of WKB whose parts are geometries, to any depth: GEOS reads them by recursion, and overflows the stack."""


def places_of(column: Sequence[bytes | str | None]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return latitudes and longitudes of points in well-known binary (WKB), `(k,)`; NaN for whatever is no point.

    UnsupportedError if shapely is not installed; SpecError if it is no well-known binary.
    """
    shapely = optional("shapely")
    try:
        shapes = shapely.from_wkb(np.array([_without_parts(shape) for shape in column], dtype=object))
    except (shapely.GEOSException, TypeError, ValueError):
        raise SpecError("geometry", "is no well-known binary", "write points as WKB") from None
    return places_of_shapes(shapes)


def _without_parts(shape: bytes | str | None) -> bytes | None:
    """Return well-known binary, perhaps in hexadecimal, as bytes; None where parts of it are geometries.

    TypeError or ValueError if it is neither.
    """
    if isinstance(shape, str):
        shape = bytes.fromhex(shape)
    if shape is None or len(shape) <= _LONGEST_POINT:
        return shape
    kind = int.from_bytes(shape[1:5], "little" if shape[0] else "big")
    return None if (kind & 0xFFFF) % 1000 in _WITH_PARTS else shape


def places_of_shapes(shapes: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return latitudes and longitudes of points of shapely `(k,)`; NaN where there is none, or another shape.

    Several points that are one count as it.
    """
    import shapely

    shapes = np.asarray(shapes, dtype=object)
    alone = (shapely.get_type_id(shapes) == _SEVERAL_POINTS) & (shapely.get_num_geometries(shapes) == 1)
    shapes = np.where(alone, shapely.get_geometry(shapes, 0), shapes)
    # x and y of whatever is no point are NaN, but those of an empty one an error
    shapes = np.where(shapely.is_empty(shapes), None, shapes)
    return shapely.get_y(shapes), shapely.get_x(shapes)


def written_points(places: NDArray[np.float64]) -> list[bytes]:
    """Return points `(m, 2)`, latitude first, in well-known binary, longitude first."""
    return [_POINT.pack(1, 1, lon, lat) for lat, lon in places.tolist()]


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
