"""Names of points, written only when they are read, so that a million points need no million strings."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SEPARATOR = ", "


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
    """The coordinates of points `(n, k)`: `3.5`, or `(0, 3.5)`; 10 digits, or more to tell points apart.

    Points that have the same ones are numbered: `3.5 #1`, `3.5 #2`.
    """

    def __init__(self, points: NDArray) -> None:
        self.points = points

    def __len__(self) -> int:
        return len(self.points)

    def _label(self, index: int) -> str:
        return self._numbered.get(index) or self._written(index, self._digits)

    def _written(self, index: int, digits: int) -> str:
        style = f".{digits}g"
        parts = [
            format(value, style) if isinstance(value, float) else str(value) for value in self.points[index].tolist()
        ]
        return parts[0] if len(parts) == 1 else f"({_SEPARATOR.join(parts)})"

    @cached_property
    def _close(self) -> list[int]:
        """The points that need not differ in 10 digits: doubles of which none is within 2e-9 of another do."""
        group = np.zeros(len(self), dtype=np.int64)
        for column in self.points.T if self.points.dtype.kind == "f" else ():
            values, which = np.unique(column, return_inverse=True)
            apart = np.diff(values / 2) > 1e-9 * np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
            group = np.unique(group * len(values) + np.append(0, np.cumsum(apart))[which], return_inverse=True)[1]
        return np.flatnonzero((np.bincount(group) > 1)[group]).tolist()

    @cached_property
    def _digits(self) -> int:
        # doubles that differ do in 17 digits
        different = [len({self._written(index, digits) for index in self._close}) for digits in range(10, 18)]
        return 10 + different.index(different[-1])

    @cached_property
    def _numbered(self) -> dict[int, str]:
        """The labels of points that have others' coordinates; a point of texts may be written as one of these is."""
        written = {index: self._written(index, self._digits) for index in self._close}
        points = Counter(written.values())
        numbers = {label: count(1) for label in points if points[label] > 1}
        return {
            index: next(label for number in numbers[same] if (label := f"{same} #{number}") not in points)
            for index, same in written.items()
            if same in numbers
        }

    def _index(self, label: str) -> int:
        try:
            return self._indices[label]
        except KeyError:
            raise ValueError(label) from None

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {label: index for index, label in enumerate(self)}
