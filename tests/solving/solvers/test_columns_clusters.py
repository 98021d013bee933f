"""Clusters of points: what they cover, and the bounds and channels that column generation finds by them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import dxopt as dx
from dxopt.proofs.duals import Dual
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.solvers.columns import ColumnSettings, generation, solve_columns
from dxopt.solving.solvers.columns.clusters import MERGED, Clusters
from tests.judges import exact
from tests.material.by_columns import by_columns

Array = NDArray[np.float64]
KINDS = ["crowd", "line", "one-way", "doubled", "skewed", "few reports"]


@pytest.fixture(autouse=True)
def many() -> Iterator[None]:
    """Take programs of few points for those of many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "_LARGE_FROM", 40)
        patch.setattr(generation, "_COARSE_FROM", 20)
        yield


def _problem(kind: str, size: int, epsilon: float, seed: int = 0) -> dx.Problem:
    """Return a problem on close points of one of the kinds."""
    rng = np.random.default_rng(seed)
    at = rng.normal(size=(size, 1 if kind == "line" else 2))
    if kind == "doubled":
        at[size // 2 :] = at[: size - size // 2]
    space = dx.MetricSpace.from_points(at)
    if kind == "one-way":
        height = rng.random(size)
        climb = space.distances + 0.3 * np.maximum(height[None, :] - height[:, None], 0.0)
        space = dx.MetricSpace.from_distances(climb)
    weights = rng.random(size) + (9.0 * (np.arange(size) == 3) * size if kind == "skewed" else 0.0)
    loss = space.distances[:, :: size // 5] if kind == "few reports" else space.distances
    return dx.Problem(space, epsilon=epsilon, prior=dx.Prior.from_weights(space, weights), loss=loss)


def _program(problem: dx.Problem) -> ChannelProgram:
    return ChannelProgram(problem.costs, problem.epsilon * problem.space.distances)


def _proven(program: ChannelProgram, dual: Dual) -> float:
    """Return the bound that a dual proves, computed from its definition alone."""
    residuals = program.costs - dual.prices[:, None]
    report, first, second, multipliers = dual.entries
    assert (multipliers >= 0).all()
    # λ times e^d v_second - v_first ≥ 0, scaled so that v_first has the coefficient e^-d
    factors = np.exp(-program.budgets[first, second])
    np.add.at(residuals, (first, report), multipliers * factors)
    np.add.at(residuals, (second, report), -multipliers)
    return float(dual.prices.sum() + np.minimum(residuals.min(axis=1), 0.0).sum())


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_cover_the_points(kind: str) -> None:
    problem = _problem(kind, 60, 0.5)
    program = _program(problem)
    found = Clusters.of(np.ascontiguousarray(program.costs.T), program.budgets)
    assert found is not None
    assert len(found) == np.ceil(MERGED * 60)
    assert (found.index[found.seeds] == np.arange(len(found))).all()
    np.testing.assert_allclose(np.bincount(found.index, found.shares), 1.0)
    both = np.maximum(program.budgets, program.budgets.T)
    np.testing.assert_array_equal(both[np.arange(60), found.seeds[found.index]], both[:, found.seeds].min(axis=1))
    # prices of clusters are spread, and found again
    prices = np.random.default_rng(1).random(len(found))
    np.testing.assert_allclose(found.below(found.spread(prices)), prices)
    np.testing.assert_allclose(found.means @ np.ones(60), 1.0)
    coarse, reports = found.coarse(np.ascontiguousarray(program.costs.T), program.budgets)
    np.testing.assert_allclose(coarse.costs.sum(axis=0), program.costs.sum(axis=0)[reports])


def test_points_far_from_each_other_make_no_clusters() -> None:
    program = _program(_problem("crowd", 60, 50.0))
    assert Clusters.of(np.ascontiguousarray(program.costs.T), program.budgets) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0])
def test_programs_of_many_points_are_solved_as_those_of_few(kind: str, epsilon: float) -> None:
    problem = _problem(kind, 60, epsilon)
    found = by_columns(problem, tolerance=1e-6)
    assert found.status == "optimal"
    assert not exact.violations(found.mechanism.matrix, problem.space.distances, epsilon)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "_LARGE_FROM", 61)
        other = by_columns(problem, tolerance=1e-6)
    assert found.certificate.value == pytest.approx(other.certificate.value, rel=3e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_merged_rows_prove_a_bound_where_no_other_master_fits(kind: str) -> None:
    program = _program(_problem(kind, 80, 0.5))
    whole = solve_columns(program, ColumnSettings(1e-7))
    merged = solve_columns(program, ColumnSettings(1e-7, columns=0))
    assert merged.status is Status.FEASIBLE
    assert merged.channel is not None
    assert merged.dual is not None
    assert whole.channel is not None
    best = float((whole.channel * program.costs).sum())
    assert 0.9 * best < _proven(program, merged.dual) <= best * (1 + 1e-6)
    np.testing.assert_array_equal(merged.channel, np.broadcast_to(merged.channel[0], program.costs.shape))


@pytest.mark.parametrize("asked", [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144])
def test_a_stop_at_any_time_leaves_a_bound_and_a_private_channel(asked: int) -> None:
    problem = _problem("crowd", 80, 0.5)
    program = _program(problem)
    count = 0

    def should_stop() -> bool:
        nonlocal count
        count += 1
        return count > asked

    found = solve_columns(program, ColumnSettings(1e-6, should_stop))
    assert found.status is Status.INTERRUPTED
    assert found.channel is not None
    assert found.dual is not None
    value = float((found.channel * program.costs).sum())
    assert _proven(program, found.dual) <= value
    np.testing.assert_allclose(found.channel.sum(axis=1), 1.0, atol=1e-6)
