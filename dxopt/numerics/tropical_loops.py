"""Compiled loops over blocks of columns; `tropical` calls them for problems that are worth the time to load Numba.

They round as NumPy does: one product at a time, nothing reordered or fused, no fast-math.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.kernels import MATRIX, WHOLE, kernel

Array = NDArray[np.float64]


@kernel(MATRIX, MATRIX, WHOLE)
def close(columns: Array, factors: Array, passes: int) -> bool:
    """Raise columns `(n, w)` in place to their closure; return False if they still change in the last of the passes.

    A row raises the others only if it has changed since it last did, so that nothing is left to do once none has.
    """
    size, width = columns.shape
    changed = np.ones(size, np.bool_)
    for sweep in range(passes):
        for turn in range(size):
            # Forwards and backwards in turn, as in `tropical`, so that changes travel either way along the order.
            point = turn if sweep % 2 == 0 else size - 1 - turn
            if not changed[point]:
                continue
            changed[point] = False
            for other in range(size):
                # Look first, and write only where something rises: most pairs of rows are settled already.
                factor = factors[point, other]
                higher = False
                for z in range(width):
                    higher |= factor * columns[point, z] > columns[other, z]
                if higher:
                    changed[other] = True
                    for z in range(width):
                        columns[other, z] = max(columns[other, z], factor * columns[point, z])
        if not changed.any():
            return True
    return False


@kernel(MATRIX, MATRIX)
def product(left: Array, right: Array) -> Array:
    """Return the (max, ×) product of `(p, k)` and `(k, w)`, or 0 where that is negative."""
    inner = left.shape[1]
    width = right.shape[1]
    found = np.zeros((len(left), width))
    for i in range(len(left)):
        best = found[i]
        # Four at a time, so that `best` is loaded and stored once for four products; the order of max is no matter.
        for k in range(0, inner - 3, 4):
            a = left[i, k]
            b = left[i, k + 1]
            c = left[i, k + 2]
            d = left[i, k + 3]
            for j in range(width):
                first = max(a * right[k, j], b * right[k + 1, j])
                second = max(c * right[k + 2, j], d * right[k + 3, j])
                best[j] = max(best[j], max(first, second))
        # Those left over.
        for k in range(inner // 4 * 4, inner):
            for j in range(width):
                best[j] = max(best[j], left[i, k] * right[k, j])
    return found


@kernel(MATRIX, MATRIX, MATRIX, MATRIX)
def between(lengths: Array, ends: Array, allowed: Array, shorter: Array) -> NDArray[np.bool_]:
    """Return some columns of `tropical.implied`.

    Of lengths `(n, n)`; `ends`, `allowed` and `shorter` `(n, w)` are the columns asked for of the lengths, of the
    longest ways that imply them, and of the bound on each leg.
    """
    size, width = ends.shape
    found = np.zeros((size, width), np.bool_)
    for a in range(size):
        implied = found[a]
        for via in range(size):
            leg = lengths[a, via]
            for j in range(width):
                back = ends[via, j]
                implied[j] |= (leg + back <= allowed[a, j]) & (leg < shorter[a, j]) & (back < shorter[a, j])
    return found
