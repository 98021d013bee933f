"""Drop the pairs whose constraint follows from a third point between them. Exact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dxopt.numerics.tropical import implied
from dxopt.proofs.applied import AppliedReduction
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.contract import Reduced


@dataclass(frozen=True)
class GeodesicPairs:
    """Remove each pair (a, b) with some c strictly between: d(a, c) + d(c, b) ≤ d(a, b).

    The sum is compared up to 1e-12 relative, so that metrics in floating point count as geodesic; the channel
    is proven on all pairs afterwards, which makes that harmless. On graph and Manhattan metrics only the edges
    remain. Takes O(k³) time in O(k²) memory.
    """

    def apply(self, whole: ChannelProgram) -> Reduced[ChannelProgram] | str:
        kept = np.where(implied(whole.budgets), np.inf, whole.budgets)
        np.fill_diagonal(kept, 0.0)
        smaller = whole.with_budgets(kept)
        before = len(whole.pairs[0])
        after = len(smaller.pairs[0])
        if before == after:
            return "no point lies between two others"
        record = AppliedReduction("geodesic pairs", True, before, after, "implied by points in between")
        return Reduced(smaller, lambda solution: solution, (record,))
