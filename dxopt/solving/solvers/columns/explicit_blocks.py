"""Blocks: reports whose whole column is a variable of the restricted master problem.

The column v_z of a rich report z (`Rich`) is itself a variable, held in the cone by rows of the master for the pairs
of points that may bind,

    v_b - e^{-d(a, b)} v_a ≥ 0   and   v ≥ 0.

It needs no pricing: its dual feasibility, c_z - y = A'λ with λ ≥ 0, says that no column of the cone has a negative
reduced cost. The pairs are those of near neighbours at first; those that a solution breaks join. A solution that
still breaks some is raised to the least member of the cone above it.

**Scale.** The variables are u = v / D, with D in the cone and about as large as v, so that the rows are
u_b - r u_a ≥ 0 with ratios r = e^{-d(a, b)} D_a / D_b between 0 and 1.

Where most of the mass of a prior is in one place, the report there takes what the others leave: its column is a
mixture of up to n extreme columns, and a round of pricing finds one of them. Such a report uses many columns and has
much of the weight; as a block of the master (`Blocks`) it needs no pricing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from dxopt.numerics.tropical import product
from dxopt.solving.solvers.columns.coupling_rows import ConeProgram

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
    first, second, ratios : (p,) arrays
        The rows u_second - ratio u_first ≥ 0, as indices of variables; for u ≥ 0 both are the same and the ratio 0.
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
        """Return no block at all, for a master of so many rows."""
        nothing = np.zeros(0, dtype=np.int64)
        return cls(np.zeros(0), sparse.csr_array((rows, 0)), nothing, nothing, np.zeros(0), np.zeros(0))

    def combined(self, change: sparse.csr_array) -> Blocks:
        """Return the same where the rows of the master `(n,)` are multiplied by a matrix `(n, n)`."""
        return replace(self, rows=sparse.csr_array(change @ self.rows))

    def slacks(self, u: Array) -> Array:
        """Return G u `(p,)`: how far each row is from binding."""
        return u[self.second] - self.ratios * u[self.first]

    def adjoint(self, multipliers: Array) -> Array:
        """Return G'λ `(f,)`: what multipliers λ of the rows add to each variable's side of the dual."""
        size = len(self.costs)
        gained = np.bincount(self.second, multipliers, size).astype(np.float64)
        return gained - np.bincount(self.first, self.ratios * multipliers, size)

    def hessian(self, scaling: Array) -> Array:
        """Return G' diag(scaling) G `(f, f)`, which the Newton system of the master contains."""
        size = len(self.costs)
        index = np.concatenate([self.second, self.first])
        across = -self.ratios * scaling
        there = np.concatenate([index, self.second, self.first])
        back = np.concatenate([index, self.first, self.second])
        values = np.concatenate([scaling, self.ratios**2 * scaling, across, across])
        return sparse.coo_array((values, (there, back)), shape=(size, size)).toarray()


_RICH = 0.25
"""Columns in use for each row, from which on a report may be rich."""
_USED = 1e-5
"""Columns of more weight are in use."""
_WEIGHT = 0.8
"""The least weight of all columns of a rich report; it is about the greatest entry of their mixture."""
_MOST = 1
"""Blocks at most. Each has as many rows in the system of the master as there are points; more did not help."""
_POINTS = 40
"""With fewer points there are no blocks, as the end is near."""
_NEIGHBOURS = 4
"""Each point begins with the pairs of so many nearest ones."""
_BROKEN = 1e-9
"""Pairs that are broken by less, relatively, may wait."""
_START = 0.3
"""The variables of blocks begin at this, divided by the number of blocks and the root of D."""
_MIXED = 1e-6
"""The share of a kernel e^{-d/2} that D contains, so that none of its entries is next to 0."""


@dataclass(frozen=True, eq=False)
class _Block:
    """A rich report, with a column D of the cone about as large as its own, and the pairs in the master.

    These are `(p,)` arrays: e^{-d(first, second)} v_first ≤ v_second.
    """

    report: int
    scale: Array
    first: Indices
    second: Indices

    def joined(self, first: Indices, second: Indices) -> _Block:
        """Return the block with more pairs; those of a point with itself are left out."""
        points = len(self.scale)
        apart = first != second
        known = self.first * points + self.second
        pairs = np.union1d(known, first[apart] * points + second[apart])
        return _Block(self.report, self.scale, *np.divmod(pairs, points))


class Rich:
    """The reports that are blocks; none at first."""

    def __init__(self, program: ConeProgram) -> None:
        self.program = program
        self.most = _MOST if len(program.factors) >= _POINTS else 0
        self._blocks: list[_Block] = []

    def none(self) -> Rich:
        """Return the same without any block, for good."""
        other = Rich(self.program)
        other.most = 0
        return other

    @property
    def reports(self) -> Indices:
        """The reports of the blocks, `(b,)`."""
        return np.array([block.report for block in self._blocks], dtype=np.int64)

    def choose(self, columns: Array, reports: Indices, weights: Array) -> bool:
        """Let the report join that uses most of the columns `(n, k)` at weights `(k,)`, if rich; tell if one did."""
        size = len(self.program.costs)
        used = np.bincount(reports[weights > _USED], minlength=size)
        used[np.bincount(reports, weights, minlength=size) <= _WEIGHT] = 0
        used[self.reports] = 0
        best = int(used.argmax())
        if len(self._blocks) >= self.most or used[best] <= _RICH * len(columns):
            return False
        own = reports == best
        self._blocks.append(self._new_block(best, columns[:, own] @ weights[own]))
        return True

    def _new_block(self, report: int, mixture: Array) -> _Block:
        """Return a block for a report with this column: pairs of near neighbours, and all with the greatest entry."""
        points = len(mixture)
        centre = int(mixture.argmax())
        scale = mixture / mixture.max() + _MIXED * np.sqrt(self.program.factors[centre])
        nothing = np.zeros(0, dtype=np.int64)
        near = np.argsort(-self.program.factors, axis=1, kind="stable")[:, : _NEIGHBOURS + 1].ravel()
        each = np.repeat(np.arange(points), len(near) // points)
        every = np.arange(points)
        star = np.full(points, centre)
        block = _Block(report, scale, nothing, nothing)
        return block.joined(np.concatenate([each, near, star, every]), np.concatenate([near, each, every, star]))

    def blocks(self) -> Blocks:
        """Return the blocks as the master needs them; its rows are those of the classes, then the shared ones."""
        program = self.program
        points = len(program.factors)
        if not self._blocks:
            return Blocks.none(program.rows)
        every = np.arange(points)
        index = program.classes.index
        means = sparse.csr_array((1 / program.sizes[index], (index, every)))
        rows, first, second, ratios = [], [], [], []
        for number, block in enumerate(self._blocks):
            a, b = block.first, block.second
            shared = program.shared.entries(np.diag(block.scale), np.full(points, block.report))
            rows.append(sparse.vstack([means * block.scale, shared]))
            first.append(number * points + np.append(a, every))
            second.append(number * points + np.append(b, every))
            ratios.append(np.append(program.factors[a, b] * block.scale[a] / block.scale[b], np.zeros(points)))
        scales = np.concatenate([block.scale for block in self._blocks])
        return Blocks(
            program.costs[self.reports].ravel() * scales,
            sparse.csr_array(sparse.hstack(rows)),
            np.concatenate(first),
            np.concatenate(second),
            np.concatenate(ratios),
            _START / len(self._blocks) / np.sqrt(scales),
        )

    def columns(self, u: Array) -> Array:
        """Return the columns of the blocks `(b, n)`, raised to the least members of the cone."""
        return product(self._unscaled(u), self.program.factors)

    def refine(self, u: Array) -> int:
        """Let the pairs join that these variables break most at each point; return how many."""
        added = 0
        for number, v in enumerate(self._unscaled(u)):
            pulled = self.program.factors * v[:, None]
            np.fill_diagonal(pulled, 0.0)
            broken = np.flatnonzero(pulled.max(axis=0) > v * (1 + _BROKEN))
            block = self._blocks[number]
            self._blocks[number] = block.joined(pulled.argmax(axis=0)[broken], broken)
            added += len(self._blocks[number].first) - len(block.first)
        return added

    def _unscaled(self, u: Array) -> Array:
        """Return the columns `(b, n)` as the master has them; some pairs may be broken."""
        scales = np.array([block.scale for block in self._blocks]).reshape(-1, len(self.program.factors))
        return np.maximum(u.reshape(scales.shape), 0) * scales
