"""Basis trees: the basic feasible solutions of the pricing problem of one report, and what is computed along them.

The rows of the channel are called points here, as they are the points of the tree.

A column v of the cone satisfies v_x ≥ E[p, x] v_p for every pair of points, where E = e^{-d}, and v ≤ 1. The
**ceiling** is one point more, the last one, with v = 1 and no cost, and E[x, ceiling] = 1, E[ceiling, x] = 0: so
v_x ≤ 1 is a constraint like others, and the triangle inequality holds as before. In a basic solution n of these
constraints are tight and form a spanning tree with the ceiling for its root. Every point x has one edge, to its
parent p, of one of two kinds:

- x **follows** p: v_x = E[p, x] v_p, the least that p allows. The subtree of x can only be scaled up.
- x **leads** p: v_p = E[x, p] v_x, so that v_x is the greatest that p allows. The subtree can only be scaled down.

The children of the ceiling lead it: these are entries of 1. A tree is held in three arrays over the points, the
ceiling included: `parent`, `leads` (true where x leads its parent) and the column `v`. The entry of `parent` at the
ceiling means nothing.

The constraints v_x - E[p, x] v_p ≥ 0 on the column of one report z are the rows of A v ≥ 0. For multipliers λ ≥ 0 of
them let the residual be r = q - A'λ, with the reduced costs q = c_z - y. Every column v of the cone with 0 ≤ v ≤ 1
has ⟨q, v⟩ ≥ ⟨r, v⟩ ≥ Σ_x min(0, r_x), since A v ≥ 0: so any tree, optimal or not, proves a bound. For an optimal tree
nothing negative is left but at the children of the ceiling, the multipliers of v_x ≤ 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.kernels import FLAG, FLAGS, INDICES, MATRIX, REAL, SIGNS, TABLE, VECTOR, WHOLE, kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int32]
Flags = NDArray[np.bool_]
Trees = tuple[NDArray[Any], ...]
"""Values, parents and leads `(k, n + 1)` of the trees of k reports."""
TREES = f"Tuple(({MATRIX}, {TABLE}, {SIGNS}))"
"""Their type, for the signatures of kernels."""
Links = tuple[Indices, Indices, Indices, Indices]
"""Children of each point as chains: the first child, -1 for none; the next and the previous
child of the same parent; and how many children lead their parent."""
LINKS = f"UniTuple({INDICES}, 4)"


@kernel(INDICES, INDICES, INDICES, INDICES)
def outward_order(parent: Indices, first: Indices, sibling: Indices, order: Indices) -> None:
    """Set `order` to the points from the ceiling, the last one, outwards: every point comes after its parent.

    `first` and `sibling` are working arrays: the first child of a point, and the next child of the same parent.
    """
    # 1. chain the children of each point
    size = len(parent)
    for x in range(size):
        first[x] = -1
    for x in range(size - 1):
        sibling[x] = first[parent[x]]
        first[parent[x]] = x

    # 2. breadth first: `order` is its own queue
    order[0] = size - 1
    count = 1
    for k in range(size):
        child = first[order[k]]
        while child >= 0:
            order[count] = child
            count += 1
            child = sibling[child]


@kernel(INDICES, FLAGS, LINKS)
def complete_links(parent: Indices, leads: Flags, links: Links) -> None:
    """Set the previous children and the numbers of those that lead, once `outward_order` has set the chains."""
    first, following, previous, leading = links
    for x in range(len(parent)):
        leading[x] = 0
    for x in range(len(parent)):
        if first[x] >= 0:
            previous[first[x]] = -1
    for x in range(len(parent) - 1):
        if following[x] >= 0:
            previous[following[x]] = x
        if leads[x]:
            leading[parent[x]] += 1


@kernel(INDICES, FLAGS, LINKS, WHOLE)
def unlink(parent: Indices, leads: Flags, links: Links, x: int) -> None:
    """Take a point out of the children of its parent."""
    first, following, previous, leading = links
    if previous[x] >= 0:
        following[previous[x]] = following[x]
    else:
        first[parent[x]] = following[x]
    if following[x] >= 0:
        previous[following[x]] = previous[x]
    if leads[x]:
        leading[parent[x]] -= 1


@kernel(INDICES, FLAGS, LINKS, WHOLE, WHOLE, FLAG)
def link(parent: Indices, leads: Flags, links: Links, x: int, under: int, leads_it: bool) -> None:
    """Make a point that is no child, or was taken out of the children, a child of another point."""
    first, following, previous, leading = links
    parent[x] = under
    leads[x] = leads_it
    following[x] = first[under]
    previous[x] = -1
    if first[under] >= 0:
        previous[first[under]] = x
    first[under] = x
    if leads_it:
        leading[under] += 1


@kernel(VECTOR, VECTOR, INDICES, WHOLE, WHOLE, REAL)
def add_to_sums(sums: Array, v: Array, parent: Indices, x: int | np.int64, top: int, amount: float) -> None:
    """Add an amount of Σ q_u v_u to the sums S of a point and of those above it, up to `top` or the ceiling."""
    while True:
        sums[x] += amount / v[x]
        if x == top or x == len(v) - 1:
            return
        x = np.int64(parent[x])


@kernel(VECTOR, VECTOR, INDICES, WHOLE, WHOLE)
def turn_sums(sums: Array, v: Array, parent: Indices, top: int, child: int) -> None:
    """Set the sums S of the subtree of `top` to what they are once it hangs by its point `child`."""
    total = sums[top] * v[top]
    below = 0.0
    x = child
    while True:
        own = sums[x] * v[x]
        sums[x] = (total - below) / v[x]
        if x == top:
            return
        below = own
        x = np.int64(parent[x])


@kernel(VECTOR, VECTOR, INDICES, INDICES, VECTOR)
def subtree_sums(reduced: Array, v: Array, parent: Indices, order: Indices, sums: Array) -> None:
    """Set `sums` to S_x = Σ q_u v_u / v_x over the subtree of each x, whose signs tell pricing which edge to give up.

    `reduced` is q, the reduced costs c_z - y. At the ceiling S is the value Σ q_u v_u of the column. Dividing by v_x
    keeps what is far down, where v is tiny, from drowning in rounding.
    """
    for x in range(len(v)):
        sums[x] = reduced[x]
    for k in range(len(v) - 1, 0, -1):
        x = order[k]
        sums[parent[x]] += sums[x] * (v[x] / v[parent[x]])


@kernel(MATRIX, VECTOR, INDICES, FLAGS, INDICES)
def recompute_column(factors: Array, v: Array, parent: Indices, leads: Flags, order: Indices) -> None:
    """Compute `v` from the tree, from the ceiling outwards, which discards the rounding of earlier pivots.

    `factors` is E, with the ceiling, and `order` comes from `outward_order`.
    """
    v[order[0]] = 1.0
    for k in range(1, len(v)):
        x = order[k]
        p = parent[x]
        v[x] = v[p] / factors[x, p] if leads[x] else factors[p, x] * v[p]


@kernel(INDICES, FLAGS, LINKS, WHOLE, WHOLE, WHOLE, FLAG)
def hang_subtree(
    parent: Indices, leads: Flags, links: Links, top: int, child: int, under: int | np.int64, leading: bool
) -> None:
    """Hang the subtree of `top`, which is no child any more, under a point outside it, by its point `child`.

    On the way from `child` up to `top` parents become children, and an edge on which x led its parent becomes one on
    which the parent follows x. `leading` says whether `child` leads the point it now hangs under.
    """
    x = child
    while True:
        above = np.int64(parent[x])
        led = leads[x]
        if x != top:
            unlink(parent, leads, links, x)
        link(parent, leads, links, x, under, leading)
        if x == top:
            return
        under = x
        leading = not led
        x = above


@kernel(VECTOR, VECTOR, VECTOR, VECTOR, INDICES, FLAGS, INDICES, VECTOR, VECTOR)
def _set_multipliers(
    costs: Array,
    row_prices: Array,
    sums: Array,
    v: Array,
    parent: Indices,
    leads: Flags,
    order: Indices,
    found: Array,
    rest: Array,
) -> None:
    """Set `found` to the multiplier of the edge above each point, and `rest` to min(0, residual).

    `sums` is a working array: the reduced costs q = costs - row_prices at first. From the leaves inwards, the
    multiplier of the edge above x is chosen so that nothing is left at x, and what it adds to the parent, or takes
    from it, is passed on. The ceiling takes nothing: what is left at its children stays there.
    """
    ceiling = order[0]
    for x in range(len(v)):
        sums[x] = costs[x] - row_prices[x]
        found[x] = rest[x] = 0.0
    for k in range(len(v) - 1, 0, -1):
        x = order[k]
        p = parent[x]
        if p == ceiling or (sums[x] < 0 and not leads[x]):  # no multiplier of 0 or more could lift this sum
            rest[x] = min(sums[x], 0.0)
        elif leads[x]:
            # v_p - E[x, p] v_x ≥ 0 with λ = -sum / E[x, p]: x gains λ E[x, p], its parent loses λ
            found[x] = max(-sums[x] * v[x] / v[p], 0.0)
            sums[p] -= found[x]
        else:
            # v_x - E[p, x] v_p ≥ 0 with λ = sum: x loses λ, its parent gains λ E[p, x]
            found[x] = sums[x]
            sums[p] += sums[x] * (v[x] / v[p])


@kernel(WHOLE, WHOLE, MATRIX, VECTOR, TREES, MATRIX, MATRIX)
def edge_multipliers(
    first: int, last: int, costs: Array, row_prices: Array, trees: Trees, found: Array, rest: Array
) -> None:
    """Compute multipliers of 0 or more for the edges of reports first to last - 1, which prove the dual bound.

    `found[z, x]` is set to the multiplier of the edge above x, `rest` to min(0, r), with the residual r = q - A'λ;
    the other arguments are those of `pricing.price_share`.
    """
    values, parents, leads = trees
    size = len(row_prices)
    sums = np.empty(size)
    order = np.empty(size, np.int32)
    child = np.empty(size, np.int32)
    sibling = np.empty(size, np.int32)
    for z in range(first, last):
        outward_order(parents[z], child, sibling, order)
        _set_multipliers(costs[z], row_prices, sums, values[z], parents[z], leads[z], order, found[z], rest[z])
