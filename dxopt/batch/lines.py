"""Reports as text, for a terminal, a notebook or a log."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dxopt.analysis import evaluate
from dxopt.model.problem import Problem
from dxopt.proofs.candidate import AppliedReduction
from dxopt.results.comparison import Comparison, figure, level
from dxopt.results.report import Report

if TYPE_CHECKING:
    from rich.panel import Panel


def rows(report: Report) -> list[tuple[str, str]]:
    """What a report says, as (name, value) lines."""
    problem, proof = report.problem, report.certificate
    secrets, reports = problem.shape
    wanted = f"{'least' if problem.objective.sign > 0 else 'largest'} {problem.objective.title}"
    lines = [
        ("problem", f"{problem.name}: {secrets} secrets, {reports} reports, {problem.loss.name} loss; {wanted}"),
        ("status", f"{report.status}" + ("" if report.delivered else " (not certified optimal)")),
        ("private", _private(report)),
        ("value", f"{proof.value:.10g} ({problem.objective.title})"),
        ("bound", f"{proof.bound:.10g}"),
        ("gap", f"{proof.gap:.2e} (tolerance {report.tolerance:.0e})"),
        ("route", report.route),
    ]
    if math.isfinite(problem.objective.max_loss):
        lines.append(("expected loss", _spent(report)))
    lines += [(f"not {name}", reason) for name, reason in report.refused.items()]
    lines += [(reduction.name, _reduced(reduction)) for reduction in report.reductions]
    lines += [(name.replace("_", " "), f"{value:.10g}") for name, value in report.evaluation.items()]
    lines += [(f"proof of {what}", how) for what, how in proof.how.items()]
    return [*lines, ("seconds", f"{report.seconds:.2f}")]


def _private(report: Report) -> str:
    problem, proof = report.problem, report.certificate
    if not problem.private:
        return "not asked for"
    if problem.delta:
        return f"proven, epsilon {proof.epsilon:.10g}, delta {proof.delta:.6g} of {problem.delta:.6g}"
    return f"proven, epsilon {proof.epsilon:.10g} of {problem.epsilon:.10g}"


def _spent(report: Report) -> str:
    problem = report.problem
    spent = evaluate.expected_loss(report.mechanism, problem.prior, problem.loss)
    return f"{spent:.10g} of at most {problem.objective.max_loss:.10g}"


def _reduced(reduction: AppliedReduction) -> str:
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
    """One problem of a batch: either its report's figures or what went wrong.

    Attributes
    ----------
    epsilon : float or None
        None where no privacy is asked for, or where the file could not be read.
    objective : str
        What `value` is.
    resolution : float or None
        How closely a level or a frontier was proven, where that was asked for.
    gap : float or None
        Of a sweep, the largest one.
    sweep : sequence of dict
        The figures of each mechanism at each level, where a sweep was asked for: see `EpsilonSweep.figures`.
    """

    problem: str
    size: int | None = None
    epsilon: float | None = None
    delta: float = 0.0
    method: str = ""
    objective: str = ""
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    resolution: float | None = None
    private: bool | None = None
    status: str = ""
    seconds: float | None = None
    delivered: bool = True
    expected: str = ""
    folder: str = ""
    comparison: Comparison | None = None
    sweep: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def asked(cls, problem: Problem, method: str) -> Line:
        """The line of a problem that is not solved yet."""
        return cls(
            problem.name,
            size=len(problem.space),
            epsilon=problem.epsilon if problem.private else None,
            delta=problem.delta,
            method=method,
            objective=problem.objective.title,
        )

    @classmethod
    def of(cls, report: Report, method: str) -> Line:
        """The line of a finished problem."""
        proof = report.certificate
        return replace(
            cls.asked(report.problem, method),
            value=proof.value,
            bound=proof.bound,
            gap=proof.gap,
            private=proof.private,
            status=str(report.status),
            seconds=report.seconds,
            delivered=report.delivered,
            comparison=report.comparison and report.comparison.proven_by(None),
        )


COLUMNS = (
    "problem",
    "n",
    "ε",
    "method",
    "objective",
    "value",
    "bound",
    "gap",
    "resolution",
    "private",
    "status",
    "expected",
    "seconds",
    "result",
)


def cells(line: Line) -> list[str]:
    """A line as text, in the order of COLUMNS."""
    proof = {None: "", True: "proven", False: "not asked"}
    return [
        line.problem,
        figure(line.size, "d"),
        level(line.epsilon, line.delta),
        line.method,
        line.objective,
        figure(line.value, ".7f"),
        figure(line.bound, ".7f"),
        figure(line.gap, ".1e"),
        figure(line.resolution, ".1e"),
        proof[line.private],
        line.status,
        line.expected,
        figure(line.seconds, ".1f"),
        line.folder,
    ]


_NAME = 12
"""No name of a problem is cut to fewer characters."""
_DISPENSABLE = ("result", "resolution", "method", "bound", "objective", "n", "private", "seconds", "gap", "expected")


def summary(lines: Sequence[Line], width: int | None = None) -> str:
    """The table of a batch as plain text; columns that are blank in every line are left out.

    Parameters
    ----------
    lines : sequence of Line
    width : int, optional
        Characters of a terminal: where the table is wider, columns that say least are left out and named below, and
        names of problems lose their middle if that is not enough.
    """
    columns, left_out = list(zip(*_grid(lines), strict=True)), []
    for name in _DISPENSABLE:
        if width is None or _wide(columns) <= width:
            break
        kept = [column for column in columns if column[0] != name]
        left_out += [name] if len(kept) < len(columns) else []
        columns = kept
    if width is not None and columns and (over := _wide(columns) - width) > 0:
        room = max(max(map(len, columns[0])) - over, _NAME)
        columns[0] = tuple(_cut(name, room) for name in columns[0])
    cells = [[cell.ljust(max(map(len, column))) for cell in column] for column in columns]
    told = ["  ".join(row).rstrip() for row in zip(*cells, strict=True)]
    return "\n".join([*told, f"not shown: {', '.join(left_out)}"] if left_out else told)


def _wide(columns: Sequence[Sequence[str]]) -> int:
    return sum(max(map(len, column)) + 2 for column in columns) - 2


def _cut(text: str, room: int) -> str:
    """The text, without its middle where there is no room for it."""
    end = (room - 1) // 2
    return text if len(text) <= room else f"{text[: room - 1 - end]}…{text[len(text) - end :]}"


def markdown(lines: Sequence[Line]) -> str:
    """The same as a table in Markdown."""
    head, *rest = ([cell.replace("\\", "\\\\").replace("|", "\\|") for cell in row] for row in _grid(lines))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rest))


def _grid(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    """The names of the columns, and the cells of every line."""
    columns = [column for column in zip(COLUMNS, *map(cells, lines), strict=True) if any(column[1:])]
    return list(zip(*columns, strict=True))
