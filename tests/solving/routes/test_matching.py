"""An adversary who loses what the user does: the largest error is that of the budget, found without a program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.solving.routes import coupled
from dxopt.solving.routes.matching_guesses import guess_of_each_report
from tests.material.checks import assert_private
from tests.material.few import few
from tests.material.instances import KINDS, problem_of
from tests.material.optima import optimum

ROUTE = "mixture within the budget"


def with_budget(plain: dx.Problem, share: float, guesses: Any, least: float) -> dx.Problem:
    blind = float(plain.costs.sum(axis=0).min())
    return plain.but(objective=dx.AdversaryError(least + share * (blind - least) + 1e-9, guesses))


@pytest.mark.parametrize("share", [1e-3, 0.3, 0.9])
@pytest.mark.parametrize("seed", few(range(4)))
@pytest.mark.parametrize("kind", KINDS)
def test_against_the_oracle(kind: str, seed: int, share: float) -> None:
    """With guesses in another order, some of them twice, at another price."""
    plain = problem_of(kind, seed)
    order = np.random.default_rng(seed).permutation(plain.shape[1])
    guesses = 2.5 * plain.losses[:, np.append(order, order[:1])]
    problem = with_budget(plain, share, guesses, dx.solve(plain).certificate.value)
    report = dx.solve(problem)
    assert report.certificate.gap <= 1e-6
    assert report.certificate.value == pytest.approx(optimum(problem), rel=1e-6, abs=1e-9)
    assert_private(report)


@pytest.mark.parametrize("changes", [{}, {"delta": 0.05}, {"epsilon": None}])
def test_no_program_is_solved(changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    space = dx.grid((4, 4))
    prior = dx.Prior.from_weights(space, 1 + (11 * np.arange(16)) % 7)
    problem = dx.Problem(space, epsilon=1.0, prior=prior, objective=dx.AdversaryError(1.4)).but(**changes)
    monkeypatch.setattr(coupled, "_solve_coupled", lambda *given: pytest.fail("a program is solved"))
    report = dx.solve(problem)
    assert report.route.startswith(ROUTE)
    assert report.status == "optimal"
    assert report.certificate.value == pytest.approx(1.4, rel=1e-11)
    assert dx.evaluate.expected_loss(report.mechanism, prior, "distance") <= 1.4


def test_saved_results_are_proven_again(tmp_path: Any) -> None:
    space = dx.grid((3, 3))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), objective=dx.AdversaryError(1.0))
    report = dx.solve(problem)
    again = dx.load(report.save(tmp_path / "result")).certificate
    assert replace(again, how=report.certificate.how) == report.certificate


def test_other_guesses_take_a_program() -> None:
    """A guess that is no report may be better than all of them; a report that is no guess may do more harm."""
    space = dx.grid((3, 3))
    plain = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space))
    distances = space.distances
    flat = np.full((9, 1), 0.5)
    for guesses in (np.hstack([distances, flat]), distances[:, 1:], distances + np.eye(9), distances**2):
        problem = plain.but(objective=dx.AdversaryError(1.0, guesses))
        assert guess_of_each_report(problem) is None
        report = dx.solve(problem)
        assert not report.route.startswith(ROUTE)
        assert report.certificate.value == pytest.approx(optimum(problem), abs=1e-7)


def test_secrets_that_never_occur_do_not_count() -> None:
    space = dx.line(4)
    prior = dx.Prior.from_weights(space, [1, 2, 1, 0])
    guesses = space.distances.copy()
    guesses[3] = 9.0
    problem = dx.Problem(space, epsilon=1.0, prior=prior, objective=dx.AdversaryError(0.48, guesses))
    report = dx.solve(problem)
    assert report.route.startswith(ROUTE)
    assert report.certificate.value == pytest.approx(optimum(problem), rel=1e-7)
