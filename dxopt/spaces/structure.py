"""What is known of a space beyond its distances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from dxopt.spaces.space import MetricSpace

Kind = Literal["general", "path", "lattice", "torus", "graph", "tree", "product"]


def _none(*shape: int, dtype: type = float) -> NDArray:
    empty = np.empty(shape, dtype=dtype)
    empty.flags.writeable = False
    return empty


@dataclass(frozen=True, eq=False)
class Structure:
    """The kind of a space, and what is known of that kind; formulations and solvers choose by it.

    Attributes
    ----------
    kind : str
        path: one coordinate, strictly rising or falling. lattice, torus: a regular grid under a norm, open or closed
        to a ring along each axis. product: all tuples of the factors' points, the last factor fastest, under the sum
        of the factors' distances. tree: shortest paths in an undirected graph without cycles, with positive lengths;
        it may have several components. graph: shortest paths in any other graph. general: none of these.
    shape : tuple of int
        Points along each axis (lattice, torus, path), or of each factor (product).
    spacing : float
        Of a lattice, a torus or an even path.
    factors : tuple of MetricSpace
        Of a product.
    edges : (m, 2) int64 array
        Positions of the two ends of each edge of a tree.
    lengths : (m,) array
        Lengths of those edges, positive.
    """

    kind: Kind = "general"
    shape: tuple[int, ...] = ()
    spacing: float = 1.0
    factors: tuple[MetricSpace, ...] = field(default=(), repr=False)
    edges: NDArray[np.int64] = field(default_factory=lambda: _none(0, 2, dtype=np.int64), repr=False)
    lengths: NDArray[np.float64] = field(default_factory=lambda: _none(0), repr=False)

    @property
    def ticks(self) -> tuple[NDArray[np.float64], ...]:
        """The coordinates along each axis of a lattice, a torus or an even path that starts at 0."""
        return tuple(np.arange(size, dtype=float) * self.spacing for size in self.shape)
