"""Problems solved by column generation."""

from __future__ import annotations

import networkx as nx
import numpy as np

import dxopt as dx


def by_columns(problem: dx.Problem, **options: object) -> dx.Report:
    return dx.solve(problem, method="optimal", solver="columns", **options)  # pyright: ignore[reportArgumentType]


def spaces(rng: np.random.Generator, size: int) -> list[dx.MetricSpace]:
    """Euclidean, graph, asymmetric, far apart, pseudo, and partly infinite distances."""
    points = rng.random((size, 2)) * 3
    directed = nx.gnp_random_graph(size, 0.5, seed=int(rng.integers(10**6)), directed=True)
    twins = np.concatenate([points, points[:2]])
    islands = np.full((size, size), np.inf)
    half = size // 2
    for part in (slice(0, half), slice(half, size)):
        islands[part, part] = np.abs(points[part, None, 0] - points[None, part, 0])
    return [
        dx.MetricSpace.from_points(points),
        dx.MetricSpace.from_graph(nx.cycle_graph(size)),
        dx.MetricSpace.from_graph(directed),
        dx.MetricSpace.from_points(2 * points, "manhattan"),
        dx.MetricSpace.from_points(twins),
        dx.MetricSpace.from_distances(islands),
    ]
