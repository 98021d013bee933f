"""One report's price: the least of Σ_x r_x v_x over columns v of the cone with v_root = 1, by a simplex on trees.

The root is moved to where the column is greatest, so that the price is about the least one over columns up to 1.

A basic column is a spanning tree of tight constraints: every point but the root follows its parent from below
(v_x = E[p, x] v_p, its least value) or leads it (v_p = E[x, p] v_x, its greatest), where E = e^{-d}. With S_x the
sum of r_u v_u / v_x over the subtree of x, the multiplier of the edge above x is S_x, or -S_x v_x / v_p if x leads.
A pivot takes the worst negative one and scales its subtree. Constraints to the rest bind one after another on the
way; where the point bound is a leaf, it just changes its parent and the subtree goes on, for as long as that pays.
Then the subtree is hung where it got stuck. Only points that no other point on their side bounds can meet a
constraint to the other side first, by the triangle inequality; they are few.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

_GREATER = 2.0
_REROOTED = 4

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
    """Σ r_u v_u / v_x over each subtree; the division keeps what is far down and small from drowning in rounding."""
    sums[:] = prices
    for k in range(len(v) - 1, 0, -1):
        x = order[k]
        sums[parent[x]] += sums[x] * (v[x] / v[parent[x]])


@numba.njit(cache=True, nogil=True)
def _sift(heap: Places, keys: Array, place: int, count: int) -> None:
    """Restore the order of a heap of points, least key first, below one place."""
    point = heap[place]
    while True:
        child = 2 * place + 1
        if child + 1 < count and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if child >= count or keys[heap[child]] >= keys[point]:
            heap[place] = point
            return
        heap[place] = heap[child]
        place = child


@numba.njit(cache=True, nogil=True)
def _entering(sums: Array, v: Array, parent: Places, leads: Flags, root: int, tolerance: float) -> int:
    """The point whose subtree gains most by a first step, or else the one of the worst multiplier; -1 if none."""
    worst, cut, far, small = tolerance, -1, 100 * tolerance, -1
    for x in range(len(v)):
        if x != root:
            wrong = sums[x] if leads[x] else -sums[x]
            if wrong * v[x] > worst:
                worst, cut = wrong * v[x], x
            elif wrong > 0 and cut < 0:
                multiplier = wrong * v[x] / v[parent[x]] if leads[x] else wrong
                if multiplier > far:
                    far, small = multiplier, x
    return cut if cut >= 0 else small


@numba.njit(cache=True, nogil=True)
def _improve(
    prices: Array, factors: Array, v: Array, parent: Places, leads: Flags, root: int, pivots: int, tolerance: float
) -> float:
    """Pivot in place; the price reached, the least one unless it takes more pivots."""
    size = len(v)
    first, following, order = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32)
    moved, bounded, inner = np.empty(size, np.bool_), np.empty(size, np.bool_), np.empty(size, np.bool_)
    sources, sums = np.empty(size, np.int32), np.empty(size)
    steps, binding, heap = np.empty(size), np.empty(size, np.int32), np.empty(size, np.int32)
    for _ in range(pivots):
        _ordered(parent, root, first, following, order)
        _sums(prices, v, parent, order, sums)
        cut = _entering(sums, v, parent, leads, root, tolerance)
        if cut < 0:
            return float(sums[root])
        upwards = not leads[cut]
        moved[:], bounded[:], inner[:] = False, False, False
        moved[cut], inner[root] = True, True
        for k in range(1, size):
            x = order[k]
            if x != cut:
                moved[x] = moved[parent[x]]
                inner[parent[x]] = True
                bounded[parent[x] if leads[x] else x] = True
        count, waiting = 0, 0
        for x in range(size):
            if moved[x] == upwards and not bounded[x]:
                sources[count] = x
                count += 1
        for x in range(size):
            if moved[x] != upwards:
                highest = 0.0
                for i in range(count):
                    pulled = factors[sources[i], x] * v[sources[i]]
                    if pulled > highest:
                        highest, binding[x] = pulled, sources[i]
                if highest > 0:
                    steps[x] = v[x] / highest
                    heap[waiting] = x
                    waiting += 1
        for place in range(waiting // 2 - 1, -1, -1):
            _sift(heap, steps, place, waiting)
        reached = waiting
        slope = -abs(sums[cut]) * v[cut]
        while waiting > 0:
            x = heap[0]
            slope += prices[x] * v[x] / (steps[x] if upwards else 1.0)
            if slope >= 0 or inner[x] or leads[x] or x == cut:
                break
            waiting -= 1
            heap[0], heap[waiting] = heap[waiting], x
            _sift(heap, steps, 0, waiting)
        if waiting == 0:
            return float(sums[root])
        stuck = int(heap[0])
        ratio = steps[stuck] if upwards else 1.0 / steps[stuck]
        for x in range(size):
            if moved[x]:
                v[x] *= ratio
        for place in range(waiting, reached):
            x = heap[place]
            parent[x] = binding[x]
            v[x] = factors[parent[x], x] * v[parent[x]]
        bound = int(binding[stuck])
        if upwards:
            _hang(parent, leads, cut, bound, stuck, True)
        else:
            _hang(parent, leads, cut, stuck, bound, False)
    _ordered(parent, root, first, following, order)
    _sums(prices, v, parent, order, sums)
    return float(sums[root])


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
        A tree for each report and its column; changed in place, as are the roots.
    reports : (k,) array
        Which reports.
    pivots : int
        For each at most.
    tolerance : float
        Multipliers above minus this count as 0.
    """
    for i in numba.prange(len(reports)):
        z = int(reports[i])
        prices, v, parent, led = costs[z] - rows, columns[z], parents[z], leads[z]
        order, first = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
        following = np.empty(len(rows), np.int32)
        for again in range(_REROOTED, -1, -1):
            _ordered(parent, int(roots[z]), first, following, order)
            _rebuilt(factors, v, parent, led, int(roots[z]), order)
            price = _improve(prices, factors, v, parent, led, int(roots[z]), pivots, tolerance)
            greatest = int(v.argmax())
            if again == 0 or v[greatest] <= _GREATER or price >= 0:
                break
            _hang(parent, led, int(roots[z]), greatest, greatest, False)
            roots[z] = greatest


@numba.njit(cache=True, nogil=True)
def _settled(
    sums: Array, v: Array, parent: Places, leads: Flags, order: Places, cut: bool, found: Array, rest: Array
) -> float:
    """Multipliers and what they leave of the prices that `sums` starts with; the total of the latter."""
    total = 0.0
    for k in range(len(v) - 1, -1, -1):
        x, p = order[k], parent[order[k]]
        found[x] = rest[x] = 0.0
        if k == 0 or (sums[x] < 0 and (not leads[x] or (cut and v[x] > 1.0))):
            rest[x] = min(sums[x], 0.0)
            total += rest[x]
        elif leads[x]:
            found[x] = max(-sums[x] * v[x] / v[p], 0.0)
            sums[p] -= found[x]
        else:
            found[x] = sums[x]
            sums[p] += sums[x] * (v[x] / v[p])
    return float(total)


@numba.njit(cache=True, nogil=True, parallel=True)
def multipliers(
    costs: Array, rows: Array, columns: Array, parents: Places, leads: Flags, roots: Places, found: Array, rest: Array
) -> None:
    """Multipliers of 0 or more for every edge, and what they leave of r, where that is negative.

    Any tree gives some. A small price of a subtree that is much larger than the root would count for many times as
    much there; it is kept where it is if that leaves less in all.

    Parameters
    ----------
    costs, rows, columns, parents, leads, roots
        As for `price_reports`.
    found : (m, n) array
        Set to the multiplier of the edge above each point.
    rest : (m, n) array
        Set to min(0, r - A'λ).
    """
    for z in numba.prange(len(costs)):
        size, v = len(rows), columns[z]
        order, first = np.empty(size, np.int32), np.empty(size, np.int32)
        _ordered(parents[z], int(roots[z]), first, np.empty(size, np.int32), order)
        total = _settled(costs[z] - rows, v, parents[z], leads[z], order, False, found[z], rest[z])
        if total < 0 and v.max() > 1.0:
            apart = _settled(costs[z] - rows, v, parents[z], leads[z], order, True, found[z], rest[z])
            if apart < total:
                _settled(costs[z] - rows, v, parents[z], leads[z], order, False, found[z], rest[z])
