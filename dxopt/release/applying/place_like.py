"""Kept columns that hold places under another name: refused unless they are named."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError
from dxopt.release.applying.column_mapping import numbers
from dxopt.runtime.column_names import has_role, listed
from dxopt.runtime.identity import identity
from dxopt.spaces.naming import cell_id, is_cell, text_of

_PLACE = re.compile(
    r"""
    \b(SRID=\d+;)?\s*(POINT|LINESTRING|POLYGON|MULTI(POINT|LINESTRING|POLYGON)|GEOMETRYCOLLECTION)\s*(Z|M|ZM)?\s*\(
    | \bgeo:[-+]?\d                                                          # a URI of RFC 5870
    | (?<![\d.])[-+]?\d{1,3}\.\d{3,}\s*°?\s*[NS]?\s*[,;/|_\s]\s*[-+]?\d{1,3}\.\d{3,}(?!\.?\d)
    | (?<![\d,])[-+]?\d{1,3},\d{4,}\s*°?\s*[NS]?\s*[;/|_\s]\s*[-+]?\d{1,3},\d{4,}(?!,?\d)
    | \b[NS]\s*\d{1,2}[.,]\d+\W{0,4}[EWO]\s*\d{1,3}[.,]\d                    # N 48.85 E 2.35, and 48.85 N 2.35 E
    | \d[.,]\d+\W{0,2}[NS]\b\W{0,4}\d{1,3}[.,]\d+\W{0,2}[EWO]\b
    | \blat\w*\W{0,3}\d.{0,20}?\bl(on|ng)\w*\W{0,3}\d
    | \d\s*°\s*\d+(\.\d+)?\s*['′]                                            # degrees and minutes
    | \b[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,3}\b           # an Open Location Code
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SHAPES = {"Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection"}
_DIGITS = re.compile(r"\s*(?:\\x|0x|x')?((?:[0-9A-F]{2}){21,})'?\s*", re.IGNORECASE)
"""Bytes of a shape in digits, as databases write them."""
_SMALLEST = 21
"""Bytes of a point in well-known binary."""
_EASTWARD = {"x", "xmin", "xmax", "minx", "maxx", "west", "east", "easting"}
_NORTHWARD = {"y", "ymin", "ymax", "miny", "maxy", "south", "north", "northing"}
_DEEPEST = 16
_DISTINCT = 3
"""So many different values show that a column repeats the secret, or one that is long enough to be no accident."""
_LONG = 5
_SHARE = 0.9
"""Share of rows, of those with both values, that have the same one where a column repeats the secret."""
_CLOSE = 1e-5
"""Values are the same up to this, or this share of them, as where a copy has fewer digits."""
_ENOUGH = 100


def looks_like_place(value: Any, depth: int = 0) -> bool:
    """Return whether a value is a geometry, coordinates, or a code of a place in a usual notation, however nested.

    What is nested too deep to be looked at may be one.
    """
    if depth > _DEEPEST:
        return True
    if isinstance(value, str):
        digits = _DIGITS.fullmatch(value)
        if _PLACE.search(value) or cell_id(value) or (digits and _is_shape(bytes.fromhex(digits[1]))):
            return True
        return value.lstrip()[:1] in ("{", "[") and looks_like_place(_parsed(value), depth + 1)
    if isinstance(value, bytes | bytearray):
        return _is_shape(value) or looks_like_place(value.decode(errors="replace"), depth + 1)
    if hasattr(value, "geom_type") or isinstance(value, complex | np.complexfloating):
        return True
    if isinstance(value, Integral):
        return not isinstance(value, bool) and is_cell(int(value))
    if isinstance(value, Mapping):
        return _is_object_of_place(value) or any(looks_like_place(one, depth + 1) for one in value.values())
    if isinstance(value, list | tuple | np.ndarray):
        return len(value) > 0 and (_are_coordinates(value) or any(looks_like_place(one, depth + 1) for one in value))
    return False


def _is_shape(value: bytes | bytearray) -> bool:
    """Return whether bytes are a shape in well-known binary, also with a coordinate system, or of a GeoPackage."""
    if len(value) < _SMALLEST or value[0] not in (0, 1):
        return value[:3] == b"GP\0"
    # of 32 bits the highest say what else there is, and thousands how many axes
    kind = int.from_bytes(value[1:5], "little" if value[0] else "big") & 0x1FFFFFFF
    return kind < 4000 and 1 <= kind % 1000 <= 17


def _parsed(text: str) -> Any:
    """Return what JSON, or the text of an object of Python, has; None where it has nothing."""
    for tried in (text, text.replace("'", '"')):
        with suppress(ValueError, RecursionError):
            return json.loads(tried)
    return None


def _is_object_of_place(value: Mapping[Any, Any]) -> bool:
    """Return whether an object is a geometry or a box, or has a latitude and a longitude."""
    names = [str(name) for name in value]
    located = all(any(has_role(name, role) for name in names) for role in ("latitude", "longitude"))
    bare = {re.sub(r"[\W\d_]", "", name).lower() for name in names}
    in_a_plane = bool(bare & _EASTWARD and bare & _NORTHWARD)
    return located or in_a_plane or "coordinates" in names or value.get("type") in _SHAPES


def _are_coordinates(value: Any) -> bool:
    """Return whether a list is of two to six finite numbers, as a point or a box has, and not all are whole."""
    if not 2 <= len(value) <= 6 or not all(isinstance(one, Real) and not isinstance(one, bool) for one in value):
        return False
    return all(abs(one) <= 360 for one in value) and not all(one % 1 == 0 for one in value)


class _Compared:
    """Counter of the rows of a column that have the value of the secret."""

    def __init__(self) -> None:
        self._rows = 0
        self._same = 0
        self._values: set[str] = set()

    @property
    def repeats(self) -> bool:
        """True if rows have the value of the secret, and not by accident."""
        known = len(self._values) >= _DISTINCT or any(len(re.findall(r"\w", one)) >= _LONG for one in self._values)
        return known and self._same >= _SHARE * self._rows

    def add(self, values: Any, secret: Any) -> None:
        """Compare rows with their secrets, unless those until now are enough to tell that they differ."""
        if self._rows >= _ENOUGH and 2 * self._same < self._rows:
            return
        mine, its = _numbers(values), _numbers(secret)
        both = np.isfinite(mine) & np.isfinite(its)
        same = both & (np.abs(mine / _power(mine[both], its[both]) - its) <= _CLOSE * np.maximum(1, np.abs(its)))
        shown = its.astype(object)
        named = np.flatnonzero(~np.isfinite(its))
        texts = zip(named.tolist(), _texts(_at(values, named)), _texts(_at(secret, named)), strict=True)
        for row, one, other in texts:
            both[row], same[row], shown[row] = bool(one and other), bool(one) and one == other, other
        self._rows += int(both.sum())
        self._same += int(same.sum())
        for value in shown[same]:
            if len(self._values) == _DISTINCT:
                return
            self._values.add(value if isinstance(value, str) else f"{value:.12g}")


def _power(mine: NDArray[np.float64], its: NDArray[np.float64]) -> float:
    """Return the power of ten between two units of numbers, as 10,000,000 for degrees and `latitudeE7`."""
    usable = (mine != 0) & (its != 0)
    if not usable.any():
        return 1.0
    power = np.median(np.log10(np.abs(mine[usable])) - np.log10(np.abs(its[usable])))
    return float(10.0 ** np.clip(np.rint(power), -300, 300))


def _at(values: Any, rows: NDArray[np.int64]) -> Any:
    """Return the values of some rows."""
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows.tolist()]


class Beside:
    """Columns that are kept without being named, looked at row by row before anything is drawn."""

    def __init__(self) -> None:
        self._places: dict[str, None] = {}
        self._compared: defaultdict[tuple[str, int], _Compared] = defaultdict(_Compared)

    def look(self, columns: Iterable[tuple[str, Any]], secrets: Sequence[Any]) -> None:
        """Look at some rows of the columns, and at the columns that have their secrets.

        A column that few rows have is a dictionary by their numbers from 0.
        """
        for name, found in columns:
            rows, values = None, found
            if isinstance(found, dict):
                rows, values = np.array([*found], dtype=np.int64), [*found.values()]
            if name not in self._places and any(map(looks_like_place, _doubtful(values))):
                self._places[name] = None
            for place, secret in enumerate(secrets):
                self._compared[name, place].add(values, secret if rows is None else _at(secret, rows))

    def require(self) -> None:
        """Raise SpecError where a column holds places, or repeats the secret."""
        repeats = dict.fromkeys(name for (name, _), found in self._compared.items() if found.repeats)
        repeats = [name for name in repeats if name not in self._places]
        for names, what in (([*self._places], "hold what looks like a place"), (repeats, "repeat the secret")):
            if names:
                fix = ("leave them out: ", Option("drop", names), ", or keep them by name: ", Option("keep"))
                raise SpecError("data", f"columns {listed(names)} {what}", *fix)


def _doubtful(values: Any) -> Iterable[Any]:
    """Return the values that may be places: none of an array of floats, times or small integers."""
    kind = values.dtype.kind if isinstance(values, np.ndarray) else "O"
    if kind in "iu":
        return values[values >= 1 << 59].tolist()
    return values if kind in "OUSVc" else ()


def _numbers(values: Any) -> NDArray[np.float64]:
    """Return values as numbers, those of text whatever their decimal mark; NaN for those that are none."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiu":
        return numbers(values)
    return numbers([value.replace(",", ".") if isinstance(value, str) else value for value in values])


def _texts(values: Sequence[Any]) -> list[str]:
    """Return values as text, with that of whatever is neither text nor number as Python writes it."""
    found = []
    for value in values:
        try:
            found.append(identity(value))
        except SpecError:
            found.append(text_of(value))
    return found
