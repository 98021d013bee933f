"""What the command line prints of answers, and at the end of a batch."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import typer

from dxopt.batch.answering import Answer
from dxopt.batch.outcome import Outcome
from dxopt.batch.table import summary
from dxopt.results.level import Level
from dxopt.results.report import Report

Show = Literal["reports", "details", "comparisons", "table"]


def printed_parts(answer: Answer, show: Show) -> Sequence[object]:
    """What is printed of an answer, nothing where a table follows at the end."""
    if show == "table":
        return []
    if isinstance(answer, Level):
        told = answer.details() if show == "details" else str(answer)
        return [*_report(answer.report, show), f"{answer.problem.name}: {told}"]
    if not isinstance(answer, Report):
        return [answer, *(report.details() for report in answer.reports if show == "details")]
    return [*_report(answer, show), *([] if answer.comparison is None else [answer.comparison])]


def _report(report: Report | None, show: Show) -> Sequence[object]:
    """A report in ten lines, or with everything."""
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
    warnings = [f"warning: {warning}" for warning in outcome.warnings if warning not in outcome.counted]
    for text in outcome.notes + warnings + outcome.errors:
        typer.echo(text, err=True)
    if not as_json and any(line.folder for line in outcome.lines):
        typer.echo(f"results in {output}/")
