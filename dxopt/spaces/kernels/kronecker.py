"""Products under d_1: Φ is the Kronecker product of the factors' matrices.

A vector is a tensor with an axis for each factor, and what Φ or its inverse does to it is what each factor does along
its own axis, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels.base import System

Array = NDArray[np.float64]


class Kronecker(System):
    """T = T_1 ⊗ T_2 ⊗ …, the last factor fastest.

    Make the factors with a `room` of `ROOM` over their number, so that budgets add up to at most `ROOM` over factors.
    """

    order = np.inf

    def __init__(self, factors: Sequence[System]) -> None:
        self.factors = tuple(factors)
        self.shape = tuple(factor.size for factor in factors)
        self.size = math.prod(self.shape)
        self.cap = min(factor.cap for factor in factors)
        self.entry_error = 2 * sum(factor.entry_error + 4 * UNIT for factor in factors)
        self.norm = math.prod(factor.norm for factor in factors) * (1 + 8 * len(factors) * UNIT)
        # a norm in the largest row sum is at most √n times the one in the 2-norm
        widths = (math.sqrt(factor.size) if factor.order == 2 else 1.0 for factor in factors)
        widened = math.prod(width * factor.inverse_norm for width, factor in zip(widths, factors, strict=True))
        self.inverse_norm = self._bound_inverse(1 / (widened * (1 + 8 * len(factors) * UNIT)))

    def row(self, point: int) -> Array:
        """Return one row of T, `(n,)`: the outer product of the rows of the factors."""
        coordinates = np.unravel_index(point, self.shape)
        rows = [factor.row(int(at)) for factor, at in zip(self.factors, coordinates, strict=True)]
        return np.asarray(reduce(np.kron, rows), dtype=np.float64)

    def apply(self, vector: Array) -> tuple[Array, float]:
        """Return T v, and a bound on the rounding error of its entries."""
        product = vector.reshape(*self.shape, -1)
        error = 0.0
        # Each factor adds its own rounding, and multiplies the error of those before it by its norm at most. A bound
        # on it in the 2-norm bounds the largest entry as well.
        for axis, factor in enumerate(self.factors):
            moved = np.moveaxis(product, axis, 0)
            applied, rounding = factor.apply(moved.reshape(factor.size, -1))
            error = rounding + factor.norm * error * (1 + 8 * UNIT)
            product = np.moveaxis(applied.reshape(moved.shape), 0, axis)
        return product.reshape(vector.shape), error

    def approximate(self, right: Array) -> Array:
        return self._by_axis(right, lambda factor, block: factor.approximate(block))

    def weighting(self) -> tuple[Array, Array] | None:
        """Return the products of the factors' weightings, and bounds on their errors; None unless all have one."""
        values = np.ones(1)
        above = np.ones(1)
        for factor in self.factors:
            known = factor.weighting()
            if known is None:
                return None
            values = np.outer(values, known[0]).reshape(-1)
            above = np.outer(above, np.abs(known[0]) + known[1]).reshape(-1)
        # |v v' - w w'| is at most the product of all |v| + error, less that of all |v|, and the rounding of both.
        return values, above - np.abs(values) + 4 * (len(self.factors) + 1) * UNIT * above

    def closure(self, vector: Array) -> Array:
        """Return max_x T[x, z] v_x for every z, `(n,)`, for v ≥ 0."""
        # entries of T are products of factors ≥ 0, so that the maximum is taken along one axis after the other
        return self._by_axis(vector, lambda factor, block: np.stack([factor.closure(v) for v in block.T], axis=1))

    def _by_axis(self, vector: Array, change: Callable[[System, Array], Array]) -> Array:
        """Apply `change` for each factor to a vector along the factor's axis, one axis after the other.

        `change` takes a factor and columns `(size of the factor, k)`, and returns as many columns.
        """
        changed = vector.reshape(*self.shape, -1)
        for axis, factor in enumerate(self.factors):
            moved = np.moveaxis(changed, axis, 0)
            changed = np.moveaxis(change(factor, moved.reshape(factor.size, -1)).reshape(moved.shape), 0, axis)
        return changed.reshape(vector.shape)

    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """Draw coordinate by coordinate; the weights must be a Kronecker product themselves."""
        tensor = weights.reshape(self.shape)
        axes = range(len(self.shape))
        coordinates = np.unravel_index(points, self.shape)
        # Sums over all other axes are in proportion to the factor of the weights on this one.
        drawn = [
            factor.draw(tensor.sum(axis=tuple(a for a in axes if a != axis)), at, rng)
            for axis, (factor, at) in enumerate(zip(self.factors, coordinates, strict=True))
        ]
        return np.ravel_multi_index(drawn, self.shape)
