"""Drop the pairs whose constraint follows from a third point between them. Exact."""

from __future__ import annotations

import numpy as np

from dxopt.program import ChannelProgram
from dxopt.reductions.record import Reduction
from dxopt.tropical import between

SLACK = 1e-12
SHORTER = 1 - 1e-9


def drop_redundant(program: ChannelProgram) -> tuple[ChannelProgram, Reduction]:
    """Remove each pair (a, b) with some c strictly between: d(a, c) + d(c, b) ≤ d(a, b).

    The sum is compared up to 1e-12 relative, so that metrics in floating point count as geodesic; the channel
    is proven on all pairs afterwards, which makes that harmless. Both legs must be shorter by 1e-9 relative, so
    that no two pairs stand for each other. On graph and Manhattan metrics only the edges
    remain. Takes O(k³) time in O(k²) memory.
    """
    budgets = program.budgets
    redundant = between(budgets, budgets * (1 + SLACK), budgets * SHORTER)
    kept = np.where(redundant, np.inf, budgets)
    np.fill_diagonal(kept, 0.0)
    reduced = program.with_budgets(kept)
    before, after = len(program.pairs[0]), len(reduced.pairs[0])
    return reduced, Reduction("geodesic pairs", True, before, after, "implied by points in between")
