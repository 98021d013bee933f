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

from dxopt.numerics.partition import Partition
from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.solvers.columns.forest import Forest
from dxopt.solving.solvers.columns.master import Box, Central
from dxopt.solving.solvers.columns.memory import MOST_COLUMNS
from dxopt.solving.solvers.columns.pool import Pool
from dxopt.solving.solvers.columns.shared import shared_rows

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
    if islands.size == 1 or program.classes is not None or program.coupling is not None:
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
    if program.coupling is None and (len(program.costs) == 1 or not program.costs[:, free].any()):
        channel = np.zeros(program.costs.shape)
        channel[:, free] = 1.0
        return ChannelSolution(Status.OPTIMAL, channel, Dual(np.zeros(len(channel))))
    with threadpool_limits(limits=1, user_api="blas"):  # its waiting threads would take the cores from the prices
        generation = _Generation(program, tolerance, should_stop, tell, columns)
        if start is not None:
            generation.begin(start)
        return generation.run()


class _Generation:
    """Prices `(k + r,)` are those of k rows, one for each class of points, and of r shared ones."""

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
        self.shared, self.offset, self.size = shared_rows(program), program.offset, np.inf
        self.own = np.ascontiguousarray(program.costs.T)
        self.factors = np.exp(-np.minimum(program.budgets, FAR))
        np.fill_diagonal(self.factors, 1.0)
        costs = self.costs(self.shared.begin())
        self.forest = self.best = Forest.of(costs, self.factors)
        self.pool = Pool(self.own, self.classes, self.shared, columns, self.offset)
        self.bound, self.best_prices = -np.inf, np.concatenate([np.zeros(len(self.sizes)), self.shared.begin()])
        self.floor = self.best_prices[: len(self.sizes)]
        self.box, centres = self._guess(costs, program.budgets)
        kernels = np.concatenate([*(self.factors[centres] ** scale for scale in _SCALES), np.ones((1, len(costs.T)))])
        self.pool.add(kernels, (costs @ kernels.T).argmin(axis=0))

    def _guess(self, costs: Array, budgets: Array) -> tuple[Box, NDArray[np.int64]]:
        """A box for prices from the exponential mechanism with the best remap; a kernel's centre for each class."""
        guess = np.exp(-0.5 * np.minimum(budgets, FAR))
        guess /= guess.sum(axis=1, keepdims=True)
        expected = costs @ guess
        best, order = expected.argmin(axis=0), np.lexsort((expected.min(axis=0), self.classes.index))
        _, first = np.unique(self.classes.index[order], return_index=True)
        centres = order[first]
        losses = (guess[:, centres] * costs[best[centres]].T) @ self.sizes
        limit = BOX * self.classes.totals(losses[:, None])[:, 0]
        return (np.zeros(len(limit)), np.maximum(limit, 1e-3 * limit.mean())), centres

    def costs(self, shared: Array) -> Array:
        """What reports cost in each row, `(m, n)`, at prices of the shared rows."""
        return self.own + self.shared.costs(shared)

    def spread(self, rows: Array) -> Array:
        """The prices of points `(n,)`, given those of their classes."""
        return (rows / self.sizes)[self.classes.index]

    def boxed(self, box: Box | None) -> Box:
        """Bounds on all prices; those of rows are free without a box."""
        free = np.full(len(self.sizes), np.inf)
        low, high = (-free, free) if box is None else box
        most = self.shared.most
        return np.concatenate([low, np.zeros(len(most))]), np.concatenate([high, most])

    def begin(self, prices: Array) -> None:
        """Start from prices of the points `(n,)`."""
        self.priced(self.classes.totals(prices[:, None])[:, 0])
        self.pool.add(*self.pool.unknown(self.forest.columns, np.arange(len(self.own))))
        value = self.pool.master(ROUGH, self.should_stop, self.boxed(None)).value
        self.box = self.around(min(1.0, abs(value - self.bound) / max(value, 1e-300)))

    def around(self, gap: float) -> Box:
        """The best prices so far and what is near, the closer the gap."""
        best = self.best_prices[: len(self.sizes)]
        size = np.abs(best)
        width = WIDTH * np.sqrt(gap) * np.maximum(size, 0.1 * size.mean())
        return np.minimum(best - width, self.floor), best + width

    def run(self) -> ChannelSolution:
        gap, rounds, idle, status = 1.0, 0, 0, Status.FEASIBLE
        known, mixture, box = None, None, self.box
        for rounds in range(1, MOST_ROUNDS + 1):
            accuracy = min(0.1, max(1e-10, CENTRAL * 0.1**idle * gap))
            central = self.pool.master(accuracy, self.should_stop, self.boxed(box))
            if self.should_stop():
                status = Status.INTERRUPTED
                break
            value = central.value
            if box is None and self.shared.most.size:
                known = mixture, value = self.better(known, central)
            elif box is None or gap < ROUGH:
                mixture = self.pool.mixture(central.weights)
            new = self.explore(central)
            self.size = max(abs(value + self.offset), 1e-300)
            gap = min(1.0, abs(value - self.bound) / self.size)
            self.tell(rounds, value if gap < ROUGH else np.nan, self.bound)
            done = gap < self.tolerance or not len(new[0])
            if box is None and gap < self.tolerance:
                status = Status.OPTIMAL
                break
            central, added = self.refine(central)
            idle = idle + 1 if box is None and not len(new[0]) and not added else 0
            if idle == IDLE:
                break
            self.pool.purge(central)
            self.pool.add(*new)
            if box is None or done:
                box = None
            elif gap < ROUGH:
                box = self.around(gap)
        if mixture is None:
            mixture = self.pool.mixture(self.pool.master(ROUGHLY, lambda: False, self.boxed(None)).weights)
        rows, shared = np.split(self.best_prices, [len(self.sizes)])
        dual = self.best.dual(self.spread(rows))
        message = f"columns: {rounds} rounds"
        return ChannelSolution(status, mixture, dual, rounds, message, self.shared.written(shared))

    def better(self, known: tuple[Array, float] | None, central: Central) -> tuple[Array, float]:
        """The better one of a known mixture and the master's, and its value, all shared rows counted."""
        mixture = self.pool.mixture(central.weights)
        value = self.shared.value(mixture)
        return known if known is not None and known[1] < value else (mixture, value)

    def refine(self, central: Central) -> tuple[Central, int]:
        """Take in the shared rows that the master's mixture breaks most, at a price of 0; how many."""
        added = self.shared.refine(self.pool.mixture(central.weights)) if self.shared.most.size else 0
        self.best_prices = np.append(self.best_prices, np.zeros(added))
        return replace(central, rows=np.append(central.rows, np.zeros(added))), added

    def explore(self, central: Central) -> tuple[Array, NDArray[np.int64]]:
        """Price between the master's prices and the best ones so far; columns `(k, n)` that improve the master.

        Where that yields few columns and little progress, as at small ε, more points on the way are priced.
        """
        prices, before = self.feasible(central.rows), central.value - self.bound
        costs = self.costs(prices[len(self.sizes) :])
        found: list[tuple[Array, NDArray[np.int64]]] = []
        count = 0
        for share in MIXTURES:
            mixed = prices if not np.isfinite(self.bound) else (1 - share) * prices + share * self.best_prices
            self.priced(mixed)
            better = self.improving(costs, prices)
            found.append(self.pool.unknown(self.forest.columns[better], better))
            count += len(found[-1][1])
            progress = central.value - self.bound < PROGRESS * before
            if not np.isfinite(self.bound) or count > len(prices) * FEW or (count and (progress or share < 0.5)):
                break
        return np.concatenate([columns for columns, _ in found]), np.concatenate([reports for _, reports in found])

    def feasible(self, prices: Array) -> Array:
        """The nearest prices at which what the shared rows ask for is paid."""
        rows, shared = np.split(prices, [len(self.sizes)])
        return np.concatenate([rows, self.shared.feasible(shared)])

    def priced(self, prices: Array) -> None:
        """Price every report at (nearly) these prices."""
        rows, shared = np.split(prices, [len(self.sizes)])
        rows = rows - SHY * min(np.abs(rows).sum(), self.size) / self.sizes.sum() * self.sizes
        if len(shared):
            self.forest = self.forest.at(self.costs(shared))
        self.forest.price(self.spread(rows), PIVOTS, self.should_stop)
        self.note(rows, shared)

    def improving(self, costs: Array, prices: Array) -> NDArray[np.int64]:
        """Reports whose column is worth more than it costs at some prices."""
        columns, rows = self.forest.columns, prices[: len(self.sizes)]
        reduced = np.einsum("zx,zx->z", costs - self.spread(rows), columns) / columns.max(axis=1)
        return np.flatnonzero(reduced < -1e-11)

    def note(self, rows: Array, shared: Array) -> None:
        """Take the bound of these prices if it is better."""
        least = np.zeros(len(rows))
        _, rest = self.forest.multipliers(self.spread(rows))
        np.minimum.at(least, self.classes.index, rest.min(axis=0))
        floor = rows + self.sizes * least
        bound = float(floor.sum() + shared @ self.shared.floors)
        if bound > self.bound:
            self.bound, self.floor, self.best = bound, floor, self.forest.copy()
            self.best_prices = np.concatenate([rows, shared])
