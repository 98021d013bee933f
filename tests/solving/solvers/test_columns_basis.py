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
from dxopt.solving.solvers.columns.basis import (
    add_to_sums,
    complete_links,
    hang_subtree,
    outward_order,
    recompute_column,
    subtree_sums,
    turn_sums,
    unlink,
)
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


def with_ceiling(factors: Array) -> Array:
    return Forest.of(np.zeros((1, len(factors))), factors).factors


def links_of(parent: Indices, leads: NDArray[np.bool_]) -> tuple[Indices, tuple[Indices, ...]]:
    order, *links = (np.empty(len(parent), np.int32) for _ in range(5))
    outward_order(parent, links[0], links[1], order)
    complete_links(parent, leads, tuple(links))
    return order, tuple(links)


def column_of(factors: Array, parent: Indices, leads: NDArray[np.bool_]) -> tuple[Array, Indices]:
    order, _ = links_of(parent, leads)
    v = np.empty(len(parent))
    recompute_column(factors, v, parent, leads, order)
    return v, order


def chains(links: tuple[Indices, ...]) -> list[set[int]]:
    """The children of each point, in which each knows the one before it."""
    first, following, previous, _ = links
    found = []
    for top in first.tolist():
        found.append(set())
        before = -1
        while top >= 0:
            assert previous[top] == before
            found[-1].add(top)
            before, top = top, int(following[top])
    return found


def subtree(parent: Indices, top: int) -> list[int]:
    found = []
    for x in range(len(parent)):
        above = x
        while above not in (len(parent) - 1, top):
            above = int(parent[above])
        if above == top:
            found.append(x)
    return found


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 9))
def test_trees_are_what_they_are_by_definition(seed: int, size: int) -> None:
    rng = np.random.default_rng(seed)
    factors = with_ceiling(factors_of(rng, size))
    parent = np.array([size, *(rng.integers(x) for x in range(1, size)), -1], dtype=np.int32)
    parent[1:size][rng.random(size - 1) < 0.2] = size
    leads = (rng.random(size + 1) < 0.5) | (parent == size)
    v, order = column_of(factors, parent, leads)
    seen = np.argsort(order)
    assert v[size] == 1.0 and (v[:size][parent[:size] == size] == 1.0).all()
    for x in range(size):
        p = parent[x]
        assert seen[p] < seen[x]
        tight = v[p] - factors[x, p] * v[x] if leads[x] else v[x] - factors[p, x] * v[p]
        assert tight == pytest.approx(0.0, abs=1e-12)
    reduced = np.append(rng.random(size) - 0.5, 0.0)
    sums = np.empty(size + 1)
    subtree_sums(reduced, v, parent, order, sums)
    for x in range(size + 1):
        members = subtree(parent, x)
        assert sums[x] == pytest.approx((reduced[members] * v[members]).sum() / v[x], rel=1e-9, abs=1e-9)

    # a subtree hung elsewhere is the same but for its scale, and the rest is as it was
    top = int(rng.integers(size))
    members = subtree(parent, top)
    under = int(rng.choice([x for x in range(size + 1) if x not in members]))
    _, links = links_of(parent, leads)
    hung, leading = int(rng.choice(members)), under == size or bool(rng.random() < 0.5)
    unlink(parent, leads, links, top)
    add_to_sums(sums, v, parent, int(parent[top]), top, -sums[top] * v[top])
    turn_sums(sums, v, parent, top, hung)
    hang_subtree(parent, leads, links, top, hung, under, leading)
    turned, order = column_of(factors, parent, leads)
    _, again = links_of(parent, leads)
    assert chains(links) == chains(again) and np.array_equal(links[3], again[3])
    others = [x for x in range(size + 1) if x not in members]
    assert np.allclose(turned[others], v[others], rtol=1e-12)
    assert np.allclose(turned[members] / turned[top], v[members] / v[top], rtol=1e-12)
    add_to_sums(sums, turned, parent, under, top, sums[hung] * turned[hung])
    renewed = np.empty(size + 1)
    subtree_sums(reduced, turned, parent, order, renewed)
    assert np.allclose(sums, renewed, rtol=1e-9, atol=1e-9)


EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 9), spread=st.floats(0.1, 20))
def test_pricing_agrees_with_a_linear_program(seed: int, size: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    factors = factors_of(rng, size, spread)
    costs = rng.random((3, size))
    prices = 1.5 * rng.random(size)
    forest = Forest.of(costs, factors)
    forest.price(prices, 1000, never)
    first, second = np.nonzero(~np.eye(size, dtype=bool))
    cone = np.zeros((len(first), size))
    cone[np.arange(len(first)), first] = factors[first, second]
    cone[np.arange(len(first)), second] = -1.0
    _, rest = forest.multipliers(prices)
    for report in range(3):
        reduced = costs[report] - prices
        column = forest.columns[report]
        assert (cone @ column <= 1e-12).all()
        assert column.max() == pytest.approx(1.0, abs=1e-12)
        best = linprog(reduced, cone, np.zeros(len(first)), bounds=(0, 1), options=EXACT).fun
        # where v = 0 is best, some column of no negative value is found; what is left proves the value
        assert min(reduced @ column, 0.0) == pytest.approx(best, abs=1e-9)
        assert rest[report].sum() == pytest.approx(best, abs=1e-9)
        assert (rest[report][column < 1 - 1e-9] >= -1e-9).all()


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
