"""Evaluate mechanisms for their user and for an adversary, under any prior."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

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
from dxopt.analysis.usefulness import smallest_alpha, usefulness, usefulness_curve
from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import PriorLike
from dxopt.model.sampling import required_mechanism

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


def expected_loss(mechanism: Mechanism, prior: PriorLike, loss: LossLike | Loss = "distance") -> float:
    """Return Σ_x π_x Σ_z K[x, z] l(x, z); infinite where a report of positive probability costs that.

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
    """Return max_x Σ_z K[x, z] l(x, z) (HLM14 eq 13), which no prior enters.

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets and m reports.
    loss : str, array `(n, m)`, callable or Loss
        See `Loss.of`; the result is in its unit.

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
    worst = -math.inf
    for secrets, rows in mechanism.blocks():
        worst = max(worst, float((rows * np.where(rows > 0, losses.rows(secrets), 0.0)).sum(axis=1).max()))
    return worst


def utility(mechanism: Mechanism, prior: PriorLike, gain: str | LossLike = "binary") -> float:
    """Return the expected gain under the best remap of each report (ECP14 §3.4).

    Parameters
    ----------
    gain : "binary" or (n, w) array
        g(x, w) of guessing w for the secret x; `"binary"` is 1 for the secret itself and 0 otherwise.

    Raises
    ------
    SpecError
        If prior or gain do not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(4), epsilon=1.0)
    >>> print(round(dx.evaluate.utility(mechanism, "uniform"), 3), "against 0.25 without a report")
    0.597 against 0.25 without a report
    """
    if isinstance(gain, str):
        if gain != "binary":
            raise SpecError("gain", f"there is no {gain!r}", "use binary or a matrix")
        weights = matching(mechanism, prior)
        return mechanism.correct(weights)
    try:
        gains = Loss.of(gain, mechanism.space).matrix
    except SpecError as error:
        raise error.at("gain" if error.field == "loss" else error.field) from None
    return math.fsum((gains.T @ joint(mechanism, prior)).max(axis=0))


def optimal_remap(
    mechanism: Mechanism,
    prior: PriorLike,
    loss: LossLike | Loss = "distance",
    *,
    reports: Reports | None = None,
) -> NDArray[np.int64]:
    """Return the best replacement of each report: argmin_w Σ_x π_x K[x, z] l(x, w), `(m,)` (ECP14 §3.4).

    For the distance that is the weighted geometric median of the posterior, over the secrets or over a given set. For
    losses in the worst case a remap that draws may be better: see `optimal_random_remap`.

    Parameters
    ----------
    mechanism : Mechanism
        Of m reports.
    prior : Prior
    loss : str, array `(n, w)`, callable or Loss
        See `Loss.of`.
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
    return _costs(mechanism, prior, _guesses(mechanism, loss, reports)).argmin(axis=0)


def min_entropy_leakage(mechanism: Mechanism, prior: PriorLike) -> float:
    """Return log2(Σ_z max_x π_x K[x, z] / max_x π_x), in bits (ECP14 §3.5, Prop 4); 0 where rounding leaves less.

    Parameters
    ----------
    mechanism : Mechanism
    prior : Prior, "uniform" or (n,) array

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
    return max(0.0, math.log2(utility(mechanism, prior) / float(matching(mechanism, prior).max())))


def adversary_error(
    mechanism: Mechanism,
    prior: PriorLike,
    loss: LossLike | Loss = "distance",
    *,
    guesses: Reports | None = None,
) -> float:
    """Return the least expected loss of an adversary who knows the prior: Σ_z min_w Σ_x π_x K[x, z] l(x, w) (Cha13).

    For a named loss he guesses one of the secrets, or one of the `guesses`. It is infinite where after some report
    every guess is infinitely far from a secret that is possible.

    Parameters
    ----------
    mechanism : Mechanism
    prior : Prior, "uniform" or (n,) array
        What the adversary believes.
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
    return math.fsum(_costs(mechanism, prior, _guesses(mechanism, loss, guesses)).min(axis=0))


def _guesses(mechanism: Mechanism, loss: LossLike | Loss, guesses: Reports | None) -> NDArray[np.float64]:
    """Return the loss of each guess, `(n, w)`."""
    required_mechanism(mechanism)
    return Loss.of(loss, mechanism.space, guesses).matrix


def _costs(mechanism: Mechanism, prior: PriorLike, guesses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ_x π_x K[x, z] l(x, w), `(w, m)`; infinite where a secret that is possible after z costs that."""
    weighted = joint(mechanism, prior)
    infinite = np.isinf(guesses)
    # Infinite losses are left out of the product, where 0 times infinity would be NaN, and put back where they count.
    costs = np.where(infinite, 0.0, guesses).T @ weighted
    possible = (weighted > 0).astype(float)
    return np.where(infinite.T.astype(float) @ possible > 0, np.inf, costs) if infinite.any() else costs
