"""The rounds of column generation: solve the master, price the reports, add columns, until value and bound agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.solvers.columns.dual_bound import DualBound
from dxopt.solving.solvers.columns.master import Box, Central
from dxopt.solving.solvers.columns.pool import Pool
from dxopt.solving.solvers.columns.shared import shared_rows
from dxopt.solving.solvers.columns.stabilisation import SMOOTHING, box_around, starting_box

Array = NDArray[np.float64]
Columns = tuple[Array, NDArray[np.int64]]
"""Columns `(k, n)`, and the report each was priced for."""
Progress = Callable[[int, float, float], None]

_FAR = 36.0
"""Budgets count as no larger."""
_KERNELS = (1.0, 0.5)
"""The first columns are kernels e^{-d(z, ·)} to these powers, and the constant."""
_ROUGH = 1e-2
"""Below this gap the master's mixture is a useful channel, and the box is set around the best prices."""
_ROUGHLY = 0.05
"""Accuracy of the master where it is only to give some channel."""
_CENTRAL = 0.5
"""The master is solved to this share of the gap, so that its prices are central (see `master`)."""
_COARSEST = 0.1
_FINEST = 1e-10
_FEW = 0.25
"""New columns for each row, from which on no more prices are tried in a round."""
_PROGRESS = 0.5
"""Enough progress of the bound for a round: what is left of the distance to the value."""
_IDLE = 8
"""Rounds without anything new, in each of which the master is solved ten times finer, until the end."""
_MOST_ROUNDS = 400


class Rounds:
    """Column generation for one program.

    Attributes
    ----------
    dual : DualBound
        The forest, the best bound and its prices.
    pool : Pool
        The columns of the master.
    box : pair of (k,) arrays, or None
        Bounds low and high on the row prices (see `stabilisation`); None is no bounds.
    channel : (n, m) array or None
        The last mixture of the master that may serve as an answer: the incumbent, up to its row sums.
    gap : float
        The relative gap of the last round.
    """

    def __init__(
        self,
        program: ChannelProgram,
        tolerance: float,
        should_stop: Callable[[], bool],
        progress: Progress,
        columns: int,
    ) -> None:
        self.tolerance = tolerance
        self.should_stop = should_stop
        self.progress = progress
        self.offset = program.offset

        # 1. costs report by report, and the factors of the cone
        classes = program.classes or Partition(np.arange(len(program.costs)))
        own = np.ascontiguousarray(program.costs.T)
        capped = np.minimum(program.budgets, _FAR)
        factors = np.exp(-capped)
        np.fill_diagonal(factors, 1.0)

        # 2. the dual side: stars for trees, and a box for prices
        self.shared = shared_rows(program)
        self.dual = DualBound(own, factors, classes, self.shared, should_stop)
        costs = self.dual.costs(self.shared.begin())
        box, centres = starting_box(costs, capped, classes)
        self.box: Box | None = box

        # 3. the primal side: kernels and the constant, each for the report where it costs least
        self.pool = Pool(own, classes, self.shared, columns, self.offset)
        kernels = np.concatenate([*(factors[centres] ** scale for scale in _KERNELS), np.ones((1, len(costs.T)))])
        self.pool.add(kernels, (costs @ kernels.T).argmin(axis=0))

        self.channel: Array | None = None
        self.channel_value = np.inf
        self.gap = 1.0
        self.idle = 0

    def begin(self, prices: Array) -> None:
        """Start from prices of the points `(n,)`: their bound, their columns, and a box around them."""
        self.dual.price(self.dual.classes.totals(prices[:, None])[:, 0])
        self.pool.add(*self.pool.unknown(self.dual.forest.columns, np.arange(len(self.dual.own))))
        value = self.pool.master(_ROUGH, self.should_stop, self._bounds(None)).value
        self.box = self._around(min(1.0, abs(value - self.dual.value) / max(value, 1e-300)))

    def run(self) -> ChannelSolution:
        """Go through the rounds, to the tolerance if possible; return a channel and the multipliers of the bound."""
        status: Status | None = None
        rounds = 0
        for rounds in range(1, _MOST_ROUNDS + 1):
            status = self._round(rounds)
            if status is not None:
                break
        if self.channel is None:
            self.channel = self.pool.mixture(self.pool.master(_ROUGHLY, lambda: False, self._bounds(None)).weights)
        rows, shared = self.dual.split(self.dual.prices)
        dual = self.dual.best_forest.dual(self.dual.spread(rows))
        message = f"columns: {rounds} rounds"
        coupled = self.shared.written(shared)
        return ChannelSolution(status or Status.FEASIBLE, self.channel, dual, rounds, message, coupled)

    def _round(self, number: int) -> Status | None:
        """One round; its status if it was the last one, else None."""
        # 1. the restricted master problem, and the channel of its weights
        accuracy = min(_COARSEST, max(_FINEST, _CENTRAL * 0.1**self.idle * self.gap))
        central = self.pool.master(accuracy, self.should_stop, self._bounds(self.box))
        if self.should_stop():
            return Status.INTERRUPTED
        value = self._take(central)

        # 2. pricing: new columns, and a bound
        new = self._explore(central)
        self.dual.magnitude = max(abs(value + self.offset), 1e-300)
        self.gap = min(1.0, abs(value - self.dual.value) / self.dual.magnitude)
        self.progress(number, value if self.gap < _ROUGH else np.nan, self.dual.value)

        # 3. the end is decided without a box: values with one are no values of channels
        if self.box is None and self.gap < self.tolerance:
            return Status.OPTIMAL
        central, added = self._refine(central)
        count = len(new[0])
        self.idle = self.idle + 1 if self.box is None and not count and not added else 0
        if self.idle == _IDLE:
            return Status.FEASIBLE

        # 4. the next master: columns in and out, and a box that is dropped where it has nothing left to do
        self.pool.purge(central)
        self.pool.add(*new)
        if self.gap < self.tolerance or not count:
            self.box = None
        elif self.box is not None and self.gap < _ROUGH:
            self.box = self._around(self.gap)
        return None

    def _take(self, central: Central) -> float:
        """Keep the master's mixture where it may be an answer; return its value.

        With shared rows it is kept if it is the best one so far, all of them counted; the best value is returned.
        """
        if self.box is None and self.shared.most.size:
            mixture = self.pool.mixture(central.weights)
            value = self.shared.value(mixture)
            if not self.channel_value < value:
                self.channel = mixture
                self.channel_value = value
            return self.channel_value
        if self.box is None or self.gap < _ROUGH:
            self.channel = self.pool.mixture(central.weights)
        return central.value

    def _explore(self, central: Central) -> Columns:
        """Price between the master's prices and the best ones so far; return columns that improve the master.

        Where that yields few columns and little progress, as at small ε, more points on the way are priced.
        """
        prices = self.dual.feasible(central.prices)
        costs = self.dual.costs(self.dual.split(prices)[1])
        before = central.value - self.dual.value
        found: list[Columns] = []
        count = 0
        for share in SMOOTHING:
            # 1. price at smoothed prices; there is nothing to smooth with before the first bound
            known = np.isfinite(self.dual.value)
            self.dual.price((1 - share) * prices + share * self.dual.prices if known else prices)

            # 2. what improves the master must do so at the master's own prices
            better = self.dual.improving(costs, prices)
            found.append(self.pool.unknown(self.dual.forest.columns[better], better))
            count += len(found[-1][1])

            # 3. enough columns, or some and progress, or some and little left to try
            progress = central.value - self.dual.value < _PROGRESS * before
            if not np.isfinite(self.dual.value) or count > len(prices) * _FEW:
                break
            if count and (progress or share < 0.5):
                break
        columns = np.concatenate([columns for columns, _ in found])
        reports = np.concatenate([reports for _, reports in found])
        return columns, reports

    def _refine(self, central: Central) -> tuple[Central, int]:
        """Add the shared rows that the master's mixture breaks most, at a price of 0; return how many."""
        added = self.shared.refine(self.pool.mixture(central.weights)) if self.shared.most.size else 0
        self.dual.extend(added)
        return replace(central, prices=np.append(central.prices, np.zeros(added))), added

    def _around(self, gap: float) -> Box:
        return box_around(self.dual.row_prices, self.dual.floor, gap)

    def _bounds(self, box: Box | None) -> Box:
        """Bounds on all prices; those of rows are free without a box, those of shared rows are 0 or more."""
        free = np.full(len(self.dual.sizes), np.inf)
        low, high = (-free, free) if box is None else box
        most = self.shared.most
        return np.concatenate([low, np.zeros(len(most))]), np.concatenate([high, most])
