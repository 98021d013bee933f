"""Clarabel, an interior-point method: the general solver of first choice."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import LinearProgram, Solution
from dxopt.solving.solvers.base import SOLVERS, Settings

_STATUS = {
    "Solved": Status.OPTIMAL,
    "AlmostSolved": Status.FEASIBLE,
    "MaxIterations": Status.FEASIBLE,
    "InsufficientProgress": Status.FEASIBLE,
    "MaxTime": Status.TIME_LIMIT,
    "CallbackTerminated": Status.INTERRUPTED,
    "PrimalInfeasible": Status.INFEASIBLE,
    "AlmostPrimalInfeasible": Status.INFEASIBLE,
}


@SOLVERS.register("clarabel")
class Clarabel:
    """Interior point with a sparse factorisation that finds much of the structure of channel programs."""

    name: ClassVar[str] = "clarabel"

    def solve(self, program: LinearProgram, settings: Settings) -> Solution:
        """Write the program as one over cones, solve it, and read primal and duals back."""
        import clarabel

        # 1. minimise q'x with b - M x in a product of cones: equal to 0, then 0 or more for inequalities and signs
        columns = len(program.cost)
        rows = program.rows
        equal = len(program.totals)
        signed = np.flatnonzero(program.signed)
        signs = sp.csc_array((-np.ones(len(signed)), (np.arange(len(signed)), signed)), shape=(len(signed), columns))
        matrix = sp.csc_matrix(sp.vstack([program.equalities, -program.inequalities, signs], format="csc"))
        bounds = np.concatenate([program.totals, -program.floors, np.zeros(len(signed))])
        cones = [
            clarabel.ZeroConeT(equal),  # pyright: ignore[reportAttributeAccessIssue]
            clarabel.NonnegativeConeT(rows + len(signed)),  # pyright: ignore[reportAttributeAccessIssue]
        ]

        # 2. settings
        options = clarabel.DefaultSettings()  # pyright: ignore[reportAttributeAccessIssue]
        options.verbose = False
        options.tol_gap_abs = options.tol_gap_rel = options.tol_feas = settings.accuracy
        options.max_iter = 1000
        if settings.time_limit is not None:
            options.time_limit = max(settings.time_limit, 1e-3)

        # 3. solve, with progress and stops
        solver = clarabel.DefaultSolver(  # pyright: ignore[reportAttributeAccessIssue]
            sp.csc_matrix((columns, columns)), program.cost, matrix, bounds, cones, options
        )

        def each_iteration(info: Any) -> bool:
            settings.progress(info.iterations, info.cost_primal)
            return settings.should_stop()

        solver.set_termination_callback(each_iteration)
        found = solver.solve()

        # 4. read the answer; duals of equalities have the opposite sign here
        status = _STATUS.get(str(found.status), Status.FAILED)
        primal = np.array(found.x)
        dual = np.array(found.z)
        if not (np.isfinite(primal).all() and np.isfinite(dual).all()):
            return Solution(Status.FAILED, message=f"clarabel: {found.status}, not finite")
        return Solution(
            status,
            primal,
            -dual[:equal],
            np.maximum(dual[equal : equal + rows], 0.0),
            iterations=found.iterations,
            message=f"clarabel: {found.status}",
        )
