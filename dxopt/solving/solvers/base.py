"""The interface of solvers of linear programs, their settings, and the table of their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from dxopt.runtime.registry import Registry
from dxopt.solving.programs.program import LinearProgram, Solution


@dataclass(frozen=True)
class Settings:
    """Accuracy and time of a solve, and its progress.

    Attributes
    ----------
    accuracy : float
        Relative gap and feasibility to aim at.
    time_limit : float or None
        Seconds.
    should_stop : callable
        Asked once an iteration; a solver that is to stop returns what it has.
    progress : callable
        Given (iterations, value) once an iteration.
    """

    accuracy: float = 1e-9
    time_limit: float | None = None
    should_stop: Callable[[], bool] = lambda: False
    progress: Callable[[int, float], None] = lambda iterations, value: None


class Solver(Protocol):
    """Minimises linear programs; the status of a solution is how far it got, also for an infeasible program."""

    name: ClassVar[str]

    def solve(self, program: LinearProgram, settings: Settings) -> Solution: ...


_HERE = "dxopt.solving.solvers"
THROUGH_CVXPY = (
    *("cbc", "copt", "cplex", "cuopt", "ecos", "glop", "glpk", "gurobi", "mosek"),
    *("osqp", "pdlp", "piqp", "proxqp", "qoco", "scip", "scipy", "scs", "xpress"),
)
SOLVERS: Registry[type[Solver]] = Registry(
    "solver",
    {
        "clarabel": f"{_HERE}.clarabel",
        "highs": f"{_HERE}.highs",
        **dict.fromkeys(THROUGH_CVXPY, f"{_HERE}.cvx"),
    },
)
