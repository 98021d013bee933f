"""Rows that come twice: each of them gets a report of its own, so that its secret is protected less."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import PlausibilityWarning

LOOKED_AT = 1 << 22
"""So many rows are compared at most, as each takes 8 bytes."""
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
"""Of the generator SplitMix64, which spreads numbers over 64 bits."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MISSING = np.uint64(0xD1B54A32D192ED03)

Fingerprints = NDArray[np.uint64]


class Repeats:
    """Counts rows that are the same as earlier ones, by their fingerprints."""

    def __init__(self) -> None:
        self._seen: list[Fingerprints] = []
        self._rows = 0
        self._all = True

    def add(self, found: Fingerprints) -> None:
        """Look at rows `(k,)`."""
        room = LOOKED_AT - self._rows
        self._all &= len(found) <= room
        self._seen.append(found[:room])
        self._rows += len(self._seen[-1])

    def warn(self, noun: str) -> None:
        """Warn of rows that are the same as earlier ones, as the second function that `apply` calls."""
        count = self._rows - len(np.unique(np.concatenate(self._seen))) if self._seen else 0
        if not count:
            return
        what = f"{noun} is the same as an earlier one" if count == 1 else f"{noun}s are the same as earlier ones"
        among = "" if self._all else f" among the first {self._rows:,}"
        seen = (
            f"{count:,} {what} in every column{among}: each gets a report of its own, and n reports of a secret "
            "protect it n times less"
        )
        fix = f"often data that were appended or joined twice: remove such {noun}s, unless each is somebody else's"
        warnings.warn(PlausibilityWarning("rows_twice", "data", seen, fix), stacklevel=4)


def of_columns(columns: Iterable[NDArray[np.uint64]], size: int) -> Fingerprints:
    """A number for each of so many rows, the same for rows that are the same in every column."""
    found = np.zeros(size, dtype=np.uint64)
    for column in columns:
        found = found * _ODD + column
        for shift, factor in _STEPS:
            found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
        found ^= found >> np.uint64(31)
    return found


def of_numbers(column: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Fingerprints:
    """A number for each number or time `(k,)`, by its bits."""
    kind = column.dtype.kind
    wide = column.astype(np.float64) if kind == "f" else column if kind in "mM" else column.astype(np.int64)
    found = np.ascontiguousarray(wide).view(np.uint64)
    return found if missing is None else np.where(missing, _MISSING, found)


def of_texts(column: Iterable[Any], size: int) -> Fingerprints:
    """A number for each value of any kind, of so many."""
    return np.fromiter(map(_number, column), np.int64, size).view(np.uint64)


def _number(value: Any) -> int:
    if isinstance(value, str):
        return hash(value)
    if hasattr(value, "wkb"):
        # the text of a shape is rounded
        return hash(value.wkb)
    return hash(repr(value.tolist() if isinstance(value, np.ndarray) else value))
