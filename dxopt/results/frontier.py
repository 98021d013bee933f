"""Frontiers: what is proven of the loss over ε, and of the adversary's error over the loss budget."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dxopt.errors import SpecError
from dxopt.model.objective import AdversaryError
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import level_text
from dxopt.proofs.bounds import proven_bound
from dxopt.proofs.duals import AdversaryDual
from dxopt.results.claims import FORMAT
from dxopt.results.figures import plots
from dxopt.results.figures.tables import Grid
from dxopt.results.folder import FRONTIER, Contents, finite, numbers, parts
from dxopt.results.packing import level_axis, named_loss, value_axis
from dxopt.results.series import Array, Series
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import in_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_FEW, _DIGITS = 3, 8
"""Digits of a level in a summary or notebook, and in a table as text."""


@dataclass(frozen=True, eq=False, repr=False)
class ProvenRange(Series):
    """Proven range of a quantity, from answers at some points of it.

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
    """Name of the property that has the points, and of their entry in frontier.json."""
    POINTS: ClassVar[str]
    """Noun for the points in sentences."""

    wanted: float
    status: Status

    @property
    def values(self) -> Array:
        """Values attained at the points, `(k,)`: proven."""
        return np.array([report.certificate.value for report in self.reports])

    @property
    @abstractmethod
    def resolution(self) -> float:
        """Largest distance between attained values and bounds, as a share of the whole range of values."""

    @property
    def figures(self) -> list[dict[str, Any]]:
        """Rows of the table: at each point the attained value and the bound, by the names of the columns."""
        columns = {name: column.tolist() for name, column in self._columns().items()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def contents(self) -> Contents:
        """Return the files of a result folder: frontier.json, the figure, and its reports in `parts`."""
        proven = {
            "format": FORMAT,
            "problem": self.problem.name,
            "objective": self.problem.objective.name,
            "status": str(self.status),
            "wanted": self.wanted,
            "resolution": finite(self.resolution),
            self.ALONG: self._points().tolist(),
            "values": numbers(self.values),
            "bounds": numbers(self.bounds),
            **self._further(),
        }
        return {FRONTIER: proven, **plots.pictures("frontier", self.figure()), **parts(self.reports)}

    def _summary(self) -> str:
        points = self._points()
        low, high = (self._point_text(points[end], f".{_FEW}g") for end in (0, -1))
        span = f"{len(points)} {self.POINTS} from {low} to {high}"
        return f"{self.problem.name}: {span}, resolution {self.resolution:.2g}, {self.status}"

    def _parts(self, digits: str) -> Iterable[str | Grid]:
        asked = "" if self.resolution <= self.wanted else f" of {self.wanted:.3g} asked for ({self.status})"
        title = f"{self.problem.objective.title}{in_unit(self.problem.unit)}"
        yield from (f"warning: {warning}" for warning in self.warnings)
        yield f"{self.problem.name}: {title} at {len(self.reports)} {self.POINTS}"
        yield f"resolution {self.resolution:.3g}{asked}{self._remark()}"
        columns = self._columns()
        rows = zip(*columns.values(), strict=True)
        texts = ([self._point_text(point, digits), *(f"{one:{digits}}" for one in others)] for point, *others in rows)
        yield [[*columns], *texts]

    def _points(self) -> Array:
        """Return the points, `(k,)`, increasing."""
        return getattr(self, self.ALONG)

    def _require_inside(self, name: str, point: float) -> Array:
        """Return the points; raise SpecError about the argument `name` unless `point` is within their range."""
        points = self._points()
        if not points[0] <= point <= points[-1]:
            raise SpecError(name, f"is {point:g}", f"give one from {points[0]:g} to {points[-1]:g}")
        return points

    def _point_text(self, point: float, digits: str) -> str:
        """Write a point beside numbers in the format `digits`."""
        return f"{point:{digits}}"

    def _further(self) -> dict[str, Any]:
        """Return entries of frontier.json that only one kind of frontier has."""
        return {}

    @abstractmethod
    def _remark(self) -> str:
        """Return the text that follows the resolution in `str`: what it means for this kind of frontier."""

    @abstractmethod
    def _columns(self) -> dict[str, Array]:
        """Return the numbers of the table by the names of its columns."""


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(ProvenRange):
    """Frontier of the least loss between two levels, proven at every ε.

    Attributes
    ----------
    problem : Problem
    reports : tuple of k Report
        One for each point, increasing.
    wanted : float
        The resolution that was asked for.
    status : Status
        As of a report: `optimal` if the resolution was reached, up to gaps within the tolerance.

    Examples
    --------
    >>> import dxopt as dx
    >>> frontier = dx.frontier(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"), 0.5, 2.0, resolution=0.5)
    >>> print(frontier.epsilons.round(2).tolist(), frontier.values.round(2).tolist())
    [0.5, 1.0, 1.41, 2.0] [0.8, 0.52, 0.35, 0.2]
    >>> print([round(float(end), 2) for end in frontier.between(0.75)])
    [0.52, 0.8]
    """

    ALONG: ClassVar[str] = "epsilons"
    POINTS: ClassVar[str] = "levels"

    @property
    def values(self) -> Array:
        """Losses possible at the levels, `(k,)`: proven; falling, as what is private at one ε is so at any above."""
        return np.minimum.accumulate(super().values)

    @property
    def bounds(self) -> Array:
        """Losses below which nothing private is, `(k,)`: proven; falling, as a bound at one ε holds at any below."""
        return np.maximum.accumulate(super().bounds[::-1])[::-1]

    @property
    def resolution(self) -> float:
        """The widest of the intervals of `between`, as a share of the whole fall values[0] - bounds[-1]."""
        fall = self.values[0] - self.bounds[-1]
        return float((self.values[:-1] - self.bounds[1:]).max() / fall) if fall > 0 else 0.0

    def between(self, epsilon: float) -> tuple[float, float]:
        """Return a proven lower bound on the loss at a level, and a loss that is attained there.

        Raises
        ------
        SpecError
            If the level is outside of the frontier.
        """
        levels = self._require_inside("epsilon", epsilon)
        # The least loss falls as ε grows: the bound at the next level above holds here, and so does the loss that is
        # possible at the next level below. At a level of the frontier both are that level itself.
        above = int(np.searchsorted(levels, epsilon, side="left"))
        below = int(np.searchsorted(levels, epsilon, side="right")) - 1
        return float(self.bounds[above]), float(self.values[below])

    def figure(self) -> Figure:
        """Draw the proven band as two staircases: the least loss lies between them at every level.

        Examples
        --------
        >>> import dxopt as dx
        >>> frontier = dx.frontier(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"), 0.5, 2.0, resolution=0.5)
        >>> print(frontier.figure().axes[0].get_xlabel())
        ε per unit of distance
        """
        title = f"{self.problem.name}: resolution {self.resolution:.2g}"
        axes = value_axis(self.problem), level_axis(self.problem)
        return staircases(self.epsilons, self.values, self.bounds, title, *axes)

    def _point_text(self, point: float, digits: str) -> str:
        return level_text(point, _FEW if digits == f".{_FEW}g" else _DIGITS)

    def _remark(self) -> str:
        return ": proven at every level between"

    def _columns(self) -> dict[str, Array]:
        return {"epsilon": self.epsilons, "possible": self.values, "bound": self.bounds}


def staircases(
    levels: ArrayLike, values: ArrayLike, bounds: ArrayLike, title: str, quantity: str, level: str
) -> Figure:
    """Return the figure of the proven band between values and bounds `(k,)` at increasing levels `(k,)`.

    As the least loss falls with ε, a value stays possible up to the next level, and a bound holds down to the level
    before: both are staircases. The last two arguments label the axes.
    """
    # each level but the ends is twice a corner; values step down at it from the left, bounds towards it
    corners, possible = np.repeat(levels, 2)[1:-1], np.repeat(values, 2)[:-2]
    bound = np.repeat(bounds, 2)[2:]
    figure = plots.against_epsilon(
        [
            plots.Curve("possible: proven", corners, possible),
            plots.Curve("nothing private is below: proven", corners, bound, colour=1),
            plots.Curve("mechanisms", levels, values, "points"),
        ],
        title=title,
        quantity=quantity,
        level=level,
    )
    figure.axes[0].fill_between(corners, bound, possible, color=plots.COLOURS[0], alpha=0.15, linewidth=0)
    return figure


_INSIDE = 1e-3
"""Share of the width between two budgets that a budget laid between them stays away from either."""


@dataclass(frozen=True, eq=False, repr=False)
class BudgetFrontier(ProvenRange):
    """Frontier of the adversary's largest error between two loss budgets, proven at every budget.

    Its attributes are those of `dx.Frontier`.

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
    def prices(self) -> Array:
        """Price of a unit of loss in error at each budget, `(k,)`: a slope that proves a bound at every budget."""
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
        budgets, values = self.budgets, self.values
        share = (budgets[1:-1] - budgets[:-2]) / (budgets[2:] - budgets[:-2])
        chord = values[:-2] + share * (values[2:] - values[:-2])
        allowed = self.wanted * (self.bounds[-1] - values[0])
        straight = self.widest()[1] <= allowed
        kinked = (values[1:-1] - chord > allowed) & straight[:-1] & straight[1:]
        return budgets[1:-1][kinked]

    def widest(self) -> tuple[Array, Array]:
        """Return where to solve next between neighbouring budgets, and how uncertain the error is, `(k - 1,)` each.

        The first is where the tangents at both ends cross, moved well inside the interval. The second is the largest
        distance of the lower tangent, which bounds the error, above the chord, which is attained.
        """
        bounds, prices = self.bounds, self.prices
        first, second = self.budgets[:-1], self.budgets[1:]
        width = second - first
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
        values, rises = self.values[:-1], np.diff(self.values)
        above = [self._tangents(at) - (values + (at - first) / width * rises) for at in points]
        return inside, np.max(above, axis=0)

    def _tangents(self, points: Array) -> Array:
        """Return the lower of two tangents at a point between each budget and the next one, `(k - 1,)`."""
        budgets, bounds, prices = self.budgets, self.bounds, self.prices
        rising = bounds[:-1] + prices[:-1] * (points - budgets[:-1])
        falling = bounds[1:] + prices[1:] * (points - budgets[1:])
        return np.minimum(rising, falling)

    def between(self, max_loss: float) -> tuple[float, float]:
        """Return an error that is attained within this budget, and a proven upper bound.

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
        """Draw the errors that are attained, and the tangents that bound them.

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
                plots.unjoined(plots.Curve("possible", self.budgets, self.values)),
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
    """Return the same problem, whose objective is the adversary's error, with another loss budget."""
    assert isinstance(problem.objective, AdversaryError)
    return problem.but(objective=AdversaryError(max_loss, problem.objective.adversary_loss))
