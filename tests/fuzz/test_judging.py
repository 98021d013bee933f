"""The judges catch faults that are planted in sound reports, and find nothing in the reports themselves."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Status
from tests.fuzz.judging import asked_of, bound_follows, cone_of, finds, own_gap
from tests.judges.beside import closed, counterexample
from tests.judges.claims import Asked, better_than, rational
from tests.judges.exact import violations

PRIOR = (3.0, 1.0, 4.0, 1.0)


def problem(**changes: Any) -> dx.Problem:
    space = dx.MetricSpace.from_points([[0.0, 0.0], [1.0, 0.2], [0.3, 1.1], [2.0, 2.0]])
    asked: dict[str, Any] = {"epsilon": 0.9, "prior": dx.Prior.from_weights(space, PRIOR), "loss": "distance"}
    return dx.Problem(space, **{**asked, **changes})


PROBLEMS = {
    "expected loss": problem(),
    "tiny losses": problem(loss=np.array([[0.0, 3, 5, 2], [1, 0, 2, 7], [4, 1, 0, 1], [3, 2, 2, 0]]) * 1e-20),
    "worst loss": problem(objective="worst_loss", loss="squared"),
    "adversary": problem(objective=dx.AdversaryError(0.6)),
    "adversary, free": problem(objective=dx.AdversaryError(0.4), epsilon=None),
    "delta": problem(delta=0.05),
    "delta, worst loss": problem(delta=0.01, objective="worst_loss"),
    "line": dx.Problem(dx.line(4), epsilon=0.9, prior=dx.Prior.from_weights(dx.line(4), PRIOR)),
    "product": dx.Problem(
        dx.product(dx.line(2), dx.line(2)), epsilon=0.9, prior=dx.Prior.uniform(dx.product(dx.line(2), dx.line(2)))
    ),
}


def kinds(report: dx.Report) -> set[str]:
    return {find.kind for find in finds(report)}


def claiming(report: dx.Report, **claims: float) -> dx.Report:
    """A report with other claims, its gap and status kept in step."""
    proof = replace(report.certificate, **claims)
    gap = abs(proof.value - proof.bound) / max(abs(proof.value), 1e-12)
    claimed = replace(report, certificate=replace(proof, gap=gap))
    return replace(claimed, status=Status.OPTIMAL if own_gap(claimed) <= 1e-6 else Status.FEASIBLE)


def with_matrix(report: dx.Report, matrix: np.ndarray) -> dx.Report:
    mechanism = dx.Mechanism.from_matrix(report.problem.space, matrix, report.problem.reports)
    return replace(report, mechanism=mechanism)


@pytest.mark.parametrize("name", PROBLEMS)
def test_sound_reports_have_no_finds(name: str) -> None:
    report = dx.solve(PROBLEMS[name])
    assert report.status == "optimal"
    assert list(finds(report)) == []
    assert bound_follows(report) or name == "product"


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_bound_beyond_the_optimum_is_false(name: str) -> None:
    """Also where the channel at hand is far from it, so that only another channel shows it."""
    asked = PROBLEMS[name]
    best = dx.solve(asked)
    sign = asked.objective.sign
    constant = np.zeros(asked.shape)
    constant[:, 0] = 1.0
    if math.isfinite(asked.objective.max_loss):
        constant = best.mechanism.matrix
    value = asked.objective.value(asked, constant)
    bound = best.certificate.value * (1 + sign * 1e-4)
    planted = claiming(with_matrix(best, constant), value=value, bound=bound, epsilon=best.certificate.epsilon)
    assert kinds(planted) == {"false bound"}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_value_that_is_not_attained_is_false(name: str) -> None:
    report = dx.solve(PROBLEMS[name])
    off = report.certificate.value * (1 + report.problem.objective.sign * 1e-12)
    assert "false value" in kinds(claiming(report, value=off))


def test_a_last_place_too_many_is_not_private() -> None:
    space = dx.MetricSpace.from_distances([[0.0, 0.4], [0.4, 0.0]])
    asked = dx.Problem(space, epsilon=1.3, prior=dx.Prior.uniform(space), loss="binary")
    most = 0.3 * math.exp(1.3 * 0.4)
    while violations(np.array([[most, 1 - most], [0.3, 0.7]]), space.distances, 1.3):
        most = float(np.nextafter(most, 0))
    while not violations(np.array([[np.nextafter(most, 1), 1 - most], [0.3, 0.7]]), space.distances, 1.3):
        most = float(np.nextafter(most, 1))
    report = dx.solve(asked)

    def planted(first: float) -> set[str]:
        matrix = np.array([[first, 1 - most], [0.3, 0.7]])
        value = asked.objective.value(asked, matrix)
        return kinds(claiming(with_matrix(report, matrix), value=value, epsilon=1.3))

    assert planted(most) == set()
    assert planted(float(np.nextafter(most, 1))) == {"not private"}


def test_an_excess_above_delta_is_not_private() -> None:
    report = dx.solve(PROBLEMS["delta"])
    assert kinds(claiming(report, delta=report.certificate.delta * 0.999999)) == {"not private"}


def test_the_level_claimed_is_judged_as_well() -> None:
    report = dx.solve(PROBLEMS["expected loss"])
    assert kinds(claiming(report, epsilon=report.certificate.epsilon * (1 - 1e-9))) == {"not private"}


def test_rows_and_entries() -> None:
    report = dx.solve(PROBLEMS["expected loss"])
    matrix = report.mechanism.matrix.copy()
    matrix[0] *= 1 + 1e-14
    assert "row sums" in kinds(with_matrix(report, matrix))


def test_a_loss_above_the_budget() -> None:
    report = dx.solve(PROBLEMS["adversary"])
    tighter = report.problem.but(objective=dx.AdversaryError(0.6 - 1e-9))
    assert "above budget" in kinds(replace(report, problem=tighter))


def test_what_rows_lack_of_one_is_no_false_bound() -> None:
    """A row that is short of 1 by a last place loses less than any channel does."""
    asked = Asked("expected_loss", np.ones(1), np.ones((1, 3)))
    channel = np.array([[0.25, 0.25, np.nextafter(0.5, 0)]])
    assert asked.exactly(rational(channel)) < 1
    assert not better_than(asked, channel, 1.0)
    assert better_than(asked, channel, 1.0 + 1e-15)


def test_gap_and_status() -> None:
    report = dx.solve(PROBLEMS["expected loss"])
    proof = report.certificate
    assert kinds(replace(report, certificate=replace(proof, gap=proof.gap / 2))) == {"false gap"}
    loose = claiming(report, bound=0.9 * proof.bound)
    assert kinds(replace(loose, status=Status.OPTIMAL)) == {"false status"}


def test_optimal_is_judged_in_units_of_the_losses() -> None:
    report = dx.solve(PROBLEMS["tiny losses"])
    loose = claiming(report, bound=0.5 * report.certificate.bound)
    assert loose.certificate.gap < 1e-6
    assert kinds(replace(loose, status=Status.OPTIMAL)) == {"false status"}


def test_multipliers_of_unbound_pairs_prove_nothing() -> None:
    space = dx.line(4)
    prior = dx.Prior.from_weights(space, [4, 1, 1, 4])
    asked = dx.Problem(space, epsilon=0.2, prior=prior, loss="distance", delta=0.05, pairs="adjacent")
    report = dx.solve(asked)
    assert list(finds(report)) == []
    everywhere = dx.solve(asked.but(pairs="all"))
    assert everywhere.certificate.bound > report.certificate.bound * 1.001
    planted = replace(report, dual=everywhere.dual)
    assert not bound_follows(claiming(planted, bound=everywhere.certificate.bound))


@pytest.mark.parametrize("name", PROBLEMS)
def test_counterexamples_are_private_exactly_and_true_bounds_have_none(name: str) -> None:
    asked = asked_of(PROBLEMS[name])
    cone = cone_of(PROBLEMS[name])
    best = dx.solve(PROBLEMS[name]).certificate
    assert counterexample(asked, cone, best.bound, abs(best.value)) is None
    found = counterexample(asked, cone, best.value * (1 + asked.sign * 1e-3), abs(best.value))
    assert found is not None
    assert all(sum(row) == 1 and min(row) >= 0 for row in found)


def test_a_matrix_is_brought_into_the_cone_exactly() -> None:
    asked = asked_of(PROBLEMS["expected loss"])
    cone = cone_of(PROBLEMS["expected loss"])
    found = closed(asked, cone, np.random.default_rng(3).random((4, 4)))
    rounded = np.array([[float(entry) for entry in row] for row in found])
    assert all(sum(row) == 1 for row in found)
    assert violations(rounded * (1 - 1e-15), cone.distances, cone.epsilon * (1 + 1e-13)) == []
    assert max(abs(Fraction(float(entry)) - one) for one, entry in zip(found[0], rounded[0], strict=True)) < 1e-15
