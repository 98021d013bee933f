"""The outcome of each problem of a batch, and the summary files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from dxopt.batch.table import Line, markdown
from dxopt.runtime.whole import replacing

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
    finished : bool
        Whether it was finished by an earlier run.
    strict : bool
        Whether its warnings count as errors.
    """

    line: Line
    error: str = ""
    bad_input: bool = False
    interrupted: bool = False
    unread: str = ""
    finished: bool = False
    strict: bool = False

    def strictly(self, strict: bool) -> Done:
        """The same, as bad input where it has warnings that count as such."""
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
        """The outcome of problems in their order."""
        outcome = cls()
        unread: set[str] = set()
        for done in results:
            # A file that cannot be read is one line, however many problems it was to have.
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
        """0 done, 1 not certified within limits (or failed), 2 bad input."""
        if self.bad_input:
            return 2
        return 0 if all(line.delivered for line in self.lines) else 1

    def as_json(self) -> str:
        """The lines and errors for machines."""
        content = {"problems": [line.content() for line in self.lines], "errors": self.errors}
        return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)

    def as_markdown(self) -> str:
        """The table and the errors."""
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
            write_text(folder / name, text + "\n")


def _as_code(text: str) -> str:
    """Text as code in Markdown, between more ticks than it has in a row: it could end the code, and go on as HTML."""
    ticks = [len(run) for run in re.findall("`+", text)]
    fence = "`" * (max(ticks, default=0) + 1)
    return f"{fence} {text} {fence}" if ticks else f"{fence}{text}{fence}"


def write_text(path: Path, text: str) -> None:
    """Write a file all at once: what was there stays until the new one is complete.

    Raises
    ------
    SpecError
        If it cannot be written.
    """
    with replacing(path, "output", "make room or name another") as stream:
        stream.write(text.encode())
