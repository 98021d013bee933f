"""The pool: the columns of the restricted master problem, with what they cost there."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dxopt.solving.solvers.columns.clusters import Clusters
from dxopt.solving.solvers.columns.coupling_rows import ConeProgram
from dxopt.solving.solvers.columns.explicit_blocks import Rich
from dxopt.solving.solvers.columns.master import Box, Central, solve_master
from dxopt.solving.solvers.columns.stabilisation import Differences

Array = NDArray[np.float64]
_ROOM = 1.5
"""Growth factor of the memory of columns."""


class Stack:
    """A growing list of columns `(n, k)`, with spare memory so that few additions copy; `size` is n."""

    def __init__(self, size: int) -> None:
        self._rows = np.empty((0, size))
        self._count = 0

    @property
    def columns(self) -> Array:
        """All of them, `(n, k)`, one after another in memory."""
        return self._rows[: self._count].T

    def add(self, columns: Array) -> None:
        """Add columns `(k, n)`."""
        count = self._count + len(columns)
        if count > len(self._rows):
            rows = np.empty((int(_ROOM * count), self._rows.shape[1]))
            rows[: self._count] = self._rows[: self._count]
            self._rows = rows
        self._rows[self._count : count] = columns
        self._count = count

    def kept(self, which: NDArray[np.int64]) -> Stack:
        """Return some of the columns, in memory of their own."""
        other = Stack(self._rows.shape[1])
        other.add(self._rows[which])
        return other


_USED = 1e-7
"""Columns of more weight survive a purge whatever they cost."""
_DIGITS = 12
_SYSTEM = 5
"""Columns for each row that take as much memory as the system of the master does with a block."""
_ACTIVE = 4.0
"""Columns for each row that boxed masters begin with."""
_MORE = 1.25
"""By this factor they become more where a master without the others found nothing new."""


class Pool:
    """Columns of the cone `(n, k)`, scaled to a greatest entry of 1, each with a report.

    That is the one where it costs least, unless columns share more rows than their sums: then the report it was
    priced for. The first column added always stays; let it be the constant, which alone is a channel.

    Parameters
    ----------
    program : ConeProgram
    most : int
        Columns for each row of the master; half of them survive a purge.

    Attributes
    ----------
    rich : Rich
        The reports that are blocks of the master; after each master their columns are in the pool as well.
    weights : (k,) array
        Those of the last master; 0 for columns that were added since.
    prices : (r,) array or None
        Those of the last master.
    """

    def __init__(self, program: ConeProgram, most: int, clusters: Clusters | None = None) -> None:
        self.program = program
        self.classes = program.classes
        self.shared = program.shared
        self.rich = Rich(program)
        self.most_per_row = most
        if clusters is None:
            self.separate()
        else:
            self.differences = Differences.merged(program.factors, clusters)
        self.active = _ACTIVE
        self.prices: Array | None = None
        self._columns = Stack(len(program.factors))
        self._means = self._columns if self.classes.trivial else Stack(self.classes.size)
        self.reports = np.zeros(0, dtype=np.int64)
        self.column_costs = np.zeros(0)
        self.weights = np.zeros(0)

    def separate(self) -> None:
        """Let the master have all rows."""
        self.differences = Differences.of(self.program.factors, self.classes)

    def add(self, columns: Array, reports: NDArray[np.int64]) -> None:
        """Add columns `(k, n)` of any scale, found for some reports."""
        if not len(columns):
            return
        scaled = columns / columns.max(axis=1, keepdims=True)
        costs = self.program.costs @ scaled.T
        report = reports if self.shared.most.size else costs.argmin(axis=0)
        self.reports = np.concatenate([self.reports, report])
        self.column_costs = np.concatenate([self.column_costs, costs[report, np.arange(len(report))]])
        self.weights = np.concatenate([self.weights, np.zeros(len(report))])
        self._columns.add(scaled)
        if not self.classes.trivial:
            self._means.add((self.classes.totals(scaled.T) / self.program.sizes[:, None]).T)

    @property
    def clusters(self) -> Clusters | None:
        """The clusters by which rows are merged; None where they are not."""
        return self.differences.clusters

    def used(self) -> NDArray[np.int64]:
        """Return the positions of the columns of any weight."""
        return np.flatnonzero(self.weights > _USED)

    @property
    def rows(self) -> int:
        """The number of rows of the master."""
        return len(self.differences) + len(self.shared.floors)

    @property
    def columns(self) -> Array:
        """The columns `(n, k)`."""
        return self._columns.columns

    @property
    def means(self) -> Array:
        """Their means over the classes."""
        return self._means.columns

    def master(
        self, accuracy: float, should_stop: Callable[[], bool], box: Box, best: Array | None = None
    ) -> Central:
        """Solve the restricted master problem over these columns, with prices in a box.

        With `best`, the prices `(r,)` of the best bound, and a box, only the columns take part that may matter near
        these prices and those of the last master; the prices found may be too high for others, as for new columns.

        Its rows say that means over each class sum to 1. Shared rows, where there are any, follow with their extra
        variables t, which cost e:

            min c·θ + e·t  over  V θ = 1,  B θ + G t = h,  θ, t ≥ 0.

        They are inequalities, B θ + G t ≥ h. The box makes them so: prices of 0 or more allow -e_x at no cost.
        """
        # 1. the rows of the columns that take part
        blocks = self.rich.reports
        used = self._choose_columns(blocks, box, best)
        rows = self.means[:, used]
        costs = self.column_costs[used]
        count = len(costs)
        totals = np.ones(self.classes.size)
        if self.shared.most.size:
            own = self.shared.entries(self.columns[:, used], self.reports[used])
            extras = self.shared.extras
            above = np.zeros((len(rows), extras.shape[1]))
            rows = np.vstack([np.hstack([rows, above]), np.hstack([own, extras])])
            costs = np.concatenate([costs, self.shared.expense])
            totals = np.concatenate([totals, self.shared.floors])

        # 2. the solution, of combined rows
        change = self.differences.padded(len(self.shared.floors))
        central = solve_master(
            change @ rows,
            costs,
            change @ totals,
            accuracy,
            should_stop,
            box,
            self.program.offset,
            self.rich.blocks().combined(change),
        )
        central = replace(central, prices=change.T @ central.prices)
        self.prices = central.prices

        # 3. the weights of the columns; those of the blocks join the pool too, at its end, where `add` gives weight 0
        self.weights = np.zeros(len(self.column_costs))
        self.weights[used] = central.weights[:count]
        columns = self.rich.columns(central.block)
        there = columns.max(axis=1) > 0
        self.add(columns[there], blocks[there])
        self.weights = np.concatenate([self.weights[: len(self.weights) - there.sum()], columns[there].max(axis=1)])
        return replace(central, weights=self.weights)

    def _choose_columns(self, blocks: NDArray[np.int64], box: Box, best: Array | None) -> NDArray[np.int64]:
        """Return the positions of a master's columns: none of blocks; with a box, few, as a small master is fast."""
        there = np.flatnonzero(~np.isin(self.reports, blocks))
        most = int(self.active * self.rows)
        if best is None or self.prices is None or len(there) <= most or not np.isfinite(box[0]).any():
            return there
        # those that would improve the last master, and the best at the prices of the bound
        taking = self._reduced_costs(self.prices) < 0
        taking[0] = True  # the constant, which alone is a channel
        taking[there[np.argsort(self._reduced_costs(best)[there], kind="stable")[:most]]] = True
        return there[taking[there]]

    def widen(self) -> bool:
        """Let more columns take part in boxed masters; return whether some were left out so far."""
        before = self.active * self.rows
        self.active *= _MORE
        return len(self.column_costs) > before

    def enrich(self) -> None:
        """Let a rich report become a block (see `Rich`); the memory of its system is taken from the columns."""
        if self.most_per_row > 2 * _SYSTEM and self.rich.choose(self.columns, self.reports, self.weights):
            self.most_per_row -= _SYSTEM

    def mixture(self, weights: Array) -> Array:
        """Return the channel `(n, m)` in which every column has a weight `(k,)` and goes to its report."""
        to_reports = sparse.coo_array(
            (np.maximum(weights, 0.0), (self.reports, np.arange(len(weights)))),
            shape=(len(self.program.costs), len(weights)),
        )
        return (to_reports.tocsr() @ self.columns.T).T

    def unknown(self, columns: Array, reports: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
        """Return those of some columns `(k, n)` that are not in the pool, with their reports.

        As the master is solved roughly, pricing may find a column again.
        """
        marks = self._fingerprints((columns / columns.max(axis=1, keepdims=True)).T, reports)
        new = ~np.isin(marks, self._fingerprints(self.columns, self.reports))
        return columns[new], reports[new]

    def _fingerprints(self, columns: Array, reports: NDArray[np.int64]) -> Array:
        """Return a number for each of some columns `(n, k)`, by which equal ones are found.

        With shared rows the report counts as well: then a column stays with the report it was priced for.
        """
        weights = np.random.default_rng(0).random(len(columns))
        return np.round(weights @ columns, _DIGITS) + (reports * np.pi if self.shared.most.size else 0.0)

    def _reduced_costs(self, prices: Array) -> Array:
        """Return the reduced costs of all columns at prices `(r,)`; shared rows that joined later count as free."""
        reduced = self.column_costs - self.means.T @ prices[: self.classes.size]
        if self.shared.most.size:
            shared = np.zeros(len(self.shared.floors))
            known = prices[self.classes.size :]
            shared[: len(known)] = known
            reduced -= self.shared.entries(self.columns, self.reports).T @ shared
        return reduced

    def purge(self, prices: Array) -> None:
        """Drop columns where there are too many: half the limit is kept, those in use and of least reduced cost."""
        most = self.most_per_row * self.rows
        if len(self.column_costs) > most:
            self._keep_columns(self._ranked(most // 2, prices))

    def best_columns(self, count: int, prices: Array) -> Pool:
        """Return a copy without blocks that has the best columns, `count` at most, to make an incumbent of."""
        other = copy(self)
        other.rich = self.rich.none()
        if self.clusters is not None:
            other.separate()
        other._keep_columns(self._ranked(count, prices))
        return other

    def _ranked(self, count: int, prices: Array) -> NDArray[np.int64]:
        """Return the positions of `count` columns: the first, those most in use, then the best at these prices."""
        reduced = self._reduced_costs(prices)
        used = self.weights > _USED
        reduced[used] = reduced.min() - self.weights[used]  # before all others, the more weight the earlier
        reduced[0] = -np.inf
        return np.sort(np.argsort(reduced, kind="stable")[:count])

    def _keep_columns(self, kept: NDArray[np.int64]) -> None:
        """Keep these columns alone, in new memory, so that the old is freed."""
        self._columns = self._columns.kept(kept)
        self._means = self._columns if self.classes.trivial else self._means.kept(kept)
        self.reports = self.reports[kept]
        self.column_costs = self.column_costs[kept]
        self.weights = self.weights[kept]
