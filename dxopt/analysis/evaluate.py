"""What a mechanism is worth, to its user and to an adversary, under any prior."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.beliefs import BeliefLevel as BeliefLevel
from dxopt.analysis.beliefs import belief_level as belief_level
from dxopt.analysis.divergences import divergence as divergence
from dxopt.analysis.fitting import loss_of
from dxopt.analysis.held_out import on as on
from dxopt.analysis.off_prior import off_prior as off_prior
from dxopt.analysis.order.leakage import additive_capacity as additive_capacity
from dxopt.analysis.order.leakage import capacity as capacity
from dxopt.analysis.order.leakage import g_leakage as g_leakage
from dxopt.analysis.order.refinement import refines as refines
from dxopt.analysis.order.remaps import optimal_random_remap as optimal_random_remap
from dxopt.errors import SpecError
from dxopt.model.levels import checked_delta
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior, PriorLike
from dxopt.numerics.excess import bound_pairs, least_delta, least_epsilon
from dxopt.numerics.written import Written, number_of

_SLACK = 1e-9


def expected_loss(mechanism: Mechanism, prior: PriorLike, loss: LossLike | Loss = "distance") -> float:
    """Σ_x π_x Σ_z K[x, z] l(x, z); infinite where a report of positive probability costs that."""
    return mechanism.cost(matching(mechanism, prior), loss_of(mechanism, loss))


def worst_loss(mechanism: Mechanism, loss: LossLike | Loss = "distance") -> float:
    """max_x Σ_z K[x, z] l(x, z) (HLM14 eq 13), which no prior enters."""
    losses = loss_of(mechanism, loss)
    worst = -math.inf
    for secrets, rows in mechanism.blocks():
        worst = max(worst, float((rows * np.where(rows > 0, losses.rows(secrets), 0.0)).sum(axis=1).max()))
    return worst


def usefulness(mechanism: Mechanism, alpha: float, loss: LossLike | Loss = "distance") -> NDArray[np.float64]:
    """The probability that the loss is at most α, for each secret, `(n,)`.

    The mechanism is (α, δ)-useful if that is at least 1 - δ for every secret (CABP13 Example 1).

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets.
    alpha : float
        In units of the loss; losses that are above it by 1e-9 of it at most, as by rounding, are not above it.
    loss : str, array `(n, m)`, callable or Loss
        See `Loss.of`.

    Raises
    ------
    SpecError
        If α is no number, or the loss does not fit the mechanism.
    """
    if math.isnan(alpha):
        raise SpecError("alpha", "is no number", "give one, in units of the loss")
    losses = loss_of(mechanism, loss)
    most = alpha + _SLACK * abs(alpha)
    near = [(rows * (losses.rows(secrets) <= most)).sum(axis=1) for secrets, rows in mechanism.blocks()]
    return np.concatenate(near)


def utility(mechanism: Mechanism, prior: PriorLike, gain: str | LossLike = "binary") -> float:
    """Expected gain under the best remap of each report (ECP14 §3.4).

    Parameters
    ----------
    gain : "binary" or (n, w) array
        g(x, w) of guessing w for the secret x; `"binary"` is 1 for the secret itself and 0 otherwise.
    """
    if isinstance(gain, str):
        if gain != "binary":
            raise SpecError("gain", f"there is no {gain!r}", "use binary or a matrix")
        return mechanism.correct(matching(mechanism, prior))
    gains = Loss.of(gain, mechanism.space).matrix
    return math.fsum((gains.T @ joint(mechanism, prior)).max(axis=0))


def smallest_alpha(mechanism: Mechanism, delta: float, loss: LossLike | Loss = "distance") -> float:
    """The smallest α for which the mechanism is (α, δ)-useful (CABP13 Example 1).

    In every secret the loss is at most α with probability 1 - δ, of which 1e-9 counts as rounding.

    Parameters
    ----------
    mechanism : Mechanism
    delta : float
        From 0 to below 1.
    loss : str, array `(n, m)`, callable or Loss
        See `Loss.of`.

    Raises
    ------
    SpecError
        If δ is out of range, or the loss does not fit the mechanism.
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
    mechanism: Mechanism,
    alphas: ArrayLike,
    loss: LossLike | Loss = "distance",
    *,
    prior: PriorLike | None = None,
) -> NDArray[np.float64]:
    """The probability that the loss is at most each of k values α, `(k,)`: 1 - δ against α (CABP13 Example 1, Fig 1).

    Parameters
    ----------
    mechanism : Mechanism
    alphas : (k,) array
        In units of the loss.
    loss : str, array `(n, m)`, callable or Loss
        See `Loss.of`.
    prior : Prior, optional
        For the probability on average; in the worst secret without it.

    Raises
    ------
    SpecError
        If an α is no number, or prior or loss do not fit the mechanism.
    """
    weights = None if prior is None else matching(mechanism, prior)
    shares = [usefulness(mechanism, float(alpha), loss) for alpha in np.asarray(alphas, dtype=float).ravel()]
    return np.array([share.min() if weights is None else weights @ share for share in shares])


def optimal_remap(
    mechanism: Mechanism,
    prior: PriorLike,
    loss: LossLike | Loss = "distance",
    *,
    reports: Reports | None = None,
) -> NDArray[np.int64]:
    """The best replacement of each report: argmin_w Σ_x π_x K[x, z] l(x, w), `(m,)` (ECP14 §3.4).

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
    """
    return _costs(mechanism, prior, _guesses(mechanism, loss, reports)).argmin(axis=0)


def min_entropy_leakage(mechanism: Mechanism, prior: PriorLike) -> float:
    """log2(Σ_z max_x π_x K[x, z] / max_x π_x), in bits (ECP14 §3.5, Prop 4)."""
    return math.log2(utility(mechanism, prior) / float(matching(mechanism, prior).max()))


def adversary_error(
    mechanism: Mechanism,
    prior: PriorLike,
    loss: LossLike | Loss = "distance",
    *,
    guesses: Reports | None = None,
) -> float:
    """The least expected loss of an adversary who knows the prior: Σ_z min_w Σ_x π_x K[x, z] l(x, w) (Cha13).

    For a named loss he guesses one of the secrets, or one of the `guesses`. It is infinite where after some report
    every guess is infinitely far from a secret that is possible.
    """
    return math.fsum(_costs(mechanism, prior, _guesses(mechanism, loss, guesses)).min(axis=0))


def smallest_delta(mechanism: Mechanism, epsilon: Written, *, pairs: str = "all") -> float:
    """The smallest δ for which the mechanism is (εd, δ)-private: proven, as it is rounded up (HLM14 Def 1).

    max over pairs of Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]), which the worst set of reports attains. Rounding
    adds about 1e-14, and budgets over 700 count as 700.

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets and m reports; it takes n²·m operations.
    epsilon : float
        Per unit of distance, 0 or more; at 0 it is the largest distance of two rows in total variation.
    pairs : {"all", "adjacent"}
        Which ordered pairs of secrets are bound, as for `dx.Problem`.

    Raises
    ------
    SpecError
        If ε is negative or infinite, or pairs are of no such kind.
    """
    epsilon = number_of(epsilon, "epsilon") if isinstance(epsilon, str) else epsilon
    if not (math.isfinite(epsilon) and epsilon >= 0):
        raise SpecError("epsilon", f"is {epsilon:g}", "give a finite number of 0 or more")
    distances = mechanism.space.distances
    return least_delta(mechanism.matrix, distances, epsilon, bound_pairs(distances, pairs))


def smallest_epsilon(mechanism: Mechanism, delta: float = 0.0, *, pairs: str = "all") -> float:
    """The smallest ε for which the mechanism is (εd, δ)-private: proven, as it is rounded up (HLM14 Def 1).

    Infinite where there is none, and where only budgets over 700 would do.

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets and m reports; it takes a few times n²·m operations.
    delta : float
        From 0 to below 1.
    pairs : {"all", "adjacent"}
        Which ordered pairs of secrets are bound, as for `dx.Problem`.

    Raises
    ------
    SpecError
        If δ is out of range, or pairs are of no such kind.
    """
    distances = mechanism.space.distances
    return least_epsilon(mechanism.matrix, distances, checked_delta(delta), bound_pairs(distances, pairs))


def privacy_profile(mechanism: Mechanism, epsilons: ArrayLike, *, pairs: str = "all") -> NDArray[np.float64]:
    """`smallest_delta` at each of k values ε, `(k,)`: the whole trade between ε and δ."""
    return np.array([smallest_delta(mechanism, float(one), pairs=pairs) for one in np.asarray(epsilons).ravel()])


def matching(mechanism: Mechanism, prior: PriorLike) -> NDArray[np.float64]:
    """The probabilities of a prior, `(n,)`; SpecError where it is not about the secrets of the mechanism."""
    return Prior.of(prior, mechanism.space).probabilities


def joint(mechanism: Mechanism, prior: PriorLike) -> NDArray[np.float64]:
    """π_x K[x, z], `(n, m)`."""
    return matching(mechanism, prior)[:, None] * mechanism.matrix


def _guesses(mechanism: Mechanism, loss: LossLike | Loss, guesses: Reports | None) -> NDArray[np.float64]:
    """The loss of each guess, `(n, w)`."""
    return Loss.of(loss, mechanism.space, guesses).matrix


def _costs(mechanism: Mechanism, prior: PriorLike, guesses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_x π_x K[x, z] l(x, w), `(w, m)`; infinite where a secret that is possible after z costs that."""
    weighted = joint(mechanism, prior)
    infinite = np.isinf(guesses)
    # Infinite losses are left out of the product, where 0 times infinity would be NaN, and put back where they count.
    costs = np.where(infinite, 0.0, guesses).T @ weighted
    possible = (weighted > 0).astype(float)
    return np.where(infinite.T.astype(float) @ possible > 0, np.inf, costs) if infinite.any() else costs
