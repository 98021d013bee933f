"""Sweeps over ε: what is reported of each level is what a solve at that level returns."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.stopping import Status, Stop
from dxopt.solving.routes.choice import COMPARABLE
from dxopt.studies import series as sweeping
from dxopt.studies import sweeps as epsilon_sweep
from tests.material.instances import KINDS, problem_of
from tests.material.optima import optimum

LEVELS = (0.3, 0.8, 2.0)
VARIANTS: list[dict[str, Any]] = [
    {},
    {"objective": "worst_loss"},
    {"delta": 0.02},
    {"objective": dx.AdversaryError(max_loss=5.0, adversary_loss="binary")},
]


@pytest.fixture(scope="module")
def problem() -> dx.Problem:
    space = dx.grid((3, 3))
    return dx.Problem(space, epsilon=9.0, prior=dx.Prior.from_weights(space, np.arange(1, 10)), name="square")


@pytest.fixture(scope="module")
def found(problem: dx.Problem) -> dx.EpsilonSweep:
    return dx.sweep(problem, [2.0, 0.3, 0.8], ["exponential", "tight", "cloaking", "staircase"])


@pytest.mark.parametrize("changes", VARIANTS, ids=["loss", "worst", "delta", "error"])
@pytest.mark.parametrize("kind", KINDS)
def test_values_and_bounds_are_those_of_the_optimum(kind: str, changes: dict[str, Any]) -> None:
    plain = problem_of(kind, 1).but(**changes)
    found = dx.sweep(plain, LEVELS)
    assert found.status == "optimal"
    assert found.methods == ("optimal",)
    sign = plain.objective.sign
    for level, value, bound in zip(found.epsilons, found.values["optimal"], found.bounds, strict=True):
        best = optimum(plain.at(float(level)))
        assert value == pytest.approx(best, rel=2e-6, abs=1e-9)
        assert sign * bound <= sign * best + 1e-9
    assert (sign * np.diff(found.values["optimal"]) <= 1e-6).all()


def test_each_mechanism_is_as_it_is_by_itself(found: dx.EpsilonSweep, problem: dx.Problem) -> None:
    assert found.epsilons.tolist() == [0.3, 0.8, 2.0]
    assert found.methods == ("optimal", "exponential", "tight", "cloaking")
    for index, level in enumerate(LEVELS):
        alone = dx.solve(problem.at(level), method="exponential")
        leaked = dx.evaluate.min_entropy_leakage(alone.mechanism, problem.prior)
        assert found.values["exponential"][index] == pytest.approx(alone.certificate.value, rel=1e-12)
        assert found.leakage["exponential"][index] == pytest.approx(leaked, rel=1e-12)
    best = found.reports[1]
    leaked = dx.evaluate.min_entropy_leakage(best.mechanism, problem.prior)
    assert found.leakage["optimal"][1] == pytest.approx(leaked, rel=1e-12)
    assert np.isnan(found.values["tight"]).tolist() == [True, True, False]
    assert found.baselines == {"cloaking"}
    assert found.gap == max(report.certificate.gap for report in found.reports)


def test_each_level_starts_from_the_one_below(monkeypatch: pytest.MonkeyPatch, problem: dx.Problem) -> None:
    starts: list[tuple[float, float | None]] = []

    def solve(problem: dx.Problem, *, start: dx.Report | None, **options: Any) -> dx.Report:
        starts.append((problem.epsilon, start and start.problem.epsilon))
        return dx.solve(problem, start=start, **options)

    monkeypatch.setattr(sweeping, "solve", solve)
    dx.sweep(problem, [2.0, 0.3, 0.8])
    assert starts == [(0.3, None), (0.8, 0.3), (2.0, 0.8)]


def test_options_and_progress(problem: dx.Problem) -> None:
    lines: list[str] = []
    found = dx.sweep(problem, [0.5, 1], solver="highs", tolerance=1e-4, progress=lines.append)
    assert {report.tolerance for report in found.reports} == {1e-4}
    assert any("highs" in line for line in lines)
    assert [line.split(":")[0] for line in lines if line.startswith("epsilon ")] == ["epsilon 0.5", "epsilon 1"]


@pytest.mark.parametrize(
    ("levels", "wrong"),
    [
        ([], "epsilons: are none; give at least 1"),
        ([1, 0.5, 1], "epsilons: has 1 twice; keep one"),
        ([1, 0], "epsilons: is 0"),
        ([-1], "epsilons: is -1"),
        ([math.nan], "epsilons: is nan"),
        ([math.inf], "epsilons: is inf"),
        (["a"], "epsilons: "),
        ("0.5", "epsilons: is '0.5'; give a list of numbers"),
        (0.5, "epsilons: is 0.5; give a list of numbers"),
    ],
)
def test_bad_levels(problem: dx.Problem, levels: Any, wrong: str) -> None:
    with pytest.raises(dx.SpecError, match="^" + wrong.replace("'", ".")):
        dx.sweep(problem, levels)


def test_bad_methods_and_problems(problem: dx.Problem) -> None:
    with pytest.raises(dx.SpecError, match="methods: there is no 'laplas'"):
        dx.sweep(problem, [1.0], ["laplas"])
    free = problem.but(epsilon=None, objective=dx.AdversaryError(max_loss=1.0))
    with pytest.raises(dx.SpecError, match="epsilon: is not given: the problem asks for no privacy"):
        dx.sweep(free, [1.0])


def test_an_interrupted_one_keeps_the_levels_that_are_done(
    monkeypatch: pytest.MonkeyPatch, problem: dx.Problem, found: dx.EpsilonSweep
) -> None:
    solved: list[float] = []

    def solve(problem: dx.Problem, **options: Any) -> dx.Report:
        solved.append(problem.epsilon)
        report = dx.solve(problem, **options)
        return replace(report, status=Status.INTERRUPTED) if len(solved) == 2 else report

    monkeypatch.setattr(sweeping, "solve", solve)
    kept = dx.sweep(problem, LEVELS, ["exponential"])
    assert kept.status == "interrupted"
    assert solved == kept.epsilons.tolist() == [0.3, 0.8]
    assert kept.asked == LEVELS
    assert kept.values["optimal"] == pytest.approx(found.values["optimal"][:2], rel=1e-9)
    assert np.isnan(kept.values["exponential"]).tolist() == [False, True]
    assert "2 of 3 levels (interrupted)" in str(kept)


def test_one_that_is_interrupted_while_comparing(monkeypatch: pytest.MonkeyPatch, problem: dx.Problem) -> None:
    def compare(problem: dx.Problem, *arguments: Any, **options: Any) -> dx.Comparison:
        done = dx.compare(problem, *arguments, **options)
        return replace(done, interrupted=problem.epsilon == 0.8)

    monkeypatch.setattr(epsilon_sweep, "compare", compare)
    for levels in (LEVELS, LEVELS[:2]):
        kept = dx.sweep(problem, levels, ["exponential"])
        assert kept.status == "interrupted"
        assert kept.epsilons.tolist() == [0.3, 0.8]


def test_the_time_limit_is_for_all(monkeypatch: pytest.MonkeyPatch, problem: dx.Problem) -> None:
    answered: list[int] = []
    monkeypatch.setattr(Stop, "expired", property(lambda stop: stop.deadline is not None and len(answered) >= 2))
    monkeypatch.setattr(Stop, "remaining", lambda stop: 50.0)
    limits: list[float | None] = []

    def solve(problem: dx.Problem, *, time_limit: float | None, **options: Any) -> dx.Report:
        limits.append(time_limit)
        report = dx.solve(problem, **options)
        answered.append(1)
        return report

    monkeypatch.setattr(sweeping, "solve", solve)
    kept = dx.sweep(problem, LEVELS, ["exponential"], time_limit=60)
    assert kept.status == "time limit"
    assert kept.epsilons.tolist() == [0.3, 0.8]
    assert limits == [50.0, 50.0]
    assert np.isnan(kept.values["exponential"]).tolist() == [False, True]


def test_what_is_left_open_is_said(problem: dx.Problem) -> None:
    found = dx.sweep(problem, [0.5, 1], tolerance=1e-15)
    assert found.status == "feasible"
    assert len(found.reports) == 2


def test_said(found: dx.EpsilonSweep) -> None:
    head, names, *rows = str(found).splitlines()
    assert head == "square: expected loss at 3 levels (optimal)"
    assert names.split() == [
        "epsilon",
        "optimal",
        "bound",
        "gap",
        "leakage",
        "(bits)",
        "exponential",
        "tight",
        "cloaking",
    ]
    assert [row.split()[0] for row in rows[:3]] == ["0.3", "0.8", "2"]
    assert rows[2].split()[-3:] == [f"{found.values[name][2]:.7f}" for name in ("exponential", "tight", "cloaking")]
    assert rows[3].startswith("tight is missing at 2 of 3 levels: no tight-constraints mechanism exists")
    assert rows[4] == "cloaking: a baseline, not private at this level"
    assert rows[5] == "staircase: needs one number for each secret"


def test_a_terminal_shows_every_digit() -> None:
    from rich.console import Console

    space = dx.line(4)
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), name="line")
    found = dx.sweep(problem, [0.5, 1], COMPARABLE)
    console = Console(width=80, file=io.StringIO())
    with console.capture() as capture:
        console.print(found)
    text = capture.get()
    assert len(found.methods) > 7
    for name in found.methods:
        assert all(f"{value:.7f}" in text for value in found.values[name])
