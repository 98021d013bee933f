"""Trees and other graphs: their edges, their structure, and distances from the points that are read."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.distances import MATRIX_AT_ONCE
from tests.material.spaces import random_tree, weighted

INF = np.inf


def test_trees_give_their_edges() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("b", "a", 2.0), ("b", "c", 0.5), ("e", "d", 3.0)], weight="length")
    graph.add_node("f")
    space = dx.MetricSpace.from_graph(graph, "length")
    structure = space.structure
    assert structure.kind == "tree"
    assert structure.edges.dtype == np.int64
    named = {
        (frozenset(space.labels[i] for i in ends), length)
        for ends, length in zip(structure.edges.tolist(), structure.lengths.tolist(), strict=True)
    }
    assert named == {(frozenset("ab"), 2.0), (frozenset("bc"), 0.5), (frozenset("de"), 3.0)}
    with pytest.raises(ValueError, match="read-only"):
        structure.lengths[0] = 0.0
    assert space.distances[space.index("a")].tolist() == [2, 0, 2.5, INF, INF, INF]


def test_what_is_a_tree() -> None:
    doubled = nx.MultiGraph([(0, 1), (0, 1), (1, 1), (1, 2)])
    zero = nx.Graph()
    zero.add_edge(0, 1, length=0.0)
    kinds = {
        "tree": [nx.path_graph(4), nx.star_graph(5), nx.empty_graph(3), doubled],
        "graph": [nx.cycle_graph(4), nx.disjoint_union(nx.cycle_graph(3), nx.path_graph(2)), nx.DiGraph([(0, 1)])],
    }
    for kind, graphs in kinds.items():
        for graph in graphs:
            assert dx.MetricSpace.from_graph(graph).structure.kind == kind
    assert dx.MetricSpace.from_graph(zero, "length").structure.kind == "graph"
    shortest = nx.MultiGraph()
    for length in (3.0, 2.0, 4.0):
        shortest.add_edge("a", "b", length=length)
    assert dx.MetricSpace.from_graph(shortest, "length").structure.lengths.tolist() == [2.0]


def test_nearest_in_graphs_with_lengths_of_zero() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 0.0), (1, 2, 0.0), (0, 2, 1.0), (2, 3, 4.0)], weight="length")
    assert dx.MetricSpace.from_graph(graph, "length").nearest == 4.0
    assert dx.MetricSpace.from_graph(nx.empty_graph(3)).nearest == INF


def test_large_graphs_run_from_the_points_asked_for() -> None:
    size = MATRIX_AT_ONCE + 1
    tree = weighted(random_tree(size))
    space = dx.MetricSpace.from_graph(tree, "length")
    expected = nx.single_source_dijkstra_path_length(tree, 17, weight="length")
    position = space.index("17")
    row = space.row(position)
    assert row == pytest.approx(np.array([expected[int(label)] for label in space.labels]))
    picked = np.array([3, position, 3, 99])
    assert space.block(picked, picked[::-1])[1] == pytest.approx(row[picked[::-1]])
    assert "distances" not in vars(space)
    assert space.symmetric
    assert space.nearest == space.structure.lengths.min()


def test_one_way_graphs_are_not_symmetric() -> None:
    assert not dx.MetricSpace.from_graph(nx.DiGraph([(0, 1)])).symmetric
    assert dx.MetricSpace.from_graph(nx.DiGraph([(0, 1), (1, 0)])).symmetric


@pytest.mark.parametrize(
    ("value", "length"),
    [("0.5", 0.5), (True, 1.0), (Fraction(1, 2), 0.5), (np.float32(0.25), 0.25), (10**400, None), (None, None)],
)
def test_lengths_of_any_kind_that_reads_as_a_number(value: object, length: float | None) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", length=2.0)
    graph.add_edge("b", "b", length="no length, as a loop")
    graph.add_edge("b", "c", length=value)
    if length is None:
        with pytest.raises(dx.SpecError, match=r"^weight: "):
            dx.MetricSpace.from_graph(graph, weight="length")
        return
    assert dx.MetricSpace.from_graph(graph, weight="length").structure.lengths.tolist() == [2.0, length]


def test_of_parallel_edges_the_shortest_counts_in_each_direction() -> None:
    graph = nx.MultiDiGraph()
    for start, end, length in [("b", "a", 3.0), ("a", "b", 2.0), ("b", "a", 1.0), ("b", "c", 5.0), ("b", "a", 4.0)]:
        graph.add_edge(start, end, length=length)
    space = dx.MetricSpace.from_graph(graph, weight="length")
    # The nodes are b, a, c.
    assert space.distances.tolist() == [[0.0, 1.0, 5.0], [2.0, 0.0, 7.0], [np.inf, np.inf, 0.0]]
