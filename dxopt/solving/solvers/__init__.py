"""Solvers of linear programs, by name. Each runs in a process of its own (`worker`), so that it can be stopped."""

from __future__ import annotations

from dxopt.errors import SpecError
from dxopt.solving.solvers.base import SOLVERS, THROUGH_CVXPY, Settings, Solver
from dxopt.solving.solvers.plugged import SOLVER_NAMES, SOLVER_PLUGINS


def require_solver(name: str) -> None:
    """Raise SpecError unless `name` is a solver that is installed, or that of a plug-in which loads."""
    if name not in SOLVERS:
        if not SOLVER_PLUGINS.offered(name):
            raise SpecError("solver", f"there is no {name!r}", SOLVER_NAMES.fix(name))
        SOLVER_PLUGINS.find(name)
        return
    if name in THROUGH_CVXPY:
        from dxopt.solving.solvers.cvx import is_installed

        if not is_installed(name):
            raise SpecError("solver", f"{name} is not installed", "install it, or use clarabel or highs")


__all__ = ["SOLVERS", "SOLVER_PLUGINS", "Settings", "Solver", "require_solver"]
