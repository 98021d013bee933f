"""Spaces from networkx graphs: the distance is the length of a shortest path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.spaces.space import MetricSpace, Structure

if TYPE_CHECKING:
    import networkx as nx


def graph_space(graph: nx.Graph | nx.DiGraph, weight: str | None = None) -> MetricSpace:
    """The path metric of a graph (CABP13 §2).

    Parameters
    ----------
    graph : networkx graph
        Directed graphs give asymmetric distances; points that no path joins are infinitely far apart.
        Of parallel edges the shortest counts.
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
    position = {node: i for i, node in enumerate(nodes)}
    lengths = np.full((len(nodes), len(nodes)), np.inf)
    for start, end, attributes in graph.edges(data=True):
        if start != end:
            length = _length(start, end, attributes, weight)
            i, j = position[start], position[end]
            lengths[i, j] = min(lengths[i, j], length)
            if not graph.is_directed():
                lengths[j, i] = lengths[i, j]
    distances = _shortest_paths(lengths)
    if not graph.is_directed():
        distances = np.minimum(distances, distances.T)
    distances.flags.writeable = False
    return MetricSpace(tuple(str(node) for node in nodes), structure=Structure("graph"), given=distances)


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


def _shortest_paths(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    start, end = (index.astype(np.int32) for index in np.nonzero(np.isfinite(lengths)))
    edges = csr_array((lengths[start, end], (start, end)), shape=lengths.shape)
    return dijkstra(edges, directed=True)
