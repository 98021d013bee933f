"""Planar Laplace noise on a grid, moved to the nearest point of the grid, without a matrix.

Lengths are in units of the spacing, so that a cell is a unit square around its point; the density at distance r is
β²/(2π) e^{-βr}. Each cell has one set of nodes and positive weights, the same whatever the secret is. A mass is the
weighted sum of the density at the nodes, so by the triangle inequality two secrets at distance r have masses whose
ratio is at most e^{βr}, however good or bad the quadrature is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.mechanisms.classic.base import titled
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism, Privacy
from dxopt.numerics.rounding import UNIT
from dxopt.runtime.archive import Arrays
from dxopt.spaces.archive import unpack
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_REACH = 40.0
"""Nodes end where the density of any cell above the floor has fallen by e^{-40}."""
_STEEP = 32.0
"""The first panel of s in a cell ends at this over β, where the density has fallen by e^{-16} or more."""
_ORDER = 12
"""The nodes of a panel on which the density hardly falls."""
_EXPONENT = 700.0
"""Distance at which the density has fallen by e^{-700}, below the floor."""
_STEEPEST = 2 * _EXPONENT
"""Steeper noise leaves nothing above the floor outside the cell of the secret either."""
FLOOR = 1e-250
"""Floor that smaller masses are raised to; it is far above e^{-700}."""


def border_masses(shape: tuple[int, int], rate: float) -> Array:
    """Return the masses `(2m, 2n)` of the cells of an m × n grid, by distance and kind along each axis.

    Entry [i, j] is for a cell whose point is i rows and j columns away. Along the first axis, i + m instead of i is a
    border cell, which reaches to infinity away from the secret (both ways if m = 1); along the second, j + n.
    """
    rate = min(rate, _STEEPEST)

    # Further away than `seen` steps, every mass is below the floor.
    seen = math.ceil(_EXPONENT / rate + 0.5)
    rows = min(shape[0], seen)
    columns = min(shape[1], seen)

    # A cell at the border is a unit square, a strip past it along one axis, for corners one along the other axis, and
    # the quadrant between the strips. An axis of a single cell has strips on both sides.
    sides = [2.0 if size == 1 else 1.0 for size in shape]
    across = _unit_rule(rate)
    tail = _tail_rule(rate, max(rows, columns))
    square = _squares((rows, columns), rate)
    past_columns = sides[1] * _rectangles(_shifted(rows, across, 0.0), _shifted(columns, tail, 0.5), rate)
    past_rows = sides[0] * _rectangles(_shifted(rows, tail, 0.5), _shifted(columns, across, 0.0), rate)
    past_both = sides[0] * sides[1] * _rectangles(_shifted(rows, tail, 0.5), _shifted(columns, tail, 0.5), rate)

    # By kind along the rows and along the columns: inside the grid, or at its border.
    kinds = [
        [square, square + past_columns],
        [square + past_rows, square + past_columns + past_rows + past_both],
    ]
    masses = np.full((2, shape[0], 2, shape[1]), FLOOR)
    masses[:, :rows, :, :columns] = np.maximum(np.swapaxes(kinds, 1, 2), FLOOR)
    return masses.reshape(2 * shape[0], 2 * shape[1])


def rounding_of_masses(rate: float) -> float:
    """Bound the error of the logarithm of an entry of `border_masses` against the exact sum over its nodes.

    A term above e^{-700} has an exponent with a relative error of 8 units at most, from the node, its distance, the
    rate and their product; smaller ones do not matter next to the floor. Each addition adds a unit.
    """
    rate = min(rate, _STEEPEST)
    _, _, along, across = _square_rule(rate)
    additions = (
        2 * len(_tail_rule(rate, _EXPONENT / rate)[0]) + 2 * len(_unit_rule(rate)[0]) + len(along) + len(across) + 64
    )
    return (8 * _EXPONENT + additions) * UNIT


def _nodes_needed(steepness: float) -> int:
    """Count the Gauss-Legendre nodes for e^{-st} times something smooth; `steepness` is s times the length."""
    return _ORDER + math.ceil(min(0.6 * steepness, 3 * math.sqrt(min(steepness, _EXPONENT))))


def _gauss_rule(low: float, high: float, order: int) -> tuple[Array, Array]:
    """Return Gauss-Legendre nodes and weights from low to high."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    half = 0.5 * (high - low)
    return low + half * (nodes + 1), half * weights


def _panels_rule(edges: list[float], rate: float) -> tuple[Array, Array]:
    """Return nodes and weights between each edge and the next, for e^{-rate·t} times something smooth."""
    pieces = [_gauss_rule(low, high, _nodes_needed(rate * (high - low))) for low, high in pairwise(edges)]
    return np.concatenate([nodes for nodes, _ in pieces]), np.concatenate([weights for _, weights in pieces])


def _tail_rule(rate: float, far: float) -> tuple[Array, Array]:
    """Return nodes and weights from 0 on in panels that double in length, from half a cell on.

    They end where, seen from a secret at the distance `far` across, the density has fallen by e^{-40} along the tail:
    from a distance h that takes a length t with √(h² + t²) - h = 40/β.
    """
    fall = _REACH / rate
    reach = math.sqrt(fall * (fall + 2 * far))
    edges = [0.0]
    while edges[-1] < reach:
        edges.append(min(2 * edges[-1] + 0.5, reach))
    return _panels_rule(edges, rate)


def _unit_rule(rate: float) -> tuple[Array, Array]:
    """Return nodes and weights on [-1/2, 1/2], symmetric around 0."""
    nodes, weights = _gauss_rule(0.0, 0.5, _nodes_needed(0.5 * rate))
    return np.concatenate([-nodes, nodes]), np.concatenate([weights, weights])


def _shifted(size: int, rule: tuple[Array, Array], start: float) -> tuple[Array, Array]:
    """Return the nodes `(size, p)` of a rule that begins at `start`, seen from 0, 1, … cells away, and weights."""
    return np.arange(size)[:, None] + start + rule[0], rule[1]


def _rectangles(first: tuple[Array, Array], second: tuple[Array, Array], rate: float) -> Array:
    """Return the masses `(m, n)` of rectangles, products of m pieces of the first axis and n of the second."""
    rows, row_weights = first
    columns, column_weights = second
    squares = columns**2
    masses = np.empty((len(rows), len(columns)))
    for i, row in enumerate(rows):
        density = np.exp(-rate * np.sqrt(row[:, None, None] ** 2 + squares))
        masses[i] = row_weights @ (density @ column_weights)
    return masses * (rate**2 / (2 * math.pi))


def _square_rule(rate: float) -> tuple[Array, Array, Array, Array]:
    """Return nodes x, y `(8, p, q)` on the unit square around 0, in eight triangles with a corner there, and weights.

    In each, r is s√(1 + t²)/2 and the Jacobian s/4, so that the cusp of the density at a secret does no harm. The
    weights are `(p,)` for s and `(q,)` for t.
    """
    # Panels on [0, 1] are short near 0 where the density is steep.
    ends = [0.0, min(1.0, _STEEP / rate)]
    while ends[-1] < 1.0:
        ends.append(min(2 * ends[-1], 1.0))

    # One triangle: the point at the part s of the way from the corner to the opposite side, and at the part t of that
    # side, is s/2 along an axis and st/2 off it.
    # Over r = s√(1 + t²)/2 the exponent βr grows by β√½ per unit of s at most, and by less than β/2 per unit of t.
    s, ds = _panels_rule(ends, rate * math.sqrt(0.5))
    t, dt = _gauss_rule(0.0, 1.0, _nodes_needed(0.5 * rate))
    along = 0.5 * s[:, None] * np.ones_like(t)
    up = 0.5 * s[:, None] * t

    # The others are its mirror images.
    x = np.stack([along, along, -along, -along, up, up, -up, -up])
    y = np.stack([up, -up, up, -up, along, -along, along, -along])
    return x, y, 0.25 * s * ds, dt


def _squares(shape: tuple[int, int], rate: float) -> Array:
    """Return the masses `(m, n)` of unit squares, by how many rows and columns away they are."""
    x, y, along, across = _square_rule(rate)
    squares = (np.arange(shape[1])[:, None, None, None] + y) ** 2
    masses = np.empty(shape)
    for i in range(shape[0]):
        masses[i] = ((np.exp(-rate * np.sqrt((i + x) ** 2 + squares)) @ across) @ along).sum(axis=1)
    return masses * (rate**2 / (2 * math.pi))


NAME = "planar_laplace"
SLACK = 1e-11
"""Reduction of the level per step for the rounding of entries and of row sums."""
_LOWERED = 1e-9
"""Relative reduction of the level before, for the rounding of coordinates."""


@dataclass(frozen=True, eq=False, repr=False)
class OnGrid(Mechanism):
    """Planar Laplace noise on a grid, with rows on demand.

    Private in doubles at ε: an entry is a sum over nodes that depend on the report alone, hence the ratio of two
    entries of a report is at most e^{βr} with r the number of steps between the secrets. β is lowered by 1e-9
    relative for the rounding of the coordinates, and by 1e-11 for that of the entries and their row sums, which is
    checked. No entry is below 1e-250.

    `masses` are those of `border_masses`, and `totals` `(n,)` the sum of each row before it is divided by that.
    """

    space: MetricSpace
    reports: Reports
    masses: Array
    totals: Array
    name: str
    privacy: Privacy | None

    @classmethod
    def of(cls, space: MetricSpace, epsilon: float) -> OnGrid:
        """Make the mechanism of a grid that `PlanarLaplace` does not refuse, proven private at ε.

        CertificateError where rounding is not within what ε was lowered by.
        """
        rows, columns = space.structure.shape
        rate = level_per_step(space, epsilon)

        # A row is made of entries of one table, those at the distances and kinds at which its secret sees the cells.
        # Its sum follows from how often each entry is seen from each row and each column of the grid.
        masses = border_masses((rows, columns), rate)
        totals = _times_seen(rows) @ masses @ _times_seen(columns).T

        # The logarithm of an entry of a row is off by at most its rounding and that of the row sum; the ratio of two
        # has twice that.
        slack = 2 * rounding_of_masses(rate) + 2 * float(np.abs(totals - 1).max()) + 8 * UNIT
        if slack > SLACK or 8 * (max(rows, columns) + 8) * UNIT > _LOWERED:
            raise CertificateError(f"the masses of the cells are only accurate to {slack:.1e}")
        how = (
            "each entry is a sum over fixed nodes, so that the triangle inequality bounds every ratio; level "
            f"lowered by {1 - rate / (epsilon * space.structure.spacing):.1e} for rounding"
        )
        return cls(space, Reports.of(space), masses, totals.ravel(), titled(NAME), Privacy(epsilon, how))

    def _rows(self, secrets: Indices) -> Array:
        # Entries of the table, by the distance and kind at which each secret sees each cell.
        rows, columns = self.space.structure.shape
        down, across = np.divmod(secrets, columns)
        first = _seen_from(down, rows)
        second = _seen_from(across, columns)
        table = self.masses[first[:, :, None], second[:, None, :]].reshape(len(secrets), -1)
        table /= self.totals[secrets, None]
        return table

    def packed(self) -> Arrays:
        return self.packed_common() | {"noise": NAME}


def _seen_from(positions: Indices, size: int) -> Indices:
    """Return, along an axis, the index in the table of each cell `(k, size)` seen from k positions."""
    cells = np.arange(size)
    border = (cells == 0) | (cells == size - 1)
    return np.abs(positions[:, None] - cells) + size * border


def _times_seen(size: int) -> Array:
    """Count the positions of an axis that see each entry of the table, `(size, 2·size)`."""
    counts = np.zeros((size, 2 * size))
    np.add.at(counts, (np.arange(size)[:, None], _seen_from(np.arange(size), size)), 1.0)
    return counts


def level_per_step(space: MetricSpace, epsilon: float) -> float:
    """Return the level per step of the grid, lowered to leave room for every rounding."""
    return epsilon * space.structure.spacing * (1 - _LOWERED) - SLACK


def read(arrays: Arrays) -> Mechanism:
    """Return the mechanism of `OnGrid.packed`, made and proven again."""
    return OnGrid.of(unpack(arrays), float(arrays["epsilon"]))
