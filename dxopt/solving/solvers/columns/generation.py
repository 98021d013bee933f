"""Column generation on the cone of private columns: the route to thousands of points.

**Model.** A channel K is private exactly if each of its columns lies in the cone C = {v ≥ 0 : v_a ≤ e^{d(a, b)} v_b},
and its columns meet in the n row sums alone. So a channel is a mixture of elements of C, and the optimum is

    min Σ_j c_j θ_j  over  Σ_j v_j θ_j = 1, θ ≥ 0,     over all v_j in C, c_j = min_z ⟨c_z, v_j⟩,

a linear program with n rows and far too many columns. Column generation keeps few of them and adds what is missing:

1. The **restricted master problem** (`pool`, `master`) mixes the columns known. Its dual solution is a price y_x for
   each row. Its primal solution is a private channel up to its row sums: the incumbent.
2. The **pricing problem** of each report z (`pricing`, on the trees of `basis`, kept in `forest`) looks for the
   column of least reduced cost ⟨c_z - y, v⟩ in C. One of negative reduced cost may improve the master.
3. The **dual bound** (`dual_bound`): if the multipliers of the pricing problems leave r_z of c_z - y, then
   Σ_x (y_x + min(0, min_z r_z(x))) is no more than the optimum, since 0 ≤ K ≤ 1 and rows of K sum to 1.

These are repeated (`rounds`) until value and bound agree. Prices are kept central, smoothed and in a box on the way
(`stabilisation`), because extreme ones make new columns useless. Rows that columns share besides their sums, as for
the worst loss, join the master and change the costs that reports are priced at (`shared`).

**Parts.** Groups of points that only budgets above 30 join are solved one by one; what that breaks costs e^-30 to
repair. Within a part larger budgets than 36, infinite ones too, count as 36, which costs e^-36.
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
from dxopt.solving.solvers.columns.memory import MOST_COLUMNS
from dxopt.solving.solvers.columns.rounds import Progress, Rounds

Array = NDArray[np.float64]
RELEVANT_BUDGET = 30.0
"""Larger budgets do not make two points parts of the same program."""


def solve_columns(
    program: ChannelProgram,
    tolerance: float,
    should_stop: Callable[[], bool] = lambda: False,
    progress: Progress = lambda rounds, value, bound: None,
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
    progress : callable
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
    # 1. find the parts; classes of points, or shared rows, may tie them together
    parts = Partition.joining(program.budgets <= RELEVANT_BUDGET)
    if parts.size == 1 or program.classes is not None or program.coupling is not None:
        return _solve_part(program, tolerance, should_stop, progress, columns, start)

    # 2. solve them one after another
    channel = np.zeros(program.costs.shape)
    prices = np.zeros(len(channel))
    duals: list[Dual] = []
    rounds = 0
    status = Status.OPTIMAL
    for which in range(parts.size):
        part = parts.members(which)
        inner = ChannelProgram(program.costs[part], program.budgets[np.ix_(part, part)])
        begin = None if start is None else start[part]
        found = _solve_part(inner, tolerance, should_stop, progress, columns, begin)
        channel[part] = found.channel
        rounds += found.iterations
        if found.status is not Status.OPTIMAL:
            status = found.status
        if found.dual is not None:
            prices[part] = found.dual.prices
            duals.append(replace(found.dual, first=part[found.dual.first], second=part[found.dual.second]))

    # 3. the duals of all parts, one after another
    dual = Dual(
        prices,
        np.concatenate([one.report for one in duals]),
        np.concatenate([one.first for one in duals]),
        np.concatenate([one.second for one in duals]),
        np.concatenate([one.multiplier for one in duals]),
    )
    return ChannelSolution(status, channel, dual, rounds, f"columns: {rounds} rounds")


def _solve_part(
    program: ChannelProgram,
    tolerance: float,
    should_stop: Callable[[], bool],
    progress: Progress,
    columns: int,
    start: Array | None,
) -> ChannelSolution:
    """Solve for rows that share no constraint with others but those the repair sees to."""
    # a single row, or a report that costs nothing anywhere: that report alone is an optimum
    free = int(program.costs.sum(axis=0).argmin())
    if program.coupling is None and (len(program.costs) == 1 or not program.costs[:, free].any()):
        channel = np.zeros(program.costs.shape)
        channel[:, free] = 1.0
        return ChannelSolution(Status.OPTIMAL, channel, Dual(np.zeros(len(channel))))
    with threadpool_limits(limits=1, user_api="blas"):  # its waiting threads would take the cores from the pricing
        generation = Rounds(program, tolerance, should_stop, progress, columns)
        if start is not None:
            generation.begin(start)
        return generation.run()
