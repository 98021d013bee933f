"""Metrics: a function of two points, or an object with `block`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def edit_distance(one: NDArray, other: NDArray) -> int:
    """Return the letters to insert, remove or change to make one word of another (Levenshtein 1966).

    Points have one coordinate here, which is text.
    """
    word, wanted = str(one[0]), str(other[0])
    before = list(range(len(wanted) + 1))
    for row, letter in enumerate(word, start=1):
        after = [row]
        for column, other_letter in enumerate(wanted):
            changed = before[column] + (letter != other_letter)
            after.append(min(before[column + 1] + 1, after[column] + 1, changed))
        before = after
    return before[-1]


class Minutes:
    """Minutes between times of the day, `(hour, minute)`, the shorter way round the clock; all pairs at once."""

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        """Distances `(p, q)` between points `(p, 2)` and `(q, 2)`."""
        day = 24 * 60
        start, end = (points @ np.array([60.0, 1.0]) for points in (rows, columns))
        apart = np.abs(start[:, None] - end[None, :]) % day
        return np.minimum(apart, day - apart)
