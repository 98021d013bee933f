"""Bounds on what any private channel attains, by weak duality, from the numbers of dual.npz alone.

A dual need not be optimal, nor feasible in any sense: whatever its numbers are, they prove some bound, and the
question is only whether it is as good as was claimed. Each objective is bounded by a lower bound on costs Σ c K,
which `multipliers` proves from any multipliers or from factors, and `line` from row prices and roots:

- The expected loss is the case c = π l; of a product, see `_product_bound`, by factors.
- The worst loss, over all priors or a set, is no less than the expected one under a prior of the set: c = π l. It is
  given by weights w ≥ 0, divided by what keeps them to the set; what is still missing loses at least min l.
- The error of an adversary is no more than under guesses γ(g | z) of his that he fixes; where the expected loss is at
  most Q, a price p ≥ 0 on it gives: error ≤ p Q - Σ c K, with c = π (p l - Σ_g γ d).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.beliefs import Beliefs, less_beliefs
from dxopt.verify.bounds.line import Steps, line_bound
from dxopt.verify.bounds.multipliers import (
    NO_MULTIPLIERS,
    Costs,
    bits_for,
    bound_by_multipliers,
    combine_bounds,
    costs_by_weights,
    marginals,
    pairs_along,
    prior_missed,
    sum_above,
    summands,
    weighted_costs,
)
from dxopt.verify.exact import Exact, dot, shifted, weighted_sum
from dxopt.verify.files import Arrays, indices, number, numbers, part
from dxopt.verify.prior_sets import Priors
from dxopt.verify.privacy import Levels
from dxopt.verify.verdict import Broken

Array = NDArray[np.float64]
_MOST_AXES = 64
_GUARD_BITS = 128


@dataclass(frozen=True)
class Asked:
    """The problem whose optimum a dual bounds.

    Attributes
    ----------
    objective : str
    losses : (n, m) array
        Finite; 0 where they do not count, and the largest of all for impossible reports.
    prior : (n,) array
    levels : Levels
        Budgets of the pairs that are bound.
    delta : Fraction
    guessed : (n, g) array or None
        Costs of an adversary's guesses.
    max_loss : float
    shape : tuple of int
        Numbers of points along each axis, if the secrets are claimed to be all tuples of these; else empty. A bound
        from factors is true even if they are not.
    beliefs : Beliefs or None
        Pairs of beliefs that must not be told apart.
    priors : Priors or None
        Those of which the worst counts.
    impossible : (n, m) bool array or None
        Reports that no channel makes, as losses are infinite.
    """

    objective: str
    losses: Array
    prior: Array
    levels: Levels
    delta: Fraction
    guessed: Array | None = None
    max_loss: float = np.inf
    shape: tuple[int, ...] = ()
    beliefs: Beliefs | None = None
    priors: Priors | None = None
    impossible: NDArray[np.bool_] | None = None


def bound(asked: Asked, dual: Arrays) -> tuple[Fraction, str]:
    """Return the bound that a dual proves, and how: below the optimum, or above it for the error of an adversary.

    Raises
    ------
    Broken
        If the arrays are no dual of such a problem.
    """
    # Multipliers of pairs of beliefs are taken from the costs; the bound is then that of the inner dual.
    beliefs = dual if "belief" in dual else None
    if beliefs is not None:
        if asked.beliefs is None:
            raise Broken("dual.npz holds multipliers of pairs of beliefs, but problem.npz holds none of these")
        dual = part(dual, "0")
    elif asked.objective == "expected_loss" and not asked.delta and {"which", "roots"} & {*dual}:
        return _product_bound(asked, dual) if "which" in dual else _line_bound(asked, dual)
    if asked.priors is not None:
        found, how = _worst_bound(asked, asked.priors, dual, beliefs)
    elif asked.objective == "adversary_error" and beliefs is None:
        found, how = _adversary_bound(asked, dual)
    elif asked.objective == "expected_loss" and "multiplier" in dual:
        costs = _less_beliefs_if_any(asked, weighted_costs(asked.prior, asked.losses), beliefs)
        found, how = bound_by_multipliers(costs, asked.levels, asked.delta, dual, asked.impossible)
    else:
        raise Broken(f"dual.npz holds no dual of {asked.objective}")
    return found, how if beliefs is None else f"{how}, and {len(beliefs['belief']):,} of pairs of beliefs"


def _less_beliefs_if_any(asked: Asked, costs: Costs, beliefs: Arrays | None) -> Costs:
    """Return costs less what multipliers of beliefs take from them; as they are where there are no beliefs."""
    return costs if beliefs is None or asked.beliefs is None else less_beliefs(costs, asked.beliefs, beliefs)


def _line_bound(asked: Asked, dual: Arrays) -> tuple[Fraction, str]:
    """Return the bound of row prices and roots of a line, and how: by constraints between neighbours alone.

    To leave out those of other pairs only lowers the bound. `steps` are the budgets εd upwards, then downwards.
    """
    prices, roots = line_dual(dual, *asked.losses.shape)
    first = np.arange(len(asked.prior) - 1)
    steps = []
    for pairs in ((first, first + 1), (first + 1, first)):
        if not asked.levels.bound[pairs].all():
            raise Broken("distances: neighbours on the line are at infinite distance")
        # `which` has the index of each pair's distance
        steps.append([asked.levels.exponent(kind) for kind in asked.levels.which[pairs].tolist()])
    return line_dual_bound(asked.prior, asked.losses, prices, roots, *steps)


def line_dual(dual: Arrays, size: int, reports: int) -> tuple[Array, NDArray[np.int64]]:
    """Return the row prices `(n,)` and the roots `(m,)`, one secret for each report, of the dual of a line."""
    return numbers(dual, "prices", size), indices(dual, "roots", size, reports)


def line_dual_bound(
    prior: Array, losses: Array, prices: Array, roots: NDArray[np.int64], ahead: Steps, back: Steps
) -> tuple[Fraction, str]:
    """Return the bound of row prices and roots in integers, and how; see `line_bound` for `ahead` and `back`."""
    # in a unit in which costs and prices are exact
    costs = weighted_costs(prior, losses)
    exact = Exact.of(prices)
    bits = max(costs.bits, exact.bits)
    rows = [[cost << bits - costs.bits for cost in row] for row in costs.rows]
    found = line_bound(rows, exact.scaled(bits)[0], roots.tolist(), ahead, back)
    return Fraction(found) / Fraction(2) ** bits, "weak duality along the line"


def _product_bound(asked: Asked, dual: Arrays) -> tuple[Fraction, str]:
    """Return the bound that a dual for each axis proves (see `multipliers`), and how."""
    shape = asked.shape
    levels = asked.levels
    secrets, reports = asked.losses.shape
    if len(shape) > _MOST_AXES or math.prod(shape) != len(asked.prior) or secrets != reports:
        raise Broken(f"claims.json: the shape {list(shape)} is not of {secrets} secrets and reports")
    parts = marginals(asked.prior, shape)
    losses, missed = summands(asked.losses, shape)
    duals = factor_duals(dual, len(shape))

    def proven(axis: int) -> Fraction:
        # A pair along the axis is bound if it is, whatever the other coordinates are, and then at the largest of its
        # distances: this is the weakest constraint. Distances are sorted, so that the largest index is that of it.
        bound_along = np.asarray(pairs_along(levels.bound, shape, axis).all(axis=0))
        which = np.asarray(pairs_along(levels.which, shape, axis).max(axis=0))
        inner = Levels(bound_along, which, levels.distances, levels.epsilon, levels.below)
        return bound(Asked(asked.objective, losses[axis], parts[axis], inner, Fraction(0)), duals[axis])[0]

    largest = [np.abs(loss).max(axis=1) for loss in losses]
    off = prior_missed(asked.prior, parts, largest) + sum_above(float(asked.prior @ missed))
    found = combine_bounds([proven(axis) for axis in range(len(shape))], parts) - off
    return found, f"{len(shape)} factors by weak duality, less {float(off):.1e}"


def factor_duals(dual: Arrays, count: int) -> list[Arrays]:
    """Return the dual of each factor of a product."""
    return [part(dual, str(index)) for index in indices(dual, "which", count, count).tolist()]


def _worst_bound(asked: Asked, priors: Priors, dual: Arrays, beliefs: Arrays | None) -> tuple[Fraction, str]:
    """Return a lower bound on the worst loss, and how: under the prior of the dual's weights, or one that loses much.

    Under any prior of the set the expected loss is no more than the worst.
    """
    inner: Arrays = NO_MULTIPLIERS
    least = Fraction(float(asked.losses[priors.reach].min()))
    if "weights" in dual:
        weights = numbers(dual, "weights", None)
        inner = part(dual, "0")
        if priors.totals is not None:
            priors = priors.mixtures(numbers(dual, "members", len(weights), len(asked.losses)))
    elif dual["multiplier"].size:
        raise Broken("dual.npz holds no weights on the secrets")
    elif priors.totals is not None:
        return least - 2 * priors.totals.slack * abs(least), "the least of all losses"
    else:
        weights = priors.worst_weights(asked.losses.min(axis=1))
    mixed, bits, divisor, short = priors.prior_of_weights(weights)
    costs = _less_beliefs_if_any(asked, costs_by_weights(mixed, bits, asked.losses), beliefs)
    found, how = bound_by_multipliers(costs, asked.levels, asked.delta, inner, asked.impossible)
    # The mass that is short is lost on some report of a secret that counts, or under members that sum to nearly 1.
    missing = short * (least - Fraction(1, 10**9) * abs(least))
    proven = found / divisor + missing
    if priors.regret:
        # No more than what was attained for each member comes off; and no regret is negative.
        kept = np.where(np.isfinite(weights), np.maximum(weights, 0.0), 0.0).tolist()
        proven = max(proven - weighted_sum(kept, priors.highest) / divisor, Fraction(0))
    return proven, f"{how} under {np.count_nonzero(weights)} weights"


def _adversary_bound(asked: Asked, dual: Arrays) -> tuple[Fraction, str]:
    """Return an upper bound on the adversary's error, and how: by guesses and a price of the dual, or one guess."""
    if asked.guessed is None:
        raise Broken("problem.npz: there is no array adversary_loss")
    m, size = asked.losses.shape[1], asked.guessed.shape[1]
    guesses = np.zeros((m, size))
    price = 0.0
    inner: Arrays = NO_MULTIPLIERS
    if "guesses" in dual:
        guesses = numbers(dual, "guesses", m, size)
        price = number(dual, "price")
        inner = part(dual, "0")
    elif dual["multiplier"].size:
        raise Broken("dual.npz holds no guesses")
    else:
        guesses[:, int((asked.prior @ asked.guessed).argmin())] = 1.0
    # Any guesses and any price of 0 or more do: others count as 0.
    guesses = np.where(np.isfinite(guesses), np.maximum(guesses, 0.0), 0.0)
    price = max(price, 0.0) if np.isfinite(price) else 0.0
    if not guesses.any(axis=1).all():
        raise Broken(f"dual.npz: there is no guess after report {int(np.argmin(guesses.any(axis=1)))}")
    costs = _guessed_costs(asked, asked.guessed, guesses, price)
    found, how = bound_by_multipliers(costs, asked.levels, asked.delta, inner, asked.impossible)
    return Fraction(price) * Fraction(asked.max_loss) - found, f"{how}, guesses, a price of {price:.6g}"


def _guessed_costs(asked: Asked, guessed: Array, guesses: Array, price: float) -> Costs:
    """Return c[x, z] = π(x) (p l(x, z) - Σ_g γ(g | z) d(x, g) / Σ_g γ(g | z)), rounded down.

    That is the price p of the loss l, less the error d under guesses γ: a lower bound on Σ c K bounds the error.
    """
    beliefs, paid, missed, weights = map(Exact.of, (asked.prior, asked.losses, guessed, guesses))
    cost = Fraction(price)
    # Only Σ γ d / Σ γ is rounded: in a unit that is small against the least of all products.
    least = bits_for(float(asked.prior.max()), float(np.abs(guessed).max(initial=0.0)))
    bits = max(least, beliefs.bits + max(paid.bits + Exact.of(np.array([price])).bits, missed.bits) + _GUARD_BITS)
    # For each report, the guesses of positive weight, these weights, and the sum of them.
    chosen = [np.flatnonzero(row).tolist() for row in guesses]
    picked = [[row[g] for g in some] for row, some in zip(weights.rows, chosen, strict=True)]
    sums = [sum(row) for row in weights.rows]
    # π l is over 2^(beliefs.bits + paid.bits), and π Σ γ d / Σ γ over 2^down, as the bits of γ cancel.
    up = bits - beliefs.bits - paid.bits
    down = beliefs.bits + missed.bits
    rows = []
    for belief, losses, misses in zip(beliefs.rows[0], paid.rows, missed.rows, strict=True):
        row = []
        for z, some in enumerate(chosen):
            # p π l rounded down; the error is taken off, so that it is rounded up: -⌈a / b⌉ = ⌊-a / b⌋.
            spent = shifted(belief * losses[z] * cost.numerator, up) // cost.denominator
            error = belief * dot(picked[z], [misses[g] for g in some])
            numerator = shifted(error, max(bits, 0))
            denominator = sums[z] << down + max(-bits, 0)
            row.append(spent + -numerator // denominator)
        rows.append(row)
    return Costs(rows, bits)
