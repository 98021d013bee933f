"""What counts as optimal: a gap within the tolerance, in units of the losses too; and bounds that need no dual."""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dxopt as dx
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.candidate import Candidate
from dxopt.proofs.certify import certify, is_optimal
from dxopt.proofs.duals import Dual, WorstDual
from dxopt.runtime.stopping import Status
from dxopt.verify import Outcome, verify

LOSSES = np.array([[0.0, 3, 5, 2], [1, 0, 2, 7], [4, 1, 0, 1], [3, 2, 2, 0]])


def problem(size: float, objective: str | dx.AdversaryError = "expected_loss") -> dx.Problem:
    space = dx.grid((2, 2))
    prior = dx.Prior.from_weights(space, [3, 1, 4, 0])
    return dx.Problem(space, epsilon=0.9, prior=prior, loss=LOSSES * size, objective=objective)


@pytest.mark.parametrize("size", [1.0, 1e-13, 1e-30, 1e-200])
def test_the_status_does_not_depend_on_the_unit_of_the_losses(size: float, tmp_path: Path) -> None:
    """At f03ae2f any private channel was optimal where losses were small."""
    best = dx.solve(problem(size))
    assert best.status == "optimal"
    assert best.certificate.bound == pytest.approx(best.certificate.value, rel=1e-6)
    other = dx.solve(problem(size), method="exponential")
    assert other.certificate.value > 1.1 * best.certificate.value
    assert other.status == "feasible"
    for report in (best, other):
        folder = report.save(tmp_path / report.status)
        assert dx.load(folder).status == report.status
        assert verify(folder).outcome is Outcome.HOLDS


def test_a_status_that_does_not_fit_is_not_loaded(tmp_path: Path) -> None:
    report = dx.solve(problem(1e-30), method="exponential")
    folder = replace(report, status=Status.OPTIMAL).save(tmp_path / "out")
    assert {check.name for check in verify(folder).checks if check.status is Outcome.FAILS} == {"gap"}
    with pytest.raises(dx.CertificateError, match="status"):
        dx.load(folder)


@pytest.mark.parametrize(
    ("value", "bound", "size", "optimal"),
    [
        (1.0, 1.0 - 1e-7, 1.0, True),
        (1.0, 1.0 - 1e-5, 1.0, False),
        (1e-15, 1e-15 - 1e-19, 1.0, True),
        (1e-15, 1e-15 - 1e-19, 1e-6, False),
        (1e-15, 1e-15 - 1e-22, 1e-30, True),
        (0.0, 0.0, 1e-300, True),
        (0.0, -1e-19, 1e6, True),
    ],
)
def test_optimal_is_by_the_larger_of_the_value_and_the_losses(
    value: float, bound: float, size: float, optimal: bool
) -> None:
    asked = problem(size / LOSSES.max())
    mechanism = dx.solve(problem(1.0)).mechanism
    assert is_optimal(asked, mechanism, value, bound, 1e-6) is optimal


def test_what_counts_is_what_the_objective_looks_at() -> None:
    """Large losses of secrets of prior 0 count under the worst loss alone; for an adversary's error, his do."""
    mechanism = dx.solve(problem(1.0)).mechanism
    losses = LOSSES * 1e-30
    losses[3] = 1.0
    expected = problem(1.0).but(loss=losses)
    assert not is_optimal(expected, mechanism, 1e-15, 1e-15 - 1e-19, 1e-6)
    assert is_optimal(expected.but(objective="worst_loss"), mechanism, 1e-15, 1e-15 - 1e-19, 1e-6)
    adversary = dx.AdversaryError(1.0, LOSSES * 1e-30)
    assert not is_optimal(problem(1.0, adversary), mechanism, 1e-15, 1e-15 + 1e-19, 1e-6)


@pytest.mark.parametrize("objective", ["expected_loss", "worst_loss"])
def test_a_bound_below_what_needs_no_dual_is_not_kept(objective: str) -> None:
    """Of losses of 0 or more none is below 0, whatever poor multipliers prove."""
    asked = problem(1.0, objective)
    poor = Dual(np.zeros(4), np.array([0, 1]), np.array([0, 1]), np.array([1, 2]), np.array([9.0, 9.0]))
    candidate = Candidate(np.full((4, 4), 0.25), WorstDual(np.ones(4), poor) if objective == "worst_loss" else poor)
    proven = certify(asked, candidate)
    assert proven_bound(asked, candidate.dual)[0] < -1
    assert proven.dual is None
    assert proven.certificate.bound == proven_bound(asked, None)[0]
    assert proven.certificate.bound == pytest.approx(0, abs=1e-12)


def test_what_overflows_proves_nothing() -> None:
    """The multipliers overflow; the bound was NaN."""
    space = dx.line(2)
    prior = dx.Prior.from_weights(space, [0.8818835117021734, 0.4595224966722392])
    loss = [[0.0, 1e-300, 0.0, 0.0, 0.0, 1e300, 1e300], [1e-300, 0.0, 0.0, 1e300, 1e-300, 0.0, 0.0]]
    proof = dx.solve(dx.Problem(space, epsilon=2.75822640365236e-07, prior=prior, loss=loss)).certificate
    assert proof.bound == proof.value == 0.0
    assert type(proof.bound) is float


def test_the_least_level_is_verified_with_the_smallest_distance(tmp_path: Path) -> None:
    space = dx.MetricSpace.from_distances([[0.0, 0.0, 1.0], [5e-324, 0.0, 1.0], [1.0, 1.0, 0.0]])
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert verify(report.save(tmp_path / "out")).outcome is Outcome.HOLDS


def test_a_bound_holds_where_prior_times_loss_underflows() -> None:
    """The adversary errs by 6e-426; the bound was 0."""
    space = dx.MetricSpace.from_distances([[0.0, 1e-300], [1e-300, 0.0]])
    prior = dx.Prior.from_weights(space, [6e-126, 1.0])
    adversary = dx.AdversaryError(0.0, "distance")
    asked = dx.Problem(space, epsilon=0.3, prior=prior, loss="squared", objective=adversary)
    report = dx.solve(asked)
    matrix = report.mechanism.matrix
    masses = prior.probabilities.tolist()
    exactly = [
        min(
            sum(Fraction(p) * Fraction(k) * Fraction(d) for p, k, d in zip(masses, column, costs, strict=True))
            for costs in space.distances.T.tolist()
        )
        for column in matrix.T.tolist()
    ]
    assert 0 < sum(exactly) <= Fraction(report.certificate.bound)


def test_a_bound_passes_no_value_by_rounding() -> None:
    """Rows of the one report sum to 1 up to rounding, and so cost a little less than 1/2."""
    space = dx.MetricSpace.from_distances([[0.0, 1.0], [2.9, 0.0]])
    prior = dx.Prior.uniform(space)
    problem = dx.Problem(space, epsilon=0.04088768409158472, prior=prior, loss=[[0.0], [1.0]], delta=1e-18)
    proof = dx.solve(problem).certificate
    assert proof.bound <= proof.value == pytest.approx(0.5, abs=1e-14)
