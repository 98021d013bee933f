"""Output of the command line for each answer, and at the end of a batch."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import typer
from rich.console import Console, RichCast

from dxopt.batch.answering import Answer
from dxopt.batch.outcome import Line, Outcome, summary
from dxopt.results.level import Level
from dxopt.results.report import Report
from dxopt.runtime.progress import Live

Show = Literal["reports", "details", "comparisons", "table"]


def progress_printer(live: Live) -> Callable[[Line, int, int], None]:
    """Return the function `settled` of `run_apart`, which prints the end of each problem and counts failures."""
    failed = 0

    def settled(line: Line, count: int, of: int) -> None:
        nonlocal failed
        failed += not line.delivered
        seconds = "" if line.seconds is None else f", {line.seconds:.1f} s"
        of_all = f"{count} of {of} done" + (f", {failed} failed" if failed else "")
        live.done(line.problem, f"{line.status}{seconds}", of_all, count / of)

    return settled


def print_answer(answer: Answer, show: Show) -> None:
    """Print an answer, in colour on a terminal if it can be and as plain text elsewhere."""
    console = Console()
    for part in _parts(answer, show):
        if console.is_terminal and isinstance(part, RichCast):
            console.print(part)
        else:
            console.print(str(part), markup=False, highlight=False, soft_wrap=True)


def _parts(answer: Answer, show: Show) -> Sequence[object]:
    """Return what is printed for one answer; nothing where a table of all answers follows."""
    if show == "table":
        return []
    if isinstance(answer, Level):
        told = answer.details() if show == "details" else str(answer)
        return [*_report_parts(answer.report, show), f"{answer.problem.name}: {told}"]
    if not isinstance(answer, Report):
        return [answer, *(report.details() for report in answer.reports if show == "details")]
    return [*_report_parts(answer, show), *([] if answer.comparison is None else [answer.comparison])]


def _report_parts(report: Report | None, show: Show) -> Sequence[object]:
    """Return a report as it is printed, in short or in full; nothing where comparisons alone are shown."""
    if report is None or show == "comparisons":
        return []
    return [report.details() if show == "details" else report]


def print_outcome(outcome: Outcome, output: Path, as_json: bool, *, table: bool) -> None:
    """Print the end of a run: its table or its JSON, notes and errors, and where the results are."""
    if as_json:
        typer.echo(outcome.as_json())
    elif table:
        terminal = sys.stdout is not None and sys.stdout.isatty()
        typer.echo(summary(outcome.lines, shutil.get_terminal_size().columns if terminal else None))
    warnings = [f"warning: {warning}" for warning in outcome.mild]
    for text in outcome.notes + warnings + outcome.errors:
        typer.echo(text, err=True)
    if not as_json and any(line.folder for line in outcome.lines):
        typer.echo(f"results in {output}/")
