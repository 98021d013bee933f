"""Privacy relaxed by δ, with entries that join in rounds: the same optimum as with all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import LinearProgram, Solution
from dxopt.solving.routes import delta_rounds as relaxed
from tests.material.checks import assert_private
from tests.material.few import few
from tests.material.instances import KINDS, problem_of
from tests.material.optima import optimum
from tests.material.stopped import skewed


@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("seed", few(range(4)))
@pytest.mark.parametrize("kind", KINDS)
def test_entries_that_join_in_rounds(kind: str, seed: int, pairs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxed, "_FEW_ENTRIES", 0)
    delta = (1e-5, 0.003, 0.05, 0.3)[seed]
    problem = problem_of(kind, seed).but(delta=delta, pairs=pairs)
    report = dx.solve(problem)
    value = optimum(problem)
    assert report.certificate.gap <= 1e-6
    assert report.certificate.delta <= delta
    assert report.certificate.value == pytest.approx(value, abs=1e-7)
    assert report.certificate.bound <= value + 1e-9
    assert_private(report)


@pytest.mark.parametrize("objective", ["worst_loss", dx.AdversaryError(1.2, "binary")])
def test_other_objectives(objective: str | dx.AdversaryError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relaxed, "_FEW_ENTRIES", 0)
    space = dx.grid((3, 3))
    problem = dx.Problem(space, epsilon=1.0, prior=skewed(space), objective=objective, delta=0.02)
    report = dx.solve(problem)
    assert report.certificate.gap <= 1e-6
    assert report.certificate.value == pytest.approx(optimum(problem), abs=1e-7)


@pytest.mark.parametrize("few", [0, 10**9])
def test_budgets_that_delta_alone_makes_possible(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is private without δ costs more than the budget."""
    monkeypatch.setattr(relaxed, "_FEW_ENTRIES", few)
    space = dx.grid((3, 3))
    plain = dx.Problem(space, epsilon=1.0, prior=skewed(space), delta=0.2)
    with_delta, without = (dx.solve(plain.but(delta=delta)).certificate.value for delta in (0.2, 0.0))
    budget = 0.5 * (with_delta + without)
    report = dx.solve(plain.but(objective=dx.AdversaryError(budget, "binary")), tolerance=1e-7)
    assert report.certificate.value == pytest.approx(optimum(report.problem), abs=1e-7)


def test_few_of_many_entries_are_needed() -> None:
    space = dx.grid((4, 4))
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=skewed(space), delta=0.01))
    entries = next(one for one in report.reductions if one.name == "lazy pairs")
    assert entries.before == 16 * 15 * 16
    assert entries.after < 0.6 * entries.before
    assert report.certificate.gap <= 1e-6


def test_entries_are_those_that_exceed() -> None:
    space = dx.line(3)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), delta=0.1)
    channel = np.array([[1.0, 0.0, 0.0], [0.3, 0.7, 0.0], [0.2, 0.2, 0.6]])
    bound = ~np.eye(3, dtype=bool)
    found = relaxed._broken_entries(problem, channel, bound, 1e-9, 0)
    over = channel[:, None] - np.exp(problem.budgets)[:, :, None] * channel
    broken = np.maximum(over, 0).sum(axis=2) > 0.1
    np.fill_diagonal(broken, False)
    assert {tuple(entry) for entry in found} == {tuple(e) for e in np.argwhere((over > 1e-3) & broken[:, :, None])}
    assert len(relaxed._broken_entries(problem, channel, bound, 1e-9, 100)) == 3 * broken.sum()


def test_a_stop_keeps_the_bound_of_the_last_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is stopped half-way proves next to nothing."""
    space = dx.grid((4, 4))
    problem = dx.Problem(space, epsilon=1.0, prior=skewed(space), delta=0.01)
    best = dx.solve(problem).certificate
    real = relaxed.solve_linear

    def stopped_in_round_three(*given: Any, **named: Any) -> Any:
        linear, options = real(*given, **named), given[2]
        count = 0

        def solve(program: LinearProgram, accuracy: float) -> Solution:
            nonlocal count
            count += 1
            if count < 3:
                return linear(program, accuracy)
            options.stop.interrupted = True
            return Solution(Status.INTERRUPTED, np.zeros(len(program.cost)), np.zeros(len(program.totals)))

        return solve

    monkeypatch.setattr(relaxed, "solve_linear", stopped_in_round_three)
    report = dx.solve(problem)
    assert report.status == "interrupted"
    assert 0.5 * best.bound < report.certificate.bound <= best.value
    assert report.certificate.gap < 0.3
    assert_private(report)
