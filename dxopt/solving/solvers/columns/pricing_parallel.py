"""The pricing problems of many reports, on all cores: each tree is improved, and hung anew where that helps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.kernels import INDICES, MATRIX, POSITIONS, REAL, SIGNS, TABLE, VECTOR, WHOLE, kernel
from dxopt.solving.solvers.columns.basis import (
    Array,
    Flags,
    Indices,
    hang_subtree,
    outward_order,
    recompute_column,
)
from dxopt.solving.solvers.columns.cores import on_cores
from dxopt.solving.solvers.columns.pricing import improve

_GREATER = 2.0
"""The root is moved when an entry exceeds it by this factor."""
_REROOTED = 4
"""Moves of the root, at most."""


@kernel(WHOLE, WHOLE, MATRIX, VECTOR, MATRIX, INDICES, MATRIX, TABLE, SIGNS, POSITIONS, WHOLE, REAL)
def _price_share(
    first: int,
    last: int,
    costs: Array,
    row_prices: Array,
    factors: Array,
    roots: Indices,
    columns: Array,
    parents: Indices,
    leads: Flags,
    reports: NDArray[np.int64],
    pivots: int,
    tolerance: float,
) -> None:
    """Solve the pricing problems of reports[first:last], one after another; see `price_reports`."""
    size = len(row_prices)
    reduced = np.empty(size)
    order = np.empty(size, np.int32)
    child = np.empty(size, np.int32)
    sibling = np.empty(size, np.int32)
    for i in range(first, last):
        z = reports[i]
        v = columns[z]
        parent = parents[z]
        led = leads[z]
        root = np.int64(roots[z])
        for x in range(size):
            reduced[x] = costs[z, x] - row_prices[x]
        for again in range(_REROOTED, -1, -1):
            outward_order(parent, root, child, sibling, order)
            recompute_column(factors, v, parent, led, root, order)
            value = improve(reduced, factors, v, parent, led, root, pivots, tolerance)

            # a column of positive value is no use at any scale; another one is better judged at its greatest entry.
            # Its edges stay, so it is the same column at another scale; the parent of a root has no meaning
            greatest = root
            for x in range(size):
                if v[x] > v[greatest]:
                    greatest = x
            if again == 0 or v[greatest] <= _GREATER or value >= 0:
                break
            hang_subtree(parent, led, root, greatest, greatest, np.bool_(False))
            root = greatest
        roots[z] = root


def price_reports(
    costs: Array,
    row_prices: Array,
    factors: Array,
    roots: Indices,
    columns: Array,
    parents: Indices,
    leads: Flags,
    reports: NDArray[np.int64],
    pivots: int,
    tolerance: float,
) -> None:
    """Solve the pricing problems of some reports in parallel, each from its last tree, which is still feasible.

    Parameters
    ----------
    costs : (m, n) array
    row_prices : (n,) array
        y; the reduced costs of report z are q = costs[z] - y.
    factors : (n, n) array
        E, which obeys the triangle inequality.
    roots : (m,) array
    columns, parents, leads : (m, n) arrays
        A tree for each report and its column; changed in place, as are the roots.
    reports : (k,) array
        Which reports, each once.
    pivots : int
        For each report and root at most.
    tolerance : float
        An edge is given up if that gains more than this, or if its multiplier is below minus 100 times this.
    """
    arguments = (costs, row_prices, factors, roots, columns, parents, leads, reports, pivots, tolerance)
    on_cores(_price_share, len(reports), *arguments)
