"""Programs of fewer rows: their bounds hold for the whole, and come close to its optimum."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.fewer_rows import fewer_rows
from dxopt.solving.routes import running
from dxopt.solving.routes.expected import expected_seconds, rows_in_reach
from dxopt.solving.solvers.columns import ColumnSettings, solve_columns
from tests.judges import exact
from tests.material.crowds import KINDS, crowd_problem, program_of, proven

SIZE = 40


def optimum(problem: dx.Problem) -> float:
    """The least expected loss, by a general solver."""
    return dx.solve(problem, solver="highs", tolerance=1e-7).certificate.value


@pytest.mark.parametrize("count", [1, 5, 20, 30, 39])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold_for_the_whole(kind: str, epsilon: float, count: int) -> None:
    problem = crowd_problem(kind, SIZE, epsilon)
    program = program_of(problem)
    few = fewer_rows(program, count)
    found = few.lift(solve_columns(few.smaller, ColumnSettings(1e-7, bound_only=True)))
    best = optimum(problem)
    assert found.dual is not None and found.channel is None
    bound = proven(program, found.dual)
    assert bound <= best * (1 + 1e-6)
    assert bound >= {30: 0.75, 39: 0.97}.get(count, 0.0) * best
    assert [(one.before, one.after, one.exact) for one in few.records] == [(SIZE, count, False)]


def test_where_other_rows_cost_nothing_the_bound_is_the_optimum_of_the_rest() -> None:
    points = np.random.default_rng(2).normal(size=(SIZE, 2))
    odd = np.arange(SIZE) % 2 > 0
    space, rest = dx.MetricSpace.from_points(points), dx.MetricSpace.from_points(points[odd])
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.from_weights(space, odd))
    program = program_of(problem)
    few = fewer_rows(program, SIZE // 2)
    found = few.lift(solve_columns(few.smaller, ColumnSettings(1e-7)))
    assert found.dual is not None
    alone = dx.Problem(rest, epsilon=1.0, prior="uniform", loss=space.distances[odd])
    assert proven(program, found.dual) == pytest.approx(optimum(alone), rel=1e-6)


def test_points_out_of_reach_of_all_others() -> None:
    budgets = np.full((6, 6), np.inf)
    np.fill_diagonal(budgets, 0.0)
    budgets[0, 1] = budgets[1, 0] = 0.2
    program = ChannelProgram(np.random.default_rng(3).random((6, 4)), budgets)
    few = fewer_rows(program, 2)
    found = few.lift(solve_columns(few.smaller, ColumnSettings(1e-7)))
    assert found.dual is not None
    assert 0 <= proven(program, found.dual) <= program.costs.min(axis=1).sum() + np.ptp(program.costs)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "doubled"])
def test_a_solve_that_is_out_of_reach_has_a_bound_and_the_best_of_what_is_known(kind: str) -> None:
    problem = crowd_problem(kind, 60, 1.0)
    best = optimum(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "rows_in_reach", lambda points, *_, **__: 3 * points // 4)
        found = dx.solve(problem, solver="columns", tolerance=1e-4)
    assert found.status is Status.FEASIBLE
    assert 0.8 * best <= found.bound <= best * (1 + 1e-6) <= found.value * (1 + 2e-6)
    assert found.route.startswith(found.mechanism.name)
    assert not exact.violations(found.mechanism.matrix, problem.space.distances, 1.0)


def test_all_rows_are_solved_where_they_are_in_reach() -> None:
    assert rows_in_reach(3000, 3000, None, fits=True) == 3000
    assert rows_in_reach(3000, 3000, expected_seconds(3000, 3000), fits=True) == 3000
    assert rows_in_reach(100, 100, 0.0, fits=True) == 100


@pytest.mark.parametrize("reports", [100, 9000])
def test_the_less_time_the_fewer_rows(reports: int) -> None:
    counts = [rows_in_reach(9000, reports, seconds, fits=True) for seconds in (1.0, 20.0, 60.0, 100.0)]
    assert counts == sorted(counts) and 1 <= counts[0] < counts[-1] <= 9000
    assert rows_in_reach(9000, reports, None, fits=False) < 9000
