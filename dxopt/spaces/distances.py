"""Distances between the points of a space: from a metric, a matrix or a graph; checked, closed, read in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import Option, SpecError, UnsupportedError
from dxopt.numerics.coerce import as_numbers
from dxopt.spaces.metrics import Metric

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array


TRIANGLE_SLACK = 1e-12
MATRIX_POINTS = 20_000
"""The most points of a matrix of distances that is computed, not given: 3.2 GB."""
BLOCK_CELLS = 4_000_000
"""The most numbers of a block of distances: 32 MB."""

Array = NDArray[np.float64]


def in_blocks(indices: NDArray[np.int64], width: int) -> list[NDArray[np.int64]]:
    """Split the indices of rows `width` numbers wide into blocks of at most `BLOCK_CELLS` numbers."""
    step = max(1, BLOCK_CELLS // width)
    return np.split(indices, range(step, len(indices), step))


@dataclass(frozen=True, eq=False)
class Matrix:
    """Distances that were given, one for each pair of points; a source of distances, as `Paths` is.

    Attributes
    ----------
    matrix : (n, n) array
    """

    matrix: Array
    origin: ClassVar[str] = "given distances"

    @cached_property
    def symmetric(self) -> bool:
        """Return True if the matrix is its own transpose, exactly."""
        return bool(np.array_equal(self.matrix, self.matrix.T))

    @cached_property
    def nearest(self) -> float:
        """The least distance that is neither 0 nor infinite; infinite where there is none."""
        return least_by_rows(self.block, len(self.matrix))

    def block(self, rows: NDArray, columns: NDArray) -> Array:
        """Distances `(p, q)` from the points `rows` to the points `columns` (indices)."""
        return self.matrix[np.ix_(rows, columns)]

    def row(self, index: int) -> Array:
        """A copy of the distances `(n,)` from one point to every point."""
        return self.matrix[index].copy()


def between(sources: NDArray, targets: NDArray, metric: Metric) -> Array:
    """Distances `(p, q)` between points `(p, k)` and `(q, k)` under a metric prepared for them."""
    # metrics take p·q·k cells of memory: cut rows and columns so that no piece takes more than BLOCK_CELLS
    cells = max(1, BLOCK_CELLS // sources.shape[1])
    wide = max(1, min(len(targets), cells))
    high = max(1, cells // wide)
    distances = np.empty((len(sources), len(targets)))
    for i in range(0, len(sources), high):
        for j in range(0, len(targets), wide):
            distances[i : i + high, j : j + wide] = metric.block(sources[i : i + high], targets[j : j + wide])
    return distances


def least(distances: Array) -> float:
    """The least of some distances that is not 0; infinite where there is none."""
    return float(np.min(distances, where=distances > 0, initial=np.inf))


def least_step(axes: Iterable[Array], ring: float | None = None) -> float:
    """The least distance between neighbours along some axes, and over the seam of each that is closed to a ring.

    Parameters
    ----------
    axes : iterable of (k,) array
        Sorted coordinates.
    ring : float, optional
        The spacing, where axes are closed.
    """
    steps = [np.abs(np.diff(axis)) for axis in axes]
    seams = [] if ring is None else [(len(step) + 1) * ring - step.sum() for step in steps if len(step)]
    return min([*map(least, steps), *seams])


def least_by_rows(block: Callable[[NDArray, NDArray], Array], size: int) -> float:
    """The least distance between `size` points that is not 0, from blocks of whole rows."""
    rows_at_once = max(1, BLOCK_CELLS // size)
    everything = np.arange(size)
    starts = range(0, size, rows_at_once)
    return min(least(block(everything[start : start + rows_at_once], everything)) for start in starts)


def require_few(size: int) -> None:
    """Raise UnsupportedError where points are too many for a matrix of their distances."""
    if size > MATRIX_POINTS:
        raise UnsupportedError(
            "space",
            f"has {size:,} points, too many for a matrix of distances ({MATRIX_POINTS:,} at most)",
            "use fewer, or dx.tight_constraints, which needs no matrix",
        )


class BrokenTriangle(SpecError):
    """Distances that break the triangle inequality."""


def checked_matrix(distances: ArrayLike) -> Array:
    """A copy of square distances; raises SpecError where one is negative or NaN, or the diagonal is not 0."""
    matrix = as_numbers(distances, "distances", "give an n × n array of numbers")
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


def metric_matrix(matrix: Array, names: Sequence[str], *, close: bool, slack: float = 0.0) -> Array:
    """The same distances where they obey the triangle inequality, else their closure if `close` is set.

    Raises
    ------
    BrokenTriangle
        If they do not, by more than 1e-12 relative and `slack`, and `close` is not set; the message names the three
        points.
    """
    broken = _triangle_violation(matrix, slack)
    if broken is None:
        return matrix
    if close:
        return path_closure(matrix)
    i, j, k = broken
    a, b, c = names[i], names[j], names[k]
    raise BrokenTriangle(
        "distances",
        f"d({a}, {c}) = {matrix[i, k]:.6g} exceeds d({a}, {b}) + d({b}, {c}) = {matrix[i, j] + matrix[j, k]:.6g}",
        "mend the triangle inequality, or give ",
        Option("close", True),
    )


def require_triangles(matrix: Array, names: Sequence[str]) -> None:
    """Raise SpecError where distances that were computed break the triangle inequality.

    Rounding may break it by 1e-12 relative, and by as much of the largest finite distance.
    """
    largest = float(np.max(matrix, where=np.isfinite(matrix), initial=0.0))
    broken = _triangle_violation(matrix, TRIANGLE_SLACK * largest)
    if broken is not None:
        a, b, c = (names[index] for index in broken)
        raise SpecError("distances", f"d({a}, {c}) exceeds d({a}, {b}) + d({b}, {c})", "solve the problem again")


def _triangle_violation(matrix: Array, slack: float = 0.0) -> tuple[int, int, int] | None:
    """Indices (a, b, c) with d(a, c) > d(a, b) + d(b, c) beyond rounding and some slack, or None."""
    for via in range(len(matrix)):
        detour = matrix[:, via, None] + matrix[None, via, :]
        bad = matrix > detour * (1 + TRIANGLE_SLACK) + slack
        if bad.any():
            start, end = np.argwhere(bad)[0]
            return int(start), via, int(end)
    return None


def path_closure(lengths: Array) -> Array:
    """Lengths `(n, n)` of shortest paths, where a step from i to j is `lengths[i, j]` long."""
    # Floyd and Warshall: after round k, `closed` has the shortest paths whose inner points are among the first k
    closed = lengths.copy()
    for via in range(len(closed)):
        np.minimum(closed, closed[:, via, None] + closed[None, via, :], out=closed)
    return closed


MATRIX_AT_ONCE = 4_000


@dataclass(frozen=True, eq=False)
class Paths:
    """Lengths of shortest paths, computed when they are read; a source of distances, as `Matrix` is.

    `matrix` of an undirected graph is exactly symmetric. Above 4,000 points `block` and `row` run from their
    rows alone and keep nothing, and d(x, x') agrees with d(x', x) up to rounding only.

    Attributes
    ----------
    steps : (n, n) sparse array
        Length of the edge from i to j, both ways for undirected graphs; a stored 0 is an edge.
    directed : bool
    """

    steps: csr_array
    directed: bool
    origin: ClassVar[str] = "shortest paths"

    @classmethod
    def along(cls, edges: NDArray[np.int64], lengths: Array, size: int, *, directed: bool) -> Paths:
        """The paths between `size` points along edges `(m, 2)` of some lengths `(m,)`."""
        from scipy.sparse import csr_array

        start, end = edges.T.astype(np.int32)
        if not directed:
            start, end = np.concatenate([start, end]), np.concatenate([end, start])
            lengths = np.tile(lengths, 2)
        return cls(csr_array((lengths, (start, end)), shape=(size, size)), directed)

    @property
    def size(self) -> int:
        """The number of points."""
        return self.steps.shape[0]  # pyright: ignore[reportOptionalSubscript]

    @cached_property
    def matrix(self) -> Array:
        """All distances, `(n, n)`, read-only.

        Raises
        ------
        UnsupportedError
            If there are more than 20,000 points.
        """
        require_few(self.size)
        distances = self._from(np.arange(self.size))
        if not self.directed:
            # both directions of a path are summed in other orders, so that they may differ by rounding
            np.minimum(distances, distances.T, out=distances)
        distances.flags.writeable = False
        return distances

    @cached_property
    def symmetric(self) -> bool:
        """Return True if d(x, x') = d(x', x) for all pairs, exactly; known at once for undirected graphs."""
        return not self.directed or bool(np.array_equal(self.matrix, self.matrix.T))

    @cached_property
    def nearest(self) -> float:
        """The least distance that is neither 0 nor infinite: the shortest edge, unless some have length 0."""
        lengths = self.steps.data
        if len(lengths) and not lengths.all():
            return least_by_rows(self.block, self.size)
        return float(np.min(lengths, initial=np.inf))

    def block(self, rows: NDArray, columns: NDArray) -> Array:
        """Distances `(p, q)` from the points `rows` to the points `columns` (indices)."""
        if self.size <= MATRIX_AT_ONCE:
            return self.matrix[np.ix_(rows, columns)]
        distances = np.empty((len(rows), len(columns)))
        for row, x in enumerate(rows):
            distances[row] = self._from(x)[columns]
        return distances

    def row(self, index: int) -> Array:
        """Distances `(n,)` from one point to every point."""
        return self.matrix[index].copy() if self.size <= MATRIX_AT_ONCE else self._from(index)

    def is_forest(self) -> bool:
        """Return True if the graph is undirected, without cycles and without lengths of 0: a forest."""
        from scipy.sparse.csgraph import connected_components

        if self.directed or not (self.steps.data > 0).all():
            return False
        # a graph of n points and c components has n - c edges if it has no cycle, and more if it has one
        edges = len(self.steps.data) // 2
        components = connected_components(self.steps, directed=False, return_labels=False)
        return edges + components == self.size

    def _from(self, starts: ArrayLike) -> Array:
        from scipy.sparse.csgraph import dijkstra

        return dijkstra(self.steps, indices=starts, directed=True)


def required_graph(graph: Any) -> None:
    """SpecError unless a graph of networkx is given."""
    if not hasattr(graph, "is_multigraph"):
        raise SpecError("graph", f"is of type {type(graph).__name__}", "give a graph of networkx, as nx.Graph(edges)")


def nodes_and_edges(
    graph: nx.Graph | nx.DiGraph, weight: str | None
) -> tuple[tuple[str, ...], NDArray[np.int64], Array]:
    """Names of the nodes of a graph, ends `(m, 2)` and lengths `(m,)` of its edges; no loops, no parallel edges.

    Raises
    ------
    SpecError
        If it is no graph, it is empty, or a length is missing, negative or not finite; the message names the edge.
    """
    required_graph(graph)
    nodes = list(graph)
    if not nodes:
        raise SpecError("graph", "has no nodes", "give at least one")
    edges, lengths = _shortest_edges(graph, {node: i for i, node in enumerate(nodes)}, weight)
    edges.flags.writeable = False
    lengths.flags.writeable = False
    return tuple(map(str, nodes)), edges, lengths


def _shortest_edges(graph: nx.Graph, position: dict[Any, int], weight: str | None) -> tuple[NDArray[np.int64], Array]:
    """Ends and lengths of the edges, without loops, the shortest of parallel ones."""
    # Graphs of any kind take the name of an attribute here; where there is none, the lengths are not looked at.
    listed: Iterable[tuple[Any, Any, Any]] = graph.edges(data=weight or "")  # pyright: ignore[reportCallIssue]
    named = [edge for edge in listed if edge[0] != edge[1]]
    start = np.fromiter((position[edge[0]] for edge in named), np.int64, len(named))
    end = np.fromiter((position[edge[1]] for edge in named), np.int64, len(named))
    lengths = np.ones(len(named)) if weight is None else _lengths(named, weight)
    edges = np.stack([start, end], axis=1)
    if not graph.is_multigraph():
        return edges, lengths
    # of the edges of each pair of ends the shortest, where the pair comes first
    _, first, pair = np.unique(start * len(position) + end, return_index=True, return_inverse=True)
    shortest = np.full(len(first), np.inf)
    np.minimum.at(shortest, pair.reshape(-1), lengths)
    order = np.argsort(first)
    return edges[first[order]], shortest[order]


def _lengths(named: list[tuple[Any, Any, Any]], weight: str) -> Array:
    """The lengths of edges, given as (start, end, length)."""
    try:
        lengths = np.array([length for _, _, length in named], dtype=float)
    except (TypeError, ValueError, OverflowError):
        lengths = None
    # One by one where some is wrong, which says of which edge, or of a kind that NumPy does not read.
    if lengths is not None and lengths.shape == (len(named),) and (lengths >= 0).all() and np.isfinite(lengths).all():
        return lengths
    return np.array([_length(*edge, weight) for edge in named], dtype=float)


def _length(start: Any, end: Any, value: Any, weight: str) -> float:
    try:
        length = float(value)
    except (TypeError, ValueError, OverflowError):
        length = float("nan")
    if not (length >= 0 and np.isfinite(length)):
        raise SpecError(
            "weight",
            f"edge ({start}, {end}) has {weight} = {value!r}",
            "every edge needs a length of 0 or more",
        )
    return length
