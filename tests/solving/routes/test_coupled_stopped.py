"""Other objectives and δ, interrupted anywhere: what is returned is as proven as ever, and the bound holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Status
from dxopt.solving.programs.program import ChannelSolution
from dxopt.solving.routes import coupled
from tests.material.checks import assert_private
from tests.material.few import few
from tests.material.stopped import skewed, stop_after

KINDS = ("worst, columns", "worst, clarabel", "error, columns", "error, clarabel", "error alone", "delta")


def problem_of(kind: str) -> tuple[dx.Problem, str]:
    """A problem of 16 secrets, and the solver that is asked."""
    space = dx.grid((4, 4))
    plain = dx.Problem(space, epsilon=0.4, prior=skewed(space))
    solver = "columns" if "columns" in kind else "clarabel"
    if kind.startswith("worst"):
        return plain.but(objective="worst_loss"), solver
    if kind == "delta":
        return plain.but(delta=0.01), solver
    least = dx.solve(plain).certificate.value
    if kind == "error alone":
        return plain.but(objective=dx.AdversaryError(0.5 * least, "squared"), epsilon=None), solver
    return plain.but(objective=dx.AdversaryError(1.2 * least, "squared")), solver


@pytest.mark.parametrize("kind", few(KINDS))
def test_at_random_moments(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, solver = problem_of(kind)
    whole = stop_after(monkeypatch, 10**9)
    best = dx.solve(problem, solver=solver)
    assert best.status == "optimal"
    moments = np.random.default_rng(7).integers(0, whole[0], 6).tolist()
    for moment in [1, whole[0] - 1, *moments]:
        stop_after(monkeypatch, moment)
        try:
            report = dx.solve(problem, solver=solver)
        except dx.SolveError as error:
            assert "stopped before a channel within the loss budget was found" in str(error)
            assert kind.startswith("error, ")
            continue
        assert report.status in ("interrupted", "optimal")
        assert_private(report)
        sign, proof = problem.objective.sign, report.certificate
        assert sign * proof.bound <= sign * best.certificate.value
        assert sign * proof.value >= sign * best.certificate.bound


@pytest.mark.parametrize("kind", ["worst, columns", "error, columns", "error alone", "delta"])
def test_time_limits(kind: str) -> None:
    problem, _ = problem_of(kind)
    report = dx.solve(problem, time_limit=0.2 if kind.startswith("error, ") else 1e-3)
    assert report.status in ("time limit", "optimal")
    assert_private(report)


def test_no_time_for_a_channel_within_the_budget() -> None:
    space = dx.grid((10, 10))
    plain = dx.Problem(space, epsilon=0.4, prior=skewed(space))
    error = dx.AdversaryError(1.0001 * dx.solve(plain).certificate.value)
    with pytest.raises(dx.SolveError, match="stopped before a channel within the loss budget was found"):
        dx.solve(plain.but(objective=error), time_limit=1e-3)


@pytest.mark.parametrize(
    ("changes", "expected"), [({"objective": "worst_loss"}, "mechanism"), ({"delta": 0.01}, "without delta: ")]
)
def test_solvers_that_find_nothing(changes: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known in closed form is private anyway."""
    problem, _ = problem_of("delta")
    nothing = ChannelSolution(Status.FAILED, None, None)
    monkeypatch.setattr(coupled, "_solve_coupled", lambda *given: (None, nothing))
    report = dx.solve(problem.but(delta=0.0).but(**changes))
    assert report.status == "feasible"
    assert expected in report.route
    assert_private(report)
