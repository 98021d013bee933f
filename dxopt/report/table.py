"""Reports as text, for a terminal, a notebook or a log."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dxopt.reductions.record import Reduction
from dxopt.report.comparison import Comparison
from dxopt.report.result import Report

if TYPE_CHECKING:
    from rich.panel import Panel


def rows(report: Report) -> list[tuple[str, str]]:
    """What a report says, as (name, value) lines."""
    problem, proof = report.problem, report.certificate
    secrets, reports = problem.shape
    lines = [
        ("problem", f"{problem.name}: {secrets} secrets, {reports} reports, {problem.loss.name} loss"),
        ("status", f"{report.status}" + ("" if report.delivered else " (not certified optimal)")),
        ("private", f"proven, epsilon {proof.epsilon:.10g} of {problem.epsilon:.10g}"),
        ("value", f"{proof.value:.10g}"),
        ("bound", f"{proof.bound:.10g}"),
        ("gap", f"{proof.gap:.2e} (tolerance {report.tolerance:.0e})"),
        ("route", report.route),
    ]
    lines += [(f"not {name}", reason) for name, reason in report.refused.items()]
    lines += [(reduction.name, _reduced(reduction)) for reduction in report.reductions]
    lines += [(name.replace("_", " "), f"{value:.10g}") for name, value in report.evaluation.items()]
    lines += [(f"proof of {what}", how) for what, how in proof.how.items()]
    return [*lines, ("seconds", f"{report.seconds:.2f}")]


def _reduced(reduction: Reduction) -> str:
    sizes = f"{reduction.before:,} to {reduction.after:,} {reduction.of}".rstrip()
    return f"{sizes}{', exact' if reduction.exact else ''}: {reduction.note}"


def as_text(report: Report) -> str:
    """Aligned plain lines."""
    lines = rows(report)
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)


def as_panel(report: Report) -> Panel:
    """The same for a rich console."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows(report):
        table.add_row(name, Text(value))
    return Panel(table, title=Text(report.problem.name), expand=False)


def as_html(report: Report) -> str:
    """The same for a notebook."""
    cells = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for name, value in rows(report)
    )
    return f"<table>{cells}</table>"


@dataclass(frozen=True)
class Line:
    """One problem of a batch: either its report's figures or what went wrong."""

    problem: str
    size: int | None = None
    epsilon: float | None = None
    method: str = ""
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    private: bool | None = None
    status: str = ""
    seconds: float | None = None
    delivered: bool = True
    expected: str = ""
    folder: str = ""
    comparison: Comparison | None = None

    @classmethod
    def of(cls, report: Report, method: str) -> Line:
        """The line of a finished problem."""
        proof = report.certificate
        return cls(
            report.problem.name,
            len(report.problem.space),
            report.problem.epsilon,
            method,
            proof.value,
            proof.bound,
            proof.gap,
            proof.private,
            str(report.status),
            report.seconds,
            report.delivered,
            comparison=report.comparison,
        )


COLUMNS = (
    "problem",
    "n",
    "ε",
    "method",
    "value",
    "bound",
    "gap",
    "private",
    "status",
    "expected",
    "seconds",
    "result",
)


def cells(line: Line) -> list[str]:
    """A line as text, in the order of COLUMNS."""
    if line.value is None or line.bound is None or line.gap is None:
        blank = [
            "" if line.size is None else str(line.size),
            "" if line.epsilon is None else f"{line.epsilon:.5g}",
        ]
        return [line.problem, *blank, line.method, "", "", "", "", line.status, "", "", ""]
    return [
        line.problem,
        str(line.size),
        f"{line.epsilon:.5g}",
        line.method,
        f"{line.value:.7f}",
        f"{line.bound:.7f}",
        f"{line.gap:.1e}",
        "proven" if line.private else "no",
        line.status,
        line.expected,
        f"{line.seconds:.1f}",
        line.folder,
    ]


def summary(lines: Sequence[Line]) -> str:
    """The table of a batch as plain text, never cut."""
    grid = [list(COLUMNS), *(cells(line) for line in lines)]
    widths = [max(len(row[i]) for row in grid) for i in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in grid
    )
