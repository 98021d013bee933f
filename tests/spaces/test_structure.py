"""What spaces know of themselves without a matrix: labels, symmetry, least distances, rows, and their structure."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.graphs import MATRIX_AT_ONCE
from dxopt.spaces.metrics import METRICS, Euclidean, NormalisedManhattan, OverTraces, WithNull

INF = np.inf


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


@pytest.mark.parametrize("name", spaces())
def test_shortcuts_agree_with_the_matrix(name: str) -> None:
    space = spaces()[name]
    distances = space.distances
    positive = distances[(distances > 0) & np.isfinite(distances)]
    assert space.nearest == min(positive, default=INF)
    assert space.symmetric == np.array_equal(distances, distances.T)
    everything = np.arange(len(space))
    for x in everything:
        assert np.array_equal(space.row(int(x)), distances[x])
        assert np.array_equal(space.block([x], everything)[0], distances[x])
    assert not distances.flags.writeable
    assert space.points is None or not space.points.flags.writeable
    picked = np.random.default_rng(0).integers(len(space), size=(2, 9))
    assert np.array_equal(space.block(*picked), distances[np.ix_(*picked)])
    again = pickle.loads(pickle.dumps(space))
    assert again.labels == space.labels
    assert np.array_equal(again.distances, distances)
    assert str(len(space)) in repr(space)
    assert len(repr(space)) < 100


@pytest.mark.parametrize("name", spaces())
def test_labels_are_a_sequence_of_strings(name: str) -> None:
    labels = spaces()[name].labels
    written = tuple(labels)
    assert len(labels) == len(written)
    assert all(isinstance(label, str) for label in written)
    assert labels == written
    assert written == labels
    assert labels != (*written, "more")
    assert labels != ("?", *written[1:])
    assert labels[-1] == written[-1]
    assert labels[1:4] == written[1:4]
    assert labels[::-2] == written[::-2]
    assert np.array_equal(np.array(labels), np.array(written))
    for label in written:
        assert labels.index(label) == written.index(label)
        assert label in labels
    wrong_names = (
        "",
        "?",
        "(",
        "()",
        "(0)",
        "[0, 0]",
        "(0, 0, 0, 0, 0)",
        "(0 ,0)",
        "00",
        " 0",
        "-1",
        "(-1, 0)",
        "(0, 99)",
        0,
    )
    for wrong in wrong_names:
        assert wrong not in labels or wrong in written
    with pytest.raises(IndexError):
        labels[len(labels)]
    with pytest.raises(ValueError):
        labels.index("nowhere")


def test_labels_of_equal_points_are_counted_in_order() -> None:
    labels = dx.MetricSpace.from_points([0.0, 0.0, 1.0]).labels
    assert (labels.count("0"), labels.index("0"), labels.index("0", 1), labels.index("1", -1)) == (2, 0, 1, 2)
    with pytest.raises(ValueError):
        labels.index("0", 2)
    with pytest.raises(ValueError):
        labels.index("1", 0, 2)


def test_explicit_labels_stay_a_tuple() -> None:
    space = dx.MetricSpace.from_points([[0, 0], [3, 4]], labels=["home", 2])
    assert isinstance(space.labels, tuple)
    assert space.labels == ("home", "2")


def test_names_are_found_in_a_large_grid() -> None:
    space = dx.grid((300, 2000))
    assert space.labels[-1] == "(299, 1999)"
    assert space.index("(123, 567)") == 123 * 2000 + 567
    assert space.points is not None
    assert space.points[space.index("(123, 567)")].tolist() == [123, 567]
    assert space.row("(0, 3)")[0] == 3
    with pytest.raises(dx.SpecError, match="no point"):
        space.index("(300, 0)")


def test_a_matrix_too_large_is_refused() -> None:
    for space in (dx.grid((200, 200)), dx.MetricSpace.from_graph(nx.path_graph(20_001))):
        with pytest.raises(dx.UnsupportedError, match=r"40,000|20,001") as caught:
            _ = space.distances
        assert "dx.tight_constraints" in str(caught.value)
        assert space.symmetric


MEMORY = """
from pathlib import Path
import dxopt as dx
space = {space}
assert len(space) == 1_000_000
assert space.symmetric and space.nearest == 1.0
assert space.row(0).shape == (1_000_000,)
assert dx.Prior.uniform(space).probabilities[-1] > 0
assert space.index(space.labels[-1]) == 999_999
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
assert int(peak.split()[1]) < 300_000, peak
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("space", ["dx.grid((1000, 1000))", "dx.torus((1000, 1000))", "dx.line(1_000_000)"])
def test_a_million_points_take_little_memory(space: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY.format(space=space)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def test_symmetry_of_metrics_that_do_not_say_is_checked() -> None:
    class Uphill:
        name = "uphill"

        def prepare(self, points: np.ndarray) -> Uphill:
            return self

        def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
            climb = columns[None, :, 0] - rows[:, None, 0]
            return np.where(climb > 0, 2 * climb, -climb)

    space = dx.MetricSpace.from_points([0.0, 1.0], Uphill())  # pyright: ignore[reportArgumentType]
    assert not space.symmetric
    assert not dx.product(dx.line(2), space).symmetric
    assert not dx.MetricSpace.from_points([[0.0, 1.0], [1.0, 1.0]], OverTraces(2, Uphill())).symmetric  # pyright: ignore
    assert not dx.MetricSpace.from_points([[0.0], [1.0], [np.nan]], WithNull(Uphill())).symmetric  # pyright: ignore


@pytest.mark.parametrize("metric", [*METRICS, "traces"])
def test_metrics_are_symmetric_bit_for_bit_wherever_cut(metric: str) -> None:
    generator = np.random.default_rng(11)
    columns = 2 if metric == "haversine" else 18
    points = np.asfortranarray(generator.uniform(-80, 80, (37, columns)))
    space = dx.MetricSpace.from_points(points, OverTraces(6, Euclidean()) if metric == "traces" else metric)
    assert space.symmetric
    distances = space.distances
    assert np.array_equal(distances, distances.T)
    for x in range(37):
        assert np.array_equal(space.row(x), distances[:, x])
        assert np.array_equal(space.block(np.arange(37), [x])[:, 0], distances[x])


def test_rows_do_not_depend_on_how_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    space = dx.torus((5, 7), spacing=0.3)
    whole = space.distances
    for cells in (1, 6, 40):
        monkeypatch.setattr("dxopt.spaces.space._BLOCK_CELLS", cells)
        again = dx.torus((5, 7), spacing=0.3)
        assert np.array_equal(again.distances, whole)
        assert np.array_equal(again.row(3), whole[3])
        assert dx.MetricSpace.from_distances(whole).nearest == space.nearest


# --- products


def test_product_of_different_factors() -> None:
    one_way = dx.MetricSpace.from_distances([[0, 2], [INF, 0]], labels=["in", "out"])
    space = dx.product(dx.line(3), one_way)
    assert space.labels == ("(0, in)", "(0, out)", "(1, in)", "(1, out)", "(2, in)", "(2, out)")
    assert space.distances[0].tolist() == [0, 2, 1, 3, 2, 4]
    assert space.distances[1].tolist() == [INF, 0, INF, 1, INF, 2]
    assert (space.structure.kind, space.structure.shape) == ("product", (3, 2))
    assert space.structure.factors[1] is one_way
    assert not space.symmetric
    assert space.points is None
    assert space.index("(2, in)") == 4


def test_products_of_products_are_joined() -> None:
    a, b, c = dx.line(2), dx.torus((3,)), dx.MetricSpace.from_graph(nx.path_graph(["x", "y"]))
    space = dx.product(dx.product(a, b), c)
    assert space.structure.factors == (a, b, c)
    assert space.labels == dx.product(a, dx.product(b, c)).labels
    assert space.labels[3] == "(0, 1, y)"
    assert dx.product(a) is a


def test_product_of_lines_is_the_manhattan_grid() -> None:
    space, grid = dx.product(dx.line(3), dx.line(4)), dx.grid((3, 4), metric="manhattan")
    assert grid.points is not None
    assert space.labels == grid.labels
    assert np.array_equal(space.distances, grid.distances)
    assert space.points is not None
    assert np.array_equal(space.points, grid.points)
    aside = np.array([[0.5, 0.5], [7.0, -1.0]])
    assert np.array_equal(space.distances_to(aside), grid.distances_to(aside))
    assert np.array_equal(space.distances_to(aside, np.array([5, 1, 5])), grid.distances_to(aside)[[5, 1, 5]])
    wide = dx.product(dx.grid((2, 3)), dx.line(2))
    assert wide.points is not None
    assert wide.points[wide.index("((1, 2), 1)")].tolist() == [1, 2, 1]


def test_product_labels_with_commas_are_found() -> None:
    space = dx.product(dx.grid((2, 3)), dx.MetricSpace.from_distances(np.zeros((2, 2)), labels=["x, y", "x"]))
    assert [space.index(label) for label in space.labels] == list(range(12))


def test_bad_products() -> None:
    with pytest.raises(dx.SpecError, match="factors"):
        dx.product()
    with pytest.raises(dx.SpecError, match="factors"):
        dx.product(dx.line(2), 3)  # pyright: ignore[reportArgumentType]
    words = dx.MetricSpace.from_points(["a", "b"], "discrete")
    with pytest.raises(dx.SpecError, match="no points"):
        dx.product(words, dx.line(2)).distances_to(np.zeros((1, 2)))


def sums(space: dx.MetricSpace) -> np.ndarray:
    """The distances of a product by its factors."""
    places = np.unravel_index(np.arange(len(space)), space.structure.shape)
    parts = zip(space.structure.factors, places, strict=True)
    return np.sum([factor.distances[np.ix_(place, place)] for factor, place in parts], axis=0)


@pytest.mark.parametrize("metric", ["hamming", "manhattan", "normalised_manhattan", NormalisedManhattan(7.0)])
def test_full_products_of_columns_are_recognised(metric: str | NormalisedManhattan) -> None:
    values = [[0.0, 0.1, 0.3, 7.0], [5.0], [2.0, 1.0], [3.0, 9.0, 4.0]]
    space = dx.MetricSpace.from_points(list(itertools.product(*values)), metric)
    assert space.structure.kind == "product"
    assert space.structure.shape == (4, 1, 2, 3)
    assert [len(factor) for factor in space.structure.factors] == [4, 1, 2, 3]
    assert sums(space) == pytest.approx(space.distances, rel=1e-14, abs=0)
    for factor, column in zip(space.structure.factors, values, strict=True):
        assert factor.points is not None
        assert factor.points[:, 0].tolist() == column
    kinds = [factor.structure.kind for factor in space.structure.factors]
    assert kinds == (["path", "path", "path", "general"] if metric == "manhattan" else ["general"] * 4)


def test_databases_under_hamming() -> None:
    space = dx.MetricSpace.from_points(list(itertools.product("acgt", repeat=5)), "hamming")
    assert space.structure.shape == (4,) * 5
    assert np.array_equal(sums(space), space.distances)
    assert np.array_equal(dx.product(*space.structure.factors).distances, space.distances)
    assert dx.product(*space.structure.factors).labels == space.labels


def test_what_is_no_product() -> None:
    full = list(itertools.product(range(3), range(2)))
    cases = {
        "one missing": full[:-1],
        "one twice": [*full, full[0]],
        "another order": [*full[:2], full[3], full[2], *full[4:]],
        "first column fastest": [(b, a) for a, b in full],
        "one value off": [(0, 0), (0, 1), (1, 0), (2, 1), (2, 0), (2, 1)],
        "a value twice": [(a, b) for a in range(3) for b in (0, 1, 1)],
        "one column": [(a,) for a in range(4)],
        "one varies": [(a, 5) for a in range(4)],
        "scattered": np.random.default_rng(0).random((6, 2)),
        "null": [(np.nan, a) for a in range(2)] * 2,
    }
    for name, points in cases.items():
        assert dx.MetricSpace.from_points(points, "hamming").structure.kind == "general", name
    for metric in ("euclidean", "chebyshev", "discrete"):
        assert dx.MetricSpace.from_points(full, metric).structure.kind == "general"
    assert dx.MetricSpace.from_points(full, "manhattan").structure.kind == "product"


# --- trees and other graphs


def test_trees_give_their_edges() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([("b", "a", 2.0), ("b", "c", 0.5), ("e", "d", 3.0)], weight="length")
    graph.add_node("f")
    space = dx.MetricSpace.from_graph(graph, "length")
    structure = space.structure
    assert structure.kind == "tree"
    assert structure.edges.dtype == np.int64
    named = {
        (frozenset(space.labels[i] for i in ends), length)
        for ends, length in zip(structure.edges.tolist(), structure.lengths.tolist(), strict=True)
    }
    assert named == {(frozenset("ab"), 2.0), (frozenset("bc"), 0.5), (frozenset("de"), 3.0)}
    with pytest.raises(ValueError, match="read-only"):
        structure.lengths[0] = 0.0
    assert space.distances[space.index("a")].tolist() == [2, 0, 2.5, INF, INF, INF]


def test_what_is_a_tree() -> None:
    doubled = nx.MultiGraph([(0, 1), (0, 1), (1, 1), (1, 2)])
    zero = nx.Graph()
    zero.add_edge(0, 1, length=0.0)
    kinds = {
        "tree": [nx.path_graph(4), nx.star_graph(5), nx.empty_graph(3), doubled],
        "graph": [nx.cycle_graph(4), nx.disjoint_union(nx.cycle_graph(3), nx.path_graph(2)), nx.DiGraph([(0, 1)])],
    }
    for kind, graphs in kinds.items():
        for graph in graphs:
            assert dx.MetricSpace.from_graph(graph).structure.kind == kind
    assert dx.MetricSpace.from_graph(zero, "length").structure.kind == "graph"
    shortest = nx.MultiGraph()
    for length in (3.0, 2.0, 4.0):
        shortest.add_edge("a", "b", length=length)
    assert dx.MetricSpace.from_graph(shortest, "length").structure.lengths.tolist() == [2.0]


def test_nearest_in_graphs_with_lengths_of_zero() -> None:
    graph = nx.Graph()
    graph.add_weighted_edges_from([(0, 1, 0.0), (1, 2, 0.0), (0, 2, 1.0), (2, 3, 4.0)], weight="length")
    assert dx.MetricSpace.from_graph(graph, "length").nearest == 4.0
    assert dx.MetricSpace.from_graph(nx.empty_graph(3)).nearest == INF


def test_large_graphs_run_from_the_points_asked_for() -> None:
    size = MATRIX_AT_ONCE + 1
    tree = weighted(random_tree(size))
    space = dx.MetricSpace.from_graph(tree, "length")
    expected = nx.single_source_dijkstra_path_length(tree, 17, weight="length")
    position = space.index("17")
    row = space.row(position)
    assert row == pytest.approx(np.array([expected[int(label)] for label in space.labels]))
    picked = np.array([3, position, 3, 99])
    assert space.block(picked, picked[::-1])[1] == pytest.approx(row[picked[::-1]])
    assert "distances" not in vars(space)
    assert space.symmetric
    assert space.nearest == space.structure.lengths.min()


def test_one_way_graphs_are_not_symmetric() -> None:
    assert not dx.MetricSpace.from_graph(nx.DiGraph([(0, 1)])).symmetric
    assert dx.MetricSpace.from_graph(nx.DiGraph([(0, 1), (1, 0)])).symmetric


@pytest.mark.parametrize("name", ["records", "tree", "grid"])
def test_results_are_saved_without_factors_and_edges(name: str, tmp_path) -> None:
    space = spaces()[name]
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary")
    dx.solve(problem, method="exponential").save(tmp_path / "out")
    loaded = dx.load(tmp_path / "out").problem.space
    assert loaded.structure.kind == ("lattice" if name == "grid" else "general")
    assert loaded.structure.shape == ((3, 4) if name == "grid" else ())
    assert loaded.labels == space.labels
    assert loaded.nearest == space.nearest
