"""Reports that are blocks of the master: the same optima, and no more rounds where one place has most of the mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx
from dxopt.numerics.partition import Partition
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.solvers.columns import ColumnSettings
from dxopt.solving.solvers.columns import explicit_blocks as rich
from dxopt.solving.solvers.columns import generation as rounds
from dxopt.solving.solvers.columns.coupling_rows import ConeProgram, Shared
from dxopt.solving.solvers.columns.explicit_blocks import Blocks, Rich
from dxopt.solving.solvers.columns.generation import solve_columns
from dxopt.solving.solvers.columns.master import solve_master
from tests.material.by_columns import assert_agrees_with_the_oracle, by_columns
from tests.material.checks import there
from tests.material.few import few


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every problem gets up to three blocks from the first round on; the reports that became blocks."""
    monkeypatch.setattr(rich, "_RICH", 0.0)
    monkeypatch.setattr(rich, "_WEIGHT", 0.0)
    monkeypatch.setattr(rich, "_MOST", 3)
    monkeypatch.setattr(rich, "_POINTS", 0)
    monkeypatch.setattr(rich, "_NEIGHBOURS", 1)
    monkeypatch.setattr(rounds, "_SETTLED", 1)
    chosen: list[int] = []
    before = Rich._new_block

    def begun(self: Rich, report: int, mixture: np.ndarray) -> Any:
        chosen.append(report)
        return before(self, report, mixture)

    monkeypatch.setattr(Rich, "_new_block", begun)
    return chosen


@pytest.mark.parametrize("size", [5])
@pytest.mark.parametrize("seed", few(range(4), 1))
def test_blocks_agree_with_the_oracle(forced: list[int], seed: int, size: int) -> None:
    assert_agrees_with_the_oracle(seed, size)
    assert forced


def test_blocks_with_shared_rows(forced: list[int]) -> None:
    space = dx.MetricSpace.from_points(np.random.default_rng(2).random((7, 2)) * 3)
    prior = dx.Prior.from_weights(space, [9, 1, 1, 1, 2, 1, 1])
    problem = dx.Problem(space, epsilon=0.8, prior=prior, loss="binary", objective="worst_loss")
    report = by_columns(problem, tolerance=1e-7)
    other = dx.solve(problem, solver="highs", tolerance=1e-7)
    assert forced
    assert report.certificate.private
    assert report.certificate.value == pytest.approx(other.certificate.value, abs=1e-6)


@pytest.mark.parametrize("share", few([0.8, 0.4], 1))
@pytest.mark.parametrize("seed", [5])
def test_where_one_place_has_most_of_the_mass_a_block_saves_rounds(
    monkeypatch: pytest.MonkeyPatch, seed: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 2)) * 3
    distances = np.linalg.norm(points[:, None] - points[None], axis=2)
    weights = rng.pareto(1.2, 60) + 0.05
    busy = int(np.linalg.norm(points, axis=1).argmin())
    weights[busy] = share / (1 - share) * (weights.sum() - weights[busy])
    costs = weights[:, None] * distances
    program = ChannelProgram(costs / costs.sum(axis=0).min(), distances)
    found = solve_columns(program, ColumnSettings(1e-4))
    monkeypatch.setattr(rich, "_MOST", 0)
    without = solve_columns(program, ColumnSettings(1e-4))
    assert found.status is without.status is Status.OPTIMAL
    values = [float((program.costs * there(one.channel)).sum()) for one in (found, without)]
    assert values[0] == pytest.approx(values[1], rel=3e-4)
    assert found.iterations <= 0.75 * without.iterations


@pytest.mark.parametrize("boxed", [False, True])
@pytest.mark.parametrize("seed", few(range(4)))
def test_a_master_with_a_block_is_solved_to_what_is_asked(forced: list[int], seed: int, boxed: bool) -> None:
    """Against the same program with the block's column and its rows written out."""
    rng = np.random.default_rng(seed)
    size, count = 20, 50
    points = rng.random((size, 2)) * 3
    factors = np.exp(-np.linalg.norm(points[:, None] - points[None], axis=2))
    costs = rng.random((size, size)) + 0.1
    columns = rng.random((size, count))
    weights = rng.random(count)
    reports = Rich(ConeProgram(costs, factors, Partition(np.arange(size)), Shared()))
    reports.choose(factors, np.zeros(size, dtype=np.int64), np.full(size, 1.0))
    assert forced == [0]
    blocks = reports.blocks()
    low, high = -0.06 * rng.random(size), 1.5 * rng.random(size)
    free = np.full(size, np.inf)
    found = solve_master(
        columns, weights, np.ones(size), 1e-8, lambda: False, (low, high) if boxed else (-free, free), 0.0, blocks
    )

    pairs = np.array([blocks.slacks(one) for one in np.eye(size)]).T
    unit = np.eye(size)
    own = np.hstack([columns, unit, -unit]) if boxed else columns
    prices = np.concatenate([weights, high, -low]) if boxed else weights
    written = linprog(
        np.concatenate([prices, blocks.costs]),
        A_eq=np.hstack([own, blocks.rows.toarray()]),
        b_eq=np.ones(size),
        A_ub=np.hstack([np.zeros((len(pairs), own.shape[1])), -pairs]),
        b_ub=np.zeros(len(pairs)),
    )
    assert found.value == pytest.approx(written.fun, rel=1e-7)
    raised = reports.columns(found.block)[0]
    assert (factors * raised[:, None] <= raised * (1 + 1e-12)).all()


def test_pairs_that_are_broken_join(forced: list[int]) -> None:
    factors = np.exp(-np.abs(np.arange(6.0)[:, None] - np.arange(6.0)))
    reports = Rich(ConeProgram(np.ones((6, 6)), factors, Partition(np.arange(6)), Shared()))
    assert reports.blocks().costs.size == Blocks.none(6).costs.size == 0
    reports.choose(factors, np.zeros(6, dtype=np.int64), np.ones(6))
    before = len(reports.blocks().first)
    assert len(forced) == 1
    u = np.ones(6)
    u[4:] = 1e-6
    assert reports.refine(u) > 0
    assert len(reports.blocks().first) > before
    assert reports.refine(u) == 0
