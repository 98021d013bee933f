"""Read numbers as people give them: one, or lists and arrays of them, weights, and distributions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, time
from numbers import Integral, Number
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError

_LONGEST = 60  # letters of what `short_repr` quotes
SUM = 1e-9
"""The largest error of a sum of probabilities."""
_NO_NUMBERS = (bool, np.bool_, bytes, bytearray)
"""Types that Python turns into numbers, but nobody means as numbers."""


VALUE = str | bytes | Number | date | time | UUID | np.generic | None
"""Types of single values; what others say of themselves may be an address in memory."""


def short_repr(given: Any) -> str:
    """Return the repr of a value, or of several, on one short line, as messages quote it; else the type."""
    several = given if isinstance(given, list | tuple | set | frozenset | np.ndarray) else [given]
    if not all(isinstance(one, VALUE) for one in several):
        return f"of type {type(given).__name__}"
    try:
        return " ".join(repr(given).split())[:_LONGEST]
    except ValueError:
        return "a number of thousands of digits"


def require_eager(given: Any, field: str) -> None:
    """Raise SpecError for a frame that has not been computed, as those of Polars that are lazy."""
    if hasattr(given, "collect") and not hasattr(given, "shape"):
        raise SpecError(field, f"is of type {type(given).__name__}", "collect it first, as by frame.collect()")


def as_number(given: Any, field: str, fix: str) -> float:
    """Return a number as a float; SpecError where it is none, also where it is True, False or bytes."""
    try:
        if not isinstance(given, _NO_NUMBERS):
            return float(given)
    except OverflowError:
        raise SpecError(field, "is a number too large to compute with", fix) from None
    except (TypeError, ValueError):
        pass
    raise SpecError(field, f"is {short_repr(given)}, which is not a number", fix)


def as_numbers(given: Any, field: str, fix: str) -> NDArray[np.float64]:
    """Copy numbers to an array of doubles; SpecError names the entry that is none, or rows of different lengths."""
    require_eager(given, field)
    try:
        array = np.asarray(given)
        if given is not None and array.dtype.kind != "c":
            return np.array(array, dtype=float)
    except (TypeError, ValueError, OverflowError):
        pass
    raise SpecError(field, _what_is_wrong(given), fix)


def as_weights(given: Any, field: str, fix: str, size: int | None = None) -> NDArray[np.float64]:
    """Return finite numbers of 0 or more, as many as `size`, on one axis; SpecError names the first other one."""
    array = as_numbers(given, field, fix)
    if array.ndim != 1:
        raise SpecError(field, f"has shape {array.shape}", fix)
    if size not in (None, len(array)):
        raise SpecError(field, f"has {len(array):,} entries, not {size:,}", fix)
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        wrong = "negative" if array[bad[0]] < 0 else "not finite"
        raise SpecError(field, f"number {bad[0]} is {wrong}", "give finite numbers of 0 or more")
    return array


def as_distributions(given: Any, field: str, fix: str, *shape: int | None) -> NDArray[np.float64]:
    """Return rows of probabilities that sum to 1 up to 1e-9, of this shape; None stands for any size."""
    array = as_numbers(given, field, fix)
    same = (size in (None, found) for found, size in zip(array.shape, shape, strict=True))
    if array.ndim != len(shape) or not array.size or not all(same):
        raise SpecError(field, f"has shape {array.shape}", fix)
    bad = np.argwhere(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        raise SpecError(field, f"entry {bad[0].tolist()} is {array[tuple(bad[0])]:g}", "give probabilities")
    sums = np.atleast_1d(array.sum(axis=-1))
    row = int(np.abs(sums - 1).argmax())
    if abs(sums[row] - 1) > SUM:
        raise SpecError(field, f"row {row} sums to {sums[row]:.12g}, not to 1", "divide each row by its sum")
    return array


def checked_count(field: str, number: int, least: int = 1) -> int:
    """Return a whole number of at least so much; raise SpecError where it is none."""
    if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
        raise SpecError(field, f"is {short_repr(number)}", f"give a whole number from {least}")
    return int(number)


def ragged(given: Any) -> str:
    """Return a message that names the rows of unequal length in nested lists; "" where all are equal."""
    rows = list(given) if isinstance(given, Sequence) and not isinstance(given, str | bytes) else []
    sizes = [len(row) if isinstance(row, Sequence) and not isinstance(row, str) else None for row in rows]
    other = next((index for index, size in enumerate(sizes) if size != sizes[0]), None)
    if other is None:
        return ""
    one, two = ("is no list" if size is None else f"has length {size}" for size in (sizes[0], sizes[other]))
    return f"rows of different lengths: row 0 {one}, row {other} {two}"


def _what_is_wrong(given: Any) -> str:
    """Return what is wrong with an argument that is no array of numbers; no entry is quoted, as it may be secret."""
    if found := ragged(given):
        return f"has {found}"
    try:
        entries = np.array(given, dtype=object)
    except ValueError:
        entries = np.array(None)
    if not entries.ndim:
        return f"is of type {type(given).__name__}, not numbers"
    for index, entry in np.ndenumerate(entries):
        try:
            float(entry)
        except (TypeError, ValueError, OverflowError):
            return f"entry {list(index)}, of type {type(entry).__name__}, is no real number"
    return "has entries that are no real numbers"
