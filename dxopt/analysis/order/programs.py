"""Small linear programs over channels, solved by HiGHS. What it finds is no evidence: it is repaired, then proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import UnsupportedError

Array = NDArray[np.float64]
_SIMPLEX_TO = 4_000
"""Up to so many entries the simplex method, which ends at a vertex; an interior point above, where it stalls."""
_SECONDS = 60.0


@dataclass(frozen=True, eq=False)
class Found:
    """Values of the variables, and a multiplier of 0 or more for each row."""

    variables: Array
    multipliers: Array


def minimised(cost: Array, matrix: Any, most: Array) -> Found | None:
    """Minimise cost·v over v ≥ 0 with matrix·v ≤ most; None where the solver has no answer within a minute.

    Parameters
    ----------
    cost : (k,) array
    matrix : (r, k) sparse array
    most : (r,) array

    Raises
    ------
    UnsupportedError
        If HiGHS is not installed.
    """
    try:
        import highspy
        from scipy.sparse import csc_array
    except ImportError:
        fix = "install dxopt[solve]"
        raise UnsupportedError("highspy", "is not installed, which linear programs need", fix) from None
    columns: Any = csc_array(matrix)
    model = highspy.HighsLp()
    model.num_col_ = len(cost)
    model.num_row_ = len(most)
    model.col_cost_ = cost
    model.col_lower_ = np.zeros(len(cost))
    model.col_upper_ = np.full(len(cost), highspy.kHighsInf)
    model.row_lower_ = np.full(len(most), -highspy.kHighsInf)
    model.row_upper_ = most
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = columns.indptr
    model.a_matrix_.index_ = columns.indices
    model.a_matrix_.value_ = columns.data
    highs = highspy.Highs()
    highs.silent()
    if columns.nnz > _SIMPLEX_TO:
        highs.setOptionValue("solver", "ipx")
        highs.setOptionValue("run_crossover", "off")
        highs.setOptionValue("ipm_optimality_tolerance", 1e-10)
    highs.setOptionValue("time_limit", _SECONDS)
    highs.setOptionValue("primal_feasibility_tolerance", 1e-10)
    highs.setOptionValue("dual_feasibility_tolerance", 1e-10)
    highs.passModel(model)
    highs.run()
    found = highs.getSolution()
    variables, multipliers = np.array(found.col_value), -np.array(found.row_dual)
    usable = found.value_valid and found.dual_valid and len(variables) == len(cost)
    if not (usable and np.isfinite(variables).all() and np.isfinite(multipliers).all()):
        return None
    return Found(np.maximum(variables, 0.0), np.maximum(multipliers, 0.0))
