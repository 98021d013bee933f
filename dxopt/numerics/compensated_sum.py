"""Sums of whole rows that are right to a unit in the last place, by NumPy alone: pairs are added, errors are kept."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def totals(rows: Array) -> Array:
    """The sum of each row, `(k, n)` to `(k,)`.

    Off by at most 2^-53 of the sum and n log2(n)·2^-105 of the sum of sizes: each addition of two is exact but for
    what Knuth's two-sum finds that it lost (Ogita, Rump and Oishi 2005).
    """
    lost = np.zeros((len(rows), 1))
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        first, second, odd = rows[:, :half], rows[:, half : 2 * half], rows[:, 2 * half :]
        after = first + second
        added = after - first
        error = (first - (after - added)) + (second - added)
        lost = lost + error.sum(axis=1, keepdims=True)
        rows = np.concatenate([after, odd], axis=1)
    return (rows.sum(axis=1, keepdims=True) + lost)[:, 0]


def lacking(row: Array) -> float:
    """Return the deficit of a row `(n,)`: 1 minus its sum."""
    return float(totals(np.concatenate([[1.0], -row])[None, :])[0])
