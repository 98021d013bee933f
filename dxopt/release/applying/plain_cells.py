"""Cells of columns of objects as plain values, on which nothing else can hang.

An object may hold anything beside its value: attributes, memory that it is a view of, rows around it. So cells are
made anew of the values of some types, and those of subclasses become plain. There is no cell of any other type.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

_ZONES = {"datetime", "zoneinfo", "pytz", "dateutil"}
"""Packages of time zones, whose objects are shared by all that have the zone."""
_DEEPEST = 100
"""Lists in lists."""


class NotPlain(TypeError):
    """Raised for a cell of whose type no plain value is known; its text names what there is."""


def plain_cell(value: Any, depth: int = 0) -> Any:
    """Return a cell made anew of its value alone; NotPlain where that is not known of its type."""
    kind: Any = type(value)
    if depth > _DEEPEST:
        raise NotPlain("lists in lists without end")
    if kind in _SINGLE:
        return value
    if kind.__module__ == "numpy" and isinstance(value, np.generic) and not isinstance(value, np.void):
        return kind(value)
    if kind.__module__ == "pyarrow.lib":  # a scalar, or something that becomes an object
        return plain_cell(getattr(value, "as_py", object)(), depth + 1)
    if kind.__module__.partition(".")[0] == "pandas":
        return _of_pandas(value)
    for one, write in _WRITTEN.items():
        if isinstance(value, one):
            return write(value)
    if isinstance(value, np.ndarray) and not isinstance(value, np.ma.MaskedArray):
        return plain_array(value, depth + 1)
    if isinstance(value, dict):
        return {plain_cell(key, depth + 1): plain_cell(one, depth + 1) for key, one in dict.items(value)}
    collection: Any
    for collection in (list, tuple, set, frozenset):
        if isinstance(value, collection):
            return collection(plain_cell(one, depth + 1) for one in collection.__iter__(value))
    raise NotPlain(f"values of type {kind.__name__}")


def plain_array(values: NDArray[Any], depth: int = 0) -> NDArray[Any]:
    """Return an array in memory of its own, of a type without metadata, whose objects are made anew; NotPlain."""
    if values.dtype.kind == "V":
        raise NotPlain("values of several fields")
    made = np.empty(values.shape, np.dtype(values.dtype.str))
    made[...] = values
    if made.dtype == object:
        for place, value in enumerate(values.flat):
            made.flat[place] = plain_cell(value, depth)
    return made


def _of_pandas(value: Any) -> Any:
    """Return a time, a span or an interval of pandas made anew; NotPlain for anything else that it has."""
    import pandas as pd

    if value is pd.NaT or value is pd.NA:
        return value
    if isinstance(value, pd.Timestamp):
        zone = _zone(value.tzinfo)
        made = pd.Timestamp(value.tz_localize(None).to_numpy() if zone is None else value.tz_convert(None).to_numpy())
        return made if zone is None else made.tz_localize("UTC").tz_convert(zone)
    if isinstance(value, pd.Timedelta):
        return pd.Timedelta(value.to_numpy())
    if isinstance(value, pd.Period):
        return pd.Period(ordinal=value.ordinal, freq=value.freqstr)
    if isinstance(value, pd.Interval):
        return pd.Interval(plain_cell(value.left), plain_cell(value.right), value.closed)
    raise NotPlain(f"values of type {type(value).__name__}")


def _zone(zone: dt.tzinfo | None) -> dt.tzinfo | None:
    """Return a time zone; NotPlain where its class is not one of those that all share."""
    if zone is not None and type(zone).__module__.partition(".")[0] not in _ZONES:
        raise NotPlain("times of a zone of a class of its own")
    return zone


def _datetime(one: dt.datetime) -> dt.datetime:
    """Return a time of the plain class."""
    return dt.datetime(*one.timetuple()[:6], one.microsecond, _zone(one.tzinfo), fold=one.fold)


_SINGLE = (type(None), bool)
_WRITTEN: dict[type, Callable[[Any], Any]] = {
    str: str.__str__,
    bytes: lambda one: b"".join([one, b""]),
    bytearray: bytearray,
    int: int.__int__,
    float: float.__float__,
    complex: complex.__pos__,
    Decimal: Decimal,
    Fraction: lambda one: Fraction(one.numerator, one.denominator),
    UUID: lambda one: UUID(int=one.int),
    dt.datetime: _datetime,
    dt.date: lambda one: dt.date(one.year, one.month, one.day),
    dt.time: lambda one: dt.time(one.hour, one.minute, one.second, one.microsecond, _zone(one.tzinfo), fold=one.fold),
    dt.timedelta: lambda one: dt.timedelta(one.days, one.seconds, one.microseconds),
}
"""Functions that write the value of a type, also that of a subclass; a type comes after its own subclasses."""
