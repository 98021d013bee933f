"""Rows of close points, replaced by their differences, so that the master is well conditioned.

In every column of the cone the entries of two points a budget d apart differ by a factor of e^d at most. So rows of
close points in the master are nearly dependent: what little tells them apart drowns in the ridge of its matrix, and
the prices of both become huge. With a parent p for a point x, and E = e^{-d(x, p)}, the row of x is replaced by

    Σ_j (v_j(x) - v_j(p)) / (1 - E) θ_j = 0,

whose coefficients are between -1 / E and 1. Points are taken in order of their distance to those before them, the
farthest first, and the parent is the nearest one before. The price of such a row is 1 - E times the sum of the prices
of x and of all below it (those that have x for a parent, and so on): so a box on it is the wider for the price of x,
the closer the two points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import spsolve

from dxopt.numerics.partition import Partition

Array = NDArray[np.float64]
_CLOSE = 0.97
"""Points are close from this E on. With a smaller one, boxes would hold prices too loosely."""


@dataclass(frozen=True, eq=False)
class Differences:
    """A change of the rows of the master: rows and totals are multiplied by T, and its prices y are T' those found.

    Attributes
    ----------
    matrix : (r, r) sparse array
        T, triangular in the order in which points are taken, so that it can be inverted.
    """

    matrix: sparse.csr_array

    @classmethod
    def of(cls, factors: Array, classes: Partition) -> Differences:
        """Combine the rows of classes of points with the factors E = e^{-d} `(n, n)`, in whichever direction."""
        # 1. how close two classes are: as close as two of their points
        one_way = factors
        if not classes.trivial:
            order = np.argsort(classes.index, kind="stable")
            starts = np.searchsorted(classes.index[order], np.arange(classes.size))
            one_way = np.maximum.reduceat(factors[np.ix_(order, order)], starts, axis=0)
            one_way = np.maximum.reduceat(one_way, starts, axis=1)

        # 2. the farthest of those left is next, until none is left
        size = len(one_way)
        parent = np.zeros(size, dtype=np.int64)
        nearest = np.maximum(one_way[0], one_way[:, 0])
        left = np.ones(size, dtype=bool)
        left[0] = False
        for _ in range(size - 1):
            x = int(np.where(left, nearest, np.inf).argmin())
            left[x] = False
            close = np.maximum(one_way[x], one_way[:, x])
            nearer = left & (close > nearest)
            nearest[nearer] = close[nearer]
            parent[nearer] = x

        # 3. those close to their parent; where the two are as one (E = 1), their rows are the same and stay
        own = np.flatnonzero((nearest > _CLOSE) & (nearest < 1.0))
        own = own[own > 0]
        scale = np.ones(size)
        scale[own] = 1 / (1 - nearest[own])
        every = np.arange(size)
        entries = np.concatenate([scale, -scale[own]])
        there = (np.concatenate([every, own]), np.concatenate([every, parent[own]]))
        return cls(sparse.csr_array((entries, there), shape=(size, size)))

    def combined(self, prices: Array) -> Array:
        """Return the prices of the combined rows `(r,)` that give these prices of the rows."""
        return np.asarray(spsolve(sparse.csc_array(self.matrix.T), prices))

    def beside(self, rows: int) -> sparse.csr_array:
        """T, with so many more rows that stay as they are."""
        return sparse.csr_array(sparse.block_diag((self.matrix, sparse.eye_array(rows))))
