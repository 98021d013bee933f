"""Graphs on which regions of regular priors are not what one would think, and their Φ in rational numbers."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx

import dxopt as dx

STAR = [(0, 3), (1, 3), (2, 3)]
BIPARTITE = [(a, b) for a in (0, 1, 2) for b in (3, 4, 5)]
"""K₃,₃."""
AND_AN_EDGE = [*BIPARTITE, (3, 4)]
SEVEN = [
    *[(0, 1), (0, 3), (0, 4), (0, 5), (0, 6), (1, 3), (1, 4), (1, 5)],
    *[(2, 3), (2, 4), (2, 5), (2, 6), (3, 4), (3, 6), (4, 6), (5, 6)],
]


def phi(edges: list[tuple[int, int]], power: Fraction) -> list[list[Fraction]]:
    """Φ of a graph, with e^{-ε} = power for each edge."""
    steps = dict(nx.all_pairs_shortest_path_length(nx.Graph(edges)))
    return [[power ** steps[x][y] for y in range(len(steps))] for x in range(len(steps))]


def space(edges: list[tuple[int, int]]) -> dx.MetricSpace:
    graph = nx.Graph()
    graph.add_nodes_from(range(1 + max(map(max, edges))))
    graph.add_edges_from(edges)
    return dx.MetricSpace.from_graph(graph)
