"""Spaces from networkx graphs: the distance is the length of a shortest path."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.spaces.space import MetricSpace, Structure

if TYPE_CHECKING:
    import networkx as nx
    from scipy.sparse import csr_array

MATRIX_AT_ONCE = 4_000


def graph_space(graph: nx.Graph | nx.DiGraph, weight: str | None = None) -> MetricSpace:
    """The path metric of a graph (CABP13 §2); distances are computed when asked for.

    Parameters
    ----------
    graph : networkx graph
        Directed graphs give asymmetric distances; points that no path joins are infinitely far apart.
        Of parallel edges the shortest counts. An undirected graph without cycles and without lengths of 0 is
        a tree, in one or several components.
    weight : str, optional
        Edge attribute that holds the length; every edge counts 1 without it.

    Raises
    ------
    SpecError
        If the graph is empty, or a length is missing, negative or not finite; the message names the edge.
    """
    nodes = list(graph)
    if not nodes:
        raise SpecError("graph", "has no nodes", "give at least one")
    edges, lengths = _shortest_edges(graph, {node: i for i, node in enumerate(nodes)}, weight)
    directed = graph.is_directed()
    steps = _matrix(edges, lengths, len(nodes), directed=directed)
    structure = Structure("graph")
    if not directed and (lengths > 0).all() and _is_forest(steps, len(nodes), len(edges)):
        edges.flags.writeable = lengths.flags.writeable = False
        structure = Structure("tree", edges=edges, lengths=lengths)
    return GraphSpace(tuple(map(str, nodes)), structure=structure, steps=steps, directed=directed)


@dataclass(frozen=True, eq=False, repr=False)
class GraphSpace(MetricSpace):
    """Shortest paths in a graph.

    `distances` of an undirected graph is exactly symmetric. Above 4,000 points `block` and `row` run from the rows
    asked for and keep nothing, and d(x, x') agrees with d(x', x) up to rounding only.

    Attributes
    ----------
    steps : (n, n) sparse array
        Length of the edge from i to j, both ways for undirected graphs; a stored 0 is an edge.
    directed : bool
    """

    steps: csr_array = field(kw_only=True)
    directed: bool = field(kw_only=True)
    _source: ClassVar[str] = "shortest paths"

    @cached_property
    def symmetric(self) -> bool:
        return not self.directed or bool(np.array_equal(self.distances, self.distances.T))

    @cached_property
    def nearest(self) -> float:
        lengths = self.steps.data
        if len(lengths) and not lengths.all():
            return super().nearest
        return float(np.min(lengths, initial=np.inf))

    def block(self, rows: ArrayLike, columns: ArrayLike) -> NDArray[np.float64]:
        rows, columns = np.asarray(rows), np.asarray(columns)
        if len(self) <= MATRIX_AT_ONCE:
            return self.distances[np.ix_(rows, columns)]
        distances = np.empty((len(rows), len(columns)))
        for place, x in enumerate(rows):
            distances[place] = self._paths(x)[columns]
        return distances

    def row(self, x: Any) -> NDArray[np.float64]:
        place = self.index(x)
        return self.distances[place].copy() if len(self) <= MATRIX_AT_ONCE else self._paths(place)

    def _matrix(self) -> NDArray[np.float64]:
        distances = self._paths(np.arange(len(self)))
        return distances if self.directed else np.minimum(distances, distances.T, out=distances)

    def _paths(self, starts: ArrayLike) -> NDArray[np.float64]:
        from scipy.sparse.csgraph import dijkstra

        return dijkstra(self.steps, indices=starts, directed=True)


def _shortest_edges(
    graph: nx.Graph, position: dict[Any, int], weight: str | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ends `(m, 2)` and lengths `(m,)` of the edges, without loops, the shortest of parallel ones."""
    shortest: dict[tuple[int, int], float] = {}
    for start, end, attributes in graph.edges(data=True):
        if start != end:
            length = _length(start, end, attributes, weight)
            ends = position[start], position[end]
            shortest[ends] = min(shortest.get(ends, length), length)
    edges = np.array(list(shortest), dtype=np.int64).reshape(-1, 2)
    return edges, np.array(list(shortest.values()), dtype=float)


def _length(start: Any, end: Any, attributes: dict[str, Any], weight: str | None) -> float:
    if weight is None:
        return 1.0
    value = attributes.get(weight)
    try:
        length = float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        length = float("nan")
    if not (length >= 0 and np.isfinite(length)):
        raise SpecError(
            "weight",
            f"edge ({start}, {end}) has {weight} = {value!r}",
            "every edge needs a length of 0 or more",
        )
    return length


def _matrix(edges: NDArray[np.int64], lengths: NDArray[np.float64], size: int, *, directed: bool) -> csr_array:
    from scipy.sparse import csr_array

    start, end = edges.T.astype(np.int32)
    if not directed:
        start, end, lengths = np.concatenate([start, end]), np.concatenate([end, start]), np.tile(lengths, 2)
    return csr_array((lengths, (start, end)), shape=(size, size))


def _is_forest(steps: csr_array, size: int, edges: int) -> bool:
    from scipy.sparse.csgraph import connected_components

    components = connected_components(steps, directed=False, return_labels=False)
    return edges + components == size
