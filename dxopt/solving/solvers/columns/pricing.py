"""The pricing problem of one report, solved by a primal simplex method on trees.

A report z is a column of the channel, the points x are its rows. c_z(x) is the cost of z in row x, y_x the price of
that row (see `generation`); the value of a column v is ⟨q, v⟩ with the reduced costs q = c_z - y. The problem is to
minimise it over the cone, v_x ≥ E[p, x] v_p for all pairs, where v ≤ 1 but not v = 0. Here E = e^{-d}, and the caller
has made d obey the triangle inequality: E[a, b] E[b, c] ≤ E[a, c]. The ceiling, the last point, makes v ≤ 1 one of
these constraints (see `basis`); its only child never gives up its edge, as only v = 0 would be left.

**Basis.** A basic solution is a spanning tree of tight constraints (`basis`). A point x **follows** its parent p if
v_x = E[p, x] v_p, and **leads** it if v_p = E[x, p] v_x. The slacks of these edges are the nonbasic variables, all
other slacks the basic ones. With S_x the sum of q_u v_u / v_x over the subtree of x, scaling the subtree by 1 + t
changes the value by t S_x v_x, and keeps its other edges tight. The multiplier is that change for each unit of slack:
S_x where x follows, as its slack becomes t v_x, so t ≥ 0; and -S_x v_x / v_p where x leads, as its slack becomes
-t v_p, so t ≤ 0. The tree is optimal when no multiplier is negative.

**Pivot.** The edge above `cut`, whose multiplier is negative, is given up (its slack enters the basis) and the
subtree of `cut`, the moved points, is scaled: up where `cut` followed, else down. One side of the cut, the rising
side, grows against the other, the lower side. A point x of the lower side is met when its constraint
v_x ≥ E[s, x] v_s to a point s of the rising side becomes tight.

- Who can meet. If an edge on the rising side bounds s from below, v_s = E[u, s] v_u, then by the triangle inequality
  E[s, x] v_s = E[u, s] E[s, x] v_u ≤ E[u, x] v_u: u meets x no later. Only points that no edge bounds on their own
  side need be looked at (`sources`). In practice they are few.
- Long steps. A leaf that follows its parent and is met may change its parent: it follows the source that met it from
  then on, and the pivot continues while ⟨q, v⟩ still falls. This saves a pivot for every such leaf. Bounded on the
  rising side now, it is no new source: all other ratios hold. A leaf that leads may not: it bounds its parent below.
- The first point that may not, or at which the value would rise, stops the pivot (`stuck`): its constraint becomes
  the new edge (its slack leaves the basis), and the moved subtree is hung there.
"""

from __future__ import annotations

import numpy as np

from dxopt.numerics.kernels import FLAG, FLAGS, INDICES, MATRIX, REAL, VECTOR, WHOLE, kernel
from dxopt.solving.solvers.columns.basis import (
    TREES,
    Array,
    Flags,
    Indices,
    Trees,
    hang_subtree,
    outward_order,
    recompute_column,
    subtree_sums,
)

_MANY = 8
"""The points of the lower side are many if there are more than an eighth of all."""
_FAINT = 100.0
"""Tolerance for negative multipliers where the gain is tiny; chosen, not derived."""


@kernel(VECTOR, VECTOR, INDICES, FLAGS, INDICES, REAL)
def _entering(sums: Array, v: Array, parent: Indices, leads: Flags, order: Indices, tolerance: float) -> int:
    """Return the point whose edge is to be given up; -1 if the tree is optimal.

    It is the one whose subtree gains most for each unit of t, |S_x| v_x. Where no gain exceeds the tolerance it is
    the one of the most negative multiplier, which may be large where v_x is tiny.
    """
    greatest_gain = tolerance
    cut = -1
    worst_multiplier = _FAINT * tolerance
    second_choice = -1
    ceiling = order[0]
    alone = len(v) == 2 or parent[order[2]] != ceiling  # the ceiling has one child, the first in the order
    for x in range(len(v) - 1):
        if not (alone and x == order[1]):
            wrong = sums[x] if leads[x] else -sums[x]  # above 0 where the multiplier is negative
            if wrong * v[x] > greatest_gain:
                greatest_gain = wrong * v[x]
                cut = x
            elif wrong > 0 and cut < 0:
                multiplier = wrong * v[x] / v[parent[x]] if leads[x] else wrong
                if multiplier > worst_multiplier:
                    worst_multiplier = multiplier
                    second_choice = x
    return cut if cut >= 0 else second_choice


@kernel(INDICES, FLAGS, INDICES, WHOLE, FLAGS, FLAGS, FLAGS)
def _mark_sides(
    parent: Indices, leads: Flags, order: Indices, cut: int, moved: Flags, bounded: Flags, inner: Flags
) -> None:
    """Mark the points that move, those bounded from below on their own side, and those with children (`inner`).

    The edge that is given up counts for none of this. The ceiling is marked as inner, so that it is never passed.
    """
    for x in range(len(parent)):
        moved[x] = bounded[x] = inner[x] = False
    moved[cut] = True
    inner[order[0]] = True
    for k in range(1, len(order)):
        x = order[k]
        if x != cut:
            moved[x] = moved[parent[x]]
            inner[parent[x]] = True
            bounded[parent[x] if leads[x] else x] = True


@kernel(INDICES, VECTOR, WHOLE, WHOLE)
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


@kernel(VECTOR, FLAGS, FLAGS, FLAG, INDICES)
def _sources_of(v: Array, moved: Flags, bounded: Flags, upwards: bool, sources: Indices) -> int | np.int64:
    """Set `sources` to the points of the rising side that can meet another one first; return how many there are."""
    count = np.int64(0)
    for x in range(len(v)):
        if moved[x] == upwards and not bounded[x]:
            sources[count] = x
            count += 1
    return count


@kernel(MATRIX, VECTOR, FLAGS, FLAG, INDICES, WHOLE, VECTOR, INDICES)
def _ratio_test(
    factors: Array, v: Array, moved: Flags, upwards: bool, sources: Indices, count: int, ratios: Array, heap: Indices
) -> int | np.int64:
    """Fill the heap with the points of the lower side by the ratio at which each is met; return how many there are.

    Giving up an edge cuts the tree in two; the lower side is the one that shrinks against the other.
    `ratios` is how far one side may rise against the other until the point is met, by one of `sources[:count]`.
    """
    # 1. the points of the lower side
    size = len(v)
    lower = np.int64(0)
    for x in range(size):
        ratios[x] = 0.0
        if moved[x] != upwards:
            heap[lower] = x
            lower += 1

    # 2. how high each is pulled at most; of many points it is found for all in a row, which goes by vectors
    for i in range(count):
        row = factors[sources[i]]
        height = v[sources[i]]
        if _MANY * lower > size:
            for x in range(size):
                ratios[x] = max(ratios[x], row[x] * height)
        else:
            for k in range(lower):
                ratios[heap[k]] = max(ratios[heap[k]], row[heap[k]] * height)

    # 3. the ratios, 1 or more up to rounding, of points that are pulled at all
    waiting = np.int64(0)
    for k in range(lower):
        x = heap[k]
        if ratios[x] > 0:
            ratios[x] = v[x] / ratios[x]
            heap[waiting] = x
            waiting += 1

    # 4. make it a heap: few of the points are ever taken from it
    for position in range(waiting // 2 - 1, -1, -1):
        _sift(heap, ratios, position, waiting)
    return waiting


@kernel(MATRIX, VECTOR, INDICES, WHOLE, WHOLE)
def _met_by(factors: Array, v: Array, sources: Indices, count: int, x: int) -> int | np.int64:
    """Return which of `sources[:count]` meets a point first."""
    highest = 0.0
    source = np.int64(sources[0])
    for i in range(count):
        pulled = factors[sources[i], x] * v[sources[i]]
        if pulled > highest:
            highest = pulled
            source = np.int64(sources[i])
    return source


@kernel(VECTOR, VECTOR, FLAGS, FLAGS, FLAG, REAL, VECTOR, INDICES, WHOLE)
def _pass_leaves(
    reduced: Array,
    v: Array,
    leads: Flags,
    inner: Flags,
    upwards: bool,
    slope: float,
    ratios: Array,
    heap: Indices,
    waiting: int,
) -> int:
    """Move the leaves that are passed from heap[:waiting], which shrinks, to behind it; return how many points wait.

    Let the moved points be multiplied by f. The slope is the derivative of the value by f on the way up, and by 1 - f
    on the way down: -|S_cut| v_cut at first. A leaf x that is passed on the way up is at v_x f / ratio_x from then
    on, which adds q_x v_x / ratio_x; on the way down it falls no longer, which adds q_x v_x.

    But for underflow the heap never runs empty: the ceiling (upwards; inner) or `cut` (downwards; it leads) stays.
    """
    while waiting > 0:
        x = heap[0]
        slope += float(reduced[x] * v[x] / (ratios[x] if upwards else 1.0))
        if slope >= 0 or inner[x] or leads[x]:
            break
        waiting -= 1
        heap[0], heap[waiting] = heap[waiting], x
        _sift(heap, ratios, np.int64(0), waiting)
    return waiting


@kernel(VECTOR, MATRIX, VECTOR, INDICES, FLAGS, WHOLE, REAL)
def pivot_tree(
    reduced: Array, factors: Array, v: Array, parent: Indices, leads: Flags, pivots: int, tolerance: float
) -> None:
    """Pivot a tree in place until its column has the least value.

    It may be larger after underflow, or where `pivots`, the limit, is reached, as cycling is possible.
    """
    size = len(v)
    child = np.empty(size, np.int32)
    sibling = np.empty(size, np.int32)
    order = np.empty(size, np.int32)
    moved = np.empty(size, np.bool_)
    bounded = np.empty(size, np.bool_)
    inner = np.empty(size, np.bool_)
    sources = np.empty(size, np.int32)
    heap = np.empty(size, np.int32)
    sums = np.empty(size)
    ratios = np.empty(size)
    for _ in range(pivots):
        # 1. multipliers of this tree, and the edge to give up
        outward_order(parent, child, sibling, order)
        subtree_sums(reduced, v, parent, order, sums)
        cut = _entering(sums, v, parent, leads, order, tolerance)
        if cut < 0:
            return

        # 2. how far the subtree can be scaled, and where it gets stuck
        upwards = not leads[cut]
        _mark_sides(parent, leads, order, cut, moved, bounded, inner)
        count = _sources_of(v, moved, bounded, upwards, sources)
        met = _ratio_test(factors, v, moved, upwards, sources, count, ratios, heap)
        slope = -abs(sums[cut]) * v[cut]
        waiting = _pass_leaves(reduced, v, leads, inner, upwards, slope, ratios, heap, met)
        if waiting == 0:  # by underflow alone (see `_pass_leaves`); nothing has been changed yet
            return
        stuck = np.int64(heap[0])

        # 3. scale the moved points, then put the leaves that were passed where they follow now: by the column before,
        #    who meets them is the same
        ratio = ratios[stuck] if upwards else 1.0 / ratios[stuck]
        for x in range(size):
            if moved[x]:
                v[x] *= ratio
        for position in range(waiting, met):
            x = heap[position]
            parent[x] = _met_by(factors, v, sources, count, np.int64(x))
            v[x] = factors[parent[x], x] * v[parent[x]]

        # 4. hang the moved subtree of `cut` by v_stuck = E[source, stuck] v_source: upwards by the source, which
        #    leads `stuck`; downwards by `stuck`, which follows the source
        source = _met_by(factors, v, sources, count, stuck)
        hung, under = (source, stuck) if upwards else (stuck, source)
        hang_subtree(parent, leads, cut, hung, under, upwards)


@kernel(WHOLE, WHOLE, MATRIX, VECTOR, MATRIX, TREES, WHOLE, REAL)
def price_share(
    first: int,
    last: int,
    costs: Array,
    prices: Array,
    factors: Array,
    trees: Trees,
    pivots: int,
    tolerance: float,
) -> None:
    """Solve the pricing problems of reports first to last - 1, each from its last tree, which is changed in place.

    Parameters
    ----------
    costs : (m, n + 1) array
    prices : (n + 1,) array
        y; the reduced costs of report z are q = costs[z] - y.
    factors : (n + 1, n + 1) array
        E, which obeys the triangle inequality.
    trees : tuple
        A tree for each report and its column, still feasible: values, parents and leads `(m, n + 1)`.
    pivots : int
        For each report at most.
    tolerance : float
        An edge is given up if that gains more than this, or if its multiplier is below minus 100 times this.
    """
    values, parents, leads = trees
    size = len(prices)
    reduced = np.empty(size)
    order = np.empty(size, np.int32)
    child = np.empty(size, np.int32)
    sibling = np.empty(size, np.int32)
    for z in range(first, last):
        for x in range(size):
            reduced[x] = costs[z, x] - prices[x]
        outward_order(parents[z], child, sibling, order)
        recompute_column(factors, values[z], parents[z], leads[z], order)
        pivot_tree(reduced, factors, values[z], parents[z], leads[z], pivots, tolerance)
