"""Column generation on a compiled problem, with progress in units of the problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.attempts import Options, Start
from dxopt.certify import gap
from dxopt.formulations.contract import Compiled
from dxopt.formulations.utility import Utility
from dxopt.program import ChannelSolution, Dual, Status
from dxopt.reductions.closure import shortened
from dxopt.reductions.record import Reduction

MARGIN = 7e-7
"""How much of the gap is left to the repair at most."""


def solve_by_columns(compiled: Compiled, options: Options) -> tuple[ChannelSolution, Dual | None, list[Reduction]]:
    """A channel, the dual on the classes of points, and the symmetry that was used."""
    from dxopt.reductions import symmetry
    from dxopt.solvers.columns import Memory, shared_rows, solve_columns

    sign = compiled.problem.objective.sign

    def tell(rounds: int, value: float, bound: float) -> None:
        low, high = (compiled.offset + sign * compiled.scale * number for number in (bound, value))
        known = f"{high:.8g}, bound {low:.8g}, gap {gap(high, low):.1e}" if np.isfinite(high) else f"bound {low:.8g}"
        options.progress(f"columns, round {rounds}: {known}")

    def stopped() -> bool:
        return options.stop.requested

    options.progress("looking for symmetry")
    closure = None if compiled.partition.trivial else shortened(compiled.program)
    whole = compiled.program if closure is None else closure.program
    found = None if whole.coupling is not None else symmetry.find(whole, stopped)
    program = whole if found is None else found.reduce(whole)
    points, reports = program.costs.shape
    rows = points if program.classes is None else program.classes.size
    memory = Memory.of(points, reports, rows + shared_rows(program).expected)
    amount = f"{memory.needed / 1e9:.2g} GB of memory"
    if not memory.columns:
        message = f"needs {amount}, and may use {memory.there / 1e9:.2g} GB"
        return ChannelSolution(Status.FAILED, None, None, message=message), None, []
    options.progress(f"columns, up to {amount}")
    tolerance, start = max(0.3 * options.tolerance, options.tolerance - MARGIN), _prices(compiled, options.start)
    solution = solve_columns(program, tolerance, stopped, tell, memory.columns, start)
    if found is not None:
        solution = found.lift(solution)
    dual = solution.dual if closure is None or solution.dual is None else closure.dual(solution.dual)
    return solution, dual, [] if found is None else [found.record()]


def _prices(compiled: Compiled, start: Start | None) -> NDArray[np.float64] | None:
    """The row prices of an earlier answer. Programs are scaled to an optimum of about 1, so they suit another one."""
    if start is None:
        return None
    before = Utility().compile(start.problem)
    if not np.array_equal(before.partition.index, compiled.partition.index):
        return None
    return (before.partition.totals(start.dual.prices[:, None])[:, 0] - before.shift) / before.scale
