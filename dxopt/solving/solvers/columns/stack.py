"""A growable buffer of columns, one after another in memory: adding one takes amortised constant time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
_ROOM = 1.5
"""Where columns need new memory, it is for so many times as many."""


class Stack:
    """Columns `(n, k)`.

    Parameters
    ----------
    size : int
        n.
    """

    def __init__(self, size: int) -> None:
        self._rows = np.empty((0, size))
        self._count = 0

    @property
    def columns(self) -> Array:
        """All of them, `(n, k)`, one after another in memory."""
        return self._rows[: self._count].T

    def add(self, columns: Array) -> None:
        """Add columns `(k, n)`."""
        count = self._count + len(columns)
        if count > len(self._rows):
            rows = np.empty((int(_ROOM * count), self._rows.shape[1]))
            rows[: self._count] = self._rows[: self._count]
            self._rows = rows
        self._rows[self._count : count] = columns
        self._count = count

    def kept(self, which: NDArray[np.int64]) -> Stack:
        """Some of the columns alone, in memory of their own."""
        other = Stack(self._rows.shape[1])
        other.add(self._rows[which])
        return other
