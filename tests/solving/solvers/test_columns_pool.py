"""Masters of few of the columns known, and rows of close points: the same optima."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from dxopt.numerics.partition import Partition
from dxopt.solving.solvers.columns import pool as pools
from dxopt.solving.solvers.columns.coupling_rows import ConeProgram, Shared
from dxopt.solving.solvers.columns.pool import Pool, Stack
from dxopt.solving.solvers.columns.stabilisation import Differences
from tests.material.by_columns import assert_agrees_with_the_oracle
from tests.material.few import few


@pytest.fixture
def left_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Boxed masters begin with one column for each row; how many were left out each time."""
    monkeypatch.setattr(pools, "_ACTIVE", 1.0)
    counts: list[int] = []
    before = Pool._choose_columns

    def taking_part(self: Pool, *arguments: object) -> NDArray[np.int64]:
        there = before(self, *arguments)  # pyright: ignore[reportArgumentType]
        counts.append(len(self.reports) - len(there))
        return there

    monkeypatch.setattr(Pool, "_choose_columns", taking_part)
    return counts


@pytest.mark.parametrize("seed", few(range(4), 1))
def test_masters_of_few_columns_agree_with_the_oracle(left_out: list[int], seed: int) -> None:
    assert_agrees_with_the_oracle(seed, 7)
    assert max(left_out) > 0


@pytest.mark.parametrize("apart", [1e-2, 1e-5, 1e-7])
def test_points_next_to_each_other_are_no_harm_to_a_master_without_a_box(apart: float) -> None:
    """Twelve points, six of them next to six others: prices differ by what the programs differ, not by rounding."""
    rng = np.random.default_rng(0)
    points = rng.random((6, 2)) * 3
    points = np.concatenate([points, points + apart * rng.random((6, 2))])
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    factors = np.exp(-distances)
    costs = rng.random((12, 12)) ** 3
    classes = Partition(np.arange(12))
    pool = Pool(ConeProgram(costs, factors, classes, Shared()), 100)
    pool.add(np.concatenate([np.ones((1, 12)), factors, np.sqrt(factors)]), np.zeros(25, np.int64))
    mixed = rng.random((60, 12)) ** 4
    pool.add(np.array([(factors * v[:, None]).max(axis=0) for v in mixed]), np.zeros(60, np.int64))
    free = np.full(12, np.inf)
    central = pool.master(1e-9, lambda: False, (-free, free))
    change = Differences.of(factors, classes).matrix
    exact = linprog(pool.column_costs, A_eq=change @ pool.columns, b_eq=change @ np.ones(12))
    assert central.value == pytest.approx(exact.fun, rel=1e-7)
    assert central.prices.sum() == pytest.approx(exact.fun, rel=1e-6)
    assert np.abs(pool.columns @ central.weights - 1).max() < 1e-12


def test_differences_are_those_of_close_rows() -> None:
    """Taken are 0, the farthest from it, 2, then 3 next to 2, and 1 next to 0."""
    budgets = np.array([[0, 1e-3, 5.0, 4.0], [9.0, 0, 5.0, 4.0], [5.0, 5.0, 0, 0.02], [4.0, 4.0, 0.01, 0]])
    factors = np.exp(-budgets)
    alone = Differences.of(factors, Partition(np.arange(4))).matrix.toarray()
    near = 1 - np.exp(-1e-3), 1 - np.exp(-0.01)
    assert alone == pytest.approx(
        np.array(
            [
                [1, 0, 0, 0],
                [-1 / near[0], 1 / near[0], 0, 0],
                [0, 0, 1, 0],
                [0, 0, -1 / near[1], 1 / near[1]],
            ]
        )
    )
    prices = np.array([1.0, 2.0, -3.0, 4.0])
    combined = Differences.of(factors, Partition(np.arange(4))).combined(prices)
    assert combined == pytest.approx([3.0, 2.0 * near[0], 1.0, 4.0 * near[1]])
    assert combined @ alone == pytest.approx(prices)
    merged = Differences.of(factors, Partition(np.array([0, 1, 1, 0])))
    assert merged.matrix.toarray() == pytest.approx(np.array([[1, 0], [-1 / near[0], 1 / near[0]]]))
    assert merged.padded(1).toarray()[2] == pytest.approx([0, 0, 1])


def test_a_stack_keeps_its_columns_as_it_grows() -> None:
    rng = np.random.default_rng(3)
    stack = Stack(5)
    columns = rng.random((40, 5))
    for start in range(0, 40, 8):
        stack.add(columns[start : start + 8])
    assert np.array_equal(stack.columns, columns.T)
    kept = stack.kept(np.array([1, 30]))
    kept.add(np.ones((1, 5)))
    assert np.array_equal(kept.columns, np.vstack([columns[[1, 30]], np.ones(5)]).T)
    assert np.array_equal(stack.columns, columns.T)
