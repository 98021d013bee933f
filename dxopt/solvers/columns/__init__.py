"""Column generation on the cone: see `generation`."""

from dxopt.solvers.columns.generation import solve_columns
from dxopt.solvers.columns.memory import Memory

__all__ = ["Memory", "solve_columns"]
