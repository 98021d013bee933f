"""Answers with a figure and tables: the same lines and tables in a terminal, in a notebook and as text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dxopt.results.figures import plots
from dxopt.results.figures.tables import Grid, aligned, as_rich_tables
from dxopt.runtime.shown import as_html_table, as_html_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Group


class Plotted(ABC):
    """An answer with a figure, and with lines of text and tables."""

    @property
    @abstractmethod
    def figures(self) -> list[dict[str, Any]]:
        """The rows of its table, by the names of the columns."""

    @abstractmethod
    def _parts(self, digits: str) -> Iterable[str | Grid]:
        """Yield its lines and tables, whose values have so many digits."""

    def __str__(self) -> str:
        lines = ([part] if isinstance(part, str) else aligned(part) for part in self._parts(".7f"))
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
        """The figure."""

    def plot(self, save: str | Path | None = None) -> Figure:
        """The figure, which a notebook shows.

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
        return plots.shown(self.figure(), save)
