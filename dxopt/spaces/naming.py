"""Points by label, index or coordinates: a bare argument is a label; `index=` and `point=` are for the rest.

Labels are text. Where none is as given, identities are compared (`runtime/identity.py`): 7, 7.0 and "7" are one
label, and a tuple is one. A list, an array or a pandas Series names several points. A label of several is refused.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError, required
from dxopt.numerics.coerce import VALUE, require_values
from dxopt.runtime.identity import CommaError, each, identity, shortest
from dxopt.spaces.labels import Numbers, Tuples

Indices = NDArray[np.int64]

_SEVERAL = -1
_ROUNDING = 1e-9
"""The largest error of coordinates, in parts of the largest coordinate."""


class NotOnePoint(SpecError):
    """A value that does not name one point; `position` is where it stands in a list of labels, None without one."""

    position: int | None = None
    said: ClassVar[str]


class NoSuchPoint(NotOnePoint):
    """A label, an index or coordinates that no point has."""

    said = "is none of the"


class SeveralPoints(NotOnePoint):
    """A label or coordinates that several points have."""

    said = "names several"


@dataclass(frozen=True, eq=False)
class Naming:
    """Finds points, which errors call a noun, by label, index or coordinates; see the rule above."""

    labels: Sequence[str]
    points: NDArray[Any] | None = field(default=None, repr=False)
    noun: str = "point"

    def with_label(self, given: Any, decimal: str | None = ".") -> int | None:
        """Return the index of the point with a label, given as text, a number or a tuple; None where there is none.

        Text that is no label may be a number with this decimal mark. SeveralPoints where several points have it;
        CommaError where the mark is None, and it may be a number with a comma.
        """
        if isinstance(given, tuple) and isinstance(self.labels, Tuples):
            parts = self._parts
            found = [part.with_label(name) for part, name in zip(parts, given, strict=False)]
            if len(parts) != len(given) or None in found:
                return None
            return int(np.ravel_multi_index(found, [len(part.labels) for part in parts]))  # pyright: ignore
        try:
            found = self._written(written(given))
        except ValueError:
            # a number of more digits than Python writes
            return None
        if found is None and not isinstance(given, tuple):
            found = self._identified(given, decimal)
        if found == _SEVERAL:
            raise self.repeated(given)
        return found

    def _written(self, text: str) -> int | None:
        """Return the index of the label that is this text; None where there is none, -1 where several are listed."""
        if not isinstance(self.labels, Numbers | Tuples):
            return self._texts.get(text)
        try:
            return self.labels.index(text)
        except ValueError:
            return None

    def _identified(self, given: Any, decimal: str | None) -> int | None:
        """Return the point whose label has the same identity, as 7 has that of 7.0."""
        try:
            text = identity(given, decimal=decimal)
        except CommaError:
            raise
        except SpecError:
            return None
        if isinstance(self.labels, Numbers | Tuples):
            return self._written(text)
        return self._identities.get(cell_id(text) or text)

    def rows(self, names: Any, field: str) -> dict[int | str, int]:
        """Return the row of each point that a name is the label of, and of other names; SpecError if one is twice."""
        found: dict[int | str, int] = {}
        for row, name in enumerate(each(names, field)):
            try:
                point = self.with_label(name)
            except SeveralPoints:
                fix = "give the points labels of their own"
                raise SpecError(field, "is matched with labels some of which are alike", fix) from None
            if found.setdefault(written(name) if point is None else point, row) != row:
                raise SpecError(field, f"has the label {written(name)!r} twice", "give each label once")
        return found

    def require_distinct(self) -> None:
        """Raise SpecError where labels have one identity, so that a file decides which of them a number is."""
        for part in self._parts:
            part.require_distinct()
        if self._parts or isinstance(self.labels, Numbers):
            return
        found: dict[str, str] = {}
        for label in self.labels:
            first = found.setdefault(_key(label), label)
            if first is not label:
                wrong = f"{first!r} and {label!r} are one label in data"
                raise SpecError("labels", wrong, "give the points labels that differ in more than blanks and digits")

    @cached_property
    def aligned(self) -> bool:
        """Return whether labels are 0, 1, …, as the indices are."""
        return isinstance(self.labels, Numbers) or all(label == str(x) for x, label in enumerate(self.labels))

    @cached_property
    def _parts(self) -> tuple[Naming, ...]:
        return tuple(map(Naming, self.labels.parts)) if isinstance(self.labels, Tuples) else ()

    @cached_property
    def _texts(self) -> dict[str, int]:
        """The point of each label; -1 where there are several."""
        return _indexed(enumerate(self.labels))

    @cached_property
    def _identities(self) -> dict[str, int]:
        """The point of each label by its identity; -1 where there are several."""
        return _indexed(enumerate(map(_key, self.labels)))

    def candidates(self, coordinates: Sequence[Any]) -> Indices:
        """Return the indices `(k,)` of points with these coordinates, up to rounding where none has them exactly."""
        points = self.points
        if points is None or points.shape[1] != len(coordinates):
            return np.empty(0, dtype=np.int64)
        if points.dtype.kind != "f":
            return np.flatnonzero((points == np.array(coordinates, dtype=object)).all(axis=1))
        try:
            target = np.array(coordinates, dtype=float)
        except (TypeError, ValueError, OverflowError):
            return np.empty(0, dtype=np.int64)
        apart = np.abs(points - target).max(axis=1)
        exact = np.flatnonzero(apart == 0)
        return exact if len(exact) else np.flatnonzero(apart <= _ROUNDING * np.abs(points).max())

    def repeated(self, given: Any) -> SpecError:
        """Return the error about a name of several points."""
        wrong = f"{shown(given)} names several {self.noun}s"
        return SeveralPoints("secret", wrong, "give an index, as ", Option("index"))

    def find(
        self,
        bare: Any = None,
        *,
        label: Any = None,
        index: Any = None,
        point: Any = None,
        called: str = "secret",
        quoted: bool = True,
    ) -> Indices:
        """Return the indices `()` of one point, or `(k,)` of several.

        Errors quote what was given, unless `quoted` is False: it may be somebody's true secret.

        Raises
        ------
        SpecError
            About the field `called`, if not exactly one of the four is given, or there is no such point.
        """
        readers = (bare, self._by_label), (label, self._by_label), (index, self._by_index), (point, self._by_point)
        given = [(value, read) for value, read in readers if value is not None]
        if len(given) != 1:
            wrong = "is given twice" if given else "is missing"
            raise SpecError(called, wrong, "give a label, ", Option("index"), " or ", Option("point"))
        ((value, read),) = given
        require_values(value, called)
        try:
            return read(value)
        except SpecError as error:
            if not quoted and isinstance(error, NotOnePoint):
                where = "" if error.position is None else f"number {error.position} "
                unquoted = type(error)(called, f"{where}{error.said} {self.noun}s", *self._otherwise())
                unquoted.position = error.position
                raise unquoted from None
            raise error.at(called) from None

    def one(
        self, bare: Any = None, *, label: Any = None, index: Any = None, point: Any = None, called: str = "secret"
    ) -> int:
        """Return the index of one point; SpecError as for `find`, and where several are given."""
        found = self.find(bare, label=label, index=index, point=point, called=called)
        if found.ndim:
            raise SpecError(called, f"is a list of {len(found)}", f"give one {self.noun}")
        return int(found)

    def _by_label(self, given: Any) -> Indices:
        """Return the index `()` of a label, or indices `(k,)` of a list of labels; SpecError where one is none."""
        several = None if isinstance(given, tuple) else _several(given)
        if several is None:
            return np.array(self._labelled(given.item() if isinstance(given, np.ndarray) else given))
        if isinstance(several, np.ndarray):
            if self.aligned and self._are_indices(several):
                return several.astype(np.int64, copy=False)  # each label is its own index
            several = several.tolist()
        labelled = cache(self._labelled)
        found = np.empty(len(several), dtype=np.int64)
        for position, name in enumerate(several):
            if name is None or not hashable(name):
                kind = "missing" if name is None else f"a {type(name).__name__}"
                raise SpecError("secret", f"is no list of labels: number {position} is {kind}", *self._otherwise())
            try:
                found[position] = labelled(name)
            except NotOnePoint as error:
                error.position = position
                raise
        return found

    def _by_index(self, given: Any) -> Indices:
        """Return an index as an array `()`, or a list of them `(k,)`; SpecError where one is no index of a point."""
        several = _several(given)
        last = len(self.labels) - 1
        if several is None:
            single = given.item() if isinstance(given, np.ndarray) else given
            if not _whole(single):
                raise NoSuchPoint("index", f"is {shown(single)}", "give a whole number")
            if not 0 <= single <= last:
                wrong = f"there is no {self.noun} with index {shown(single)}"
                raise NoSuchPoint("index", wrong, f"give an index from 0 to {last}, or a label")
            return np.array(int(single))
        if not isinstance(several, np.ndarray):
            raise SpecError("index", "is no list of whole numbers", "give whole numbers")
        if not self._are_indices(several):
            raise SpecError("index", "has an index out of range", f"indices run from 0 to {last}")
        return several.astype(np.int64, copy=False)

    def _by_point(self, given: Any) -> Indices:
        """Return the index `()` of the point at given coordinates, or `(k,)` for rows of them; SpecError for none."""
        if self.points is None:
            raise SpecError("point", f"the {self.noun}s have no coordinates", "give a label or an index")
        # One point is as long as a row of points; on one axis a list has many of them.
        try:
            targets = np.asarray(given)
        except ValueError:
            raise SpecError("point", "is no array", "give a row of coordinates for each") from None
        width = self.points.shape[1]
        one = targets.ndim == 0 or (targets.ndim == 1 and (width > 1 or isinstance(given, tuple)))
        rows = targets.reshape(1, -1) if one else targets.reshape(len(targets), -1 if len(targets) else width)
        if rows.shape[1:] != (width,):
            raise SpecError("point", f"has shape {targets.shape}", f"give {width} coordinates for each")
        found = np.array([self._located(row.tolist()) for row in rows], dtype=np.int64)
        return found.reshape(()) if one else found

    def _labelled(self, given: Any) -> int:
        found = self.with_label(given)
        if found is None:
            text = given if isinstance(given, str) else shown(given)
            close = next((label for label in self.labels if is_written_otherwise(text, label)), None)
            meant = () if close is None else (f"write {close!r}, if that is meant, or ",)
            raise NoSuchPoint("secret", f"there is no {self.noun} {shown(given)}", *meant, *self._otherwise(given))
        return found

    def _otherwise(self, given: Any = None) -> tuple[str | Option, ...]:
        """Return the fix where what is given is no label, but may be an index or coordinates."""
        index = plain(given) if _whole(given) and 0 <= given < len(self.labels) else None
        if index is None and isinstance(given, tuple) and len(self.candidates(given)):
            return "write ", Option("point", tuple(map(plain, given))), " for coordinates"
        several = ", a list of several" if isinstance(given, tuple) else ""
        return f"give a label{several}, an index as ", Option("index", index), ", or coordinates as ", Option("point")

    def _are_indices(self, given: NDArray[Any]) -> bool:
        return not len(given) or bool(given.min() >= 0 and given.max() < len(self.labels))

    def _located(self, row: list[Any]) -> int:
        """Return the index of the one point with these coordinates; SpecError where there is none, or several."""
        found = self.candidates(row)
        if not len(found):
            fix = "exchange the two coordinates" if self._fits_swapped(row) else "give the coordinates of one"
            raise NoSuchPoint("point", f"there is no {self.noun} at [{', '.join(map(shown, row))}]", fix)
        if len(found) > 1:
            raise self.repeated(tuple(row))
        return int(found[0])

    def _fits_swapped(self, row: list[Any]) -> bool:
        """Return whether two numbers lie among the points in the other order alone."""
        points = self.points
        numbers = len(row) == 2 and all(isinstance(one, Real) for one in row)
        if points is None or points.dtype.kind != "f" or not numbers:
            return False
        low, high = points.min(axis=0), points.max(axis=0)
        within = [bool(((low <= tried) & (tried <= high)).all()) for tried in (np.array(row), np.array(row[::-1]))]
        return within == [False, True]


cache = lru_cache(None, typed=True)
"""Caches of functions of names: True is 1 and 7.0 is 7, so that their types count."""


def is_written_otherwise(one: str, other: str) -> bool:
    """Return whether two names differ by upper and lower case, zeros at the beginning, or blanks."""
    alike = ["".join(name.split()).lstrip("0").casefold() for name in (one, other)]
    return alike[0] == alike[1] != ""


_CELL = re.compile(r"8[0-9a-f]{14}")
_DECIMAL = re.compile(r"[1-9][0-9]{17}")
"""All numbers of cells have so many digits: their four bits of mode are 1."""


def cell_id(given: Any) -> str | None:
    """Return the id of a cell of H3 as it is written in text, from text or from its number; None where it is none."""
    try:
        text = str(given).strip().lower().removeprefix("0x")
    except ValueError:  # too many digits
        return None
    if _DECIMAL.fullmatch(text):
        return f"{int(text):x}" if is_cell(int(text)) else None
    return text if _CELL.fullmatch(text) and is_cell(int(text, 16)) else None


def is_cell(number: int) -> bool:
    """Return whether a number is the index of a cell of H3: its mode, base cell and digits are."""
    if not 0 <= number < 1 << 63 or number >> 59 & 15 != 1 or number >> 45 & 127 > 121:
        return False
    level = number >> 52 & 15
    digits = [number >> 3 * (15 - place) & 7 for place in range(1, 16)]
    return all(digit < 7 for digit in digits[:level]) and all(digit == 7 for digit in digits[level:])


def _indexed(names: Iterable[tuple[int, Any]]) -> dict[Any, int]:
    """Return the index of each name; -1 for those of several points."""
    found: dict[Any, int] = {}
    for index, name in names:
        found[name] = _SEVERAL if name in found else index
    return found


def _key(label: str) -> str:
    """Return the identity of a label, or the label where that is refused of a person."""
    try:
        text = identity(label)
    except SpecError:
        return label
    return cell_id(text) or text


def written(label: Any) -> str:
    """Write a label as text; numbers of NumPy in a tuple are written as those of Python."""
    if not isinstance(label, tuple):
        return str(shortest(label))
    return str(tuple(map(plain, label)))


def shown(given: Any) -> str:
    """Write a label, an index or coordinates for a message, numbers of NumPy as those of Python; else its type."""
    if isinstance(given, tuple):
        return f"({', '.join(map(shown, given))}{',' * (len(given) == 1)})"
    return text_of(given) if isinstance(given, VALUE) else f"of type {type(given).__name__}"


def text_of(given: Any) -> str:
    """Return the text of anything, numbers of NumPy as those of Python; one text for all of too many digits."""
    try:
        return repr(tuple(map(plain, given)) if isinstance(given, tuple) else plain(given))
    except ValueError:
        return "of so many digits"


def plain(part: Any) -> Any:
    """Return a number of NumPy as one of Python, and anything else as it is."""
    part = shortest(part)
    return part.item() if isinstance(part, np.generic) else part


def checked_labels(labels: Sequence[Any] | range, size: int) -> tuple[str, ...]:
    """Return labels as text; SpecError where their number is not that of the points, or two points have the same."""
    required("labels", labels, Iterable, "give one label per point")
    require_values(labels, "labels")
    names = tuple(map(written, each(list(labels) if isinstance(labels, str) else labels, "labels")))
    if len(names) != size:
        raise SpecError("labels", f"{len(names)} labels for {size} points", "give one label per point")
    if len(set(names)) < len(names):
        first: dict[str, int] = {}
        name, one, other = next((n, first[n], k) for k, n in enumerate(names) if first.setdefault(n, k) != k)
        raise SpecError("labels", f"points {one} and {other} are both {name!r}", "give each point a label of its own")
    return names


def _several(given: Any) -> list[Any] | NDArray[Any] | None:
    """Return what is given as a list, an array of whole numbers, or None where it is one thing."""
    if isinstance(given, str | bytes | np.generic):
        return None
    shape = np.shape(given) if hasattr(given, "__array__") else (0,) * isinstance(given, Sequence)
    if len(shape) > 1:
        wrong = f"is no list of labels: it has shape {shape}"
        raise SpecError("secret", wrong, "give one axis of them, or rows of coordinates as ", Option("point"))
    if not shape:
        return None
    if isinstance(given, np.ndarray) and given.dtype.kind in "iu":
        return given
    listed = each(given, "secret")
    # an empty list has no indices; numbers beyond 64 bits stay a list
    array = np.array(listed if all(map(_whole, listed)) else None, dtype=None if listed else np.int64)
    return array if array.dtype.kind in "iu" else listed


def hashable(given: Any) -> bool:
    """Return whether something has a hash: a tuple with a list in it is an instance of Hashable, but has none."""
    return isinstance(given, Hashable) and not (isinstance(given, tuple) and not all(map(hashable, given)))


def _whole(given: Any) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool)
