"""Which points are meant by a label, an index or coordinates.

The rule, in one place. `label=`, `index=` and `point=` say what is given. A bare argument is taken where it can mean
one point only:

- Text is a label.
- A whole number is an index where no label is a number. Where labels are numbers it is a label, which has to be
  there; where it could be the index or the coordinate of another point as well, it is refused.
- Any other number is a label that is a number; it is refused where it is the coordinate of another point.
- A tuple of two or more is one point: its label or its coordinates, refused where these are two points. Where labels
  are no tuples and points have another number of coordinates, it is several points, as a list is.
- A list, an array or a pandas Series is several points, each by the same rule.

Labels are text; a number is the label of which it is the value, whether that was written 7, 7.0 or "7". A label that
several points have is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.spaces.labels import Tuples
from dxopt.spaces.lookup import Indices, Lookup, shown

_ROWS = "write point= before rows of coordinates"


@dataclass(frozen=True, eq=False)
class Naming:
    """Finds points by label, index or coordinates; see the rule above."""

    lookup: Lookup

    @classmethod
    def of(cls, labels: Sequence[str], points: NDArray[Any] | None, noun: str = "point") -> Naming:
        """The names of n points: their labels, and their coordinates `(n, k)` where they have some."""
        return cls(Lookup(labels, points, noun))

    def find(
        self, bare: Any = None, *, label: Any = None, index: Any = None, point: Any = None, called: str = "secret"
    ) -> Indices:
        """Indices `()` of one point, or `(k,)` of several.

        Raises
        ------
        SpecError
            About the field `called`, if not exactly one of the four is given, there is no such point, or a bare
            argument may mean two of them.
        """
        readers: tuple[tuple[Any, Callable[[Any], Indices]], ...] = (
            (bare, self._bare),
            (label, self._by_label),
            (index, self._by_index),
            (point, self._by_point),
        )
        given = [(value, read) for value, read in readers if value is not None]
        if len(given) != 1:
            wrong = "is given twice" if given else "is missing"
            raise SpecError(called, wrong, "give a label or an index, or one of label=, index= and point=")
        ((value, read),) = given
        try:
            return read(value)
        except SpecError as error:
            raise SpecError(called, error.wrong, error.fix) from None

    def one(
        self, bare: Any = None, *, label: Any = None, index: Any = None, point: Any = None, called: str = "secret"
    ) -> int:
        """The index of one point; SpecError as for `find`, and where several are given."""
        found = self.find(bare, label=label, index=index, point=point, called=called)
        if found.ndim:
            raise SpecError(called, f"is a list of {len(found)}", f"give one {self.lookup.noun}")
        return int(found)

    def _bare(self, given: Any) -> Indices:
        if isinstance(given, tuple) and (len(given) > 1 or not self.lookup.flat):
            found = self._tuple(given)
            return self._bare(list(given)) if found is None else np.array(found)
        several = _several(given)
        if several is None:
            return np.array(self._one(_single(given)))
        if isinstance(several, np.ndarray):
            return self._integers(several)
        return self._each(several, self._one)

    def _by_label(self, given: Any) -> Indices:
        several = None if isinstance(given, tuple) else _several(given)
        if several is None:
            return np.array(self._labelled(_single(given)))
        return self._each(several.tolist() if isinstance(several, np.ndarray) else several, self._labelled)

    def _by_index(self, given: Any) -> Indices:
        several = _several(given)
        if several is None:
            single = _single(given)
            if not _whole(single):
                raise SpecError("index", f"is {shown(single)}", "give a whole number")
            return np.array(self._at(single))
        if isinstance(several, np.ndarray):
            return self._in_range(several)
        raise SpecError("index", "is no list of whole numbers", "give whole numbers")

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

    def _each(self, several: list[Any], read: Callable[[Any], int]) -> Indices:
        """Each of a list; what is there often is looked up once."""
        known: dict[tuple[type, Any], int] = {}
        found = np.empty(len(several), dtype=np.int64)
        for position, given in enumerate(several):
            # True is 1 and 7.0 is 7, so that the type belongs to the key
            key = type(given), given
            if given is None or not _hashable(given):
                wrong = f"is no list of indices or labels: number {position} is {_kind(given)}"
                raise SpecError("secret", wrong, f"give labels, indices or tuples, or {_ROWS}")
            if key not in known:
                known[key] = read(given)
            found[position] = known[key]
        return found

    def _integers(self, given: NDArray[Any]) -> Indices:
        """Bare whole numbers `(k,)`: all at once where they can only be indices."""
        if not self.lookup.numbered or self.lookup.aligned:
            return self._in_range(given)
        distinct, which = np.unique(given, return_inverse=True)
        return np.array([self._one(int(value)) for value in distinct], dtype=np.int64)[which.reshape(-1)]

    def _in_range(self, given: NDArray[Any]) -> Indices:
        if len(given) and (given.min() < 0 or given.max() >= len(self.lookup.labels)):
            last = len(self.lookup.labels) - 1
            raise SpecError("index", "has an index out of range", f"indices run from 0 to {last}")
        return given.astype(np.int64, copy=False)

    def _at(self, index: Any) -> int:
        last = len(self.lookup.labels) - 1
        if not 0 <= index <= last:
            wrong = f"there is no {self.lookup.noun} with index {shown(index)}"
            raise SpecError("index", wrong, f"give an index from 0 to {last}, or a label")
        return int(index)

    def _one(self, given: Any) -> int:
        """The point that a bare argument means, which is no list."""
        if isinstance(given, bool | np.bool_):
            raise SpecError("secret", f"is {given}", "give an index or a label")
        if isinstance(given, tuple):
            found = self._tuple(given)
            if found is None:
                raise self._none(given)
            return found
        if not isinstance(given, Real):
            return self._labelled(given)
        if _whole(given) and not self.lookup.numbered:
            return self._at(given)
        return self._number(given)

    def _number(self, given: Any) -> int:
        """The label that is a number, unless that may be the index or the coordinate of another point."""
        label = self.lookup.label(given)
        indexed = [int(given)] if _whole(given) and 0 <= given < len(self.lookup.labels) else []
        if label is None:
            if indexed:
                raise SpecError("secret", f"{given} is no label", f"write index={given} if it is an index")
            raise self._none(given)
        if any(index != label for index in indexed):
            raise _two(given, "label", "index", "an index")
        placed = self.lookup.candidates((given,)) if self.lookup.flat else np.empty(0)
        if len(placed) and label not in placed:
            raise _two(given, "label", "point", "a coordinate")
        return label

    def _tuple(self, given: tuple[Any, ...]) -> int | None:
        """The point of which a tuple is the label or the coordinates; None where no point could have such ones."""
        label = self.lookup.label(given)
        placed = self.lookup.candidates(given)
        if label is not None:
            if any(index != label for index in placed):
                raise _two(given, "label", "point", "coordinates")
            return label
        if len(placed) > 1:
            raise self.lookup.repeated(given)
        if len(placed):
            return int(placed[0])
        of_points = self.lookup.points is not None and self.lookup.points.shape[1] == len(given)
        if of_points or isinstance(self.lookup.labels, Tuples) or self.lookup.labels[0].startswith("("):
            fix = f"use an index or a label; write a list for several {self.lookup.noun}s"
            raise SpecError("secret", f"there is no {self.lookup.noun} {shown(given)}", fix)
        return None

    def _located(self, row: list[Any]) -> int:
        found = self.lookup.candidates(row)
        if not len(found):
            fix = "exchange the two coordinates" if self._fits_swapped(row) else "give the coordinates of one"
            raise SpecError("point", f"there is no {self.lookup.noun} at {row}", fix)
        if len(found) > 1:
            raise self.lookup.repeated(tuple(row))
        return int(found[0])

    def _fits_swapped(self, row: list[Any]) -> bool:
        """Whether two numbers lie among the points in the other order alone."""
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

    def _labelled(self, given: Any) -> int:
        found = self.lookup.label(given)
        if found is None:
            raise self._none(given)
        return found

    def _none(self, given: Any) -> SpecError:
        return SpecError("secret", f"there is no {self.lookup.noun} {shown(given)}", "use an index or a label")


def _several(given: Any) -> list[Any] | NDArray[Any] | None:
    """What is given as a list, an array of whole numbers, or None where it is one thing."""
    if isinstance(given, str | bytes | np.generic):
        return None
    if isinstance(given, Sequence):
        if not all(map(_whole, given)):
            return list(given)
        array = np.array(given, dtype=np.int64 if not len(given) else None)
        return array if array.dtype.kind in "iu" else list(given)
    array = np.asarray(given) if hasattr(given, "__array__") else np.array(None)
    if array.ndim > 1:
        wrong = f"is no list of indices or labels: it has shape {array.shape}"
        raise SpecError("secret", wrong, f"give one axis of them, or {_ROWS}")
    if not array.ndim:
        return None
    return array if array.dtype.kind in "iu" or not len(array) else array.tolist()


def _kind(given: Any) -> str:
    return "missing" if given is None else f"a {type(given).__name__}"


def _hashable(given: Any) -> bool:
    try:
        hash(given)
    except TypeError:
        return False
    return True


def _single(given: Any) -> Any:
    """What one thing is that may be an array without axes."""
    return given.item() if isinstance(given, np.ndarray) else given


def _whole(given: Any) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def _two(given: Any, one: str, other: str, what: str) -> SpecError:
    """What is written of an argument that may mean two points."""
    text = shown(given)
    return SpecError("secret", f"{text} may be a {one} or {what}", f"write {one}={text} or {other}={text}")
