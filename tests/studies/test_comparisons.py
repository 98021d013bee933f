"""Mechanisms side by side: the same figures as each alone, one bound on all, and a reason for each missing one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import dxopt as dx
from dxopt.analysis.inference import rate_distortion
from dxopt.mechanisms.classic.base import BASELINES
from dxopt.proofs.certify import gap
from dxopt.results.compared import Compared
from dxopt.runtime.stopping import Status
from dxopt.solving.routes.choice import COMPARABLE
from tests.material.checks import rows_of, town, weights


@pytest.fixture
def problem() -> dx.Problem:
    return town()


MISSING = {
    "staircase": "needs one number for each secret",
    "graph_exponential": "needs the shortest ways of a graph or road network",
    "multivariate_laplace": "is for three coordinates or more, as laplace and planar_laplace have exact masses for "
    "fewer",
}


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
        if row.name in MISSING:
            assert row.note == MISSING[row.name]
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
    cloaking = rows["cloaking"]
    channel = rows["rate_distortion"]
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
    assert "not private: ε ∞" in text
    assert "cloaking: a baseline, not private at this level" in text
    bounded = problem.but(objective=dx.AdversaryError(0.8), epsilon=1.0)
    assert "over its budget 0.8" in rows_of(dx.compare(bounded, ["rate_distortion"]))["rate_distortion"].note


def test_the_tight_mechanism_within_and_outside_its_region(problem: dx.Problem) -> None:
    space = problem.space
    inside = dx.Prior.uniform(space)
    outside = dx.Prior.from_weights(space, [90.0, *[1.0] * 8])
    regular = dx.compare(dx.Problem(space, epsilon=0.9, prior=inside, loss="binary"), ["tight"])
    assert regular.verdict is not None and regular.verdict.status == "regular"
    assert rows_of(regular)["tight"].gap == pytest.approx(0.0, abs=1e-9)
    irregular = dx.compare(dx.Problem(space, epsilon=0.9, prior=outside, loss="binary"), ["tight"])
    assert irregular.verdict is not None and irregular.verdict.status == "not regular"
    assert (rows_of(irregular)["tight"].gap or 0) > 0.01
    assert "the prior is not regular, so the tight-constraints mechanism need not be the best: " in str(irregular)
    assert dx.compare(problem, []).verdict is None


def test_what_does_not_exist_is_a_row_with_the_reason() -> None:
    space = dx.MetricSpace.from_distances([[0, 1, 2], [2, 0, 1], [1, 2, 0]], close=True, labels="abc")
    problem = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space), loss="binary")
    rows = rows_of(dx.compare(problem, ["tight", "geometric", "planar_laplace", "exponential"]))
    assert (rows["tight"].value, rows["tight"].private) == (None, False)
    assert "symmetric" in rows["tight"].note
    assert rows["geometric"].note == "needs numbers for coordinates or labels"
    assert "needs a grid" in rows["planar_laplace"].note
    assert rows["exponential"].value is not None
    space = dx.grid((4, 4))
    none = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space), loss="binary")
    assert "no tight-constraints mechanism exists" in rows_of(dx.compare(none, ["tight"]))["tight"].note


def test_a_mechanism_that_does_not_exist_is_named_once() -> None:
    space = dx.MetricSpace.from_points(["tea", "coffee", "milk"], "discrete")
    problem = dx.Problem(space, epsilon=0.5, prior=dx.Prior.uniform(space), loss="binary")
    missing = [row for row in dx.compare(problem).rows if row.value is None]
    assert {row.name for row in missing} >= {"geometric", "laplace", "planar_laplace", "staircase", "cloaking"}
    assert not [row.note for row in missing if row.name in row.note]


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


SKEWED = [0.4, 0.3, 0.2, 0.05, 0.05]
COUNTS = dx.Problem(dx.line(5), epsilon=1.0, prior="uniform")
OTHERS = {
    "another level": COUNTS.at(0.5),
    "another level of": COUNTS.but(delta=0.01),
    "more or fewer secrets": dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"),
    "other distances": dx.Problem(dx.line(5, step=2), epsilon=1.0, prior="uniform"),
    "another prior": COUNTS.but(prior=SKEWED),
    "other losses": COUNTS.but(loss="squared"),
    "another objective": COUNTS.but(objective="worst_loss"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_reference_answers_the_problem(what: str) -> None:
    with pytest.raises(dx.SpecError, match=f"^reference: answers a problem with {what}"):
        dx.compare(COUNTS, ["geometric"], reference=dx.solve(OTHERS[what]))


def test_references_with_sets_of_priors_and_budgets() -> None:
    members = [COUNTS.prior, *(dx.Prior.of(one, COUNTS.space) for one in (SKEWED, SKEWED[::-1]))]
    hull, wider = (COUNTS.but(prior=dx.Prior.hull(members[:count])) for count in (2, 3))
    budgets = [COUNTS.but(objective=dx.AdversaryError(budget)) for budget in (1.0, 1.1)]
    for problem, other in ((hull, wider), budgets):
        assert dx.compare(problem, ["geometric"], reference=dx.solve(problem.but(name="again"))).rows
        with pytest.raises(dx.SpecError, match=r"another prior|another objective"):
            dx.compare(problem, ["geometric"], reference=dx.solve(other))


def test_a_loaded_report_is_a_reference(tmp_path: Path) -> None:
    dx.solve(COUNTS).save(tmp_path / "counts")
    comparison = dx.compare(COUNTS, ["geometric"], reference=dx.load(tmp_path / "counts"))
    assert comparison.bound == dx.solve(COUNTS).certificate.bound


@pytest.mark.parametrize("useless", [np.eye(5), "report", 0.5])
def test_a_reference_is_a_report(useless: Any) -> None:
    with pytest.raises(dx.SpecError, match=r"^reference: is of type"):
        dx.compare(COUNTS, ["geometric"], reference=useless)


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


def test_what_is_not_proven_optimal_is_called_the_best_found(problem: dx.Problem) -> None:
    comparison = dx.compare(problem, ["exponential"])
    assert "; the optimal one is within 0.001 % of it" in str(comparison)
    best = replace(comparison.rows[0], gap=0.0634)
    text = str(replace(comparison, rows=(best, *comparison.rows[1:])))
    assert "; there may be one better than the best found by up to 6.34 %" in text
    assert "vs. best found" in text and "\nbest found  " in text and "%) than best found\n" in text
    assert "vs. optimal" not in text and "\noptimal" not in text


def test_as_text_as_a_table_and_as_html(problem: dx.Problem) -> None:
    comparison = dx.compare(problem, ["exponential"])
    comparison = replace(comparison, rows=(*comparison.rows, Compared("tight", note="there is none")))
    lines = str(comparison).splitlines()
    assert lines[0] == "town, ε = 0.9"
    assert lines[1].startswith(f"no mechanism of that privacy is better than {comparison.bound:.7f}; ")
    assert lines[2].split("  ")[0] == "mechanism"
    starts = ["optimal", "exponential", "exponential", "percentages", "none", "optimal:", "tight:"]
    assert [line.split()[0] for line in lines[3:]] == starts
    row = comparison.rows[1]
    assert row.value is not None and row.excess is not None and comparison.rows[0].value is not None
    more = row.value - comparison.rows[0].value
    assert lines[5] == (
        f"exponential loses {row.value:.3g} on average, {more:.3g} more (+{100 * row.excess:.3g} %) than optimal"
    )
    assert f"{comparison.rows[1].excess:+.1%}" in lines[4]
    console = Console(record=True, width=80, force_terminal=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(comparison)
    terminal = console.export_text()
    assert max(map(len, terminal.splitlines())) <= 80
    for text in (terminal, comparison._repr_html_()):
        assert "tight: there is none" in text
        for row in comparison.rows[:2]:
            assert row.name in text
            assert (f"{row.value:.7f}" if text is terminal else f">{row.value:.3g}<") in text
            assert f"{row.leakage:.4f}" in text


def test_a_comparison_is_saved_with_the_report_of_its_optimum(problem: dx.Problem, tmp_path: Path) -> None:
    comparison = dx.compare(problem, ["exponential"], priors={"uniform": "uniform"})
    report = dx.load(comparison.save(tmp_path / "town"))
    again = report.comparison
    assert again is not None
    assert again == comparison
    assert report.certificate.value == comparison.rows[0].value
    assert dx.load(again.save(tmp_path / "again")).comparison == comparison
