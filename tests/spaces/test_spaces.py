"""Spaces: points, lattices, graphs and given distances."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

import dxopt as dx

INF = np.inf


def test_line() -> None:
    space = dx.line(4, step=0.5)
    assert space.labels == ("0", "0.5", "1", "1.5")
    assert space.distances[0] == pytest.approx([0, 0.5, 1, 1.5])
    assert space.structure.kind == "path"
    assert len(dx.line(1)) == 1


def test_grid_runs_row_by_row() -> None:
    space = dx.grid((2, 3), spacing=2.0)
    assert space.labels == ("(0, 0)", "(0, 1)", "(0, 2)", "(1, 0)", "(1, 1)", "(1, 2)")
    assert space.distances[0] == pytest.approx([0, 2, 4, 2, np.sqrt(8), np.sqrt(20)])
    assert dx.grid((2, 3), metric="manhattan").distances[0].tolist() == [0, 1, 2, 1, 2, 3]
    assert dx.grid((2, 3), metric="chebyshev").distances[0].tolist() == [0, 1, 2, 1, 1, 2]
    assert dx.grid((2, 2, 2)).distances[0, -1] == pytest.approx(np.sqrt(3))
    assert space.structure.shape == (2, 3)


def test_torus_goes_round() -> None:
    assert dx.torus((5,)).distances[0].tolist() == [0, 1, 2, 2, 1]
    space = dx.torus((4, 3), spacing=0.5, metric="manhattan")
    assert space.distances[0, space.index("(3, 2)")] == pytest.approx(1.0)
    assert space.distances[0, space.index("(2, 1)")] == pytest.approx(1.5)
    assert dx.torus((4, 4)).distances[0].max() == pytest.approx(np.sqrt(8))
    rows = np.sort(dx.torus((4, 3)).distances, axis=1)
    assert rows == pytest.approx(np.tile(rows[0], (12, 1)))


@pytest.mark.parametrize("make", [dx.grid, dx.torus])
def test_lattice_bad_input(make) -> None:
    for shape in ((0, 2), (-1,), (), (2.5, 1)):
        with pytest.raises(dx.SpecError, match="shape"):
            make(shape)
    for spacing in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(dx.SpecError, match="spacing"):
            make((2, 2), spacing=spacing)
    with pytest.raises(dx.SpecError, match="euclidean, manhattan, chebyshev"):
        make((2, 2), metric="haversine")


def test_points_and_labels() -> None:
    space = dx.MetricSpace.from_points([[0, 0], [3, 4]], labels=["home", "work"])
    assert space.index("work") == 1
    assert space.index(index=1) == 1
    assert dx.MetricSpace.from_points([[0, 0], [3, 4.5]]).labels == ("(0, 0)", "(3, 4.5)")
    for wrong in ("school", 1, -1):
        with pytest.raises(dx.SpecError, match="no point"):
            space.index(wrong)
    with pytest.raises(dx.SpecError, match="labels"):
        dx.MetricSpace.from_points([[0, 0], [3, 4]], labels=["home"])
    for points in ([], [[]], np.zeros((2, 2, 2))):
        with pytest.raises(dx.SpecError, match="points"):
            dx.MetricSpace.from_points(points)
    with pytest.raises(ValueError, match="read-only"):
        space.distances[0, 1] = 0.0


def test_sorted_points_on_a_line_are_a_path() -> None:
    assert dx.MetricSpace.from_points([0.0, 1.0, 3.5]).structure.kind == "path"
    assert dx.MetricSpace.from_points([3.0, 1.0, 0.5]).structure.kind == "path"
    assert dx.MetricSpace.from_points([0.0, 2.0, 1.0]).structure.kind == "general"
    assert dx.MetricSpace.from_points([0.0, 0.0, 1.0]).structure.kind == "general"


def test_blocks_agree_with_the_whole() -> None:
    given = dx.MetricSpace.from_distances([[0, 1, 2], [2, 0, 1], [1, 2, 0]])
    for space in (dx.grid((3, 3)), given):
        rows, columns = np.array([2, 0]), np.array([1, 2, 1])
        assert np.array_equal(space.block(rows, columns), space.distances[np.ix_(rows, columns)])


def test_unweighted_graph() -> None:
    space = dx.MetricSpace.from_graph(nx.path_graph(["a", "b", "c"]))
    assert space.labels == ("a", "b", "c")
    assert space.distances.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert space.structure.kind == "tree"


def test_weighted_graph_takes_the_shorter_way() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("a", "b", 5.0), ("b", "c", 1.5), ("a", "c", 2.0), ("c", "d", 0.0)])
    space = dx.MetricSpace.from_graph(graph, "weight")
    assert space.distances[0].tolist() == [0, 3.5, 2, 2]
    assert space.distances[2, 3] == 0
    assert space.symmetric


def test_directed_graph() -> None:
    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3)])
    assert dx.MetricSpace.from_graph(graph).distances.tolist() == [
        [0, 1, 2, 3],
        [2, 0, 1, 2],
        [1, 2, 0, 1],
        [INF, INF, INF, 0],
    ]


def test_parallel_edges_loops_and_islands() -> None:
    graph = nx.MultiGraph()
    graph.add_edge("a", "b", length=3.0)
    graph.add_edge("a", "b", length=2.0)
    graph.add_edge("a", "b", length=4.0)
    graph.add_edge("a", "a", length=1.0)
    graph.add_node("c")
    assert dx.MetricSpace.from_graph(graph, "length").distances.tolist() == [[0, 2, INF], [2, 0, INF], [INF, INF, 0]]
    directed = nx.MultiDiGraph()
    directed.add_edge(0, 1, length=3.0)
    directed.add_edge(0, 1, length=2.0)
    directed.add_edge(1, 0, length=7.0)
    assert dx.MetricSpace.from_graph(directed, "length").distances.tolist() == [[0, 2], [7, 0]]


@pytest.mark.parametrize("length", [-1.0, np.nan, np.inf, "far", None])
def test_bad_lengths_name_the_edge(length: object) -> None:
    graph = nx.Graph()
    graph.add_edge("here", "there", length=length)
    with pytest.raises(dx.SpecError, match=r"edge \(here, there\)"):
        dx.MetricSpace.from_graph(graph, "length")


def test_graphs_without_lengths_or_nodes() -> None:
    with pytest.raises(dx.SpecError, match="width"):
        dx.MetricSpace.from_graph(nx.path_graph(3), "width")
    with pytest.raises(dx.SpecError, match="no nodes"):
        dx.MetricSpace.from_graph(nx.Graph())


def test_given_distances_of_every_kind() -> None:
    asymmetric = dx.MetricSpace.from_distances([[0, 1, INF], [2, 0, INF], [0, 1, 0]])
    assert not asymmetric.symmetric
    assert asymmetric.labels == ("0", "1", "2")
    assert asymmetric.distances[2, 0] == 0
    assert dx.MetricSpace.from_distances([[0, 0], [0, 0]]).symmetric
    assert dx.MetricSpace.from_distances([[0]]).distances.tolist() == [[0]]


def test_triangle_violation_names_three_points() -> None:
    distances = [[0, 1, 5], [1, 0, 1], [5, 1, 0]]
    with pytest.raises(dx.SpecError) as caught:
        dx.MetricSpace.from_distances(distances, labels=["ann", "bob", "cas"])
    message = str(caught.value)
    assert "d(ann, cas) = 5 exceeds d(ann, bob) + d(bob, cas) = 2" in message
    assert "close" in message
    closed = dx.MetricSpace.from_distances(distances, close=True)
    assert closed.distances.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


@pytest.mark.parametrize(
    ("matrix", "many", "most"),
    [
        ([[0, 1, 5], [1, 0, 1], [5, 1, 0]], "2 of 6 ", "60 %"),
        ([[0, 1, 8], [1, 0, 1], [2, 1, 0]], "1 of 6 ", "75 %"),
        ([[0, 1, INF], [1, 0, 1], [INF, 1, 0]], "2 of 6 ", "100 %"),
    ],
)
def test_a_refusal_tells_what_closing_changes(matrix: list[list[float]], many: str, most: str) -> None:
    with pytest.raises(dx.SpecError) as refused:
        dx.MetricSpace.from_distances(matrix)
    assert many in refused.value.fix and most in refused.value.fix
    assert refused.value.options == {"close"}


def test_closure_is_the_path_metric() -> None:
    generator = np.random.default_rng(4)
    lengths = generator.random((9, 9))
    lengths[generator.random((9, 9)) < 0.6] = INF
    np.fill_diagonal(lengths, 0.0)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(9))
    joined = np.argwhere(np.isfinite(lengths))
    graph.add_weighted_edges_from((int(a), int(b), float(lengths[a, b])) for a, b in joined)
    closed = dx.MetricSpace.from_distances(lengths, close=True).distances
    paths = dict(nx.all_pairs_dijkstra_path_length(graph))
    expected = [[paths[a].get(b, INF) for b in range(9)] for a in range(9)]
    assert closed == pytest.approx(np.array(expected))
    again = dx.MetricSpace.from_distances(closed)
    assert np.array_equal(again.distances, closed)


def test_triangle_slack_is_tiny() -> None:
    dx.MetricSpace.from_distances([[0, 1, 2 * (1 + 5e-13)], [1, 0, 1], [2 * (1 + 5e-13), 1, 0]])
    with pytest.raises(dx.SpecError, match="triangle"):
        dx.MetricSpace.from_distances([[0, 1, 2 * (1 + 1e-11)], [1, 0, 1], [2 * (1 + 1e-11), 1, 0]])
    with pytest.raises(dx.SpecError, match="triangle"):
        dx.MetricSpace.from_distances([[0, 1, INF], [1, 0, 1], [INF, 1, 0]])


@pytest.mark.parametrize(
    ("distances", "message"),
    [
        ([[0, -1], [1, 0]], r"\[0, 1\] is negative"),
        ([[0, 1], [np.nan, 0]], r"\[1, 0\] is not a number"),
        ([[0, 1], [1, 2]], r"\[1, 1\] is 2"),
        ([[0, 1]], "square"),
        ([], "square"),
        ([["a"]], "numbers"),
    ],
)
def test_bad_distances(distances: list, message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        dx.MetricSpace.from_distances(distances)


def test_distances_are_copied() -> None:
    source = np.array([[0.0, 1.0], [1.0, 0.0]])
    space = dx.MetricSpace.from_distances(source)
    source[0, 1] = 7.0
    assert space.distances[0, 1] == 1.0


SPACES = {
    "line": dx.line(4),
    "grid": dx.grid((2, 2)),
    "torus": dx.torus((3, 4)),
    "product": dx.product(dx.line(2), dx.grid((2, 2))),
    "graph": dx.MetricSpace.from_graph(nx.path_graph(4)),
    "given": dx.MetricSpace.from_distances(1 - np.eye(4)),
    "text": dx.MetricSpace.from_points([["a", "b"], ["a", "c"], ["b", "c"]], metric="hamming"),
    "earth": dx.geo.points([[45.5, -73.6], [45.5, -73.5]]),
}


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize(
    "wrong",
    [[-1], [99], [0.0], ["0"], 0, [[0]], [True], [None]],
    ids=["-1", "99", "0.0", "text", "0", "[[0]]", "True", "None"],
)
def test_a_block_takes_indices_alone(space: dx.MetricSpace, wrong: Any) -> None:
    assert space.block([0, 1], np.array([1], dtype=np.uint8)).shape == (2, 1)
    assert space.block([], [0]).shape == (0, 1)
    for rows, columns in ((wrong, [0]), ([0], wrong)):
        with pytest.raises(dx.SpecError) as refused:
            space.block(rows, columns)
        assert refused.value.field in ("rows", "columns")


@pytest.mark.parametrize("space", [one for one in SPACES.values() if one.points is not None])
def test_distances_are_to_points_of_the_space_alone(space: dx.MetricSpace) -> None:
    points: Any = space.points
    assert space.distances_to(points.tolist()).tolist() == space.distances.tolist()
    assert space.distances_to(points, [1]).tolist() == space.distances[[1]].tolist()
    wide, bent = np.hstack([points, points]), points.reshape(-1)
    wrong = [wide, points[:, :-1], bent, points[None]]
    if points.dtype.kind == "f":
        wrong += [np.full(points.shape, number) for number in (np.nan, np.inf)] + [points.astype(str) + "x"]
    for targets in wrong:
        with pytest.raises(dx.SpecError):
            space.distances_to(targets)
    with pytest.raises(dx.SpecError):
        space.distances_to(points, [-1])
