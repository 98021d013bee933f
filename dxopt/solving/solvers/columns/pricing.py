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

from typing import Any

import numpy as np

from dxopt.numerics.kernels import FLAG, FLAGS, INDICES, MATRIX, REAL, VECTOR, WHOLE, kernel
from dxopt.solving.solvers.columns.basis import (
    LINKS,
    TREES,
    Array,
    Flags,
    Indices,
    Links,
    Trees,
    add_to_sums,
    complete_links,
    hang_subtree,
    link,
    outward_order,
    recompute_column,
    subtree_sums,
    turn_sums,
    unlink,
)

_MANY = 8
"""The points of the lower side are many if there are more than an eighth of all."""
_FAINT = 100.0
"""Tolerance for negative multipliers where the gain is tiny; chosen, not derived."""
_FRESH = 100
"""Pivots after which the sums are made anew."""


@kernel(VECTOR, VECTOR, INDICES, FLAGS, LINKS, REAL)
def _entering(sums: Array, v: Array, parent: Indices, leads: Flags, links: Links, tolerance: float) -> int:
    """Return the point whose edge is to be given up; -1 if the tree is optimal.

    It is the one whose subtree gains most for each unit of t, |S_x| v_x. Where no gain exceeds the tolerance it is
    the one of the most negative multiplier, which may be large where v_x is tiny.
    """
    first, following, _, _ = links
    greatest_gain = tolerance
    cut = -1
    worst_multiplier = _FAINT * tolerance
    second_choice = -1
    child = first[len(v) - 1]
    only = -1 if following[child] >= 0 else child  # the only child of the ceiling keeps its edge
    for x in range(len(v) - 1):
        wrong = sums[x] if leads[x] else -sums[x]  # above 0 where the multiplier is negative
        if wrong > 0 and x != only:
            if wrong * v[x] > greatest_gain:
                greatest_gain = wrong * v[x]
                cut = x
            elif cut < 0:
                multiplier = wrong * v[x] / v[parent[x]] if leads[x] else wrong
                if multiplier > worst_multiplier:
                    worst_multiplier = multiplier
                    second_choice = x
    return cut if cut >= 0 else second_choice


@kernel(LINKS, WHOLE, FLAGS, INDICES)
def _mark_moved(links: Links, cut: int, moved: Flags, members: Indices) -> int | np.int64:
    """Mark the points of the subtree of `cut`, and list them; return how many there are."""
    first, following, _, _ = links
    moved[cut] = True
    members[0] = cut
    count = np.int64(1)
    k = 0
    while k < count:
        child = first[members[k]]
        while child >= 0:
            moved[child] = True
            members[count] = child
            count += 1
            child = following[child]
        k += 1
    return count


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


@kernel(FLAGS, LINKS, FLAGS, INDICES, WHOLE, FLAG, INDICES, INDICES)
def _set_sides(
    leads: Flags,
    links: Links,
    moved: Flags,
    members: Indices,
    count: int,
    upwards: bool,
    sources: Indices,
    lower: Indices,
) -> tuple[Any, Any]:
    """Set `sources` to the points of the rising side that can meet another one first, and `lower` to the other side.

    The moved points are `members[:count]`, of which the first has lost its edge. Return how many there are of both.
    """
    leading = links[3]
    many = few = np.int64(0)
    for k in range(count):
        x = members[k]
        if not upwards:
            lower[few] = x
            few += 1
        elif leading[x] == 0 and (leads[x] or k == 0):
            sources[many] = x
            many += 1
    for x in range(len(leads)):
        if not moved[x]:
            if upwards:
                lower[few] = x
                few += 1
            elif leading[x] == 0 and leads[x]:
                sources[many] = x
                many += 1
    return many, few


@kernel(MATRIX, VECTOR, INDICES, WHOLE, VECTOR, INDICES, WHOLE)
def _ratio_test(
    factors: Array, v: Array, sources: Indices, count: int, ratios: Array, heap: Indices, lower: int
) -> int | np.int64:
    """Make a heap of the points heap[:lower], the lower side, by the ratio at which each is met; return its length.

    Giving up an edge cuts the tree in two; the lower side is the one that shrinks against the other.
    `ratios` is how far one side may rise against the other until the point is met, by one of `sources[:count]`.
    """
    # 1. how high each is pulled at most; of many points it is found for all in a row, which goes by vectors
    size = len(v)
    for x in range(size):
        ratios[x] = 0.0
    for i in range(count):
        row = factors[sources[i]]
        height = v[sources[i]]
        if _MANY * lower > size:
            for x in range(size):
                ratios[x] = max(ratios[x], row[x] * height)
        else:
            for k in range(lower):
                ratios[heap[k]] = max(ratios[heap[k]], row[heap[k]] * height)

    # 2. the ratios, 1 or more up to rounding, of points that are pulled at all
    waiting = np.int64(0)
    for k in range(lower):
        x = heap[k]
        if ratios[x] > 0:
            ratios[x] = v[x] / ratios[x]
            heap[waiting] = x
            waiting += 1

    # 3. make it a heap: few of the points are ever taken from it
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


@kernel(VECTOR, VECTOR, INDICES, FLAGS, LINKS, INDICES, VECTOR)
def _renew(
    reduced: Array, v: Array, parent: Indices, leads: Flags, links: Links, order: Indices, sums: Array
) -> None:
    """Set the links and the sums of a tree."""
    outward_order(parent, links[0], links[1], order)
    complete_links(parent, leads, links)
    subtree_sums(reduced, v, parent, order, sums)


@kernel(VECTOR, VECTOR, FLAGS, LINKS, FLAG, REAL, VECTOR, INDICES, WHOLE)
def _pass_leaves(
    reduced: Array,
    v: Array,
    leads: Flags,
    links: Links,
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

    But for underflow the heap never runs empty: the ceiling (upwards; it has a child) or `cut` (downwards; it leads)
    stays.
    """
    first = links[0]
    while waiting > 0:
        x = heap[0]
        slope += float(reduced[x] * v[x] / (ratios[x] if upwards else 1.0))
        if slope >= 0 or first[x] >= 0 or leads[x]:
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
    links = (np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size, np.int32))
    order = np.empty(size, np.int32)
    members = np.empty(size, np.int32)
    sources = np.empty(size, np.int32)
    heap = np.empty(size, np.int32)
    moved = np.zeros(size, np.bool_)
    sums = np.empty(size)
    ratios = np.empty(size)
    _renew(reduced, v, parent, leads, links, order, sums)
    since = 0
    for _ in range(pivots):
        # 1. the edge to give up, by sums that are made anew where rounding may have grown, or decides
        if since == _FRESH:
            _renew(reduced, v, parent, leads, links, order, sums)
            since = 0
        cut = np.int64(_entering(sums, v, parent, leads, links, tolerance))
        if cut < 0 and since > 0:
            _renew(reduced, v, parent, leads, links, order, sums)
            since = 0
            cut = np.int64(_entering(sums, v, parent, leads, links, tolerance))
        if cut < 0:
            return
        since += 1

        # 2. how far the subtree can be scaled, and where it gets stuck
        upwards = not leads[cut]
        unlink(parent, leads, links, cut)
        count = _mark_moved(links, cut, moved, members)
        many, few = _set_sides(leads, links, moved, members, count, upwards, sources, heap)
        met = _ratio_test(factors, v, sources, many, ratios, heap, few)
        for k in range(count):
            moved[members[k]] = False
        slope = -abs(sums[cut]) * v[cut]
        waiting = _pass_leaves(reduced, v, leads, links, upwards, slope, ratios, heap, met)
        if waiting == 0:  # by underflow alone (see `_pass_leaves`); nothing has been changed yet
            return
        stuck = np.int64(heap[0])

        # 3. scale the moved points, which leaves their sums as they are, then put the leaves that were passed where
        #    they follow now: by the column before, who meets them is the same
        add_to_sums(sums, v, parent, np.int64(parent[cut]), cut, -sums[cut] * v[cut])
        ratio = ratios[stuck] if upwards else 1.0 / ratios[stuck]
        for k in range(count):
            v[members[k]] *= ratio
        for position in range(waiting, met):
            x = np.int64(heap[position])
            source = _met_by(factors, v, sources, many, x)
            unlink(parent, leads, links, x)
            add_to_sums(sums, v, parent, np.int64(parent[x]), cut, -reduced[x] * v[x])
            v[x] = factors[source, x] * v[source]
            sums[x] = reduced[x]
            link(parent, leads, links, x, source, np.bool_(False))
            add_to_sums(sums, v, parent, source, cut, reduced[x] * v[x])

        # 4. hang the moved subtree of `cut` by v_stuck = E[source, stuck] v_source: upwards by the source, which
        #    leads `stuck`; downwards by `stuck`, which follows the source
        source = _met_by(factors, v, sources, many, stuck)
        hung, under = (source, stuck) if upwards else (stuck, source)
        turn_sums(sums, v, parent, cut, hung)
        hang_subtree(parent, leads, links, cut, hung, under, upwards)
        add_to_sums(sums, v, parent, under, cut, sums[hung] * v[hung])


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
