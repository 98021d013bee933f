"""Solvers of plug-ins: functions of a linear program, whose answers are looked at before anything is made of them."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.runtime.plugins import Found, OrPlugins, Plugins, error_text
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import LinearProgram, Solution
from dxopt.solving.solvers.base import SOLVERS, Settings, Solver

_OWN = ("auto", "columns", *SOLVERS)
SOLVER_PLUGINS = Plugins("solver", _OWN, "solve")
SOLVER_NAMES = OrPlugins(_OWN, SOLVER_PLUGINS)


def solver_named(name: str) -> Solver:
    """Return a solver of dxopt or of a plug-in; SpecError where there is none, or it fails to load."""
    return SOLVERS.get(name)() if name in SOLVERS else Plugged(SOLVER_PLUGINS.find(name))


class Plugged:
    """A solver of a plug-in: a function of a program and settings, or an object with that as `solve`.

    It returns the entries, a multiplier of each equality, and one of each inequality; None in the place of
    multipliers that it does not have, and None alone where it has no solution.
    """

    name: ClassVar[str] = "plug-in"

    def __init__(self, found: Found) -> None:
        self._found = found
        self._called = f"{found.plugin.name} of {found.plugin.where}"

    def solve(self, program: LinearProgram, settings: Settings) -> Solution:
        """Call the plug-in; keep what has the right shape and is finite. Without entries the status is FAILED."""
        try:
            answer = self._found.call(program, settings)
        except Exception as error:  # whatever a package of others raises
            return Solution(Status.FAILED, message=f"{self._called}: {error_text(error)}")
        if answer is None:
            return Solution(Status.FAILED, message=f"{self._called}: no solution")
        primal, prices, multipliers = answer
        entries = _finite_numbers(primal, len(program.cost))
        if entries is None:
            wrong = f"its solution is not {len(program.cost):,} finite numbers"
            return Solution(Status.FAILED, message=f"{self._called}: {wrong}")
        # an answer to a request to stop may be any solution, not the best one
        status = Status.FEASIBLE if settings.should_stop() else Status.OPTIMAL
        equal = _finite_numbers(prices, len(program.totals))
        private = _finite_numbers(multipliers, program.rows)
        if equal is None or private is None:
            return Solution(status, entries, message=f"{self._called}: no multipliers")
        return Solution(status, entries, equal, np.maximum(private, 0.0), message=self._called)


def _finite_numbers(given: Any, size: int) -> NDArray[np.float64] | None:
    """Return what was given as so many finite numbers; None for anything else."""
    try:
        numbers = np.array(given, dtype=float).reshape(-1)
    except (TypeError, ValueError):
        return None
    return numbers if len(numbers) == size and np.isfinite(numbers).all() else None
