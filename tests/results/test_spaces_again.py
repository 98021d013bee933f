"""What a loaded result has of its space: the metric and structure that its distances follow from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.metrics import Haversine, NormalisedManhattan
from tests.material.checks import change_array

DEGREES = [[45.50, -73.57], [45.51, -73.60], [45.53, -73.55], [45.47, -73.62], [45.52, -73.58]]
SPACES: dict[str, Callable[[], dx.MetricSpace]] = {
    "grid": lambda: dx.grid((2, 3), unit="km"),
    "manhattan": lambda: dx.grid((2, 3), spacing=0.7, metric="manhattan"),
    "torus": lambda: dx.torus((3, 3), metric="chebyshev"),
    "line": lambda: dx.line(5, step=2, unit="EUR"),
    "haversine": lambda: dx.MetricSpace.from_points(DEGREES, "haversine"),
    "miles": lambda: dx.MetricSpace.from_points(DEGREES, Haversine("mi"), labels="abcde"),
    "values": lambda: dx.MetricSpace.from_points([["a"], ["b"], ["c"]], "discrete"),
    "same values": lambda: dx.MetricSpace.from_points([["a"], ["a"], ["a #1"]], "discrete"),
    "same points": lambda: dx.MetricSpace.from_points([[2.0], [2.0], [3.0]]),
    "milliseconds": lambda: dx.MetricSpace.from_points([[1700000000123], [1700000000124], [1700000000125]]),
    "close": lambda: dx.MetricSpace.from_points([[45.12345678901, 4.5], [45.12345678902, 4.5], [45, 4.5]]),
    "columns": lambda: dx.MetricSpace.from_points([[0, 0], [0, 2], [1, 0], [1, 2]], "manhattan"),
    "diameter": lambda: dx.MetricSpace.from_points(DEGREES, NormalisedManhattan(3.0)),
    "tree": lambda: dx.MetricSpace.from_graph(nx.path_graph(4), unit="hops"),
    "infinite": lambda: dx.product(dx.line(2), dx.MetricSpace.from_distances([[0, np.inf], [np.inf, 0]])),
    "product": lambda: dx.product(dx.line(2), dx.line(3)),
}


def _saved(space: dx.MetricSpace, folder: Path, method: str = "exponential") -> Path:
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary", name="small")
    return dx.solve(problem, method=method).save(folder)


@pytest.mark.parametrize("method", ["exponential", "optimal"])
@pytest.mark.parametrize("kind", SPACES)
def test_metric_and_structure_come_back(kind: str, method: str, tmp_path: Path) -> None:
    space = SPACES[kind]()
    folder = _saved(space, tmp_path / "out", method)
    found = dx.load(folder).problem.space
    assert (found.metric, found.unit) == (space.metric, space.unit)
    assert (found.structure.kind, found.structure.shape) == (space.structure.kind, space.structure.shape)
    assert found.structure.spacing == space.structure.spacing
    assert len(found.structure.factors) == len(space.structure.factors)
    assert list(found.labels) == list(space.labels)
    assert np.array_equal(found.distances, space.distances)
    again = dx.load(folder).save(tmp_path / "again")
    assert (again / "claims.json").read_bytes() == (folder / "claims.json").read_bytes()


def test_points_of_a_metric_of_ones_own_come_back(tmp_path: Path) -> None:
    space = dx.MetricSpace.from_points([[0.0], [1.0], [4.0]], lambda x, y: float(abs(x[0] - y[0])) ** 0.5)
    found = dx.load(_saved(space, tmp_path / "out")).problem.space
    assert found.points is not None and space.points is not None
    assert np.array_equal(found.points, space.points) and np.array_equal(found.distances, space.distances)


@pytest.mark.parametrize("kind", ["grid", "haversine", "miles"])
def test_what_needs_a_metric_takes_a_loaded_space(kind: str, tmp_path: Path) -> None:
    space = SPACES[kind]()
    loaded = dx.load(_saved(space, tmp_path / "out")).problem
    matrix = dx.classic.planar_laplace(loaded.space, epsilon=1.0).matrix
    assert np.array_equal(matrix, dx.classic.planar_laplace(space, epsilon=1.0).matrix)
    assert dx.compare(loaded, ["planar_laplace"]).rows[-1].value is not None


@pytest.mark.parametrize("metric", ["manhattan", "haversine"])
def test_a_metric_that_the_distances_contradict_is_refused(metric: str, tmp_path: Path) -> None:
    folder = _saved(dx.grid((2, 2)), tmp_path / "out")
    change_array(folder / "mechanism.npz", "space.metric", lambda _: np.array(metric))
    with pytest.raises((dx.SpecError, dx.CertificateError)):
        dx.load(folder)


def test_points_that_moved_are_refused(tmp_path: Path) -> None:
    folder = _saved(dx.MetricSpace.from_points(DEGREES, "haversine"), tmp_path / "out")
    change_array(folder / "mechanism.npz", "space.points", lambda points: points * 1.001)
    with pytest.raises(dx.CertificateError, match="distances"):
        dx.load(folder)
