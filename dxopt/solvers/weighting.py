"""Φw = 1 by a dense factorisation (the weighting of a space, in magnitude theory)."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.linalg as sl
from scipy.linalg import lapack

from dxopt.program import LinearSystem, Solution, Status


def solve_weighting(system: LinearSystem) -> tuple[Solution, float]:
    """Solve by LU with one step of refinement.

    Returns
    -------
    Solution
        `INFEASIBLE` where the matrix is singular to working precision.
    float
        An estimate of the largest error of an entry: condition number times residual.
    """
    ones = np.ones(len(system.matrix))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.LinAlgWarning)
        factor = sl.lu_factor(system.matrix)
        if (np.diagonal(factor[0]) == 0).any():
            return Solution(Status.INFEASIBLE, message="dense: the matrix is singular"), np.inf
        weights = sl.lu_solve(factor, ones)
        weights = weights + sl.lu_solve(factor, ones - system.matrix @ weights)
        reciprocal, _ = lapack.dgecon(factor[0], np.abs(system.matrix).sum(axis=0).max())  # pyright: ignore[reportAttributeAccessIssue]
    if reciprocal < 1e-13 or not np.isfinite(weights).all():
        return Solution(Status.INFEASIBLE, message="dense: the matrix is singular"), np.inf
    residual = np.abs(ones - system.matrix @ weights).max() + 2.0**-50 * np.abs(weights).sum()
    error = residual / (reciprocal * np.abs(system.matrix).sum(axis=0).max())
    return Solution(Status.OPTIMAL, weights, message="dense: solved"), float(error)
