"""Loops along the branches of trees, over lists as they are and over arrays compiled; `trees` chooses.

Points are numbered by their place on a walk from the roots outwards, on which every point comes after its parent:
`above` has the place of each parent, -1 for roots. Both ways every sum is rounded alike: one step at a time, nothing
reordered or fused, no fast-math.
"""

from __future__ import annotations

import math
from typing import Any

Entries = Any
"""A list of numbers or of rows, or an array; those that are changed are changed in place."""


def adjacent(start: Entries, end: Entries, free: Entries, slots: Entries) -> None:
    """Sort the two ends `(m,)` of each edge by the point that they are at.

    `free` `(n,)` has the first slot of each point, and is counted up. `slots` `(4m,)` is filled with two numbers for
    each slot: the point at the other end, and the edge.
    """
    for edge in range(len(start)):
        here = start[edge]
        there = end[edge]
        slots[2 * free[here]] = there
        slots[2 * free[here] + 1] = edge
        free[here] += 1
        slots[2 * free[there]] = here
        slots[2 * free[there] + 1] = edge
        free[there] += 1


def walk(first: Entries, slots: Entries, order: Entries, above: Entries, edge: Entries, reached: Entries) -> None:
    """Walk breadth first through one tree after the other, each from its first point.

    The slots of point v, see `adjacent`, are from `first[v]` on, before `first[v + 1]`. Filled are, all `(n,)`: the
    point at each place in `order`, the place of its parent and the edge to it, -1 for roots, in `above` and `edge`,
    and `reached`, which is all false before.
    """
    known = 0
    here = 0
    for root in range(len(order)):
        if reached[root]:
            continue
        reached[root] = True
        order[known] = root
        above[known] = -1
        edge[known] = -1
        known += 1
        # All points that are known and were not visited yet wait between `here` and `known`.
        while here < known:
            point = order[here]
            for slot in range(first[point], first[point + 1]):
                other = slots[2 * slot]
                if not reached[other]:
                    reached[other] = True
                    order[known] = other
                    above[known] = here
                    edge[known] = slots[2 * slot + 1]
                    known += 1
            here += 1


def inwards(
    above: Entries, p: Entries, step: float, sums: Entries, sizes: Entries, errors: Entries, signed: bool
) -> None:
    """Compute S_v = b_v + Σ p S_c over the children c, the sum over the subtree of v: it reaches the parent times p.

    Parameters
    ----------
    p : (n,) entries
        Of the edge to each parent.
    step : float
        The relative rounding of one step.
    sums : (n,) entries
        b before, S afterwards.
    sizes : (n,) entries
        The same of absolute values; `sums` itself unless `signed`, as where some entries are negative.
    errors : (n,) entries
        A bound on the error of `sums`: what the errors of the summands become, and one rounding of the step, which is
        in proportion to `sizes`.
    """
    for v in range(len(above) - 1, -1, -1):
        u = above[v]
        if u >= 0:
            # Errors come first, as they need the sizes before the step.
            errors[u] = errors[u] + p[v] * errors[v] + step * (sizes[u] + p[v] * sizes[v])
            sums[u] = sums[u] + p[v] * sums[v]
            if signed:
                sizes[u] = sizes[u] + p[v] * sizes[v]


def outwards(
    above: Entries,
    p: Entries,
    q: Entries,
    step: float,
    sums: Entries,
    sizes: Entries,
    errors: Entries,
    signed: bool,
) -> None:
    """Compute A_v = q S_v + p A_u for the parent u, the sum over all points; q = 1 - p², and for a root A is S.

    That is S_v + p (A_u - p S_v): the sum over the subtree, and what u sees beyond it, seen through the edge.
    Parameters as for `inwards`, but `sums` has S before and A afterwards.
    """
    for v in range(len(above)):
        u = above[v]
        if u >= 0:
            errors[v] = q[v] * errors[v] + p[v] * errors[u] + step * (q[v] * sizes[v] + p[v] * sizes[u])
            sums[v] = q[v] * sums[v] + p[v] * sums[u]
            if signed:
                sizes[v] = q[v] * sizes[v] + p[v] * sizes[u]


def closure(above: Entries, p: Entries, best: Entries) -> None:
    """Raise `best`, which is v ≥ 0 before, to max_x Φ[x, z] v_x for every z, by two passes with maxima for sums.

    `p` is that of the edge to each parent. What comes back into a subtree from its own maximum is p² times that,
    which is no more, so nothing has to be taken out on the way outwards.
    """
    for v in range(len(above) - 1, -1, -1):
        u = above[v]
        if u >= 0:
            best[u] = max(best[u], p[v] * best[v])
    for v in range(len(above)):
        u = above[v]
        if u >= 0:
            best[v] = max(best[v], p[v] * best[u])


def distances(above: Entries, lengths: Entries, source: int, away: Entries) -> None:
    """Set the distances from a place to all others in `away`, infinite before; in other trees they stay so."""
    # To all points between this one and its root.
    at = source
    travelled = 0.0
    while at >= 0:
        away[at] = travelled
        travelled += lengths[at]
        at = above[at]
    # All others are reached from their parents.
    for v in range(len(above)):
        u = above[v]
        if u >= 0 and away[v] == math.inf:
            away[v] = away[u] + lengths[v]
