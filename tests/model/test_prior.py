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
    "weights",
    [[1, 2, 3], [[1, 2, 3, 4]], [1, -1, 1, 1], [1, 1, np.nan, 1], [1, 1, 1, np.inf], [0, 0, 0, 0], ["a", 1, 1, 1]],
)
def test_bad_weights(grid: dx.MetricSpace, weights: list) -> None:
    with pytest.raises(dx.SpecError) as refused:
        dx.Prior.from_weights(grid, weights)
    assert refused.value.field == "prior"


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
    words = dx.MetricSpace.from_points(["red", "green"], "discrete")
    refused: list[tuple[dx.MetricSpace, list]] = [
        (grid, []),
        (grid, [[0.0, 0.0], [0.05, 0.0]]),
        (dx.line(3), [2, 1, 3, -1]),
        (grid, [[0.0, 0.0, 0.0]]),
        (grid, ["here"]),
        (grid, [[np.nan, 0.0]]),
        (words, ["blue"]),
    ]
    for space, samples in refused:
        with pytest.raises(dx.SpecError) as raised:
            dx.Prior.from_samples(space, samples)
        assert raised.value.field == "samples"


@pytest.mark.parametrize("kind", ["array", "list", "pandas", "polars", "arrow"])
def test_check_ins_without_a_number_are_refused_or_left_out(kind: str) -> None:
    space = dx.geo.points([[45.5, -73.6], [45.51, -73.61], [45.52, -73.62]])
    columns = {"lat": [45.5, None, 45.52, 45.51], "lon": [-73.6, -73.6, -73.62, -73.61]}
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    make = {
        "array": lambda: np.array(rows, dtype=float),
        "list": lambda: rows,
        "pandas": lambda: pytest.importorskip("pandas").DataFrame(columns),
        "polars": lambda: pytest.importorskip("polars").DataFrame(columns),
        "arrow": lambda: pytest.importorskip("pyarrow").table(columns),
    }[kind]
    found = dx.Prior.from_check_ins(space, make(), unusable="drop")
    assert found.probabilities == pytest.approx([1 / 3] * 3)
    assert "1 of 4" in found.name
    weighted = dx.Prior.from_check_ins(space, make(), [1, 1, math.nan, 3], unusable="drop")
    assert weighted.probabilities.tolist() == [0.25, 0.75, 0.0]
    with pytest.raises(dx.SpecError, match=r"^points"):
        dx.Prior.from_check_ins(space, make())
    with pytest.raises(dx.SpecError, match=r"^unusable"):
        dx.Prior.from_check_ins(space, make(), unusable="skip")  # pyright: ignore[reportArgumentType]


def test_check_ins_of_which_none_is_usable() -> None:
    with pytest.raises(dx.SpecError, match=r"^points"):
        dx.Prior.from_check_ins(dx.line(3), [[math.nan]], unusable="drop")
