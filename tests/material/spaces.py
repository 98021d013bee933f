"""A small space of every kind and source."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np

import dxopt as dx


def random_tree(size: int) -> nx.Graph:
    generator = np.random.default_rng(size)
    return nx.Graph((node, int(generator.integers(node))) for node in range(1, size))


def weighted(graph: nx.Graph) -> nx.Graph:
    generator = np.random.default_rng(len(graph))
    for _, _, attributes in graph.edges(data=True):
        attributes["length"] = float(generator.uniform(0.1, 2.0))
    return graph


def spaces() -> dict[str, dx.MetricSpace]:
    """A small space of every kind and source."""
    generator = np.random.default_rng(7)
    one_way = dx.MetricSpace.from_distances([[0, 1, 3], [2, 0, 2], [0.5, 1, 0]], labels=["a", "b", "c, d"])
    return {
        "line": dx.line(7, step=0.1),
        "uneven": dx.MetricSpace.from_points([5.0, 3.5, 3.4, 0.0]),
        "scattered": dx.MetricSpace.from_points(generator.random((9, 3))),
        "grid": dx.grid((3, 4), spacing=0.3),
        "chebyshev": dx.grid((1, 3, 2), spacing=0.7, metric="chebyshev"),
        "torus": dx.torus((5, 4), spacing=0.1, metric="manhattan"),
        "ring of three": dx.torus((3,), spacing=0.3),
        "thin torus": dx.torus((2, 1), spacing=0.5),
        "hoop": dx.torus((4,), spacing=0.1),
        "tree": dx.MetricSpace.from_graph(weighted(random_tree(12)), "length"),
        "forest": dx.MetricSpace.from_graph(nx.Graph([("a", "b"), ("c", "d"), ("d", "e")])),
        "ring": dx.MetricSpace.from_graph(weighted(nx.cycle_graph(6)), "length"),
        "one way": one_way,
        "streets": dx.MetricSpace.from_graph(weighted(nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3)])), "length"),
        "twins": dx.MetricSpace.from_points([0.0, 0.0, 1.0]),
        "records": dx.MetricSpace.from_points(list(itertools.product("abc", repeat=3)), "hamming"),
        "places": dx.MetricSpace.from_points([[48.9, 2.4], [51.5, -0.1], [52.5, 13.4]], "haversine"),
        "product": dx.product(dx.line(3, step=0.5), one_way, dx.grid((2, 2))),
        "point": dx.line(1),
    }
