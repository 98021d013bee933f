"""Points that must be reported alike, as classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Partition:
    """Classes of points, numbered from 0, such as those that must be reported alike.

    Attributes
    ----------
    index : (n,) array
        The class of each point.
    """

    index: NDArray[np.int64]

    @classmethod
    def joining(cls, alike: NDArray[np.bool_]) -> Partition:
        """Return the connected components of a relation `(n, n)`, taken in both directions."""
        if alike.all():  # a sparse matrix of all pairs would take many times the memory
            return cls(np.zeros(len(alike), dtype=np.int64))
        if np.count_nonzero(alike) == np.count_nonzero(alike.diagonal()):
            return cls(np.arange(len(alike)))
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        _, index = connected_components(csr_array(alike), directed=False)
        return cls(index.astype(np.int64))

    @property
    def size(self) -> int:
        """The number of classes."""
        return int(self.index.max()) + 1

    @property
    def trivial(self) -> bool:
        """True if every class is a single point."""
        return self.size == len(self.index)

    @property
    def representatives(self) -> NDArray[np.int64]:
        """The first point of each class."""
        return np.unique(self.index, return_index=True)[1]

    def members(self, which: int) -> NDArray[np.int64]:
        """Return the points of one class."""
        return np.flatnonzero(self.index == which)

    def totals(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return sums over the points of each class, `(n, m)` to `(k, m)`."""
        if self.trivial:
            return rows[self.representatives]
        return np.add.reduceat(rows[self._order], self._starts, axis=0)

    def least(self, pairs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the least entry between the points of two classes, `(n, n)` to `(k, k)`."""
        if self.trivial:
            return pairs[np.ix_(self.representatives, self.representatives)]
        sorted_pairs = pairs[np.ix_(self._order, self._order)]
        return np.minimum.reduceat(np.minimum.reduceat(sorted_pairs, self._starts, axis=0), self._starts, axis=1)

    def closest(self, pairs: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the first points a and b, one of each class, with the least entry, `(n, n)` to `(k, k)` twice."""
        # All pairs that attain the least entry of their classes, in the order of the points.
        first, second = np.nonzero(pairs == self.least(pairs)[np.ix_(self.index, self.index)])
        # The first of them for each pair of classes.
        _, chosen = np.unique(self.index[first] * self.size + self.index[second], return_index=True)
        shape = (self.size, self.size)
        return first[chosen].reshape(shape), second[chosen].reshape(shape)

    def expand(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the row of its class for every point, `(k, m)` to `(n, m)`."""
        return rows[self.index]

    @property
    def _order(self) -> NDArray[np.int64]:
        """The points, class by class."""
        return np.argsort(self.index, kind="stable")

    @property
    def _starts(self) -> NDArray[np.int64]:
        """The place in `_order` where each class begins."""
        return np.searchsorted(np.sort(self.index), np.arange(self.size))
