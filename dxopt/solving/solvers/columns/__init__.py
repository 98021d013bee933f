"""Column generation on the cone of private columns: see `generation`."""

from dxopt.solving.solvers.columns.generation import solve_columns
from dxopt.solving.solvers.columns.incumbent import Known, stop_seconds
from dxopt.solving.solvers.columns.memory import Memory
from dxopt.solving.solvers.columns.on_workers import OnWorkers
from dxopt.solving.solvers.columns.pricers import HERE, Pricer
from dxopt.solving.solvers.columns.shared import shared_rows

__all__ = ["HERE", "Known", "Memory", "OnWorkers", "Pricer", "shared_rows", "solve_columns", "stop_seconds"]
