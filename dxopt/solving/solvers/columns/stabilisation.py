"""Stabilisation: what keeps row prices from jumping between rounds.

In every column of the cone the entries of two points a budget d apart differ by a factor of e^d at most. So rows of
close points in the master are nearly dependent: what little tells them apart drowns in the ridge of its matrix, and
the prices of both become huge. With a parent p for a point x, and E = e^{-d(x, p)}, the row of x is replaced by

    Σ_j (v_j(x) - v_j(p)) / (1 - E) θ_j = 0,

whose coefficients are between -1 / E and 1. Points are taken in order of their distance to those before them, the
farthest first, and the parent is the nearest one before. The price of such a row is 1 - E times the sum of the prices
of x and of all below it (those that have x for a parent, and so on): so a box on it is the wider for the price of x,
the closer the two points.

While few columns are known, the master's prices are far from the optimal ones and jump from round to round, and most
columns priced at them are never used. Besides stopping the master early (`master`) two devices keep prices near:

- **A box**: bounds low ≤ y ≤ high on the row prices y, or those of differences of rows (`Differences`), at first
  from 0 to a guess, then around the best prices so far, narrower as the gap closes, and none at the end. It always
  contains feasible prices, those at which no column is worth more than it costs: 0 at first, where costs are 0 or
  more, later the floor. So the dual of the boxed master is feasible, and the master is bounded. A bound that binds
  lets rows miss their sums (see `master`): while there is a box, the master's value is no value of a channel, only
  near one. The rounds may end before the box does, where an incumbent is good enough.
- **Smoothing**: reports are priced between the master's prices and those that gave the best bound (Wentges 1997).

The best prices are those that gave the best bound so far. The gap is that of value and bound, relative to the value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import spsolve

from dxopt.numerics.partition import Partition
from dxopt.solving.solvers.columns.clusters import Clusters
from dxopt.solving.solvers.columns.master import Box

Array = NDArray[np.float64]
_CLOSE = 0.97
"""Points are close from this E on. With a smaller one, boxes would hold prices too loosely."""


@dataclass(frozen=True, eq=False)
class Differences:
    """A change of the rows of the master: rows and totals are multiplied by T, the prices y are T' times those found.

    T, the matrix `(r, r)`, is triangular in the order in which points are taken, so that it can be inverted. Where
    rows are merged, they become the means of clusters before.
    """

    matrix: sparse.csr_array
    clusters: Clusters | None = None

    @classmethod
    def of(cls, factors: Array, classes: Partition) -> Differences:
        """Return the change that replaces rows of close classes by differences, given factors E = e^{-d} `(n, n)`."""
        # 1. how close two classes are: as close as two of their points
        one_way = factors if classes.trivial else -classes.least(-factors)

        # 2. the farthest of those left is next, until none is left; `nearest` is E to the nearest taken, small if far
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
        own = own[own > 0]  # the first one has no parent
        scale = np.ones(size)
        scale[own] = 1 / (1 - nearest[own])
        every = np.arange(size)
        entries = np.concatenate([scale, -scale[own]])
        there = (np.concatenate([every, own]), np.concatenate([every, parent[own]]))
        return cls(sparse.csr_array((entries, there), shape=(size, size)))

    @classmethod
    def merged(cls, factors: Array, clusters: Clusters) -> Differences:
        """Return the change that merges rows, and replaces those of close seeds by differences."""
        seeds = clusters.seeds
        return replace(cls.of(factors[np.ix_(seeds, seeds)], Partition(np.arange(len(seeds)))), clusters=clusters)

    def __len__(self) -> int:
        return int(self.matrix.shape[0])  # pyright: ignore[reportOptionalSubscript]

    def combined(self, prices: Array) -> Array:
        """Return the prices of the combined rows `(r,)` that give these prices of the rows.

        Where rows are merged, they give no higher ones than these, so that feasible prices stay so.
        """
        rows = prices if self.clusters is None else self.clusters.below(prices)
        return np.asarray(spsolve(sparse.csc_array(self.matrix.T), rows))

    def padded(self, rows: int) -> sparse.csr_array:
        """Return T with so many more rows, the shared ones, which it leaves as they are."""
        own = self.matrix if self.clusters is None else self.matrix @ self.clusters.means
        return sparse.csr_array(sparse.block_diag((own, sparse.eye_array(rows))))


SMOOTHING = (0.5, 0.9, 0.7, 0.3, 0.0)
"""Shares of the best prices so far in those that are priced, one after another; 0 is the master's prices alone."""
_FIRST_WIDTH = 10.0
"""The first box ends at this times what each row costs under the exponential mechanism."""
FIRST_PRICES = 0.04
"""The first prices, in parts of that end: the optimal ones sum to about half of the exponential mechanism's loss."""
_LEAST_LIMIT = 1e-3
"""No row's first limit is less than this times the mean limit, as a row may cost nothing under that mechanism."""
_WIDTH = 10.0
"""Later boxes reach this times the root of the gap to both sides, relative to the price."""
_MERGED_WIDTH = 2.0
"""The same where rows are merged, whose prices were carried from a coarse program."""
_LEAST_SIZE = 0.1
"""There prices count as no less than this times their mean size, as a price may be near 0."""


def starting_limit(costs: Array, capped: Array, classes: Partition) -> tuple[Array, NDArray[np.int64]]:
    """Return the limits of the first box, from the exponential mechanism with the best remap, and a centre each.

    Of costs `(m, n)` and finite budgets `(n, n)` the limits of the row prices are `(k,)`, one for each class; the box
    begins at 0. The centre of a class is the one of its points whose kernel column costs least.
    """
    # 1. the exponential mechanism, and the best report for each of its outputs
    guess = np.exp(-0.5 * capped)
    guess /= guess.sum(axis=1, keepdims=True)
    expected = costs @ guess
    best = expected.argmin(axis=0)

    # 2. the cheapest output of each class
    order = np.lexsort((expected.min(axis=0), classes.index))
    _, first = np.unique(classes.index[order], return_index=True)
    centres = order[first]

    # 3. what each row costs then; prices at the optimum were between 0.23 and 3.5 times that
    sizes = np.bincount(classes.index)
    losses = (guess[:, centres] * costs[best[centres]].T) @ sizes
    limit = _FIRST_WIDTH * classes.totals(losses[:, None])[:, 0]
    return np.maximum(limit, _LEAST_LIMIT * limit.mean()), centres


def box_around(prices: Array, floor: Array, gap: float, merged: bool = False) -> Box:
    """Return a box around the best prices so far of the combined rows `(k,)`, the closer the gap the narrower.

    `floor` is feasible prices (see `dual_bound`) of these, which the box must contain.
    """
    size = np.abs(prices)
    width = (_MERGED_WIDTH if merged else _WIDTH) * np.sqrt(gap) * np.maximum(size, _LEAST_SIZE * size.mean())
    return np.minimum(prices - width, floor), np.maximum(prices + width, floor)
