"""The product V diag(scaling) V' where columns are local: next to nothing but in a few blocks of rows.

Rows are taken in blocks, whose points are near each other if `near_order` has ordered them. An entry (x, j) of
V diag(√scaling) counts where it is above a part, `NEGLECTED`, of √d_x, for what is added to the diagonal. For two
blocks the columns take part that have entries which count in both of them. What is left out is small beside
diag(d): Newton steps change by some per cent, and no row is without d, as prices of every row are in a box.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.kernels import FLAGS, MATRIX, VECTOR, kernel

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Map = Callable[..., Iterable[None]]
ROWS = 64
"""Of a block."""
NEGLECTED = 1e-3


def near_order(budgets: Array) -> NDArray[np.int64]:
    """Return the points of budgets `(n, n)` in an order in which close ones are mostly close by.

    Points are halved by which of two far ones they are nearer to, until there are no more than a block has.
    """
    left = [np.arange(len(budgets))]
    blocks: list[NDArray[np.int64]] = []
    while left:
        part = left.pop()
        if len(part) <= ROWS:
            blocks.append(part)
            continue
        one = part[budgets[part[0], part].argmax()]
        other = part[budgets[one, part].argmax()]
        with np.errstate(invalid="ignore"):  # infinitely far from both: neither is nearer
            nearer = np.argsort(np.nan_to_num(budgets[one, part] - budgets[other, part]), kind="stable")
        half = -(-len(part) // ROWS) // 2 * ROWS  # whole blocks, so that they begin where the product's do
        left += [part[nearer[half:]], part[nearer[:half]]]
    return np.concatenate(blocks)


@kernel(MATRIX, VECTOR, VECTOR, FLAGS)
def _set_counting(rows: Array, roots: Array, least: Array, counting: Flags) -> None:
    """Set `counting` to whether each column has an entry above `least` in a block of rows, `(k, r)`."""
    for j in range(len(rows)):
        some = False
        for x in range(rows.shape[1]):
            some |= abs(rows[j, x]) * roots[j] > least[x]
        counting[j] = some


class LocalProduct:
    """The columns `(n, k)` of a master in blocks of rows."""

    def __init__(self, columns: Array) -> None:
        starts = range(0, len(columns), ROWS)
        self.blocks = [np.ascontiguousarray(columns[start : start + ROWS].T) for start in starts]
        self.shape = columns.shape

    def diagonal(self, scaling: Array) -> Array:
        """Return the diagonal `(n,)` of V diag(scaling) V'."""
        return np.concatenate([scaling @ block**2 for block in self.blocks])

    def upper(self, scaling: Array, diagonal: Array, on_threads: Map, neglected: float = NEGLECTED) -> Array:
        """Return the upper half of V diag(scaling) V' without what is small beside a diagonal `(n,)`."""
        # 1. the columns that count in each block
        n, k = self.shape
        roots = np.sqrt(scaling)
        least = neglected * np.sqrt(diagonal)
        counting = np.empty((len(self.blocks), k), dtype=bool)
        parts = [slice(start, min(start + ROWS, n)) for start in range(0, n, ROWS)]

        def flag(block: int) -> None:
            _set_counting(self.blocks[block], roots, least[parts[block]], counting[block])

        # 2. the product of each pair of blocks, over those that count in both
        product = np.empty((n, n))

        def multiply(block: int) -> None:
            own = np.flatnonzero(counting[block])
            scaled = self.blocks[block].take(own, axis=0) * scaling[own, None]
            for other in range(block, len(self.blocks)):
                both = np.flatnonzero(counting[other, own])
                second = self.blocks[other].take(own[both], axis=0)
                np.matmul(scaled.take(both, axis=0).T, second, out=product[parts[block], parts[other]])

        for step in (flag, multiply):
            list(on_threads(step, range(len(self.blocks))))  # waits for all of them
        return product
