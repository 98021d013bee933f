"""Any symmetric kernel, as a matrix in memory."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from dxopt.numerics.draws import by_rows
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels.base import ROOM, System

Array = NDArray[np.float64]

INVERTED = 500
"""The most points for which an approximate inverse bounds that of Φ."""
_POWERS = (6, 24)
"""Number of powers of the inverse taken before a shift is tried, and before another where that was too much."""


class Dense(System):
    """T from the distances `(n, n)` times ε. Above 500 points only a positive definite one has a known inverse."""

    def __init__(self, budgets: Array, distance_error: float, room: float = ROOM) -> None:
        self._describe(len(budgets), distance_error, room)
        self._budgets = budgets
        self.order = np.inf if self.size <= INVERTED else 2.0

    @cached_property
    def matrix(self) -> Array:
        """The entries of T, `(n, n)`."""
        matrix = np.minimum(self._budgets, self.cap)
        np.negative(matrix, out=matrix)
        np.exp(matrix, out=matrix)
        matrix[np.isinf(self._budgets)] = 0.0  # and not e^{-cap}, as nothing binds these points
        return matrix

    @cached_property
    def norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The largest row sum as computed, and its rounding."""
        return float(self.matrix.sum(axis=1).max()) * (1 + self.size * UNIT)

    def row(self, point: int) -> Array:
        return self.matrix[point]

    def apply(self, vector: Array) -> tuple[Array, float]:
        """Return T v, and a bound on the rounding error of each column in the norm `order`; v `(n,)` or `(n, k)`."""
        # A sum of n products is off by n units of |T| |v| at most, in any order; twice that and more is taken.
        product = self.matrix @ vector
        grow = 2 * (self.size + 4) * UNIT
        weighed = self.matrix @ np.abs(vector)
        return product, grow * float(np.linalg.norm(weighed) if self.order == 2 else weighed.max())

    @cached_property
    def _factor(self) -> tuple[Array, bool] | None:
        """The Cholesky factor of T as SciPy gives it; None where T is not positive definite in doubles."""
        try:
            return sl.cho_factor(self.matrix, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None

    def approximate(self, right: Array) -> Array:
        """Solve Tw = b to about working precision, without proof; b is `(n,)` or `(n, k)`."""
        if self._factor is None:
            # T is not positive definite and may be singular: least squares give a solution all the same.
            return np.asarray(np.linalg.lstsq(self.matrix, right, rcond=None)[0], dtype=np.float64)
        return sl.cho_solve(self._factor, right, check_finite=False)

    @cached_property
    def inverse_norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """From an approximate inverse, or from a Cholesky factorisation of T - σI that ran to its end (Rump 2006)."""
        return self._by_inverse() if self.order == np.inf else self._by_shift()

    def _by_inverse(self) -> float:
        """Bound ‖T⁻¹‖ ≤ ‖Y‖ / (1 - r) by Neumann's series, for an approximate inverse Y with ‖I - YT‖ = r < 1."""
        try:
            inverse = np.linalg.inv(self.matrix)
        except np.linalg.LinAlgError:
            return np.inf
        if not np.isfinite(inverse).all():
            return np.inf
        sizes = np.abs(inverse)
        # r as computed, and the rounding of the product YT and of the difference.
        off = np.abs(np.eye(self.size) - inverse @ self.matrix).sum(axis=1)
        off += (sizes @ self.matrix).sum(axis=1) * 2 * (self.size + 4) * UNIT + self.size * UNIT
        return self._bound_inverse((1 - off.max()) / (float(sizes.sum(axis=1).max()) * (1 + self.size * UNIT)))

    def _by_shift(self) -> float:
        """Bound the least eigenvalue of T from below by a σ for which T - σI has a Cholesky factor."""
        if self._factor is None:
            return np.inf
        # Powers of the inverse turn any vector to the eigenvector of the least eigenvalue, and its length to the
        # inverse of that, from below; σ is half of what it is after them.
        vector = np.random.default_rng(0).standard_normal(self.size)
        for powers in _POWERS:
            for _ in range(powers):
                vector = self.approximate(vector / np.linalg.norm(vector))
            shift = 0.5 / float(np.linalg.norm(vector))
            shifted = self.matrix.copy()
            shifted.flat[:: self.size + 1] -= shift
            try:
                sl.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
            except np.linalg.LinAlgError:
                continue
            # Less the backward error of the factorisation, in proportion to the trace n of T (Rump 2006), and the
            # rounding of the shifted diagonal.
            return self._bound_inverse(shift - 2 * (self.size + 3) * UNIT * self.size - 4 * UNIT)
        return np.inf

    def closure(self, vector: Array) -> Array:
        """Return max_x T[x, z] v_x for every z, `(n,)`; T is symmetric, so that its rows are its columns."""
        return np.array([(row * vector).max() for row in self.matrix])

    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        return by_rows(points, lambda point: self.matrix[point] * weights, rng)
