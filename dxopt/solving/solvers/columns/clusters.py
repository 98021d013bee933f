"""Clusters of close points, by which a program is solved roughly at first: on few points, then in few rows.

Entries of a column at points a budget d apart differ by a factor of e^d at most. So where budgets in a cluster are
well below 1, the optimal price of a row is nearly the row's share of its cluster's costs times a number that is the
same for the whole cluster. Hence two programs whose prices are close to those that are sought, and cheap:

- **The coarse program** has the seeds of the clusters for its points, and of the reports those that are best for some
  cluster. A row bears the costs of its cluster. It has clusters of its own, and so on, to a few hundred points. Its
  prices are carried to all points by shares, its columns by the least entries that the cone allows beside them.
- **Merged rows**: all points and reports, with one row of the master for each cluster, the mean of its rows by their
  shares w: Σ_j Σ_x w_x v_j(x) θ_j = 1. That is a relaxation, whose prices are y_x = w_x Y for the price Y of the
  cluster, so that pricing proves bounds as ever. Its mixtures are no channels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dxopt.numerics.farthest_first import farthest_first
from dxopt.solving.programs.program import ChannelProgram

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
MERGED = 0.45
"""Clusters for each point, at most."""
_FEWEST, _CLOSE, _WIDEST = 300, 0.25, 1.5
"""Fewer clusters do, from the first number on, if no point is farther from its seed than the second, a budget. With a
point farther away than the third there are none."""
_LEAST = 1e-9
"""No row's share of the costs counts as less than this times the mean."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of points, each around a seed.

    Attributes
    ----------
    seeds : (k,) array
        The points around which they are, in increasing order.
    index : (n,) array
        The cluster of each point.
    shares : (n,) array
        The share of each point in the costs of its cluster.
    """

    seeds: Indices
    index: Indices
    shares: Array

    @classmethod
    def of(cls, costs: Array, budgets: Array) -> Clusters | None:
        """Return clusters of points, given costs `(m, n)` and budgets `(n, n)`; None where points are far apart."""
        seeds, index, radius = farthest_first(budgets, MERGED * len(budgets), _FEWEST, _CLOSE)
        if radius > _WIDEST:
            return None

        # in the order of the points, in which close ones are close by
        order = np.argsort(seeds)
        index = np.argsort(order)[index]
        sizes = costs.sum(axis=0)
        sizes = np.maximum(sizes, _LEAST * sizes.mean())
        return cls(seeds[order], index, sizes / np.bincount(index, sizes)[index])

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def means(self) -> sparse.csr_array:
        """The matrix `(k, n)` that takes rows to the means of clusters."""
        return sparse.csr_array((self.shares, (self.index, np.arange(len(self.index)))))

    def spread(self, prices: Array) -> Array:
        """Return the prices of points `(n,)` for those of clusters `(k,)`."""
        return self.shares * prices[self.index]

    def below(self, prices: Array) -> Array:
        """Return the highest prices of clusters `(k,)` whose spread is nowhere above these of points `(n,)`."""
        least = np.full(len(self), np.inf)
        np.minimum.at(least, self.index, prices / self.shares)
        return least

    def coarse(self, costs: Array, budgets: Array) -> tuple[ChannelProgram, Indices]:
        """Return the coarse program for costs `(m, n)` and budgets `(n, n)`, and which reports it has."""
        order = np.argsort(self.index, kind="stable")
        starts = np.searchsorted(self.index[order], np.arange(len(self)))
        summed = np.add.reduceat(costs[:, order], starts, axis=1).T
        reports = np.arange(len(costs))
        if len(costs) > len(self):
            reports = np.unique(summed.argmin(axis=1))
        return ChannelProgram(summed[:, reports], budgets[np.ix_(self.seeds, self.seeds)]), reports
