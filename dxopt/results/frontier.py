"""The smallest expected loss against ε, as proven."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.results import folder as places
from dxopt.results.figures import plots
from dxopt.results.proven_range import ProvenRange
from dxopt.results.report import write_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frontier(ProvenRange):
    """What is proven of the least loss between two levels, at every ε.

    See `sweeping.ProvenRange` for its attributes.
    """

    @property
    def epsilons(self) -> Array:
        """The levels, `(k,)`, increasing."""
        return np.array([report.problem.epsilon for report in self.reports])

    @property
    def values(self) -> Array:
        """Losses that are possible at the levels, `(k,)`: proven, and falling, as privacy at ε is that above it."""
        return np.minimum.accumulate([report.certificate.value for report in self.reports])

    @property
    def bounds(self) -> Array:
        """Losses that nothing private at the levels is below, `(k,)`: proven, and falling for the same reason."""
        return np.maximum.accumulate([report.certificate.bound for report in self.reports][::-1])[::-1]

    @property
    def resolution(self) -> float:
        """The widest of the intervals of `between`, as a share of the whole fall values[0] - bounds[-1]."""
        fall = self.values[0] - self.bounds[-1]
        return float((self.values[:-1] - self.bounds[1:]).max() / fall) if fall > 0 else 0.0

    def between(self, epsilon: float) -> tuple[float, float]:
        """A bound that no mechanism private at this level is below, and a loss that is possible there: both proven.

        Raises
        ------
        SpecError
            If the level is outside of the frontier.
        """
        levels = self.epsilons
        if not levels[0] <= epsilon <= levels[-1]:
            raise SpecError("epsilon", f"is {epsilon:g}", f"give one from {levels[0]:g} to {levels[-1]:g}")
        above = int(np.searchsorted(levels, epsilon, side="left"))
        below = int(np.searchsorted(levels, epsilon, side="right")) - 1
        return float(self.bounds[above]), float(self.values[below])

    def figure(self) -> Figure:
        """The band that is proven, as two staircases: the least loss lies between them at every level."""
        levels = np.repeat(self.epsilons, 2)[1:-1]
        possible, bound = np.repeat(self.values[:-1], 2), np.repeat(self.bounds[1:], 2)
        figure = plots.against_epsilon(
            [
                plots.Curve("possible: proven", levels, possible),
                plots.Curve("nothing private is below: proven", levels, bound, colour=1),
                plots.Curve("mechanisms", self.epsilons, self.values, "points"),
            ],
            title=f"{self.problem.name}: resolution {self.resolution:.2g}",
            quantity=f"{self.problem.objective.title} ({self.problem.loss.name})",
            level="ε per unit of distance",
        )
        figure.axes[0].fill_between(levels, bound, possible, color=plots.COLOURS[0], alpha=0.15, linewidth=0)
        return figure

    def write(self, folder: Path) -> None:
        """Fill a result folder."""
        levels = self.epsilons.tolist()
        asked = {"from": levels[0], "to": levels[-1], "resolution": self.wanted}
        places.describe(self.problem, folder / places.DESCRIPTION, epsilon=asked)
        proven = {
            "objective": self.problem.objective.name,
            "status": str(self.status),
            "wanted": self.wanted,
            "resolution": places.finite(self.resolution),
            "epsilons": levels,
            "values": places.numbers(self.values),
            "bounds": places.numbers(self.bounds),
        }
        places.write_json(folder / places.FRONTIER, {"problem": self.problem.name, **proven})
        self.plot(folder / places.FRONTIER)
        write_parts(self.reports, folder)

    def __str__(self) -> str:
        asked = "" if self.resolution <= self.wanted else f" of {self.wanted:.3g} asked for ({self.status})"
        lines = [
            f"{self.problem.name}: {self.problem.objective.title} at {len(self.reports)} levels",
            f"resolution {self.resolution:.3g}{asked}: proven at every level between",
            f"{'epsilon':>14}  {'possible':>14}  {'bound':>14}",
        ]
        rows = zip(self.epsilons, self.values, self.bounds, strict=True)
        return "\n".join(
            [*lines, *(f"{level:>14.8g}  {value:>14.8g}  {bound:>14.8g}" for level, value, bound in rows)]
        )
