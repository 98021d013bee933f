"""The largest error of an adversary against the loss budget, as proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.model.objective import AdversaryError
from dxopt.model.problem import Problem
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.duals import AdversaryDual
from dxopt.results.figures import plots
from dxopt.results.files import numbers
from dxopt.results.proven_range import ProvenRange
from dxopt.results.units import named_loss, value_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

_INSIDE = 1e-3
"""Share of the width between two budgets that a budget laid between them stays away from either."""


@dataclass(frozen=True, eq=False, repr=False)
class BudgetFrontier(ProvenRange):
    """What is proven of the adversary's largest error between two loss budgets, at every budget.

    See `dxopt.results.proven_range.ProvenRange` for its attributes.

    Examples
    --------
    >>> import dxopt as dx
    >>> wanted = dx.AdversaryError(max_loss=0.6)
    >>> problem = dx.Problem(dx.line(3), epsilon=1.0, prior=[0.5, 0.25, 0.25], loss="squared", objective=wanted)
    >>> frontier = dx.budget_frontier(problem, 0.55, 0.7, resolution=0.02)
    >>> print(frontier.prices.round(2).tolist(), [round(float(end), 3) for end in frontier.between(0.6)])
    [1.22, 1.22] [0.567, 0.567]
    """

    ALONG: ClassVar[str] = "budgets"
    POINTS: ClassVar[str] = "budgets"

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
        """Budgets where the slope changes, up to the resolution: the error is linear between them.

        Those of the solved budgets whose error is further above the chord of their neighbours than the resolution
        asked for, where the tangents of both neighbours meet.
        """
        budgets = self.budgets
        values = self.values
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
        budgets = self.budgets
        bounds = self.bounds
        prices = self.prices
        first = budgets[:-1]
        second = budgets[1:]
        width = np.diff(budgets)
        # The tangents b_i + p_i (t - t_i) and b_j + p_j (t - t_j) of neighbours i, j meet where
        # t (p_i - p_j) = b_j - b_i - p_j t_j + p_i t_i. Parallel ones have no such point: the middle will do.
        turn = prices[:-1] - prices[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = (bounds[1:] - bounds[:-1] - prices[1:] * second + prices[:-1] * first) / turn
        meet = np.where(turn > 0, meet, 0.5 * (first + second))
        inside = np.clip(meet, first + _INSIDE * width, second - _INSIDE * width)
        # The lower of two lines less a third one is concave, with its corner where the two meet: over an interval it
        # is largest there or at an end.
        points = (first, np.clip(meet, first, second), second)
        above = [self._tangents(at) - self._chords(at) for at in points]
        return inside, np.max(above, axis=0)

    def _tangents(self, points: Array) -> Array:
        """The lower of two tangents at a point between each budget and the next one, `(k - 1,)`."""
        budgets = self.budgets
        bounds = self.bounds
        prices = self.prices
        rising = bounds[:-1] + prices[:-1] * (points - budgets[:-1])
        falling = bounds[1:] + prices[1:] * (points - budgets[1:])
        return np.minimum(rising, falling)

    def _chords(self, points: Array) -> Array:
        """The chord at a point between each budget and the next one, `(k - 1,)`."""
        share = (points - self.budgets[:-1]) / np.diff(self.budgets)
        return self.values[:-1] + share * np.diff(self.values)

    def between(self, max_loss: float) -> tuple[float, float]:
        """An error that is possible within this budget, and a bound that none is above.

        The first is that of a mixture of two mechanisms, up to its rounding; the second is proven by their duals.

        Raises
        ------
        SpecError
            If the budget is outside of the frontier.
        """
        budgets = self._require_inside("max_loss", max_loss)
        below = max(int(np.searchsorted(budgets, max_loss)) - 1, 0)
        posed = with_budget(self.problem, max_loss)
        bounds = [proven_bound(posed, report.dual)[0] for report in self.reports[below : below + 2]]
        return float(np.interp(max_loss, budgets, self.values)), min(bounds)

    def figure(self) -> Figure:
        """The errors that are possible, and the tangents that none is above.

        Examples
        --------
        >>> import dxopt as dx
        >>> wanted = dx.AdversaryError(max_loss=0.6)
        >>> problem = dx.Problem(dx.line(3), epsilon=1.0, prior=[0.5, 0.25, 0.25], loss="squared", objective=wanted)
        >>> print(len(dx.budget_frontier(problem, 0.55, 0.7, resolution=0.02).figure().axes))
        1
        """
        inside, _ = self.widest()
        points = np.concatenate([self.budgets, inside])
        order = np.argsort(points)
        bounds = np.concatenate([self.bounds, self._tangents(inside)])
        return plots.against_epsilon(
            [
                plots.Curve("possible", self.budgets, self.values),
                plots.Curve("nothing is above: proven", points[order], bounds[order], "dashed", colour=1),
                plots.Curve("mechanisms", self.budgets, self.values, "points"),
            ],
            title=f"{self.problem.name}: resolution {self.resolution:.2g}",
            quantity=value_axis(self.problem),
            level=f"loss budget ({named_loss(self.problem)})",
        )

    def _further(self) -> dict[str, Any]:
        return {"prices": numbers(self.prices), "breakpoints": self.breakpoints.tolist()}

    def _remark(self) -> str:
        return f"; {len(self.breakpoints)} breakpoints"

    def _columns(self) -> dict[str, Array]:
        return {"max_loss": self.budgets, "possible": self.values, "bound": self.bounds, "price": self.prices}


def with_budget(problem: Problem, max_loss: float) -> Problem:
    """The same problem with another loss budget."""
    assert isinstance(problem.objective, AdversaryError)
    return problem.but(objective=AdversaryError(max_loss, problem.objective.adversary_loss))
