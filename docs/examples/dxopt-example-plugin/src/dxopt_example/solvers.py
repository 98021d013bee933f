"""Solvers: a function of a linear program and settings, which gives the solution and its multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog


def dual_simplex(program: Any, settings: Any) -> tuple[Any, Any, Any] | None:
    """Minimise c·x subject to E x = f and A x ≥ h, by the dual simplex method of SciPy.

    Returns the entries of x, a multiplier of each equality, and one of 0 or more of each inequality; None where
    there is no solution. It stops at `settings.time_limit` and cannot be asked to stop before.
    """
    options = {} if settings.time_limit is None else {"time_limit": settings.time_limit}
    unsigned = np.where(program.signed, 0.0, -np.inf)
    found = linprog(
        program.cost,
        A_ub=-program.inequalities if program.rows else None,
        b_ub=-program.floors if program.rows else None,
        A_eq=program.equalities,
        b_eq=program.totals,
        bounds=np.stack([unsigned, np.full(len(unsigned), np.inf)], axis=1),
        method="highs-ds",
        options=options,
    )
    if found.x is None:
        return None
    private = -found.ineqlin.marginals if program.rows else np.zeros(0)
    return found.x, found.eqlin.marginals, private
