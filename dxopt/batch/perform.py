"""One problem of a batch, from its file to its result folder; the same wherever it is done."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from dxopt.batch.answering import Answer, Tell, answer_task, refuse_comparison, task_warnings
from dxopt.batch.jobs import Job, unreadable
from dxopt.batch.outcome import Done, Line
from dxopt.batch.resume import require_replaceable, was_better, why_other_result, write_record
from dxopt.errors import DxoptError, Option, SpecError
from dxopt.model.plausibility import every_kind
from dxopt.results.announcing import unannounced
from dxopt.results.figures.plots import pictures
from dxopt.results.folder import COMPARISON, finite, replace_folder, require_writable, write_contents
from dxopt.results.level import Level
from dxopt.results.report import Report
from dxopt.results.sweep import EpsilonSweep
from dxopt.runtime.stopping import Status
from dxopt.spec import Expected, ProblemFile, Task, build_tasks, read_problems
from dxopt.studies.questions import AtLevels, LossFrontier


def perform(
    job: Job,
    tell: Tell,
    saved: Callable[[Answer], None] = lambda answer: None,
    file: ProblemFile | None = None,
    begun: Callable[[Task], None] = lambda task: None,
) -> Done:
    """Solve a problem and save its result.

    Parameters
    ----------
    job : Job
    tell : callable
        Given (problem name, progress line).
    saved : callable
        Given the report, level or frontier once it is saved.
    file : ProblemFile, optional
        The job's file, where this process has read it already.
    begun : callable
        Given the task before it is answered.
    """
    # Step 1: the problem. Whatever is wrong with the file or its data ends the job here.
    try:
        if file is None:  # the digest of a job is that of its file and options, a blank, and its index
            file = _read_once(job.file, job.digest.partition(" ")[0], job.overrides.sweep, job.overrides.epsilon)
        task = job.overrides.apply(_build_once(file)[job.index])
    except KeyboardInterrupt:
        return replace(job.not_started(), interrupted=True)
    except SpecError as error:
        return unreadable(job.file, error)
    except Exception as error:
        return _fault(job, Line(job.name, delivered=False), error)
    # Step 2: the answer and its folder. A refusal points at its key in the file, a fault of dxopt leaves a traceback.
    unsolved = _unsolved(task)
    strict = job.overrides.strict
    started = time.perf_counter()
    try:
        refuse_comparison(task)
        found = task_warnings(task)
        if strict and found:
            return Done(replace(unsolved, status="bad input").with_warnings(found)).strictly(strict)
        require_writable(job.folder)
        require_replaceable(job.folder, "" if job.force else why_other_result(job))
        begun(task)
        with unannounced():  # warnings are in the line of the batch
            answer = answer_task(task, tell)
        seconds = time.perf_counter() - started
        interrupted = answer.status is Status.INTERRUPTED or _broken_off(answer)
        line = replace(_line(unsolved, answer, seconds), folder=job.folder.name)
        line = line.with_warnings(every_kind(found, answer.warnings))
        done = Done(line, interrupted=interrupted)
        if task.expect is not None:
            done = _compare_expected(done, answer, task.expect)
        if not line.delivered and was_better(job, line):
            kept = f"{job.name}: not solved to its tolerance; {job.folder} keeps the result of an earlier run"
            return replace(done, error=done.error or kept)
        tell(task.problem.name, f"writing {job.folder}")
        _save(answer, job, done)
    except SpecError as error:
        return Done(
            replace(unsolved, status="bad input"), task.located(error).line_in(Option.on_command_line), bad_input=True
        )
    except DxoptError as error:
        return Done(replace(unsolved, status="failed"), f"{task.problem.name}: {error}")
    except Exception as error:
        return _fault(job, unsolved, error)
    saved(answer)
    return done.strictly(strict)


@lru_cache(maxsize=1)
def _read_once(path: Path, content: str, sweep: AtLevels | None, epsilon: float | None) -> ProblemFile:
    """Read a file once for all problems of a family; `content`, a digest, tells the cache of changes."""
    return read_problems(path, sweep, epsilon)


@lru_cache(maxsize=1)
def _build_once(file: ProblemFile) -> list[Task]:
    """Return the tasks of a file; the cache builds the space once for all problems of a family."""
    return build_tasks(file)


def _save(answer: Answer, job: Job, done: Done) -> None:
    """Write the result folder with the record that `--resume` reads."""
    contents = answer.contents()
    if job.overrides.compare and isinstance(answer, Report) and answer.comparison is not None:
        contents |= pictures(COMPARISON, answer.comparison.figure())

    def fill(folder: Path) -> None:
        write_contents(folder, contents)
        write_record(job, done, folder)

    try:
        replace_folder(job.folder, fill)
    except (OSError, SpecError) as error:
        cause = error if isinstance(error, OSError) else error.__context__
        if not isinstance(cause, OSError):
            raise
        raise DxoptError(f"{job.folder} cannot be written: {cause.strerror}; make room or name another") from None


def _fault(job: Job, line: Line, error: Exception) -> Done:
    """Return the outcome where dxopt itself failed: its traceback is left next to where the result was to go."""
    if isinstance(error, MemoryError):
        return Done(replace(line, status="out of memory"), f"{job.name}: out of memory")
    where = job.folder.with_name(f"{job.folder.name}.crash.txt")
    try:
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(traceback.format_exc(), encoding="utf-8", newline="\n")
        seen = f"see {where}"
    except OSError:
        seen = f"{where} cannot be written"
    reason = f"{job.name}: {type(error).__name__}: {error} (a fault of dxopt; {seen})"
    return Done(replace(line, status="crashed"), " ".join(reason.split()))


def _unsolved(task: Task) -> Line:
    """Return the line of a task before it is solved; without ε where that is searched for, or there are many."""
    added = "" if task.spanner is None else f", spanner {task.spanner:g}"
    added += "" if task.sweep is None else f", {task.sweep}"
    line = replace(Line.of_unsolved(task.problem, task.method + added), delivered=False)
    return line if task.sweep is None or isinstance(task.sweep, LossFrontier) else replace(line, epsilon=None)


def _line(unsolved: Line, answer: Answer, seconds: float) -> Line:
    """Return the line of an answer; what a search or a curve lacks stays as in `unsolved`."""
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


def _broken_off(answer: Answer) -> bool:
    """Tell whether the comparison of a finished report was interrupted."""
    return isinstance(answer, Report) and answer.comparison is not None and answer.comparison.interrupted


def _compare_expected(done: Done, answer: Answer, expect: Expected) -> Done:
    """Return the outcome with its value, or smallest ε, compared with the expected one; the same without either."""
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
