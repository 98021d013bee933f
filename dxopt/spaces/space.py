"""What is protected: a finite set of secrets and the distances that say which must look alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.spaces.labels import Coordinates
from dxopt.spaces.metrics import Metric, metric_named

if TYPE_CHECKING:
    import networkx as nx

    from dxopt.spaces.positions import Positions

Kind = Literal["general", "path", "lattice", "torus", "graph", "tree", "product"]


TRIANGLE_SLACK = 1e-12
MATRIX_POINTS = 20_000
_BLOCK_CELLS = 4_000_000


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


@dataclass(frozen=True, eq=False)
class MetricSpace:
    """A finite extended, pseudo- or quasi-metric space (CABP13 §3).

    Distances are unscaled: a `Problem` multiplies them by ε. Infinite means no constraint between the two;
    0 between different points forces them to be reported alike; asymmetric distances are one-sided.
    Build one with `from_points`, `from_distances`, `from_graph`, `line`, `grid`, `torus` or `product`.

    Attributes
    ----------
    labels : sequence of str, length n
        A tuple, or computed from indices or coordinates on demand where no labels were given.
    points : (n, k) array or None
    metric : Metric or None
        None where distances were given, come from a graph, or are sums over factors.
    structure : Structure
    positions : Positions or None
        Where the points are on the Earth, where `points` does not say so; see `spaces.geo`.
    """

    labels: Sequence[str]
    points: NDArray | None = None
    metric: Metric | None = None
    structure: Structure = field(default_factory=Structure)
    given: NDArray[np.float64] | None = field(default=None, repr=False)
    positions: Positions | None = field(default=None, repr=False, kw_only=True)
    _source: ClassVar[str] = "given distances"

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        how = self.metric.name if self.metric else self._source
        return f"<MetricSpace of {len(self)} points, {how}, {self.structure.kind}>"

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """All distances, `(n, n)`, read-only; entry [x, x'] is d(x, x').

        Raises
        ------
        UnsupportedError
            If there are more than 20,000 points and the matrix was not given; use `row` and `block`.
        """
        if self.given is None and len(self) > MATRIX_POINTS:
            raise UnsupportedError(
                "space",
                f"has {len(self):,} points, too many for a matrix of distances ({MATRIX_POINTS:,} at most)",
                "use fewer, or dx.tight_constraints, which needs no matrix",
            )
        distances = self._matrix()
        distances.flags.writeable = False
        return distances

    def _matrix(self) -> NDArray[np.float64]:
        everything = np.arange(len(self))
        return self.block(everything, everything) if self.given is None else self.given

    def block(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        """Distances `(p, q)` from the points `rows` to the points `columns` (indices)."""
        rows, columns = np.asarray(rows), np.asarray(columns)
        if self.given is not None:
            return self.given[np.ix_(rows, columns)]
        return self.distances_to(self._located()[columns], rows)

    def row(self, x: Any) -> NDArray[np.float64]:
        """Distances `(n,)` from the point x (index or label) to every point, in memory for a few arrays of n."""
        place = np.array([self.index(x)])
        if self.given is not None:
            return self.given[place[0]].copy()
        return self.distances_to(self._located(), place)[0]

    def distances_to(self, targets: NDArray, rows: NDArray | None = None) -> NDArray[np.float64]:
        """Distances `(p, q)` from the points `rows` (all by default) to any points `(q, k)` of the same kind."""
        if self.metric is None:
            raise SpecError("reports", "the space has no metric between points", "give the loss as a matrix")
        sources = self._located() if rows is None else self._located()[rows]
        cells = max(1, _BLOCK_CELLS // sources.shape[1])
        wide = max(1, min(len(targets), cells))
        high = max(1, cells // wide)
        distances = np.empty((len(sources), len(targets)))
        for i in range(0, len(sources), high):
            for j in range(0, len(targets), wide):
                distances[i : i + high, j : j + wide] = self.metric.block(
                    sources[i : i + high], targets[j : j + wide]
                )
        return distances

    @cached_property
    def symmetric(self) -> bool:
        """Whether d(x, x') = d(x', x) for all pairs, exactly; known at once unless the distances were given."""
        # metrics from elsewhere need not say
        if self.given is None and getattr(self.metric, "symmetric", False):
            return True
        return bool(np.array_equal(self.distances, self.distances.T))

    @cached_property
    def nearest(self) -> float:
        """The least distance between two points that is neither 0 nor infinite; infinite where there is none.

        Takes O(n) time by structure, O(n²) without.
        """
        structure = self.structure
        match structure.kind:
            case "path":
                return _least(np.abs(np.diff(self._located()[:, 0])))
            case "lattice":
                return min(_least(np.diff(ticks)) for ticks in structure.ticks)
            case "torus":
                seams = (len(ticks) * structure.spacing - ticks[-1] for ticks in structure.ticks if len(ticks) > 1)
                return min([*(_least(np.diff(ticks)) for ticks in structure.ticks), *seams])
            case "product":
                return min(factor.nearest for factor in structure.factors)
        high = max(1, _BLOCK_CELLS // len(self))
        everything = np.arange(len(self))
        return min(_least(self.block(everything[i : i + high], everything)) for i in range(0, len(self), high))

    def index(self, label: Any) -> int:
        """Position of a point given by its label, or by its index."""
        if isinstance(label, int | np.integer) and 0 <= label < len(self):
            return int(label)
        try:
            return self.labels.index(str(label))
        except ValueError:
            raise SpecError("point", f"there is no point {label!r}", "use an index or a label") from None

    def _located(self) -> NDArray:
        if self.points is None:
            raise SpecError("space", "has no points, only distances", "use its labels or indices")
        return self.points

    @classmethod
    def from_points(
        cls,
        points: ArrayLike,
        metric: str | Metric = "euclidean",
        *,
        labels: Sequence[Any] | None = None,
    ) -> MetricSpace:
        """A space from coordinates; a sorted line or a full product under a sum over columns is recognised.

        Parameters
        ----------
        points : (n, k) array, or (n,) for one coordinate
        metric : str or Metric
            A registered name or a metric object.

        Raises
        ------
        SpecError
            If the points do not suit the metric.
        """
        from dxopt.spaces.recognition import recognised

        located = np.array(points, order="C")
        if located.ndim == 1:
            located = located[:, None]
        if located.ndim != 2 or not located.size:
            raise SpecError("points", f"have shape {located.shape}", "give one row of coordinates per point")
        if np.issubdtype(located.dtype, np.number) or located.dtype == bool:
            located = located.astype(float, copy=False)
        located.flags.writeable = False
        prepared = metric_named(metric).prepare(located)
        names = Coordinates(located) if labels is None else _checked_labels(labels, len(located))
        return cls(names, located, prepared, recognised(located, prepared))

    @classmethod
    def from_distances(
        cls, distances: ArrayLike, *, close: bool = False, labels: Sequence[Any] | None = None
    ) -> MetricSpace:
        """A space from a matrix of distances; may be asymmetric, infinite, or 0 off the diagonal.

        Parameters
        ----------
        distances : (n, n) array
        close : bool
            Replace distances that break the triangle inequality by their shortest-path closure, which
            induces the same constraints. Without it such distances are an error.

        Raises
        ------
        SpecError
            If entries are negative or NaN, the diagonal is not 0, or the triangle inequality fails
            (by more than 1e-12 relative); the message names the three points.
        """
        matrix = _checked_matrix(distances)
        names = _checked_labels(labels if labels is not None else range(len(matrix)), len(matrix))
        broken = _triangle_violation(matrix)
        if broken is not None:
            if not close:
                a, b, c = (names[i] for i in broken)
                i, j, k = broken
                raise SpecError(
                    "distances",
                    f"d({a}, {c}) = {matrix[i, k]:.6g} exceeds d({a}, {b}) + d({b}, {c}) = "
                    f"{matrix[i, j] + matrix[j, k]:.6g}",
                    "mend the triangle inequality, or set close to true",
                )
            matrix = path_closure(matrix)
        matrix.flags.writeable = False
        return cls(names, given=matrix)

    @classmethod
    def from_graph(cls, graph: nx.Graph | nx.DiGraph, weight: str | None = None) -> MetricSpace:
        """Shortest-path distances of a networkx graph, directed or not; see `spaces.graphs`."""
        from dxopt.spaces.graphs import graph_space

        return graph_space(graph, weight)


def _checked_labels(labels: Sequence[Any] | range, size: int) -> tuple[str, ...]:
    names = tuple(str(label) for label in labels)
    if len(names) != size:
        raise SpecError("labels", f"{len(names)} labels for {size} points", "give one label per point")
    return names


def _least(distances: NDArray[np.float64]) -> float:
    return float(np.min(distances, where=distances > 0, initial=np.inf))


def _checked_matrix(distances: ArrayLike) -> NDArray[np.float64]:
    try:
        matrix = np.array(distances, dtype=float)
    except (TypeError, ValueError):
        raise SpecError("distances", "are not a matrix of numbers", "give an n × n array") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise SpecError("distances", f"have shape {matrix.shape}", "give a square matrix")
    for bad, wrong in ((np.isnan(matrix), "is not a number"), (matrix < 0, "is negative")):
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise SpecError("distances", f"entry [{row}, {column}] {wrong}", "distances are 0 or more, or inf")
    if np.diagonal(matrix).any():
        row = int(np.flatnonzero(np.diagonal(matrix))[0])
        raise SpecError("distances", f"entry [{row}, {row}] is {matrix[row, row]:g}", "the diagonal must be 0")
    return matrix


def _triangle_violation(matrix: NDArray[np.float64]) -> tuple[int, int, int] | None:
    """Indices (a, b, c) with d(a, c) > d(a, b) + d(b, c) beyond rounding, or None."""
    for via in range(len(matrix)):
        detour = matrix[:, via, None] + matrix[None, via, :]
        bad = matrix > detour * (1 + TRIANGLE_SLACK)
        if bad.any():
            start, end = np.argwhere(bad)[0]
            return int(start), via, int(end)
    return None


def path_closure(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths `(n, n)` of shortest paths, where a step from i to j is `lengths[i, j]` long."""
    closed = lengths.copy()
    for via in range(len(closed)):
        np.minimum(closed, closed[:, via, None] + closed[None, via, :], out=closed)
    return closed
