"""Solutions of interval systems: rigorous bounds, every rounding counted (Krawczyk's argument in matrix form)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.rounding import UNIT

Array = NDArray[np.float64]
UNDERFLOW = 1e-290
"""More than all that a sum of products of doubles loses to underflow."""


@dataclass(frozen=True, eq=False)
class Enclosure:
    """An approximate inverse Y of every matrix A between two bounds, with ‖I - YA‖ < 1 proven.

    Attributes
    ----------
    middle, radius, inverse : (k, k) arrays
    rows : (k,) array
        Bounds on the row sums of |I - YA|.
    """

    middle: Array
    radius: Array
    inverse: Array
    rows: Array

    @classmethod
    def of(cls, low: Array, high: Array) -> Enclosure | None:
        """None where the bound on ‖I - YA‖ is not below 1: the matrix is singular or nearly so."""
        # Every A is middle ± radius, and the inverse of the middle, whatever its error, serves as Y for all of them.
        middle = 0.5 * low + 0.5 * high
        if not np.isfinite(middle).all():
            return None
        radius = _radius(low, middle, high)
        try:
            inverse: Array = np.asarray(np.linalg.inv(middle), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(inverse).all():
            return None
        # |I - YA| ≤ |I - Y middle| + |Y| radius, with the rounding of both products. Row sums below 1 bound its norm,
        # so that by Neumann's series YA, and hence A, is invertible.
        unit = np.eye(len(middle))
        grow = growth(len(middle))
        with np.errstate(over="ignore", invalid="ignore"):
            off = np.abs(unit - inverse @ middle) + grow * unit
            off += (np.abs(inverse) @ (radius + grow * np.abs(middle))) * (1 + grow) + UNDERFLOW
            rows = off.sum(axis=1) * (1 + grow)
        if not rows.max() < 0.99:
            return None
        return cls(middle, radius, inverse, rows)

    @classmethod
    def around(cls, low: Array, high: Array, wider: Enclosure) -> Enclosure:
        """Narrower bounds within those of another enclosure, whose inverse serves again."""
        middle = 0.5 * low + 0.5 * high
        return cls(middle, _radius(low, middle, high), wider.inverse, wider.rows)

    def solve(self, right: Array, unsure: Array | float = 0.0) -> tuple[Array, Array]:
        """An approximate solution of Ax = b `(k,)`, and a bound on its error for all A and |b - right| ≤ unsure."""
        # Two steps of iterative refinement; the bound holds for whatever they lead to.
        solution = self.inverse @ right
        for _ in range(2):
            solution = solution + self.inverse @ (right - self.middle @ solution)
        return solution, self.error(solution, right, unsure)

    def error(self, solution: Array, right: Array, unsure: Array | float = 0.0) -> Array:
        """A bound `(k,)` on |solution - A⁻¹b| for all A within the bounds and |b - right| ≤ unsure.

        With r = b - A·solution and e the error, e = Yr + (I - YA)e, so |e| ≤ |Yr| + rows ‖Yr‖ / (1 - ‖rows‖).
        """
        # |r| for all A and b: as computed, what b may be off, what A may be off, and rounding.
        grow = growth(len(right) + 2)
        residual = np.abs(right - self.middle @ solution) + np.asarray(unsure) + grow * np.abs(right) + UNDERFLOW
        residual = residual + (self.radius + grow * np.abs(self.middle)) @ np.abs(solution)
        # |Yr|, and the largest entry of it for the second term.
        moved = (np.abs(self.inverse) @ residual) * (1 + 2 * grow)
        return (moved + self.rows * moved.max() / (1 - self.rows.max())) * (1 + grow)


def _radius(low: Array, middle: Array, high: Array) -> Array:
    """Bound the distance of the bounds from their middle, rounded up."""
    return np.maximum(high - middle, middle - low) * (1 + 4 * UNIT) + UNDERFLOW


def growth(terms: int) -> float:
    """A relative bound on the rounding of sums of so many products, generous by a factor of 2."""
    return 2 * (terms + 8) * UNIT
