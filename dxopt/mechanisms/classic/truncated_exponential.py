"""The truncated exponential mechanism: all reports beyond a radius count as equally far away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.mechanisms.classic.contract import CLASSICS, Classic, proven
from dxopt.mechanisms.classic.exponential import exponential_rows, exponents, without_distances
from dxopt.mechanisms.noise.contract import checked_positive
from dxopt.model.loss import Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.written import Written
from dxopt.spaces.lattices import grid
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
FAILURE = 0.001
"""Default share of reports that may lie beyond the radius."""


@CLASSICS.register("truncated_exponential")
@dataclass(frozen=True, eq=False)
class TruncatedExponential(Classic):
    """K[x, z] ∝ e^{-ε min(d(x, z), γ)/2} (Carvalho, Vasiloudis and Feyisetan 2021, TEM).

    There, a word is drawn among those within γ and one more, ⊥, whose score is that of all others together, and ⊥ is
    replaced by one of the others at random: each of them has the weight e^{-εγ/2}. Private because min(d, γ) obeys
    the triangle inequality, is at most d, and normalising at most doubles the exponent.

    Parameters
    ----------
    radius : float, optional
        γ, in the unit of the distances; by default the least at which no secret is reported further away with a
        probability above `failure`: (2/ε) ln((1 - β)(m - 1)/β) for m reports, β being that probability.
    failure : float
        β; 0.001 by default.
    """

    radius: float | None = None
    failure: float = FAILURE
    name: ClassVar[str] = "truncated_exponential"
    instead: ClassVar[str] = "use the secrets as reports"

    def __post_init__(self) -> None:
        if self.radius is not None:
            checked_positive("radius", self.radius)
        checked_positive("failure", self.failure)
        if self.failure >= 1:
            raise SpecError("failure", f"is {self.failure}", "give a probability below 1")

    def refuses(self, problem: Problem) -> str | None:
        """Return the reason why there is none, or None."""
        return without_distances(problem)

    def channel(self, problem: Problem) -> Array:
        """The channel `(n, m)`, up to rounding."""
        radius = radius_for(problem, self.failure) if self.radius is None else self.radius
        return exponential_rows(np.minimum(exponents(problem), problem.epsilon * radius))

    @staticmethod
    def examples() -> list[Problem]:
        """A grid that is larger than the radius, an asymmetric space, and reports between the secrets."""
        plane = grid((2, 30), spacing=2.0)
        one_way = MetricSpace.from_distances([[0, 1, 2], [2, 0, 1], [np.inf, 2, 0]], close=True)
        spaces = ((plane, None), (one_way, None), (plane, Reports.at([[0.5, 0.5], [2.0, 70.0]])))
        return [Problem(s, epsilon=1.0, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in spaces]


def radius_for(problem: Problem, failure: float = FAILURE) -> float:
    """The least radius γ beyond which no secret is reported with more than a probability β, in the unit of distances.

    With one report within γ and m - 1 beyond, these have together the share s/(1 + s) with s = (m - 1) e^{-εγ/2}.
    """
    others = len(problem.reports) - 1
    if others < 1:
        return 0.0
    return max(0.0, 2 / problem.epsilon * math.log((1 - failure) * others / failure))


def truncated_exponential(
    space: MetricSpace,
    *,
    epsilon: Written,
    radius: float | None = None,
    failure: float = FAILURE,
    reports: Reports | None = None,
) -> Mechanism:
    """The truncated exponential mechanism, proven private (Carvalho, Vasiloudis and Feyisetan 2021).

    K[x, z] ∝ e^{-ε min(d(x, z), γ)/2}: what is beyond γ shares one weight. It may be drawn by looking at the reports
    within γ alone, which is why it is used for large vocabularies; the exponential mechanism, where γ is infinite,
    has the smaller distances.

    Parameters
    ----------
    space : MetricSpace
        n secrets, any. Under asymmetric distances d is the shortest-path closure of the smaller of d and its
        transpose, as for `exponential`.
    epsilon : float
        Privacy level per unit of distance.
    radius : float, optional
        γ; by default (2/ε) ln((1 - β)(m - 1)/β) for m reports, with β the `failure`.
    failure : float
        The probability β with which a report may be further away than γ, where that is not given.
    reports : Reports, optional
        The secrets by default.

    Raises
    ------
    SpecError
        If ε or the radius is not positive and finite, `failure` is not between 0 and 1, or there is no distance
        between secrets and reports (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.truncated_exponential(dx.line(5), epsilon=1.0, radius=2.0)
    >>> print(mechanism.row(label="0").round(3).tolist())
    [0.369, 0.224, 0.136, 0.136, 0.136]
    """
    return proven(TruncatedExponential(radius, failure), space, epsilon, reports=reports)
