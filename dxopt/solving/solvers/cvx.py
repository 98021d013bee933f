"""Any other solver that cvxpy has installed, for cross-checks."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import LinearProgram, Solution
from dxopt.solving.solvers.base import SOLVERS, THROUGH_CVXPY, Settings


class Cvx:
    """A solver reached through cvxpy with its own default settings.

    It can only be stopped from outside: cvxpy passes no callback on, so nothing is kept of a stopped solve.
    """

    name: ClassVar[str]

    def solve(self, program: LinearProgram, settings: Settings) -> Solution:
        """Solve the program through cvxpy; a failure is a status of the solution."""
        import cvxpy as cp

        # 1. the program in terms of cvxpy
        x = cp.Variable(len(program.cost))
        sums = cp.Zero(program.equalities @ x - program.totals)
        private = cp.NonNeg(program.inequalities @ x - program.floors)
        rows: list[cp.Constraint] = [sums]
        if program.rows:
            rows.append(private)
        if program.signed.any():
            rows.append(cp.NonNeg(x[np.flatnonzero(program.signed)]))
        problem = cp.Problem(cp.Minimize(program.cost @ x), rows)

        # 2. solve it
        try:
            problem.solve(solver=self.name.upper())
        except cp.SolverError as error:
            return Solution(Status.FAILED, message=f"{self.name}: {str(error).splitlines()[0]}")

        # 3. read the answer; duals of equalities have the opposite sign there
        status = {
            cp.OPTIMAL: Status.OPTIMAL,
            cp.OPTIMAL_INACCURATE: Status.FEASIBLE,
            cp.INFEASIBLE: Status.INFEASIBLE,
        }.get(problem.status, Status.FAILED)
        if x.value is None:
            return Solution(status, message=f"{self.name}: {problem.status}")
        return Solution(
            status,
            np.asarray(x.value),
            -_flat(sums.dual_value),
            np.maximum(_flat(private.dual_value), 0.0) if program.rows else np.zeros(0),
            message=f"{self.name}: {problem.status}",
        )


def is_installed(name: str) -> bool:
    """Tell whether cvxpy finds the solver."""
    import cvxpy as cp

    return name.upper() in cp.installed_solvers()


def _flat(multipliers: Any) -> NDArray[np.float64]:
    return np.array(multipliers, dtype=float).ravel()


for _name in THROUGH_CVXPY:
    SOLVERS.register(_name)(type(_name.capitalize(), (Cvx,), {"name": _name}))
