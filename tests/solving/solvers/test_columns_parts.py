"""What column generation is made of: the master, its bounds, and the memory it asks for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import dxopt as dx
from dxopt.solving.solvers.columns import Memory
from dxopt.solving.solvers.columns.forest import Forest
from dxopt.solving.solvers.columns.master import solve_master
from tests.judges.oracle import optimum


def never() -> bool:
    return False


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize(("seed", "size", "count"), [*((seed, 30, 90) for seed in range(4)), (4, 220, 2600)])
def test_the_master_is_solved_to_what_is_asked(seed: int, size: int, count: int, boxed: bool) -> None:
    """The last one by several threads."""
    rng = np.random.default_rng(seed)
    columns = rng.random((size, count))
    costs = rng.random(count)
    low = -0.06 * rng.random(size) / size
    high = (1.5 * rng.random(size) + 0.06) / size
    free = np.full(len(columns), np.inf)
    box = (low, high) if boxed else (-free, free)
    found = solve_master(columns, costs, np.ones(len(columns)), 1e-8, never, box)
    unit = np.eye(size)
    coupling = np.hstack([columns, unit, -unit]) if boxed else columns
    prices = np.concatenate([costs, high, -low]) if boxed else costs
    exact = linprog(prices, A_eq=coupling, b_eq=np.ones(size))
    assert found.value == pytest.approx(exact.fun, rel=1e-7)
    assert found.prices.sum() == pytest.approx(exact.fun, rel=1e-7)
    assert (found.weights >= 0).all()
    if boxed:
        assert (found.prices > low - 1e-6).all()
        assert (found.prices < high + 1e-6).all()
    else:
        assert np.abs(columns @ found.weights - 1).max() < 1e-12


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), pivots=st.integers(0, 6), spread=st.floats(0.5, 40))
def test_any_trees_prove_a_bound(seed: int, pivots: int, spread: float) -> None:
    """Few pivots from stars, prices from anywhere: far points make columns with entries of e^30."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    space = dx.MetricSpace.from_points(rng.random((size, 2)) * spread)
    costs = rng.random((3, size)) * (rng.random((3, size)) < 0.8)
    factors = np.exp(-np.minimum(space.distances, 36.0))
    forest = Forest.of(costs, factors)
    rows = rng.random(size) * costs.max()
    forest.price(rows, pivots, never)
    found, rest = forest.multipliers(rows)
    dual = forest.dual(rows)
    left = costs - rows
    np.add.at(left, (dual.report, dual.second), -dual.multiplier)
    np.add.at(left, (dual.report, dual.first), dual.multiplier * factors[dual.first, dual.second])
    assert (found >= 0).all()
    assert np.allclose(np.minimum(left, 0.0), rest, rtol=0, atol=1e-12)
    bound = rows.sum() + rest.min(axis=0).sum()
    assert bound <= optimum(np.minimum(space.distances, 36.0), 1.0, np.ones(size), costs.T) + 1e-9


def test_memory_is_known_before() -> None:
    few = Memory.of(100, 100, 100, there=1e9)
    many = Memory.of(20_000, 20_000, 20_000, there=20e9)
    assert few.columns == 20
    assert few.needed < 1e7
    assert many.columns == 0
    assert many.needed > many.there
    tight = Memory.of(4_000, 4_000, 4_000, there=4.5e9)
    assert 4 <= tight.columns < 20
    assert tight.needed <= tight.there
