"""Comparisons for other objectives, with δ, and without privacy."""

from __future__ import annotations

from pathlib import Path

import pytest

import dxopt as dx
from dxopt.proofs.certify import gap
from tests.material.checks import rows_of, town


@pytest.fixture
def problem() -> dx.Problem:
    return town()


def test_values_are_about_the_objective(problem: dx.Problem) -> None:
    comparison = dx.compare(problem.but(objective="worst_loss"), ["geometric", "exponential"])
    assert comparison.objective == "worst loss"
    assert "worst loss" in str(comparison).splitlines()[2]
    for row in comparison.rows:
        assert row.value is not None
        assert row.remapped is not None
        assert row.remapped_bound is not None
        assert row.remapped_bound <= row.remapped <= row.value
        assert row.remapped <= row.remapped_bound * (1 + 1e-7)
        assert comparison.bound is not None
        assert comparison.bound <= row.value
    geometric = dx.solve(problem, method="geometric").mechanism
    assert rows_of(comparison)["geometric"].value == pytest.approx(dx.evaluate.worst_loss(geometric, "distance"))
    assert (rows_of(comparison)["geometric"].gap or 0) > 0.01


def test_more_is_better_for_the_error_of_an_adversary(problem: dx.Problem) -> None:
    objective = dx.AdversaryError(0.65, "binary")
    comparison = dx.compare(problem.but(objective=objective, epsilon=2.0), ["exponential", "tight"])
    best, exponential, tight = comparison.rows
    assert comparison.objective == "adversary's error"
    assert exponential.value is None
    assert exponential.note.startswith("has an expected loss of ")
    assert exponential.note.endswith(", above the budget of 0.65")
    assert best.value is not None
    assert tight.value is not None
    assert comparison.bound is not None
    assert tight.value < best.value <= comparison.bound
    assert tight.gap == gap(tight.value, comparison.bound) > 0.01
    assert best.gap == pytest.approx(0.0, abs=1e-6)


def test_without_privacy_only_the_optimum_is_there(problem: dx.Problem) -> None:
    comparison = dx.compare(problem.but(objective=dx.AdversaryError(0.5), epsilon=None))
    assert comparison.epsilon is None
    assert str(comparison).splitlines()[0] == "town, no privacy asked for"
    best, *others = comparison.rows
    assert (best.private, best.epsilon) == (False, None)
    assert "not asked" in str(comparison).splitlines()[3]
    assert {row.value for row in others} == {None}
    assert all("needs an epsilon" in row.note or "no privacy is asked for" in row.note for row in others)


def test_delta_is_shown_and_used(problem: dx.Problem, tmp_path: Path) -> None:
    categories = dx.MetricSpace.from_points(["tea", "milk", "water"], "discrete")
    relaxed = dx.Problem(categories, epsilon=1.0, prior=None, loss="binary", objective="worst_loss", delta=0.2)
    comparison = dx.compare(relaxed, ["randomised_response", "exponential", "tight"])
    rows = rows_of(comparison)
    assert (comparison.delta, rows["randomised_response"].delta) == (0.2, pytest.approx(0.2, abs=1e-12))
    assert rows["randomised_response"].value == pytest.approx(rows["optimal"].value, abs=1e-8)
    assert (rows["exponential"].delta, rows["exponential"].private) == (0.0, True)
    assert "delta is positive" in rows["tight"].note
    assert comparison.verdict is None
    lines = str(comparison).splitlines()
    assert lines[0] == "problem, ε = 1, δ = 0.2"
    assert "proven, 1, δ 0.2" in lines[4]
    assert "δ" not in lines[5]
    assert dx.load(comparison.save(tmp_path / "relaxed")).comparison == comparison
