"""Any symmetric kernel, as a matrix in memory."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from dxopt.numerics.draws import by_rows
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels.contract import ROOM, System

Array = NDArray[np.float64]

INVERTED = 500
_POWERS = 30


class Dense(System):
    """T from the distances `(n, n)` times ε. Above 500 points only a positive definite one has a known inverse."""

    def __init__(self, budgets: Array, distance_error: float, room: float = ROOM) -> None:
        self._describe(len(budgets), distance_error, room)
        matrix = np.exp(-np.minimum(budgets, self.cap))
        matrix[np.isinf(budgets)] = 0.0
        self.matrix = matrix
        self.norm = float(matrix.sum(axis=1).max()) * (1 + self.size * UNIT)
        self.order = np.inf if self.size <= INVERTED else 2.0

    def row(self, place: int) -> Array:
        return self.matrix[place]

    def apply(self, vector: Array) -> tuple[Array, float]:
        product = self.matrix @ vector
        grow = 2 * (self.size + 4) * UNIT
        weighed = self.matrix @ np.abs(vector)
        return product, grow * float(np.linalg.norm(weighed) if self.order == 2 else weighed.max())

    @cached_property
    def _factor(self) -> tuple[Array, bool] | None:
        try:
            return sl.cho_factor(self.matrix, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None

    def approximate(self, right: Array) -> Array:
        if self._factor is None:
            return np.asarray(np.linalg.lstsq(self.matrix, right, rcond=None)[0], dtype=np.float64)
        return sl.cho_solve(self._factor, right, check_finite=False)

    @cached_property
    def inverse_norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """From an approximate inverse, or from a Cholesky factorisation of T - σI that ran to its end (Rump 2006).

        For σ, half the least eigenvalue of T as powers of its inverse tell it.
        """
        return self._by_inverse() if self.order == np.inf else self._by_shift()

    def _by_inverse(self) -> float:
        try:
            inverse = np.linalg.inv(self.matrix)
        except np.linalg.LinAlgError:
            return np.inf
        if not np.isfinite(inverse).all():
            return np.inf
        sizes = np.abs(inverse)
        off = np.abs(np.eye(self.size) - inverse @ self.matrix).sum(axis=1)
        off += (sizes @ self.matrix).sum(axis=1) * 2 * (self.size + 4) * UNIT + self.size * UNIT
        return self._inverse((1 - off.max()) / (float(sizes.sum(axis=1).max()) * (1 + self.size * UNIT)))

    def _by_shift(self) -> float:
        if self._factor is None:
            return np.inf
        vector = np.random.default_rng(0).standard_normal(self.size)
        for _ in range(_POWERS):
            vector = self.approximate(vector / np.linalg.norm(vector))
        shift = 0.5 / float(np.linalg.norm(vector))
        shifted = self.matrix - shift * np.eye(self.size)
        try:
            sl.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return np.inf
        return self._inverse(shift - 2 * (self.size + 3) * UNIT * self.size - 4 * UNIT)

    def closure(self, vector: Array) -> Array:
        closed = vector.copy()
        for place in range(self.size):
            closed[place] = (self.matrix[place] * vector).max()
        return closed

    def draw(self, weights: Array, places: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        return by_rows(places, lambda place: self.matrix[place] * weights, rng)
