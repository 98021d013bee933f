"""Keep a sparse graph instead of all pairs (Cha13): safe, at a cost in utility that is bounded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dxopt.proofs.applied import AppliedReduction
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.chain import Reduced

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Subgraph:
    """A subgraph of the pairs whose path metric is at most `dilation` times the budgets.

    Attributes
    ----------
    edges : (k, k) bool array
        The pairs kept; symmetric.
    dilation : float
        The realised one: the largest ratio of path length to budget over all finite pairs.
    """

    edges: NDArray[np.bool_]
    dilation: float

    def relax(self, program: ChannelProgram) -> ChannelProgram:
        """Return the kept pairs at their own budgets: its optimum is a lower bound."""
        return program.with_budgets(np.where(self.edges, program.budgets, np.inf))


def on_spanner(whole: ChannelProgram, found: Subgraph, *, bounding: bool) -> Reduced[ChannelProgram]:
    """Keep the pairs of a subgraph.

    Budgets are divided by the realised dilation; what is private for them is private for all pairs, and costs more
    than the optimum. With `bounding` budgets stay: the dual proves a lower bound, and the channel, which need not be
    private for the other pairs, is dropped.
    """
    note = f"budgets divided by the realised dilation {found.dilation:.4f}"
    record = AppliedReduction("spanner", False, len(whole.pairs[0]), int(found.edges.sum()), note)
    if bounding:
        return Reduced(found.relax(whole), lambda solution: replace(solution, channel=None), (record,))
    restricted = whole.with_budgets(np.where(found.edges, whole.budgets / found.dilation, np.inf))
    return Reduced(restricted, lambda solution: replace(solution, dual=None), (record,))


def greedy_spanner(budgets: Array, dilation: float) -> Subgraph:
    """Return the greedy spanner: pairs by growing budget, each kept if no path so far is short enough.

    Parameters
    ----------
    budgets : (k, k) array
        For asymmetric budgets a pair is ordered by its larger one and kept in both directions.
    dilation : float
        The stretch allowed, 1 or more.
    """
    # `paths` are the lengths of shortest paths along the edges kept so far
    size = len(budgets)
    paths = np.where(np.eye(size, dtype=bool), 0.0, np.inf)
    edges = np.zeros((size, size), dtype=bool)
    first, second = np.triu_indices(size, 1)
    there = budgets[first, second]
    back = budgets[second, first]
    finite = np.isfinite(there) | np.isfinite(back)
    longest = np.where(np.isfinite(there) & np.isfinite(back), np.maximum(there, back), np.minimum(there, back))
    # pairs by growing budget: one whose path is longer than allowed, in either direction, becomes an edge in both
    for pair in np.argsort(longest, kind="stable")[: int(finite.sum())]:
        a = int(first[pair])
        b = int(second[pair])
        needed = [(p, q) for p, q in ((a, b), (b, a)) if paths[p, q] > dilation * budgets[p, q]]
        for p, q in needed and [(a, b), (b, a)]:
            if np.isfinite(budgets[p, q]):
                edges[p, q] = True
                _shorten(paths, p, q, float(budgets[p, q]))
    return Subgraph(edges, _realised_dilation(paths, budgets))


def _shorten(paths: Array, p: int, q: int, step: float) -> None:
    """Update all paths for a new edge: only those from points that it brings nearer to q, to points nearer from p."""
    sources = np.flatnonzero(paths[:, p] + step < paths[:, q])
    targets = np.flatnonzero(step + paths[q] < paths[p])
    block = np.ix_(sources, targets)
    paths[block] = np.minimum(paths[block], paths[sources, p, None] + step + paths[None, q, targets])


def _realised_dilation(paths: Array, budgets: Array) -> float:
    """Return the largest ratio of path to budget, 1 or more."""
    counted = np.isfinite(budgets) & (budgets > 0)
    if not counted.any():
        return 1.0
    return max(1.0, float((paths[counted] / budgets[counted]).max()))
