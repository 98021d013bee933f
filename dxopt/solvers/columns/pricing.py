"""One report's price: the least of Σ_x r_x v_x over columns v of the cone with v_root = 1, by a simplex on trees.

A basic column is a spanning tree of tight constraints: every point but the root follows its parent from below
(v_x = E[p, x] v_p, its least value) or leads it (v_p = E[x, p] v_x, its greatest), where E = e^{-d}. With W_x the sum
of r_u v_u over the subtree of x, the multiplier of the edge above x is W_x / v_x, or -W_x / v_p if x leads; a pivot
takes the worst negative one, scales its subtree until a constraint to the rest binds, and hangs it there. Only points
that no other point on their side bounds can meet that constraint first, by the triangle inequality; they are few.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Places = NDArray[np.int32]
Flags = NDArray[np.bool_]


@numba.njit(cache=True, nogil=True)
def _ordered(parent: Places, root: int, first: Places, following: Places, order: Places) -> None:
    """The points from the root outwards."""
    size = len(parent)
    first[:] = -1
    for x in range(size):
        if x != root:
            following[x] = first[parent[x]]
            first[parent[x]] = x
    order[0] = root
    count = 1
    for k in range(size):
        child = first[order[k]]
        while child >= 0:
            order[count] = child
            count += 1
            child = following[child]


@numba.njit(cache=True, nogil=True)
def _sums(prices: Array, v: Array, parent: Places, order: Places, sums: Array) -> None:
    """Σ r_u v_u over each subtree."""
    for x in range(len(v)):
        sums[x] = prices[x] * v[x]
    for k in range(len(v) - 1, 0, -1):
        sums[parent[order[k]]] += sums[order[k]]


@numba.njit(cache=True, nogil=True)
def _improve(
    prices: Array, factors: Array, v: Array, parent: Places, leads: Flags, root: int, pivots: int, tolerance: float
) -> tuple[float, bool]:
    """Pivot in place; the price reached, and whether it is the least."""
    size = len(v)
    first, following, order = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    sums, moved = np.empty(size), np.empty(size, np.bool_)
    bounded, bounding = np.empty(size, np.bool_), np.empty(size, np.bool_)
    sources, targets = np.empty(size, np.int32), np.empty(size, np.int32)
    for _ in range(pivots):
        _ordered(parent, root, first, following, order)
        _sums(prices, v, parent, order, sums)
        worst, cut = tolerance, -1
        for x in range(size):
            wrong = sums[x] if leads[x] else -sums[x]
            if x != root and wrong > worst:
                worst, cut = wrong, x
        if cut < 0:
            return sums[root], True
        upwards = not leads[cut]
        moved[:] = False
        moved[cut] = True
        for k in range(1, size):
            x = order[k]
            if moved[parent[x]]:
                moved[x] = True
        bounded[:] = False
        bounding[:] = False
        for x in range(size):
            if x != root and x != cut:
                low, high = (parent[x], x) if leads[x] else (x, parent[x])
                bounded[low] = True
                bounding[high] = True
        count, reached = 0, 0
        for x in range(size):
            if moved[x] == upwards and not bounded[x]:
                sources[count] = x
                count += 1
            elif moved[x] != upwards and not bounding[x]:
                targets[reached] = x
                reached += 1
        ratio, source, target = np.inf if upwards else 0.0, -1, -1
        for i in range(count):
            a = sources[i]
            for j in range(reached):
                b = targets[j]
                pulled = factors[a, b] * v[a]
                if upwards:
                    if v[b] < ratio * pulled:
                        ratio, source, target = v[b] / pulled, a, b
                elif pulled > ratio * v[b]:
                    ratio, source, target = pulled / v[b], a, b
        if source < 0:
            return sums[root], False
        for x in range(size):
            if moved[x]:
                v[x] *= ratio
        _hang(parent, leads, cut, source if upwards else target, target if upwards else source, upwards)
    _ordered(parent, root, first, following, order)
    _sums(prices, v, parent, order, sums)
    return sums[root], False


@numba.njit(cache=True, nogil=True)
def _hang(parent: Places, leads: Flags, top: int, child: int, under: int, leading: bool) -> None:
    """Hang the subtree of `top` under a point outside it by its point `child`, turning the edges between the two."""
    x = child
    while True:
        above, led = parent[x], leads[x]
        parent[x], leads[x] = under, leading
        if x == top:
            return
        under, leading, x = x, not led, above


@numba.njit(cache=True, nogil=True)
def _rebuilt(factors: Array, v: Array, parent: Places, leads: Flags, root: int, order: Places) -> None:
    """The column of a tree, computed from the root again, so that rounding does not add up over pivots."""
    v[root] = 1.0
    for k in range(1, len(v)):
        x = order[k]
        p = parent[x]
        v[x] = v[p] / factors[x, p] if leads[x] else factors[p, x] * v[p]


@numba.njit(cache=True, nogil=True, parallel=True)
def price_reports(
    costs: Array,
    rows: Array,
    factors: Array,
    roots: Places,
    columns: Array,
    parents: Places,
    leads: Flags,
    reports: NDArray[np.int64],
    pivots: int,
    tolerance: float,
    found: Array,
    least: Flags,
) -> None:
    """Price some reports in parallel, each from the tree it had last.

    Parameters
    ----------
    costs : (m, n) array
    rows : (n,) array
        The row prices y; r = costs[z] - y.
    factors : (n, n) array
        E.
    roots : (m,) array
    columns, parents, leads : (m, n) arrays
        A tree for each report and its column; changed in place.
    reports : (k,) array
        Which reports.
    pivots : int
        For each at most.
    tolerance : float
        Multipliers above minus this count as 0.
    found : (m,) array
        Set to the prices.
    least : (m,) array
        Set to whether they are proven least.
    """
    for i in numba.prange(len(reports)):
        z = int(reports[i])
        root = int(roots[z])
        order, first = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
        _ordered(parents[z], root, first, np.empty(len(rows), np.int32), order)
        _rebuilt(factors, columns[z], parents[z], leads[z], root, order)
        found[z], least[z] = _improve(
            costs[z] - rows, factors, columns[z], parents[z], leads[z], root, pivots, tolerance
        )


@numba.njit(cache=True, nogil=True, parallel=True)
def multipliers(
    costs: Array, rows: Array, columns: Array, parents: Places, leads: Flags, roots: Places, found: Array
) -> None:
    """The multiplier `(m, n)` of the edge above each point, in `found`; negative ones as 0."""
    for z in numba.prange(len(costs)):
        size = len(rows)
        order, first, sums = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size)
        root = int(roots[z])
        _ordered(parents[z], root, first, np.empty(size, np.int32), order)
        _sums(costs[z] - rows, columns[z], parents[z], order, sums)
        for x in range(size):
            if x == root:
                found[z, x] = 0.0
            else:
                signed = -sums[x] / columns[z, parents[z, x]] if leads[z, x] else sums[x] / columns[z, x]
                found[z, x] = max(signed, 0.0)
