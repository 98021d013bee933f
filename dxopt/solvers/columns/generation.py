"""Column generation on the cone: the route to thousands of points.

All columns of a channel lie in one cone and meet only in the row sums, so a channel is a mixture of extreme rays: the
master chooses weights of the rays known, its row prices y say what a new one is worth, and the price of every report
(`pricing`) is an independent problem on trees. Every master solution is a private channel up to its row sums, and
Σ y + Σ_x min(0, least of r_z(x) over z) bounds the optimum from below, where r_z is what multipliers leave of
c_z - y, since K ≤ 1.

Row prices are kept central (an interior point stopped early, averaged with the best y so far) and in a box, because
extreme ones make new columns useless: from 0 to a guess at first, then around the best y so far, narrower as the gap
closes, and none at the end. It always contains prices at which no column is worth more than it costs. While there is
a box, the master's value is no value of a channel, only near one.

Parts that only budgets above 30 join are solved one by one; what that breaks costs e^-30 to repair. Within a part
larger budgets than 36, infinite ones too, count as 36, which costs e^-36.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dxopt.partition import Partition
from dxopt.program import ChannelProgram, ChannelSolution, Dual, Status
from dxopt.solvers.columns.forest import Forest
from dxopt.solvers.columns.master import Box, Central
from dxopt.solvers.columns.memory import MOST_COLUMNS
from dxopt.solvers.columns.pool import Pool

Array = NDArray[np.float64]
Tell = Callable[[int, float, float], None]
FAR = 36.0
BOX = 3.0
ROUGH = 1e-2
WIDTH = 10.0
SHY = 1e-8
"""Prices are lowered by so much of their mean: one a hair too high on a far row makes columns of e^36 there."""
MIXTURES = (0.5, 0.9, 0.7, 0.3, 0.0)
FEW = 0.25
CENTRAL = 0.5
PROGRESS = 0.5
IDLE = 8
MOST_ROUNDS = 400
ROUGHLY = 0.05
RELEVANT_BUDGET = 30.0
PIVOTS = 2000
_SCALES = (1.0, 0.5)


def solve_columns(
    program: ChannelProgram,
    tolerance: float,
    should_stop: Callable[[], bool] = lambda: False,
    tell: Tell = lambda rounds, value, bound: None,
    columns: int = MOST_COLUMNS,
    start: Array | None = None,
) -> ChannelSolution:
    """Solve a channel program to a relative gap.

    Parameters
    ----------
    program : ChannelProgram
        Costs of 0 or more; any budgets.
    tolerance : float
    should_stop : callable
        Asked several times a second or so; the best channel known is returned then.
    tell : callable
        Given (rounds, value, bound) once a round; the value is NaN while the gap is wide.
    columns : int
        For each row at most; see `memory`.
    start : (n,) array, optional
        Row prices to begin with, of a similar program: they give a first bound, columns, and the box.

    Returns
    -------
    ChannelSolution
        A channel, and multipliers that prove the bound.
    """
    islands = Partition.joining(program.budgets <= RELEVANT_BUDGET)
    if islands.size == 1 or program.classes is not None:
        return _solve_part(program, tolerance, should_stop, tell, columns, start)
    channel, duals, rounds, status = np.zeros(program.costs.shape), [], 0, Status.OPTIMAL
    prices = np.zeros(len(channel))
    for which in range(islands.size):
        part = islands.members(which)
        inner = ChannelProgram(program.costs[part], program.budgets[np.ix_(part, part)])
        begin = None if start is None else start[part]
        found = _solve_part(inner, tolerance, should_stop, tell, columns, begin)
        channel[part], rounds = found.channel, rounds + found.iterations
        status = status if found.status is Status.OPTIMAL else found.status
        if found.dual is not None:
            prices[part] = found.dual.prices
            duals.append(replace(found.dual, first=part[found.dual.first], second=part[found.dual.second]))
    names = ("report", "first", "second", "multiplier")
    dual = Dual(prices, *(np.concatenate([getattr(one, name) for one in duals]) for name in names))
    return ChannelSolution(status, channel, dual, rounds, f"columns: {rounds} rounds")


def _solve_part(
    program: ChannelProgram,
    tolerance: float,
    should_stop: Callable[[], bool],
    tell: Tell,
    columns: int,
    start: Array | None,
) -> ChannelSolution:
    """Rows that share no constraint with others but those the repair sees to."""
    free = int(program.costs.sum(axis=0).argmin())
    if len(program.costs) == 1 or not program.costs[:, free].any():
        channel = np.zeros(program.costs.shape)
        channel[:, free] = 1.0
        return ChannelSolution(Status.OPTIMAL, channel, Dual(np.zeros(len(channel))))
    with threadpool_limits(limits=1, user_api="blas"):  # its waiting threads would take the cores from the prices
        generation = _Generation(program, tolerance, should_stop, tell, columns)
        if start is not None:
            generation.begin(start)
        return generation.run()


class _Generation:
    def __init__(
        self,
        program: ChannelProgram,
        tolerance: float,
        should_stop: Callable[[], bool],
        tell: Tell,
        columns: int,
    ) -> None:
        self.tolerance, self.should_stop, self.tell = tolerance, should_stop, tell
        self.classes = program.classes or Partition(np.arange(len(program.costs)))
        self.sizes = np.bincount(self.classes.index)
        self.costs = np.ascontiguousarray(program.costs.T)
        self.factors = np.exp(-np.minimum(program.budgets, FAR))
        np.fill_diagonal(self.factors, 1.0)
        self.forest = self.best = Forest.of(self.costs, self.factors)
        self.pool = Pool(self.costs, self.classes, columns)
        self.bound, self.best_rows = -np.inf, np.zeros(len(self.sizes))
        self.floor = self.best_rows
        self.box, centres = self._guess(program.budgets)
        self.pool.add(np.concatenate([self.factors[centres] ** scale for scale in _SCALES]))
        self.pool.add(np.ones((1, len(self.factors))))

    def _guess(self, budgets: Array) -> tuple[Box, NDArray[np.int64]]:
        """A box for prices from the exponential mechanism with the best remap; a kernel's centre for each class."""
        guess = np.exp(-0.5 * np.minimum(budgets, FAR))
        guess /= guess.sum(axis=1, keepdims=True)
        costs = self.costs @ guess
        best, order = costs.argmin(axis=0), np.lexsort((costs.min(axis=0), self.classes.index))
        _, first = np.unique(self.classes.index[order], return_index=True)
        centres = order[first]
        losses = (guess[:, centres] * self.costs[best[centres]].T) @ self.sizes
        limit = BOX * self.classes.totals(losses[:, None])[:, 0]
        return (np.zeros(len(limit)), np.maximum(limit, 1e-3 * limit.mean())), centres

    def spread(self, rows: Array) -> Array:
        """The prices of points `(n,)`, given those of their classes."""
        return (rows / self.sizes)[self.classes.index]

    def begin(self, prices: Array) -> None:
        """Start from prices of the points `(n,)`."""
        self.priced(self.classes.totals(prices[:, None])[:, 0])
        self.pool.add(self.pool.unknown(self.forest.columns))
        value = self.pool.master(ROUGH, self.should_stop).value
        self.box = self.around(min(1.0, abs(value - self.bound) / max(value, 1e-300)))

    def around(self, gap: float) -> Box:
        """The best prices so far and what is near, the closer the gap."""
        size = np.abs(self.best_rows)
        width = WIDTH * np.sqrt(gap) * np.maximum(size, 0.1 * size.mean())
        return np.minimum(self.best_rows - width, self.floor), self.best_rows + width

    def run(self) -> ChannelSolution:
        gap, rounds, idle, status = 1.0, 0, 0, Status.FEASIBLE
        mixture, box = None, self.box
        for rounds in range(1, MOST_ROUNDS + 1):
            accuracy = min(0.1, max(1e-10, CENTRAL * 0.1**idle * gap))
            central = self.pool.master(accuracy, self.should_stop, box)
            if self.should_stop():
                status = Status.INTERRUPTED
                break
            if box is None or gap < ROUGH:
                mixture = self.pool.mixture(central.weights)
            new = self.explore(central)
            gap = min(1.0, abs(central.value - self.bound) / max(abs(central.value), 1e-300))
            self.tell(rounds, central.value if gap < ROUGH else np.nan, self.bound)
            done = gap < self.tolerance or not len(new)
            if box is None and gap < self.tolerance:
                status = Status.OPTIMAL
                break
            idle = idle + 1 if box is None and not len(new) else 0
            if idle == IDLE:
                break
            self.pool.purge(central)
            self.pool.add(new)
            if box is None or done:
                box = None
            elif gap < ROUGH:
                box = self.around(gap)
        if mixture is None:
            mixture = self.pool.mixture(self.pool.master(ROUGHLY, lambda: False).weights)
        dual = self.best.dual(self.spread(self.best_rows))
        return ChannelSolution(status, mixture, dual, rounds, f"columns: {rounds} rounds")

    def explore(self, central: Central) -> Array:
        """Price between the master's rows and the best ones so far; columns `(k, n)` that improve the master.

        Where that yields few columns and little progress, as at small ε, more points on the way are priced.
        """
        rows, before = central.rows, central.value - self.bound
        found, count = [], 0
        for share in MIXTURES:
            mixed = rows if not np.isfinite(self.bound) else (1 - share) * rows + share * self.best_rows
            self.priced(mixed)
            new = self.pool.unknown(self.forest.columns[self.improving(rows)])
            found.append(new)
            count += len(new)
            progress = central.value - self.bound < PROGRESS * before
            if not np.isfinite(self.bound) or count > len(rows) * FEW or (count and (progress or share < 0.5)):
                break
        return np.concatenate(found)

    def priced(self, rows: Array) -> None:
        """Price every report at (nearly) these row prices."""
        rows = rows - SHY * np.abs(rows).sum() / self.sizes.sum() * self.sizes
        self.forest.price(self.spread(rows), PIVOTS, self.should_stop)
        self.note(rows)

    def improving(self, rows: Array) -> NDArray[np.int64]:
        """Reports whose column is worth more than it costs at some row prices."""
        columns = self.forest.columns
        reduced = np.einsum("zx,zx->z", self.costs - self.spread(rows), columns) / columns.max(axis=1)
        return np.flatnonzero(reduced < -1e-11)

    def note(self, rows: Array) -> None:
        """Take the bound of these row prices if it is better."""
        least = np.zeros(len(rows))
        _, rest = self.forest.multipliers(self.spread(rows))
        np.minimum.at(least, self.classes.index, rest.min(axis=0))
        floor = rows + self.sizes * least
        bound = float(floor.sum())
        if bound > self.bound:
            self.bound, self.best_rows, self.floor, self.best = bound, rows, floor, self.forest.copy()
