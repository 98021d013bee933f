"""The columns that the master may mix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxopt.partition import Partition
from dxopt.solvers.columns.master import Box, Central, solve_master

Array = NDArray[np.float64]


class Pool:
    """Columns of the cone `(n, k)`, scaled to a greatest entry of 1, each with the report where it costs least.

    Parameters
    ----------
    costs : (m, n) array
    classes : Partition
        The master couples means over these classes of points.
    most : int
        Columns for each of its rows; half of them survive a purge.
    """

    def __init__(self, costs: Array, classes: Partition, most: int) -> None:
        self.costs, self.classes, self.most = costs, classes, most * classes.size
        self.columns = np.zeros((costs.shape[1], 0))
        self.coupled = np.zeros((classes.size, 0))
        self.reports = np.zeros(0, dtype=np.int64)
        self.prices = np.zeros(0)

    def add(self, columns: Array) -> None:
        """New columns `(k, n)` of any scale."""
        if not len(columns):
            return
        scaled = columns / columns.max(axis=1, keepdims=True)
        costs = self.costs @ scaled.T
        report = costs.argmin(axis=0)
        self.reports = np.concatenate([self.reports, report])
        self.prices = np.concatenate([self.prices, costs[report, np.arange(len(report))]])
        self.columns = np.hstack([self.columns, scaled.T])
        self.coupled = self.columns if self.classes.trivial else np.hstack([self.coupled, self._means(scaled.T)])

    def _means(self, columns: Array) -> Array:
        return self.classes.totals(columns) / np.bincount(self.classes.index)[:, None]

    def master(self, accuracy: float, should_stop: Callable[[], bool], box: Box | None = None) -> Central:
        """The best mixture of these columns."""
        return solve_master(self.coupled, self.prices, accuracy, should_stop, box)

    def mixture(self, weights: Array) -> Array:
        """The channel `(n, m)` of a mixture."""
        channel = np.zeros(self.costs.shape)
        np.add.at(channel, self.reports, (self.columns * np.maximum(weights, 0.0)).T)
        return channel.T

    def unknown(self, columns: Array) -> Array:
        """Those of some columns `(k, n)` that are not here yet: the master is solved roughly, and may ask again."""
        marks = self._marks((columns / columns.max(axis=1, keepdims=True)).T)
        return columns[~np.isin(marks, self._marks(self.columns))]

    def _marks(self, columns: Array) -> Array:
        """A number for each column `(n, k)`, the same for equal ones."""
        weights = np.random.default_rng(0).random(len(columns))
        return np.round(weights @ columns, 12)

    def purge(self, central: Central) -> None:
        """Where there are too many, keep those that cost least at these prices."""
        if len(self.prices) <= self.most:
            return
        reduced = self.prices - self.coupled.T @ central.rows
        reduced[central.weights > 1e-7] = -np.inf
        kept = np.sort(np.argsort(reduced, kind="stable")[: self.most // 2])
        self.columns, self.reports, self.prices = self.columns[:, kept], self.reports[kept], self.prices[kept]
        self.coupled = self.columns if self.classes.trivial else self.coupled[:, kept]
