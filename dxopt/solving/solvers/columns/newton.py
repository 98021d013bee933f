"""Newton steps of the interior-point method for the restricted master problem, with and without blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from dxopt.solving.solvers.columns.blocks import Blocks
from dxopt.solving.solvers.columns.coupling import Coupling

Array = NDArray[np.float64]
RIDGE = 1e-13
"""Added to the matrix, relative to its mean diagonal, so that dependent rows do no harm."""
_REFINEMENTS = 2
_FACTOR, _SOLVE, _WORK = sl.get_lapack_funcs(("sytrf", "sytrs", "sytrf_lwork"), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Point:
    """A point of the method, primal and dual.

    Attributes
    ----------
    x : (q + p,) array
        θ for the columns of W, then the slacks t of the rows of the blocks; above 0.
    z : (q + p,) array
        Their duals: the slacks s of the columns, then the multipliers λ of the rows; above 0.
    y : (n,) array
        Prices.
    u : (f,) array
        The scaled variables of the blocks.
    """

    x: Array
    z: Array
    y: Array
    u: Array


@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals of a point: b - Wθ - Cu, t - Gu, c - W'y - s, and h - C'y - G'λ for the costs h of the blocks."""

    short: Array
    loose: Array
    unpriced: Array
    unbalanced: Array


class Newton(Protocol):
    """The Newton system at a point: its residuals to 0, and the products x z changed by a target."""

    def direction(self, target: Array) -> Point:
        """dx, dz, dy and du for a target of the change of the products `(q + p,)`."""
        ...

    def fitted(self, short: Array) -> tuple[Array, Array]:
        """Return the least change of θ, by its scaling, and of u that makes up for a residual `(n,)` of the rows."""
        ...


class Plain:
    """Without blocks: W diag(θ/s) W' dy = short - W (target - θ unpriced) / s, by a Cholesky factor."""

    def __init__(self, coupling: Coupling, at: Point, residuals: Residuals, scaling: Array) -> None:
        self.coupling = coupling
        self.at = at
        self.residuals = residuals
        self.scaling = scaling
        self.factor = coupling.factor(scaling, RIDGE)

    def direction(self, target: Array) -> Point:
        theta = self.at.x
        s = self.at.z
        unpriced = self.residuals.unpriced
        needed = self.residuals.short - self.coupling.times((target - theta * unpriced) / s)
        dy = self.factor.solve(needed)
        ds = unpriced - self.coupling.priced(dy)
        return Point((target - theta * ds) / s, ds, dy, self.at.u)

    def fitted(self, short: Array) -> tuple[Array, Array]:
        return self.scaling * self.coupling.priced(self.factor.solve(short)), self.at.u


class WithBlocks:
    """With blocks, whose rows have the matrix G and multipliers λ, and slacks t:

        | M   C | |dy|   | short - W (target_θ - θ unpriced) / s                |
        | C' -H | |du| = | unbalanced - G' (target_t + λ loose) / t             |,

    where M = W diag(θ/s) W' and H = G' diag(λ/t) G. Both are badly conditioned near the end, as few columns and rows
    matter then. So neither is eliminated: the whole matrix, quasi-definite, is factored as L D L' with pivoting,
    scaled to a diagonal of ±1, and its solutions are refined. Wherever the columns are computed with, this is done
    here.
    """

    def __init__(self, coupling: Coupling, blocks: Blocks, at: Point, residuals: Residuals, scaling: Array) -> None:
        self.coupling = coupling
        self.blocks = blocks
        self.at = at
        self.residuals = residuals
        self.count = len(at.x) - len(blocks.ratios)
        self.rows = len(at.y)
        self.scaling = scaling[: self.count]
        size = self.rows + len(blocks.costs)

        # 1. the matrix
        matrix = np.zeros((size, size))
        matrix[: self.rows, : self.rows] = coupling.gram(self.scaling, RIDGE)
        matrix[self.rows :, : self.rows] = blocks.rows.toarray().T
        matrix[: self.rows, self.rows :] = matrix[self.rows :, : self.rows].T
        matrix[self.rows :, self.rows :] = -blocks.hessian(1 / scaling[self.count :])
        self.matrix = matrix

        # 2. its factors
        self.scale = 1 / np.sqrt(np.abs(matrix.diagonal()))
        scaled = self.scale[:, None] * matrix * self.scale
        work, _ = _WORK(size, lower=1)
        self.factor, self.pivots, failed = _FACTOR(scaled, lower=1, lwork=int(work), overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("singular")

    def _solved(self, right: Array) -> Array:
        solution = np.zeros(len(right))
        for _ in range(1 + _REFINEMENTS):
            left = right - self.matrix @ solution
            solution = solution + self.scale * _SOLVE(self.factor, self.pivots, self.scale * left, lower=1)[0]
        return solution

    def direction(self, target: Array) -> Point:
        theta, t = np.split(self.at.x, [self.count])
        s, multipliers = np.split(self.at.z, [self.count])
        missing = self.residuals
        columns, rows = np.split(target, [self.count])

        needed = missing.short - self.coupling.times((columns - theta * missing.unpriced) / s)
        pushed = self.blocks.adjoint((rows + multipliers * missing.loose) / t)
        dy, du = np.split(self._solved(np.concatenate([needed, missing.unbalanced - pushed])), [self.rows])

        ds = missing.unpriced - self.coupling.priced(dy)
        dt = self.blocks.slacks(du) - missing.loose
        dx = np.concatenate([(columns - theta * ds) / s, dt])
        return Point(dx, np.concatenate([ds, (rows - multipliers * dt) / t]), dy, du)

    def fitted(self, short: Array) -> tuple[Array, Array]:
        right = np.concatenate([short, np.zeros(len(self.blocks.costs))])
        dy, du = np.split(self._solved(right), [self.rows])
        return self.scaling * self.coupling.priced(dy), du
