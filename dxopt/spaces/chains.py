"""Tight chains: from one point to another by steps of some kind, no longer than the distance (CABP13 §2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EQUAL = 1e-9  # distances that differ by no more than this, relative, count as equal


@dataclass(frozen=True, eq=False)
class TightChains:
    """Tight chains between points.

    `missing` `(k, 2)` are the pairs at a finite distance above 0 that no tight chain joins. For each pair, `_tight`
    says whether the shortest chain is tight, and `_before` has the point before the second one on it, both `(n, n)`.
    """

    missing: NDArray[np.int64]
    _tight: NDArray[np.bool_]
    _before: NDArray[np.int32]

    @classmethod
    def of(cls, distances: NDArray[np.float64], allowed: NDArray[np.bool_]) -> TightChains:
        """Find the pairs without a chain, given distances and the mask of pairs `allowed` as steps, both `(n, n)`."""
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import shortest_path

        apart = np.isfinite(distances) & (distances > 0)
        first, second = np.nonzero(allowed & apart)
        ends = first.astype(np.int32), second.astype(np.int32)
        steps = csr_array((distances[first, second], ends), shape=distances.shape)
        # a chain is tight if its steps add up to the distance of its ends, so the shortest one is if any is
        lengths, before = shortest_path(steps, return_predecessors=True)
        tight = lengths <= distances * (1 + EQUAL)
        return cls(np.argwhere(apart & ~tight), tight, before)

    @property
    def everywhere(self) -> bool:
        """True if chains join all pairs at a finite distance above 0."""
        return not len(self.missing)

    def chain(self, first: int, last: int) -> list[int]:
        """List the points of a tight chain of steps; empty where there is none."""
        if not self._tight[first, last]:
            return []
        # from the end back to the start; -9999 is before a point that cannot be reached
        chain = [last]
        while chain[-1] != first:
            before = int(self._before[first, chain[-1]])
            if before < 0:
                return []
            chain.append(before)
        return chain[::-1]
