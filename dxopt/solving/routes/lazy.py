"""Solve a channel program by linear programs with few pairs: start sparse, add what is violated. Exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.tropical import product
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution, LinearProgram, Rows, Solution
from dxopt.solving.reductions.spanner import greedy_spanner

CORE_DILATION = 1.15
SPARSE_DEGREE = 12
FAR = 30.0
"""Pairs of a larger budget are left to the repair."""
BLOCK_CELLS = 1_000_000

LinearSolve = Callable[[LinearProgram], Solution]


def solve_lazily(
    program: ChannelProgram, solve: LinearSolve, tolerance: float, max_rounds: int = 60
) -> ChannelSolution:
    """Solve with a core of pairs, then with those that the closure of each column finds violated, until none is.

    The core is a greedy spanner and every pair with the reported point itself; where at most 12 pairs a point are
    left anyway, all of them. A pair of budget above 30 is left to the repair (its cost is e^-30). Each round is a
    relaxation, so its dual proves a bound, and a run that is stopped keeps the last round that was finished.

    Parameters
    ----------
    program : ChannelProgram
    solve : callable
        Solves one linear program.
    tolerance : float
        Rounds end when repairing the violations would cost less than a tenth of this, relative to the value.
    """
    relevant = program.with_budgets(np.where(program.budgets <= FAR, program.budgets, np.inf))
    rows = _core(relevant)
    everything = len(program.pairs[0]) * program.costs.shape[1]
    best = ChannelSolution(Status.FAILED, None, None)
    iterations = 0
    rounds = 0
    while rounds < max_rounds:
        # 1. solve with the pairs there are: a relaxation, so that its dual bounds the optimum
        rounds += 1
        found = solve(LinearProgram.of(relevant, rows))
        iterations += found.iterations
        stopped = found.status in (Status.INTERRUPTED, Status.TIME_LIMIT, Status.FAILED)
        if found.primal is None or (stopped and best.channel is not None):
            best = ChannelSolution(found.status, best.channel, best.dual, iterations, found.message)
            break
        solved = ChannelSolution.read(program, found)
        best = replace(solved, dual=_dual(relevant, rows, found), iterations=iterations)
        if stopped or solved.channel is None:
            break
        # 2. add the pairs that the channel violates most, until repairing it costs next to nothing
        missing, cost = _violated(relevant, solved.channel)
        allowed = 0.1 * tolerance * abs(float((program.costs * solved.channel).sum()))
        if not len(missing) or cost <= (allowed if program.coupling is None else 0.01 * tolerance):
            break
        rows = rows.joined(missing)
    note = f"{rounds} round{'s' if rounds > 1 else ''}; rows of the linear program"
    record = AppliedReduction("lazy pairs", True, everything, len(rows), note)
    return replace(best, reductions=(record,))


def _core(program: ChannelProgram) -> Rows:
    """Return the pairs to begin with: a spanner, and in each report the pairs with the reported point itself."""
    size, reports = program.costs.shape
    first, second = program.pairs
    if len(first) <= SPARSE_DEGREE * size:
        return Rows.everywhere(program)
    spanner = greedy_spanner(program.budgets, CORE_DILATION).relax(program)
    rows = Rows.everywhere(spanner)
    if reports == size:
        others = np.isinf(spanner.budgets[first, second])
        first = first[others]
        second = second[others]
        rows = rows.joined(Rows(first, first, second)).joined(Rows(second, first, second))
    return rows


def _dual(program: ChannelProgram, rows: Rows, found: Solution) -> Dual | None:
    """Return the multipliers of a linear program's rows, with the symmetric scale of the rows undone."""
    if found.equality_dual is None or found.inequality_dual is None:
        return None
    used = found.inequality_dual[: len(rows)] > 0
    report = rows.report[used]
    first = rows.first[used]
    second = rows.second[used]
    unscaled = found.inequality_dual[: len(rows)][used] * np.exp(program.budgets[first, second] / 2)
    return Dual(found.equality_dual, report, first, second, unscaled)


def _violated(program: ChannelProgram, channel: NDArray[np.float64]) -> tuple[Rows, float]:
    """Return the worst violated pair into each entry, and the cost of raising all entries to their closure."""
    factors = np.exp(-program.budgets)
    np.fill_diagonal(factors, 0.0)
    highest = product(factors.T, channel)
    lifted = np.maximum(channel, highest)
    second, report = np.nonzero(highest > channel * (1 + 1e-7) + 1e-10)
    excess = float((lifted.sum(axis=1) - 1).max(initial=0.0))
    cost = float((program.costs * (lifted - channel)).sum()) + excess
    return Rows(report, _sources(factors, channel, report, second), second), cost


def _sources(
    factors: NDArray[np.float64], channel: NDArray[np.float64], report: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the points that pull most at some entries, in blocks of memory."""
    into = np.ascontiguousarray(factors.T)
    columns = np.ascontiguousarray(channel.T)
    step = max(1, BLOCK_CELLS // len(factors))
    blocks = (slice(start, start + step) for start in range(0, len(second), step))
    found = [(into[second[block]] * columns[report[block]]).argmax(axis=1) for block in blocks]
    return np.concatenate([np.zeros(0, np.int64), *found])
