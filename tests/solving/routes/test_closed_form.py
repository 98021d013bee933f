"""Constant reports by group, mechanisms by name above a budget, and what is left until a solve stops."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Stop
from dxopt.solving.routes.closed_form import ClosedForms, constant_by_group
from dxopt.solving.solvers.columns import stop_seconds
from tests.material.stopped import stop_after

INF = np.inf


@pytest.mark.parametrize("objective", ["expected_loss", "worst_loss"])
def test_without_finite_distances_each_secret_has_its_best_report(objective: str) -> None:
    """Losses over 20 decades: 0.05 was found where 6e-8 is possible."""
    space = dx.MetricSpace.from_distances(np.where(np.eye(4) > 0, 0.0, INF))
    for seed in range(8):
        losses = 10.0 ** np.random.default_rng(seed).uniform(-20, 1, size=(4, 5))
        prior = dx.Prior.from_weights(space, [1, 2, 3, 4])
        report = dx.solve(dx.Problem(space, epsilon=1.0, prior=prior, loss=losses, objective=objective))
        least = losses.min(axis=1)
        best = prior.probabilities @ least if objective == "expected_loss" else least.max()
        assert report.status == "optimal"
        assert report.certificate.value == pytest.approx(best, rel=1e-6)


def test_groups_are_joined_by_finite_distances_one_way_too() -> None:
    distances = np.full((4, 4), INF)
    np.fill_diagonal(distances, 0.0)
    distances[1, 0] = 2.0
    space = dx.MetricSpace.from_distances(distances)
    losses = np.array([[0.0, 3, 2], [9, 0, 1], [5, 4, 0], [0, 1, 1]])
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss=losses)
    assert constant_by_group(problem).argmax(axis=1).tolist() == [1, 1, 2, 0]
    assert constant_by_group(problem.but(objective="worst_loss")).argmax(axis=1).tolist() == [2, 2, 2, 0]


def test_the_tight_mechanism_above_a_budget_is_refused_with_its_loss() -> None:
    space = dx.line(4)
    objective = dx.AdversaryError(0.5, "distance")
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), objective=objective)
    with pytest.raises(dx.UnsupportedError, match=r"^method: "):
        dx.solve(problem, method="tight")
    roomy = problem.but(objective=dx.AdversaryError(2.0, "distance"))
    assert dx.solve(roomy, method="tight").certificate.private


def test_a_budget_just_below_the_least_loss_is_refused_with_digits_that_differ() -> None:
    space = dx.line(2)
    losses = np.array([[1 + 1e-10, 1 + 2e-10], [1 + 3e-10, 1 + 2e-10]])
    problem = dx.Problem(
        space, epsilon=0.1, prior=dx.Prior.uniform(space), loss=losses, objective=dx.AdversaryError(1.0, "binary")
    )
    with pytest.raises(dx.SpecError, match=r"^max_loss: "):
        dx.solve(problem)


def test_what_is_left_for_a_stop_takes_no_longer_than_that_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted by the time that each is said to take; none of them is made here."""
    monkeypatch.setattr(ClosedForms, "_make", lambda simple, form: simple._left.remove(form))
    for size in (9, 18, 30):
        space = dx.grid((size, size))
        simple = ClosedForms(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space)))
        simple.make_ahead(Stop())
        assert sum(form.seconds for form in simple._forms()) <= stop_seconds(size**2, size**2) <= 0.7


def crossings(secrets: int, reports: int) -> dx.Problem:
    """Few reports for many places, with a loss that knows no distances between them."""
    rng = np.random.default_rng(reports)
    places, others = rng.random((secrets, 2)) * 6, rng.random((reports, 2)) * 6
    task = rng.random(2)
    ways = [np.hypot(*(one - task).T) for one in (places, others)]
    losses = np.abs(ways[0][:, None] - ways[1])
    space = dx.MetricSpace.from_points(places)
    return dx.Problem(space, epsilon=2.0, prior="uniform", loss=losses)


@pytest.mark.parametrize(("secrets", "reports"), [(40, 3), (40, 40), (25, 90)])
@pytest.mark.parametrize("objective", ["expected_loss", "worst_loss"])
def test_with_other_reports_a_stop_is_no_worse_than_mechanisms_on_the_secrets_with_a_remap(
    secrets: int, reports: int, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = crossings(secrets, reports).but(objective=objective)
    channels = [make(problem.space, epsilon=2.0).matrix for make in (dx.classic.exponential, dx.tight_constraints)]
    reached = [
        problem.objective.value(problem, one @ np.eye(reports)[(problem.costs.T @ one).argmin(0)]) for one in channels
    ]
    stop_after(monkeypatch, 3)
    report = dx.solve(problem, method="optimal", solver="columns" if objective == "expected_loss" else "auto")
    assert report.certificate.private
    assert report.certificate.value <= min(reached) * (1 + 1e-9)


def test_a_program_that_is_too_large_gives_a_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dxopt.solving.routes.linear.COLUMNS_LIMIT", 1000)
    problem = crossings(40, 30)
    report = dx.solve(problem)
    assert report.status == "feasible"
    assert report.certificate.private
    assert "optimal" in report.refused
    constant = problem.objective.value(problem, constant_by_group(problem))
    assert report.certificate.value < 0.7 * constant


def test_ctrl_c_leaves_the_mechanism_that_is_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here it comes within each that takes long, and each that comes after it is left."""
    made: list[str] = []

    def interrupted(simple: ClosedForms, form: Any) -> None:
        made.append(form.name)
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it went on")

    monkeypatch.setattr(ClosedForms, "_make", interrupted)
    with Stop(quiet=True) as stop:
        ClosedForms(crossings(40, 3)).make_ahead(stop)
        assert stop.interrupted
    assert len(made) == 1
