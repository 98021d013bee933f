"""Evaluate mechanisms for their user and for an adversary, under any prior."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.arguments import joint, loss_of, matching
from dxopt.analysis.held_out import on
from dxopt.analysis.off_prior import off_prior
from dxopt.analysis.order.leakage import additive_capacity, capacity, g_leakage
from dxopt.analysis.order.refinement import refines
from dxopt.analysis.order.remaps import optimal_random_remap
from dxopt.analysis.realised_privacy import (
    BeliefLevel,
    belief_level,
    divergence,
    privacy_profile,
    smallest_delta,
    smallest_epsilon,
)
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import PriorLike
from dxopt.model.privacy import checked_delta
from dxopt.numerics.coerce import as_number, as_numbers

__all__ = [
    "BeliefLevel",
    "additive_capacity",
    "adversary_error",
    "belief_level",
    "capacity",
    "divergence",
    "expected_loss",
    "g_leakage",
    "joint",
    "matching",
    "min_entropy_leakage",
    "off_prior",
    "on",
    "optimal_random_remap",
    "optimal_remap",
    "privacy_profile",
    "refines",
    "smallest_alpha",
    "smallest_delta",
    "smallest_epsilon",
    "usefulness",
    "usefulness_curve",
    "utility",
    "worst_loss",
]

_SLACK = 1e-9


def expected_loss(mechanism: Mechanism, prior: PriorLike, loss: LossLike | Loss = "distance") -> float:
    """Return Σ_x π_x Σ_z K[x, z] l(x, z); infinite where a report of positive probability has infinite loss.

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets and m reports.
    prior : Prior, "uniform" or (n,) array
    loss : str, array `(n, m)`, callable or Loss
        See `Loss.of`; the result is in its unit.

    Raises
    ------
    SpecError
        If prior or loss do not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(5), epsilon=1.0)
    >>> print(round(dx.evaluate.expected_loss(mechanism, "uniform"), 3))
    0.584
    >>> print(round(dx.evaluate.expected_loss(mechanism, [0, 0, 1, 0, 0], loss="squared"), 3))
    1.132
    """
    weights, losses = matching(mechanism, prior), loss_of(mechanism, loss)
    return mechanism.cost(weights, losses)


def worst_loss(mechanism: Mechanism, loss: LossLike | Loss = "distance") -> float:
    """Return max_x Σ_z K[x, z] l(x, z) (HLM14 eq 13), which no prior enters; parameters as for `expected_loss`.

    Raises
    ------
    SpecError
        If the loss does not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(5), epsilon=1.0)
    >>> print(round(dx.evaluate.worst_loss(mechanism), 3), round(dx.evaluate.worst_loss(mechanism, "binary"), 3))
    0.736 0.538
    """
    losses = loss_of(mechanism, loss)
    return float(mechanism.losses(losses).max())


def utility(mechanism: Mechanism, prior: PriorLike, gain: str | LossLike = "binary") -> float:
    """Return the expected gain under the best remap of each report (ECP14 §3.4).

    Parameters
    ----------
    gain : "binary" or (n, w) array
        g(x, w) of guessing w for the secret x; `"binary"` is 1 for the secret itself and 0 otherwise.

    Raises
    ------
    SpecError
        If prior or gain do not fit the mechanism, or a gain is infinite.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(4), epsilon=1.0)
    >>> print(round(dx.evaluate.utility(mechanism, "uniform"), 3), "against 0.25 without a report")
    0.597 against 0.25 without a report
    """
    return g_leakage(mechanism, prior, gain).after


def optimal_remap(
    mechanism: Mechanism, prior: PriorLike, loss: LossLike | Loss = "distance", *, reports: Reports | None = None
) -> NDArray[np.int64]:
    """Return the best replacement of each report: argmin_w Σ_x π_x K[x, z] l(x, w), `(m,)` (ECP14 §3.4).

    For the distance that is the weighted geometric median of the posterior, over the secrets or over a given set. For
    losses in the worst case a remap that draws may be better: see `optimal_random_remap`.

    Parameters
    ----------
    mechanism, prior
        As for `expected_loss`.
    loss : str, array `(n, w)`, callable or Loss
        Of each replacement, see `Loss.of`.
    reports : Reports, optional
        For a named loss, what may be reported instead; the secrets by default.

    Raises
    ------
    SpecError
        If prior or loss do not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(4), epsilon=0.5)
    >>> print(dx.evaluate.optimal_remap(mechanism, [0.1, 0.1, 0.1, 0.7]).tolist())
    [2, 3, 3, 3]
    """
    return _costs(mechanism, prior, loss, reports).argmin(axis=0)


def min_entropy_leakage(mechanism: Mechanism, prior: PriorLike) -> float:
    """Return log2(Σ_z max_x π_x K[x, z] / max_x π_x), in bits (ECP14 §3.5, Prop 4); 0 where rounding leaves less.

    Raises
    ------
    SpecError
        If the prior does not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(4), epsilon=1.0)
    >>> print(round(dx.evaluate.min_entropy_leakage(mechanism, "uniform"), 3), "of 2 bits")
    1.255 of 2 bits
    """
    return max(0.0, g_leakage(mechanism, prior).bits)


def adversary_error(
    mechanism: Mechanism, prior: PriorLike, loss: LossLike | Loss = "distance", *, guesses: Reports | None = None
) -> float:
    """Return the least expected loss of an adversary who knows the prior: Σ_z min_w Σ_x π_x K[x, z] l(x, w) (Cha13).

    For a named loss he guesses one of the secrets, or one of the `guesses`. It is infinite where after some report
    every guess is infinitely far from a secret that is possible.

    Parameters
    ----------
    mechanism, prior
        As for `expected_loss`; the prior is what the adversary believes.
    loss : str, array `(n, w)`, callable or Loss
        Of each guess; the result is in its unit.
    guesses : Reports, optional
        For a named loss; the secrets by default.

    Raises
    ------
    SpecError
        If prior or loss do not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(5), epsilon=0.5)
    >>> print(round(dx.evaluate.adversary_error(mechanism, "uniform"), 3), "after a report, 1.2 before")
    0.941 after a report, 1.2 before
    """
    return math.fsum(_costs(mechanism, prior, loss, guesses).min(axis=0))


def _costs(
    mechanism: Mechanism, prior: PriorLike, loss: LossLike | Loss, guesses: Reports | None
) -> NDArray[np.float64]:
    """Return Σ_x π_x K[x, z] l(x, w), `(w, m)`; infinite where one possible after z has infinite loss."""
    weighted = joint(mechanism, prior)
    losses = Loss.of(loss, mechanism.space, guesses).matrix
    infinite = np.isinf(losses)
    # Infinite losses are left out of the product, where 0 times infinity would be NaN, and put back where they count.
    costs = np.where(infinite, 0.0, losses).T @ weighted
    possible = (weighted > 0).astype(float)
    return np.where(infinite.T.astype(float) @ possible > 0, np.inf, costs) if infinite.any() else costs


def usefulness(mechanism: Mechanism, alpha: float, loss: LossLike | Loss = "distance") -> NDArray[np.float64]:
    """Return the probability that the loss is at most α, for each secret, `(n,)`.

    The mechanism is (α, δ)-useful if that is at least 1 - δ for every secret (CABP13 Example 1).

    Parameters
    ----------
    mechanism, loss
        As for `expected_loss`.
    alpha : float
        In units of the loss; losses that are above it by 1e-9 of it at most, as by rounding, are not above it.

    Raises
    ------
    SpecError
        If α is no number, or the loss does not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(dx.evaluate.usefulness(mechanism, alpha=0).round(3).tolist())
    [0.731, 0.462, 0.731]
    """
    alpha = as_number(alpha, "alpha", "give a number, in units of the loss", lambda number: not math.isnan(number))
    losses = loss_of(mechanism, loss)
    most = alpha + _SLACK * abs(alpha)
    near = [(rows * (losses.rows(secrets) <= most)).sum(axis=1) for secrets, rows in mechanism.blocks()]
    return np.minimum(np.concatenate(near), 1.0)


def smallest_alpha(mechanism: Mechanism, delta: float, loss: LossLike | Loss = "distance") -> float:
    """Return the smallest α for which the mechanism is (α, δ)-useful (CABP13 Example 1).

    In every secret the loss is at most α with probability 1 - δ, of which 1e-9 counts as rounding.

    Parameters
    ----------
    mechanism, loss
        As for `expected_loss`.
    delta : float
        From 0 to below 1.

    Raises
    ------
    SpecError
        If δ is out of range, or the loss does not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(9), epsilon=1.0)
    >>> print(dx.evaluate.smallest_alpha(mechanism, 0.05), "holds 95 % of the reports for every secret")
    3.0 holds 95 % of the reports for every secret
    """
    losses = loss_of(mechanism, loss)
    share = 1 - checked_delta(delta) - _SLACK
    worst = -math.inf
    for secrets, rows in mechanism.blocks():
        # The quantile of each secret: losses in rising order, up to the first at which the probability is enough.
        # Where rounding leaves the sum of a whole row below that, it is the last.
        costs = losses.rows(secrets)
        order = costs.argsort(axis=1)
        cumulative = np.take_along_axis(rows, order, axis=1).cumsum(axis=1)
        enough = np.minimum((cumulative < share).sum(axis=1), rows.shape[1] - 1)
        quantiles = np.take_along_axis(np.take_along_axis(costs, order, axis=1), enough[:, None], axis=1)
        worst = max(worst, float(quantiles.max()))
    return worst


def usefulness_curve(
    mechanism: Mechanism, alphas: ArrayLike, loss: LossLike | Loss = "distance", *, prior: PriorLike | None = None
) -> NDArray[np.float64]:
    """Return the probability that the loss is at most each of k values α, `(k,)` (CABP13 Example 1, Fig 1).

    Parameters
    ----------
    mechanism, loss
        As for `expected_loss`.
    alphas : (k,) array
        In units of the loss.
    prior : Prior, optional
        For the probability on average; in the worst secret without it.

    Raises
    ------
    SpecError
        If an α is no number, or prior or loss do not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(5), epsilon=1.0)
    >>> print(dx.evaluate.usefulness_curve(mechanism, [0, 1, 2]).round(3).tolist())
    [0.462, 0.802, 0.964]
    """
    weights = None if prior is None else matching(mechanism, prior)
    shares = [
        usefulness(mechanism, float(alpha), loss) for alpha in as_numbers(alphas, "alphas", "give numbers").ravel()
    ]
    return np.array([min(share.min() if weights is None else weights @ share, 1.0) for share in shares])
