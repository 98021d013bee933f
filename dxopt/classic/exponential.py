"""The exponential mechanism on a metric space."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.classic.contract import CLASSICS, proven
from dxopt.loss import Reports
from dxopt.mechanism import Mechanism
from dxopt.prior import Prior
from dxopt.problem import Problem
from dxopt.spaces.lattices import grid, line
from dxopt.spaces.space import MetricSpace, path_closure


@CLASSICS.register("exponential")
class Exponential:
    """K[x, z] ∝ e^{-εd(x, z)/2} (McSherry and Talwar 2007; CABP13 §4).

    Private because the score is 1-Lipschitz and normalising at most doubles the exponent. Under asymmetric
    distances the score is the shortest-path closure of the smaller of d and its transpose.
    """

    name: ClassVar[str] = "exponential"
    instead: ClassVar[str] = "use the secrets as reports"

    def refuses(self, problem: Problem) -> str | None:
        """Why there is none, or None."""
        if not problem.reports.secrets and (problem.reports.points is None or problem.space.metric is None):
            return "needs distances between secrets and reports"
        return None

    def channel(self, problem: Problem) -> NDArray[np.float64]:
        """The channel `(n, m)`, up to rounding."""
        if problem.reports.secrets:
            scores = _symmetric_part(problem.budgets)
        else:
            scores = problem.epsilon * problem.space.distances_to(problem.reports.points)  # pyright: ignore
        weights = np.exp(-0.5 * (scores - scores.min(axis=1, keepdims=True)))
        return weights / weights.sum(axis=1, keepdims=True)

    @staticmethod
    def examples() -> list[Problem]:
        """A grid, an asymmetric space, and reports between the secrets."""
        numbers = line(4)
        one_way = MetricSpace.from_distances([[0, 1, 2], [2, 0, 1], [np.inf, 2, 0]], close=True)
        spaces = ((grid((2, 3)), None), (one_way, None), (numbers, Reports.at([[0.5], [2.5]])))
        return [Problem(s, epsilon=1.0, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in spaces]


def _symmetric_part(budgets: NDArray[np.float64]) -> NDArray[np.float64]:
    smaller = np.minimum(budgets, budgets.T)
    return smaller if np.array_equal(smaller, budgets) else path_closure(smaller)


def exponential(space: MetricSpace, *, epsilon: float) -> Mechanism:
    """The exponential mechanism K[x, z] ∝ e^{-εd(x, z)/2}, proven private (McSherry and Talwar 2007; CABP13 §4).

    Parameters
    ----------
    space : MetricSpace
        Any; the reports are the secrets.
    epsilon : float
        Privacy level per unit of distance.

    Raises
    ------
    SpecError
        If ε is not positive and finite.
    """
    return proven(Exponential(), space, epsilon)
