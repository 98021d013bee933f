"""Column generation on the cone of private columns: the route to thousands of points.

**Model.** A channel K has a row for each of n points x (secrets, or classes of them) and a column K_z for each of m
reports z. In row x the report z costs c_z(x), the prior included. K is private exactly if each of its columns lies in
the cone C = {v ≥ 0 : v_a ≤ e^{d(a, b)} v_b}, with the budgets d; the n row sums, which are 1, are all that couples
columns. So a channel is a mixture of elements v_j of C, each given to the report where it costs least. The optimum is

    min Σ_j c_j θ_j  over  Σ_j v_j θ_j = 1, θ ≥ 0,     over all v_j in C, c_j = min_z ⟨c_z, v_j⟩,

a linear program with n rows and far too many columns. Column generation keeps few of them and adds what is missing:

1. The **restricted master problem** (`pool`, `master`) mixes the columns known. Its dual solution is a price y_x for
   each row. Its primal solution is the incumbent, a private channel whose rows sum to 1 nearly: the master is solved
   roughly.
2. The **pricing problem** of each report z (`pricing`, on the trees of `basis`, kept in `forest`) looks for the
   column v in C of least reduced cost ⟨c_z - y, v⟩. One of negative reduced cost improves the master, unless it can
   only be given the weight 0; where there is none, the master's optimum is the optimum.
3. The **dual bound** (`dual_bound`): let A v ≥ 0 be the constraints of C, λ_z ≥ 0 multipliers of them for report z,
   and r_z = c_z - y - A'λ_z the residual. Then Σ_x (y_x + min_z r_z(x)) is no more than the optimum, since λ_z ≥ 0,
   A K_z ≥ 0, K ≥ 0 and rows of K sum to 1. The rounds count with min(0, r_z(x)) instead, which is no greater.

These are repeated (`Rounds`) until value and bound agree. Prices are kept central, smoothed and in a box on the way
(`stabilisation`), because extreme ones make new columns useless. Where more rows couple the columns, as for the worst
loss, these shared rows (`coupling_rows`) join the master, and their prices change the costs of reports in pricing.

Where points are many and close, the rounds begin with **clusters** of them (`clusters`): with the prices of a program
of fewer points, then with rows that are merged, whose masters are small. That is for prices and the bound alone; the
masters of all rows, which give channels, follow. Where only a bound is wanted, rows are never merged.

Where one place has most of the mass of a prior, the report there would need many columns, one a round. Such a report
is kept whole, as a block of the master (`explicit_blocks`).

**Parts.** Two points belong to the same part if a chain of budgets up to 30, in whichever direction, joins them.
Parts are solved one by one, as if the budgets between them were infinite. That loosens the program, so the bound
holds, but the channel may break these budgets by entries of about e^-30. Within a part, budgets above 36, infinite
ones too, count as 36 (`Rounds`). That keeps the channel private, and costs about e^-36 of value and bound. Nothing
here repairs or proves: `proofs.repair` makes the channel private with rows that sum to 1, and `proofs.bounds`
recomputes the bound at the true budgets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dxopt.numerics.partition import Partition
from dxopt.numerics.tropical import product
from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.solvers.columns.clusters import Clusters
from dxopt.solving.solvers.columns.coupling_rows import FAR, ConeProgram
from dxopt.solving.solvers.columns.dual_bound import DualBound
from dxopt.solving.solvers.columns.incumbent import (
    FAINT,
    ColumnSettings,
    Earlier,
    Grace,
    Incumbent,
    stop_seconds,
)
from dxopt.solving.solvers.columns.local_product import near_order
from dxopt.solving.solvers.columns.master import Box, Central
from dxopt.solving.solvers.columns.pool import Pool
from dxopt.solving.solvers.columns.stabilisation import FIRST_PRICES, SMOOTHING, box_around, starting_limit

Array = NDArray[np.float64]
Columns = tuple[Array, NDArray[np.int64]]
"""Columns `(k, n)`, and the report each was priced for."""

_KERNELS = (1.0, 0.5)
"""The first columns are kernels e^{-d(z, ·)} to these powers, and the constant."""
_ROUGH = 1e-2
"""Below this gap the box is set around the best prices."""
_CLOSE = 0.1
"""Prices of an earlier answer are kept by a box where the gap they begin with is below this."""
_FIRST = 0.03
_INCUMBENT = 0.1
"""Incumbents are made below the first of these gaps, and each time it has fallen by this factor."""
_LARGE = 150
"""With fewer rows no incumbents are made on the way, as the end is near."""
_SHARE = 0.1
_ROUGHEST = 1e-4
"""Accuracy of the masters that make incumbents: a share of the gap, or of the tolerance, and no coarser than this."""
_LAST_WORK = 6e8
"""Columns times squared rows of the last master: about as many as go in the time of a stop."""
_LEAST_COLUMNS = 6
"""For each row, in the last master."""
_CENTRAL = 0.5
"""The master is solved to this share of the gap, so that its prices are central (see `master`)."""
_COARSEST = 0.1
_FINEST = 1e-10
"""Limits of that accuracy."""
_FEW = 0.25
"""New columns for each row, from which on no more prices are tried in a round."""
_PROGRESS = 0.5
"""Enough progress of the bound for a round: what is left of the distance to the value."""
_IDLE = 8
"""Rounds without anything new, in each of which the master is solved ten times finer, until the end."""
_ALMOST = 0.5
"""A box is dropped once the gap is below this share of the tolerance; with a good incumbent rounds end before."""
_AGAIN = 0.75
"""The gap below this times that of the last incumbent at which the end is tried again, while there is a box."""
_IDLE_IN_BOX = 2
"""Rounds in a row without anything new in a box, until the box is dropped."""
_IDLE_WITH_BLOCK = 2
"""The same with a block, until its report is one like others: pairs next to rounding may not be worth more."""
_SETTLED = 3
"""Rounds from which on reports may become blocks."""
_MOST_ROUNDS = 400
_LARGE_FROM, _COARSE_FROM = 1500, 300
"""Points from which on clusters pay: of a program to be solved to its end, and of a coarse one or for a bound."""
_COARSE_GAP = 0.01
"""The gap to which the coarse program is solved."""
_LOWER = 0.985
"""Its prices are lowered by this."""
_SEPARATE = 0.02
"""The gap of merged rows from which on all rows count."""


class Rounds:
    """Column generation for one program.

    Attributes
    ----------
    box : pair of (k,) arrays, or None
        Bounds on the prices of the combined rows (see `stabilisation`); None is no bounds.
    gap : float
        The relative gap of the last round; while there is a box, of its value.
    tolerance : float
        That on this gap, which leaves out the offset where nothing is shared: the wider, the more the offset adds.
    aim, tried : float
        The gaps below which the next incumbent is made: on the way, and to try to end while there is a box.
    idle : int
        The last rounds in a row that found nothing new.
    """

    def __init__(
        self, program: ChannelProgram, settings: ColumnSettings, grace: Grace, *, coarse: bool = False
    ) -> None:
        self.program = program
        self.settings = settings
        self.grace = grace

        # 1. the dual side: stars for trees
        cone = ConeProgram.of(program)
        self.shared = cone.shared
        coupled = program.coupling is not None
        self.dual = DualBound(cone, self.settings.should_stop, settings.pricer)

        # 2. the primal side, without columns yet. Where points are close, rows are merged at first
        large = len(cone.factors) >= (_COARSE_FROM if coarse or settings.bound_only else _LARGE_FROM)
        clustered = large and cone.classes.trivial and not coupled and settings.start is None
        clusters = Clusters.of(cone.costs, np.minimum(program.budgets, FAR)) if clustered else None
        self.pool = Pool(cone, settings.columns, clusters)
        self.box: Box | None = None

        self.incumbent = Incumbent(cone.factors)
        self.constant = 0.0 if coupled else max(0.0, program.offset)
        self.tolerance = settings.tolerance
        self.gap, self.aim, self.tried = 1.0, _FIRST, np.inf
        self.idle = 0
        self.rounds = 0

    def begin(self) -> None:
        """Find first columns and prices, and a box for prices: by an earlier answer, or clusters, or a guess."""
        if self.settings.start is not None:
            self._begin_by_guess(priced=False)
            self._begin_from(self.settings.start)
        elif self.pool.clusters is not None:
            self._begin_coarsely(self.pool.clusters)
        else:
            self._begin_by_guess()

    def _begin_by_guess(self, *, priced: bool = True) -> None:
        """Begin with kernels, and prices by what rows cost under the exponential mechanism."""
        cone = self.pool.program
        begin = self.shared.begin()
        costs = self.dual.costs(begin)
        limit, centres = starting_limit(costs, np.minimum(self.program.budgets, FAR), cone.classes)
        self.box = (np.zeros(len(limit)), self.pool.differences.combined(limit))
        # the constant and kernels, each for the report where it costs least
        scales = () if self.settings.should_stop() else _KERNELS
        kernels = np.concatenate([np.ones((1, len(costs.T))), *(cone.factors[centres] ** scale for scale in scales)])
        self.pool.add(kernels, (costs @ kernels.T).argmin(axis=0))
        # a first pricing far below the end of the box, where it takes few pivots and the bound is best
        if priced and not self.settings.should_stop():
            self._price_first(np.concatenate([FIRST_PRICES * limit, begin]))

    def _price_first(self, prices: Array) -> None:
        """Price at first prices, and keep the columns."""
        self.dual.price(prices)
        self.pool.add(*self.pool.unknown(self.dual.forest.columns, np.arange(len(self.pool.program.costs))))

    def _begin_coarsely(self, clusters: Clusters) -> None:
        """Begin with the prices and columns of the coarse program, and a box around these prices."""
        # 1. solve it; a constant is the first column of every pool
        costs = self.pool.program.costs
        self.pool.add(np.ones((1, len(costs.T))), np.array([costs.sum(axis=1).argmin()]))
        program, reports = clusters.coarse(costs, np.minimum(self.program.budgets, FAR))
        self.settings.note(f"{len(clusters):,} of {len(clusters.index):,} points")
        own = self.settings  # but for the progress: the bound of the coarse program is none of this one
        settings = ColumnSettings(_COARSE_GAP, own.should_stop, note=own.note, columns=own.columns, pricer=own.pricer)
        coarse = Rounds(program, settings, self.grace, coarse=True)
        coarse.begin()
        coarse._approach(_COARSE_GAP)
        if self.settings.should_stop():
            return

        # 2. its columns: entries at other points are the least that the cone allows
        used = coarse.pool.used()
        columns = product(coarse.pool.columns.T[used], self.pool.program.factors[clusters.seeds])
        self.pool.add(columns, reports[coarse.pool.reports[used]])

        # 3. a first pricing somewhat below its prices, and a box that suits what the bound lacks
        self._price_first(_LOWER * clusters.spread(coarse.dual.row_prices))
        if self.settings.bound_only:
            self.pool.separate()
        expected = coarse.dual.value / max(1 - coarse.gap, _COARSE_GAP)
        self.box = self._box_around_best(min(1.0, max(coarse.gap, 1 - self.dual.value / expected)))

    def _begin_from(self, earlier: Earlier) -> None:
        """Add the columns of an earlier answer, and those found at its prices; box the prices if they are close."""
        self.pool.add(*earlier.columns(self.incumbent.factors))
        self._price_first(self.pool.classes.totals(earlier.prices[:, None])[:, 0])
        # a rough master without a box says how close they are
        value = self.pool.master(_ROUGH, self.settings.should_stop, self._price_bounds(None)).value
        if (gap := abs(value - self.dual.value) / max(value, 1e-300)) < _CLOSE:
            self.box = self._box_around_best(gap)

    def run(self) -> ChannelSolution:
        """Go through the rounds, to the tolerance if possible; return a channel and the multipliers of the bound."""
        # 1. prices alone, while rows are merged
        if self.pool.clusters is not None:
            self._approach(max(self.settings.tolerance, _SEPARATE))
            if not self.settings.should_stop():
                self.pool.separate()
                self._begin_by_guess(priced=False)

        # 2. all rows
        status = Status.INTERRUPTED if self.settings.should_stop() else None
        while status is None and self.rounds < _MOST_ROUNDS:
            self.rounds += 1
            status = self._round()
        unfinished = status is not Status.OPTIMAL and (self.box is not None or status is Status.INTERRUPTED)
        if unfinished and not self.settings.bound_only:
            self._last_incumbent()
            self.settings.progress(self.rounds, self.incumbent.value, self.dual.value)

        # 3. what they found
        rows, shared = self.dual.split(self.dual.prices)
        dual = self.dual.best_forest.dual(self.dual.spread(rows))
        channel, coupled = self.incumbent.known(self.pool), self.shared.written(shared)
        message = f"columns: {self.rounds} rounds"
        return ChannelSolution(status or Status.FEASIBLE, channel, dual, self.rounds, message, coupled)

    def _last_incumbent(self) -> None:
        """Find an incumbent of the columns that matter, in the little time that a stop may take."""
        self.grace.begin()
        rows = len(self.dual.prices)
        most = max(_LEAST_COLUMNS * rows, int(_LAST_WORK / rows**2))
        self._improve(most, self.settings.known.last() if self.settings.known else None, self.grace.is_over)

    def _improve_all(self) -> None:
        """Seek a better incumbent among all columns known, in whatever time that takes."""
        known = self.settings.known
        self._improve(len(self.pool.reports), known.first if known else None, self.settings.should_stop)

    def _improve(self, most: int, known: Array | None, should_stop: Callable[[], bool]) -> None:
        """Seek a better incumbent: a mixture of the present one's columns, `most` of the pool, and a known channel's.

        This is done without a box, in a copy of the pool, so that the rounds go on unchanged.
        """
        # 1. the columns that are worth most at the best prices
        pool = self.pool.best_columns(most, self.dual.prices)

        # 2. the channels' columns, each for the report where it costs least; their greatest entries, as weights, give
        #    the channel again
        for channel in (self.incumbent.channel, known):
            if channel is not None:
                used = np.flatnonzero(channel.max(axis=0) > FAINT)
                columns = np.ascontiguousarray(channel.T[used])
                before = len(pool.column_costs)
                pool.add(columns, used if channel is not known else (pool.program.costs @ columns.T).argmin(axis=0))
                self.incumbent.offer(pool, np.append(np.zeros(before), channel.max(axis=0)[used]))

        # 3. the best mixture of all of them
        if not should_stop():
            accuracy = min(_ROUGHEST, _SHARE * max(self.tolerance, self.gap))
            self.incumbent.offer(pool, pool.master(accuracy, should_stop, self._price_bounds(None)).weights)

    def _step(self) -> tuple[Central, Columns] | None:
        """Solve the master, price, and set the gap; return the master's point and new columns, None if stopped."""
        # 1. the restricted master problem, and the channel of its weights
        accuracy = min(_COARSEST, max(_FINEST, _CENTRAL * 0.1**self.idle * self.gap))
        best = self.dual.prices if np.isfinite(self.dual.value) else None
        central = self.pool.master(accuracy, self.settings.should_stop, self._price_bounds(self.box), best)
        if self.settings.should_stop():
            return None
        value = self._offer_master(central)

        # 2. pricing: new columns, and a bound
        new = self._price_smoothed(central)
        self.dual.magnitude = max(abs(value + self.pool.program.offset), 1e-300)
        gap = min(1.0, abs(value - self.dual.value) / self.dual.magnitude)
        self.tolerance = self.settings.tolerance * (1 + self.constant / self.dual.magnitude)
        if self.box is not None and gap > self.gap:  # too few columns may have taken part
            self.pool.widen()
        self.gap = gap
        return central, new

    def _approach(self, enough: float) -> None:
        """Go through rounds for prices alone, to a gap of the boxed masters, or until they find nothing new."""
        for _ in range(_MOST_ROUNDS):
            step = self._step()
            if step is None:
                return
            central, new = step
            self.rounds += 1
            self.settings.progress(self.rounds, self.incumbent.value, self.dual.value)
            self.pool.purge(central.prices)
            self.pool.add(*new)
            if self.gap < enough or not len(new[0]):
                return
            if self.pool.clusters is not None:
                self.box = self._box_around_best(self.gap)

    def _round(self) -> Status | None:
        """Go through one round; return its status if it was the last one, else None."""
        # 1. master and pricing, and an incumbent now and then. Only what would be delivered is told as the value
        step = self._step()
        if step is None:
            return Status.INTERRUPTED
        central, new = step
        wanted = self.tolerance <= self.gap < self.aim and len(self.dual.sizes) >= _LARGE
        if self.box is not None and wanted and not self.settings.bound_only:
            self.aim = _INCUMBENT * self.gap
            self._improve_all()

        # 2. the end is decided by what is delivered: values with a box are no values of channels
        ended = self._is_delivered()
        self.settings.progress(self.rounds, self.incumbent.value, self.dual.value)
        if ended:
            return Status.OPTIMAL
        central, added = self._refine(central)
        count = len(new[0])
        if not (count or added) and self.box is not None and self.pool.widen():
            return None
        self.idle = 0 if count or added else self.idle + 1
        if self.idle == _IDLE_WITH_BLOCK and len(self.pool.rich.reports):
            self.pool.rich = self.pool.rich.none()
            self.idle = 0
        if self.idle == _IDLE:
            return Status.FEASIBLE

        # 3. the next master: blocks, columns in and out, and a box that is dropped where it has nothing left to do
        if self.rounds >= _SETTLED:
            self.pool.enrich()
        self.pool.purge(central.prices)
        self.pool.add(*new)
        if self.gap < _ALMOST * min(self.tolerance, _ROUGH) or (self.box is not None and self.idle == _IDLE_IN_BOX):
            self.box = None
            self.idle = 0
        elif self.box is not None and self.gap < _ROUGH:
            self.box = self._box_around_best(self.gap)
        return None

    def _is_delivered(self) -> bool:
        """Tell whether an incumbent is within the tolerance.

        With a box rows may miss their sums, and blocks may break pairs that were left out: then, once the master is
        within it, an incumbent is made first.
        """
        near = self.gap < self.tolerance
        if self.settings.bound_only:
            return near
        if self.box is None and not len(self.pool.rich.reports):
            return near
        if near and (self.gap < self.tried or self.box is None):
            self.tried = _AGAIN * self.gap
            self._improve_all()
        return self.incumbent.value - self.dual.value < self.tolerance * self.dual.magnitude

    def _offer_master(self, central: Central) -> float:
        """Offer the master's mixture as incumbent unless there is a box, and return the master's value.

        With shared rows that is the best value of a channel so far: the master leaves out those that have not joined.
        """
        if self.box is None:
            own = self.incumbent.offer(self.pool, central.weights)
            if self.shared.most.size:
                return min(own, self.incumbent.value)
        return central.value

    def _price_smoothed(self, central: Central) -> Columns:
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
            better = self.dual.improving_reports(costs, prices)
            found.append(self.pool.unknown(self.dual.forest.columns[better], better))
            count += len(found[-1][1])

            # 3. nothing to smooth with, enough columns, or some and either progress or little left to try
            progress = central.value - self.dual.value < _PROGRESS * before
            if not np.isfinite(self.dual.value) or count > self.pool.rows * _FEW:
                break
            if count and (progress or share < 0.5):
                break
        return np.concatenate([one for one, _ in found]), np.concatenate([one for _, one in found])

    def _refine(self, central: Central) -> tuple[Central, int]:
        """Add the shared rows and pairs of blocks that the master's mixture breaks most.

        Return the same point with a price of 0 for each new row, and how many rows and pairs were added.
        """
        rows = self.shared.refine(self.pool.mixture(central.weights)) if self.shared.most.size else 0
        self.dual.extend(rows)
        pairs = self.pool.rich.refine(central.block)
        return replace(central, prices=np.append(central.prices, np.zeros(rows))), rows + pairs

    def _box_around_best(self, gap: float) -> Box:
        """Return the box around the best prices so far, of combined rows, that suits a gap."""
        prices, floor = (self.pool.differences.combined(one) for one in (self.dual.row_prices, self.dual.floor))
        return box_around(prices, floor, gap, merged=self.pool.clusters is not None or self.settings.bound_only)

    def _price_bounds(self, box: Box | None) -> Box:
        """Return bounds on all prices; those of rows are free without a box, those of shared rows are 0 or more."""
        free = np.full(len(self.pool.differences), np.inf)
        low, high = (-free, free) if box is None else box
        most = self.shared.most
        return np.concatenate([low, np.zeros(len(most))]), np.concatenate([high, most])


_ORDERED_FROM = 256
"""Points from which on close ones are put next to each other."""
RELEVANT_BUDGET = 30.0
"""Larger budgets do not make two points parts of the same program."""


def solve_columns(program: ChannelProgram, settings: ColumnSettings) -> ChannelSolution:
    """Solve a channel program, of costs of 0 or more and any budgets, to a gap relative to its value and offset.

    The value of a program is the sum of those of its parts, and all are 0 or more: the gap of the whole is no worse.

    The status is the best one only where every part has it; else it is that of the last part without it.
    """
    # 1. find the parts. Classes, over which means of rows sum to 1 (see `ChannelProgram`), or more rows that couple
    #    the columns may tie parts together
    grace = Grace(stop_seconds(*program.costs.shape))
    parts = Partition.joining(program.budgets <= RELEVANT_BUDGET)
    small = parts.size == 1 and len(program.costs) < _ORDERED_FROM
    if small or program.classes is not None or program.coupling is not None:
        return _solve_part(program, settings, grace)

    # 2. solve them one after another; values and bounds add up
    channel = np.zeros(program.costs.shape)
    prices = np.zeros(len(channel))
    duals: list[Dual] = []
    which = rounds = 0
    status = Status.OPTIMAL
    attained = proven = 0.0
    latest: float | None = None

    def tell(rounds: int, value: float, bound: float) -> None:
        nonlocal latest
        latest = bound
        whole = attained + value if which + 1 == parts.size else np.inf  # not known before the last part
        settings.progress(rounds, whole, proven + bound)

    for which in range(parts.size):
        part = parts.members(which)
        if len(part) >= _ORDERED_FROM:
            part = part[near_order(program.budgets[np.ix_(part, part)])]
        share = program.offset * len(part) / len(channel)
        inner = ChannelProgram(program.costs[part], program.budgets[np.ix_(part, part)], offset=share)
        found = _solve_part(inner, settings.of(part, tell), grace)
        channel[part] = found.channel
        value = float((inner.costs * channel[part]).sum())
        attained += value
        proven += value if latest is None else latest  # a part that told nothing is at its optimum
        latest = None
        rounds += found.iterations
        if found.status is not Status.OPTIMAL:
            status = found.status
        if found.dual is not None:  # always so, also when stopped: see `_solve_part` and `Rounds.run`
            prices[part] = found.dual.prices
            duals.append(replace(found.dual, first=part[found.dual.first], second=part[found.dual.second]))

    # 3. the duals of all parts, one after another
    dual = Dual(prices, *map(np.concatenate, zip(*(one.entries for one in duals), strict=True)))
    return ChannelSolution(status, channel, dual, rounds, f"columns: {rounds} rounds")


def _solve_part(program: ChannelProgram, settings: ColumnSettings, grace: Grace) -> ChannelSolution:
    """Solve one part: budgets between its rows and others are left to `proofs.repair`. There is always a dual."""
    # a single row, or a report that costs nothing anywhere: the cheapest report alone is an optimum. Prices of 0 and
    # no multipliers prove that, as the residuals are the costs then
    cheapest = int(program.costs.sum(axis=0).argmin())
    if program.coupling is None and (len(program.costs) == 1 or not program.costs[:, cheapest].any()):
        channel = np.zeros(program.costs.shape)
        channel[:, cheapest] = 1.0
        return ChannelSolution(Status.OPTIMAL, channel, Dual(np.zeros(len(channel))))
    with threadpool_limits(limits=1, user_api="blas"):  # its waiting threads would take the cores from the pricing
        generation = Rounds(program, settings, grace)
        generation.begin()
        return generation.run()
