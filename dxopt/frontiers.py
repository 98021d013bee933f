"""The least loss against ε: levels laid closer until what is proven between them is narrow enough."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dxopt.attempts import Progress
from dxopt.errors import SpecError
from dxopt.objective import AdversaryError
from dxopt.problem import Problem
from dxopt.program import Status
from dxopt.report import places, plots
from dxopt.report.folder import write_parts
from dxopt.stopping import Stop
from dxopt.sweeping import ProvenRange, answering, ended, positive

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
_NEXT_TO = 1e-9
"""Levels nearer to each other than this, relative, are not told apart any further."""


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


def frontier(
    problem: Problem,
    low: float,
    high: float,
    *,
    resolution: float = 0.01,
    solver: str = "auto",
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Frontier:
    """The least loss against ε from `low` to `high`, to a proven resolution.

    The least loss falls as ε grows: between levels a < b it is at most the value at a and at least the bound at b.
    Where these are furthest apart, the next level is laid, halfway on a logarithmic scale, until they are nowhere
    further apart than `resolution` times the whole fall from the value at `low` to the bound at `high`. That takes
    1 / resolution levels and some more; each starts from the answer at its neighbour.

    Parameters
    ----------
    problem : Problem
        Its expected loss or worst loss counts; δ and pairs are kept, its own ε does not matter.
    low, high : float
        Levels.
    resolution : float
        A share of the whole fall, between 0 and 1.
    solver, tolerance
        As for `dx.solve`, at each level.
    time_limit : float, optional
        Seconds for all. At the limit, or at Ctrl-C, what was solved is returned with the resolution that it has.
    progress : callable, optional
        Given a line of text now and then.

    Raises
    ------
    SpecError
        If a parameter is out of range, or the objective has a loss budget of its own (see `dx.budget_frontier`).
    """
    if isinstance(problem.objective, AdversaryError):
        raise SpecError("objective", "has a loss budget of its own", "use dx.budget_frontier, or another objective")
    least, most = positive("low", low), positive("high", high)
    if not least < most:
        raise SpecError("high", f"is {most:g}, not above {least:g}", "give a larger one")
    if not 0 < resolution < 1:
        raise SpecError("resolution", f"is {resolution:g}", "give a number between 0 and 1")
    with Stop(time_limit) as stop:
        answer = answering(solver, progress, stop)
        reports = [answer(problem.at(least), tolerance, None)]
        reports.append(answer(problem.at(most), tolerance, reports[0]))
        found = Frontier(problem, tuple(reports), resolution, Status.FEASIBLE)
        while (place := _widest(found)) is not None and not stop.requested:
            below, above = reports[place], reports[place + 1]
            level = math.sqrt(below.problem.epsilon * above.problem.epsilon)
            reports.insert(place + 1, answer(problem.at(level), tolerance, below))
            found = Frontier(problem, tuple(reports), resolution, Status.FEASIBLE)
        status = ended(found.resolution <= resolution, found.reports, stop)
    return replace(found, status=status)


def _widest(found: Frontier) -> int | None:
    """Between which level and the next one least is proven, of those where a level between may help; None if none."""
    values, bounds, levels = found.values, found.bounds, found.epsilons
    widths = values[:-1] - bounds[1:]
    gaps = (values - bounds)[:-1] + (values - bounds)[1:]
    helps = (
        (widths > found.wanted * (values[0] - bounds[-1]))
        & (widths > gaps)
        & (levels[1:] > levels[:-1] * (1 + _NEXT_TO))
    )
    return int(np.where(helps, widths, -np.inf).argmax()) if helps.any() else None
