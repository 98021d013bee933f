"""The graph-exponential mechanism: the formula of the paper, one-way streets, and the largest rate."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.classic import calibration
from dxopt.mechanisms.classic.catalogue import graph_exponential
from tests.judges.exact import violations

EPSILON = 1.3


def network(one_way: bool) -> nx.DiGraph:
    """Streets in a grid of 4 × 4, with random lengths; one-way where asked for, but for the ring around them."""
    rng = np.random.default_rng(8)
    streets = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4))
    graph = nx.DiGraph()
    graph.add_nodes_from(range(16))
    for start, end in streets.edges:
        length = float(rng.uniform(0.2, 1.5))
        graph.add_edge(start, end, length=length)
        if not one_way or rng.random() < 0.7:
            graph.add_edge(end, start, length=length)
    graph.add_edges_from([(15, 0)] if one_way else [(15, 0), (0, 15)], length=3.0)
    return graph


def both_ways(graph: nx.DiGraph) -> np.ndarray:
    """Shortest ways where all streets are open both ways, by Floyd and Warshall."""
    size = len(graph)
    apart = np.where(np.eye(size) > 0, 0.0, np.inf)
    for start, end, length in graph.edges(data="length"):
        apart[start, end] = apart[end, start] = min(apart[start, end], length)
    for via in range(size):
        apart = np.minimum(apart, apart[:, [via]] + apart[[via]])
    return apart


def formula(apart: np.ndarray, rate: float) -> np.ndarray:
    kernel = np.exp(-rate * apart)
    return kernel / kernel.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("one_way", [False, True])
def test_the_mechanism_of_the_paper(one_way: bool) -> None:
    graph = network(one_way)
    space = dx.MetricSpace.from_graph(graph, "length")
    assert np.allclose(space.distances, space.distances.T) != one_way
    mechanism = graph_exponential(space, epsilon=EPSILON, rate=EPSILON / 2)
    assert mechanism.matrix == pytest.approx(formula(both_ways(graph), EPSILON / 2), abs=1e-13)
    assert violations(mechanism.matrix, space.distances, EPSILON) == []


@pytest.mark.parametrize("one_way", [False, True])
def test_the_largest_rate_uses_up_the_level_and_loses_less(one_way: bool) -> None:
    graph = network(one_way)
    space = dx.MetricSpace.from_graph(graph, "length")
    mechanism = graph_exponential(space, epsilon=EPSILON)
    matrix, apart = mechanism.matrix, both_ways(graph)
    assert violations(matrix, space.distances, EPSILON) == []
    assert violations(matrix, space.distances, EPSILON * (1 - 1e-6)) != []
    # One rate for all entries, above ε/2.
    rates = -np.log(matrix / matrix.diagonal()[:, None])[apart > 0] / apart[apart > 0]
    assert np.ptp(rates) < 1e-9
    assert rates[0] > 0.5 * EPSILON
    prior = dx.Prior.uniform(space)
    half = graph_exponential(space, epsilon=EPSILON, rate=EPSILON / 2)
    assert dx.evaluate.expected_loss(mechanism, prior) < dx.evaluate.expected_loss(half, prior)


def test_on_a_ring_nothing_is_left_for_the_sums() -> None:
    """All vertices are alike there, so that rows are divided by one number and c is ε."""
    space = dx.MetricSpace.from_graph(nx.cycle_graph(9))
    assert graph_exponential(space, epsilon=0.8).matrix == pytest.approx(formula(space.distances, 0.8), abs=1e-6)


def test_ways_from_the_secret_along_one_way_streets_would_not_be_private() -> None:
    space = dx.MetricSpace.from_graph(network(one_way=True), "length")
    naive = formula(space.distances, EPSILON / 2)
    assert violations(naive, space.distances, EPSILON) != []


def test_many_vertices_take_half_of_the_level(monkeypatch: pytest.MonkeyPatch) -> None:
    space = dx.MetricSpace.from_graph(network(one_way=True), "length")
    half = graph_exponential(space, epsilon=EPSILON, rate=EPSILON / 2).matrix
    monkeypatch.setattr(sys.modules["dxopt.mechanisms.classic.exponential"], "CALIBRATED_BELOW", 10)
    assert np.array_equal(graph_exponential(space, epsilon=EPSILON).matrix, half)
    assert calibration.CALIBRATED_BELOW == 1_000


def test_what_is_refused() -> None:
    space = dx.MetricSpace.from_graph(nx.path_graph(3))
    with pytest.raises(
        dx.UnsupportedError, match="needs the shortest ways of a graph or road network; use exponential"
    ):
        graph_exponential(dx.line(3), epsilon=1.0)
    with pytest.raises(dx.SpecError, match=r"^rate: "):
        graph_exponential(space, epsilon=1.0, rate=0.6)
    with pytest.raises(dx.SpecError, match=r"^rate: "):
        graph_exponential(space, epsilon=1.0, rate=0)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=np.ones((3, 2)))
    with pytest.raises(dx.UnsupportedError, match="needs the vertices themselves as reports"):
        dx.solve(problem, method="graph_exponential")


def test_it_is_saved_and_proven_again(tmp_path: Path) -> None:
    from dxopt.verify import Outcome, verify

    space = dx.MetricSpace.from_graph(network(one_way=True), "length")
    problem = dx.Problem(space, epsilon=EPSILON, prior=dx.Prior.uniform(space))
    report = dx.solve(problem, method="graph_exponential")
    assert report.certificate.private
    assert verify(report.save(tmp_path / "out")).outcome is not Outcome.FAILS
    assert math.isfinite(report.certificate.value)
