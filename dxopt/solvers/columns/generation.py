"""Column generation on the cone: the route to thousands of points.

All columns of a channel lie in one cone and meet only in the row sums, so a channel is a mixture of extreme rays: the
master chooses weights of the rays known, its row prices y say what a new one is worth, and the price of every report
(`pricing`) is an independent problem on trees. Every master solution is a private channel up to its row sums, and
Σ y + Σ_x min(0, least price rooted at x) bounds the optimum from below: at most v_root = K[root, z] ≤ 1 of a report's
columns is used.

Row prices are kept central (an interior point stopped early, averaged with the best y so far), and in a box around a
guess at first, because extreme ones make new columns useless.

Parts that only budgets above 30 join are solved one by one; what that breaks costs e^-30 to repair. Within a part
distances must be finite both ways, and budgets above 36 count as 36.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dxopt.partition import Partition
from dxopt.program import ChannelProgram, ChannelSolution, Dual, Status
from dxopt.solvers.columns.master import Central, solve_master
from dxopt.solvers.columns.pricing import multipliers, price_reports

Array = NDArray[np.float64]
Tell = Callable[[int, float, float], None]
FAR = 36.0
BOX = 3.0
UNBOXED = 1e-2
MIXTURES = (0.5, 0.9, 0.7, 0.3, 0.0)
FEW = 0.25
IDLE = 5
ROUGHLY = 0.05
RELEVANT_BUDGET = 30.0
_CHUNK = 256
_TIGHT = 1e-13
_SCALES = (1.0, 0.5)


@dataclass(eq=False)
class _Forest:
    """The tree of every report, and its column with 1 at the root."""

    roots: NDArray[np.int32]
    columns: Array
    parents: NDArray[np.int32]
    leads: NDArray[np.bool_]
    found: Array
    least: NDArray[np.bool_]

    @classmethod
    def of(cls, roots: NDArray[np.int32], factors: Array) -> _Forest:
        """Stars: every point follows the root."""
        parents = np.repeat(roots[:, None], len(factors), axis=1).astype(np.int32)
        nothing = np.zeros(len(roots))
        return cls(roots, factors[roots].copy(), parents, np.zeros(parents.shape, bool), nothing, nothing > 0)

    def copy(self) -> _Forest:
        """As it is now."""
        return _Forest(*(getattr(self, one.name).copy() for one in fields(self)))


def solve_columns(
    program: ChannelProgram,
    tolerance: float,
    should_stop: Callable[[], bool] = lambda: False,
    tell: Tell = lambda rounds, value, bound: None,
    max_rounds: int = 400,
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
        Given (rounds, value, bound) once a round; the value is NaN while prices are boxed.

    Returns
    -------
    ChannelSolution
        A channel, and multipliers that prove the bound.
    """
    islands = Partition.joining(program.budgets <= RELEVANT_BUDGET)
    parts = [islands.members(which) for which in range(islands.size)]
    channel, duals, rounds, status = np.zeros(program.costs.shape), [], 0, Status.OPTIMAL
    prices = np.zeros(len(channel))
    for part in parts:
        found = _solve_part(program, part, tolerance, should_stop, tell, max_rounds)
        channel[part], rounds = found.channel, rounds + found.iterations
        status = status if found.status is Status.OPTIMAL else found.status
        if found.dual is not None:
            prices[part] = found.dual.prices
            duals.append(replace(found.dual, first=part[found.dual.first], second=part[found.dual.second]))
    report, first, second = (
        np.concatenate([np.zeros(0, np.int64), *(getattr(dual, name) for dual in duals)])
        for name in ("report", "first", "second")
    )
    dual = Dual(prices, report, first, second, np.concatenate([np.zeros(0), *(d.multiplier for d in duals)]))
    return ChannelSolution(status, channel, dual, rounds, f"columns: {rounds} rounds")


def _solve_part(
    program: ChannelProgram,
    part: NDArray[np.int64],
    tolerance: float,
    should_stop: Callable[[], bool],
    tell: Tell,
    max_rounds: int,
) -> ChannelSolution:
    """Rows that share no constraint with the others but those the repair sees to."""
    costs = program.costs[part]
    free = int(costs.sum(axis=0).argmin())
    if len(part) == 1 or not costs[:, free].any():
        channel = np.zeros(costs.shape)
        channel[:, free] = 1.0
        return ChannelSolution(Status.OPTIMAL, channel, None)
    inner = ChannelProgram(costs, program.budgets[np.ix_(part, part)])
    with threadpool_limits(limits=1, user_api="blas"):  # its waiting threads would take the cores from the prices
        return _Generation(inner, tolerance, should_stop, tell).run(max_rounds)


class _Generation:
    def __init__(
        self, program: ChannelProgram, tolerance: float, should_stop: Callable[[], bool], tell: Tell
    ) -> None:
        self.tolerance, self.should_stop, self.tell = tolerance, should_stop, tell
        self.costs = np.ascontiguousarray(program.costs.T)
        self.factors = np.exp(-np.minimum(program.budgets, FAR))
        np.fill_diagonal(self.factors, 1.0)
        self.forest = _Forest.of(_roots(program.costs), self.factors)
        guess = np.exp(-0.5 * np.minimum(program.budgets, FAR))
        guess /= guess.sum(axis=1, keepdims=True)
        best = (self.costs @ guess).argmin(axis=0)
        limit = BOX * (guess * self.costs[best].T).sum(axis=1)
        self.limit = np.maximum(limit, 1e-3 * limit.mean())
        size = len(self.factors)
        starts = [self.factors**scale for scale in _SCALES] + [np.ones((1, size))]
        self.columns = np.zeros((size, 0))
        self.reports = np.zeros(0, dtype=np.int64)
        self.prices = np.zeros(0)
        self.add(np.concatenate(starts))
        self.boxed = True
        self.bound, self.best_rows, self.best = -np.inf, np.zeros(size), self.forest
        self.mixture: tuple[Array, Array, NDArray[np.int64]] | None = None

    def add(self, columns: Array) -> None:
        """New columns `(k, n)`, each for the report where it costs least."""
        if not len(columns):
            return
        scaled = columns / columns.max(axis=1, keepdims=True)
        costs = self.costs @ scaled.T
        report = costs.argmin(axis=0)
        self.columns = np.hstack([self.columns, scaled.T])
        self.reports = np.concatenate([self.reports, report])
        self.prices = np.concatenate([self.prices, costs[report, np.arange(len(report))]])

    def run(self, max_rounds: int) -> ChannelSolution:
        gap, rounds, idle, status = 1.0, 0, 0, Status.FEASIBLE
        for rounds in range(1, max_rounds + 1):
            central = self.master(min(0.1, max(1e-9, 0.1 ** (1 + idle) * gap)))
            if self.should_stop():
                status = Status.INTERRUPTED
                break
            if not self.boxed:
                self.mixture = (central.weights, self.columns, self.reports)
            new = self.explore(central.rows)
            gap = min(1.0, abs(central.value - self.bound) / max(abs(central.value), 1e-300))
            self.tell(rounds, np.nan if self.boxed else central.value, self.bound)
            if gap < self.tolerance and not self.boxed:
                status = Status.OPTIMAL
                break
            if not len(new) and not self.boxed:
                idle += 1
                if idle == IDLE:
                    break
            self.purge(central)
            self.add(new)
            if gap < UNBOXED or not len(new):
                self.boxed = False
        return self.answer(status, rounds)

    def master(self, accuracy: float) -> Central:
        size = len(self.factors)
        if not self.boxed:
            return solve_master(self.columns, self.prices, accuracy, self.should_stop)
        unit = np.eye(size)
        columns = np.hstack([unit, -unit, self.columns])
        costs = np.concatenate([self.limit, np.zeros(size), self.prices])
        found = solve_master(columns, costs, accuracy, self.should_stop)
        return Central(found.value, found.rows, found.weights[2 * size :])

    def price(self, rows: Array, pivots: int) -> bool:
        """Price every report; whether all prices are least ones."""
        f = self.forest
        for start in range(0, len(f.roots), _CHUNK):
            if self.should_stop():
                return False
            some = np.arange(start, min(start + _CHUNK, len(f.roots)))
            price_reports(
                self.costs,
                rows,
                self.factors,
                f.roots,
                f.columns,
                f.parents,
                f.leads,
                some,
                pivots,
                _TIGHT,
                f.found,
                f.least,
            )
        return bool(f.least.all())

    def explore(self, rows: Array) -> Array:
        """Price between the master's rows and the best ones so far; columns `(k, n)` that improve the master.

        Where few reports are worth pricing, as at small ε, more points on the way are priced.
        """
        found, count = [], 0
        for share in MIXTURES:
            mixed = rows if not np.isfinite(self.bound) else (1 - share) * rows + share * self.best_rows
            if self.price(mixed, 2000):
                self.note(mixed)
            new = self.improving(rows)
            found.append(self.forest.columns[new])
            count += len(new)
            if count > len(rows) * FEW or (share < 0.5 and count) or not np.isfinite(self.bound):
                break
        return np.concatenate(found)

    def improving(self, rows: Array) -> NDArray[np.int64]:
        """Reports whose column is worth more than it costs at the master's own prices."""
        f = self.forest
        top = f.columns.max(axis=1)
        reduced = ((self.costs - rows) * f.columns).sum(axis=1) / top
        return np.flatnonzero(reduced < -1e-11)

    def note(self, rows: Array) -> None:
        """Take the bound of these row prices if it is better."""
        least = np.zeros(len(rows))
        np.minimum.at(least, self.forest.roots, self.forest.found)
        bound = float(rows.sum() + least.sum())
        if bound > self.bound:
            f = self.forest
            self.bound, self.best_rows = bound, rows
            self.best = f.copy()

    def purge(self, central: Central) -> None:
        """Drop the columns that cost most at these prices, beyond three for each row."""
        keep = 10 * len(self.factors)
        if len(self.prices) <= 20 * len(self.factors):
            return
        reduced = self.prices - self.columns.T @ central.rows
        order = np.argsort(np.where(central.weights > 1e-7, -np.inf, reduced), kind="stable")[:keep]
        kept = np.sort(order)
        self.columns, self.reports, self.prices = self.columns[:, kept], self.reports[kept], self.prices[kept]

    def answer(self, status: Status, rounds: int) -> ChannelSolution:
        channel = np.zeros((len(self.factors), len(self.costs)))
        if self.mixture is None:
            central = solve_master(self.columns, self.prices, ROUGHLY, lambda: False)
            self.mixture = (central.weights, self.columns, self.reports)
        weights, columns, reports = self.mixture
        np.add.at(channel.T, reports, (columns * np.maximum(weights, 0.0)).T)
        return ChannelSolution(status, channel, self.dual(), rounds, f"columns: {rounds} rounds")

    def dual(self) -> Dual:
        f = self.best
        found = np.empty(f.columns.shape)
        multipliers(self.costs, self.best_rows, f.columns, f.parents, f.leads, f.roots, found)
        report, point = np.nonzero(found)
        above, leading = f.parents[report, point].astype(np.int64), f.leads[report, point]
        first, second = np.where(leading, point, above), np.where(leading, above, point)
        return Dual(self.best_rows, report, first, second, found[report, point])


def _roots(costs: Array) -> NDArray[np.int32]:
    """For each report the row in which it costs least, against the mean of the row."""
    mean = costs.mean(axis=1, keepdims=True)
    return np.where(mean > 0, costs / np.where(mean > 0, mean, 1.0), np.inf).argmin(axis=0).astype(np.int32)
