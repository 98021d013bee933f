"""Coordinates, their names as columns of a data frame or a file have them, and which of them are degrees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.numerics.coerce import ragged

_LATITUDE = {"lat", "lats", "latitude", "latitudes"}
_LONGITUDE = {"lon", "lons", "lng", "long", "longitude", "longitudes"}
_WORDS = re.compile(r"[a-z]+")


def coordinates_of(given: ArrayLike) -> NDArray:
    """Points as a new read-only array `(n, k)`; SpecError unless there is a row of coordinates for each."""
    try:
        located = np.array(given, order="C")
    except ValueError:
        raise SpecError("points", f"have {ragged(given)}", "give each point as many coordinates") from None
    if located.ndim == 1:
        located = located[:, None]
    if located.ndim != 2 or not located.size:
        raise SpecError("points", f"have shape {located.shape}", "give one row of coordinates per point")
    if np.issubdtype(located.dtype, np.number) or located.dtype == bool:
        located = located.astype(float, copy=False)
    located.flags.writeable = False
    return located


def names_of(given: Any) -> tuple[str, ...]:
    """The names of the columns of a data frame; none where something else is given."""
    columns = getattr(given, "columns", None)
    return () if columns is None or len(getattr(given, "shape", ())) != 2 else tuple(map(str, columns))


def are_degrees(names: Sequence[str]) -> bool:
    """Return True if two names, in either order, mean a latitude and a longitude, as `pickup_lat` and `lng`."""
    return len(names) == 2 and (_ordered(*names) or _ordered(names[1], names[0]))


def require_latitude_first(names: Sequence[str], field: str) -> None:
    """Raise SpecError where two names are those of a longitude and a latitude, in this order."""
    if len(names) == 2 and _ordered(names[1], names[0]):
        fix = f"places are (latitude, longitude): give [{names[1]!r}, {names[0]!r}]"
        raise SpecError(field, f"are {names[0]!r} and {names[1]!r}, in this order", fix)


def _ordered(first: str, second: str) -> bool:
    """Return True if the first name is a latitude and the second a longitude."""
    return bool(_LATITUDE & _words(first)) and bool(_LONGITUDE & _words(second))


def _words(name: str) -> set[str]:
    return set(_WORDS.findall(name.lower()))
