"""Problems solved by column generation."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from tests.judges.oracle import optimum


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


def assert_agrees_with_the_oracle(seed: int, size: int) -> None:
    """On every kind of distance, with uneven priors and two losses: values and bounds to 1e-7."""
    rng = np.random.default_rng(seed)
    for space in spaces(rng, size):
        n = len(space)
        prior = dx.Prior.from_weights(space, rng.random(n) ** 3)
        for loss in (rng.random((n, n)), 1.0 - np.eye(n)):
            problem = dx.Problem(space, epsilon=float(rng.uniform(0.1, 2.0)), prior=prior, loss=loss)
            report = by_columns(problem, tolerance=1e-7)
            best = optimum(space.distances, problem.epsilon, prior.probabilities, problem.losses)
            assert report.certificate.value == pytest.approx(best, abs=1e-7)
            assert report.certificate.bound == pytest.approx(best, abs=1e-7)
