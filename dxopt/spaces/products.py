"""Products of spaces: all tuples of points, under the sum of the factors' distances."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, required
from dxopt.spaces.labels import Tuples
from dxopt.spaces.lattices import line, require_room
from dxopt.spaces.space import MetricSpace, Structure, combined
from dxopt.spaces.units import common_unit

_APART = (
    "solve one problem for each factor, all at one epsilon: its mechanisms, each for its own part of the secret, are "
    "private together under the sum of distances"
)


def product(*factors: MetricSpace) -> MetricSpace:
    """Make the space of all tuples of points, the last factor fastest, under the sum of their distances.

    The `d_1` product of spaces; of n copies of a space of values, databases of n records (CABP13 §5).
    Labels are `(a, b)`. Products of products are joined to one; a single factor is returned as it is. Where all
    factors have one unit, it is that of the sums.

    Parameters
    ----------
    *factors : MetricSpace
        Of any kind; distances may be infinite or asymmetric.

    Raises
    ------
    SpecError
        If there are none, one of them is no space, or there are more tuples than fit in memory.

    Examples
    --------
    >>> import dxopt as dx
    >>> pairs = dx.product(dx.line(3), dx.line(2, step=10))
    >>> print(list(pairs.labels))
    ['(0, 0)', '(0, 10)', '(1, 0)', '(1, 10)', '(2, 0)', '(2, 10)']
    >>> pairs.row(label="(0, 0)").tolist()
    [0.0, 10.0, 1.0, 11.0, 2.0, 12.0]
    """
    for factor in factors:
        required("factors", factor, MetricSpace, "give spaces such as dx.line(5)")
    if not factors:
        raise SpecError("factors", "there are none", "give at least one space")
    if len(factors) == 1:
        return factors[0]
    flat: list[MetricSpace] = []
    for factor in factors:
        flat.extend(factor.structure.factors if isinstance(factor, ProductSpace) else [factor])
    sizes = tuple(map(len, flat))
    located = _coordinates(flat)
    require_room("factors", sizes, sum(part.shape[1] for part in located), _APART)
    structure = Structure("product", sizes, factors=tuple(flat))
    labels = Tuples(tuple(factor.labels for factor in flat))
    unit = common_unit([factor.unit for factor in flat])
    return ProductSpace(labels, combined(located) if located else None, structure=structure, unit=unit)


@dataclass(frozen=True, eq=False, repr=False)
class ProductSpace(MetricSpace):
    """A space whose distances are sums over the factors of its structure.

    `points` are the coordinates of all factors side by side, where all of them have numbers for coordinates.
    """

    @property
    def _distances_text(self) -> str:
        return "sum over factors"

    @cached_property
    def symmetric(self) -> bool:
        return all(factor.symmetric for factor in self.structure.factors)

    def block(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Return the distances `(p, q)` from the points `rows` to `columns` (indices), sums over the factors."""
        starts = self._in_factors(self._indices(rows, "rows"))
        ends = self._in_factors(self._indices(columns, "columns"))
        distances = np.zeros((np.size(rows), np.size(columns)))
        for factor, start, end in zip(self.structure.factors, starts, ends, strict=True):
            # many points of the product share a point of the factor: its distances are read once, then repeated
            used, row = _distinct(start)
            reached, column = _distinct(end)
            distances += factor.block(used, reached)[np.ix_(row, column)]
        return distances

    def _row(self, index: int) -> NDArray[np.float64]:
        """Return the distances `(n,)` from one point to all."""
        # the last factor is the fastest, so that each outer sum lists the points of one factor more in order
        distances = np.zeros(1)
        for factor, at in zip(self.structure.factors, self._in_factors(index), strict=True):
            distances = np.add.outer(distances, factor.row(index=int(at))).reshape(-1)
        return distances

    def distances_to(self, targets: ArrayLike, rows: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return the distances `(p, q)` from the points `rows`, by default all, to any coordinates `(q, k)`."""
        targets = self._targets(targets)
        starts = self._in_factors(np.arange(len(self)) if rows is None else self._indices(rows, "rows"))
        distances = np.zeros((len(starts[0]), len(targets)))
        # the columns of `targets` are those of the factors, side by side
        column = 0
        for factor, start in zip(self.structure.factors, starts, strict=True):
            width = factor._located().shape[1]
            used, row = _distinct(start)
            distances += factor.distances_to(targets[:, column : column + width], used)[row]
            column += width
        return distances

    def _in_factors(self, points: ArrayLike) -> tuple[NDArray[np.intp], ...]:
        """Return the index of each point in each factor."""
        return np.unravel_index(np.asarray(points), self.structure.shape)


def _distinct(indices: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the distinct indices, and for each index its place among them."""
    distinct, which = np.unique(indices, return_inverse=True)
    return distinct, which.reshape(-1)


def _coordinates(factors: list[MetricSpace]) -> list[NDArray[np.float64]]:
    """Return the coordinates of each factor; an empty list unless all of them have numbers for coordinates."""
    parts = [factor.points for factor in factors if factor.points is not None and factor.points.dtype == float]
    return parts if len(parts) == len(factors) else []


def sides(space: MetricSpace) -> tuple[MetricSpace, ...]:
    """Return the factors whose product, under the sum of distances, is a space; itself alone where it has no others.

    A grid under the Manhattan metric is the product of a line for each axis.
    """
    structure = space.structure
    if structure.kind == "product":
        return structure.factors
    if structure.kind == "lattice" and space.metric is not None and space.metric.name == "manhattan":
        lines = {size: line(size, step=structure.spacing, unit=space.unit) for size in set(structure.shape)}
        return tuple(lines[size] for size in structure.shape)
    return (space,)
