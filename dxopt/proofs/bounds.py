"""Weak duality: bounds on what any private channel attains, from multipliers of any quality, rounding counted.

Every objective comes down to costs of a report in a secret, which `costs_bound` bounds. The worst loss is no less
than the expected one under weights on the secrets, or on priors of a set; the error of an adversary is no more than
under given guesses, to which a price on the user's loss adds what the budget leaves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.model.factors import Split, split
from dxopt.model.fitting_sets import Fitting
from dxopt.model.objective import AdversaryError, ExpectedLoss, WorstExpectedLoss, WorstLoss, WorstRegret
from dxopt.model.prior_sets import SUM, Everyone
from dxopt.model.problem import Problem
from dxopt.numerics.rounding import SMALLEST, UNIT
from dxopt.proofs.beliefs import charged
from dxopt.proofs.costs_bound import costs_bound, lost
from dxopt.proofs.duals import AdversaryDual, AnyDual, BeliefDual, Dual, LineDual, ProductDual, WorstDual
from dxopt.proofs.line_bound import line_bound
from dxopt.proofs.members import forms_of
from dxopt.spaces.lattices import coordinates_of_line

Array = NDArray[np.float64]
_BLOCK_CELLS = 4_000_000


def proven_bound(problem: Problem, dual: AnyDual | None) -> tuple[float, str]:
    """Return a proven bound on what every private channel attains, from a dual of any kind, and how.

    Below the optimum where less is better, above it where more is.

    Raises
    ------
    CertificateError
        If the dual is not one of such a problem.
    """
    if isinstance(dual, Dual) and not len(dual.multiplier):
        dual = None
    if isinstance(dual, BeliefDual):
        return _bound_for_beliefs(problem, dual)
    if problem.beliefs is not None and isinstance(dual, LineDual | ProductDual):
        raise CertificateError("the dual is none of a problem with pairs of beliefs")
    match problem.objective, dual:
        case WorstLoss() | WorstExpectedLoss() | WorstRegret(), WorstDual() | None:
            return _worst_bound(problem, dual)
        case AdversaryError(), AdversaryDual() | None:
            return _adversary_bound(problem, problem.objective.guesses, dual)
        case (WorstLoss() | WorstExpectedLoss() | WorstRegret() | AdversaryError(), _) | (
            _,
            WorstDual() | AdversaryDual(),
        ):
            raise CertificateError(f"the dual is none of a problem of {problem.objective.name}")
        case _, LineDual():
            _require_fit(problem, dual)
            bound = line_bound(problem, dual)
            if math.isfinite(bound):
                return bound, "weak duality along the line, rounding counted"
        case _, ProductDual():
            parts = split(problem)
            if isinstance(parts, str):
                raise CertificateError(f"the problem has no factors: {parts}")
            return _sum_of_bounds(parts, dual.factors)
        case _, Dual():
            return costs_bound(problem, problem.costs, problem.prior.probabilities, dual), _how(dual)
    return _rowwise(problem), _how(None)


def _how(dual: Dual | None) -> str:
    if dual is None:
        return "no dual needed"
    return f"weak duality, {np.count_nonzero(dual.multiplier):,} multipliers, rounding counted"


def _bound_for_beliefs(problem: Problem, dual: BeliefDual) -> tuple[float, str]:
    """Return the bound of the inner dual, at costs that the multipliers of beliefs were taken from."""
    inner = dual.inner
    beliefs = f"{np.count_nonzero(dual.multiplier):,} multipliers of pairs of beliefs; "
    match problem.objective, inner:
        case WorstLoss() | WorstExpectedLoss(), WorstDual():
            bound, how = _worst_bound(problem, inner, dual)
        case ExpectedLoss(), Dual() | None:
            paid = charged(problem, problem.costs, problem.losses != 0, dual)
            everybody = np.ones(problem.shape[0])
            bound = costs_bound(problem, paid.costs, everybody, inner, paid.size, paid.terms, paid.costly)
            how = _how(inner)
        case _:
            raise CertificateError(f"the dual is none of a problem of {problem.objective.name}")
    return bound, beliefs + how


def _worst_bound(problem: Problem, dual: WorstDual | None, beliefs: BeliefDual | None = None) -> tuple[float, str]:
    """Bound by the loss under a prior of the set; by default the one under which most is lost where all is known.

    The weights of the dual are divided by what keeps them to the masses of their groups. What they are then short of
    mass 1 is lost on some report, so that it costs the least of all losses or more.
    """
    among = problem.objective.among(problem.shape[0]) or Everyone(problem.shape[0])
    losses = np.where(among.reach[:, None], problem.losses, 0.0)
    least = float(losses[among.reach].min())
    if isinstance(among, Fitting) and dual is None:
        return least - 2 * (among.within + 4 * UNIT) * abs(least), "the least of all losses"
    mixtures = forms_of(among, dual)
    if dual is None:
        dual = WorstDual(mixtures.extremes(losses.min(axis=1)))
    if dual.weights.shape != (mixtures.rows,):
        raise CertificateError("the weights are not about the secrets, or all 0")
    weights, divisor = mixtures.within(dual.weights)
    if not divisor > 0:
        raise CertificateError("the weights are not about the secrets, or all 0")

    # 1. what is lost under the prior that the weights give: sums of few terms of 0 or more, each of them rounded
    secrets = mixtures.prior(weights)
    with np.errstate(over="ignore"):
        costs = secrets[:, None] * losses
    possible = mixtures.prior((weights > 0).astype(float))
    terms = 2.0 * mixtures.terms + 3
    if beliefs is None:
        total = costs_bound(problem, costs, possible, dual.inner, terms=terms)
    else:
        paid = charged(problem, costs, problem.losses != 0, beliefs)
        everybody = np.ones(len(secrets))
        terms += paid.terms
        total = costs_bound(problem, paid.costs, everybody, dual.inner, paid.size, terms, paid.costly)

    # 2. divided, and what is short of the mass
    short = max(math.fsum(mixtures.masses) - math.fsum(weights) / divisor, 0.0)
    spare = short * least - (32 * UNIT + SUM * short) * abs(least)
    bound = total / divisor + spare
    count = np.count_nonzero(weights)
    how = f"expected loss under {count:,} weights: {_how(dual.inner)}"
    bound -= 4 * UNIT * (abs(bound) + abs(spare)) + lost(total, total / divisor)
    if not isinstance(problem.objective, WorstRegret):
        return bound, how

    # 3. regret: no more than what was attained for each prior is taken off; and it is never negative
    if problem.objective.highest is None:
        raise CertificateError("the optima that the regret is against are not known")
    taken = weights * problem.objective.highest
    known = (math.fsum(taken) + 4 * UNIT * math.fsum(np.abs(taken)) + SMALLEST * count) / divisor
    left = bound - known
    return max(left - 4 * UNIT * (abs(left) + abs(known)), 0.0), f"regret: {how}"


def _adversary_bound(problem: Problem, guessed: Array, dual: AdversaryDual | None) -> tuple[float, str]:
    """Bound by the error under guesses, and the price of what the budget leaves; by default the best blind guess."""
    reports = problem.shape[1]
    prior = problem.prior.probabilities
    if dual is None:
        blind = np.zeros((1, guessed.shape[1]))
        blind[0, int((prior @ guessed).argmin())] = 1.0
        dual = AdversaryDual(np.repeat(blind, reports, axis=0), 0.0)
    guesses = np.where(np.isfinite(dual.guesses), np.maximum(dual.guesses, 0.0), 0.0)
    if guesses.shape != (reports, guessed.shape[1]) or not (guesses.sum(axis=1) > 0).all():
        raise CertificateError("the guesses are not about the reports, or some are missing")
    guesses = guesses / guesses.sum(axis=1, keepdims=True)
    price = max(dual.price, 0.0) if math.isfinite(dual.price) else 0.0
    paid = price * problem.costs
    missed = prior[:, None] * (guessed @ guesses.T)
    size = np.abs(paid) + prior[:, None] * (np.abs(guessed) @ guesses.T)
    terms = 2.0 * guessed.shape[1] + 8
    costly = (problem.losses != 0) & (price > 0) | (guessed != 0).any(axis=1)[:, None]
    allowed = price * problem.objective.max_loss
    bound = allowed - costs_bound(problem, paid - missed, prior, dual.inner, size, terms, costly)
    how = f"guesses of an adversary, a price of {price:.6g} on the loss: {_how(dual.inner)}"
    return bound + 4 * UNIT * (abs(bound) + abs(allowed)) + lost(
        price * (problem.objective.max_loss != 0), allowed
    ), how


def _require_fit(problem: Problem, dual: LineDual) -> None:
    """Raise CertificateError unless the problem is on a line of as many points as the dual has prices."""
    size, reports = problem.shape
    fits = (
        dual.prices.shape == (size,)
        and dual.roots.shape == (reports,)
        and coordinates_of_line(problem.space) is not None
    )
    if not (fits and dual.roots.min() >= 0 and dual.roots.max() < size and np.isfinite(dual.prices).all()):
        raise CertificateError("the prices and roots do not fit a line of so many points")


def _sum_of_bounds(parts: Split, duals: Sequence[AnyDual | None]) -> tuple[float, str]:
    """Return the bounds of the factors of a product added up, and how each was proven.

    Each is taken at a level raised by the relative error of the distances, at which no less is possible.
    """
    if len(duals) != len(parts.factors):
        raise CertificateError(f"{len(duals)} duals do not fit {len(parts.factors)} factors")
    known: dict[tuple[int, int], tuple[float, str]] = {}
    found = []
    for factor, dual in zip(parts.factors, duals, strict=True):
        key = id(factor), id(dual)
        if key not in known:
            above = factor.at(factor.epsilon * (1 + 1.01 * parts.distance_error + 8 * UNIT))
            known[key] = proven_bound(above, dual)
        found.append(known[key])
    total = math.fsum([*(bound for bound, _ in found), -parts.deviation])
    hows = "; ".join(dict.fromkeys(how for _, how in found))
    return (
        total - 4 * UNIT * abs(total),
        f"sum over the factors, less {parts.deviation:.1e} for what is no product or sum; {hows}",
    )


def _rowwise(problem: Problem) -> float:
    """Σ_x min_z π_x l(x, z), rounded down: what is proven without a dual; 0 where a secret may be reported itself."""
    if problem.loss.by_distance and problem.reports.secrets:
        return 0.0
    prior = problem.prior.probabilities
    step = max(1, _BLOCK_CELLS // problem.shape[1])
    likely = np.flatnonzero(prior)
    low = [0.0]
    rounded = 0
    for secrets in np.split(likely, range(step, len(likely), step)):
        least = problem.loss.rows(secrets).min(axis=1)
        low += (prior[secrets] * least).tolist()
        rounded += np.count_nonzero(least)
    return float(math.fsum(low) - 4 * UNIT * math.fsum(map(abs, low)) - rounded * SMALLEST)
