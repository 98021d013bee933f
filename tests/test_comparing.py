"""Mechanisms side by side: the same figures as each alone, one bound on all, and a reason for each missing one."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from checks import weights
from rich.console import Console
from typer.testing import CliRunner

import dxopt as dx
from dxopt.certify import gap
from dxopt.classic.contract import BASELINES
from dxopt.cli import app
from dxopt.inference import rate_distortion
from dxopt.program import Status
from dxopt.report.comparison import Compared
from dxopt.routes import COMPARABLE

GRID = "name: town\nspace: {kind: grid, shape: [3, 3]}\nepsilon: 0.9\n"


def rows_of(comparison: dx.Comparison) -> dict[str, Compared]:
    return {row.name: row for row in comparison.rows}


def call(*arguments: str | Path):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def problem() -> dx.Problem:
    space = dx.grid((3, 3))
    return dx.Problem(space, epsilon=0.9, prior=weights(space), loss="distance", name="town")


@pytest.mark.parametrize("loss", ["distance", "binary"])
def test_figures_are_those_of_each_mechanism_alone(problem: dx.Problem, loss: str) -> None:
    problem = dx.Problem(problem.space, epsilon=0.9, prior=problem.prior, loss=loss)
    comparison = dx.compare(problem)
    assert [row.name for row in comparison.rows] == list(COMPARABLE)
    assert not comparison.interrupted
    best = dx.solve(problem)
    assert comparison.bound is not None
    assert comparison.bound == pytest.approx(best.certificate.value, abs=1e-5)
    for row in comparison.rows:
        if row.name in BASELINES:
            continue
        if row.name == "staircase":
            assert row.note == "staircase needs one number for each secret"
            continue
        report = dx.solve(problem, method="auto" if row.name == "optimal" else row.name)
        assert row.value == pytest.approx(report.certificate.value, abs=1e-7)
        assert row.private is True
        assert row.epsilon == pytest.approx(report.certificate.epsilon, rel=1e-6)
        table = dx.evaluate.optimal_remap(report.mechanism, problem.prior, problem.loss)
        remapped = report.mechanism.remap(table)
        loss_then = dx.evaluate.expected_loss(remapped, problem.prior, problem.loss)
        assert row.remapped == pytest.approx(loss_then, abs=1e-7)
        leakage = dx.evaluate.min_entropy_leakage(report.mechanism, problem.prior)
        assert row.leakage == pytest.approx(leakage, abs=1e-5)
        assert row.value is not None
        assert row.remapped is not None
        assert comparison.bound <= row.value
        assert row.gap == gap(row.value, comparison.bound)
        assert row.excess == pytest.approx(row.value / best.certificate.value - 1, abs=1e-5)
        assert row.remapped_excess == pytest.approx(row.remapped / best.certificate.value - 1, abs=1e-5)


def test_baselines_are_measured_not_promised(problem: dx.Problem) -> None:
    rows = rows_of(dx.compare(problem, ["cloaking", "rate_distortion"]))
    cloaking, channel = rows["cloaking"], rows["rate_distortion"]
    assert (cloaking.baseline, cloaking.private, cloaking.epsilon) == (True, False, None)
    assert "not private" in cloaking.note
    assert (channel.baseline, channel.private, channel.note) == (True, True, "")
    assert channel.epsilon is not None
    assert 0.5 < channel.epsilon <= 0.9
    found = rate_distortion(problem.space, problem.prior, slope=0.45)
    assert channel.value == pytest.approx(found.loss, abs=1e-7)
    squared = rows_of(dx.compare(problem.but(loss=dx.Loss.of("squared", problem.space)), ["rate_distortion"]))
    assert squared["rate_distortion"].private is False
    assert (squared["rate_distortion"].epsilon or 0) > 0.9
    text = str(dx.compare(problem, ["cloaking"]))
    assert "no, infinite" in text
    assert "cloaking: a baseline, not private at this level" in text
    bounded = problem.but(objective=dx.AdversaryError(0.8), epsilon=1.0)
    assert "over its budget 0.8" in rows_of(dx.compare(bounded, ["rate_distortion"]))["rate_distortion"].note


def test_other_priors_that_may_be_the_true_one(problem: dx.Problem) -> None:
    """Cha13: the optimum for the right prior and the one for a uniform prior, each under both."""
    space, uniform = problem.space, dx.Prior.uniform(problem.space)
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
    assert dx.Comparison.read(json.loads(json.dumps(asdict(comparison)))) == comparison


def test_priors_that_cannot_be_compared(problem: dx.Problem) -> None:
    with pytest.raises(dx.SpecError, match="priors: do not matter for the worst loss"):
        dx.compare(problem.but(objective="worst_loss"), [], priors={"uniform": problem.prior})
    with pytest.raises(dx.SpecError, match="priors: short: the prior has 2 entries for 9 points; match them"):
        dx.compare(problem, [], priors={"short": dx.Prior.uniform(dx.line(2))})
    nowhere = np.where(np.arange(9)[:, None] == 8, np.inf, problem.losses)
    certain = problem.but(prior=dx.Prior.from_weights(problem.space, [1] * 8 + [0]), loss=nowhere)
    with pytest.raises(dx.SpecError, match="priors: all: the loss is infinite for secret"):
        dx.compare(certain, [], priors={"all": problem.prior})


def test_the_error_of_an_adversary_under_another_prior(problem: dx.Problem) -> None:
    asked = problem.but(objective=dx.AdversaryError(1.2), epsilon=1.0)
    uniform = dx.Prior.uniform(problem.space)
    comparison = dx.compare(asked, [], priors={"uniform": uniform})
    first, second = comparison.rows
    assert (second.value or 0) <= (first.value or 0)
    assert (first.under["uniform"] or 9) <= comparison.bounds["uniform"]


def test_the_tight_mechanism_within_and_outside_its_region(problem: dx.Problem) -> None:
    space = problem.space
    inside, outside = dx.Prior.uniform(space), dx.Prior.from_weights(space, [90.0, *[1.0] * 8])
    regular = dx.compare(dx.Problem(space, epsilon=0.9, prior=inside, loss="binary"), ["tight"])
    assert (regular.verdict or "").startswith("regular: ")
    assert rows_of(regular)["tight"].gap == pytest.approx(0.0, abs=1e-9)
    irregular = dx.compare(dx.Problem(space, epsilon=0.9, prior=outside, loss="binary"), ["tight"])
    assert (irregular.verdict or "").startswith("not regular: ")
    assert (rows_of(irregular)["tight"].gap or 0) > 0.01
    assert "the prior is not regular" in str(irregular)
    assert dx.compare(problem, []).verdict is None


def test_what_does_not_exist_is_a_row_with_the_reason() -> None:
    space = dx.MetricSpace.from_distances([[0, 1, 2], [2, 0, 1], [1, 2, 0]], close=True, labels="abc")
    problem = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space), loss="binary")
    rows = rows_of(dx.compare(problem, ["tight", "geometric", "planar_laplace", "exponential"]))
    assert (rows["tight"].value, rows["tight"].private) == (None, False)
    assert "symmetric" in rows["tight"].note
    assert "needs numbers" in rows["geometric"].note
    assert "needs a grid" in rows["planar_laplace"].note
    assert rows["exponential"].value is not None
    space = dx.grid((4, 4))
    none = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space), loss="binary")
    assert "no tight-constraints mechanism exists" in rows_of(dx.compare(none, ["tight"]))["tight"].note


def test_an_unknown_name_is_told_the_known_ones(problem: dx.Problem) -> None:
    with pytest.raises(dx.SpecError) as caught:
        dx.compare(problem, ["tight", "laplas"])
    assert "'laplas'" in str(caught.value)
    for name in COMPARABLE:
        assert name in str(caught.value)


def test_bad_options_are_errors_not_rows(problem: dx.Problem) -> None:
    with pytest.raises(dx.SpecError, match="no 'cray'"):
        dx.compare(problem, [], solver="cray")


def test_a_name_is_compared_once(problem: dx.Problem) -> None:
    names = [row.name for row in dx.compare(problem, ["geometric", "optimal", "geometric"]).rows]
    assert names == ["optimal", "geometric"]


def test_a_reference_is_taken_as_it_is(problem: dx.Problem) -> None:
    reference = dx.solve(problem, tolerance=0.5)
    comparison = dx.compare(problem, ["exponential"], reference=reference)
    assert comparison.bound == reference.certificate.bound
    assert comparison.rows[0].value == reference.certificate.value


def test_nothing_is_started_after_an_interrupt(problem: dx.Problem) -> None:
    reference = replace(dx.solve(problem), status=Status.INTERRUPTED)
    comparison = dx.compare(problem, ["exponential", "tight"], reference=reference)
    assert comparison.interrupted
    assert comparison.rows[0].value == reference.certificate.value
    assert {row.note for row in comparison.rows[1:]} == {"not started, as the run was interrupted"}


def test_the_others_are_compared_when_time_is_up() -> None:
    space = dx.grid((10, 10))
    problem = dx.Problem(space, epsilon=1.0, prior=weights(space))
    rows = rows_of(dx.compare(problem, ["geometric"], time_limit=0.01))
    assert rows["optimal"].note.endswith("time limit")
    assert rows["geometric"].value is not None


def test_as_text_as_a_table_and_as_html(problem: dx.Problem) -> None:
    comparison = dx.compare(problem, ["exponential"])
    comparison = replace(comparison, rows=(*comparison.rows, Compared("tight", note="there is none")))
    lines = str(comparison).splitlines()
    assert lines[0] == "town, epsilon 0.9"
    assert lines[1].startswith(f"no mechanism of that privacy is better than {comparison.bound:.7f}; ")
    assert lines[2].split("  ")[0] == "mechanism"
    assert [line.split()[0] for line in lines[3:]] == ["optimal", "exponential", "optimal:", "tight:"]
    assert f"{comparison.rows[1].excess:+.1%}" in lines[4]
    console = Console(record=True, width=80, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(comparison)
    terminal = console.export_text()
    assert max(map(len, terminal.splitlines())) <= 80
    for text in (terminal, comparison._repr_html_()):
        assert "tight: there is none" in text
        for row in comparison.rows[:2]:
            assert row.name in text
            assert f"{row.value:.7f}" in text
            assert f"{row.leakage:.4f}" in text


# other objectives, δ, and no privacy


def test_values_are_about_the_objective(problem: dx.Problem) -> None:
    comparison = dx.compare(problem.but(objective="worst_loss"), ["geometric", "exponential"])
    assert comparison.objective == "worst loss"
    assert "worst loss" in str(comparison).splitlines()[2]
    for row in comparison.rows:
        assert row.remapped is None
        assert row.value is not None
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
    assert exponential.note.startswith("the expected loss ")
    assert exponential.note.endswith("is not brought within its budget 0.65")
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


def test_delta_is_shown_and_used(problem: dx.Problem) -> None:
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
    assert lines[0] == "problem, epsilon 1, delta 0.2"
    assert "proven, 1, δ 0.2" in lines[4]
    assert "δ" not in lines[5]
    assert dx.Comparison.read(json.loads(json.dumps(asdict(comparison)))) == comparison


# on the command line


def test_compare_prints_every_mechanism(tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(GRID, encoding="utf-8")
    done = call("compare", tmp_path / "town.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    existing = [name for name in COMPARABLE if name != "staircase"]
    assert [line.split()[0] for line in lines[3 : 3 + len(existing)]] == existing
    assert any(line.startswith("staircase: ") for line in lines)
    assert any(line.startswith("optimal: linear program") for line in lines)
    assert "weak duality" not in done.stdout


def test_compare_takes_the_mechanisms_of_the_file_and_solves_for_the_bound(tmp_path: Path) -> None:
    text = GRID + "method: exponential\ncompare: [geometric]\n"
    (tmp_path / "town.yaml").write_text(text, encoding="utf-8")
    done = call("compare", tmp_path / "town.yaml", "-o", tmp_path / "out", "--json")
    assert done.exit_code == 0
    (line,) = json.loads(done.stdout)["problems"]
    best, geometric = line["comparison"]["rows"]
    assert (best["name"], geometric["name"]) == ("optimal", "geometric")
    assert best["value"] < line["value"]
    assert best["gap"] <= 1e-6
    assert line["comparison"]["bound"] <= best["value"] < geometric["value"]


def test_solve_prints_and_saves_the_comparison(tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(GRID + "compare: [tight]\n", encoding="utf-8")
    done = call("solve", tmp_path / "town.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert "weak duality" in done.stdout
    assert "with optimal remap" in done.stdout
    comparison = dx.load(tmp_path / "out" / "town").comparison
    assert comparison is not None
    assert [row.name for row in comparison.rows] == ["optimal", "tight"]
    saved = json.loads((tmp_path / "out" / "town" / "report.json").read_text(encoding="utf-8"))["comparison"]
    assert saved == json.loads(json.dumps(asdict(comparison)))


def test_other_priors_of_a_file_are_compared(tmp_path: Path) -> None:
    priors = "priors: {flat: uniform, corner: {kind: corner, point: 4}}\n"
    (tmp_path / "town.yaml").write_text(GRID.replace("0.9", "[0.5, 0.9]") + priors, encoding="utf-8")
    done = call("solve", tmp_path / "town.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "under corner" in done.stdout
    report = dx.load(tmp_path / "out" / "town-epsilon=0.9")
    assert report.comparison is not None
    rows = rows_of(report.comparison)
    assert list(rows) == ["optimal", "optimal for flat", "optimal for corner"]
    corner = dx.regularity.corner_prior(dx.grid((3, 3)), 0.9, 4)
    worth = dx.evaluate.expected_loss(report.mechanism, corner, "distance")
    assert rows["optimal"].under["corner"] == pytest.approx(worth, abs=1e-12)
    (tmp_path / "town.yaml").write_text(GRID + "method: exponential\n" + priors, encoding="utf-8")
    assert call("solve", tmp_path / "town.yaml", "-o", tmp_path / "out").exit_code == 0
    comparison = dx.load(tmp_path / "out" / "town").comparison
    assert comparison is not None
    assert [row.name for row in comparison.rows][:2] == ["optimal", "exponential"]


def test_without_compare_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(GRID, encoding="utf-8")
    done = call("solve", tmp_path / "town.yaml", "-o", tmp_path / "out")
    assert "with optimal remap" not in done.stdout
    assert dx.load(tmp_path / "out" / "town").comparison is None


def test_not_certified_gives_1_and_bad_input_2(tmp_path: Path) -> None:
    (tmp_path / "town.yaml").write_text(GRID, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(GRID + "compare: [laplas]\n", encoding="utf-8")
    done = call("compare", tmp_path / "town.yaml", "-o", tmp_path / "out", "--tolerance", "1e-15")
    assert done.exit_code == 1
    assert "feasible" in done.stdout
    done = call("compare", tmp_path / "bad.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert done.stderr.startswith(f"{tmp_path / 'bad.yaml'}:4:11: compare[0]: there is no 'laplas'; choose one of")


def test_an_interrupt_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dxopt import comparing

    def stopped(problem: dx.Problem, *, method: str, **options: object) -> dx.Report:
        report = dx.solve(problem, method=method)
        return replace(report, status=Status.INTERRUPTED) if method == "geometric" else report

    monkeypatch.setattr(comparing, "solve", stopped)
    for name in ("a", "b"):
        text = GRID.replace("town", name) + "compare: [exponential, geometric, tight]\n"
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    done = call("compare", tmp_path / "a.yaml", tmp_path / "b.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 1
    comparison = dx.load(tmp_path / "out" / "a").comparison
    assert comparison is not None
    assert [row.value is None for row in comparison.rows] == [False, False, False, True]
    assert comparison.rows[-1].note == "not started, as the run was interrupted"
    assert "b: not started" in done.stderr
    assert call("compare", tmp_path / "a.yaml", "-o", tmp_path / "out").exit_code == 1
