"""The pricing problem of one report, solved by a primal simplex method on trees.

Given row prices y, the reduced cost of a column v for report z is ⟨r, v⟩ with r = c_z - y. The pricing problem is to
minimise it over the columns of the cone, v_x ≥ E[p, x] v_p for all pairs with E = e^{-d}, scaled to v_root = 1. The
root is then moved to where the column is greatest, so that the value is about the least one over columns up to 1.

**Basis.** A basic solution is a spanning tree of tight constraints (`basis`). With S_x the sum of r_u v_u / v_x over
the subtree of x, the multiplier of the edge above x is S_x, or -S_x v_x / v_p where x leads its parent p: scaling the
subtree by 1 + t changes the value by t S_x v_x, and an edge allows one sign of t only. The tree is optimal when no
multiplier is negative.

**Pivot.** The edge above `cut`, whose multiplier is negative, is given up (its slack enters the basis) and the
subtree of `cut`, the moved points, is scaled up or down. Of the two sides of the cut one rises against the other; a
point of the lower side is met when its constraint to a point of the rising side becomes tight.

- Who can meet. If an edge on the rising side bounds x from below, v_x = E[x', x] v_x', then by the triangle
  inequality E[x, y] v_x = E[x, y] E[x', x] v_x' ≤ E[x', y] v_x': x' meets y no later. Only points that no edge bounds
  on their own side need be looked at (`sources`); they are few.
- Long steps. A point that is met and is a leaf which follows its parent may simply change its parent: it goes along
  with the rising side from then on, and the pivot continues, for as long as the value still falls. This saves a
  pivot for every such leaf.
- The first point that may not, or at which the value would rise, stops the pivot (`stuck`): its constraint becomes
  the new edge (its slack leaves the basis), and the moved subtree is hung there.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from dxopt.solving.solvers.columns.basis import (
    Array,
    Flags,
    Indices,
    hang_subtree,
    outward_order,
    recompute_column,
    subtree_sums,
)

_GREATER = 2.0
"""The root is moved when an entry exceeds it by this factor."""
_REROOTED = 4
"""Moves of the root, at most."""


@numba.njit(cache=True, nogil=True)
def _entering(sums: Array, v: Array, parent: Indices, leads: Flags, root: int, tolerance: float) -> int:
    """The point whose edge is to be given up; -1 if the tree is optimal.

    It is the one whose subtree gains most by a first step, |S_x| v_x. Where no gain exceeds the tolerance it is the
    one of the worst multiplier, which may be large where v_x is tiny.
    """
    greatest_gain = tolerance
    cut = -1
    worst_multiplier = 100 * tolerance
    second_choice = -1
    for x in range(len(v)):
        if x != root:
            wrong = sums[x] if leads[x] else -sums[x]
            if wrong * v[x] > greatest_gain:
                greatest_gain = wrong * v[x]
                cut = x
            elif wrong > 0 and cut < 0:
                multiplier = wrong * v[x] / v[parent[x]] if leads[x] else wrong
                if multiplier > worst_multiplier:
                    worst_multiplier = multiplier
                    second_choice = x
    return cut if cut >= 0 else second_choice


@numba.njit(cache=True, nogil=True)
def _mark_sides(
    parent: Indices, leads: Flags, order: Indices, cut: int, moved: Flags, bounded: Flags, inner: Flags
) -> None:
    """Mark the points that move, those bounded from below on their own side, and those that are no leaves.

    The edge that is given up counts for none of this; the root is no leaf.
    """
    moved[:] = False
    bounded[:] = False
    inner[:] = False
    moved[cut] = True
    inner[order[0]] = True
    for k in range(1, len(order)):
        x = order[k]
        if x != cut:
            moved[x] = moved[parent[x]]
            inner[parent[x]] = True
            bounded[parent[x] if leads[x] else x] = True


@numba.njit(cache=True, nogil=True)
def _sift(heap: Indices, keys: Array, position: int, count: int) -> None:
    """Restore the order of a heap of points, least key first, below one position."""
    point = heap[position]
    while True:
        child = 2 * position + 1
        if child + 1 < count and keys[heap[child + 1]] < keys[heap[child]]:
            child += 1
        if child >= count or keys[heap[child]] >= keys[point]:
            heap[position] = point
            return
        heap[position] = heap[child]
        position = child


@numba.njit(cache=True, nogil=True)
def _ratio_test(
    factors: Array,
    v: Array,
    moved: Flags,
    bounded: Flags,
    upwards: bool,
    sources: Indices,
    binding: Indices,
    ratios: Array,
    heap: Indices,
) -> int:
    """Fill the heap with the points of the lower side by the ratio at which each is met; return how many there are.

    `ratios` is how far one side may rise against the other until the point is met, `binding` the point that meets it.
    """
    # 1. points of the rising side that can meet another one first
    size = len(v)
    count = 0
    for x in range(size):
        if moved[x] == upwards and not bounded[x]:
            sources[count] = x
            count += 1

    # 2. for each point of the lower side, the source that pulls hardest
    waiting = 0
    for x in range(size):
        if moved[x] != upwards:
            highest = 0.0
            for i in range(count):
                pulled = factors[sources[i], x] * v[sources[i]]
                if pulled > highest:
                    highest = pulled
                    binding[x] = sources[i]
            if highest > 0:
                ratios[x] = v[x] / highest
                heap[waiting] = x
                waiting += 1

    # 3. make it a heap: few of the points are ever taken from it
    for position in range(waiting // 2 - 1, -1, -1):
        _sift(heap, ratios, position, waiting)
    return waiting


@numba.njit(cache=True, nogil=True)
def _pass_leaves(
    reduced: Array,
    v: Array,
    leads: Flags,
    inner: Flags,
    upwards: bool,
    cut: int,
    first_slope: float,
    ratios: Array,
    heap: Indices,
    waiting: int,
) -> int:
    """Move the leaves that change sides behind those that wait in the heap; return how many wait.

    The slope is the derivative of the value along the step, negative at first. A point that is met changes it: on the
    way up it begins to rise with the moved points, on the way down it no longer falls with them.
    """
    slope = first_slope
    while waiting > 0:
        x = heap[0]
        slope += reduced[x] * v[x] / (ratios[x] if upwards else 1.0)
        if slope >= 0 or inner[x] or leads[x] or x == cut:
            break
        waiting -= 1
        heap[0], heap[waiting] = heap[waiting], x
        _sift(heap, ratios, 0, waiting)
    return waiting


@numba.njit(cache=True, nogil=True)
def _improve(
    reduced: Array, factors: Array, v: Array, parent: Indices, leads: Flags, root: int, pivots: int, tolerance: float
) -> float:
    """Pivot in place; return the value reached, the least one unless it takes more pivots."""
    size = len(v)
    first = np.empty(size, np.int32)
    following = np.empty(size, np.int32)
    order = np.empty(size, np.int32)
    moved = np.empty(size, np.bool_)
    bounded = np.empty(size, np.bool_)
    inner = np.empty(size, np.bool_)
    sources = np.empty(size, np.int32)
    binding = np.empty(size, np.int32)
    heap = np.empty(size, np.int32)
    sums = np.empty(size)
    ratios = np.empty(size)
    for _ in range(pivots):
        # 1. multipliers of this tree, and the edge to give up
        outward_order(parent, root, first, following, order)
        subtree_sums(reduced, v, parent, order, sums)
        cut = _entering(sums, v, parent, leads, root, tolerance)
        if cut < 0:
            return float(sums[root])

        # 2. how far the subtree can be scaled, and where it gets stuck
        upwards = not leads[cut]
        _mark_sides(parent, leads, order, cut, moved, bounded, inner)
        met = _ratio_test(factors, v, moved, bounded, upwards, sources, binding, ratios, heap)
        slope = -abs(sums[cut]) * v[cut]
        waiting = _pass_leaves(reduced, v, leads, inner, upwards, cut, slope, ratios, heap, met)
        if waiting == 0:  # by underflow alone: else the root, or `cut`, is met and never passed
            return float(sums[root])
        stuck = int(heap[0])

        # 3. scale the moved points, then put the leaves that were passed where their new parents have them
        ratio = ratios[stuck] if upwards else 1.0 / ratios[stuck]
        for x in range(size):
            if moved[x]:
                v[x] *= ratio
        for position in range(waiting, met):
            x = heap[position]
            parent[x] = binding[x]
            v[x] = factors[parent[x], x] * v[parent[x]]

        # 4. hang the moved subtree by the constraint that has become tight
        source = int(binding[stuck])
        if upwards:
            hang_subtree(parent, leads, cut, source, stuck, True)
        else:
            hang_subtree(parent, leads, cut, stuck, source, False)
    outward_order(parent, root, first, following, order)
    subtree_sums(reduced, v, parent, order, sums)
    return float(sums[root])


@numba.njit(cache=True, nogil=True, parallel=True)
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
    """Solve the pricing problems of some reports in parallel, each from its last tree.

    Parameters
    ----------
    costs : (m, n) array
    row_prices : (n,) array
        y; the reduced costs of report z are r = costs[z] - y.
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
        reduced = costs[z] - row_prices
        v = columns[z]
        parent = parents[z]
        led = leads[z]
        order = np.empty(len(row_prices), np.int32)
        first = np.empty(len(row_prices), np.int32)
        following = np.empty(len(row_prices), np.int32)
        for again in range(_REROOTED, -1, -1):
            outward_order(parent, int(roots[z]), first, following, order)
            recompute_column(factors, v, parent, led, int(roots[z]), order)
            value = _improve(reduced, factors, v, parent, led, int(roots[z]), pivots, tolerance)

            # a column of positive value is no use at any scale; another one is better judged at its greatest entry
            greatest = int(v.argmax())
            if again == 0 or v[greatest] <= _GREATER or value >= 0:
                break
            hang_subtree(parent, led, int(roots[z]), greatest, greatest, False)
            roots[z] = greatest
