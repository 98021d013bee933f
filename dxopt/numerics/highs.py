"""Linear programs as HiGHS takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import optional

Array = NDArray[np.float64]


def highs_model(cost: Array, matrix: Any, lowest: Array, highest: Array) -> Any:
    """Return the model of min cost·v over v ≥ 0 with lowest ≤ matrix·v ≤ highest, for a sparse matrix by columns."""
    highspy = optional("highspy")
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.col_cost_ = cost
    model.col_lower_ = np.zeros(len(cost))
    model.col_upper_ = np.full(len(cost), np.inf)
    model.row_lower_ = lowest
    model.row_upper_ = highest
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_ = matrix.indices
    model.a_matrix_.value_ = matrix.data
    return model
