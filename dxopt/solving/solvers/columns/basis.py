"""Basis trees: the basic feasible solutions of the pricing problem of one report, and what is computed along them.

The rows of the channel are called points here, as they are the points of the tree.

A column v of the cone satisfies v_x ≥ E[p, x] v_p for every pair of points, where E = e^{-d}. In a basic solution
with v_root = 1, n - 1 of these constraints are tight and form a spanning tree. Every point x but the root has one
edge, to its parent p, of one of two kinds:

- x **follows** p: v_x = E[p, x] v_p, the least that p allows. The subtree of x can only be scaled up.
- x **leads** p: v_p = E[x, p] v_x, so that v_x is the greatest that p allows. The subtree can only be scaled down.

A tree is held in three arrays over the points: `parent`, `leads` (true where x leads its parent) and the column `v`.
The entry of `parent` at the root means nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.kernels import FLAG, FLAGS, INDICES, MATRIX, VECTOR, WHOLE, kernel

Array = NDArray[np.float64]
Indices = NDArray[np.int32]
Flags = NDArray[np.bool_]


@kernel(INDICES, WHOLE, INDICES, INDICES, INDICES)
def outward_order(parent: Indices, root: int, first: Indices, sibling: Indices, order: Indices) -> None:
    """Set `order` to the points from the root outwards: every point comes after its parent.

    `first` and `sibling` are working arrays: the first child of a point, and the next child of the same parent.
    """
    # 1. chain the children of each point
    size = len(parent)
    for x in range(size):
        first[x] = -1
    for x in range(size):
        if x != root:
            sibling[x] = first[parent[x]]
            first[parent[x]] = x

    # 2. breadth first: `order` is its own queue
    order[0] = root
    count = 1
    for k in range(size):
        child = first[order[k]]
        while child >= 0:
            order[count] = child
            count += 1
            child = sibling[child]


@kernel(VECTOR, VECTOR, INDICES, INDICES, VECTOR)
def subtree_sums(reduced: Array, v: Array, parent: Indices, order: Indices, sums: Array) -> None:
    """Set `sums` to S_x = Σ q_u v_u / v_x over the subtree of each x; S_root is the value Σ q_u v_u of the column.

    q, `reduced`, are the reduced costs c_z - y.

    Dividing by v_x keeps what is far down, where v is tiny, from drowning in rounding.
    """
    for x in range(len(v)):
        sums[x] = reduced[x]
    for k in range(len(v) - 1, 0, -1):
        x = order[k]
        sums[parent[x]] += sums[x] * (v[x] / v[parent[x]])


@kernel(MATRIX, VECTOR, INDICES, FLAGS, WHOLE, INDICES)
def recompute_column(factors: Array, v: Array, parent: Indices, leads: Flags, root: int, order: Indices) -> None:
    """Set `v` to the column of a tree, from the root outwards, so that rounding does not add up over pivots."""
    v[root] = 1.0
    for k in range(1, len(v)):
        x = order[k]
        p = parent[x]
        v[x] = v[p] / factors[x, p] if leads[x] else factors[p, x] * v[p]


@kernel(INDICES, FLAGS, WHOLE, WHOLE, WHOLE, FLAG)
def hang_subtree(parent: Indices, leads: Flags, top: int, child: int, under: int, leading: bool) -> None:
    """Hang the subtree of `top` under a point outside it, by its point `child`.

    On the way from `child` up to `top` parents become children, and an edge on which x led its parent becomes one on
    which the parent follows x. `leading` says whether `child` leads the point it now hangs under. With `top` the
    root, and `under` the same as `child`, that point becomes the root.
    """
    x = child
    while True:
        above = parent[x]
        led = leads[x]
        parent[x] = under
        leads[x] = leading
        if x == top:
            return
        under = x
        leading = not led
        x = above
