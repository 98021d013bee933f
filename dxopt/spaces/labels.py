"""Names of points, written only when they are read, so that a million points need no million strings."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SEPARATOR = ", "
_LEAST, _MOST = 10, 17
"""Digits of a coordinate; 17 tell any two doubles apart."""
_CLOSE = 2e-9
"""Doubles that differ by more, relatively, differ in 10 digits."""


class LazyLabels(Sequence[str]):
    """A sequence of strings that compares like a tuple of them; slices are tuples."""

    @abstractmethod
    def _label(self, index: int) -> str:
        """Write the label at an index from 0 to n - 1."""

    @abstractmethod
    def _index(self, label: str) -> int:
        """Find the first index of a label; ValueError where there is none."""

    def __getitem__(self, index: int | slice) -> Any:
        # a range turns slices and negative indices into indices from 0 to n - 1
        wanted = range(len(self))[index]
        return tuple(map(self._label, wanted)) if isinstance(wanted, range) else self._label(wanted)

    def index(self, value: Any, start: int = 0, stop: int | None = None) -> int:
        """Find the first index of a label, without writing the others where the kind of labels allows."""
        if start or stop is not None:
            return super().index(value, start, len(self) if stop is None else stop)
        if not isinstance(value, str):
            raise ValueError(value)
        return self._index(value)

    def __contains__(self, value: object) -> bool:
        with suppress(ValueError):
            return self.index(value) >= 0
        return False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return self is other or all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        first = ", ".join(map(repr, islice(self, 2)))
        return f"<{len(self):,} labels {first}{', …' if len(self) > 2 else ''}>"


class Numbers(LazyLabels):
    """`0`, `1`, …, `size - 1`."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def _label(self, index: int) -> str:
        return str(index)

    def _index(self, label: str) -> int:
        index = int(label)
        # also reads " 1", "+1" and "01", which are no labels
        if not 0 <= index < self.size or str(index) != label:
            raise ValueError(label)
        return index


class Tuples(LazyLabels):
    """`(a, b)` for each combination of labels, the last part fastest."""

    def __init__(self, parts: tuple[Sequence[str], ...]) -> None:
        self.parts = parts
        self.size = math.prod(map(len, parts))

    def __len__(self) -> int:
        return self.size

    def _label(self, index: int) -> str:
        # the digits of the index in the mixed radix of the sizes of the parts, the last digit first
        names = []
        for part in reversed(self.parts):
            index, inner = divmod(index, len(part))
            names.append(part[inner])
        return f"({_SEPARATOR.join(reversed(names))})"

    def _index(self, label: str) -> int:
        if not (label.startswith("(") and label.endswith(")")):
            raise ValueError(label)
        index = 0
        for part, inner in zip(self.parts, _indices_in_parts(label[1:-1], self.parts), strict=True):
            index = index * len(part) + inner
        return index


def _indices_in_parts(text: str, parts: tuple[Sequence[str], ...]) -> list[int]:
    """Return the index in each part of the names in a text `a, b`; names may contain the separator themselves."""
    first, *rest = parts
    if not rest:
        return [first.index(text)]
    # try each separator as the end of the first name, the shortest name first
    cut = text.find(_SEPARATOR)
    while cut >= 0:
        try:
            return [first.index(text[:cut]), *_indices_in_parts(text[cut + len(_SEPARATOR) :], tuple(rest))]
        except ValueError:
            cut = text.find(_SEPARATOR, cut + 1)
    raise ValueError(text)


class Coordinates(LazyLabels):
    """The coordinates of points `(n, k)`: `3.5`, or `(0, 3.5)` where there are several.

    They have 10 digits, or as many more as tell all the points apart.
    """

    def __init__(self, points: NDArray) -> None:
        self.points = points

    def __len__(self) -> int:
        return len(self.points)

    def _label(self, index: int) -> str:
        return self._written(index, self._digits)

    def _written(self, index: int, digits: int) -> str:
        point = self.points[index].tolist()
        parts = [f"{value:.{digits}g}" if isinstance(value, float) else str(value) for value in point]
        return parts[0] if len(parts) == 1 else f"({_SEPARATOR.join(parts)})"

    @cached_property
    def _digits(self) -> int:
        if self.points.dtype.kind not in "fO":
            return _LEAST
        # points that are close to no other in some coordinate have labels of their own
        close = np.zeros(len(self), dtype=np.int64)
        for column in self.points.T if self.points.dtype.kind == "f" else ():
            values, which = np.unique(column, return_inverse=True)
            with np.errstate(over="ignore"):
                apart = np.diff(values) > _CLOSE * np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
            close = close * len(values) + np.append(0, np.cumsum(apart))[which]
            close = np.unique(close, return_inverse=True)[1]
        several = np.flatnonzero((np.bincount(close) > 1)[close]).tolist()

        def different(digits: int) -> int:
            return len({self._written(index, digits) for index in several})

        most = different(_MOST)
        return next(digits for digits in range(_LEAST, _MOST + 1) if different(digits) == most)

    def _index(self, label: str) -> int:
        try:
            return self._indices[label]
        except KeyError:
            raise ValueError(label) from None

    @cached_property
    def _indices(self) -> dict[str, int]:
        # backwards, so that of equal labels the first index stays
        return {self._label(index): index for index in reversed(range(len(self)))}
