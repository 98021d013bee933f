"""Weak duality: bounds on what any private channel attains, from multipliers of any quality, rounding counted.

For λ ≥ 0 on constraints v_b - e^{-εd(a, b)} v_a ≥ 0, Σ_x min_z (c_z - A'λ_z)(x) is no more than Σ_z c_z·v_z, because
K ≥ 0 and its rows sum to 1. With δ the constraints of a pair (a, b) may be broken by δ e^{-εd} in all reports
together, which takes away δ Σ max_z λ e^{-εd}.

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
from dxopt.model.moment_sets import Fitting
from dxopt.model.objective import AdversaryError, ExpectedLoss, WorstExpectedLoss, WorstLoss, WorstRegret
from dxopt.model.prior_sets import Everyone, PriorSet
from dxopt.model.problem import Problem
from dxopt.numerics.coerce import SUM
from dxopt.numerics.hockey_stick import bound_pairs
from dxopt.numerics.prior_polytope import Mixtures
from dxopt.numerics.rounding import AT_ONCE, SMALLEST, UNIT, add_at, factor_below
from dxopt.proofs.beliefs import less_beliefs
from dxopt.proofs.duals import AdversaryDual, AnyDual, BeliefDual, Dual, LineDual, ProductDual, WorstDual
from dxopt.spaces.lattices import coordinates_of_line, line_steps

Array = NDArray[np.float64]
_TINY = 1e-250


def costs_bound(
    problem: Problem,
    costs: Array,
    weights: Array,
    dual: Dual | None,
    size: Array | None = None,
    terms: float = 3.0,
    costly: NDArray[np.bool_] | None = None,
) -> float:
    """Bound Σ_z c_z·v_z over private channels from below; the secrets' weights are in the costs `(n, m)`.

    Parameters
    ----------
    dual : Dual or None
        Multipliers λ of any quality; none count as 0.
    size : (n, m) array, optional
        Sizes of what the costs were computed from; |costs| by default.
    terms : float
        Roundings in the costs, beyond those of the sums made here.
    costly : (n, m) array of bool, optional
        Where a cost is not 0 in real numbers, if the weight is not: by default where the loss is not.
    """
    something = problem.losses != 0 if costly is None else costly
    # A sum of t numbers in any order is off by less than t·2^-53 of the sum of their sizes, to first order; twice
    # that is taken off each entry. So `size` adds up sizes and `counts` the terms of each entry of the residual.
    residual = costs
    size = np.abs(costs) if size is None else size
    counts = np.full(costs.shape, terms)
    penalty = 0.0
    if dual is not None:
        # 1. residual c - A'λ: each λ on v_b - e^{-εd(a, b)} v_a ≥ 0 takes λ from (b, z) and gives λ e^{-εd} to
        #    (a, z); e^{-εd} is rounded down, as a smaller one gives less
        taken, given = np.zeros(costs.shape), np.zeros(costs.shape)
        for part in dual.parts(AT_ONCE):
            usable = _usable(problem, part)
            distances = problem.separations[usable.first, usable.second]
            back = usable.multiplier * factor_below(problem.level, distances)
            back = np.where(back < SMALLEST, 0.0, back * (1 - 2 * UNIT))
            ones = np.ones(len(back))
            for total, row, amounts in ((taken, usable.second, usable.multiplier), (given, usable.first, back)):
                add_at(total, (row, usable.report), amounts)
                add_at(counts, (row, usable.report), ones)
        # where multipliers overflow, nothing is proven: the residual counts as -∞
        with np.errstate(over="ignore", invalid="ignore"):
            residual = costs - taken + given
            size = size + taken + given
        residual = np.where(np.isfinite(size), residual, -np.inf)
        # 2. with δ the constraints of a pair may be broken by δ e^{-εd} in all
        if problem.delta:
            penalty = _delta_penalty(problem, _usable(problem, dual))
    # 3. each row of the channel sums to 1, so it pays at least its least residual; what underflow may have taken from
    #    the entry of a row is below the smallest normal double, and is taken off
    low = residual - 2 * counts * UNIT * size
    faint = (size < _TINY) & ((size > 0) | (something & (weights > 0)[:, None]))
    if problem.impossible is not None:  # no channel makes these reports
        low[problem.impossible] = np.inf
        faint &= ~problem.impossible
    total = math.fsum([*low.min(axis=1), -penalty])
    underflow = np.count_nonzero(faint.any(axis=1)) * SMALLEST
    return float(total - 4 * UNIT * abs(total) - underflow)


def lost_by_underflow(exactly: float, rounded: float) -> float:
    """Bound what underflow took from a product or quotient `rounded`, which is 0 in real numbers if `exactly` is."""
    return SMALLEST if exactly and abs(rounded) < _TINY else 0.0


def _usable(problem: Problem, dual: Dual) -> Dual:
    """Return the multipliers that are positive and finite, of pairs that are bound: others prove nothing."""
    good = np.isfinite(dual.multiplier) & (dual.multiplier > 0)
    if problem.delta:
        good &= bound_pairs(problem.separations, problem.pairs)[dual.first, dual.second]
    else:
        good &= np.isfinite(problem.separations[dual.first, dual.second])
    return Dual(dual.prices, *(entry[good] for entry in dual.entries))


def _delta_penalty(problem: Problem, dual: Dual) -> float:
    """Return δ Σ_pairs max_z λ e^{-εd}, rounded up: what δ takes away from the bound."""
    n, m = problem.shape
    pair = dual.first * n + dual.second
    # multipliers of one pair in one report add up; of all reports the largest counts
    cells, cell = np.unique(pair * m + dual.report, return_inverse=True)
    summed = np.bincount(cell, dual.multiplier)
    pairs, which = np.unique(cells // m, return_inverse=True)
    largest = np.zeros(len(pairs))
    np.maximum.at(largest, which, summed)
    budgets = problem.level * problem.separations[pairs // n, pairs % n]
    # room for the sums of `repeated` terms each, for products, and for e^{-εd} from a rounded εd
    repeated = int(np.bincount(cell).max(initial=1))
    margin = (repeated + 64) * UNIT * (1 + float(budgets.max(initial=0.0)))
    return problem.delta * math.fsum(largest * np.exp(-budgets)) * (1 + margin)


_NOISE = 32 * UNIT
_NOTHING = 64 * SMALLEST


@np.errstate(over="ignore", invalid="ignore")  # what overflows ends as NaN or an infinity at a root: no bound then
def line_bound(problem: Problem, dual: LineDual) -> float:
    """Bound the expected loss of all private channels on a line from below, given prices of any quality.

    Weak duality (see `proofs.bounds`) with the constraints between neighbours alone. In the column of report z
    the reduced costs r = π·l(·, z) - y are eliminated one by one from both ends towards the root of z: what has
    gathered at x moves on along the step of length d as λ = ρ on v_x ≥ e^{-εd} v_next where ρ > 0, and as
    λ = |ρ|e^{εd} on v_next ≥ e^{-εd} v_x where ρ < 0, which is the best that multipliers can do. Instead of ρ a
    double L below it is moved, with every rounding counted against it; moving less leaves a residual of 0 or more
    behind. Where L < 0 is but rounding, or e^{εd} overflows, L stays at x. The bound is Σ y plus, for each x, the
    least of 0, what stays there, and what gathers at roots there: what arrives grows with what is moved, so that
    lower bounds stay lower bounds.
    """
    # For every report z (all arrays of length m): what has gathered at the current point, and at the root of z.
    # For every secret x: the least residual left behind there in any report, at most 0.
    at_root = np.zeros(len(dual.roots))
    left = np.zeros(len(problem.space))
    shrink = factor_below(problem.epsilon, line_steps(problem.space))
    with np.errstate(divide="ignore"):
        grow = np.where(shrink > 0, (1 + 4 * UNIT) / shrink, np.inf)
    # One pass from each end. A report takes part in a pass as long as its root is still ahead.
    for backwards in (False, True):
        gathered = np.zeros(len(dual.roots))
        for rows, costs in problem.cost_blocks(backwards=backwards):
            for row in range(len(rows))[:: -1 if backwards else 1]:
                x = int(rows[row])
                # 1. what arrives at a root in the second pass is added to what the first one left there
                here = dual.roots == x
                if backwards:
                    at_root[here] = _sum_below(at_root[here], gathered[here], np.abs(at_root[here]))
                    active = dual.roots < x
                    step = x - 1
                else:
                    active = dual.roots >= x
                    step = x
                # 2. a lower bound on the reduced cost at x with what has gathered on the way
                price = dual.prices[x]
                size = np.abs(costs[row]) + abs(price)
                low = _sum_below(costs[row] - price, gathered, size)
                if not backwards:
                    at_root[here] = low[here]
                    active = active & ~here
                if not active.any():
                    continue
                # 3. negative amounts no larger than their rounding stay at x; the rest moves on to the next point
                least = _NOISE * (size + np.abs(gathered)) + _NOTHING if grow[step] < np.inf else np.inf
                noise = (low < 0) & (low > -least)
                left[x] = min(left[x], float(np.min(low, where=active & noise, initial=0.0)))
                moved = np.where(active & ~noise, low, 0.0)
                gathered = moved * np.where(moved < 0, grow[step] if grow[step] < np.inf else 0.0, shrink[step])
    # Each secret pays at least its price and the least that is left at it.
    np.minimum.at(left, dual.roots, at_root)
    if not np.isfinite(left).all():
        return -math.inf
    total = math.fsum([*dual.prices.tolist(), *left.tolist()])
    return total - 4 * UNIT * abs(total)


def _sum_below(number: Array, other: Array, size: Array) -> Array:
    """Bound the sum of two numbers from below, the first of which has up to three roundings of terms of `size`."""
    return number + other - (8 * UNIT * (size + np.abs(other)) + SMALLEST)


def forms_of(among: PriorSet, dual: WorstDual | None) -> Mixtures:
    """Return the forms, secrets or priors, that the weights of a dual are about: those by which the set is described.

    A set that fits totals lists none, so that its dual names some; CertificateError unless all are of the set.
    """
    if not isinstance(among, Fitting):
        return among.mixtures
    if dual is None or dual.members is None or dual.members.ndim != 2 or dual.members.shape[1] != len(among):
        raise CertificateError("the dual has no priors of the set")
    if not all(among.has(member) for member in dual.members):
        raise CertificateError("the dual has priors that are not of the set")
    return Mixtures.hull(dual.members)


_BLOCK_CELLS = 4_000_000


def proven_bound(problem: Problem, dual: AnyDual | None) -> tuple[float, str]:
    """Return a proven bound on what every private channel attains, from a dual of any kind, and how.

    It is a lower bound where less is better, an upper one where more is. CertificateError where the dual is of
    another kind of problem.
    """
    if isinstance(dual, Dual) and not len(dual.multiplier):  # proves what is proven without a dual
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
            if math.isfinite(bound):  # otherwise what is proven without a dual
                return bound, "weak duality along the line, rounding counted"
        case _, ProductDual():
            parts = split(problem)
            if isinstance(parts, str):
                raise CertificateError(f"the problem has no factors: {parts}")
            return _sum_of_bounds(parts, dual.factors)
        case _, Dual():
            return costs_bound(problem, problem.costs, problem.prior.probabilities, dual), _how_proven(dual)
    if problem.impossible is not None:
        return costs_bound(problem, problem.costs, problem.prior.probabilities, None), _how_proven(None)
    return _rowwise(problem), _how_proven(None)


def _how_proven(dual: Dual | None) -> str:
    """Return as text, for certificates, what proves a bound."""
    if dual is None:
        return "no dual needed"
    return f"weak duality, {np.count_nonzero(dual.multiplier):,} multipliers, rounding counted"


def _bound_for_beliefs(problem: Problem, dual: BeliefDual) -> tuple[float, str]:
    """Return the bound of the inner dual at costs less what multipliers of beliefs take from them, and how."""
    inner = dual.inner
    beliefs = f"{np.count_nonzero(dual.multiplier):,} multipliers of pairs of beliefs; "
    match problem.objective, inner:
        case WorstLoss() | WorstExpectedLoss(), WorstDual():
            bound, how = _worst_bound(problem, inner, dual)
        case ExpectedLoss(), Dual() | None:
            costs, size, terms, costly = less_beliefs(problem, problem.costs, problem.losses != 0, dual)
            bound = costs_bound(problem, costs, np.ones(problem.shape[0]), inner, size, terms, costly)
            how = _how_proven(inner)
        case _:
            raise CertificateError(f"the dual is none of a problem of {problem.objective.name}")
    return bound, beliefs + how


def _worst_bound(problem: Problem, dual: WorstDual | None, beliefs: BeliefDual | None = None) -> tuple[float, str]:
    """Return a bound on the worst loss by the expected one under a prior of the set, and how.

    Without a dual that is the prior under which most is lost even if each secret has its best report. The weights of
    a dual are divided by what keeps them to the masses of their groups. What they are then short of mass 1 is lost on
    some report, so that it costs the least of all losses or more.
    """
    among = problem.objective.among(problem.shape[0]) or Everyone(problem.shape[0])
    losses = np.where(among.reach[:, None], problem.finite_losses, 0.0)
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
    size = costly = None
    if beliefs is not None:
        costs, size, more, costly = less_beliefs(problem, costs, problem.losses != 0, beliefs)
        possible = np.ones(len(secrets))
        terms += more
    total = costs_bound(problem, costs, possible, dual.inner, size, terms, costly)

    # 2. divided, and what is short of the mass
    short = max(math.fsum(mixtures.masses) - math.fsum(weights) / divisor, 0.0)
    spare = short * least - (32 * UNIT + SUM * short) * abs(least)
    bound = total / divisor + spare
    count = np.count_nonzero(weights)
    how = f"expected loss under {count:,} weights: {_how_proven(dual.inner)}"
    bound -= 4 * UNIT * (abs(bound) + abs(spare)) + lost_by_underflow(total, total / divisor)
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
    """Return an upper bound on the adversary's error, and how: under given guesses, plus a price on the loss budget.

    Without a dual, the guess is the best one that ignores the report, and the price 0.
    """
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
    how = f"guesses of an adversary, a price of {price:.6g} on the loss: {_how_proven(dual.inner)}"
    underflow = lost_by_underflow(price * (problem.objective.max_loss != 0), allowed)
    return bound + 4 * UNIT * (abs(bound) + abs(allowed)) + underflow, how


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

    Each is proven at a level raised by the relative error of the distances, as no fewer channels are private there.
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
    how = f"sum over the factors, less {parts.deviation:.1e} for what is no product or sum; {hows}"
    return total - 4 * UNIT * abs(total), how


def _rowwise(problem: Problem) -> float:
    """Return Σ_x min_z π_x l(x, z), rounded down: what is proven without a dual; 0 where a secret may be reported."""
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
