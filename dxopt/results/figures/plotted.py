"""Answers that draw themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Plotted(ABC):
    """An answer with a figure."""

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
