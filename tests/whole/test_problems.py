"""The problem files that ship: every stated value is met, and the data is what the sources say."""

from __future__ import annotations

import csv

import pytest

import dxopt as dx
from dxopt.solving.solve import solve
from dxopt.spec import Task, load
from dxopt.studies.questions import EpsilonFrontier, LossFrontier
from tests.material.files import PROBLEMS

TASKS = [task for file in sorted(PROBLEMS.glob("*.yaml")) for task in load(file)]


@pytest.mark.parametrize("task", [t for t in TASKS if t.expect and not t.sweep], ids=lambda task: task.problem.name)
def test_expected_values(task: Task) -> None:
    report = solve(task.problem, method=task.method, solver=task.solver, tolerance=task.tolerance)
    assert task.expect is not None
    assert report.certificate.private is task.problem.private
    assert report.certificate.gap <= 1e-6
    assert report.certificate.value == pytest.approx(task.expect.value, abs=task.expect.tolerance)


@pytest.mark.parametrize("task", [t for t in TASKS if t.expect and t.sweep], ids=lambda task: task.problem.name)
def test_expected_levels(task: Task) -> None:
    assert task.expect is not None and task.sweep is not None
    level = task.sweep.run(task.problem, solver=task.solver, tolerance=task.tolerance)
    assert isinstance(level, dx.Level)
    assert level.status == "optimal"
    assert level.below < task.expect.value <= level.epsilon
    assert level.epsilon == pytest.approx(task.expect.value, abs=task.expect.tolerance)


@pytest.mark.parametrize("task", [t for t in TASKS if t.sweep and not t.expect], ids=lambda task: task.problem.name)
def test_frontiers(task: Task) -> None:
    assert isinstance(task.sweep, EpsilonFrontier | LossFrontier)
    frontier = task.sweep.run(task.problem, solver=task.solver, tolerance=task.tolerance)
    assert isinstance(frontier, dx.Frontier | dx.BudgetFrontier)
    assert frontier.status == "optimal"
    assert 0 <= frontier.resolution <= task.sweep.resolution


def test_montreal_through_a_spanner_is_private_and_bounds_the_optimum() -> None:
    (task,) = [t for t in TASKS if t.problem.name == "montreal-249"]
    assert task.spanner is not None
    report = solve(task.problem, method=task.method, solver=task.solver, spanner=task.spanner)
    assert report.certificate.private
    assert report.certificate.bound <= 1.0861469
    assert report.certificate.value >= 1.0861405
    assert report.claim == "valid"
    assert report.delivered


def test_every_published_or_real_problem_is_there() -> None:
    names = {task.source.stem for task in TASKS}
    assert {"montreal-60", "montreal-249", "doctor-visits", "ecp14-count-query", "ecp14-example-2"} <= names
    assert {"cha13-frontier", "cha13-budget-frontier", "hlm14-theorem-7-smallest-epsilon"} <= names
    assert {"cha13-optimal-adversary-error", "hlm14-example-7", "des20-one-sided", "cabp13-risk-averse"} <= names


def test_data_files() -> None:
    def rows(name: str) -> list[dict[str, str]]:
        with (PROBLEMS / name).open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    zones, visits = rows("montreal-carshare.csv"), rows("doctor-visits.csv")
    assert len(zones) == 249
    assert sum(float(zone["weight"]) for zone in zones) == pytest.approx(272039.6666666, rel=1e-9)
    assert [int(row["visits"]) for row in visits] == list(range(78))
    assert sum(int(row["people"]) for row in visits) == 20190
