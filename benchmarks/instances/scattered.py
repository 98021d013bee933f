"""Points without a pattern: at random in the plane, and the crossings of a network of roads."""

from __future__ import annotations

import numpy as np

import dxopt as dx
from benchmarks.contract import FULL, SMALL, SMOKE
from benchmarks.instances.families import asked, full, register

_SMALL, _SMOKE = (SMALL, FULL), (SMOKE, SMALL, FULL)


def scattered(points: int) -> dx.MetricSpace:
    """Points drawn uniformly from a square, one to a unit of area; always the same ones."""
    return dx.MetricSpace.from_points(np.random.default_rng(points).random((points, 2)) * np.sqrt(points))


def roads(side: int) -> dx.MetricSpace:
    """Return a square street grid with lengths of 0.5 to 1.5 and a quarter of the removable streets missing."""
    import networkx as nx

    generator = np.random.default_rng(side)
    graph = nx.grid_2d_graph(side, side)
    for _, _, street in graph.edges(data=True):
        street["length"] = 0.5 + generator.random()
    needed = {frozenset(street) for street in nx.minimum_spanning_edges(graph, weight="length", data=False)}
    spare = [street for street in graph.edges if frozenset(street) not in needed]
    graph.remove_edges_from([street for street in spare if generator.random() < 0.25])
    return dx.MetricSpace.from_graph(graph, weight="length")


register(
    "scattered",
    "random points, Euclidean, skewed prior, ε = 0.5",
    asked(scattered, 0.5),
    {4: _SMALL, 9: _SMALL, 16: _SMALL, 36: _SMALL, **full(100, 225, 400)},
    warm_up=(9, 25),
)
register(
    "roads",
    "road network, skewed prior, ε = 0.5",
    asked(roads, 0.5),
    {4: _SMALL, 6: _SMOKE, **full(10, 15, 20)},
    warm_up=(3, 5),
)
