"""What the two frontiers share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dxopt.model.problem import Problem
from dxopt.results import folder as places
from dxopt.results.figures import plots
from dxopt.results.report import Report
from dxopt.runtime.stopping import Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class ProvenRange(ABC):
    """What is proven of a quantity along a range, from answers at some places of it.

    Attributes
    ----------
    problem : Problem
    reports : tuple of k Report
        One for each place, increasing.
    wanted : float
        The resolution that was asked for.
    status : Status
        `optimal`: it was reached, or what is left is the gaps of reports that are within their tolerance.
        `feasible`: what is left is larger gaps. `interrupted` and `time limit`: stopped before.
    """

    problem: Problem
    reports: tuple[Report, ...]
    wanted: float
    status: Status

    @abstractmethod
    def figure(self) -> Figure:
        """What is possible, and what is proven."""

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Fill a result folder."""

    def plot(self, file: str | Path) -> tuple[Path, Path]:
        """Write the figure as `file.svg` and `file.png`; the folder is made where it is missing."""
        return plots.write(self.figure(), file)

    def save(self, folder: str | Path) -> Path:
        """Write a result folder: what was asked, frontier.json with what is proven, and the figure.

        The reports that prove it are in `parts`, a result folder for each. An earlier result there is replaced.
        """
        return places.place(Path(folder), self.write)
