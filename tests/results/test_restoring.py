"""What a loaded result has of its space: the metric and structure that its distances follow from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.globe import Haversine
from dxopt.spaces.metrics import NormalisedManhattan

DEGREES = [[45.50, -73.57], [45.51, -73.60], [45.53, -73.55], [45.47, -73.62], [45.52, -73.58]]
WITHOUT_TABLE: dict[str, Callable[[], dx.MetricSpace]] = {
    "grid": lambda: dx.grid((2, 3), unit="km"),
    "manhattan": lambda: dx.grid((2, 3), spacing=0.7, metric="manhattan"),
    "torus": lambda: dx.torus((3, 3), metric="chebyshev"),
    "line": lambda: dx.line(5, step=2, unit="EUR"),
    "haversine": lambda: dx.MetricSpace.from_points(DEGREES, "haversine"),
    "miles": lambda: dx.MetricSpace.from_points(DEGREES, Haversine("mi"), labels="abcde"),
    "values": lambda: dx.MetricSpace.from_points([["a"], ["b"], ["c"]], "discrete"),
    "columns": lambda: dx.MetricSpace.from_points([[0, 0], [0, 2], [1, 0], [1, 2]], "manhattan"),
}
WITH_TABLE: dict[str, Callable[[], dx.MetricSpace]] = {
    "diameter": lambda: dx.MetricSpace.from_points(DEGREES, NormalisedManhattan(3.0)),
    "tree": lambda: dx.MetricSpace.from_graph(nx.path_graph(4), unit="hops"),
    "product": lambda: dx.product(dx.line(2), dx.line(3)),
}


def _saved(space: dx.MetricSpace, folder: Path) -> Path:
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary", name="small")
    return dx.solve(problem, method="exponential").save(folder)


def _require_same(found: dx.MetricSpace, space: dx.MetricSpace) -> None:
    assert (found.metric, found.unit) == (space.metric, space.unit)
    assert (found.structure.kind, found.structure.shape) == (space.structure.kind, space.structure.shape)
    assert found.structure.spacing == space.structure.spacing
    assert len(found.structure.factors) == len(space.structure.factors)
    assert list(found.labels) == list(space.labels)
    assert np.array_equal(found.distances, space.distances)


@pytest.mark.parametrize("kind", [*WITHOUT_TABLE, *WITH_TABLE])
def test_metric_and_structure_come_back(kind: str, tmp_path: Path) -> None:
    space = (WITHOUT_TABLE | WITH_TABLE)[kind]()
    folder = _saved(space, tmp_path / "out")
    _require_same(dx.load(folder).problem.space, space)
    again = dx.load(folder).save(tmp_path / "again")
    assert (again / "problem.yaml").read_text(encoding="utf-8") == (folder / "problem.yaml").read_text("utf-8")


@pytest.mark.parametrize("kind", WITHOUT_TABLE)
def test_they_do_without_a_table(kind: str, tmp_path: Path) -> None:
    space = WITHOUT_TABLE[kind]()
    folder = _saved(space, tmp_path / "out")
    (folder / "table.npz").unlink()
    _require_same(dx.load(folder).problem.space, space)


@pytest.mark.parametrize("kind", ["grid", "haversine", "miles"])
def test_what_needs_a_metric_takes_a_loaded_space(kind: str, tmp_path: Path) -> None:
    space = WITHOUT_TABLE[kind]()
    loaded = dx.load(_saved(space, tmp_path / "out")).problem
    matrix = dx.classic.planar_laplace(loaded.space, epsilon=1.0).matrix
    assert np.array_equal(matrix, dx.classic.planar_laplace(space, epsilon=1.0).matrix)
    assert dx.compare(loaded, ["planar_laplace"]).rows[-1].value is not None


@pytest.mark.parametrize("metric", ["manhattan", "haversine"])
def test_a_metric_that_the_distances_contradict_is_refused(metric: str, tmp_path: Path) -> None:
    folder = _saved(dx.grid((2, 2)), tmp_path / "out")
    text = (folder / "problem.yaml").read_text(encoding="utf-8").replace("euclidean", metric)
    (folder / "problem.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(dx.CertificateError, match=f"distances are not the {metric} ones of the points"):
        dx.load(folder)


def test_a_metric_that_is_not_known_is_not_taken(tmp_path: Path) -> None:
    folder = _saved(dx.grid((2, 2)), tmp_path / "out")
    for metric in ("zzz", "[1]", "wrapped"):
        text = (folder / "problem.yaml").read_text(encoding="utf-8").replace("euclidean", metric)
        forged = Path(shutil.copytree(folder, tmp_path / metric))
        (forged / "problem.yaml").write_text(text, encoding="utf-8")
        (forged / "table.npz").unlink()
        found = dx.load(forged).problem.space
        assert found.metric is None
        assert np.array_equal(found.distances, dx.grid((2, 2)).distances)


def test_points_that_moved_are_refused(tmp_path: Path) -> None:
    folder = _saved(dx.MetricSpace.from_points(DEGREES, "haversine"), tmp_path / "out")
    with np.load(folder / "mechanism.npz") as stored:
        arrays = dict(stored)
    arrays["points"] = arrays["points"] + 0.01
    np.savez(folder / "mechanism.npz", **arrays)
    with pytest.raises(dx.SpecError, match="report_points: are not those of the secrets"):
        dx.load(folder)
    arrays["report_points"] = arrays["report_points"] + 0.01
    np.savez(folder / "mechanism.npz", **arrays)
    with pytest.raises((dx.SpecError, dx.CertificateError), match="points"):
        dx.load(folder)


def test_a_table_is_not_inflated_for_its_space(tmp_path: Path) -> None:
    space = dx.MetricSpace.from_points(DEGREES, "haversine")
    folder = _saved(space, tmp_path / "out")
    with np.load(folder / "table.npz") as stored:
        arrays = dict(stored)
    arrays["space.points"] = np.zeros((1 << 21, 2))
    np.savez_compressed(folder / "table.npz", **arrays)
    _require_same(dx.load(folder).problem.space, space)
    summary = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert summary["structure"]["kind"] == "general"
