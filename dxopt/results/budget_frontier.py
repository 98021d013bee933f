"""The largest error of an adversary against the loss budget, as proven."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.objective import AdversaryError
from dxopt.model.problem import Problem
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.duals import AdversaryDual
from dxopt.results import folder as places
from dxopt.results.figures import plots
from dxopt.results.proven_range import ProvenRange
from dxopt.results.report import write_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

_INSIDE = 1e-3


@dataclass(frozen=True, eq=False)
class BudgetFrontier(ProvenRange):
    """What is proven of the adversary's largest error between two loss budgets, at every budget.

    See `sweeping.ProvenRange` for its attributes.
    """

    @property
    def budgets(self) -> Array:
        """The loss budgets, `(k,)`, increasing."""
        return np.array([report.problem.objective.max_loss for report in self.reports])

    @property
    def values(self) -> Array:
        """Errors that are possible within the budgets, `(k,)`: proven."""
        return np.array([report.certificate.value for report in self.reports])

    @property
    def bounds(self) -> Array:
        """Errors that nothing within the budgets is above, `(k,)`: proven."""
        return np.array([report.certificate.bound for report in self.reports])

    @property
    def prices(self) -> Array:
        """What a unit of loss buys in error at each budget, `(k,)`: a slope that proves a bound at every budget."""
        duals = [report.dual for report in self.reports]
        return np.array([max(dual.price, 0.0) if isinstance(dual, AdversaryDual) else 0.0 for dual in duals])

    @property
    def resolution(self) -> float:
        """The furthest that tangents are above the chord, as a share of the whole rise bounds[-1] - values[0]."""
        rise = self.bounds[-1] - self.values[0]
        return float(max(self.widest()[1].max() / rise, 0.0)) if rise > 0 else 0.0

    @property
    def breakpoints(self) -> Array:
        """Budgets where the slope changes, as far as the resolution tells: the error is linear between them.

        Those of the solved budgets whose error is further above the chord of their neighbours than the resolution
        asked for, where the tangents of both neighbours meet.
        """
        budgets, values = self.budgets, self.values
        share = (budgets[1:-1] - budgets[:-2]) / (budgets[2:] - budgets[:-2])
        chord = values[:-2] + share * (values[2:] - values[:-2])
        allowed = self.wanted * (self.bounds[-1] - values[0])
        straight = self.widest()[1] <= allowed
        kinked = (values[1:-1] - chord > allowed) & straight[:-1] & straight[1:]
        return budgets[1:-1][kinked]

    def widest(self) -> tuple[Array, Array]:
        """Where tangents next to each other meet, and the most that both are above the chord between their budgets.

        That is where they meet, or at an end if they meet outside; the first array is then well inside all the same.
        """
        budgets, bounds, prices = self.budgets, self.bounds, self.prices
        first, second, width = budgets[:-1], budgets[1:], np.diff(budgets)
        turn = prices[:-1] - prices[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = (bounds[1:] - bounds[:-1] - prices[1:] * second + prices[:-1] * first) / turn
        meet = np.where(turn > 0, meet, 0.5 * (first + second))
        inside = np.clip(meet, first + _INSIDE * width, second - _INSIDE * width)
        above = [self._tangents(at) - self._chords(at) for at in (first, np.clip(meet, first, second), second)]
        return inside, np.max(above, axis=0)

    def _tangents(self, places: Array) -> Array:
        """The lower of two tangents at a place between each budget and the next one, `(k - 1,)`."""
        budgets, bounds, prices = self.budgets, self.bounds, self.prices
        rising = bounds[:-1] + prices[:-1] * (places - budgets[:-1])
        return np.minimum(rising, bounds[1:] + prices[1:] * (places - budgets[1:]))

    def _chords(self, places: Array) -> Array:
        """The chord at a place between each budget and the next one, `(k - 1,)`."""
        share = (places - self.budgets[:-1]) / np.diff(self.budgets)
        return self.values[:-1] + share * np.diff(self.values)

    def between(self, max_loss: float) -> tuple[float, float]:
        """An error that is possible within this budget, and a bound that none is above.

        The first is that of a mixture of two mechanisms, up to its rounding; the second is proven by their duals.

        Raises
        ------
        SpecError
            If the budget is outside of the frontier.
        """
        budgets = self.budgets
        if not budgets[0] <= max_loss <= budgets[-1]:
            raise SpecError("max_loss", f"is {max_loss:g}", f"give one from {budgets[0]:g} to {budgets[-1]:g}")
        place = max(int(np.searchsorted(budgets, max_loss)) - 1, 0)
        posed = _within(self.problem, max_loss)
        bounds = [proven_bound(posed, report.dual)[0] for report in self.reports[place : place + 2]]
        return float(np.interp(max_loss, budgets, self.values)), min(bounds)

    def figure(self) -> Figure:
        """The errors that are possible, and the tangents that none is above."""
        inside, _ = self.widest()
        places = np.concatenate([self.budgets, inside])
        order = np.argsort(places)
        bounds = np.concatenate([self.bounds, self._tangents(inside)])
        return plots.against_epsilon(
            [
                plots.Curve("possible", self.budgets, self.values),
                plots.Curve("nothing is above: proven", places[order], bounds[order], "dashed", colour=1),
                plots.Curve("mechanisms", self.budgets, self.values, "points"),
            ],
            title=f"{self.problem.name}: resolution {self.resolution:.2g}",
            quantity=self.problem.objective.title,
            level=f"loss budget ({self.problem.loss.name})",
        )

    def write(self, folder: Path) -> None:
        """Fill a result folder."""
        budgets, wanted = self.budgets.tolist(), self.problem.objective.name
        asked = {"from": budgets[0], "to": budgets[-1], "resolution": self.wanted}
        places.describe(self.problem, folder / places.DESCRIPTION, objective={"kind": wanted, "max_loss": asked})
        proven = {
            "objective": wanted,
            "epsilon": places.finite(self.problem.epsilon),
            "status": str(self.status),
            "wanted": self.wanted,
            "resolution": places.finite(self.resolution),
            "budgets": budgets,
            "values": places.numbers(self.values),
            "bounds": places.numbers(self.bounds),
            "prices": places.numbers(self.prices),
            "breakpoints": self.breakpoints.tolist(),
        }
        places.write_json(folder / places.FRONTIER, {"problem": self.problem.name, **proven})
        self.plot(folder / places.FRONTIER)
        write_parts(self.reports, folder)

    def __str__(self) -> str:
        asked = "" if self.resolution <= self.wanted else f" of {self.wanted:.3g} asked for ({self.status})"
        lines = [
            f"{self.problem.name}: {self.problem.objective.title} at {len(self.reports)} budgets",
            f"resolution {self.resolution:.3g}{asked}; {len(self.breakpoints)} breakpoints",
            f"{'max_loss':>14}  {'possible':>14}  {'bound':>14}  {'price':>14}",
        ]
        rows = zip(self.budgets, self.values, self.bounds, self.prices, strict=True)
        return "\n".join([*lines, *("  ".join(f"{number:>14.8g}" for number in row) for row in rows)])


def _within(problem: Problem, max_loss: float) -> Problem:
    """The same problem with another loss budget."""
    assert isinstance(problem.objective, AdversaryError)
    return problem.but(objective=AdversaryError(max_loss, problem.objective.adversary_loss))
