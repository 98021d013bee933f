"""Symmetry where more rows couple the columns than their sums: the same optimum, proven, from fewer columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.formulations.adversary_error import AdversaryErrorProgram
from dxopt.solving.formulations.expected_loss import WorstLossProgram
from dxopt.solving.programs.program import ChannelProgram
from dxopt.solving.reductions.symmetry import Orbits, by_symmetry, find_orbits, uncoupled
from tests.material.checks import assert_private
from tests.material.optima import optimum


def ring(size: int) -> dx.MetricSpace:
    steps = np.arange(size) - np.arange(size)[:, None]
    return dx.MetricSpace.from_distances(np.minimum(steps % size, -steps % size).astype(float))


SPACES = {
    "grid": dx.grid((3, 3)),
    "streets": dx.grid((2, 4), metric="manhattan"),
    "line": dx.line(6),
    "ring": ring(7),
    "complete": dx.MetricSpace.from_distances(1.0 - np.eye(5)),
    "one-way": dx.MetricSpace.from_distances((np.arange(5) - np.arange(5)[:, None]) % 5.0),
}


def mirrored(space: dx.MetricSpace) -> dx.Prior:
    """The same at both ends, and no other symmetry."""
    half = 1.0 + np.arange(len(space)) % 4
    return dx.Prior.from_weights(space, half + half[::-1])


def programs(space: dx.MetricSpace) -> dict[str, ChannelProgram]:
    plain = dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space))
    error = dx.AdversaryError(0.9 * float(plain.costs.sum(axis=0).min()), "binary")
    return {
        "worst loss": WorstLossProgram().apply(plain.but(objective="worst_loss")).smaller,
        "error": AdversaryErrorProgram().apply(plain.but(objective=error)).smaller,
    }


@pytest.mark.parametrize(("name", "reports"), [("grid", 3), ("streets", 2), ("line", 3), ("ring", 1), ("one-way", 1)])
@pytest.mark.parametrize("kind", ["worst loss", "error"])
def test_one_column_for_each_class_of_reports(kind: str, name: str, reports: int) -> None:
    program = programs(SPACES[name])[kind]
    reduced = by_symmetry(program)
    assert not isinstance(reduced, str)
    assert reduced.smaller.costs.shape[1] == reports
    assert reduced.smaller.offset == program.offset


def test_what_guesses_cost_may_break_a_symmetry() -> None:
    space = dx.line(6)
    plain = dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space))
    skewed = np.abs(np.arange(6.0)[:, None] - [0, 1, 4])
    for guesses, found in ((skewed, False), (np.hstack([skewed, skewed[::-1]]), True)):
        compiled = AdversaryErrorProgram().apply(plain.but(objective=dx.AdversaryError(1.0, guesses)))
        assert isinstance(find_orbits(compiled.smaller), Orbits) is found


def test_guesses_are_no_reports() -> None:
    """Even where they cost the same."""
    program = programs(SPACES["grid"])["error"]
    posed = uncoupled(program)
    assert not isinstance(posed, str)
    guesses = posed.costs.shape[1] - program.costs.shape[1]
    assert guesses == 9
    assert posed.costs[:, -guesses:].min() > posed.costs[:, :-guesses].max()


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("objective", ["worst_loss", "binary", "squared", "few guesses"])
@pytest.mark.parametrize("name", SPACES)
def test_the_optimum_of_columns(name: str, objective: str, symmetric: bool) -> None:
    space = SPACES[name]
    prior = dx.Prior.uniform(space) if symmetric else mirrored(space)
    plain = dx.Problem(space, epsilon=0.7, prior=prior)
    goal: Any = objective
    if objective != "worst_loss":
        least, blind = dx.solve(plain).certificate.value, float(plain.costs.sum(axis=0).min())
        ends = space.distances[:, [0, -1]]
        goal = dx.AdversaryError(least + 0.4 * (blind - least), ends if objective == "few guesses" else objective)
    problem = plain.but(objective=goal)
    report = dx.solve(problem, method="optimal", solver="columns", tolerance=1e-7)
    value = optimum(problem)
    assert report.certificate.value == pytest.approx(value, rel=1e-7)
    assert report.certificate.bound == pytest.approx(value, rel=1e-7)
    assert_private(report)
    if symmetric and objective != "few guesses" and "column" in report.route:
        assert "symmetry" in [one.name for one in report.reductions]


def test_merged_points_have_losses_of_their_own() -> None:
    """Two places at distance 0 share a row of the channel, not their losses."""
    places = np.array([0.0, 0.0, 1.0, 2.0, 2.0])
    space = dx.MetricSpace.from_distances(np.abs(places - places[:, None]))
    losses = np.random.default_rng(4).random((5, 5))
    for loss in (losses, losses + losses[::-1, ::-1]):
        problem = dx.Problem(space, epsilon=0.8, prior=None, loss=loss, objective="worst_loss")
        report = dx.solve(problem, solver="columns", tolerance=1e-7)
        assert report.certificate.value == pytest.approx(optimum(problem), abs=1e-7)
