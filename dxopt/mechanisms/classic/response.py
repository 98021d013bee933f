"""Randomised response: the truth, or any other secret with equal probability."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.mechanisms.classic.base import CLASSICS, Classic, make_proven
from dxopt.model.mechanism import Mechanism
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import Written
from dxopt.numerics.rounding import UNIT, factor_above
from dxopt.spaces.space import MetricSpace


@CLASSICS.register("randomised_response")
class RandomisedResponse(Classic):
    """K[x, z] = p for every z other than x, where p = (1 - δ) / (m + e^{εκ}) (HLM14 Example 6).

    m is the number of other secrets, and κ the least distance between two of them: the pair at distance κ is the one
    that binds, as its inequality is 1 - pm ≤ e^{εκ} p + δ. Optimal in the worst case under the discrete metric (HLM14
    Example 7).
    """

    name: ClassVar[str] = "randomised_response"
    instead: ClassVar[str] = "merge secrets at distance 0, use exponential"

    def refuses(self, problem: Problem) -> str | None:
        if not problem.reports.secrets:
            return "needs the secrets themselves as reports"
        alike = np.count_nonzero(problem.space.distances == 0) > len(problem.space)
        return "needs a distance above 0 between any two secrets" if alike else None

    def channel(self, problem: Problem) -> NDArray[np.float64]:
        # p, by a factor e^{-εκ} that is rounded up, and 1 - δ with the cost of n sums: both only make p larger, and
        # so the channel more private, in doubles where δ is positive. At p = 1/n all reports are alike.
        secrets = len(problem.space)
        factor = float(factor_above(problem.epsilon, np.array(problem.space.nearest)))
        rest = 1 - problem.delta + (4 * secrets + 64) * UNIT
        other = min(rest * factor / (1 + (secrets - 1) * factor), 1 / secrets)
        channel = np.full((secrets, secrets), other)
        np.fill_diagonal(channel, 1 - (secrets - 1) * other)
        return channel


def randomised_response(space: MetricSpace, *, epsilon: Written, delta: float = 0.0) -> Mechanism:
    """Report the secret or any other one, by randomised response, proven (εd, δ)-private (HLM14 Example 6).

    The secret has probability 1 - pm, and each of the m others p = (1 - δ) / (m + e^{εκ}), κ being the least
    distance between two secrets.

    Parameters
    ----------
    space : MetricSpace
        Any, with distances above 0 between different secrets; the reports are the secrets.
    epsilon : float
        Privacy level per unit of distance.
    delta : float
        What a set of reports may exceed that level by, for every pair of secrets at finite distance.

    Raises
    ------
    SpecError
        If ε is not positive and finite, δ is not from 0 to below 1, or two secrets are at distance 0
        (UnsupportedError).

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.MetricSpace.from_points(["yes", "no", "unsure"], "discrete")
    >>> mechanism = dx.classic.randomised_response(space, epsilon="ln(4)")
    >>> print(mechanism.row(label="yes").round(3).tolist())
    [0.667, 0.167, 0.167]
    """
    return make_proven(RandomisedResponse(), space, epsilon, delta=delta)
