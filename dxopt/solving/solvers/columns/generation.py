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

These are repeated (`rounds`) until value and bound agree. Prices are kept central, smoothed and in a box on the way
(`stabilisation`), because extreme ones make new columns useless. Where more rows couple the columns, as for the worst
loss, these shared rows join the master, and their prices change the costs that reports are priced at (`shared`).

Where one place has most of the mass of a prior, the report there would need many columns, one a round. Such a report
is kept whole, as a block of the master (`rich`, `blocks`).

**Parts.** Two points belong to the same part if a chain of budgets up to 30, in whichever direction, joins them.
Parts are solved one by one, as if the budgets between them were infinite. That loosens the program, so the bound
holds, but the channel may break these budgets by entries of about e^-30. Within a part, budgets above 36, infinite
ones too, count as 36 (`rounds`). That keeps the channel private, and costs about e^-36 of value and bound. Nothing
here repairs or proves: `proofs.repair` makes the channel private with rows that sum to 1, and `proofs.bounds`
recomputes the bound at the true budgets.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from dxopt.numerics.partition import Partition
from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution
from dxopt.solving.solvers.columns.incumbent import ColumnSettings, Grace, Progress, stop_seconds
from dxopt.solving.solvers.columns.rounds import Rounds

Array = NDArray[np.float64]
RELEVANT_BUDGET = 30.0
"""Larger budgets do not make two points parts of the same program."""


def solve_columns(program: ChannelProgram, settings: ColumnSettings) -> ChannelSolution:
    """Solve a channel program, of costs of 0 or more and any budgets, to a gap relative to its value and offset.

    The value of a program is the sum of those of its parts, and all are 0 or more: the gap of the whole is no worse.
    Only programs with a coupling have an offset, and these are not split into parts.

    Returns
    -------
    ChannelSolution
        A channel before its repair, and multipliers that prove the bound. Its status is the best one only where
        every part has it; else it is that of the last part without it. Once stopped, that stays so.
    """
    # 1. find the parts, `parts.size` of them. Classes, over which means of rows sum to 1 (see `ChannelProgram`), or
    #    more rows that couple the columns may tie parts together
    grace = Grace(stop_seconds(*program.costs.shape))
    parts = Partition.joining(program.budgets <= RELEVANT_BUDGET)
    if parts.size == 1 or program.classes is not None or program.coupling is not None:
        return _solve_part(program, settings, grace)

    # 2. solve them one after another
    channel = np.zeros(program.costs.shape)
    prices = np.zeros(len(channel))
    duals: list[Dual] = []
    rounds = 0
    status = Status.OPTIMAL
    told = _Told(settings.progress)
    for which in range(parts.size):
        part = parts.members(which)
        inner = ChannelProgram(program.costs[part], program.budgets[np.ix_(part, part)])
        found = _solve_part(inner, settings.of(part, told.of(which + 1 == parts.size)), grace)
        channel[part] = found.channel
        told.done(float((inner.costs * channel[part]).sum()))
        rounds += found.iterations
        if found.status is not Status.OPTIMAL:
            status = found.status
        if found.dual is not None:  # always so, also when stopped: see `_solve_part` and `Rounds.run`
            prices[part] = found.dual.prices
            duals.append(replace(found.dual, first=part[found.dual.first], second=part[found.dual.second]))

    # 3. the duals of all parts, one after another; there are two or more
    dual = Dual(
        prices,
        np.concatenate([one.report for one in duals]),
        np.concatenate([one.first for one in duals]),
        np.concatenate([one.second for one in duals]),
        np.concatenate([one.multiplier for one in duals]),
    )
    return ChannelSolution(status, channel, dual, rounds, f"columns: {rounds} rounds")


class _Told:
    """Progress of a program whose parts are solved one by one: values and bounds add up."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.value = 0.0
        self.bound = 0.0
        self.latest: float | None = None

    def of(self, last: bool) -> Progress:
        """Return the progress of the next part; before the last one, the value of the whole is not known."""

        def tell(rounds: int, value: float, bound: float) -> None:
            self.latest = bound
            self.progress(rounds, self.value + value if last else np.inf, self.bound + bound)

        return tell

    def done(self, value: float) -> None:
        """Note that a part has ended with this value, which is its optimum where it told nothing."""
        self.value += value
        self.bound += value if self.latest is None else self.latest
        self.latest = None


def _solve_part(program: ChannelProgram, settings: ColumnSettings, grace: Grace) -> ChannelSolution:
    """Solve for rows that no others constrain, but by what `proofs.repair` sees to. There is always a dual."""
    # a single row, or a report that costs nothing anywhere: the cheapest report alone is an optimum. Prices of 0 and
    # no multipliers prove that, as the residuals are the costs then
    cheapest = int(program.costs.sum(axis=0).argmin())
    if program.coupling is None and (len(program.costs) == 1 or not program.costs[:, cheapest].any()):
        channel = np.zeros(program.costs.shape)
        channel[:, cheapest] = 1.0
        return ChannelSolution(Status.OPTIMAL, channel, Dual(np.zeros(len(channel))))
    with threadpool_limits(limits=1, user_api="blas"):  # its waiting threads would take the cores from the pricing
        generation = Rounds(program, settings, grace)
        if settings.start is not None:
            generation.begin(settings.start)
        return generation.run()
