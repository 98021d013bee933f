"""Mechanisms side by side, and what is proven of every private one."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

COLUMNS = ("mechanism", "expected loss", "with optimal remap", "bound", "gap", "private", "leakage (bits)")


@dataclass(frozen=True)
class Compared:
    """One mechanism of a comparison; the figures are None where it does not exist, and the note says why.

    Attributes
    ----------
    name : str
    value : float or None
        Expected loss.
    remapped : float or None
        Expected loss once each report is replaced by the best one.
    gap : float or None
        |value - bound| / max(|value|, 1e-12): how much of the loss some private mechanism might save.
    private : bool
        Proven for the problem's ε.
    epsilon : float or None
        The realised level, at most the one asked.
    leakage : float or None
        Min-entropy leakage in bits.
    note : str
        How it was found, or why it is missing.
    """

    name: str
    value: float | None = None
    remapped: float | None = None
    gap: float | None = None
    private: bool = False
    epsilon: float | None = None
    leakage: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Comparison:
    """Mechanisms for one problem, side by side.

    Attributes
    ----------
    problem : str
    epsilon : float
    rows : tuple of Compared
        First the best mechanism that was found ("optimal"), then those asked for.
    bound : float or None
        No private mechanism has an expected loss below it: proven.
    verdict : str or None
        For binary loss on a space that is not too large: whether the prior is regular.
    interrupted : bool
        Whether some were not started, as the run was interrupted.
    """

    problem: str
    epsilon: float
    rows: tuple[Compared, ...]
    bound: float | None = None
    verdict: str | None = None
    interrupted: bool = False

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Comparison:
        """The inverse of `dataclasses.asdict`."""
        return cls(**{**content, "rows": tuple(Compared(**row) for row in content["rows"])})

    def __str__(self) -> str:
        grid = [list(COLUMNS), *(_cells(row, self.bound) for row in self.rows if row.value is not None)]
        widths = [max(len(row[i]) for row in grid) for i in range(len(COLUMNS))]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in grid
        ]
        return "\n".join([*self._head(), *lines, *self._notes()])

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        grid = [_cells(row, self.bound) for row in self.rows if row.value is not None]
        table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        for column in COLUMNS:
            table.add_column(column.replace(" ", "\n"), justify="left" if column == COLUMNS[0] else "right")
        for row in grid:
            table.add_row(*(Text(cell) for cell in row))
        return Group(*(Text(line) for line in self._head()), table, *(Text(line) for line in self._notes()))

    def _repr_html_(self) -> str:
        grid = [COLUMNS, *(_cells(row, self.bound) for row in self.rows if row.value is not None)]
        table = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in grid)
        head, notes = ("<br>".join(map(html.escape, lines)) for lines in (self._head(), self._notes()))
        return f"<p>{head}</p><table>{table}</table><p>{notes}</p>"

    def _head(self) -> list[str]:
        title = f"{self.problem}, epsilon {self.epsilon:.10g}"
        return [title] if self.verdict is None else [title, f"the prior is {self.verdict}"]

    def _notes(self) -> list[str]:
        return [f"{row.name}: {row.note}" for row in self.rows if row.note]


def _cells(row: Compared, bound: float | None) -> list[str]:
    """A mechanism that exists as text, in the order of COLUMNS."""
    return [
        row.name,
        _figure(row.value, ".7f"),
        _figure(row.remapped, ".7f"),
        _figure(bound, ".7f"),
        _figure(row.gap, ".1e"),
        f"proven, {_figure(row.epsilon, '.5g')}" if row.private else "no",
        _figure(row.leakage, ".4f"),
    ]


def _figure(number: float | None, how: str) -> str:
    return "" if number is None else format(number, how)
