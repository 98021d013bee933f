"""Solvers on a compiled problem, with progress in units of the problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

import numpy as np

from dxopt.numerics.kernels import load
from dxopt.proofs.certify import gap
from dxopt.runtime import cluster as clusters
from dxopt.runtime import devices
from dxopt.runtime.stopping import Status
from dxopt.solving.attempts import Options, Start
from dxopt.solving.formulations.contract import Compiled
from dxopt.solving.formulations.expected_loss import ExpectedLossProgram
from dxopt.solving.programs.program import ChannelSolution, LinearProgram, Solution
from dxopt.solving.reductions.closure import ShortestPaths
from dxopt.solving.reductions.contract import reduce
from dxopt.solving.reductions.geodesic import GeodesicPairs
from dxopt.solving.routes.closed_form import ClosedForms
from dxopt.solving.routes.lazy import solve_lazily
from dxopt.solving.routes.limits import COLUMNS
from dxopt.solving.solvers import worker

if TYPE_CHECKING:
    from dxopt.solving.solvers.columns import Algebra, Earlier, Pricer

Stage = Literal["mechanism", "bound"]
"""What one of two programs in place of a problem is solved for."""

FINEST = 1e-10
MARGIN = 0.9
"""The share of the tolerance that columns may use: the repair of their channels costs about 1e-13 of the value."""
_COLUMNS = "dxopt.solving.solvers.columns"


def kind(solver: str) -> str:
    """Name the kind of a solver, for the route of a candidate."""
    return "column generation" if solver == COLUMNS else "linear program"


def solve_program(
    compiled: Compiled, solver: str, options: Options, simple: ClosedForms | None = None
) -> ChannelSolution:
    """Solve the program of a compiled problem, made smaller as suits the solver."""
    if solver == COLUMNS:
        return solve_by_columns(compiled, options, simple)
    reduced = reduce(compiled.smaller, GeodesicPairs())
    return reduced.lift(solve_lazily(reduced.smaller, solve_linear(compiled, solver, options), options.tolerance))


def solve_by_columns(
    compiled: Compiled,
    options: Options,
    simple: ClosedForms | None = None,
    accuracy: float | None = None,
    stage: Stage | None = None,
) -> ChannelSolution:
    """Column generation on what is left after shortest paths and symmetry.

    Where it is stopped, the best mechanism in closed form is mixed with its columns. The accuracy is that of the
    options by default. At a stage the program is another one than the problem: only what it is solved for is told.
    """
    from dxopt.solving.reductions.symmetry import Symmetry
    from dxopt.solving.solvers.columns import (
        ColumnSettings,
        Known,
        Memory,
        computing,
        shared_rows,
        solve_columns,
        stop_seconds,
    )

    sign = compiled.problem.objective.sign
    begin = f"{stage}, " if stage else ""
    if simple is not None:
        simple.ahead(options.stop)

    def tell(rounds: int, value: float, bound: float) -> None:
        low, high = (compiled.offset + sign * compiled.scale * number for number in (bound, value))
        best = high if simple is None else sign * min(sign * high, sign * simple.value)
        told = [f"{best:.8g}"] if np.isfinite(best) and stage != "bound" else []
        told += [f"bound {low:.8g}"] if np.isfinite(low) and stage != "mechanism" else []
        told += [f"gap {gap(best, low):.1e}"] if len(told) == 2 else []
        options.progress(f"{begin}column generation, round {rounds}: {', '.join(told)}")

    def stopped() -> bool:
        return options.stop.requested

    # 1. the first solve after installation compiles; one that is stopped meanwhile does not wait for all of it
    if not load(_COLUMNS, stopped):
        return ChannelSolution(Status.FAILED, None, None, message="stopped while its loops were compiled")

    # 2. make the program smaller; column generation relies on the triangle inequality, which merging may have broken,
    #    and which the edges of a spanner do not have
    options.progress("looking for symmetry")
    metric = compiled.partition.trivial and stage is None
    reduced = reduce(compiled.smaller, *(() if metric else (ShortestPaths(),)), Symmetry(stopped))
    program = reduced.smaller

    # 3. see that it fits into memory
    points, reports = program.costs.shape
    rows = points if program.classes is None else program.classes.size
    memory = Memory.of(points, reports, rows + shared_rows(program).expected)
    amount = f"{memory.needed / 1e9:.2g} GB of memory"
    if not memory.columns:
        message = f"needs {amount}, and may use {memory.there / 1e9:.2g} GB"
        return ChannelSolution(Status.FAILED, None, None, message=message)

    # 4. solve it
    options.progress(f"{begin}column generation, up to {amount}")
    tolerance = MARGIN * options.tolerance if accuracy is None else accuracy
    start = _earlier(compiled, options.start, smaller=bool(reduced.records))
    known: Known | None = None
    if simple is not None and compiled.partition.trivial and not reduced.records:
        grace = stop_seconds(points, reports)
        known = Known(simple.best().before, lambda: simple.best(grace).before)
    settings = ColumnSettings(tolerance, stopped, tell, memory.columns, start, known, _pricer(options))
    with computing(_algebra(options)):
        return reduced.lift(solve_columns(program, settings))


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


def _algebra(options: Options) -> Algebra:
    """Return the device that is in use, or this machine."""
    from dxopt.solving.solvers.columns import HOST, OnDevice

    device = devices.current()
    return HOST if device is None else OnDevice(device, options.progress)


def _earlier(compiled: Compiled, start: Start | None, *, smaller: bool) -> Earlier | None:
    """Return an earlier answer as column generation needs it; without its channel for a `smaller` program."""
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
    accuracy: float | Callable[[int], float] | None = None,
    stage: str = "",
) -> Callable[[LinearProgram], Solution]:
    """Return a solver for the linear programs of a compiled problem, each a round of its own, that tells how it goes.

    The accuracy, which may depend on the round, is 10^-4 of the tolerance by default, and no finer than 10^-10.
    """
    rounds = 0

    def aim() -> float:
        if callable(accuracy):
            return accuracy(rounds)
        return max(FINEST, 1e-4 * options.tolerance) if accuracy is None else accuracy

    def tell(iterations: int, value: float) -> None:
        options.progress(f"{stage}{solver}, round {rounds}, iteration {iterations}")

    def solve(program: LinearProgram) -> Solution:
        nonlocal rounds
        rounds += 1
        options.progress(f"{stage}{solver}, round {rounds}: {program.rows:,} rows")
        return worker.solve(solver, program, aim(), options.stop, tell)

    return solve
