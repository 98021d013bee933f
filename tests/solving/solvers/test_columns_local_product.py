"""Products of local columns: near the whole ones beside what the box adds, and over near points."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg as sl

import dxopt as dx
from dxopt.solving.solvers.columns import matrices
from dxopt.solving.solvers.columns.local_product import ROWS, LocalProduct, near_order

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 50.0])
@pytest.mark.parametrize("size", [1, 64, 65, 300])
def test_what_is_left_out_is_small_beside_the_diagonal(epsilon: float, size: int) -> None:
    points = RNG.random((size, 2))
    space = dx.MetricSpace.from_points(points)
    columns = np.concatenate([np.exp(-epsilon * space.distances), np.exp(-epsilon / 2 * space.distances)], axis=1)
    scaling = 10.0 ** RNG.uniform(-6, 2, columns.shape[1])
    whole = (columns * scaling) @ columns.T
    for share in (1.0, 1e-2, 1e-4):
        added = np.diag(whole) * share * RNG.uniform(0.5, 2, size)
        with ThreadPoolExecutor(2) as threads:
            upper = np.triu(LocalProduct(columns).upper(scaling, added, threads.map))
        found = upper + np.triu(upper, 1).T
        ratios = sl.eigvalsh(found + np.diag(added), whole + np.diag(added))
        assert 0.9 < ratios.min() <= ratios.max() < 1.1


@pytest.mark.parametrize("epsilon", [5.0, 50.0])
@pytest.mark.parametrize("size", [65, 300])
def test_solutions_without_a_box_are_refined(epsilon: float, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "_LOCAL_FROM", 1)
    monkeypatch.setattr(matrices, "_FEW", 2.0)
    monkeypatch.setattr(matrices, "_NEGLECTED", 1e-3)
    distances = dx.MetricSpace.from_points(RNG.random((size, 2))).distances
    columns = np.concatenate([np.exp(-epsilon * distances), np.exp(-epsilon / 2 * distances)], axis=1)
    scaling = 10.0 ** RNG.uniform(-2, 2, columns.shape[1])
    whole = (columns * scaling) @ columns.T
    right = whole @ RNG.random(size)
    with matrices.HOST.holding(columns, lambda: False) as matrix:
        found = matrix.solver(scaling, (), 1e-13)(right)
    assert np.abs(whole @ found - right).max() <= 2e-3 * np.abs(right).max()
    near = matrices.LocalProduct(columns)
    assert near.diagonal(scaling) == pytest.approx(np.diag(whole), rel=1e-12)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 200, 1000])
def test_points_next_to_each_other_are_near(size: int) -> None:
    points = RNG.random((size, 2))
    budgets = dx.MetricSpace.from_points(points).distances
    order = near_order(budgets)
    assert sorted(order) == list(range(size))
    if size > 2 * ROWS:
        parts = np.split(order, range(ROWS, size, ROWS))
        within = np.mean([budgets[np.ix_(part, part)].max() for part in parts])
        assert within < 0.75 * budgets.max()


def test_points_at_infinite_distances_have_an_order() -> None:
    budgets = np.full((200, 200), np.inf)
    np.fill_diagonal(budgets, 0.0)
    assert sorted(near_order(budgets)) == list(range(200))
