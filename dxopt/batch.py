"""Many problem files, one after another: one that fails never stops the others."""

from __future__ import annotations

import json
import re
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from dxopt.comparing import compare
from dxopt.errors import DxoptError, SpecError
from dxopt.levels import Level
from dxopt.program import Status
from dxopt.report.comparison import Comparison
from dxopt.report.measures import MEASURES, learned, of_records
from dxopt.report.places import finite, is_result, require_writable
from dxopt.report.result import Report
from dxopt.report.table import Line
from dxopt.routes import SPANNER_METHODS
from dxopt.solving import solve
from dxopt.spec import Expect, Task, load
from dxopt.stopping import Stop
from dxopt.sweeps import LossFrontier, Sweep, Swept

Tell = Callable[[str, str], None]
Answer = Report | Swept


@dataclass(frozen=True)
class Overrides:
    """Options of the command line that take the place of a file's; `compare` only where the file has none."""

    solver: str | None = None
    tolerance: float | None = None
    time_limit: float | None = None
    compare: tuple[str, ...] | None = None

    def apply(self, task: Task) -> Task:
        """The task with every option that was given."""
        given = {key: value for key, value in asdict(self).items() if value is not None}
        if task.compare:
            given.pop("compare", None)
        return replace(task, **given)


@dataclass
class Outcome:
    """What became of a batch.

    Attributes
    ----------
    lines : list of Line
        One per problem, in order; a file that could not be read is one line.
    errors : list of str
        One line of text per file or problem that failed.
    bad_input : bool
    """

    lines: list[Line] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    bad_input: bool = False

    @property
    def exit_code(self) -> int:
        """0 done, 1 not certified within limits (or failed), 2 bad input."""
        if self.bad_input:
            return 2
        return 0 if all(line.delivered for line in self.lines) else 1

    def as_json(self) -> str:
        """The lines and errors for machines."""
        content = {"problems": [asdict(line) for line in self.lines], "errors": self.errors}
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def problem_files(paths: Iterable[Path]) -> list[Path]:
    """Files as given, and every *.yaml below a directory that is not inside a result folder.

    Raises
    ------
    SpecError
        If a directory holds none.
    """
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = [file for file in sorted(path.rglob("*.yaml")) if not any(map(is_result, file.parents))]
        if not inside:
            raise SpecError(str(path), "holds no problem file", "name a folder with *.yaml files")
        found += inside
    return list(dict.fromkeys(found))


def run(
    files: Iterable[Path],
    output: Path,
    *,
    overrides: Overrides | None = None,
    tell: Tell = lambda name, line: None,
    finished: Callable[[Answer], None] = lambda answer: None,
) -> Outcome:
    """Solve every problem of every file and save each result as it comes.

    Parameters
    ----------
    files : paths of problem files
    output : Path
        Each result goes to a folder in it, named after its problem.
    tell : callable
        Given (problem name, progress line).
    finished : callable
        Given each report, level or frontier once it is saved.
    """
    outcome, taken = Outcome(), set()
    with Stop() as stop:
        for file in files:
            for task in _tasks(file, outcome):
                if stop.interrupted:
                    line = Line(task.problem.name, status="not started", delivered=False)
                    _failed(outcome, line, f"{task.problem.name}: not started, as the run was interrupted")
                    continue
                answer = _run_one((overrides or Overrides()).apply(task), output, taken, outcome, tell)
                if answer is not None:
                    finished(answer)
                    stop.interrupted |= answer.status is Status.INTERRUPTED or _broken_off(answer)
    return outcome


def _tasks(file: Path, outcome: Outcome) -> Iterator[Task]:
    try:
        yield from load(file)
    except SpecError as error:
        _failed(outcome, Line(file.stem, status="bad input", delivered=False), str(error))
        outcome.bad_input = True


def _run_one(task: Task, output: Path, taken: set[str], outcome: Outcome, tell: Tell) -> Answer | None:
    problem, unsolved = task.problem, _unsolved(task)
    folder = output / _folder_name(problem.name, taken)
    started = time.perf_counter()
    try:
        if task.sweep is not None and (task.compare or task.priors):
            raise _not_compared(task.sweep)
        require_writable(folder)
        answer = _solved(task, tell) if task.sweep is None else _swept(task, task.sweep, tell)
        answer.save(folder)
    except SpecError as error:
        outcome.bad_input = True
        _failed(outcome, replace(unsolved, status="bad input"), str(task.located(error)))
        return None
    except (DxoptError, MemoryError) as error:
        reason = str(error) or "out of memory"
        _failed(outcome, replace(unsolved, status="failed"), f"{problem.name}: {reason}")
        return None
    except Exception as error:
        output.mkdir(parents=True, exist_ok=True)
        trace = folder.with_suffix(".crash.txt")
        trace.write_text(traceback.format_exc(), encoding="utf-8")
        reason = f"{problem.name}: {type(error).__name__}: {error} (a fault of dxopt; see {trace})"
        _failed(outcome, replace(unsolved, status="crashed"), " ".join(reason.split()))
        return None
    line = replace(_line(unsolved, answer, time.perf_counter() - started), folder=folder.name)
    if task.expect is not None:
        line = _expected(line, answer, task.expect, outcome)
    outcome.lines.append(line)
    return answer


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
    line = replace(unsolved, private=answer.problem.private)
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
    return replace(report, evaluation=evaluation)


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


def _expected(line: Line, answer: Answer, expect: Expect, outcome: Outcome) -> Line:
    """The line once the value, or the smallest epsilon, is compared with the one that is known."""
    what, found = ("epsilon", line.epsilon) if isinstance(answer, Level) else ("value", line.value)
    if found is None:
        return line
    off = abs(found - expect.value)
    if off <= expect.tolerance:
        return replace(line, expected="agrees")
    outcome.errors.append(
        f"{line.problem}: the {what} {found:.10g} is not {expect.value:.10g} within {expect.tolerance:g} "
        f"({expect.source})"
    )
    return replace(line, expected=f"off by {off:.1e}", delivered=False)


def _failed(outcome: Outcome, line: Line, error: str) -> None:
    outcome.lines.append(line)
    outcome.errors.append(error)


def _folder_name(name: str, taken: set[str]) -> str:
    plain = re.sub(r"[^\w.=-]+", "-", name).strip("-.") or "problem"
    number = 1
    unique = plain
    while unique in taken:
        number += 1
        unique = f"{plain}-{number}"
    taken.add(unique)
    return unique
