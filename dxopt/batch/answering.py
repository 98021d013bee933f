"""What a batch asks of one problem: a solve, a sweep, an evaluation, and the comparison beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dxopt.errors import SpecError
from dxopt.results.comparison import Comparison
from dxopt.results.level import Level
from dxopt.results.measures import MEASURES, learned, of_records
from dxopt.results.report import Report
from dxopt.results.sweep import EpsilonSweep
from dxopt.solving.routes.choice import SPANNER_METHODS
from dxopt.solving.solve import solve
from dxopt.spec import Task
from dxopt.studies.comparisons import compare
from dxopt.studies.questions import LossFrontier, Sweep, Swept

Tell = Callable[[str, str], None]

Answer = Report | Swept


def _solved(task: Task, tell: Tell) -> Report:
    report = solve(task.problem, method=task.method, spanner=task.spanner, **_how(task, tell))
    report = _evaluated(task, report)
    compared = task.compare or task.priors
    return replace(report, comparison=_compared_with(task, report, tell)) if compared else report


def _swept(task: Task, sweep: Sweep, tell: Tell) -> Swept:
    answer = sweep.run(task.problem, **_how(task, tell))
    if isinstance(answer, Level) and answer.report is not None:
        return replace(answer, report=_evaluated(task, answer.report))
    if isinstance(answer, EpsilonSweep):
        return replace(answer, reports=tuple(_evaluated(task, report) for report in answer.reports))
    return answer


def _not_compared(sweep: Sweep) -> SpecError:
    field = "objective" if isinstance(sweep, LossFrontier) else "epsilon"
    return SpecError(field, f"asks for the {sweep}, which is not compared", "use dxopt solve, or give one value")


def _evaluated(task: Task, report: Report) -> Report:
    evaluation = {name: MEASURES[name](report) for name in task.evaluate}
    for beliefs in task.beliefs:
        evaluation |= learned(report, beliefs)
    if task.records is not None:
        evaluation |= of_records(report, task.records)
    return replace(report, evaluation=evaluation, beliefs=task.beliefs)


def _how(task: Task, tell: Tell) -> dict[str, Any]:
    """The options of a solve."""
    return {
        "solver": task.solver,
        "tolerance": task.tolerance,
        "time_limit": task.time_limit,
        "progress": lambda line: tell(task.problem.name, line),
    }


def _compared_with(task: Task, report: Report, tell: Tell) -> Comparison:
    solved = task.method in SPANNER_METHODS
    methods = task.compare or (() if solved else (task.method,))
    return compare(
        task.problem, methods, priors=task.priors, reference=report if solved else None, **_how(task, tell)
    )
