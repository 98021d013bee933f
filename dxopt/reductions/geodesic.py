"""Drop the pairs whose constraint follows from a third point between them. Exact."""

from __future__ import annotations

import numpy as np

from dxopt.program import ChannelProgram
from dxopt.reductions.record import Reduction

SLACK = 1e-12


def drop_redundant(program: ChannelProgram) -> tuple[ChannelProgram, Reduction]:
    """Remove each pair (a, b) with some c strictly between: d(a, c) + d(c, b) ≤ d(a, b).

    The sum is compared up to 1e-12 relative, so that metrics in floating point count as geodesic; the channel
    is proven on all pairs afterwards, which makes that harmless. On graph and Manhattan metrics only the edges
    remain. Takes O(k³) time in O(k²) memory.
    """
    budgets = program.budgets
    redundant = np.zeros(budgets.shape, dtype=bool)
    allowed = budgets * (1 + SLACK)
    for via in range(len(budgets)):
        detour = budgets[:, via, None] + budgets[None, via, :]
        detour[via, :] = np.inf
        detour[:, via] = np.inf
        redundant |= (detour <= allowed) & (budgets[:, via, None] > 0) & (budgets[None, via, :] > 0)
    kept = np.where(redundant, np.inf, budgets)
    np.fill_diagonal(kept, 0.0)
    reduced = program.with_budgets(kept)
    before, after = len(program.pairs[0]), len(reduced.pairs[0])
    return reduced, Reduction("geodesic pairs", True, before, after, "implied by points in between")
