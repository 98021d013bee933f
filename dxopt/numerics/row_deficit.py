"""Sums that are right to a unit or two in the last place, however many terms: each addition keeps what it loses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.kernels import MATRIX, POSITIONS, WHOLE, kernel


@kernel(MATRIX, POSITIONS, WHOLE)
def grouped(rows: NDArray[np.float64], group: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """Return sums of the entries of each row by group, `(k, n)` to `(k, groups)`.

    Off by at most 2^-53 of the sum and n²·2^-105 of the sum of sizes (Ogita, Rump and Oishi 2005).
    """
    sums = np.zeros((len(rows), groups))
    for k in range(len(rows)):
        lost = np.zeros(groups)
        for i in range(len(group)):
            entry = rows[k, i]
            goal = group[i]
            before = sums[k, goal]
            after = before + entry
            # Knuth's two-sum: what rounding took from each summand is itself a double. Their sum is added at the end.
            added = after - before
            lost[goal] += (before - (after - added)) + (entry - added)
            sums[k, goal] = after
        for goal in range(groups):
            sums[k, goal] += lost[goal]
    return sums


def row_deficits(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 minus the sum of each row, `(k, n)` to `(k,)`."""
    ones = np.concatenate([np.ones((len(rows), 1)), -rows], axis=1)
    return grouped(ones, np.zeros(ones.shape[1], np.int64), 1)[:, 0]
