"""HiGHS through highspy: interior point without crossover, simplex where that fails."""

from __future__ import annotations

import time
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from dxopt.numerics.highs import highs_model
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import LinearProgram, Solution
from dxopt.solving.solvers.base import SOLVERS, Settings

FINEST = 1e-9
"""The finest accuracy: beyond, IPX tends to end without an optimum, and the simplex method takes over for minutes."""
COARSEST = 1e-2
"""The coarsest accuracy that is passed on."""
MOST_ITERATIONS = 1000
"""Near the smallest doubles IPX may never end."""


@SOLVERS.register("highs")
class Highs:
    """HiGHS: IPX without crossover; the dual simplex method if IPX ends without an optimum."""

    name: ClassVar[str] = "highs"

    def solve(self, program: LinearProgram, settings: Settings) -> Solution:
        """Solve by the interior-point method, or if that finds no optimum, by the simplex method in the time left."""
        start = time.perf_counter()
        solution = _run(program, settings, "ipm", settings.time_limit)
        if solution.status in (Status.FEASIBLE, Status.FAILED):
            limit = settings.time_limit
            left = None if limit is None else limit - (time.perf_counter() - start)
            if left is None or left > 0:
                second = _run(program, settings, "simplex", left)
                solution = second if second.primal is not None else solution
        return solution


def _run(program: LinearProgram, settings: Settings, method: str, time_limit: float | None) -> Solution:
    """Solve a program by one method of HiGHS, `ipm` or `simplex`."""
    import highspy

    # 1. options and the model
    highs = highspy.Highs()
    highs.silent()
    accuracy = min(max(settings.accuracy, FINEST), COARSEST)
    highs.setOptionValue("solver", method)
    if method == "ipm":  # may be HiPO (highspy-extras); a HiGHS that refuses `ipx` is older, and only has IPX
        highs.setOptionValue("solver", "ipx")
    highs.setOptionValue("run_crossover", "off")
    highs.setOptionValue("primal_feasibility_tolerance", accuracy)
    highs.setOptionValue("dual_feasibility_tolerance", accuracy)
    highs.setOptionValue("ipm_optimality_tolerance", accuracy)
    highs.setOptionValue("ipm_iteration_limit", MOST_ITERATIONS)
    if time_limit is not None:
        highs.setOptionValue("time_limit", max(time_limit, 1e-3))
    # all entries are bounded below by 0, also where the program does not say so: rows imply it there
    matrix = sp.csc_array(sp.vstack([program.equalities, program.inequalities], format="csc"))
    lowest = np.concatenate([program.totals, program.floors])
    highest = np.concatenate([program.totals, np.full(program.rows, np.inf)])
    highs.passModel(highs_model(program.cost, matrix, lowest, highest))

    # 2. progress and stops
    def each_iteration(event: Any) -> None:
        out = event.data_out
        iterations = out.ipm_iteration_count if method == "ipm" else out.simplex_iteration_count
        settings.progress(iterations, out.objective_function_value)
        if settings.should_stop():
            event.interrupt()

    highs.cbIpmInterrupt += each_iteration
    highs.cbSimplexInterrupt += each_iteration

    # 3. solve
    highs.run()
    return _read(highs, highspy, program)


def _read(highs: Any, highspy: Any, program: LinearProgram) -> Solution:
    """Return the solution that HiGHS ended with; only the parts of it that are there and finite."""
    # 1. how it ended
    names = highspy.HighsModelStatus
    ended = highs.getModelStatus()
    status = {
        names.kOptimal: Status.OPTIMAL,
        names.kInfeasible: Status.INFEASIBLE,
        names.kInterrupt: Status.INTERRUPTED,
        names.kTimeLimit: Status.TIME_LIMIT,
        names.kUnknown: Status.FEASIBLE,
        names.kIterationLimit: Status.FEASIBLE,
    }.get(ended, Status.FAILED)
    message = f"highs: {highs.modelStatusToString(ended)}"
    info = highs.getInfo()
    iterations = max(info.ipm_iteration_count, 0) + max(info.simplex_iteration_count, 0)

    # 2. the entries and the duals, equalities first
    found = highs.getSolution()
    primal = np.array(found.col_value)
    dual = np.array(found.row_dual)
    equal = len(program.totals)
    usable = len(primal) == len(program.cost) and np.isfinite(primal).all() and bool(found.value_valid)
    duals = usable and bool(found.dual_valid) and np.isfinite(dual).all()
    return Solution(
        status,
        primal if usable else None,
        dual[:equal] if duals else None,
        np.maximum(dual[equal:], 0.0) if duals else None,
        iterations=int(iterations),
        message=message,
    )
