"""Diameter and neighbours by structure agree with the matrix of distances, and need none."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces import spread
from dxopt.spaces.spread import spread_of

RNG = np.random.default_rng(8)
FOREST = nx.union(nx.balanced_tree(2, 3), nx.relabel_nodes(nx.path_graph(30), {i: f"b{i}" for i in range(30)}))
ONE_WAY = nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3)])


@pytest.mark.parametrize(
    "space",
    [
        dx.line(7, step=0.3),
        dx.MetricSpace.from_points([[9.0], [4], [3.5], [-8]]),
        dx.grid((3, 5), spacing=2.0),
        dx.grid((1, 4), metric="chebyshev"),
        dx.torus((4, 5), metric="manhattan"),
        dx.product(dx.line(3, step=4), dx.MetricSpace.from_points([[0.0], [0], [7]]), dx.grid((2, 2))),
        dx.MetricSpace.from_points(RNG.random((20, 3)), "chebyshev"),
        dx.MetricSpace.from_graph(FOREST),
        dx.MetricSpace.from_graph(nx.gnm_random_graph(25, 30, seed=1)),
        dx.MetricSpace.from_graph(ONE_WAY),
        dx.MetricSpace.from_distances([[0, 0, 3], [0, 0, 3], [np.inf, np.inf, 0]]),
    ],
    ids=repr,
)
@pytest.mark.parametrize("few", [True, False])
def test_the_spread_is_that_of_all_distances(
    space: dx.MetricSpace, few: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    distances = space.distances
    apart = np.where(np.eye(len(space)) > 0, np.inf, distances)
    diameter = float(distances[np.isfinite(distances)].max())
    if not few:
        monkeypatch.setattr(spread, "_MOST_CELLS", 1)
    found = spread_of(space)
    tree = space.structure.kind in ("path", "lattice", "torus", "tree")
    if few or tree:
        assert found.diameter == pytest.approx(diameter, rel=1e-12)
        assert np.sort(found.nearest) == pytest.approx(np.sort(apart.min(axis=1)), rel=1e-12)
    else:
        assert found.diameter <= diameter * (1 + 1e-12)
    if few and space.symmetric:
        assert found.diameter >= diameter / 2


def test_a_million_points_need_no_matrix() -> None:
    for space, diameter in (
        (dx.line(1_000_000), 999_999.0),
        (dx.grid((1000, 1000), metric="manhattan"), 1998.0),
        (dx.product(dx.line(1000), dx.line(1000)), 1998.0),
        (dx.MetricSpace.from_graph(nx.path_graph(100_000)), 99_999.0),
    ):
        found = spread_of(space)
        assert (found.diameter, found.typical) == (diameter, 1.0)


def test_spaces_without_neighbours() -> None:
    alone = spread_of(dx.line(1))
    assert (alone.diameter, alone.typical) == (0.0, np.inf)
    cut_off = spread_of(dx.MetricSpace.from_distances(np.where(np.eye(3) > 0, 0.0, np.inf)))
    assert (cut_off.diameter, cut_off.typical) == (0.0, np.inf)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("apart", [1e308, 3e-320])
def test_the_typical_distance_is_one_of_doubles_without_overflow(apart: float) -> None:
    assert spread_of(dx.MetricSpace.from_distances([[0, apart], [apart, 0]])).typical == apart
