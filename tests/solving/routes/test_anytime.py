"""A solve that is stopped delivers what it showed, and nothing worse than mechanisms in closed form."""

from __future__ import annotations

import re

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.routes import limits
from tests.material.stopped import skewed, stop_after

FINE = 1e-4
"""The last master of a stopped solve is solved to this."""
SHOWN = re.compile(r"round \d+: (?:(\S+), )?bound (\S+?)(?:,|$)")


@pytest.fixture(scope="module")
def problem() -> dx.Problem:
    """Few busy places among many that are not."""
    rng = np.random.default_rng(3)
    space = dx.MetricSpace.from_points(rng.normal(size=(45, 2)) * rng.exponential(2.0, (45, 1)))
    prior = dx.Prior.from_weights(space, rng.pareto(0.8, 45) + 0.01)
    return dx.Problem(space, epsilon=1.4, prior=prior, loss="distance")


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every problem counts as a large one."""
    monkeypatch.setattr(limits, "CLOSED_FORM_FIRST", 0)


def simple(problem: dx.Problem) -> float:
    """The least loss of the planar Laplace and the exponential mechanism, each with its optimal remap."""
    values = []
    for method in ("planar_laplace", "exponential"):
        channel = dx.solve(problem, method=method).mechanism.matrix
        values.append(float((problem.costs.T @ channel).min(axis=0).sum()))
    return min(values)


def shown(lines: list[str]) -> list[tuple[float, float]]:
    """The values and bounds of the rounds; a value that is not shown is infinite."""
    found = [SHOWN.search(line) for line in lines if line.startswith("columns, round")]
    return [(float(one[1] or "inf"), float(one[2])) for one in found if one is not None]


@pytest.mark.parametrize("early", [True, False])
def test_a_stopped_solve_is_no_worse_than_closed_forms_nor_than_one_stopped_before(
    problem: dx.Problem, early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if early:
        monkeypatch.setattr(limits, "CLOSED_FORM_FIRST", 0)
    best = simple(problem)
    whole = stop_after(monkeypatch, 10**9)
    optimum = dx.solve(problem, method="optimal", solver="columns").certificate
    before = best * (1 + 1e-9)
    for moment in np.linspace(0, whole[0], 9).astype(int).tolist():
        stop_after(monkeypatch, moment)
        proof = dx.solve(problem, method="optimal", solver="columns").certificate
        assert proof.private
        assert proof.value <= before
        assert proof.bound <= optimum.value
        before = proof.value * (1 + FINE)


@pytest.mark.usefixtures("large")
def test_what_is_shown_is_delivered(problem: dx.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = stop_after(monkeypatch, 10**9)
    optimum = dx.solve(problem, method="optimal", solver="columns").certificate
    for moment in np.linspace(whole[0] // 5, whole[0], 6).astype(int).tolist():
        stop_after(monkeypatch, moment)
        lines: list[str] = []
        proof = dx.solve(problem, method="optimal", solver="columns", progress=lines.append).certificate
        values, bounds = (np.array(one) for one in zip(*shown(lines), strict=True))
        assert (np.diff(values) <= 0).all()
        assert proof.value <= values[-1] * (1 + FINE)
        assert (bounds <= optimum.value * (1 + 1e-7)).all()


def test_no_value_is_shown_of_a_mixture_that_is_no_channel(
    problem: dx.Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = stop_after(monkeypatch, 10**9)
    dx.solve(problem, method="optimal", solver="columns")
    for moment in np.linspace(whole[0] // 3, whole[0], 8).astype(int).tolist():
        stop_after(monkeypatch, moment)
        lines: list[str] = []
        value = dx.solve(problem, method="optimal", solver="columns", progress=lines.append).certificate.value
        assert all(value <= told * (1 + FINE) for told, _ in shown(lines))


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
