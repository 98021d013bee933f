"""Shortest paths in networkx graphs, as distances."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.spaces.matrices import least_by_rows, require_few

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

MATRIX_AT_ONCE = 4_000

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Paths:
    """Lengths of shortest paths, computed when they are read; a source of distances, as `matrices.Matrix` is.

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
