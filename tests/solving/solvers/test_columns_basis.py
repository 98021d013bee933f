"""Basis trees: their columns, sums and turned edges by definition; pricing against a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog

import dxopt as dx
from dxopt.numerics.partition import Partition
from dxopt.solving.solvers.columns.basis import hang_subtree, outward_order, recompute_column, subtree_sums
from dxopt.solving.solvers.columns.coupling_rows import ConeProgram, Shared
from dxopt.solving.solvers.columns.forest import Forest
from dxopt.solving.solvers.columns.pool import Pool
from dxopt.solving.solvers.columns.stabilisation import box_around

Array = NDArray[np.float64]
Indices = NDArray[np.int32]


def never() -> bool:
    return False


def factors_of(rng: np.random.Generator, size: int, spread: float = 3.0) -> Array:
    return np.exp(-dx.MetricSpace.from_points(rng.random((size, 2)) * spread).distances)


def column_of(factors: Array, parent: Indices, leads: NDArray[np.bool_], root: int) -> tuple[Array, Indices]:
    size = len(parent)
    order = np.empty(size, np.int32)
    v = np.empty(size)
    outward_order(parent, root, np.empty(size, np.int32), np.empty(size, np.int32), order)
    recompute_column(factors, v, parent, leads, root, order)
    return v, order


def subtree(parent: Indices, root: int, top: int) -> list[int]:
    found = []
    for x in range(len(parent)):
        above = x
        while above not in (root, top):
            above = int(parent[above])
        if above == top:
            found.append(x)
    return found


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 9))
def test_trees_are_what_they_are_by_definition(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    factors = factors_of(rng, size)
    leads = rng.random(size) < 0.5
    parent = np.array([0, *(rng.integers(x) for x in range(1, size))], dtype=np.int32)
    v, order = column_of(factors, parent, leads, 0)
    seen = np.argsort(order)
    for x in range(1, size):
        p = parent[x]
        assert seen[p] < seen[x]
        tight = v[p] - factors[x, p] * v[x] if leads[x] else v[x] - factors[p, x] * v[p]
        assert tight == pytest.approx(0.0, abs=1e-12)
    reduced = rng.random(size) - 0.5
    sums = np.empty(size)
    subtree_sums(reduced, v, parent, order, sums)
    for x in range(size):
        members = subtree(parent, 0, x)
        assert sums[x] == pytest.approx((reduced[members] * v[members]).sum() / v[x], rel=1e-9, abs=1e-9)

    # another root: the same tree, so the same column but for its scale
    root = int(rng.integers(size))
    hang_subtree(parent, leads, 0, root, root, False)
    turned, _ = column_of(factors, parent, leads, root)
    assert np.allclose(turned * v[root], v, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 9))
def test_pricing_agrees_with_a_linear_program(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    factors = factors_of(rng, size)
    costs = rng.random((3, size))
    prices = 1.5 * rng.random(size)
    forest = Forest.of(costs, factors)
    forest.price(prices, 1000, never)
    first, second = np.nonzero(~np.eye(size, dtype=bool))
    cone = np.zeros((len(first), size))
    cone[np.arange(len(first)), first] = factors[first, second]
    cone[np.arange(len(first)), second] = -1.0
    for report, root in enumerate(forest.roots):
        reduced = costs[report] - prices
        column = forest.columns[report]
        assert (cone @ column <= 1e-12).all()
        at_root = np.eye(size)[[root]]
        best = linprog(reduced, cone, np.zeros(len(first)), at_root, [1.0], bounds=(0, None))
        assert reduced @ column == pytest.approx(best.fun, abs=1e-9)

    # nothing negative is left but the value, at the root; elsewhere only where that is less in all
    _, rest = forest.multipliers(prices)
    for report, root in enumerate(forest.roots):
        value = (costs[report] - prices) @ forest.columns[report]
        assert rest[report].sum() >= min(value, 0.0) - 1e-9
        if forest.columns[report].max() <= 1.0:
            assert np.allclose(np.delete(rest[report], root), 0.0, atol=1e-12)
            assert rest[report, root] == pytest.approx(min(value, 0.0), abs=1e-9)


def test_the_pool_knows_its_columns_and_keeps_those_in_use() -> None:
    rng = np.random.default_rng(1)
    costs = rng.random((4, 6))
    columns = factors_of(rng, 6)
    classes = Partition(np.arange(6))
    pool = Pool(ConeProgram(costs, columns, classes, Shared()), 2)
    pool.add(3.0 * columns[:4], np.zeros(4, np.int64))
    assert (pool.columns.max(axis=0) == 1.0).all()
    assert (pool.column_costs == (costs @ pool.columns).min(axis=0)).all()
    new, reports = pool.unknown(7.0 * columns, np.arange(6))
    assert np.array_equal(new, 7.0 * columns[4:]) and np.array_equal(reports, [4, 5])
    pool.add(new, reports)
    pool.add(rng.random((20, 6)), np.zeros(20, np.int64))
    free = np.full(6, np.inf)
    central = pool.master(1e-9, never, (-free, free))
    used = pool.columns[:, central.weights > 1e-7]
    pool.purge(central.prices)
    assert pool.columns.shape[1] == 6 and len(pool.reports) == len(pool.column_costs) == 6
    assert {column.tobytes() for column in used.T} <= {column.tobytes() for column in pool.columns.T}


def test_boxes_close_in_on_prices_and_contain_the_floor() -> None:
    prices = np.array([1.0, -0.2, 0.0])
    floor = np.array([0.9, -7.0, -0.1])
    wide, narrow = (box_around(prices, floor, gap) for gap in (1e-2, 1e-6))
    for low, high in (wide, narrow):
        assert (low <= floor).all() and (low < prices).all() and (prices < high).all()
    assert (wide[0] <= narrow[0]).all() and (narrow[1] < wide[1]).all()
