"""The columns that the master may mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.solving.solvers.columns.master import Box, Central, solve_master
from dxopt.solving.solvers.columns.shared import Shared

Array = NDArray[np.float64]


class Pool:
    """Columns of the cone `(n, k)`, scaled to a greatest entry of 1, each with a report.

    That is the one where it costs least, unless columns share more than their sums: then where it came from.

    Parameters
    ----------
    costs : (m, n) array
    classes : Partition
        The master couples means over these classes of points.
    shared : Shared
    most : int
        Columns for each of its rows; half of them survive a purge.
    offset : float
        The master's accuracy is relative to its value and this.
    """

    def __init__(self, costs: Array, classes: Partition, shared: Shared, most: int, offset: float) -> None:
        self.costs, self.classes, self.shared, self.each, self.offset = costs, classes, shared, most, offset
        self.columns = np.zeros((costs.shape[1], 0))
        self.coupled = np.zeros((classes.size, 0))
        self.reports = np.zeros(0, dtype=np.int64)
        self.prices = np.zeros(0)

    def add(self, columns: Array, reports: NDArray[np.int64]) -> None:
        """New columns `(k, n)` of any scale, found for some reports."""
        if not len(columns):
            return
        scaled = columns / columns.max(axis=1, keepdims=True)
        costs = self.costs @ scaled.T
        report = reports if self.shared.most.size else costs.argmin(axis=0)
        self.reports = np.concatenate([self.reports, report])
        self.prices = np.concatenate([self.prices, costs[report, np.arange(len(report))]])
        self.columns = np.hstack([self.columns, scaled.T])
        self.coupled = self.columns if self.classes.trivial else np.hstack([self.coupled, self._means(scaled.T)])

    def _means(self, columns: Array) -> Array:
        return self.classes.totals(columns) / np.bincount(self.classes.index)[:, None]

    def master(self, accuracy: float, should_stop: Callable[[], bool], box: Box) -> Central:
        """The best mixture of these columns, with prices in a box."""
        rows, costs, totals = self.coupled, self.prices, np.ones(self.classes.size)
        if self.shared.most.size:
            own, extras = self.shared.entries(self.columns, self.reports), self.shared.extras
            above = np.zeros((len(rows), extras.shape[1]))
            rows = np.vstack([np.hstack([rows, above]), np.hstack([own, extras])])
            costs = np.concatenate([costs, np.ones(extras.shape[1])])
            totals = np.concatenate([totals, self.shared.floors])
        central = solve_master(rows, costs, totals, accuracy, should_stop, box, self.offset)
        return replace(central, weights=central.weights[: len(self.prices)])

    def mixture(self, weights: Array) -> Array:
        """The channel `(n, m)` of a mixture."""
        channel = np.zeros(self.costs.shape)
        np.add.at(channel, self.reports, (self.columns * np.maximum(weights, 0.0)).T)
        return channel.T

    def unknown(self, columns: Array, reports: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
        """Those of some columns `(k, n)` that are not here yet: the master is solved roughly, and may ask again."""
        marks = self._marks((columns / columns.max(axis=1, keepdims=True)).T, reports)
        new = ~np.isin(marks, self._marks(self.columns, self.reports))
        return columns[new], reports[new]

    def _marks(self, columns: Array, reports: NDArray[np.int64]) -> Array:
        """A number for each column `(n, k)`, the same for equal ones; reports count where columns keep theirs."""
        weights = np.random.default_rng(0).random(len(columns))
        return np.round(weights @ columns, 12) + (reports * np.pi if self.shared.most.size else 0.0)

    def purge(self, central: Central) -> None:
        """Where there are too many, keep those that cost least at these prices."""
        most = self.each * (self.classes.size + len(self.shared.floors))
        if len(self.prices) <= most:
            return
        reduced = self.prices - self.coupled.T @ central.rows[: self.classes.size]
        if self.shared.most.size:
            own = self.shared.entries(self.columns, self.reports)
            reduced -= own.T @ central.rows[self.classes.size :]
        reduced[central.weights > 1e-7] = -np.inf
        kept = np.sort(np.argsort(reduced, kind="stable")[: most // 2])
        self.columns, self.reports, self.prices = self.columns[:, kept], self.reports[kept], self.prices[kept]
        self.coupled = self.columns if self.classes.trivial else self.coupled[:, kept]
