"""Lines and tables as text, for a terminal, a notebook or a log, and answers that draw themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dxopt.errors import one_line
from dxopt.numerics.number_syntax import level_text
from dxopt.results.figures import plots
from dxopt.runtime.display import Lines, as_html_table, as_html_text
from dxopt.words.phrases import aligned

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table


Grid = Sequence[Sequence[str]]
"""A table as text: the names of the columns, then the rows."""
_COLUMNS = 6
"""That many besides the first fit a terminal."""


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


def as_rich_tables(table: Grid) -> Iterator[Table]:
    """Yield a table for a rich console, split by columns into parts that fit; each repeats the first column."""
    from rich.table import Table
    from rich.text import Text

    first, *columns = zip(*table, strict=True)
    for start in range(0, len(columns), _COLUMNS):
        (header, *body) = zip(first, *columns[start : start + _COLUMNS], strict=True)
        drawn = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
        for position, column in enumerate(header):
            # names of columns may wrap, also at underscores
            drawn.add_column(column.replace(" ", "\n").replace("_", "_\n"), justify="right" if position else "left")
        for row in body:
            drawn.add_row(*(Text(cell) for cell in row))
        yield drawn


def cell(number: float | None, how: str) -> str:
    """Return a number as a cell of a table: blank where there is none."""
    return "" if number is None else format(number, how)


def privacy_cell(epsilon: float | None, delta: float | None) -> str:
    """Return ε as a cell of a table: blank where there is none, with δ where there is one."""
    return ("" if epsilon is None else level_text(epsilon)) + (f", δ {level_text(delta)}" if delta else "")


class Plotted(ABC):
    """An answer with a figure, and with lines of text and tables."""

    @property
    @abstractmethod
    def figures(self) -> list[dict[str, Any]]:
        """The rows of its table, by the names of the columns."""

    @abstractmethod
    def _parts(self, digits: str) -> Iterable[str | Grid]:
        """Yield its lines and tables, with values in the format `digits`, such as ".3g"."""

    def __str__(self) -> str:
        lines = ([one_line(part)] if isinstance(part, str) else aligned(part) for part in self._parts(".7f"))
        return "\n".join(line for several in lines for line in several)

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        drawn = ([Text(part)] if isinstance(part, str) else as_rich_tables(part) for part in self._parts(".7f"))
        return Group(*(one for several in drawn for one in several))

    def _repr_html_(self) -> str:
        html = (as_html_text([part]) if isinstance(part, str) else as_html_table(part) for part in self._parts(".3g"))
        return "".join(html)

    @abstractmethod
    def figure(self) -> Figure:
        """Draw the figure."""

    def plot(self, save: str | Path | None = None) -> Figure:
        """Draw the figure, which a notebook shows.

        Parameters
        ----------
        save : str or Path, optional
            A file to write, `*.svg`, `*.png` or `*.pdf`; without an ending, both of the first two. Its folder is made
            where it is missing.

        Raises
        ------
        SpecError
            If the ending is another one, or the file cannot be written.

        Examples
        --------
        >>> import dxopt as dx
        >>> from pathlib import Path
        >>> comparison = dx.compare(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"), ["geometric"])
        >>> figure = comparison.plot(save="figures/line.svg")
        >>> print(Path("figures/line.svg").is_file())
        True
        """
        return plots.saved_if_asked(self.figure(), save)
