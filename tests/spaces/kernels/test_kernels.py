"""Structured kernel matrices: every bound they claim holds against arithmetic with 50 digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.typing import NDArray

import dxopt as dx
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels import Circulant, Dense, Forest, Path, System, Toeplitz, dense, least_eigenvalue
from dxopt.spaces.kernels.systems import distance_error, system
from tests.material.structured import SINGULAR, SPACES, tree

Array = NDArray[np.float64]
NAMES = list(SPACES)
INVERTIBLE = [name for name in NAMES if name not in SINGULAR]


@pytest.fixture(autouse=True)
def many_digits():
    with localcontext() as context:
        context.prec = 50
        yield


def kernel(name: str) -> tuple[System, NDArray[np.object_]]:
    """The structured matrix, and Φ with 50 digits from the distances as they are."""
    space, epsilon = SPACES[name]
    distinct, which = np.unique(space.distances, return_inverse=True)
    exact = [(-Decimal(epsilon) * Decimal(float(d))).exp() if np.isfinite(d) else Decimal(0) for d in distinct]
    return system(space, epsilon), np.array(exact, dtype=object)[which.reshape(space.distances.shape)]


def written(matrix: System) -> Array:
    return np.array([matrix.row(point) for point in range(matrix.size)])


def decimals(values: Array) -> NDArray[np.object_]:
    return np.array([Decimal(float(value)) for value in values], dtype=object)


def solved(matrix: NDArray[np.object_], right: NDArray[np.object_]) -> NDArray[np.object_]:
    """Gauss and Jordan, with pivots."""
    rows = np.column_stack([matrix, right])
    for k in range(len(rows)):
        pivot = k + int(np.argmax(np.abs(rows[k:, k])))
        rows[[k, pivot]] = rows[[pivot, k]]
        rows[k] = rows[k] / rows[k, k]
        factors = rows[:, k].copy()
        factors[k] = Decimal(0)
        rows = rows - factors[:, None] * rows[k]
    return rows[:, -1]


@pytest.mark.parametrize("name", NAMES)
def test_entries_are_within_their_bound(name: str) -> None:
    matrix, exact = kernel(name)
    rows = written(matrix)
    assert (rows >= 0).all()
    floor = Decimal(math.exp(-matrix.cap))
    far = exact < floor
    error = np.abs(np.array([decimals(row) for row in rows]) - exact)
    assert (error[~far] <= Decimal(matrix.entry_error) * exact[~far]).all()
    assert (error[far] <= floor * (1 + Decimal(matrix.entry_error))).all()
    assert matrix.entry_error < 1e-8
    assert np.array_equal(rows == 0, np.isinf(SPACES[name][0].distances))


@pytest.mark.parametrize("name", NAMES)
def test_norms_are_bounded(name: str) -> None:
    matrix, exact = kernel(name)
    assert float(exact.sum(axis=1).max()) <= matrix.norm * (1 + 1e-15)
    assert matrix.norm <= 4 * float(exact.sum(axis=1).max())
    if name in SINGULAR:
        assert matrix.inverse_norm == math.inf
        return
    inverse = np.linalg.inv(exact.astype(float))
    truth = float(np.linalg.norm(inverse, matrix.order))
    assert truth <= matrix.inverse_norm * (1 + 1e-9)
    assert matrix.inverse_norm <= 4 * truth


@pytest.mark.parametrize("name", NAMES)
def test_products_are_within_their_bound(name: str) -> None:
    matrix, exact = kernel(name)
    rng = np.random.default_rng(3)
    for vector in (rng.random(matrix.size), rng.standard_normal(matrix.size), np.ones(matrix.size)):
        product, rounding = matrix.apply(vector)
        weighed = np.linalg.norm((exact @ decimals(np.abs(vector))).astype(float), matrix.order)
        off = (exact @ decimals(vector) - decimals(product)).astype(float)
        assert np.linalg.norm(off, matrix.order) <= rounding + matrix.entry_error * weighed
        assert rounding <= 1e-11 * weighed
    both = rng.standard_normal((matrix.size, 2))
    assert matrix.apply(both)[0] == pytest.approx(np.stack([matrix.apply(v)[0] for v in both.T], axis=1), abs=1e-13)


def test_errors_of_factors_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = system(dx.grid((6, 1, 5), metric="manhattan"), 0.3)
    exact = written(matrix).sum(axis=1)
    honest = Forest.apply

    def wrong(self: Forest, vector: Array) -> tuple[Array, float]:
        product, rounding = honest(self, vector)
        return product + 1e-6, rounding + 1e-6

    monkeypatch.setattr(Forest, "apply", wrong)
    product, rounding = matrix.apply(np.ones(30))
    assert 3e-6 < np.abs(product - exact).max() <= rounding < 2e-5


@pytest.mark.parametrize("name", INVERTIBLE)
def test_errors_cover_the_truth(name: str) -> None:
    matrix, exact = kernel(name)
    right = np.random.default_rng(4).random(matrix.size) + 0.1
    found = matrix.solve(right)
    truth = solved(exact, decimals(right))
    off = max(abs(truth - decimals(found.values)))
    assert off <= Decimal(found.error)
    assert found.error <= 1e-4
    assert float(off) <= 1e-9


@pytest.mark.parametrize("name", INVERTIBLE)
def test_errors_cover_solutions_that_went_wrong(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, exact = kernel(name)
    rows = exact.astype(float)
    worst = np.linalg.eigh(rows)[1][:, 0]
    right = np.ones(matrix.size)
    truth = np.linalg.solve(rows, right)
    for size in (1e-7, 1e-3, 1.0):
        wrong = truth + size * worst
        monkeypatch.setattr(
            type(matrix), "approximate", lambda self, b, wrong=wrong: wrong * np.array_equal(b, right)
        )
        found = matrix.solve(right)
        assert np.array_equal(found.values, wrong)
        assert np.abs(wrong - truth).max() <= found.error <= 1000 * size * matrix.inverse_norm * matrix.size


@pytest.mark.parametrize("name", NAMES)
def test_closure_is_the_largest_product(name: str) -> None:
    matrix, _ = kernel(name)
    rng = np.random.default_rng(5)
    point = np.zeros(matrix.size)
    point[matrix.size // 2] = 2.0
    few = rng.random(matrix.size) * (rng.random(matrix.size) < 0.2)
    for vector in (rng.random(matrix.size), few, point, np.ones(matrix.size)):
        expected = (written(matrix) * vector[:, None]).max(axis=0)
        assert matrix.closure(vector) == pytest.approx(expected, rel=1e-12, abs=1e-18)


@pytest.mark.parametrize("space", [dx.grid((9, 8)), dx.torus((9, 8))], ids=["grid", "torus"])
def test_closure_from_many_points(space: dx.MetricSpace) -> None:
    vector = np.random.default_rng(6).random(72) * (np.arange(72) % 2)
    expected = (np.exp(-0.2 * space.distances) * vector[:, None]).max(axis=0)
    assert system(space, 0.2).closure(vector) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "chebyshev"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 9), (10, 10), (2, 3, 4), (6, 5, 5), (1, 7, 6), (4, 1, 4, 1)])
def test_least_eigenvalue_is_below_all(metric: str, shape: tuple[int, ...]) -> None:
    dimension = sum(size > 1 for size in shape)
    for spacing in (0.1, 1.0, 3.0):
        space = dx.grid(shape, spacing=spacing, metric=metric)
        for epsilon in (0.02, 0.5, 1.0, 3.0, 30.0):
            least = float(np.linalg.eigvalsh(np.exp(-epsilon * space.distances))[0])
            claimed = least_eigenvalue(metric, dimension, epsilon * spacing)
            assert claimed <= max(least, 0.0)
            assert (claimed > 0) == (metric == "euclidean" or dimension == 2)
            bound = system(space, epsilon).inverse_norm
            assert bound >= 1 / least if least > 0 else bound == math.inf


@pytest.mark.parametrize("shape", [(101,), (47, 8), (120, 3), (24, 32)])
def test_transforms_of_any_length(shape: tuple[int, ...]) -> None:
    matrix = system(dx.torus(shape), 0.3)
    assert isinstance(matrix, Circulant)
    vector = np.random.default_rng(7).standard_normal(matrix.size)
    product, rounding = matrix.apply(vector)
    exact = np.array([math.fsum(matrix.row(point) * vector) for point in range(matrix.size)])
    assert np.linalg.norm(product - exact) <= rounding <= 1e-6


def test_trees_agree_with_their_matrix() -> None:
    space = tree(300, np.random.default_rng(8), islands=5)
    forest = system(space, 0.4)
    dense = Dense(0.4 * space.distances, distance_error(space))
    assert isinstance(forest, Forest)
    vector = np.random.default_rng(9).standard_normal((305, 2))
    assert forest.row(17) == pytest.approx(dense.row(17), rel=1e-12)
    assert forest.apply(vector)[0] == pytest.approx(dense.apply(vector)[0], abs=1e-11)
    assert forest.approximate(vector) == pytest.approx(dense.approximate(vector), abs=1e-9)
    assert forest.inverse_norm == pytest.approx(dense.inverse_norm, rel=1e-6)


def test_large_matrices_are_bounded_by_a_shifted_factorisation() -> None:
    points = np.random.default_rng(10).random((520, 2)) * 40
    space = dx.MetricSpace.from_points(points)
    matrix = system(space, 1.0)
    assert isinstance(matrix, Dense)
    least = float(np.linalg.eigvalsh(matrix.matrix)[0])
    assert 1 / least <= matrix.inverse_norm <= 20 / least
    found = matrix.solve(np.ones(520))
    assert np.abs(matrix.matrix @ found.values - 1).max() < 1e-9
    assert np.abs(found.values - np.linalg.solve(matrix.matrix, np.ones(520))).max() <= found.error < 1e-6
    hops = np.ceil(np.abs(np.subtract.outer(np.arange(520), np.arange(520))) / 5)
    indefinite = Dense(0.3 * hops, 0.0)
    assert np.linalg.eigvalsh(indefinite.matrix)[0] < -0.1
    assert indefinite.inverse_norm == math.inf


def test_a_shift_that_was_too_much_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(10).random((520, 2)) * 40
    budgets = 0.2 * dx.MetricSpace.from_points(points).distances
    expected = Dense(budgets, 0.0).inverse_norm
    # Without any power, the shift is that of a random vector, far above the least eigenvalue.
    monkeypatch.setattr(dense, "_POWERS", (0, 0))
    assert Dense(budgets, 0.0).inverse_norm == math.inf
    monkeypatch.setattr(dense, "_POWERS", (0, 30))
    assert Dense(budgets, 0.0).inverse_norm == pytest.approx(expected, rel=0.2)


def test_uncertain_entries_leave_the_inverse_unknown() -> None:
    """A bound for one matrix holds for those near it only while they are near enough."""
    positions = np.arange(2000.0)
    sharp, vague = (Toeplitz(positions, 0.1, math.tanh(0.05), distance_error) for distance_error in (0.0, 1e-3))
    assert sharp.inverse_norm == pytest.approx(1 / math.tanh(0.05), rel=1e-6)
    assert vague.inverse_norm == math.inf
    edges = np.stack([np.arange(1999), np.arange(1, 2000)], axis=1)
    sharp, vague = (Forest(2000, edges, np.full(1999, 0.1), distance_error) for distance_error in (0.0, 1e-3))
    ratio = math.exp(-0.1)
    assert sharp.inverse_norm == pytest.approx(1 + 2 * ratio / (1 - ratio), rel=1e-6)
    assert vague.inverse_norm == math.inf


@pytest.mark.parametrize("wrap", [dx.grid, dx.torus], ids=["grid", "torus"])
@pytest.mark.parametrize("spacing", [0.1, 0.3, 7.0, 0.25])
def test_doubt_covers_the_rounding_of_coordinates(wrap, spacing: float) -> None:
    """Distances between rounded multiples of the spacing against those between exact ones."""
    columns = 3001
    space = wrap((2, columns), spacing=spacing, metric="manhattan")
    points = np.random.default_rng(11).integers(columns, size=40)
    steps = np.abs(points[:, None] - np.arange(columns))
    steps = np.minimum(steps, columns - steps) if wrap is dx.torus else steps
    exact = Decimal(spacing) * (steps + 1).astype(object)
    off = np.abs(exact - np.array([decimals(row) for row in space.block(points, columns + np.arange(columns))]))
    assert max((off / exact).reshape(-1)) <= Decimal(distance_error(space))
    assert distance_error(space) < 1e-11


class Pair(System):
    """Two points and no doubt of any entry or product: whatever is off is what `solve` itself rounds or cuts off."""

    norm, entry_error = 2.0, 0.0

    def __init__(self, budget: float, cap: float, order: float, answer: Array) -> None:
        self.size, self.cap, self.order, self.answer = 2, cap, order, answer
        self.inverse_norm = 1 / (1 - math.exp(-budget))
        self.beside = math.exp(-min(budget, cap)) if budget < 900 else 0.0

    def row(self, point: int) -> Array:
        return np.where(np.arange(2) == point, 1.0, self.beside)

    def apply(self, vector: Array) -> tuple[Array, float]:
        return vector + self.beside * vector[::-1], 0.0

    def approximate(self, right: Array) -> Array:
        return self.answer

    def closure(self, vector: Array) -> Array:
        raise NotImplementedError

    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        raise NotImplementedError


@pytest.mark.parametrize("order", [2, math.inf])
def test_errors_count_the_last_place_and_the_cap(order: float) -> None:
    for places in range(5):
        right = np.array([1.0, 3.0])
        answer = right * (1 + 2 * places * UNIT)
        found = Pair(1e3, 800.0, order, answer).solve(right)
        assert np.array_equal(found.values, answer)
        assert np.abs(answer - right).max() <= found.error <= 100 * UNIT
    # e^-3 in place of e^-5 beside the diagonal: what is solved exactly is the capped system alone
    capped = Pair(5.0, 3.0, order, np.full(2, 1 / (1 + math.exp(-3))))
    off = 1 / (1 + math.exp(-5)) - 1 / (1 + math.exp(-3))
    assert off <= capped.solve(np.ones(2)).error <= 10 * off


@pytest.mark.parametrize("name", INVERTIBLE)
def test_nothing_is_made_of_nothing(name: str) -> None:
    matrix, _ = kernel(name)
    assert np.array_equal(matrix.solve(np.zeros(matrix.size)).values, np.zeros(matrix.size))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("falling", [True, False])
def test_moments_on_a_line_about_any_points(power: int, falling: bool) -> None:
    rng = np.random.default_rng(power)
    for size in (1, 2, 3, 40):
        path = Path(np.cumsum(rng.gamma(1.0, size=size)) * (-1 if falling else 1), 0.3, 0.0)
        masses = rng.random(size)
        kernel = np.array([path.row(point) for point in range(size)])
        for table in (None, np.clip(np.arange(size) + rng.integers(-9, 10, size), 0, size - 1)):
            about = path.positions if table is None else path.positions[table]
            apart = np.abs(path.positions[:, None] - about) ** power
            right = (masses[:, None] * kernel * apart).sum(axis=0)
            assert path.moments(masses, power, table) == pytest.approx(right, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("name", INVERTIBLE)
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-7, 1e-11])
def test_weightings_in_closed_form_are_within_their_error(name: str, scale: float) -> None:
    """At any level: the error never grows beyond a few units in the last place of the largest weight."""
    space, epsilon = SPACES[name]
    found = system(space, epsilon * scale).weighting()
    if found is None:
        assert space.structure.kind not in ("path", "tree", "torus")
        return
    # sums of steps along axes as they are, as rounded ones no longer add up
    distances = [decimals(row) for row in space.distances]
    if space.points is not None and space.metric is not None and space.metric.name == "manhattan":
        places = [decimals(point) for point in space.points]
        distances = [[np.abs(here - there).sum() for there in places] for here in places]
    exact = [[(-Decimal(epsilon * scale) * d).exp() for d in row] for row in distances]
    expected = solved(np.array(exact, dtype=object), np.full(len(space), Decimal(1), dtype=object))
    values, error = found
    unsure = Decimal(distance_error(space)) * max(abs(w) for w in expected) * len(space)
    assert (np.abs(decimals(values) - expected) <= decimals(error) + unsure).all()
    assert error.max() <= 1e-11 * np.abs(values).max()


def test_weightings_of_a_torus_count_the_cap() -> None:
    """Points that are far apart have weight 1; with entries of e^{-20} in place of 0 they get less."""
    values, error = Circulant(np.array([0.0, 1e3, 1e3]), 1.0, 0.0, room=20.0).weighting()
    assert (1 - values > 1e-9).all()
    assert (1 - values <= error).all()
    assert error.max() <= 1e-8
