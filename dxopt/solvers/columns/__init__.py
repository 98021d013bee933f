"""Column generation on the cone: see `generation`."""

from dxopt.solvers.columns.generation import solve_columns

__all__ = ["solve_columns"]
