"""Small spaces of every structure that has a kernel matrix of its own, each at a level with w ≥ 0."""

from __future__ import annotations

import networkx as nx
import numpy as np

import dxopt as dx


def tree(size: int, rng: np.random.Generator, *, islands: int = 0) -> dx.MetricSpace:
    """Nodes in a random order, each joined to one that came before; `islands` more on their own."""
    graph, names = nx.Graph(), rng.permutation(size + islands)
    graph.add_nodes_from(range(size + islands))
    for place in range(1, size):
        graph.add_edge(int(names[place]), int(names[rng.integers(place)]), length=float(rng.uniform(0.8, 1.6)))
    return dx.MetricSpace.from_graph(graph, weight="length")


def spaces() -> dict[str, tuple[dx.MetricSpace, float]]:
    """Name: (space of at most 72 points, level)."""
    rng = np.random.default_rng(11)
    apart = np.full((4, 4), np.inf)
    apart[:2, :2] = apart[2:, 2:] = dx.line(2).distances
    words = [[a, b, c] for a in "xyz" for b in "xyz" for c in "xy"]
    return {
        "one point": (dx.line(1), 1.0),
        "two points": (dx.line(2), 0.01),
        "line": (dx.line(30), 0.3),
        "line with rounded steps": (dx.line(25, step=0.1), 2.0),
        "line beyond e^700": (dx.line(30), 40.0),
        "uneven line": (dx.MetricSpace.from_points(np.sort(rng.uniform(-20, 20, 25))), 0.7),
        "falling line": (dx.MetricSpace.from_points([1e9, 1e9 - 0.3, 7.0, -2.5, -1e3]), 0.5),
        "row of a grid": (dx.grid((1, 12)), 0.4),
        "euclidean": (dx.grid((5, 6)), 0.8),
        "euclidean, rounded steps": (dx.grid((6, 5), spacing=0.1), 8.0),
        "euclidean in space": (dx.grid((3, 1, 4, 2)), 1.5),
        "chebyshev": (dx.grid((5, 6), metric="chebyshev"), 1.3),
        "chebyshev in space": (dx.grid((3, 2, 4), metric="chebyshev"), 3.0),
        "manhattan": (dx.grid((4, 1, 6), metric="manhattan", spacing=0.1), 4.0),
        "torus": (dx.torus((6, 5)), 0.9),
        "torus, rounded steps": (dx.torus((7, 1, 4), metric="chebyshev", spacing=0.1), 9.0),
        "ring": (dx.torus((13,), metric="manhattan"), 0.2),
        "tree": (tree(25, rng), 2.2),
        "forest": (tree(15, rng, islands=4), 2.2),
        "star": (dx.MetricSpace.from_graph(nx.star_graph(6)), 1.7),
        "words": (dx.MetricSpace.from_points(words, "hamming"), 0.6),
        "normalised": (
            dx.MetricSpace.from_points([[a, b] for a in range(5) for b in range(4)], "normalised_manhattan"),
            3.0,
        ),
        "product": (dx.product(dx.line(3, step=0.1), dx.torus((5,)), dx.grid((2, 2))), 1.2),
        "product with islands": (dx.product(dx.line(4), dx.MetricSpace.from_distances(apart)), 1.0),
        "product with twins": (dx.product(dx.line(3), dx.MetricSpace.from_points([0.0, 0.0, 1.0])), 1.0),
    }


SPACES = spaces()
SINGULAR = ("product with twins",)
"""Points at distance 0, whose rows are the same, so that Φ has no inverse."""
