"""Products of spaces, and points that are recognised as products."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.metrics import NormalisedManhattan

INF = np.inf


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
    indices = np.unravel_index(np.arange(len(space)), space.structure.shape)
    parts = zip(space.structure.factors, indices, strict=True)
    return np.sum([factor.distances[np.ix_(index, index)] for factor, index in parts], axis=0)


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
