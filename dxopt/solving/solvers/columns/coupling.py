"""The matrix of the restricted master problem: columns, and the unit columns of the box."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.solving.solvers.columns.matrices import Factor, Matrix

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Coupling:
    """W = (V, I, -I), with unit columns for the rows of bounded prices only; it is never written out.

    Attributes
    ----------
    columns : Matrix
        V, `(n, k)`.
    above, below : arrays
        The rows whose prices are bounded from above, and from below.
    """

    columns: Matrix
    above: NDArray[np.int64]
    below: NDArray[np.int64]

    def times(self, theta: Array) -> Array:
        """W θ."""
        k = self.columns.shape[1]
        ups = len(self.above)
        total = self.columns.times(theta[:k])
        total[self.above] += theta[k : k + ups]
        total[self.below] -= theta[k + ups :]
        return total

    def priced(self, y: Array) -> Array:
        """W'y."""
        return np.concatenate([self.columns.priced(y), y[self.above], -y[self.below]])

    def gram(self, scaling: Array, ridge: float) -> Array:
        """W diag(scaling) W', with a ridge relative to its mean diagonal."""
        return self.columns.gram(scaling[: self.columns.shape[1]], self._diagonals(scaling), ridge)

    def factor(self, scaling: Array, ridge: float) -> Factor:
        """Return the Cholesky factor of the same; raises LinAlgError where it has none."""
        return self.columns.factor(scaling[: self.columns.shape[1]], self._diagonals(scaling), ridge)

    def _diagonals(self, scaling: Array) -> tuple[Array, Array]:
        """Return what the unit columns add to the diagonal."""
        n, k = self.columns.shape
        ups = k + len(self.above)
        up, down = np.zeros(n), np.zeros(n)
        up[self.above] = scaling[k:ups]
        down[self.below] = scaling[ups:]
        return up, down
