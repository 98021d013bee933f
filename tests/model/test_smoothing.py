"""Smoothing of counts, against its formulas written out over all pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest

import dxopt as dx

SEED = 20261122
K = {"gaussian": lambda apart: np.exp(-(apart**2) / 2), "exponential": lambda apart: np.exp(-apart)}


def tree() -> dx.MetricSpace:
    graph = nx.Graph([(0, 1), (1, 2), (1, 3), (3, 4), (5, 6)])
    nx.set_edge_attributes(graph, {edge: 0.5 + index for index, edge in enumerate(graph.edges)}, "length")
    return dx.MetricSpace.from_graph(graph, "length")


SPACES: dict[str, Callable[[], dx.MetricSpace]] = {
    "line": lambda: dx.line(20, step=0.5),
    "falling": lambda: dx.MetricSpace.from_points([9.0, 5.0, 4.5, 1.0]),
    "tree": tree,
    "grid": lambda: dx.grid((4, 7), spacing=0.3),
    "blocks": lambda: dx.grid((4, 7), metric="manhattan"),
    "king": lambda: dx.grid((4, 7), metric="chebyshev"),
    "torus": lambda: dx.torus((5, 6)),
    "torus of blocks": lambda: dx.torus((5, 6), metric="manhattan"),
    "product": lambda: dx.product(dx.line(4), dx.torus((3, 2)), dx.MetricSpace.from_distances([[0, 1], [3, 0]])),
    "one way, infinite": lambda: dx.MetricSpace.from_distances([[0, 1, np.inf], [2, 0, np.inf], [np.inf, np.inf, 0]]),
    "merged": lambda: dx.MetricSpace.from_distances([[0, 0, 1], [0, 0, 1], [1, 1, 0]]),
    "globe": lambda: dx.geo.points(np.random.default_rng(SEED).random((9, 2))),
    "map": lambda: dx.geo.points(np.random.default_rng(SEED).random((9, 2)), project=True),
}


@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("kernel", K)
@pytest.mark.parametrize("bandwidth", [0.05, 0.7, 30.0])
def test_kernels(kind: str, kernel: str, bandwidth: float) -> None:
    space = SPACES[kind]()
    counts = np.random.default_rng(SEED).integers(0, 4, len(space)).astype(float)
    counts[0] = 2
    near = K[kernel](space.distances / bandwidth)
    wanted = counts @ (near / near.sum(axis=1, keepdims=True))
    found = dx.Smoothing(kernel=kernel, bandwidth=bandwidth).smoothed(space, counts)
    np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-200)
    assert found.sum() == pytest.approx(counts.sum(), rel=1e-12)
    both = dx.Smoothing(0.25, kernel, bandwidth).smoothed(space, counts)
    np.testing.assert_allclose(both, wanted + 0.25, rtol=1e-10)


def test_pseudo_counts() -> None:
    space = dx.line(4)
    prior = dx.Prior.from_weights(space, [3, 0, 1, 0], smoothing=0.5)
    np.testing.assert_allclose(prior.probabilities, np.array([3.5, 0.5, 1.5, 0.5]) / 6)
    assert prior.name == "weights, smoothed (0.5 added)"
    again = dx.Prior.from_samples(space, [0, 0, 0, 2], smoothing=dx.Smoothing(add=0.5))
    assert again.probabilities.tolist() == prior.probabilities.tolist()


def test_check_ins_are_moved_and_left_out_before() -> None:
    space = dx.line(3, step=2.0)
    kernel = dx.Smoothing(kernel="gaussian", bandwidth=2.0)
    prior = dx.Prior.from_check_ins(space, [[0.3], [0.4], [9.0]], [1, 2, 5], within=1.0, smoothing=kernel)
    near = np.exp(-np.array([0.0, 1.0, 4.0]) / 2)
    np.testing.assert_allclose(prior.probabilities, near / near.sum())
    assert prior.name == "check-ins (1 of 3 further than 1 left out), smoothed (gaussian kernel of bandwidth 2)"


def test_large_spaces() -> None:
    grid = dx.grid((400, 500))
    weights = np.zeros(200_000)
    weights[[0, 777]] = 1
    prior = dx.Prior.from_weights(grid, weights, smoothing=dx.Smoothing(kernel="gaussian", bandwidth=3.0))
    assert (
        prior.probabilities[277] == prior.probabilities.max() or prior.probabilities[0] == prior.probabilities.max()
    )
    line = dx.line(200_000)
    seen = dx.Prior.from_weights(line, np.ones(200_000), smoothing=dx.Smoothing(kernel="exponential", bandwidth=3.0))
    assert seen.probabilities[1000:1010].tolist() == pytest.approx([5e-6] * 10)
    with pytest.raises(dx.UnsupportedError, match="200,000 times 200,000 distances, over the limit"):
        dx.Prior.from_weights(line, np.ones(200_000), smoothing=dx.Smoothing(kernel="gaussian", bandwidth=3.0))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "smoothing"),
        *(({"add": add}, "add") for add in (-1, np.nan, np.inf, "1", True)),
        ({"kernel": "gauss", "bandwidth": 1.0}, "kernel"),
        ({"kernel": "gaussian"}, "smoothing"),
        ({"add": 1, "bandwidth": 1.0}, "smoothing"),
        *(({"kernel": "gaussian", "bandwidth": bandwidth}, "bandwidth") for bandwidth in (0.0, "1")),
    ],
)
def test_bad_smoothing(given: dict[str, Any], field: str) -> None:
    with pytest.raises(dx.SpecError) as refused:
        dx.Smoothing(**given)
    assert refused.value.field == field


def test_nothing_seen_stays_an_error() -> None:
    with pytest.raises(dx.SpecError, match="weight 0 everywhere"):
        dx.Prior.from_weights(dx.line(3), [0, 0, 0], smoothing=1)
    with pytest.raises(dx.SpecError, match="smooths nothing"):
        dx.Prior.from_weights(dx.line(3), [1, 0, 0], smoothing=0)
