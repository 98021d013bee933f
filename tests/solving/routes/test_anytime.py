"""A solve that is stopped delivers what it showed, and nothing worse than mechanisms in closed form."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.routes import limits, linear, running
from dxopt.solving.routes.closed_form import MIXTURE, ClosedForms
from tests.material.crowds import KINDS, crowd_problem
from tests.material.stopped import skewed, stop_after

FINE = 1e-4
"""The last master of a stopped solve is solved to this."""
SHOWN = re.compile(r"round \d+: (?:([-.e\d]+)(?:, |$))?(?:bound ([-.e\d]+))?")


@pytest.fixture(scope="module")
def problem() -> dx.Problem:
    """Few busy places among many that are not."""
    rng = np.random.default_rng(3)
    space = dx.MetricSpace.from_points(rng.normal(size=(45, 2)) * rng.exponential(2.0, (45, 1)))
    prior = dx.Prior.from_weights(space, rng.pareto(0.8, 45) + 0.01)
    return dx.Problem(space, epsilon=1.4, prior=prior, loss="distance")


def simple(problem: dx.Problem) -> float:
    """The least loss of the planar Laplace and the exponential mechanism, each with its optimal remap."""
    values = []
    for method in ("planar_laplace", "exponential"):
        channel = dx.solve(problem, method=method).mechanism.matrix
        values.append(float((problem.costs.T @ channel).min(axis=0).sum()))
    return min(values)


def shown(lines: list[str]) -> list[tuple[float, float]]:
    """The values and bounds of the rounds, infinite where they are not shown."""
    found = [SHOWN.search(line) for line in lines if line.startswith("column generation, round")]
    return [(float(one[1] or "inf"), float(one[2] or "-inf")) for one in found if one is not None]


def test_a_stopped_solve_is_no_worse_than_closed_forms_nor_than_one_stopped_before(
    problem: dx.Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = simple(problem)
    whole = stop_after(monkeypatch, 10**9)
    optimum = dx.solve(problem, method="optimal", solver="columns").certificate
    before = best * (1 + 1e-9)
    for moment in np.linspace(0, whole[0], 6).astype(int).tolist():
        stop_after(monkeypatch, moment)
        proof = dx.solve(problem, method="optimal", solver="columns").certificate
        assert proof.private
        assert proof.value <= before
        assert proof.bound <= optimum.value
        before = proof.value * (1 + FINE)


def test_a_stopped_solve_names_the_mechanism_that_it_delivers(
    problem: dx.Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no round has found anything better, that is one in closed form, whatever solver held it."""
    best = ClosedForms(problem).best(1.0)
    routes = []
    for moment in range(2, 16, 2):
        stop_after(monkeypatch, moment)
        report = dx.solve(problem, method="optimal", solver="columns")
        alike = np.abs(report.mechanism.matrix - best.channel).max() < 1e-9
        assert report.mechanism.name == (best.name if alike else "column generation, columns")
        routes.append(report.route)
    assert f"{best.name}; bound by column generation, columns" in routes
    assert "column generation, columns" in routes


@pytest.mark.parametrize("enough", [True, False])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "doubled"])
def test_where_time_is_short_kernels_are_mixed(kind: str, enough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is from fewer rows or all of them, until they are stopped; it and the optimum are on either side."""
    problem = crowd_problem(kind, 60, 1.0)
    best = dx.solve(problem, solver="highs", tolerance=1e-7).value
    monkeypatch.setattr(limits, "GENERAL_TO", 0)
    monkeypatch.setattr(limits, "COLUMNS_FROM", 1)
    if not enough:
        monkeypatch.setattr(running, "rows_in_reach", lambda points, *_, **__: 3 * points // 4)
    found = []
    for mixed in (False, True):
        monkeypatch.setattr(linear, "is_mixture_in_time", lambda *_, to=mixed: to)
        lines: list[str] = []
        found.append(dx.solve(problem, method="optimal", tolerance=1e-6, progress=lines.append))
        assert ("column generation, mixing kernels" in lines) == mixed
    for report in found:
        assert report.bound <= best * (1 + 1e-6) <= report.value * (1 + 2e-6)
        assert report.certificate.private
    if not enough:
        better = kind in ("crowd", "few reports")
        assert found[1].value <= found[0].value * (0.999 if better else 1 + 1e-9)
        assert not better or found[1].route.startswith(MIXTURE)


def test_what_is_shown_is_delivered(problem: dx.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = stop_after(monkeypatch, 10**9)
    optimum = dx.solve(problem, method="optimal", solver="columns").certificate
    for moment in np.linspace(0, whole[0], 6).astype(int).tolist():
        stop_after(monkeypatch, moment)
        lines: list[str] = []
        proof = dx.solve(problem, method="optimal", solver="columns", progress=lines.append).certificate
        values, bounds = (np.array(one) for one in zip(*shown(lines), strict=True))
        assert not (values[1:] > values[:-1]).any()
        assert proof.value == pytest.approx(values[-1], rel=1e-6)
        assert proof.bound == pytest.approx(max(bounds[-1], 0.0), rel=1e-6, abs=1e-9)
        assert (bounds <= optimum.value * (1 + 1e-7)).all()
        useful = f", bound {proof.bound:.8g}, gap {proof.gap:.1e}" if proof.bound else ""
        assert lines[-1] == f"proven: {proof.value:.8g}{useful}"


@pytest.mark.parametrize(
    "options", [{"spanner": 1.5}, {"solver": "clarabel"}, {"solver": "highs"}, {"solver": "columns"}, {}]
)
@pytest.mark.parametrize("questions", [0, 3])
def test_every_route_that_is_stopped_is_no_worse_than_closed_forms(
    problem: dx.Problem, options: dict[str, Any], questions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = simple(problem)
    stop_after(monkeypatch, questions)
    report = dx.solve(problem, method="optimal", **options)
    assert report.status in ("interrupted", "optimal")
    assert report.certificate.private
    assert report.certificate.value <= best * (1 + 1e-9)


@pytest.mark.parametrize("objective", ["worst_loss", "adversary_error"])
def test_other_objectives_that_are_stopped_are_no_worse_than_closed_forms(
    problem: dx.Problem, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An adversary's error is the larger the better, within the budget that planar Laplace noise just keeps to."""
    noise = dx.solve(problem, method="planar_laplace").mechanism
    if objective == "worst_loss":
        posed = problem.but(objective="worst_loss")
    else:
        budget = 1.001 * dx.evaluate.expected_loss(noise, problem.prior, "distance")
        posed = problem.but(objective=dx.AdversaryError(budget, "distance"))
    attained = posed.objective.value(posed, noise.matrix)
    stop_after(monkeypatch, 0)
    proof = dx.solve(posed, method="optimal").certificate
    sign = posed.objective.sign
    assert sign * proof.value <= sign * attained + 1e-9


def test_values_of_parts_add_up() -> None:
    near = np.random.default_rng(4).random((12, 2)) * 4
    space = dx.MetricSpace.from_points(np.concatenate([near, near + 90]))
    lines: list[str] = []
    problem = dx.Problem(space, epsilon=0.7, prior=skewed(space))
    proof = dx.solve(problem, solver="columns", progress=lines.append).certificate
    values, bounds = (np.array(one) for one in zip(*shown(lines), strict=True))
    assert values[-1] == pytest.approx(proof.value, rel=1e-6)
    assert bounds[-1] == pytest.approx(proof.bound, rel=1e-6)
    assert values.min() >= proof.value * (1 - 1e-7)
