"""The adversary's error against the loss budget: chords below, tangents above, corners found."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.instances import KINDS, problem_of
from tests.material.optima import optimum

ROUNDING = 2e-7


def within(problem: dx.Problem, budget: float) -> dx.Problem:
    assert isinstance(problem.objective, dx.AdversaryError)
    return problem.but(objective=dx.AdversaryError(budget, problem.objective.adversary_loss))


@pytest.fixture(scope="module")
def problem() -> dx.Problem:
    space = dx.grid((3, 3))
    prior = dx.Prior.from_weights(space, np.arange(1, 10))
    return dx.Problem(space, epsilon=1.0, prior=prior, objective=dx.AdversaryError(1.0, "binary"), name="square")


@pytest.fixture(scope="module")
def found(problem: dx.Problem) -> dx.BudgetFrontier:
    return dx.budget_frontier(problem, 0.8, 1.2)


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_optimum_is_in_between(kind: str, private: bool) -> None:
    plain = problem_of(kind, 1)
    least = optimum(plain) if private else float(plain.costs.min(axis=1).sum())
    most = float(plain.costs.sum(axis=0).min()) + 0.05
    objective = dx.AdversaryError(most, "binary")
    posed = plain.but(objective=objective, **({} if private else {"epsilon": None}))
    low = least + 1e-3 * (most - least)
    found = dx.budget_frontier(posed, low, most, resolution=0.01)
    assert found.status == "optimal"
    rise = found.bounds[-1] - found.values[0]
    assert found.resolution <= 0.01 or rise < 1e-6
    for budget in [low, most, *np.random.default_rng(3).uniform(low, most, 4)]:
        possible, bound = found.between(float(budget))
        assert possible - ROUNDING <= optimum(within(posed, float(budget))) <= bound + ROUNDING
        assert bound - possible <= 0.0100001 * rise + ROUNDING


def test_corners_of_two_points() -> None:
    """Without privacy, a budget of q ≤ 1/2 buys the error q, and no budget buys more than 1/2."""
    space = dx.line(2)
    objective = dx.AdversaryError(0.1, "binary")
    problem = dx.Problem(space, epsilon=None, prior=dx.Prior.uniform(space), loss="binary", objective=objective)
    found = dx.budget_frontier(problem, 0.1, 0.9)
    assert found.breakpoints == pytest.approx([0.5], abs=1e-5)
    assert len(found.reports) == 3
    assert found.between(0.3) == pytest.approx((0.3, 0.3), abs=1e-6)
    assert found.between(0.7) == pytest.approx((0.5, 0.5), abs=1e-6)
    assert found.prices[0] == pytest.approx(1.0, abs=1e-5)


def test_corners_are_where_the_slope_changes(problem: dx.Problem, found: dx.BudgetFrontier) -> None:
    """Between corners next to each other the optimum is a straight line; at each it bends."""
    corners = found.breakpoints
    assert len(corners) >= 2
    rise = found.bounds[-1] - found.values[0]
    ends = [0.8, *corners, 1.2]
    for low, high in pairwise(ends):
        errors = [optimum(within(problem, budget)) for budget in (low, 0.5 * (low + high), high)]
        assert errors[1] == pytest.approx(0.5 * (errors[0] + errors[2]), abs=3e-3 * rise)
    for corner in corners:
        step = 0.02
        errors = [optimum(within(problem, corner + move)) for move in (-step, 0.0, step)]
        assert errors[1] - 0.5 * (errors[0] + errors[2]) > 1e-4 * rise


def test_reports_and_slopes(found: dx.BudgetFrontier) -> None:
    assert (np.diff(found.budgets) > 0).all()
    assert (np.diff(found.prices) < 1e-6).all()
    assert (found.budgets[0], found.budgets[-1]) == (0.8, 1.2)
    for report, value, bound in zip(found.reports, found.values, found.bounds, strict=True):
        assert (report.certificate.value, report.certificate.bound) == (value, bound)
        assert value <= bound
    assert found.resolution <= found.wanted == 1e-3


def test_said_and_drawn(found: dx.BudgetFrontier, tmp_path: Path) -> None:
    text = str(found)
    assert text.splitlines()[0] == f"square: adversary's error at {len(found.reports)} budgets"
    assert f"; {len(found.breakpoints)} breakpoints" in text
    assert len(text.splitlines()) == 3 + len(found.reports)
    (axes,) = found.figure().axes
    drawn = {str(line.get_label()): np.asarray(line.get_xydata()) for line in axes.lines}
    assert drawn["possible"][:, 0].tolist() == found.budgets.tolist()
    above = drawn["nothing is above: proven"]
    assert (above[:, 1] >= np.interp(above[:, 0], found.budgets, found.values) - 1e-12).all()
    found.plot(save=tmp_path / "budgets.svg")
    assert (tmp_path / "budgets.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("low", "high", "options", "message"),
    [
        (1.0, 1.0, {}, "^high: is 1, not above 1; give a larger one$"),
        (np.nan, 1.0, {}, "^max_loss: is nan"),
        (0.1, 1.0, {}, "^max_loss: is 0.1, below 0.786.*, the least that such a channel loses; raise it$"),
        (0.8, 1.0, {"resolution": 1.0}, "^resolution: is 1; give a number between 0 and 1$"),
    ],
)
def test_what_is_refused(problem: dx.Problem, low: float, high: float, options: dict[str, Any], message: str) -> None:
    with pytest.raises(dx.SpecError, match=message):
        dx.budget_frontier(problem, low, high, **options)


def test_other_budgets_and_objectives_are_refused(problem: dx.Problem, found: dx.BudgetFrontier) -> None:
    for budget in (0.79, 1.21, np.nan):
        with pytest.raises(dx.SpecError, match=r"^max_loss: is .*; give one from 0.8 to 1.2$"):
            found.between(budget)
    with pytest.raises(dx.SpecError, match=r"^objective: is worst_loss, which has no loss budget; use dx.frontier$"):
        dx.budget_frontier(problem.but(objective="worst_loss"), 0.8, 1.2)


def test_out_of_time(problem: dx.Problem) -> None:
    found = dx.budget_frontier(problem, 0.8, 1.2, resolution=1e-9, tolerance=1e-9, time_limit=0.5)
    assert found.status == "time limit"
    assert len(found.reports) >= 2
    assert found.resolution > 1e-9
