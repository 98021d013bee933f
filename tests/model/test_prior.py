"""Priors from weights and from samples."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

import dxopt as dx


@pytest.fixture
def grid() -> dx.MetricSpace:
    return dx.grid((2, 2), spacing=0.1)


def test_uniform(grid: dx.MetricSpace) -> None:
    prior = dx.Prior.uniform(grid)
    assert prior.probabilities.tolist() == [0.25] * 4
    assert prior.name == "uniform"
    assert len(prior) == 4


def test_weights_are_normalised(grid: dx.MetricSpace) -> None:
    assert dx.Prior.from_weights(grid, [1, 2, 0, 1]).probabilities.tolist() == [0.25, 0.5, 0.0, 0.25]
    for weights in ([1e308] * 4, [5e-324] * 4, [1e-300, 1, 1, 1], [0.1, 0.2, 0.3, 0.7]):
        prior = dx.Prior.from_weights(grid, weights)
        assert math.fsum(prior.probabilities) == pytest.approx(1.0, abs=1e-15)
        assert (prior.probabilities > 0).all()
    with pytest.raises(ValueError, match="read-only"):
        prior.probabilities[0] = 1.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2, 3], r"shape \(3,\) for 4 points"),
        ([[1, 2, 3, 4]], "shape"),
        ([1, -1, 1, 1], "weight 1 is -1"),
        ([1, 1, np.nan, 1], "weight 2 is nan"),
        ([1, 1, 1, np.inf], "weight 3 is inf"),
        ([0, 0, 0, 0], "0 everywhere"),
        (["a", 1, 1, 1], r"entry \[0\] is 'a', which is no real number"),
    ],
)
def test_bad_weights(grid: dx.MetricSpace, weights: list, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        dx.Prior.from_weights(grid, weights)


def test_samples_by_coordinates(grid: dx.MetricSpace) -> None:
    observed = [[0, 0.1], [0.1, 0.1], [0.0, 0.1 + 1e-12], [0.3 - 0.2, 0.0]]
    assert dx.Prior.from_samples(grid, observed).probabilities.tolist() == [0, 0.5, 0.25, 0.25]
    line = dx.line(3)
    assert dx.Prior.from_samples(line, [2, 2, 0, 2]).probabilities.tolist() == [0.25, 0, 0.75]


def test_samples_by_label() -> None:
    space = dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["day", "night"])
    assert dx.Prior.from_samples(space, ["night", "day", "night", "night"]).probabilities.tolist() == [0.25, 0.75]
    words = dx.MetricSpace.from_points(["red", "green"], "discrete")
    assert dx.Prior.from_samples(words, ["green"]).probabilities.tolist() == [0, 1]


def test_numeric_labels_are_labels() -> None:
    """A sample of node 0 counts for node 0, wherever it stands."""
    graph = nx.Graph([(2, 1), (1, 0)])
    space = dx.MetricSpace.from_graph(graph)
    assert space.labels == ("2", "1", "0")
    assert dx.Prior.from_samples(space, [0, 0, 0, 2]).probabilities.tolist() == [0.25, 0, 0.75]
    numbered = dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=[1, 2])
    assert dx.Prior.from_samples(numbered, np.array([1, 1, 1, 2])).probabilities.tolist() == [0.75, 0.25]


def test_bad_samples(grid: dx.MetricSpace) -> None:
    with pytest.raises(dx.SpecError, match="empty"):
        dx.Prior.from_samples(grid, [])
    with pytest.raises(dx.SpecError, match=r"^samples: "):
        dx.Prior.from_samples(grid, [[0.0, 0.0], [0.05, 0.0]])
    with pytest.raises(
        dx.SpecError, match="number 2 is no point of the space: it is beyond the ends, 0 and 2; remove"
    ):
        dx.Prior.from_samples(dx.line(3), [2, 1, 3, -1])
    with pytest.raises(dx.SpecError, match="coordinates"):
        dx.Prior.from_samples(grid, [[0.0, 0.0, 0.0]])
    with pytest.raises(dx.SpecError, match="coordinates"):
        dx.Prior.from_samples(grid, ["here"])
    with pytest.raises(dx.SpecError, match="no point"):
        dx.Prior.from_samples(grid, [[np.nan, 0.0]])
    words = dx.MetricSpace.from_points(["red", "green"], "discrete")
    with pytest.raises(dx.SpecError, match="'blue' is no point"):
        dx.Prior.from_samples(words, ["blue"])
