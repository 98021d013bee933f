"""Clusters of points: what they cover, and the bounds and channels that column generation finds by them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dxopt.runtime.stopping import Status
from dxopt.solving.solvers.columns import ColumnSettings, generation, solve_columns
from dxopt.solving.solvers.columns.clusters import MERGED, Clusters
from tests.judges import exact
from tests.material.by_columns import by_columns
from tests.material.crowds import KINDS, crowd_problem, program_of, proven


@pytest.fixture(autouse=True)
def many() -> Iterator[None]:
    """Take programs of few points for those of many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "_LARGE_FROM", 40)
        patch.setattr(generation, "_COARSE_FROM", 20)
        yield


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_cover_the_points(kind: str) -> None:
    problem = crowd_problem(kind, 60, 0.5)
    program = program_of(problem)
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
    program = program_of(crowd_problem("crowd", 60, 50.0))
    assert Clusters.of(np.ascontiguousarray(program.costs.T), program.budgets) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("epsilon", [0.1, 0.7, 2.0])
def test_programs_of_many_points_are_solved_as_those_of_few(kind: str, epsilon: float) -> None:
    problem = crowd_problem(kind, 60, epsilon)
    found = by_columns(problem, tolerance=1e-6)
    assert found.status == "optimal"
    assert not exact.violations(found.mechanism.matrix, problem.space.distances, epsilon)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "_LARGE_FROM", 61)
        other = by_columns(problem, tolerance=1e-6)
    assert found.certificate.value == pytest.approx(other.certificate.value, rel=3e-6)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "doubled"])  # such points are one row by then
def test_a_bound_alone_is_nearly_as_good_as_one_beside_a_channel(kind: str) -> None:
    program = program_of(crowd_problem(kind, 80, 0.5))
    whole = solve_columns(program, ColumnSettings(1e-7))
    alone = solve_columns(program, ColumnSettings(1e-7, bound_only=True))
    assert whole.channel is not None and alone.dual is not None
    best = float((whole.channel * program.costs).sum())
    # the gap at which it ends is that of a master in a box
    assert 0.99 * best < proven(program, alone.dual) <= best * (1 + 1e-6)


@pytest.mark.parametrize("asked", [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144])
def test_a_stop_at_any_time_leaves_a_bound_and_a_private_channel(asked: int) -> None:
    problem = crowd_problem("crowd", 80, 0.5)
    program = program_of(problem)
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
    assert proven(program, found.dual) <= value
    np.testing.assert_allclose(found.channel.sum(axis=1), 1.0, atol=1e-6)
