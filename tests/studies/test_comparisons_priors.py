"""Comparisons under other priors that may be the true one."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from tests.material.checks import rows_of, town

GRID = "name: town\nspace: {kind: grid, shape: [3, 3]}\nepsilon: 0.9\n"


def call(*arguments: str | Path):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def problem() -> dx.Problem:
    return town()


def test_other_priors_that_may_be_the_true_one(problem: dx.Problem, tmp_path: Path) -> None:
    """Cha13: the optimum for the right prior and the one for a uniform prior, each under both."""
    space = problem.space
    uniform = dx.Prior.uniform(problem.space)
    corner = dx.Prior.from_weights(space, [50, *[1] * 8])
    comparison = dx.compare(problem, ["exponential"], priors={"uniform": uniform, "corner": corner})
    rows = rows_of(comparison)
    assert list(rows) == ["optimal", "exponential", "optimal for uniform", "optimal for corner"]
    made = {"optimal": problem, "optimal for uniform": problem.but(prior=uniform)}
    made["optimal for corner"] = problem.but(prior=corner)
    mechanisms = {name: dx.solve(asked).mechanism for name, asked in made.items()}
    mechanisms["exponential"] = dx.classic.exponential(space, epsilon=0.9)
    for name, row in rows.items():
        assert row.private
        worth = [dx.evaluate.expected_loss(mechanisms[name], p, "distance") for p in (problem.prior, uniform, corner)]
        assert [row.value, row.under["uniform"], row.under["corner"]] == pytest.approx(worth, abs=1e-4)
    for name in ("uniform", "corner"):
        best = dx.solve(problem.but(prior=made[f"optimal for {name}"].prior)).certificate
        assert comparison.bounds[name] == pytest.approx(best.value, abs=1e-5)
        for row in rows.values():
            under = row.under[name]
            assert under is not None
            assert comparison.bounds[name] <= under
    assert (rows["optimal"].under["corner"] or 0) > comparison.bounds["corner"] * 1.01
    assert (rows["optimal for corner"].excess or 0) > 0.01
    lines = str(comparison).splitlines()
    assert any(line.startswith("mechanism") and "under uniform" in line and "under corner" in line for line in lines)
    assert any(line.startswith("bound ") and f"{comparison.bounds['corner']:.7f}" in line for line in lines)
    again = dx.load(comparison.save(tmp_path / "town")).comparison
    assert again == comparison


def test_priors_that_cannot_be_compared(problem: dx.Problem) -> None:
    with pytest.raises(dx.SpecError, match="priors: do not matter for the worst loss"):
        dx.compare(problem.but(objective="worst_loss"), [], priors={"uniform": problem.prior})
    short = "priors: short: the prior has 2 entries for 9 points; give one probability per point"
    with pytest.raises(dx.SpecError, match=short):
        dx.compare(problem, [], priors={"short": dx.Prior.uniform(dx.line(2))})


def test_the_error_of_an_adversary_under_another_prior(problem: dx.Problem) -> None:
    asked = problem.but(objective=dx.AdversaryError(1.2), epsilon=1.0)
    uniform = dx.Prior.uniform(problem.space)
    comparison = dx.compare(asked, [], priors={"uniform": uniform})
    first, second = comparison.rows
    assert (second.value or 0) <= (first.value or 0)
    assert (first.under["uniform"] or 9) <= comparison.bounds["uniform"]


def test_a_budget_that_is_too_small_for_another_prior_is_a_row(problem: dx.Problem) -> None:
    asked = problem.but(prior=dx.Prior.from_weights(problem.space, [92, *[1] * 8]), objective=dx.AdversaryError(0.3))
    comparison = dx.compare(asked, [], priors={"uniform": dx.Prior.uniform(problem.space)})
    first, second = comparison.rows
    assert first.value is not None
    assert (second.name, second.value, comparison.bounds) == ("optimal for uniform", None, {})
    assert second.note.startswith("the budget is 0.3, below ")


def test_other_priors_of_a_file_are_compared(tmp_path: Path) -> None:
    priors = "priors: {flat: uniform, corner: {kind: corner, point: {index: 4}}}\n"
    (tmp_path / "town.yaml").write_text(GRID.replace("0.9", "[0.5, 0.9]") + priors, encoding="utf-8")
    done = call("solve", tmp_path / "town.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "under corner" in done.stdout
    report = dx.load(tmp_path / "out" / "town-epsilon=0.9")
    assert report.comparison is not None
    rows = rows_of(report.comparison)
    assert list(rows) == ["optimal", "optimal for flat", "optimal for corner"]
    corner = dx.regularity.corner_prior(dx.grid((3, 3)), 0.9, index=4)
    worth = dx.evaluate.expected_loss(report.mechanism, corner, "distance")
    assert rows["optimal"].under["corner"] == pytest.approx(worth, abs=1e-12)
    (tmp_path / "town.yaml").write_text(GRID + "method: exponential\n" + priors, encoding="utf-8")
    assert call("solve", tmp_path / "town.yaml", "-o", tmp_path / "out").exit_code == 0
    comparison = dx.load(tmp_path / "out" / "town").comparison
    assert comparison is not None
    assert [row.name for row in comparison.rows][:2] == ["optimal", "exponential"]
