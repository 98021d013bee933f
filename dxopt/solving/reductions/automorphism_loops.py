"""The compiled loop that compares a program with itself; `automorphisms` calls it once it has a candidate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.kernels import MATRIX, POSITIONS, kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
SAME_ENTRY = 1e-12
"""Entries a, b are equal when they differ by at most this times 1 + min(a, b)."""


@kernel(MATRIX, POSITIONS, POSITIONS, POSITIONS)
def compare(matrix: Array, rows: Indices, columns: Indices, moved: Indices) -> tuple[bool, int]:
    """Compare matrix[rows[x], columns[z]] with matrix[x, z] wherever x or z moves; `moved` are the z that do.

    Return whether all of these are equal, and how many were read, for which the search is charged (`Search.spend`).
    """
    compared = 0
    for x in range(len(rows)):
        row = matrix[x]
        image = matrix[rows[x]]
        still = rows[x] == x
        for k in range(len(moved) if still else len(columns)):
            z = moved[k] if still else k
            a = row[z]
            b = image[columns[z]]
            compared += 1
            # two infinite entries are equal, but their difference is no number
            if a != b and not abs(a - b) <= SAME_ENTRY * (1 + min(a, b)):
                return False, compared
    return True, compared
