"""Bound the error that privacy costs, and the error of Laplace noise that suffices (HLM14 §5.1, §6)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dxopt.errors import SpecError, UnsupportedError, required_choice
from dxopt.model.loss import Reports
from dxopt.model.privacy import checked_delta, checked_level
from dxopt.model.reports import required_reports
from dxopt.numerics.coerce import POSITIVE, as_flag, as_number
from dxopt.numerics.number_syntax import Written
from dxopt.numerics.rounding import UNIT, factor_below
from dxopt.runtime.display import Shown
from dxopt.spaces.distances import TRIANGLE_SLACK
from dxopt.spaces.space import MetricSpace, required_space

BUDGETS = ("metric", "uniform")


@dataclass(frozen=True, repr=False)
class ErrorBounds(Shown):
    """Lower bounds on max_x E[d(X_x, x)], in the unit of the distances, for any private mechanism X; rounded down.

    Attributes
    ----------
    diameter : float
        (1 - δ) d(u, v) / (2(1 + e^{budget})) of the best pair u, v (HLM14 Thm 6). Whatever the reports are.
    packing : float
        (1 - δ) κk / (k + e^{budget}) of the best secret and its k nearest (HLM14 Thm 7), κ being the least distance
        between two secrets. 0 where the reports are not the secrets, or two secrets are at distance 0.

    Examples
    --------
    >>> import dxopt as dx
    >>> bounds = dx.sanitisation.error_bounds(dx.line(5), epsilon=1.0)
    >>> print(round(bounds.diameter, 3), round(bounds.packing, 3))
    0.134 0.424
    """

    diameter: float
    packing: float

    @property
    def pair(self) -> float:
        """Twice `diameter`, which is a bound as well.

        For secrets u, v at distance r with budget b, Σ_z min(K[u, z], K[v, z]) ≥ 2(1 - δ) / (1 + e^b), by privacy for
        the two sets of reports where K[u, z] or K[v, z] is smaller. Each z costs the two at least r in total, so that
        one of them pays half of r times that sum; HLM14 Thm 6 loses a factor 2 by Markov's inequality.
        """
        return 2 * self.diameter

    @property
    def best(self) -> float:
        """The larger of `pair` and `packing`."""
        return max(self.pair, self.packing)


def error_bounds(
    space: MetricSpace,
    *,
    epsilon: Written,
    delta: float = 0.0,
    budget: str = "metric",
    reports: Reports | None = None,
) -> ErrorBounds:
    """Bound the largest expected distance between secret and report from below (HLM14 eq 13, Thms 6 and 7).

    Takes O(n² log n) time. In the paper the budget of a pair is ε, whatever their distance. Its proofs look at one
    pair, and at one secret and any others, so that each holds with the budget of the pairs that it looks at.

    Parameters
    ----------
    space : MetricSpace
        n secrets, with symmetric distances.
    epsilon : float
        Privacy level: per unit of distance, or of every pair.
    delta : float
        From 0 to 1, at which nothing is asked for and the bounds are 0 (HLM14 Def 1).
    budget : {"metric", "uniform"}
        Whether two secrets are (εd, δ)- or (ε, δ)-indistinguishable. Those at infinite distance are not bound by the
        first.
    reports : Reports, optional
        The secrets by default; others leave no `packing`.

    Raises
    ------
    SpecError
        If ε or δ is out of range, there is no such budget, or distances are infinite under the uniform one.
    UnsupportedError
        If distances are not symmetric.

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(5)
    >>> least = dx.sanitisation.error_bounds(line, epsilon=1.0).packing
    >>> print(round(least, 3), "at least;", round(dx.evaluate.worst_loss(dx.classic.geometric(line, epsilon=1.0)), 3))
    0.424 at least; 0.736
    """
    epsilon = checked_level(epsilon)
    rest = 1 - checked_delta(delta, one=True)
    required_choice("budget", budget, BUDGETS)
    required_space(space)
    if reports is not None:
        required_reports(reports)
    if not space.symmetric:
        raise UnsupportedError("space", "has distances that are not symmetric", "the bounds are about symmetric ones")
    counts = np.arange(1, len(space))
    nearest = math.inf
    overlap = 0.0
    share = 0.0
    for secret in range(len(space)):
        # The others from near to far, and e^{-budget} for each, rounded down.
        apart = np.sort(np.delete(space.row(index=secret), secret))
        if budget == "uniform" and np.isinf(apart).any():
            raise SpecError("space", f"{space.labels[secret]} is infinitely far from another secret", "use metric")
        alike = factor_below(epsilon, apart if budget == "metric" else np.ones(len(apart)))
        # Thm 6: r / (1 + e^b) = r e^{-b} / (1 + e^{-b}), of the best pair.
        overlap = max(overlap, (np.where(alike > 0, apart, 0.0) * alike / (1 + alike)).max(initial=0.0))
        # Thm 7: k / (k + e^b) with b the budget of the furthest of the k nearest, of the best k.
        share = max(share, (counts * alike / (1 + counts * alike)).max(initial=0.0))
        nearest = min(nearest, apart.min(initial=math.inf))
    # Thm 7 counts secrets as the reports; with infinite distances alone nothing binds.
    packs = (reports is None or reports.secrets) and math.isfinite(nearest)
    # Rounded down; the diameter also leans on the triangle inequality, which distances obey up to a slack.
    rest *= 1 - 16 * UNIT
    diameter = float(rest * overlap / 2) * (1 - 2 * TRIANGLE_SLACK)
    packing = float(rest * share * nearest) if packs else 0.0
    return ErrorBounds(diameter, packing)


def laplace_scale(diameter: float, *, epsilon: Written, delta: float = 0.0, exact: bool = False) -> float:
    """Return the scale b of Laplace noise that makes numbers (ε, δ)-indistinguishable, rounded up, in their unit.

    Noise of density e^{-|x|/b} / 2b on every record keeps databases (ε, δ)-private in each of them (HLM14 Thm 5).

    Parameters
    ----------
    diameter : float
        How far two numbers are apart at most.
    epsilon : float
        Privacy level for any two of them.
    delta : float
    exact : bool
        Whether to take the least scale, diameter / (ε - 2 ln(1 - δ)), instead of diameter / (ε - ln(1 - δ))
        (HLM14 Example 5), which is enough. A half line tells two numbers apart best: up to
        1 - e^{(ε - diameter/b) / 2}.

    Raises
    ------
    SpecError
        If the diameter or ε is not positive and finite, or δ is not from 0 to below 1.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.sanitisation.laplace_scale(10.0, epsilon=0.5), 2))
    20.0
    >>> print(round(dx.sanitisation.laplace_scale(10.0, epsilon=0.5, delta=0.1, exact=True), 2))
    14.07
    """
    epsilon = checked_level(epsilon)
    relaxed = checked_delta(delta)
    diameter = as_number(diameter, "diameter", *POSITIVE)
    return diameter / (epsilon - (1 + as_flag(exact, "exact")) * math.log1p(-relaxed)) * (1 + 16 * UNIT)
