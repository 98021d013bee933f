"""Blocks: reports whose whole column is a variable of the restricted master problem.

The column v_z of a rich report z (`rich`) is itself a variable, held in the cone by rows of the master for the pairs
of points that may bind,

    v_b - e^{-d(a, b)} v_a ≥ 0   and   v ≥ 0.

It needs no pricing: its dual feasibility, c_z - y = A'λ with λ ≥ 0, says that no column of the cone has a negative
reduced cost. The pairs are those of near neighbours at first; those that a solution breaks join. A solution that
still breaks some is raised to the least member of the cone above it.

**Scale.** The variables are u = v / D, with D in the cone and about as large as v, so that the rows are
u_b - r u_a ≥ 0 with ratios r = e^{-d(a, b)} D_a / D_b between 0 and 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Some blocks in the master: all of their f variables and p rows, one block after another.

    Attributes
    ----------
    costs : (f,) array
        Of the scaled variables.
    rows : (n, f) sparse array
        What they add to the rows of the master.
    first, second : (p,) arrays
        The rows u_second - ratio u_first ≥ 0, as indices of variables; for u ≥ 0 both are the same and the ratio 0.
    ratios : (p,) array
    start : (f,) array
        Values of the variables inside of the cone.
    """

    costs: Array
    rows: sparse.csr_array
    first: Indices
    second: Indices
    ratios: Array
    start: Array

    @classmethod
    def none(cls, rows: int) -> Blocks:
        """No block at all."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(0), sparse.csr_array((rows, 0)), nothing, nothing, np.zeros(0), np.zeros(0))

    def combined(self, change: sparse.csr_array) -> Blocks:
        """Return the same where the rows of the master `(n,)` are multiplied by a matrix `(n, n)`."""
        return replace(self, rows=sparse.csr_array(change @ self.rows))

    def slacks(self, u: Array) -> Array:
        """G u, `(p,)`: how far each row is from binding."""
        return u[self.second] - self.ratios * u[self.first]

    def adjoint(self, multipliers: Array) -> Array:
        """G'λ, `(f,)`."""
        size = len(self.costs)
        gained = np.bincount(self.second, multipliers, size).astype(np.float64)
        return gained - np.bincount(self.first, self.ratios * multipliers, size)

    def hessian(self, scaling: Array) -> Array:
        """G' diag(scaling) G, `(f, f)`."""
        size = len(self.costs)
        index = np.concatenate([self.second, self.first])
        across = -self.ratios * scaling
        there = np.concatenate([index, self.second, self.first])
        back = np.concatenate([index, self.first, self.second])
        values = np.concatenate([scaling, self.ratios**2 * scaling, across, across])
        return sparse.coo_array((values, (there, back)), shape=(size, size)).toarray()
