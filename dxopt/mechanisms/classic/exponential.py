"""The exponential mechanism on a metric space."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.mechanisms.classic.contract import CLASSICS, Classic, proven
from dxopt.mechanisms.classic.coordinates import largest_rate
from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.model.problem import Problem
from dxopt.numerics.written import Written
from dxopt.spaces.lattices import grid, line
from dxopt.spaces.matrices import path_closure
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Score = ArrayLike | Callable[[Any, Any], float]


@CLASSICS.register("exponential")
@dataclass(frozen=True, eq=False)
class Exponential(Classic):
    """K[x, z] ∝ e^{-εd(x, z)/2}, or e^{c s(x, z)} for a score s (McSherry and Talwar 2007; CABP13 §4).

    Private because the score is 1-Lipschitz and normalising at most doubles the exponent. Under asymmetric
    distances the score is the shortest-path closure of the smaller of d and its transpose. For other scores c is the
    least εd(x, x') / (2 max_z |s(x, z) - s(x', z)|).

    Parameters
    ----------
    scores : (n, m) array, optional
        s, finite and larger for better reports; by default -d.
    """

    scores: Array | None = None
    name: ClassVar[str] = "exponential"
    instead: ClassVar[str] = "use the secrets as reports"

    def refuses(self, problem: Problem) -> str | None:
        """Return the reason why there is none, or None."""
        if self.scores is not None:
            return None if self.scores.shape == problem.shape else "needs a score for each secret and report"
        return without_distances(problem)

    def channel(self, problem: Problem) -> Array:
        """The channel `(n, m)`, up to rounding.

        Raises
        ------
        SpecError
            If scores differ between secrets at distance 0.
        """
        if self.scores is not None:
            return _scored(self.scores, problem)
        return exponential_rows(exponents(problem))

    @staticmethod
    def examples() -> list[Problem]:
        """A grid, an asymmetric space, and reports between the secrets."""
        numbers = line(4)
        one_way = MetricSpace.from_distances([[0, 1, 2], [2, 0, 1], [np.inf, 2, 0]], close=True)
        spaces = ((grid((2, 3)), None), (one_way, None), (numbers, Reports.at([[0.5], [2.5]])))
        return [Problem(s, epsilon=1.0, prior=Prior.uniform(s), loss="distance", reports=r) for s, r in spaces]


def without_distances(problem: Problem) -> str | None:
    """Return the reason why there are no distances between secrets and reports, or None."""
    if not problem.reports.secrets and (problem.reports.points is None or problem.space.metric is None):
        return "needs distances between secrets and reports"
    return None


def exponential_rows(exponents: Array) -> Array:
    """Return rows in proportion to e^{-exponent/2}, `(n, m)`."""
    # Less the least exponent, so that no row underflows.
    weights = np.exp(-0.5 * (exponents - exponents.min(axis=1, keepdims=True)))
    return weights / weights.sum(axis=1, keepdims=True)


def exponents(problem: Problem) -> Array:
    """ε·d between secrets and reports `(n, m)`, d made symmetric where the reports are the secrets."""
    if problem.reports.secrets:
        return _symmetric_part(problem.budgets)
    return problem.epsilon * problem.space.distances_to(problem.reports.points)  # pyright: ignore


def _symmetric_part(budgets: Array) -> Array:
    """The largest symmetric budgets that are at most the given ones and obey the triangle inequality."""
    smaller = np.minimum(budgets, budgets.T)
    return smaller if np.array_equal(smaller, budgets) else path_closure(smaller)


def _scored(scores: Array, problem: Problem) -> Array:
    """The channel of scores.

    Where nothing binds, as no pair with different scores has a finite budget, it reports one of the best reports,
    each with the same probability.
    """
    with np.errstate(over="ignore"):
        below = scores - scores.max(axis=1, keepdims=True)
    # Normalising at most doubles the exponent, so half of the largest rate is private.
    rate = 0.5 * largest_rate(problem.budgets, _apart(scores))
    if rate == 0:
        raise SpecError("score", "differs between secrets at distance 0", "give these the same scores")
    weights = np.exp(rate * below) if math.isfinite(rate) else np.equal(below, 0).astype(float)
    return weights / weights.sum(axis=1, keepdims=True)


def _apart(scores: Array) -> Array:
    """max_z |s(x, z) - s(x', z)|, `(n, n)`."""
    with np.errstate(over="ignore"):
        return np.array([np.abs(scores - row).max(axis=1) for row in scores])


def _checked(score: Score, space: MetricSpace, reports: Reports | None) -> Loss:
    """The scores `(n, m)`, and the reports that their columns stand for."""
    if isinstance(score, str):
        raise SpecError("score", f"is {score!r}", "give an (n, m) array or a function of secret and report")
    try:
        scores = Loss.of(score, space, reports)
    except SpecError as error:
        raise error.at("score") from None
    infinite = np.argwhere(np.isinf(scores.matrix))
    if len(infinite):
        raise SpecError("score", "entry [{}, {}] is infinite".format(*infinite[0]), "give finite numbers")
    return scores


def exponential(
    space: MetricSpace, *, epsilon: Written, score: Score | None = None, reports: Reports | None = None
) -> Mechanism:
    """The exponential mechanism, proven private (McSherry and Talwar 2007; CABP13 §4).

    K[x, z] ∝ e^{c s(x, z)}, with the largest c for which 2c max_z |s(x, z) - s(x', z)| ≤ εd(x, x') for all pairs; by
    default s = -d and c = ε/2.

    Parameters
    ----------
    space : MetricSpace
        n secrets, any.
    epsilon : float
        Privacy level per unit of distance.
    score : (n, m) array, or function of (secret, report), optional
        How good a report is, finite; larger is better. A function gets coordinates, or labels where there are none.
    reports : Reports, optional
        The secrets by default; for an array of another width, columns numbered from 0.

    Raises
    ------
    SpecError
        If ε is not positive and finite, the scores have another shape, are not finite, or differ between secrets at
        distance 0; or, without scores, there is no distance between secrets and reports.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.exponential(dx.line(3), epsilon=1.0)
    >>> print(mechanism.row(label="0").round(3).tolist())
    [0.506, 0.307, 0.186]
    >>> print(round(mechanism.privacy.epsilon, 3))
    0.614
    """
    if score is None:
        return proven(Exponential(), space, epsilon, reports=reports)
    scores = _checked(score, space, reports)
    return proven(Exponential(scores.matrix), space, epsilon, reports=scores.reports, loss=-scores.matrix)
