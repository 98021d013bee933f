"""Kept columns that hold places under another name: refused unless they are named."""

from __future__ import annotations

import json
import re
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
from dxopt.spaces.naming import cell_id, is_cell, shown

_PLACE = re.compile(
    r"""
    \b(SRID=\d+;)?\s*(POINT|LINESTRING|POLYGON|MULTI(POINT|LINESTRING|POLYGON)|GEOMETRYCOLLECTION)\s*(Z|M|ZM)?\s*\(
    | \bgeo:[-+]?\d                                                          # a URI of RFC 5870
    | (?<![\d.])[-+]?\d{1,3}\.\d{3,}\s*°?\s*[NS]?\s*[,;/\s]\s*[-+]?\d{1,3}\.\d{3,}(?!\.?\d)
    | \d\s*°\s*\d+(\.\d+)?\s*['′]                                            # degrees and minutes
    | \b[23456789CFGHJMPQRVWX]{4,8}\+[23456789CFGHJMPQRVWX]{2,3}\b           # an Open Location Code
    | ^\s*0[01]0[1-7]00000[0-9A-F]{33,}\s*$                                  # well-known binary in digits
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SHAPES = {"Point", "MultiPoint", "LineString", "MultiLineString", "Polygon", "MultiPolygon", "GeometryCollection"}
_DEEPEST = 16
_DISTINCT = 3
"""A column repeats the secret where all rows have the same value there, and at least so many values differ."""


def looks_like_place(value: Any, depth: int = 0) -> bool:
    """Return whether a value is a geometry, coordinates, or a code of a place in a usual notation, however nested.

    What is nested too deep to be looked at may be one.
    """
    if depth > _DEEPEST:
        return True
    if isinstance(value, str):
        if _PLACE.search(value) or cell_id(value):
            return True
        return value.lstrip()[:1] in ("{", "[") and looks_like_place(_parsed(value), depth + 1)
    if isinstance(value, bytes | bytearray):
        if cell_id(value.decode(errors="replace")):
            return True
        return len(value) >= 21 and value[0] in (0, 1) and {*value[1:5]} & {*range(1, 8)} != set()
    if hasattr(value, "geom_type"):
        return True
    if isinstance(value, Integral):
        return not isinstance(value, bool) and is_cell(int(value))
    if isinstance(value, Mapping):
        return _is_object_of_place(value) or any(looks_like_place(one, depth + 1) for one in value.values())
    if isinstance(value, list | tuple | np.ndarray):
        return len(value) > 0 and (_are_coordinates(value) or any(looks_like_place(one, depth + 1) for one in value))
    return False


def _parsed(text: str) -> Any:
    """Return what JSON, or the text of an object of Python, has; None where it has nothing."""
    for tried in (text, text.replace("'", '"')):
        with suppress(ValueError, RecursionError):
            return json.loads(tried)
    return None


def _is_object_of_place(value: Mapping[Any, Any]) -> bool:
    """Return whether an object is a geometry, or has a latitude and a longitude."""
    names = [str(name) for name in value]
    located = all(any(has_role(name, role) for name in names) for role in ("latitude", "longitude"))
    return located or "coordinates" in names or value.get("type") in _SHAPES


def _are_coordinates(value: Any) -> bool:
    """Return whether a list is of two to six finite numbers, as a point or a box has, and not all are whole."""
    if not 2 <= len(value) <= 6 or not all(isinstance(one, Real) and not isinstance(one, bool) for one in value):
        return False
    return all(abs(one) <= 360 for one in value) and not all(one % 1 == 0 for one in value)


class Beside:
    """Columns that are kept without being named, looked at row by row before anything is drawn."""

    def __init__(self) -> None:
        self._places: dict[str, None] = {}
        self._values: dict[str, set[str]] = {}
        self._others: set[str] = set()

    def look(self, columns: Iterable[tuple[str, Any]], secrets: Sequence[Sequence[Any]]) -> None:
        """Look at some rows of the columns, and at the columns that have their secrets."""
        for name, values in columns:
            if name not in self._places and any(map(looks_like_place, _doubtful(values))):
                self._places[name] = None
            if name not in self._others and not any(self._repeats(name, values, secret) for secret in secrets):
                self._others.add(name)

    def _repeats(self, name: str, values: Sequence[Any], secret: Sequence[Any]) -> bool:
        """Return whether rows of a column have the values of the secret, where they have any."""
        if len(values) != len(secret):
            return False
        texts, others = _texts(values), _texts(secret)
        pairs = zip(texts, others, strict=True)
        same = bool(((_numbers(texts) == _numbers(others)) | [one in ("", other) for one, other in pairs]).all())
        if same and len(found := self._values.setdefault(name, set())) < _DISTINCT:
            found.update({*texts} - {""})
        return same

    def require(self) -> None:
        """Raise SpecError where a column holds places, or repeats the secret."""
        repeats = [
            name
            for name, found in self._values.items()
            if name not in self._others and name not in self._places and len(found) >= _DISTINCT
        ]
        for names, what in (([*self._places], "hold what looks like a place"), (repeats, "repeat the secret")):
            if names:
                fix = ("leave them out: ", Option("drop", names), ", or keep them by name: ", Option("keep"))
                raise SpecError("data", f"columns {listed(names)} {what}", *fix)


def _doubtful(values: Any) -> Iterable[Any]:
    """Return the values that may be places: none of an array of floats, times or small integers."""
    kind = values.dtype.kind if isinstance(values, np.ndarray) else "O"
    if kind in "iu":
        return values[values >= 1 << 59].tolist()
    return values if kind in "OUS" else ()


def _numbers(texts: Iterable[str]) -> NDArray[np.float64]:
    """Return texts as numbers, whatever their decimal mark; NaN for those that are none."""
    return numbers([text.replace(",", ".") for text in texts])


def _texts(values: Sequence[Any]) -> list[str]:
    """Return values as text, with that of whatever is neither text nor number as Python writes it."""
    found = []
    for value in values:
        try:
            found.append(identity(value))
        except SpecError:
            found.append(shown(value))
    return found
