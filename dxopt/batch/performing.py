"""One problem of a batch, from its file to its result folder; the same wherever it is done."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from dxopt.batch.finished import record
from dxopt.batch.jobs import Job, unreadable
from dxopt.batch.outcome import Done
from dxopt.comparing import compare
from dxopt.errors import DxoptError, SpecError
from dxopt.program import Status
from dxopt.report.comparison import Comparison
from dxopt.report.level import Level
from dxopt.report.measures import MEASURES, learned, of_records
from dxopt.report.places import COMPARISON, finite, place, require_writable
from dxopt.report.result import Report
from dxopt.report.sweep import EpsilonSweep
from dxopt.report.table import Line
from dxopt.routes import SPANNER_METHODS
from dxopt.solving import solve
from dxopt.spec import Expect, Task, load
from dxopt.sweeps import AtLevels, LossFrontier, Sweep, Swept

Tell = Callable[[str, str], None]
Answer = Report | Swept


def perform(job: Job, tell: Tell, saved: Callable[[Answer], None] = lambda answer: None) -> Done:
    """Solve a problem and save its result.

    Parameters
    ----------
    job : Job
    tell : callable
        Given (problem name, progress line).
    saved : callable
        Given the report, level or frontier once it is saved.
    """
    try:
        task = job.overrides.apply(_tasks(job.file, job.digest.partition(" ")[0], job.overrides.sweep)[job.place])
    except SpecError as error:
        return unreadable(job.file, error)
    except Exception as error:
        return _fault(job, Line(job.name, delivered=False), error)
    problem, unsolved = task.problem, _unsolved(task)
    started = time.perf_counter()
    try:
        if task.sweep is not None and (task.compare or task.priors):
            raise _not_compared(task.sweep)
        require_writable(job.folder)
        answer = _solved(task, tell) if task.sweep is None else _swept(task, task.sweep, tell)
        seconds = time.perf_counter() - started
        interrupted = answer.status is Status.INTERRUPTED or _broken_off(answer)
        line = replace(_line(unsolved, answer, seconds), folder=job.folder.name)
        done = Done(line, interrupted=interrupted)
        if task.expect is not None:
            done = _expected(done, answer, task.expect)
        _save(answer, job, done)
    except SpecError as error:
        return Done(replace(unsolved, status="bad input"), str(task.located(error)), bad_input=True)
    except DxoptError as error:
        return Done(replace(unsolved, status="failed"), f"{problem.name}: {error}")
    except Exception as error:
        return _fault(job, unsolved, error)
    saved(answer)
    return done


@lru_cache(maxsize=1)
def _tasks(file: Path, content: str, sweep: AtLevels | None) -> list[Task]:
    """The tasks of a file; of the problems of a family one process builds the space once."""
    return load(file, sweep)


def _save(answer: Answer, job: Job, done: Done) -> None:
    def write(folder: Path) -> None:
        answer.write(folder)
        if job.overrides.compare and isinstance(answer, Report) and answer.comparison is not None:
            answer.comparison.plot(folder / COMPARISON)
        if not done.interrupted:
            record(job, done, folder)

    try:
        place(job.folder, write)
    except (OSError, SpecError) as error:
        cause = error if isinstance(error, OSError) else error.__context__
        if not isinstance(cause, OSError):
            raise
        raise DxoptError(f"{job.folder} cannot be written: {cause.strerror}; make room or name another") from None


def _fault(job: Job, line: Line, error: Exception) -> Done:
    if isinstance(error, MemoryError):
        return Done(replace(line, status="out of memory"), f"{job.name}: out of memory")
    where = job.folder.with_name(f"{job.folder.name}.crash.txt")
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(traceback.format_exc(), encoding="utf-8")
        seen = f"see {where}"
    except OSError:
        seen = f"{where} cannot be written"
    reason = f"{job.name}: {type(error).__name__}: {error} (a fault of dxopt; {seen})"
    return Done(replace(line, status="crashed"), " ".join(reason.split()))


def _unsolved(task: Task) -> Line:
    """The line of a task that failed."""
    added = "" if task.spanner is None else f", spanner {task.spanner:g}"
    added += "" if task.sweep is None else f", {task.sweep}"
    line = replace(Line.asked(task.problem, task.method + added), delivered=False)
    return line if task.sweep is None or isinstance(task.sweep, LossFrontier) else replace(line, epsilon=None)


def _line(unsolved: Line, answer: Answer, seconds: float) -> Line:
    """The line of a task that was answered."""
    if isinstance(answer, Report):
        line = Line.of(answer, unsolved.method)
        return replace(line, delivered=line.delivered and not _broken_off(answer))
    line = replace(unsolved, private=answer.problem.private, seconds=seconds, status=str(answer.status))
    if isinstance(answer, EpsilonSweep):
        return replace(line, gap=answer.gap, sweep=answer.figures, delivered=answer.status is Status.OPTIMAL)
    if isinstance(answer, Level):
        line = unsolved if answer.report is None else Line.of(answer.report, unsolved.method)
    return replace(
        line,
        resolution=finite(answer.resolution),
        status=str(answer.status),
        seconds=seconds,
        delivered=answer.status is Status.OPTIMAL,
    )


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


def _broken_off(answer: Answer) -> bool:
    return isinstance(answer, Report) and answer.comparison is not None and answer.comparison.interrupted


def _expected(done: Done, answer: Answer, expect: Expect) -> Done:
    """The same once the value, or the smallest epsilon, is compared with the one that is known."""
    line = done.line
    what, found = ("epsilon", line.epsilon) if isinstance(answer, Level) else ("value", line.value)
    if found is None:
        return done
    off = abs(found - expect.value)
    if off <= expect.tolerance:
        return replace(done, line=replace(line, expected="agrees"))
    error = (
        f"{line.problem}: the {what} {found:.10g} is not {expect.value:.10g} within {expect.tolerance:g} "
        f"({expect.source})"
    )
    return replace(done, line=replace(line, expected=f"off by {off:.1e}", delivered=False), error=error)
