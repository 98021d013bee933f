"""The smallest expected loss against ε, as proven."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.results.figures import plots
from dxopt.results.proven_range import ProvenRange
from dxopt.results.units import level_axis, value_axis

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(ProvenRange):
    """What is proven of the least loss between two levels, at every ε.

    See `dxopt.results.proven_range.ProvenRange` for its attributes.

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
        levels = self._require_inside("epsilon", epsilon)
        # The least loss falls as ε grows: the bound at the next level above holds here, and so does the loss that is
        # possible at the next level below. At a level of the frontier both are that level itself.
        above = int(np.searchsorted(levels, epsilon, side="left"))
        below = int(np.searchsorted(levels, epsilon, side="right")) - 1
        return float(self.bounds[above]), float(self.values[below])

    def figure(self) -> Figure:
        """The band that is proven, as two staircases: the least loss lies between them at every level.

        Examples
        --------
        >>> import dxopt as dx
        >>> frontier = dx.frontier(dx.Problem(dx.line(4), epsilon=1.0, prior="uniform"), 0.5, 2.0, resolution=0.5)
        >>> print(frontier.figure().axes[0].get_xlabel())
        ε per unit of distance
        """
        title = f"{self.problem.name}: resolution {self.resolution:.2g}"
        return staircases(
            self.epsilons, self.values, self.bounds, title, value_axis(self.problem), level_axis(self.problem)
        )

    def _remark(self) -> str:
        return ": proven at every level between"

    def _columns(self) -> dict[str, Array]:
        return {"epsilon": self.epsilons, "possible": self.values, "bound": self.bounds}


def staircases(
    levels: ArrayLike, values: ArrayLike, bounds: ArrayLike, title: str, quantity: str, level: str
) -> Figure:
    """Return the figure of values and bounds `(k,)` at levels: between two of them a value holds up, a bound down."""
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
