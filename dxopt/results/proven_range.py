"""What the two frontiers share: reports at points of a range, and what they prove between them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import PlausibilityWarning, SpecError
from dxopt.model.plausibility import common
from dxopt.model.problem import Problem
from dxopt.results.claims import FORMAT
from dxopt.results.figures import plots
from dxopt.results.figures.plotted import Plotted
from dxopt.results.figures.tables import Grid
from dxopt.results.files import FRONTIER, Contents, finite, numbers
from dxopt.results.report import Report
from dxopt.results.result import Result, parts
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import in_unit

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ProvenRange(Plotted, Result):
    """What is proven of a quantity along a range, from answers at some points of it.

    Attributes
    ----------
    problem : Problem
    reports : tuple of k Report
        One for each point, increasing.
    wanted : float
        The resolution that was asked for.
    status : Status
        `optimal`: it was reached, or what is left is the gaps of reports that are within their tolerance.
        `feasible`: what is left is larger gaps. `interrupted` and `time limit`: stopped before.
    """

    ALONG: ClassVar[str]
    """What the range is of, as a property and in frontier.json."""
    POINTS: ClassVar[str]
    """What its points are called."""

    problem: Problem
    reports: tuple[Report, ...]
    wanted: float
    status: Status

    @property
    def warnings(self) -> tuple[PlausibilityWarning, ...]:
        """What is seldom meant in the question or its answers: the warnings that all reports have."""
        return common(report.warnings for report in self.reports)

    @property
    @abstractmethod
    def values(self) -> Array:
        """What is possible at the points, `(k,)`: proven."""

    @property
    @abstractmethod
    def bounds(self) -> Array:
        """What nothing is better than at the points, `(k,)`: proven."""

    @property
    @abstractmethod
    def resolution(self) -> float:
        """How far what is possible and what is proven are apart at most, as a share of the whole range of values."""

    @property
    def figures(self) -> list[dict[str, Any]]:
        """What is possible and what is proven at each point, by the names of the columns."""
        columns = {name: column.tolist() for name, column in self._columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def contents(self) -> Contents:
        """The files of a result folder by name: frontier.json with what is proven, and the figure.

        The reports that prove it are in `parts`, a result folder for each.
        """
        points = self._points().tolist()
        proven = {
            "format": FORMAT,
            "problem": self.problem.name,
            "objective": self.problem.objective.name,
            "status": str(self.status),
            "wanted": self.wanted,
            "resolution": finite(self.resolution),
            self.ALONG: points,
            "values": numbers(self.values),
            "bounds": numbers(self.bounds),
            **self._further(),
        }
        return {
            FRONTIER: proven,
            **plots.pictures("frontier", self.figure()),
            **parts(self.reports),
        }

    def _said(self) -> str:
        points = self._points()
        span = f"{len(points)} {self.POINTS} from {points[0]:.3g} to {points[-1]:.3g}"
        return f"{self.problem.name}: {span}, resolution {self.resolution:.2g}, {self.status}"

    def _parts(self, digits: str) -> Iterable[str | Grid]:
        asked = "" if self.resolution <= self.wanted else f" of {self.wanted:.3g} asked for ({self.status})"
        title = f"{self.problem.objective.title}{in_unit(self.problem.unit)}"
        yield from (f"warning: {warning}" for warning in self.warnings)
        yield f"{self.problem.name}: {title} at {len(self.reports)} {self.POINTS}"
        yield f"resolution {self.resolution:.3g}{asked}{self._remark()}"
        columns = self._columns()
        rows = zip(*columns.values(), strict=True)
        yield [[*columns], *([f"{number:{digits}}" for number in row] for row in rows)]

    def _points(self) -> Array:
        """The points, `(k,)`, increasing."""
        return getattr(self, self.ALONG)

    def _require_inside(self, name: str, point: float) -> Array:
        """The points; SpecError unless a point, given under a name, is between the first and the last of them."""
        points = self._points()
        if not points[0] <= point <= points[-1]:
            raise SpecError(name, f"is {point:g}", f"give one from {points[0]:g} to {points[-1]:g}")
        return points

    def _further(self) -> dict[str, Any]:
        """Further entries of frontier.json, on what is proven."""
        return {}

    @abstractmethod
    def _remark(self) -> str:
        """What follows the resolution in text."""

    @abstractmethod
    def _columns(self) -> dict[str, Array]:
        """The table in text: names of columns, and their numbers."""
