"""The answer to one problem of a batch: a solve or a question of many solves, then evaluated and compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dxopt.analysis.held_out import HeldOut, worth_on
from dxopt.errors import SpecError
from dxopt.model.plausibility import Warnings, every_kind, of_priors, of_problem
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


def answer_task(task: Task, tell: Tell) -> Answer:
    """Return the answer that a task asks for; `tell` is called with (problem name, progress line)."""
    return _solve_once(task, tell) if task.sweep is None else _answer_sweep(task, task.sweep, tell)


def refuse_comparison(task: Task) -> None:
    """Refuse to compare where the answer is not one mechanism.

    Raises
    ------
    SpecError
        If the task has both a question of many solves and something to compare with.
    """
    if task.sweep is not None and (task.compare or task.priors):
        field = "objective" if isinstance(task.sweep, LossFrontier) else "epsilon"
        wrong = f"asks for the {task.sweep}, which is not compared"
        raise SpecError(field, wrong, "use dxopt solve, or give one value")


def task_warnings(task: Task) -> Warnings:
    """Return the warnings about a task before it is solved; those about ε only where it has just one."""
    level = task.sweep is None or isinstance(task.sweep, LossFrontier)
    return every_kind(of_problem(task.problem, level=level), of_priors(task.priors.values()))


def _solve_once(task: Task, tell: Tell) -> Report:
    """Solve the problem of a task, evaluate the mechanism, and compare it where the file asks for that."""
    report = solve(task.problem, method=task.method, spanner=task.spanner, **_solve_options(task, tell))
    report = _with_evaluation(task, report)
    if not (task.compare or task.priors):
        return report
    return replace(report, comparison=_comparison(task, report, tell))


def _answer_sweep(task: Task, sweep: Sweep, tell: Tell) -> Swept:
    """Answer a question of many solves, and evaluate each mechanism that the answer has."""
    answer = sweep.run(task.problem, **_solve_options(task, tell))
    if isinstance(answer, Level) and answer.report is not None:
        return replace(answer, report=_with_evaluation(task, answer.report))
    if isinstance(answer, EpsilonSweep):
        return replace(answer, reports=tuple(_with_evaluation(task, report) for report in answer.reports))
    return answer


def _with_evaluation(task: Task, report: Report) -> Report:
    """Return a report with what the file asks to evaluate: measures, beliefs, several records, and held-out data."""
    evaluation = {name: MEASURES[name](report.mechanism, report.problem) for name in task.evaluate}
    for beliefs in task.beliefs:
        evaluation |= learned(report.mechanism, report.problem, beliefs)
    if task.records is not None:
        evaluation |= of_records(report.mechanism, report.problem, task.records)
    return replace(report, evaluation=evaluation, beliefs=task.beliefs, held_out=_held_out_costs(task, report))


def _held_out_costs(task: Task, report: Report) -> tuple[HeldOut, ...]:
    """Return the costs of the mechanism on each held-out data set, those of positions only if asked for."""
    prior = report.problem.prior.probabilities
    found = [(worth_on(data, report.mechanism, report.problem.loss, prior), at) for data, at in task.held_out]
    return tuple(one if at else replace(one, positions=None) for one, at in found)


def _solve_options(task: Task, tell: Tell) -> dict[str, Any]:
    """Return the options of every solve for a task."""
    return {
        "solver": task.solver,
        "tolerance": task.tolerance,
        "time_limit": task.time_limit,
        "progress": lambda line: tell(task.problem.name, line),
    }


def _comparison(task: Task, report: Report, tell: Tell) -> Comparison:
    """Return the report beside other mechanisms.

    Where the report is of the optimum, it is the reference; otherwise its mechanism is one of those compared.
    """
    optimum = task.method in SPANNER_METHODS
    methods = task.compare
    if not methods and not optimum:
        methods = (task.method,)
    reference = report if optimum else None
    return compare(task.problem, methods, priors=task.priors, reference=reference, **_solve_options(task, tell))
