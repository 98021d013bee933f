"""Tables of points by their labels and by their coordinates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError, required
from dxopt.spaces.labels import Numbers, Tuples

Indices = NDArray[np.int64]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", re.ASCII)
_SEVERAL = -1
_ROUNDING = 1e-9
"""The largest error of coordinates, in parts of the largest coordinate."""


class NoSuchPoint(SpecError):
    """A label, an index or coordinates that no point has."""


class SeveralPoints(SpecError):
    """A label or coordinates that several points have."""


@dataclass(frozen=True, eq=False)
class Lookup:
    """Finds points by label or by coordinates.

    Attributes
    ----------
    labels : sequence of str, length n
    points : (n, k) array or None
    noun : str
        What the points are, in errors.
    """

    labels: Sequence[str]
    points: NDArray[Any] | None = field(default=None, repr=False)
    noun: str = "point"

    def label(self, given: Any) -> int | None:
        """Return the point with a label, which may be given as a number or a tuple; None where there is none."""
        if isinstance(given, tuple) and isinstance(self.labels, Tuples):
            parts = self._parts
            if len(parts) != len(given):
                return None
            found = [part.label(name) for part, name in zip(parts, given, strict=True)]
            if None in found:
                return None
            return int(np.ravel_multi_index(found, [len(part.labels) for part in parts]))  # pyright: ignore
        try:
            found = self._written(written(given))
        except ValueError:
            # a number of more digits than Python writes
            return None
        if found is None and isinstance(given, Real | Decimal):
            found = self._valued(given)
        if found == _SEVERAL:
            raise self.repeated(given)
        return found

    def _written(self, text: str) -> int | None:
        if not isinstance(self.labels, Numbers | Tuples):
            return self._texts.get(text)
        try:
            return self.labels.index(text)
        except ValueError:
            return None

    def _valued(self, given: Real | Decimal) -> int | None:
        """Return the point whose label has the value of a number, as 7 has that of 7.0."""
        if isinstance(self.labels, Tuples):
            return None
        try:
            value = Decimal(str(given))
        except InvalidOperation:
            return None
        if isinstance(self.labels, Numbers):
            whole = value.is_finite() and 0 <= value < len(self.labels) and value == int(value)
            return int(value) if whole else None
        return self._values.get(value)

    @cached_property
    def aligned(self) -> bool:
        """Return whether labels are 0, 1, …, as the indices are."""
        return isinstance(self.labels, Numbers) or all(label == str(x) for x, label in enumerate(self.labels))

    @cached_property
    def _parts(self) -> tuple[Lookup, ...]:
        return tuple(map(Lookup, self.labels.parts)) if isinstance(self.labels, Tuples) else ()

    @cached_property
    def _texts(self) -> dict[str, int]:
        """Return the point of each label; -1 where there are several."""
        found: dict[str, int] = {}
        for index, label in enumerate(self.labels):
            found[label] = _SEVERAL if label in found else index
        return found

    @cached_property
    def _values(self) -> dict[Decimal, int]:
        """Return the point of each label that is a number, by its value; -1 where there are several."""
        found: dict[Decimal, int] = {}
        for index, label in enumerate(self.labels):
            if _NUMBER.fullmatch(label):
                value = Decimal(label)
                found[value] = _SEVERAL if value in found else index
        return found

    def candidates(self, coordinates: Sequence[Any]) -> Indices:
        """Return the points that have these coordinates, up to rounding where none has them exactly."""
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
        return SeveralPoints(
            "secret", f"{shown(given)} names several {self.noun}s", "give an index, as ", Option("index")
        )


def written(label: Any) -> str:
    """Write a label as text; numbers of NumPy in a tuple are written as those of Python."""
    if not isinstance(label, tuple):
        return str(label)
    return str(tuple(map(plain, label)))


def shown(given: Any) -> str:
    """Write a label, an index or coordinates for a message: numbers of NumPy as those of Python."""
    try:
        return repr(tuple(map(plain, given)) if isinstance(given, tuple) else plain(given))
    except ValueError:
        return "of so many digits"


def plain(part: Any) -> Any:
    """Return a number of NumPy as one of Python, and anything else as it is."""
    return part.item() if isinstance(part, np.generic) else part


def checked_labels(labels: Sequence[Any] | range, size: int) -> tuple[str, ...]:
    """Return labels as text; SpecError where their number is not that of the points, or two points have the same."""
    required("labels", labels, Iterable, "give one label per point")
    names = tuple(map(written, labels))
    if len(names) != size:
        raise SpecError("labels", f"{len(names)} labels for {size} points", "give one label per point")
    if len(set(names)) < len(names):
        first: dict[str, int] = {}
        name, one, other = next((n, first[n], k) for k, n in enumerate(names) if first.setdefault(n, k) != k)
        raise SpecError("labels", f"points {one} and {other} are both {name!r}", "give each point a label of its own")
    return names
