"""The exponential mechanism on a metric space."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.problem import Problem
from dxopt.spaces.space import path_closure


class Exponential:
    """K[x, z] ∝ e^{-εd(x, z)/2} (McSherry and Talwar 2007; CABP13 §4).

    Private because the score is 1-Lipschitz and normalising at most doubles the exponent. Under asymmetric
    distances the score is the shortest-path closure of the smaller of d and its transpose.
    """

    name: ClassVar[str] = "exponential"

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


def _symmetric_part(budgets: NDArray[np.float64]) -> NDArray[np.float64]:
    smaller = np.minimum(budgets, budgets.T)
    return smaller if np.array_equal(smaller, budgets) else path_closure(smaller)
