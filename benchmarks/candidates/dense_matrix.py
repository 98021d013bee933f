"""By hand, in NumPy: the same as `dense`, and the channel is written as well."""

from __future__ import annotations

import numpy as np

from benchmarks.candidates.dense import Dense
from benchmarks.contract import CANDIDATES, Array, Matrix


@CANDIDATES.register("dense-matrix")
class DenseMatrix(Dense):
    def answer(self, matrix: Array) -> Matrix:
        """K = Φ·diag(w), written over Φ."""
        weights = np.linalg.solve(matrix, np.ones(len(matrix)))
        matrix *= weights
        return Matrix(matrix)
