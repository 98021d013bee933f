"""Multipliers of the tight constraints of a basis tree, and what they leave of the reduced costs: the dual bound.

The constraints v_x - E[p, x] v_p ≥ 0 on the column of one report z are the rows of A v ≥ 0. For multipliers λ ≥ 0 of
them let the residual be r = q - A'λ, with the reduced costs q = c_z - y. Every column v of the cone with 0 ≤ v ≤ 1
has ⟨q, v⟩ ≥ ⟨r, v⟩ ≥ Σ_x min(0, r_x), since A v ≥ 0: so any tree, optimal or not, proves a bound. For an optimal tree
nothing negative need be left but the value of its column, at the root.
"""

from __future__ import annotations

import numba
import numpy as np

from dxopt.solving.solvers.columns.basis import Array, Flags, Indices, outward_order
from dxopt.solving.solvers.columns.cores import on_cores


@numba.njit(cache=True, nogil=True)
def _settle(
    sums: Array, v: Array, parent: Indices, leads: Flags, order: Indices, keep_large: bool, found: Array, rest: Array
) -> float:
    """Set the multiplier above each point and the negative part of its residual; return the sum of the latter.

    `sums` holds the reduced costs q at first. From the leaves inwards, the multiplier of the edge above x is chosen
    so that nothing is left at x, and what it adds to or takes from the parent is passed on. `keep_large` leaves a
    negative sum where it is at points whose entry exceeds that of the root.
    """
    total = 0.0
    for k in range(len(v) - 1, -1, -1):
        x = order[k]
        p = parent[x]
        found[x] = rest[x] = 0.0
        if k == 0 or (sums[x] < 0 and (not leads[x] or (keep_large and v[x] > 1.0))):
            # no multiplier of 0 or more could lift this sum, or none is wanted: it stays here
            rest[x] = min(sums[x], 0.0)
            total += rest[x]
        elif leads[x]:
            # v_p - E[x, p] v_x ≥ 0 with λ = -sum / E[x, p]: x gains λ E[x, p], its parent loses λ
            found[x] = max(-sums[x] * v[x] / v[p], 0.0)
            sums[p] -= found[x]
        else:
            # v_x - E[p, x] v_p ≥ 0 with λ = sum: x loses λ, its parent gains λ E[p, x]
            found[x] = sums[x]
            sums[p] += sums[x] * (v[x] / v[p])
    return float(total)


@numba.njit(cache=True, nogil=True)
def _multipliers_of(
    z: int,
    costs: Array,
    row_prices: Array,
    columns: Array,
    parents: Indices,
    leads: Flags,
    roots: Indices,
    found: Array,
    rest: Array,
) -> None:
    """Compute the multipliers of one report; see `edge_multipliers`."""
    size = len(row_prices)
    v = columns[z]
    order = np.empty(size, np.int32)
    child = np.empty(size, np.int32)
    outward_order(parents[z], int(roots[z]), child, np.empty(size, np.int32), order)
    total = _settle(costs[z] - row_prices, v, parents[z], leads[z], order, False, found[z], rest[z])
    if total < 0 and v.max() > 1.0:
        kept = _settle(costs[z] - row_prices, v, parents[z], leads[z], order, True, found[z], rest[z])
        if kept < total:
            _settle(costs[z] - row_prices, v, parents[z], leads[z], order, False, found[z], rest[z])


@numba.njit(cache=True, nogil=True, parallel=True)
def _in_parallel(
    costs: Array,
    row_prices: Array,
    columns: Array,
    parents: Indices,
    leads: Flags,
    roots: Indices,
    found: Array,
    rest: Array,
) -> None:
    for i in numba.prange(len(costs)):
        z = int(i)
        _multipliers_of(z, costs, row_prices, columns, parents, leads, roots, found, rest)


def edge_multipliers(
    costs: Array,
    row_prices: Array,
    columns: Array,
    parents: Indices,
    leads: Flags,
    roots: Indices,
    found: Array,
    rest: Array,
) -> None:
    """Compute multipliers of 0 or more for every edge, and what they leave of q where that is negative.

    A small negative sum at a point much larger than the root would count for many times as much there; it is kept
    where it is if that leaves less in all.

    Parameters
    ----------
    costs, row_prices, columns, parents, leads, roots
        As for `price_reports`.
    found : (m, n) array
        Set to the multiplier of the edge above each point.
    rest : (m, n) array
        Set to min(0, r), with the residual r = q - A'λ.
    """
    arguments = (costs, row_prices, columns, parents, leads, roots, found, rest)
    on_cores(_in_parallel, _multipliers_of, range(len(costs)), *arguments)
