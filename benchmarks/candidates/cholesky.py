"""By hand, in SciPy: Φ as a positive definite matrix, in half the operations. Where it is not one, it fails."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from benchmarks.candidates.dense import Dense
from benchmarks.contract import CANDIDATES, Array, Weights


@CANDIDATES.register("cholesky")
class Cholesky(Dense):
    def answer(self, matrix: Array) -> Weights:
        """Return the weights; the factor is written over Φ."""
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        return Weights(cho_solve(factor, np.ones(len(matrix)), check_finite=False))
