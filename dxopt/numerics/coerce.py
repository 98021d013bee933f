"""Read numbers as people give them: one, or lists and arrays of them, weights, and distributions."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import date, time
from numbers import Integral, Number
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.numerics.number_syntax import number_of

_LONGEST = 60  # letters of what `short_repr` quotes
SUM = 1e-9
"""The largest error of a sum of probabilities."""
DUST = 1e-6
"""Solvers return entries below 0, entries beside 0, and rows off 1, by no more."""
_NO_NUMBERS = (bool, np.bool_, np.datetime64, np.timedelta64, str, bytes, bytearray)
"""Types that Python turns into numbers, but nobody means as numbers."""
Wanted = tuple[str, Callable[[float], bool]]
"""What is asked of a number: the fix that says it, and whether one is so."""
POSITIVE: Wanted = ("give a positive finite number", lambda number: 0 < number < math.inf)
NONNEGATIVE: Wanted = ("give a finite number of 0 or more", lambda number: 0 <= number < math.inf)
SHARE: Wanted = ("give a number between 0 and 1", lambda number: 0 < number < 1)
BELOW_1: Wanted = ("give a number from 0 to below 1", lambda number: 0 <= number < 1)
UP_TO_1: Wanted = ("give a number from 0 to 1", lambda number: 0 <= number <= 1)
FROM_0: Wanted = ("give a number of 0 or more", lambda number: number >= 0)
DILATION: Wanted = ("give a dilation of 1 or more", lambda number: 1 <= number < math.inf)
LARGEST_SUM = 1e150
"""Larger sums have squares that overflow."""


VALUE = str | bytes | Number | date | time | UUID | np.generic | None
"""Types of single values; what others say of themselves may be an address in memory."""


def short_repr(given: Any) -> str:
    """Return the repr of a value, or of several, on one short line, as messages quote it; else the type."""
    several = given if isinstance(given, list | tuple | set | frozenset) or getattr(given, "ndim", 0) else [given]
    if not all(isinstance(one, VALUE) for one in several):
        return f"of type {type(given).__name__}"
    try:
        return " ".join(repr(given).split())[:_LONGEST]
    except ValueError:
        return "a number of thousands of digits"


def require_values(given: Any, field: str) -> None:
    """Raise SpecError for a frame that is not computed, as lazy ones of Polars, or masked entries of an array."""
    if hasattr(given, "collect") and not hasattr(given, "shape"):
        raise SpecError(field, f"is of type {type(given).__name__}", "collect it first, as by frame.collect()")
    if _is_masked(given):
        raise SpecError(
            field, "has masked entries, which are no values", "fill them, as by array.filled(0), or drop them"
        )


def require_same_rows(rows: Any, given: Any, field: str) -> None:
    """Raise SpecError if two objects of pandas, one beside the other, have indexes that differ, as in order.

    All that has no index of pandas is taken in its order.
    """
    one: Any = getattr(rows, "index", None)
    other: Any = getattr(given, "index", None)
    if hasattr(one, "equals") and hasattr(other, "equals") and not one.equals(other):
        fix = f"put both in one order by their index, or give {field}.to_numpy() where they are meant row by row"
        raise SpecError(field, "have another index than what they stand beside, or another order of it", fix)


def _is_masked(given: Any) -> bool:
    """Return whether some entry of a masked array is masked, or of one in lists."""
    if isinstance(given, list | tuple):
        return any(isinstance(one, list | tuple | np.ma.MaskedArray) and _is_masked(one) for one in given)
    return isinstance(given, np.ma.MaskedArray) and bool(np.ma.is_masked(given))


def as_number(
    given: Any, field: str, fix: str = "give a finite number", good: Callable[[float], bool] = math.isfinite
) -> float:
    """Return a number of any type as a double; SpecError unless it is one, and good. Text is none, nor is True."""
    try:
        number = None if isinstance(given, _NO_NUMBERS) or getattr(given, "ndim", 0) else float(given)
    except OverflowError:
        raise SpecError(field, "is a number too large to compute with", fix) from None
    except Exception:  # whatever a type of others raises
        number = None
    if number is None:
        raise SpecError(field, f"is {short_repr(given)}, which is not a number", fix)
    if not good(number):
        raise SpecError(field, f"is {number:.12g}", fix)
    return number


def as_seconds(time_limit: Any) -> float | None:
    """Return a time limit as a double, or None where there is none."""
    fix = "give a positive number of seconds"
    return None if time_limit is None else as_number(time_limit, "time_limit", fix, lambda seconds: seconds > 0)


def as_written(given: Any, field: str, fix: str, good: Callable[[float], bool]) -> float:
    """Return what `as_number` does, also of text such as "ln(4)"."""
    return as_number(number_of(given, field) if isinstance(given, str) else given, field, fix, good)


def keep_number(record: Any, field: str, fix: str, good: Callable[[float], bool]) -> None:
    """Put in a field of a frozen record the double that `as_number` reads from it."""
    object.__setattr__(record, field, as_number(getattr(record, field), field, fix, good))


def as_numbers(given: Any, field: str, fix: str) -> NDArray[np.float64]:
    """Copy numbers to an array of doubles; SpecError names the entry that is none, or rows of different lengths."""
    require_values(given, field)
    try:
        array = np.asarray(given)
        if given is not None and array.dtype.kind != "c":
            return np.array(array, dtype=float)
    except Exception:  # whatever a type of others raises
        pass
    raise SpecError(field, _what_is_wrong(given), fix)


def as_flag(given: Any, field: str) -> bool:
    """Return what is true or false as a bool; SpecError about anything else, numbers among it."""
    if not isinstance(given, bool | np.bool_):
        raise SpecError(field, f"is {short_repr(given)}", "give True or False")
    return bool(given)


def as_list(given: Any, field: str, fix: str) -> list[Any]:
    """Return several as a list; SpecError where they are none, as text is not."""
    require_values(given, field)
    scalar = isinstance(given, str | bytes) or getattr(given, "ndim", 1) == 0
    if scalar or not isinstance(given, Iterable):
        raise SpecError(field, f"is {short_repr(given)}", fix)
    return list(given)


def as_weights(
    given: Any, field: str, fix: str, size: int | None = None, most: float = LARGEST_SUM
) -> NDArray[np.float64]:
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
    with np.errstate(over="ignore"):
        if array.sum() > most:
            raise SpecError(field, f"sums to more than {most:g}", "give smaller numbers, in proportion")
    return array


def as_distributions(
    given: Any, field: str, fix: str, *shape: int | None, mend: str = "give probabilities"
) -> NDArray[np.float64]:
    """Return rows of probabilities that sum to 1 up to 1e-9, of this shape; None stands for any size.

    SpecError where they are none, with the fix `mend` where entries are no further below 0 than a solver leaves them.
    """
    array = as_numbers(given, field, fix)
    same = (size in (None, found) for found, size in zip(array.shape, shape, strict=True))
    if array.ndim != len(shape) or not array.size or not all(same):
        raise SpecError(field, f"has shape {array.shape}", fix)
    bad = np.argwhere(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        wrong = f"entry {bad[0].tolist()} is {array[tuple(bad[0])]:g}"
        raise SpecError(field, wrong, mend if array.min() >= -DUST else "give probabilities")
    with np.errstate(over="ignore"):
        sums = np.atleast_1d(array.sum(axis=-1))
    row = int(np.abs(sums - 1).argmax())
    if abs(sums[row] - 1) > SUM:
        raise SpecError(field, f"row {row} sums to {sums[row]:.12g}, not to 1", "divide each row by its sum")
    return array


def checked_count(field: str, number: Any, least: int = 1, most: int = sys.maxsize) -> int:
    """Return a whole number of at least and at most so much; raise SpecError where it is none."""
    number = number.item() if isinstance(number, np.ndarray) and number.ndim == 0 else number
    if isinstance(number, bool) or not isinstance(number, Integral) or not least <= int(number) <= most:
        end = f" to {most:,}" if most < sys.maxsize or short_repr(number).isdigit() else ""
        raise SpecError(field, f"is {short_repr(number)}", f"give a whole number from {least}{end}")
    return int(number)


def checked_counts(field: str, given: Any, most: int = sys.maxsize) -> list[int]:
    """Return one or more whole numbers from 1 as a list; raise SpecError where one is none."""
    several = not isinstance(given, str | bytes) and isinstance(given, Iterable) and getattr(given, "ndim", 1)
    return [checked_count(field, one, 1, most) for one in (given if several else [given])]


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
        except Exception:
            return f"entry {list(index)}, of type {type(entry).__name__}, is no real number"
    return "has entries that are no real numbers"
