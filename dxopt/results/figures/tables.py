"""Lines and tables as text, for a terminal, a notebook or a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dxopt.runtime.shown import Lines

if TYPE_CHECKING:
    from rich.panel import Panel
    from rich.table import Table

Grid = Sequence[Sequence[str]]
"""A table as text: the names of the columns, then the rows."""
_COLUMNS = 6
"""That many besides the first fit a terminal."""


def as_text(lines: Lines) -> str:
    """Return lines as plain text, the names in a column of their own."""
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)


def as_panel(title: str, lines: Lines) -> Panel:
    """Return lines in a frame for a rich console."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in lines:
        table.add_row(name, Text(value))
    return Panel(table, title=Text(title), expand=False)


def aligned(table: Grid) -> list[str]:
    """Return a table as lines of plain text, never cut."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def as_rich_tables(table: Grid) -> Iterator[Table]:
    """Yield a table, the header first, for a rich console: in parts that fit, each with the first column."""
    from rich.table import Table
    from rich.text import Text

    first, *columns = zip(*table, strict=True)
    for start in range(0, len(columns), _COLUMNS):
        (header, *body) = zip(first, *columns[start : start + _COLUMNS], strict=True)
        drawn = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        for position, column in enumerate(header):
            drawn.add_column(column.replace(" ", "\n").replace("_", "_\n"), justify="right" if position else "left")
        for row in body:
            drawn.add_row(*(Text(cell) for cell in row))
        yield drawn


def cell(number: float | None, how: str) -> str:
    """Return a number as a cell of a table: blank where there is none."""
    return "" if number is None else format(number, how)


def privacy_cell(epsilon: float | None, delta: float | None) -> str:
    """Return ε as a cell of a table: blank where there is none, with δ where there is one."""
    return cell(epsilon, ".3g") + (f", δ {delta:.3g}" if delta else "")
