"""Solvers on a compiled problem, with progress in units of the problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.kernels import load
from dxopt.numerics.tropical import product
from dxopt.proofs.applied import AppliedReduction
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import gap
from dxopt.proofs.duals import Dual
from dxopt.runtime import cluster as clusters
from dxopt.runtime import devices
from dxopt.runtime.stopping import Status
from dxopt.solving.formulations.base import Compiled
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.options import Options, Start
from dxopt.solving.programs.program import ChannelProgram, ChannelSolution, LinearProgram, Rows, Solution
from dxopt.solving.reductions.chain import Reduced, geodesic_pairs, reduce, shortest_paths
from dxopt.solving.reductions.spanner import greedy_spanner
from dxopt.solving.routes.closed_form import MIXTURE, ClosedForms
from dxopt.solving.routes.expected import fewer_instead, rows_in_reach, told_before
from dxopt.solving.routes.limits import COLUMNS
from dxopt.solving.solvers import worker

if TYPE_CHECKING:
    from dxopt.solving.solvers.columns import Earlier, Pricer

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


CORE_DILATION = 1.15
"""Dilation of the spanner that rounds begin with."""
SPARSE_DEGREE = 12
"""Pairs a point up to which rounds begin with all of them."""
FAR = 30.0
"""Pairs of a larger budget are left to the repair."""
BLOCK_CELLS = 1_000_000
"""Entries that are held at once in the search for sources."""
_MOST_ROUNDS = 60

LinearSolve = Callable[[LinearProgram], Solution]


def solve_lazily(program: ChannelProgram, solve: LinearSolve, tolerance: float) -> ChannelSolution:
    """Solve with a core of pairs, then with those that the closure of each column finds violated, until none is.

    The core is a greedy spanner and every pair with the reported point itself; where at most 12 pairs a point are
    left anyway, all of them. A pair of budget above 30 is left to the repair (its cost is e^-30). Each round is a
    relaxation, so its dual proves a bound, and a run that is stopped keeps the last round that was finished. Rounds
    end when repairing the violations would cost less than a tenth of the tolerance, relative to the value.
    """
    relevant = program.with_budgets(np.where(program.budgets <= FAR, program.budgets, np.inf))
    rows = _core_pairs(relevant)
    everything = len(program.pairs[0]) * program.costs.shape[1]
    best = ChannelSolution(Status.FAILED, None, None)
    iterations = 0
    rounds = 0
    while rounds < _MOST_ROUNDS:
        # 1. solve with the pairs there are: a relaxation, so that its dual bounds the optimum
        rounds += 1
        found = solve(LinearProgram.of(relevant, rows))
        iterations += found.iterations
        stopped = found.status in (Status.INTERRUPTED, Status.TIME_LIMIT, Status.FAILED)
        if found.primal is None or (stopped and best.channel is not None):
            best = ChannelSolution(found.status, best.channel, best.dual, iterations, found.message)
            break
        solved = ChannelSolution.read(program, found)
        best = replace(solved, dual=_unscaled_dual(relevant, rows, found), iterations=iterations)
        if stopped or solved.channel is None:
            break
        # 2. add the pairs that the channel violates most, until repairing it costs next to nothing
        missing, cost = _violated_pairs(relevant, solved.channel)
        # the costs of coupled programs are not all in `costs`; they are scaled to an optimum of about 1
        allowed = 0.1 * tolerance * abs(float((program.costs * solved.channel).sum()))
        if not len(missing) or cost <= (allowed if program.coupling is None else 0.01 * tolerance):
            break
        rows = rows.joined(missing)
    note = f"{rounds} round{'s' if rounds > 1 else ''}; rows of the linear program"
    record = AppliedReduction("lazy pairs", True, everything, len(rows), note)
    return replace(best, reductions=(record,))


def _core_pairs(program: ChannelProgram) -> Rows:
    """Return the pairs to begin with: a spanner, and in each report the pairs with the reported point itself."""
    size, reports = program.costs.shape
    first, second = program.pairs
    if len(first) <= SPARSE_DEGREE * size:
        return Rows.everywhere(program)
    spanner = greedy_spanner(program.budgets, CORE_DILATION).relax(program)
    rows = Rows.everywhere(spanner)
    if reports == size:  # then report a is taken for point a; if it is not, the core is only a worse one
        others = np.isinf(spanner.budgets[first, second])
        first = first[others]
        second = second[others]
        rows = rows.joined(Rows(first, first, second)).joined(Rows(second, first, second))
    return rows


def _unscaled_dual(program: ChannelProgram, rows: Rows, found: Solution) -> Dual | None:
    """Return the multipliers of a linear program's rows, with the symmetric scale of the rows undone."""
    if found.equality_dual is None or found.inequality_dual is None:
        return None
    used = found.inequality_dual[: len(rows)] > 0
    report = rows.report[used]
    first = rows.first[used]
    second = rows.second[used]
    unscaled = found.inequality_dual[: len(rows)][used] * np.exp(program.budgets[first, second] / 2)
    return Dual(found.equality_dual, report, first, second, unscaled)


def _violated_pairs(program: ChannelProgram, channel: Array) -> tuple[Rows, float]:
    """Return the worst violated pair into each entry, to be added, and the cost of a repair without any of them.

    That is what raising all entries to their closure costs, and the most that a row then exceeds 1 by.
    """
    factors = np.exp(-program.budgets)
    np.fill_diagonal(factors, 0.0)
    highest = product(factors.T, channel)
    lifted = np.maximum(channel, highest)
    second, report = np.nonzero(highest > channel * (1 + 1e-7) + 1e-10)  # by more than solvers' rounding
    excess = float((lifted.sum(axis=1) - 1).max(initial=0.0))
    cost = float((program.costs * (lifted - channel)).sum()) + excess
    return Rows(report, _strongest_sources(factors, channel, report, second), second), cost


def _strongest_sources(factors: Array, channel: Array, report: Indices, second: Indices) -> Indices:
    """Return for each of some entries (`report`, `second`) the point whose constraint raises it most."""
    into = np.ascontiguousarray(factors.T)
    columns = np.ascontiguousarray(channel.T)
    step = max(1, BLOCK_CELLS // len(factors))
    blocks = (slice(start, start + step) for start in range(0, len(second), step))
    found = [(into[second[block]] * columns[report[block]]).argmax(axis=1) for block in blocks]
    return np.concatenate([np.zeros(0, np.int64), *found])


Stage = Literal["mechanism", "bound"]
"""Purpose of one of the two programs that take the place of a problem on a spanner."""

FINEST = 1e-10
"""The finest accuracy that general solvers are asked for."""
_MARGIN = 1e-5
_SHARE = 0.1
"""The part of the tolerance left to repairs, which cost about 1e-13 of the value; at most this share of it."""
_ROUGH = 1e-3
"""The gap to which programs of fewer rows are solved, whose bounds lack more than that."""
_COLUMNS = "dxopt.solving.solvers.columns"


def kind_of_solver(solver: str) -> str:
    """Name the kind of a solver, for the route of a candidate."""
    return "column generation" if solver == COLUMNS else "linear program"


def candidates_of(
    compiled: Compiled, solution: ChannelSolution, solver: str, options: Options
) -> tuple[Candidate, ...]:
    """Return the candidate of a solution; where there is none, note why."""
    if solution.channel is None:
        options.refused[solver] = solution.message or str(solution.status)
        return ()
    return (replace(compiled.lift(solution), route=f"{kind_of_solver(solver)}, {solver}"),)


def solve_program(
    compiled: Compiled, solver: str, options: Options, simple: ClosedForms | None = None
) -> ChannelSolution:
    """Solve the program of a compiled problem by column generation, or by a general solver without implied pairs."""
    if solver == COLUMNS:
        return solve_by_columns(compiled, options, simple)
    reduced = reduce(compiled.smaller, geodesic_pairs)
    return reduced.lift(solve_lazily(reduced.smaller, solve_linear(compiled, solver, options), options.tolerance))


def solve_by_columns(
    compiled: Compiled,
    options: Options,
    simple: ClosedForms | None = None,
    accuracy: float | None = None,
    stage: Stage | None = None,
) -> ChannelSolution:
    """Solve by column generation what is left after shortest paths and symmetry.

    Where it is stopped, the best mechanism in closed form is mixed with its columns. The accuracy is that of the
    options by default. At a stage the program is another one than the problem: only what it is solved for is told.
    """
    from dxopt.solving.reductions.symmetry import by_symmetry
    from dxopt.solving.solvers.columns import (
        HOST,
        MIXTURE_BYTES,
        ColumnSettings,
        Known,
        Memory,
        OnDevice,
        best_mixture,
        computing,
        shared_rows,
        solve_columns,
        stop_seconds,
    )

    few: Reduced[ChannelProgram] | None = None
    sign = compiled.problem.objective.sign
    begin = f"{stage}, " if stage else ""
    if simple is not None:
        simple.make_ahead(options.stop)

    def tell(rounds: int, value: float, bound: float) -> None:
        """Tell value, bound and gap of a round in units of the problem; at a stage only what that proves."""
        value = np.inf if few is not None else value  # those of fewer rows are none of the problem
        low, high = (compiled.offset + sign * compiled.scale * number for number in (bound, value))
        # what a stop would deliver: the incumbent, or a mechanism in closed form where that is better
        best = high if simple is None else sign * min(sign * high, sign * simple.value)
        told = [f"{best:.8g}"] if np.isfinite(best) and stage != "bound" else []
        told += [f"bound {low:.8g}"] if np.isfinite(low) and stage != "mechanism" else []
        told += [f"gap {gap(best, low):.1e}"] if len(told) == 2 else []
        options.progress(f"{begin}column generation, round {rounds}: {', '.join(told)}")

    def note(line: str) -> None:
        options.progress(f"{begin}column generation, {line}")

    def stopped() -> bool:
        return options.stop.requested

    # 1. the first solve after installation compiles; one that is stopped meanwhile does not wait for all of it
    if not load(_COLUMNS, stopped):
        return ChannelSolution(Status.FAILED, None, None, message="stopped while its loops were compiled")

    # 2. make the program smaller; column generation relies on the triangle inequality, which merging of points that
    #    are not at one place may have broken, and which the edges of a spanner do not have
    options.progress("looking for symmetry")
    metric = compiled.alike and stage is None
    symmetry = partial(by_symmetry, should_stop=stopped)
    reduced = reduce(compiled.smaller, *(() if metric else (shortest_paths,)), symmetry)
    program = reduced.smaller

    # 3. see that it fits into memory, and into the time there is; or a bound from fewer rows does
    points, reports = program.costs.shape
    rows = points if program.classes is None else program.classes.size
    memory = Memory.of(points, reports, rows + shared_rows(program).expected)
    count = points
    known = None
    if simple is not None and stage is None and program.classes is None and program.coupling is None:
        fits = memory.columns > 0
        count = rows_in_reach(points, reports, options.stop.remaining(), fits=fits)
        known = simple.to_mix if simple.mixed and fits else None
    if count < points:
        memory = Memory.of(count, reports, count)
    needed = max(memory.needed, 0 if known is None else MIXTURE_BYTES * points**2)
    amount = f"{needed / 1e9:.2g} GB of memory"
    if not memory.columns:
        message = f"needs {amount}, and may use {memory.there / 1e9:.2g} GB"
        return ChannelSolution(Status.FAILED, None, None, message=message)
    space = compiled.problem.space
    advice = fewer_instead(space.distances, reports, space.unit)
    note(f"{told_before(points, reports, amount)}{advice}")
    if count < points:
        from dxopt.solving.reductions.fewer_rows import fewer_rows

        note(f"a bound from {count:,} of {points:,} rows")
        few = reduce(program, partial(fewer_rows, count=count))

    # 4. solve it
    tolerance = options.tolerance - min(_MARGIN, _SHARE * options.tolerance) if accuracy is None else accuracy
    settings = ColumnSettings(tolerance, stopped, tell, note, memory.columns, pricer=_pricer(options))
    device = devices.current()
    with computing(HOST if device is None else OnDevice(device, options.progress)):
        chosen = compiled.partition.representatives
        if simple is not None and known is not None:
            note("mixing kernels")
            mixed = best_mixture(program, known[chosen], stopped)
            if mixed is not None:
                mixed = compiled.partition.expand(mixed)
                simple.keep_better(MIXTURE, mixed, mixed)
        if few is not None and simple is not None:
            rough = replace(settings, bound_only=True, tolerance=_ROUGH)
            found = few.lift(solve_columns(few.smaller, rough))
            return reduced.lift(replace(found, channel=simple.best().channel[chosen]))
        start = _earlier_answer(compiled, options.start, smaller=bool(reduced.records))
        private: Known | None = None
        if simple is not None and compiled.partition.trivial and not reduced.records:  # points are the problem's
            grace = stop_seconds(points, reports)
            private = Known(simple.best().before, lambda: simple.best(grace).before)
        return reduced.lift(solve_columns(program, replace(settings, start=start, known=private)))


def _pricer(options: Options) -> Pricer:
    """Return the workers of the cluster that is in use, or this machine."""
    from dxopt.solving.solvers.columns import OnWorkers
    from dxopt.solving.solvers.columns.forest import Forest

    cluster = clusters.current()
    if cluster is None:
        return Forest.price
    if not cluster.is_open:
        options.progress(f"opening the cluster {cluster.address}")
    return OnWorkers(cluster.client(), options.progress).price


def _earlier_answer(compiled: Compiled, start: Start | None, *, smaller: bool) -> Earlier | None:
    """Return an earlier answer in units of this program; without its channel for a `smaller` program.

    None where there is no answer, or its points are merged into other classes.
    """
    from dxopt.solving.solvers.columns import Earlier

    if start is None:
        return None
    before = ExpectedLossProgram().apply(start.problem)
    if not np.array_equal(before.partition.index, compiled.partition.index):
        return None
    prices = (before.partition.totals(start.dual.prices[:, None])[:, 0] - before.shift) / before.scale
    rows = compiled.partition.representatives
    return Earlier(prices, None if smaller else np.ascontiguousarray(start.mechanism.matrix[rows]))


def solve_linear(
    compiled: Compiled,
    solver: str,
    options: Options,
    accuracy: float | None = None,
    stage: str = "",
) -> Callable[..., Solution]:
    """Return a solver for the linear programs of a compiled problem, each a round of its own, that tells how it goes.

    The accuracy, which may be given for a round alone, is 10^-4 of the tolerance by default, and 10^-10 at finest.
    """
    rounds = 0
    usual = max(FINEST, 1e-4 * options.tolerance) if accuracy is None else accuracy

    def tell(iterations: int, value: float) -> None:
        options.progress(f"{stage}{solver}, round {rounds}, iteration {iterations}")

    def solve(program: LinearProgram, aim: float = usual) -> Solution:
        """Solve one program in the helper process, and tell which round it is."""
        nonlocal rounds
        rounds += 1
        options.progress(f"{stage}{solver}, round {rounds}: {program.rows:,} rows")
        return worker.solve(solver, program, aim, options.stop, tell)

    return solve
