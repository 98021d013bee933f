"""The outcome of each problem of a batch, and the summary files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

from dxopt.errors import PlausibilityWarning
from dxopt.model.problem import Problem
from dxopt.results.figures.tables import cell, privacy_cell
from dxopt.results.folder import finite
from dxopt.results.packing import unit_names
from dxopt.results.report import Report
from dxopt.runtime.atomic_write import replacing


@dataclass(frozen=True)
class Line:
    """One problem of a batch: either its report's figures or what went wrong.

    Attributes
    ----------
    epsilon : float or None
        None where no privacy is asked for, or where the file could not be read.
    objective : str
        What `value` is.
    worst_loss : float or None
        The largest expected loss of a secret; None where it is infinite, or not known from structure.
    belief_level : float or None
        What is proven for pairs of beliefs; None where there are none.
    delivered : bool
        False if it was stopped, or an exact method did not close the gap (`Report.delivered`).
    resolution : float or None
        How closely a level or a frontier was proven, where that was asked for.
    gap : float or None
        Of a sweep, the largest one.
    sweep : sequence of dict
        The figures of each mechanism at each level, where a sweep was asked for: see `EpsilonSweep.figures`.
    units : dict
        Of `distance`, `loss` and `value`, "" where they are not known.
    warnings : sequence of dict
        What is seldom meant in the problem or its answer: `PlausibilityWarning.content` of each.
    error : str
        Why it failed, on one line; "" where it did not.
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
    worst_loss: float | None = None
    resolution: float | None = None
    private: bool | None = None
    belief_level: float | None = None
    status: str = ""
    seconds: float | None = None
    delivered: bool = True
    expected: str = ""
    folder: str = ""
    comparison: Mapping[str, Any] | None = None
    sweep: Sequence[Mapping[str, Any]] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    warnings: Sequence[Mapping[str, str]] = ()
    error: str = ""

    def with_warnings(self, found: Iterable[PlausibilityWarning]) -> Line:
        """Return the same line with warnings, as plain data for summary.json."""
        return replace(self, warnings=tuple(warning.content() for warning in found))

    @property
    def warning_lines(self) -> list[str]:
        """Warnings, one line of text each."""
        return [f"{self.problem}: {one['field']}: {one['seen']}; {one['fix']}" for one in self.warnings]

    @classmethod
    def of_unsolved(cls, problem: Problem, method: str) -> Line:
        """Return the line of a problem that is not solved yet; what only a solve can tell keeps its default."""
        return cls(
            problem.name,
            size=len(problem.space),
            epsilon=problem.epsilon if problem.private else None,
            delta=problem.delta,
            method=method,
            objective=problem.objective.title,
            units=unit_names(problem),
        )

    @classmethod
    def of(cls, report: Report, method: str) -> Line:
        """Return the line of a solved problem, from its report and the method that was asked for."""
        proof = report.certificate
        losses = report.off_prior.losses
        return replace(
            cls.of_unsolved(report.problem, method),
            value=proof.value,
            bound=proof.bound,
            gap=proof.gap,
            worst_loss=None if losses is None else finite(float(losses.max())),
            private=proof.private,
            belief_level=proof.belief_level,
            status=str(report.status),
            seconds=report.seconds,
            delivered=report.delivered,
            comparison=report.comparison and report.comparison.content(),
        )


_PROVEN = {None: "", True: "proven", False: "not asked"}
_COLUMNS: Mapping[str, Callable[[Line], str]] = {
    "problem": lambda line: line.problem,
    "n": lambda line: cell(line.size, "d"),
    "ε": lambda line: privacy_cell(line.epsilon, line.delta),
    "method": lambda line: line.method,
    "objective": lambda line: line.objective,
    "value": lambda line: cell(line.value, ".7f"),
    "bound": lambda line: cell(line.bound, ".7f"),
    "unit": lambda line: line.units.get("value", "") if line.value is not None else "",
    "gap": lambda line: cell(line.gap, ".1e"),
    "worst loss": lambda line: cell(line.worst_loss, ".4g"),
    "resolution": lambda line: cell(line.resolution, ".1e"),
    "private": lambda line: (
        "of beliefs" if line.belief_level is not None and not line.private else _PROVEN[line.private]
    ),
    "status": lambda line: line.status,
    "expected": lambda line: line.expected,
    "seconds": lambda line: cell(line.seconds, ".1f"),
    "result": lambda line: line.folder,
}
_NAME = 12
"""Fewest characters to which the name of a problem is cut."""
_DISPENSABLE = [
    "result",
    "resolution",
    "worst loss",
    "method",
    "bound",
    "objective",
    "unit",
    "n",
    "private",
    "seconds",
    "gap",
    "expected",
]
"""Columns that a narrow terminal does without, the first ones first."""


def summary(lines: Sequence[Line], width: int | None = None) -> str:
    """Return the table of a batch as plain text; columns that are blank in every line are left out.

    Parameters
    ----------
    lines : sequence of Line
    width : int, optional
        Characters of a terminal: where the table is wider, the columns that matter least are left out and named
        below, and names of problems lose their middle if that is not enough.
    """
    columns = list(zip(*_cells(lines), strict=True))
    left_out: list[str] = []
    for name in _DISPENSABLE:
        if width is None or _table_width(columns) <= width:  # not for a terminal, or narrow enough
            break
        kept = [column for column in columns if column[0] != name]
        left_out += [name] if len(kept) < len(columns) else []
        columns = kept
    if width is not None and columns and (over := _table_width(columns) - width) > 0:
        room = max(max(map(len, columns[0])) - over, _NAME)
        columns[0] = tuple(_shorten(name, room) for name in columns[0])
    padded = [[text.ljust(max(map(len, column))) for text in column] for column in columns]
    shown = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    return "\n".join([*shown, f"not shown: {', '.join(left_out)}"] if left_out else shown)


def _table_width(columns: Sequence[Sequence[str]]) -> int:
    """Return the characters in the widest row of the table, with two blanks between columns."""
    return sum(max(map(len, column)) + 2 for column in columns) - 2


def _shorten(text: str, room: int) -> str:
    """Cut the middle of a text of more than `room` characters, as names of a family differ at their ends."""
    end = (room - 1) // 2
    return text if len(text) <= room else f"{text[: room - 1 - end]}…{text[len(text) - end :]}"


def markdown(lines: Sequence[Line]) -> str:
    """Return the table of at least one line in Markdown."""
    head, *rest = ([_escape_cell(text) for text in row] for row in _cells(lines))
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rest))


def _escape_cell(text: str) -> str:
    """Escape a cell of Markdown: a bar would end it, and an open comment of HTML would hide all below."""
    return escape(text.replace("\\", "\\\\").replace("|", "\\|"), quote=False)


def _cells(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    """Return the rows of the table, its head first, without columns that are blank in every line."""
    columns = [(name, *map(text, lines)) for name, text in _COLUMNS.items()]
    return list(zip(*(column for column in columns if any(column[1:])), strict=True))


SUMMARY: tuple[str, ...] = ("summary.json", "summary.md")


@dataclass(frozen=True)
class Done:
    """The outcome of one problem.

    Attributes
    ----------
    line : Line
    error : str
        A line of text for each thing that is wrong.
    bad_input : bool
    interrupted : bool
        Whether it was asked to stop before its end.
    unread : str
        The file, where that could not be read, for all of its problems.
    strict : bool
        Whether its warnings count as errors.
    """

    line: Line
    error: str = ""
    bad_input: bool = False
    interrupted: bool = False
    unread: str = ""
    strict: bool = False

    def strictly(self, strict: bool) -> Done:
        """Return the same outcome; as bad input if `strict` is set and it has warnings."""
        if not (strict and self.line.warnings):
            return self
        return replace(self, strict=True, bad_input=True)

    @property
    def errors(self) -> list[str]:
        """Return one line of text for each thing that is wrong, strict warnings among them."""
        return [*self.error.splitlines(), *(f"{text} (--strict)" for text in self.line.warning_lines if self.strict)]


@dataclass
class Outcome:
    """The outcome of a batch.

    Attributes
    ----------
    lines : list of Line
        One per problem, in order; a file that could not be read is one line.
    errors : list of str
        One line of text per file or problem that failed.
    bad_input : bool
    notes : list of str
        One line of text each, on what earlier runs left.
    mild : list of str
        One line of text for each warning that is not counted as an error.
    """

    lines: list[Line] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    bad_input: bool = False
    notes: list[str] = field(default_factory=list)
    mild: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, results: Iterable[Done]) -> Outcome:
        """Collect the outcomes of problems, in the order of the problems."""
        outcome = cls()
        unread: set[str] = set()
        for done in results:
            # a file that cannot be read is one line, whatever number of problems it has
            if done.unread and done.unread in unread:
                continue
            unread.add(done.unread)
            outcome.lines.append(replace(done.line, error=" ".join(done.errors)))
            outcome.errors += done.errors
            outcome.mild += [] if done.strict else done.line.warning_lines
            outcome.bad_input |= done.bad_input
        return outcome

    @property
    def warnings(self) -> list[str]:
        """One line of text for each plausibility warning, in the order of the problems."""
        return [text for line in self.lines for text in line.warning_lines]

    @property
    def exit_code(self) -> int:
        """0 if all is done, 1 if something failed or is not certified within its limits, 2 on bad input."""
        if self.bad_input:
            return 2
        return 0 if all(line.delivered for line in self.lines) else 1

    def as_json(self) -> str:
        """Return the lines and errors as JSON."""
        content = {"problems": list(map(asdict, self.lines)), "errors": self.errors}
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

    def as_markdown(self) -> str:
        """Return the table, the warnings and the errors in Markdown."""
        parts = ["# Batch", markdown(self.lines)]
        if self.warnings:
            parts += ["## Warnings", "\n".join(f"- {_as_code(warning)}" for warning in self.warnings)]
        if self.errors:
            parts += ["## Errors", "\n".join(f"- {_as_code(error)}" for error in self.errors)]
        return "\n\n".join(parts)

    def save(self, folder: Path) -> None:
        """Write summary.json and summary.md.

        Raises
        ------
        SpecError
            If the folder cannot be written.
        """
        for name, text in zip(SUMMARY, (self.as_json(), self.as_markdown()), strict=True):
            with replacing(folder / name, "output", "make room or name another") as stream:
                stream.write(f"{text}\n".encode())


def _as_code(text: str) -> str:
    """Write text as code in Markdown, between more ticks than it has in a row, so that it cannot end the code."""
    ticks = [len(run) for run in re.findall("`+", text)]
    fence = "`" * (max(ticks, default=0) + 1)
    return f"{fence} {text} {fence}" if ticks else f"{fence}{text}{fence}"
