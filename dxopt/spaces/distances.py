"""Distances between the points of a space: from a metric, a matrix or a graph; checked, closed, read in blocks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import Option, SpecError, UnsupportedError, required
from dxopt.numerics.coerce import as_numbers
from dxopt.numerics.number_syntax import at_most
from dxopt.spaces.metrics import Metric

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array


TRIANGLE_SLACK = 1e-12  # the relative error of distances up to which the triangle inequality counts as kept
FEWER = "take fewer points, or dx.tight_constraints, which needs no matrix on lines, grids and products"
"""The fix for a space that is too large for a matrix."""
MATRIX_POINTS = 20_000
"""The most points of a matrix of distances that is computed, not given: 3.2 GB."""
_CLOSED_TO_TELL = 500
"""The most points whose distances are closed to say what that changes, which takes half a second."""
BLOCK_CELLS = 4_000_000
"""The most numbers of a block of distances: 32 MB."""

Array = NDArray[np.float64]


def in_blocks(indices: NDArray[np.int64], width: int, cells: int | None = None) -> Iterator[NDArray[np.int64]]:
    """Yield some indices at a time, so that as many rows of this width have at most `cells` entries."""
    step = max(1, (cells or BLOCK_CELLS) // width)
    for start in range(0, len(indices), step):
        yield indices[start : start + step]


def between(sources: NDArray, targets: NDArray, metric: Metric) -> Array:
    """Return the distances `(p, q)` between points `(p, k)` and `(q, k)` under a metric prepared for them."""
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
    """Return the least of some distances that is not 0; infinite where there is none."""
    return float(np.min(distances, where=distances > 0, initial=np.inf))


def least_step(axes: Iterable[Array], ring: float | None = None) -> float:
    """Return the least distance between neighbours along axes of sorted coordinates.

    Where the axes are closed to rings, `ring` is their spacing, and distances over the seams count too.
    """
    steps = [np.abs(np.diff(axis)) for axis in axes]
    # a seam joins the last point of a ring to its first: the rest of the way round
    seams = [] if ring is None else [(len(step) + 1) * ring - step.sum() for step in steps if len(step)]
    return min([*map(least, steps), *seams])


def least_by_rows(block: Callable[[NDArray, NDArray], Array], size: int) -> float:
    """Return the least distance between `size` points that is not 0, from blocks of whole rows."""
    everything = np.arange(size)
    return min(least(block(rows, everything)) for rows in in_blocks(everything, size))


def require_few(size: int) -> None:
    """Raise UnsupportedError where points are too many for a matrix of their distances."""
    if size > MATRIX_POINTS:
        wrong = f"has {size:,} points, too many for a matrix of distances ({MATRIX_POINTS:,} at most)"
        raise UnsupportedError("space", wrong, FEWER)


class BrokenTriangle(SpecError):
    """Distances that break the triangle inequality."""


def checked_matrix(distances: ArrayLike) -> Array:
    """Copy square distances; raise SpecError where one is negative or NaN, or the diagonal is not 0."""
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
    """Return distances that obey the triangle inequality as they are, others as their closure if `close` is set.

    Raises
    ------
    BrokenTriangle
        If they break it by more than 1e-12 relative and `slack`, and `close` is not set; it names the three points.
    """
    for via in range(len(matrix)):
        with np.errstate(over="ignore"):
            detours = matrix[:, via, None] + matrix[None, via, :]
            broken = matrix > detours * (1 + TRIANGLE_SLACK) + slack
        if not broken.any():
            continue
        if close:
            return path_closure(matrix)
        start, end = np.argwhere(broken)[0].tolist()
        a, b, c = names[start], names[via], names[end]
        detour = f"d({a}, {b}) + d({b}, {c}) = {detours[start, end]:.6g}"
        wrong = f"d({a}, {c}) = {matrix[start, end]:.6g} exceeds {detour}"
        fix = ("mend the triangle inequality, or give ", Option("close", True), _shortened_by_closing(matrix))
        raise BrokenTriangle("distances", wrong, *fix)
    return matrix


def _shortened_by_closing(matrix: Array) -> str:
    """Say how many distances the closure shortens, and by how much at most; nothing of many points."""
    if len(matrix) > _CLOSED_TO_TELL:
        return ""
    with np.errstate(over="ignore"):
        closed = path_closure(matrix)
        shorter = matrix > closed * (1 + TRIANGLE_SLACK)
    most = at_most(100 * float(np.max(1 - closed[shorter] / matrix[shorter])))
    many = f"{np.count_nonzero(shorter):,} of {matrix.size - len(matrix):,} distances"
    return f", which shortens {many} by {most} % at most"


def path_closure(lengths: Array) -> Array:
    """Return the lengths `(n, n)` of shortest paths, where a step from i to j is `lengths[i, j]` long."""
    # Floyd and Warshall: after round k, `closed` has the shortest paths whose inner points are among the first k
    closed = lengths.copy()
    for via in range(len(closed)):
        np.minimum(closed, closed[:, via, None] + closed[None, via, :], out=closed)
    return closed


MATRIX_AT_ONCE = 4_000  # the most points whose shortest paths are all computed and kept when some are asked for


@dataclass(frozen=True, eq=False)
class Paths:
    """Lengths of shortest paths, computed when they are read.

    `matrix` of an undirected graph is exactly symmetric. Above 4,000 points `block` runs from its rows alone and
    keeps nothing, and d(x, x') agrees with d(x', x) up to rounding only.

    Attributes
    ----------
    steps : (n, n) sparse array
        Length of the edge from i to j, both ways for undirected graphs; a stored 0 is an edge.
    directed : bool
    """

    steps: csr_array
    directed: bool

    @classmethod
    def along(cls, edges: NDArray[np.int64], lengths: Array, size: int, *, directed: bool) -> Paths:
        """Return the paths between `size` points along edges `(m, 2)` of some lengths `(m,)`."""
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
        """All distances, `(n, n)`, read-only; UnsupportedError where there are more than 20,000 points."""
        require_few(self.size)
        distances = self._from(np.arange(self.size))
        if not self.directed:
            # both directions of a path are summed in other orders, so that they may differ by rounding
            np.minimum(distances, distances.T, out=distances)
        distances.flags.writeable = False
        return distances

    @cached_property
    def nearest(self) -> float:
        """The least distance that is neither 0 nor infinite: the shortest edge, unless some have length 0."""
        lengths = self.steps.data
        if len(lengths) and not lengths.all():
            return least_by_rows(self.block, self.size)
        return float(np.min(lengths, initial=np.inf))

    def is_connected(self) -> bool:
        """Return True if a path leads from every point to every other."""
        from scipy.sparse.csgraph import connected_components

        return connected_components(self.steps, connection="strong", return_labels=False) == 1

    def block(self, rows: NDArray, columns: NDArray) -> Array:
        """Return the distances `(p, q)` from the points `rows` to the points `columns` (indices)."""
        if self.size <= MATRIX_AT_ONCE:
            return self.matrix[np.ix_(rows, columns)]
        distances = np.empty((len(rows), len(columns)))
        for row, x in enumerate(rows):
            distances[row] = self._from(x)[columns]
        return distances

    def is_forest(self) -> bool:
        """Return True if the graph is undirected, without cycles and without lengths of 0: a forest."""
        from scipy.sparse.csgraph import connected_components

        if self.directed or not (self.steps.data > 0).all():
            return False
        # a graph of n points and c components has n - c edges if it has no cycle, and more if it has one
        components = connected_components(self.steps, directed=False, return_labels=False)
        return len(self.steps.data) // 2 + components == self.size

    def _from(self, starts: ArrayLike) -> Array:
        # undirected edges are among the steps both ways, so that the search may be directed
        from scipy.sparse.csgraph import dijkstra

        return dijkstra(self.steps, indices=starts, directed=True)


def required_graph(graph: Any) -> None:
    """Raise SpecError unless a graph of networkx with nodes is given."""
    if not hasattr(graph, "is_multigraph"):
        raise SpecError("graph", f"is of type {type(graph).__name__}", "give a graph of networkx, as nx.Graph(edges)")
    if not len(graph):
        raise SpecError("graph", "has no nodes", "give at least one")


def nodes_and_edges(
    graph: nx.Graph | nx.DiGraph, weight: str | None
) -> tuple[tuple[str, ...], NDArray[np.int64], Array]:
    """Return the names of the nodes of a graph, and ends `(m, 2)`, as indices, and lengths `(m,)` of its edges.

    Edges from a node to itself are left out; of parallel edges the shortest stays.

    Raises
    ------
    SpecError
        If it is no graph, it is empty, or a length is missing, negative or not finite; the message names the edge.
    """
    required_graph(graph)
    required("weight", weight, str | None, "give the name of an attribute of edges, or leave it out")
    nodes = list(graph)
    position = {node: i for i, node in enumerate(nodes)}
    # Graphs of any kind take the name of an attribute here; where there is none, the lengths are not looked at.
    listed: Iterable[tuple[Any, Any, Any]] = graph.edges(data=weight or "")  # pyright: ignore[reportCallIssue]
    kept = [edge for edge in listed if edge[0] != edge[1]]
    ends = (position[node] for edge in kept for node in edge[:2])
    edges = np.fromiter(ends, np.int64, 2 * len(kept)).reshape(-1, 2)
    lengths = np.array([1.0 if weight is None else _edge_length(*edge, weight) for edge in kept], dtype=float)
    if graph.is_multigraph():
        # of the edges of each pair of ends the shortest, where the pair comes first
        pairs = edges[:, 0] * len(nodes) + edges[:, 1]
        _, first, pair = np.unique(pairs, return_index=True, return_inverse=True)
        shortest = np.full(len(first), np.inf)
        np.minimum.at(shortest, pair.reshape(-1), lengths)
        order = np.argsort(first)
        edges, lengths = edges[first[order]], shortest[order]
    return tuple(map(str, nodes)), edges, lengths


def _edge_length(start: Any, end: Any, value: Any, weight: str) -> float:
    try:
        length = float(value)
    except (TypeError, ValueError, OverflowError):
        length = float("nan")
    if not (length >= 0 and math.isfinite(length)):
        wrong = f"edge ({start}, {end}) has {weight} = {value!r}"
        raise SpecError("weight", wrong, "every edge needs a length of 0 or more")
    return length
