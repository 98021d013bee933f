"""Mechanisms side by side, and what is proven of every private one."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Group

_COLUMNS = ("with optimal remap", "bound", "gap", "private", "leakage (bits)")


@dataclass(frozen=True)
class Compared:
    """One mechanism of a comparison; the figures are None where it does not exist, and the note says why.

    Attributes
    ----------
    name : str
    value : float or None
        What the objective is about: by default the expected loss.
    remapped : float or None
        Expected loss once each report is replaced by the best one; None for other objectives.
    gap : float or None
        |value - bound| / max(|value|, 1e-12): how much better some private mechanism might be.
    private : bool
        Proven for the problem's ε and δ; False where no privacy is asked for.
    epsilon : float or None
        The realised level, at most the one asked; None where none is.
    leakage : float or None
        Min-entropy leakage in bits.
    note : str
        How it was found, or why it is missing.
    delta : float or None
        The realised δ, where that is asked for.
    """

    name: str
    value: float | None = None
    remapped: float | None = None
    gap: float | None = None
    private: bool = False
    epsilon: float | None = None
    leakage: float | None = None
    note: str = ""
    delta: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Mechanisms for one problem, side by side.

    Attributes
    ----------
    problem : str
    epsilon : float or None
        None where no privacy is asked for.
    rows : tuple of Compared
        First the best mechanism that was found ("optimal"), then those asked for.
    bound : float or None
        No private mechanism is better: proven.
    verdict : str or None
        For binary loss on a space that is not too large: whether the prior is regular.
    interrupted : bool
        Whether some were not started, as the run was interrupted.
    objective : str
        What the values are.
    delta : float
    """

    problem: str
    epsilon: float | None
    rows: tuple[Compared, ...]
    bound: float | None = None
    verdict: str | None = None
    interrupted: bool = False
    objective: str = "expected loss"
    delta: float = 0.0

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Comparison:
        """The inverse of `dataclasses.asdict`."""
        return cls(**{**content, "rows": tuple(Compared(**row) for row in content["rows"])})

    def __str__(self) -> str:
        grid = [self._columns(), *self._grid()]
        widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in grid
        ]
        return "\n".join([*self._head(), *lines, *self._notes()])

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        for place, column in enumerate(self._columns()):
            table.add_column(column.replace(" ", "\n"), justify="right" if place else "left")
        for row in self._grid():
            table.add_row(*(Text(cell) for cell in row))
        return Group(*(Text(line) for line in self._head()), table, *(Text(line) for line in self._notes()))

    def _repr_html_(self) -> str:
        grid = [self._columns(), *self._grid()]
        table = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in grid)
        head, notes = ("<br>".join(map(html.escape, lines)) for lines in (self._head(), self._notes()))
        return f"<p>{head}</p><table>{table}</table><p>{notes}</p>"

    def _columns(self) -> list[str]:
        return ["mechanism", self.objective, *_COLUMNS]

    def _grid(self) -> list[list[str]]:
        """The mechanisms that exist as text, in the order of the columns."""
        return [_cells(row, self.bound) for row in self.rows if row.value is not None]

    def _head(self) -> list[str]:
        asked = "no privacy asked for" if self.epsilon is None else f"epsilon {self.epsilon:.10g}"
        title = f"{self.problem}, {asked}" + (f", delta {self.delta:.10g}" if self.delta else "")
        return [title] if self.verdict is None else [title, f"the prior is {self.verdict}"]

    def _notes(self) -> list[str]:
        return [f"{row.name}: {row.note}" for row in self.rows if row.note]


def _cells(row: Compared, bound: float | None) -> list[str]:
    return [
        row.name,
        figure(row.value, ".7f"),
        figure(row.remapped, ".7f"),
        figure(bound, ".7f"),
        figure(row.gap, ".1e"),
        f"proven, {level(row.epsilon, row.delta)}" if row.private else "not asked",
        figure(row.leakage, ".4f"),
    ]


def level(epsilon: float | None, delta: float | None) -> str:
    """A level of privacy as a cell of a table: blank where there is none, with δ where there is one."""
    return figure(epsilon, ".5g") + (f", δ {delta:.3g}" if delta else "")


def figure(number: float | None, how: str) -> str:
    """A number as a cell of a table: blank where there is none."""
    return "" if number is None else format(number, how)
