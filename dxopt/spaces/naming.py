"""Points by label, index or coordinates: a bare argument is a label; `index=` and `point=` are for the rest.

Labels are text. A number is the label of which it is the value, whether that was written 7, 7.0 or "7", and a tuple
is one label. A list, an array or a pandas Series names several points. A label of several points is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError
from dxopt.spaces.lookup import Indices, Lookup, NoSuchPoint, plain, shown


@dataclass(frozen=True, eq=False)
class Naming:
    """Finds points by label, index or coordinates; see the rule above."""

    lookup: Lookup

    @classmethod
    def of(cls, labels: Sequence[str], points: NDArray[Any] | None, noun: str = "point") -> Naming:
        """Return the names of n points: their labels, and their coordinates `(n, k)` where they have some."""
        return cls(Lookup(labels, points, noun))

    def find(
        self, bare: Any = None, *, label: Any = None, index: Any = None, point: Any = None, called: str = "secret"
    ) -> Indices:
        """Return the indices `()` of one point, or `(k,)` of several.

        Raises
        ------
        SpecError
            About the field `called`, if not exactly one of the four is given, or there is no such point.
        """
        readers: tuple[tuple[Any, Callable[[Any], Indices]], ...] = (
            (bare, self._by_label),
            (label, self._by_label),
            (index, self._by_index),
            (point, self._by_point),
        )
        given = [(value, read) for value, read in readers if value is not None]
        if len(given) != 1:
            wrong = "is given twice" if given else "is missing"
            raise SpecError(called, wrong, "give a label, ", Option("index"), " or ", Option("point"))
        ((value, read),) = given
        try:
            return read(value)
        except SpecError as error:
            raise error.at(called) from None

    def one(
        self, bare: Any = None, *, label: Any = None, index: Any = None, point: Any = None, called: str = "secret"
    ) -> int:
        """Return the index of one point; SpecError as for `find`, and where several are given."""
        found = self.find(bare, label=label, index=index, point=point, called=called)
        if found.ndim:
            raise SpecError(called, f"is a list of {len(found)}", f"give one {self.lookup.noun}")
        return int(found)

    def _by_label(self, given: Any) -> Indices:
        several = None if isinstance(given, tuple) else _several(given)
        if several is None:
            return np.array(self._labelled(_single(given)))
        if isinstance(several, np.ndarray):
            if self.lookup.aligned and self._are_indices(several):
                return several.astype(np.int64, copy=False)
            several = several.tolist()
        known: dict[tuple[type, Any], int] = {}
        found = np.empty(len(several), dtype=np.int64)
        for position, name in enumerate(several):
            # True is 1 and 7.0 is 7, so that the type belongs to the key
            key = type(name), name
            if name is None or not _hashable(name):
                kind = "missing" if name is None else f"a {type(name).__name__}"
                raise SpecError("secret", f"is no list of labels: number {position} is {kind}", *self._otherwise())
            if key not in known:
                known[key] = self._labelled(name)
            found[position] = known[key]
        return found

    def _by_index(self, given: Any) -> Indices:
        several = _several(given)
        last = len(self.lookup.labels) - 1
        if several is None:
            single = _single(given)
            if not _whole(single):
                raise SpecError("index", f"is {shown(single)}", "give a whole number")
            if not 0 <= single <= last:
                wrong = f"there is no {self.lookup.noun} with index {shown(single)}"
                raise NoSuchPoint("index", wrong, f"give an index from 0 to {last}, or a label")
            return np.array(int(single))
        if not isinstance(several, np.ndarray):
            raise SpecError("index", "is no list of whole numbers", "give whole numbers")
        if not self._are_indices(several):
            raise NoSuchPoint("index", "has an index out of range", f"indices run from 0 to {last}")
        return several.astype(np.int64, copy=False)

    def _by_point(self, given: Any) -> Indices:
        if self.lookup.points is None:
            raise SpecError("point", f"the {self.lookup.noun}s have no coordinates", "give a label or an index")
        # One point is as long as a row of points; on one axis a list has many of them.
        try:
            targets = np.asarray(given)
        except ValueError:
            raise SpecError("point", "is no array", "give a row of coordinates for each") from None
        width = self.lookup.points.shape[1]
        one = targets.ndim == 0 or (targets.ndim == 1 and (width > 1 or isinstance(given, tuple)))
        rows = targets.reshape(1, -1) if one else targets.reshape(len(targets), -1 if targets.size else width)
        if rows.shape[1:] != (width,):
            raise SpecError("point", f"has shape {targets.shape}", f"give {width} coordinates for each")
        found = np.array([self._located(row.tolist()) for row in rows], dtype=np.int64)
        return found.reshape(()) if one else found

    def _labelled(self, given: Any) -> int:
        found = self.lookup.label(given)
        if found is None:
            raise NoSuchPoint("secret", f"there is no {self.lookup.noun} {shown(given)}", *self._otherwise(given))
        return found

    def _otherwise(self, given: Any = None) -> tuple[str | Option, ...]:
        """Return the fix where what is given is no label, but may be an index or coordinates."""
        index = plain(given) if _whole(given) and 0 <= given < len(self.lookup.labels) else None
        if index is None and isinstance(given, tuple) and len(self.lookup.candidates(given)):
            return "write ", Option("point", tuple(map(plain, given))), " for coordinates"
        several = ", a list of several" if isinstance(given, tuple) else ""
        return f"give a label{several}, an index as ", Option("index", index), ", or coordinates as ", Option("point")

    def _are_indices(self, given: NDArray[Any]) -> bool:
        return not len(given) or bool(given.min() >= 0 and given.max() < len(self.lookup.labels))

    def _located(self, row: list[Any]) -> int:
        found = self.lookup.candidates(row)
        if not len(found):
            fix = "exchange the two coordinates" if self._fits_swapped(row) else "give the coordinates of one"
            raise NoSuchPoint("point", f"there is no {self.lookup.noun} at {row}", fix)
        if len(found) > 1:
            raise self.lookup.repeated(tuple(row))
        return int(found[0])

    def _fits_swapped(self, row: list[Any]) -> bool:
        """Return whether two numbers lie among the points in the other order alone."""
        points = self.lookup.points
        if (
            points is None
            or len(row) != 2
            or points.dtype.kind != "f"
            or not all(isinstance(one, Real) for one in row)
        ):
            return False
        low, high = points.min(axis=0), points.max(axis=0)
        within = [bool(((low <= tried) & (tried <= high)).all()) for tried in (np.array(row), np.array(row[::-1]))]
        return within == [False, True]


def _several(given: Any) -> list[Any] | NDArray[Any] | None:
    """Return what is given as a list, an array of whole numbers, or None where it is one thing."""
    if isinstance(given, str | bytes | np.generic):
        return None
    if isinstance(given, Sequence):
        if not all(map(_whole, given)):
            return list(given)
        array = np.array(given, dtype=np.int64 if not len(given) else None)
        return array if array.dtype.kind in "iu" else list(given)
    array = np.asarray(given) if hasattr(given, "__array__") else np.array(None)
    if array.ndim > 1:
        wrong = f"is no list of labels: it has shape {array.shape}"
        raise SpecError("secret", wrong, "give one axis of them, or rows of coordinates as ", Option("point"))
    if not array.ndim:
        return None
    return array if array.dtype.kind in "iu" or not len(array) else array.tolist()


def _hashable(given: Any) -> bool:
    # a tuple with a list in it is an instance of Hashable, but has no hash
    return isinstance(given, Hashable) and not (isinstance(given, tuple) and not all(map(_hashable, given)))


def _single(given: Any) -> Any:
    """Return the one thing that may be an array without axes."""
    return given.item() if isinstance(given, np.ndarray) else given


def _whole(given: Any) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool)
