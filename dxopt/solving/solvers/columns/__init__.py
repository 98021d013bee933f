"""Column generation on the cone of private columns: see `generation`."""

from dxopt.solving.solvers.columns.coupling_rows import shared_rows
from dxopt.solving.solvers.columns.forest import Pricer
from dxopt.solving.solvers.columns.generation import solve_columns
from dxopt.solving.solvers.columns.incumbent import (
    MIXTURE_BYTES,
    ColumnSettings,
    Earlier,
    Known,
    Memory,
    best_mixture,
    stop_seconds,
)
from dxopt.solving.solvers.columns.matrices import HOST, Algebra, computing
from dxopt.solving.solvers.columns.on_device import OnDevice
from dxopt.solving.solvers.columns.pricing_backend import OnWorkers

__all__ = [
    "HOST",
    "MIXTURE_BYTES",
    "Algebra",
    "ColumnSettings",
    "Earlier",
    "Known",
    "Memory",
    "OnDevice",
    "OnWorkers",
    "Pricer",
    "best_mixture",
    "computing",
    "shared_rows",
    "solve_columns",
    "stop_seconds",
]
