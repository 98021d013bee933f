"""What spaces know of themselves without a matrix: labels, symmetry, least distances and rows."""

from __future__ import annotations

import pickle
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.metrics import METRICS, METRICS_ON_EARTH, OverTraces
from tests.material.spaces import spaces

INF = np.inf


@pytest.mark.parametrize("name", spaces())
def test_shortcuts_agree_with_the_matrix(name: str) -> None:
    space = spaces()[name]
    distances = space.distances
    positive = distances[(distances > 0) & np.isfinite(distances)]
    assert space.nearest == min(positive, default=INF)
    assert space.symmetric == np.array_equal(distances, distances.T)
    everything = np.arange(len(space))
    for x in everything:
        assert np.array_equal(space.row(index=int(x)), distances[x])
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


def test_labels_are_found_from_where_the_search_begins() -> None:
    labels = dx.MetricSpace.from_points([0.0, 0.0, 1.0]).labels
    assert (labels.count("0 #2"), labels.index("0 #2"), labels.index("0 #2", 1), labels.index("1", -1)) == (
        1,
        1,
        1,
        2,
    )
    with pytest.raises(ValueError):
        labels.index("0 #2", 2)
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
assert space.row(index=0).shape == (1_000_000,)
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


@pytest.mark.parametrize("metric", [*METRICS, "traces"])
def test_metrics_are_symmetric_bit_for_bit_wherever_cut(metric: str) -> None:
    generator = np.random.default_rng(11)
    if metric == "geodesic":
        pytest.importorskip("pyproj")
    columns = 2 if metric in METRICS_ON_EARTH else 18
    points = np.asfortranarray(generator.uniform(-80, 80, (37, columns)))
    space = dx.MetricSpace.from_points(points, OverTraces(6) if metric == "traces" else metric)
    assert space.symmetric
    distances = space.distances
    assert np.array_equal(distances, distances.T)
    for x in range(37):
        assert np.array_equal(space.row(index=x), distances[:, x])
        assert np.array_equal(space.block(np.arange(37), [x])[:, 0], distances[x])


def test_rows_do_not_depend_on_how_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    space = dx.torus((5, 7), spacing=0.3)
    whole = space.distances
    for cells in (1, 6, 40):
        monkeypatch.setattr("dxopt.spaces.distances.BLOCK_CELLS", cells)
        again = dx.torus((5, 7), spacing=0.3)
        assert np.array_equal(again.distances, whole)
        assert np.array_equal(again.row(index=3), whole[3])
        assert dx.MetricSpace.from_distances(whole).nearest == space.nearest


@pytest.mark.parametrize("name", ["records", "tree", "grid"])
def test_results_bring_their_structure_back(name: str, tmp_path) -> None:
    space = spaces()[name]
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary")
    dx.solve(problem, method="exponential").save(tmp_path / "out")
    loaded = dx.load(tmp_path / "out").problem.space
    assert loaded.structure.kind == space.structure.kind
    assert loaded.structure.shape == space.structure.shape
    assert loaded.labels == space.labels
    assert loaded.nearest == space.nearest
