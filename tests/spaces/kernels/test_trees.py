"""Loops over trees: compiled and as they are they give the same bits, and many points in any shape are no trouble."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import dxopt as dx
from dxopt.spaces.distances import Paths
from dxopt.spaces.kernels import Forest, Path, trees
from dxopt.spaces.labels import Numbers
from dxopt.spaces.space import Structure

Array = NDArray[np.float64]
Indices = NDArray[np.int64]
Rng = np.random.Generator


def parents(shape: str, size: int, rng: Rng) -> Indices:
    """The parent of each point but the first."""
    point = np.arange(1, size)
    match shape:
        case "path":
            return point - 1
        case "star":
            return np.zeros(size - 1, dtype=np.int64)
        case "caterpillar":
            return np.where(point < (size + 1) // 2, point - 1, point - (size + 1) // 2)
        case "binary":
            return (point - 1) // 2
        case "roads":
            return point - np.minimum(point, rng.integers(1, 20, size - 1))
    return (rng.random(size - 1) * point).astype(np.int64)


def edges_of(shape: str, size: int, rng: Rng) -> Indices:
    """Edges `(n - 1, 2)` between points in a random order, each in a random direction."""
    names = rng.permutation(size)
    edges = np.stack([names[1:], names[parents(shape, size, rng)]], axis=1)
    return np.where(rng.random((size - 1, 1)) < 0.5, edges, edges[:, ::-1])


def lengths_of(spread: str, count: int, rng: Rng) -> Array:
    """Times ε; from the shortest that doubles tell apart from 0 to the longest that they have."""
    match spread:
        case "short":
            return rng.uniform(1e-14, 1e-12, count)
        case "wide":
            return 10.0 ** rng.uniform(-12, 12, count)
        case "longest":
            return np.where(rng.random(count) < 0.5, np.finfo(float).max, 1.0)
    return rng.uniform(0.1, 2.0, count)


def computed(forest: Forest) -> list[Array]:
    """All that loops have a part in."""
    size = forest.size
    rng = np.random.default_rng(2)
    positive = rng.random(size)
    signed = rng.standard_normal(size)
    found: list[Array] = []
    for vector in (positive, signed, np.ones(size), rng.standard_normal((size, 3))):
        product, error = forest.apply(vector)
        found += [product, np.array(error), forest.approximate(vector)]
    drawn = forest.draw(positive, rng.integers(size, size=20), rng)
    rest = [np.array([forest.norm, forest.inverse_norm]), forest.closure(positive), drawn]
    return [*found, *rest, *(forest.row(point) for point in {0, size // 2, size - 1})]


@pytest.mark.parametrize("spread", ["usual", "short", "wide", "longest"])
@pytest.mark.parametrize("shape", ["path", "star", "caterpillar", "binary", "roads", "random"])
def test_compiled_loops_give_the_same_bits(shape: str, spread: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 40, 301):
        edges = edges_of(shape, size, rng)
        # Without every seventh edge: a forest, with points on their own.
        for chosen in (edges, edges[np.arange(size - 1) % 7 > 0]):
            lengths = lengths_of(spread, len(chosen), rng)
            with monkeypatch.context() as plain:
                plain.setattr(trees, "COMPILED_FROM", size + 1)
                expected = computed(Forest(size, chosen, lengths, 1e-15))
            with monkeypatch.context() as compiled:
                compiled.setattr(trees, "COMPILED_FROM", 0)
                found = computed(Forest(size, chosen, lengths, 1e-15))
            for one, other in zip(expected, found, strict=True):
                assert np.array_equal(one, other, equal_nan=True)


def test_the_walk_has_every_point_after_its_parent() -> None:
    edges = edges_of("random", 200, np.random.default_rng(1))[:150]
    walk = trees.Walk.of(200, edges)
    assert walk.order is not None
    assert sorted(walk.order) == list(range(200))
    assert (walk.above < np.arange(200)).all()
    rooted = walk.above < 0
    assert rooted.sum() == 50
    joined = np.sort(np.stack([walk.order, walk.order[walk.above]], axis=1)[~rooted], axis=1)
    assert np.array_equal(joined, np.sort(edges[walk.edge[~rooted]], axis=1))
    assert np.array_equal(walk.edge < 0, rooted)
    # The first point of each tree is its root.
    first = {int(walk.order[place]) for place in np.flatnonzero(rooted)}
    trees_of = {min(tree) for tree in _components(200, edges)}
    assert first == trees_of


def _components(size: int, edges: Indices) -> list[set[int]]:
    found = [{point} for point in range(size)]
    for start, end in edges.tolist():
        one, other = (next(tree for tree in found if point in tree) for point in (start, end))
        found.remove(other)
        one |= other
    return found


def test_a_path_needs_no_walk() -> None:
    """The same as a forest of the same edges, whose walk starts at the same end."""
    rng = np.random.default_rng(1)
    positions = np.cumsum(rng.uniform(0.1, 2.0, 50))
    edges = np.stack([np.arange(49), np.arange(1, 50)], axis=1)
    path = Path(positions, 0.7, 1e-15)
    forest = Forest(50, edges, 0.7 * np.diff(positions), 1e-15)
    vector = rng.standard_normal(50)
    assert np.array_equal(path.apply(vector)[0], forest.apply(vector)[0])
    assert np.array_equal(path.approximate(vector), forest.approximate(vector))
    assert path.norm == forest.norm
    assert path.inverse_norm == forest.inverse_norm


@pytest.mark.parametrize(
    ("shape", "epsilon"), [("path", 2.0), ("star", 40.0), ("caterpillar", 3.0), ("roads", 30.0), ("random", 30.0)]
)
def test_many_points_in_any_shape(shape: str, epsilon: float) -> None:
    """As deep as there are points, or all at one: the weights are 1 - Σ p/(1 + p) over the edges of each point."""
    size = trees.COMPILED_FROM + 1
    rng = np.random.default_rng(1)
    edges = edges_of(shape, size, rng)
    lengths = rng.uniform(0.5, 2.0, size - 1)
    paths = Paths.along(edges, lengths, size, directed=False)
    space = dx.MetricSpace(Numbers(size), structure=Structure("tree", edges=edges, lengths=lengths), given=paths)
    found = dx.tight_constraints(space, epsilon)
    assert found.privacy is not None
    assert found.privacy.epsilon == epsilon
    ratio = np.exp(-epsilon * lengths)
    lost = np.bincount(edges.reshape(-1), np.repeat(ratio / (1 + ratio), 2), minlength=size)
    prior = dx.Prior.uniform(space)
    assert dx.evaluate.utility(found, prior) == pytest.approx((1 - lost).mean(), rel=1e-6)
    row = found.row(index=size // 2)
    assert row.min() >= 0
    assert abs(row.sum() - 1) < 1e-9
    assert found.sample(index=np.arange(0, size, 1000), rng=np.random.default_rng(3)).shape == (101, 1)
