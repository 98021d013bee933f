"""Judges a report: every claim of its certificate against exact arithmetic that shares nothing with dxopt."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from dxopt.model.mechanism import MatrixMechanism
from dxopt.proofs.duals import AdversaryDual, Dual, LineDual, WorstDual
from tests.judges.beside import Cone, counterexample
from tests.judges.claims import (
    Asked,
    Multipliers,
    along_line,
    better_than,
    excess_above,
    least_cost,
    nearly_least_cost,
    rational,
    value_is,
)
from tests.judges.exact import row_sum_errors, violations

ROW_SUMS = Fraction(1, 2**50)
LEAST_VALUE = 1e-12
"""Gaps are relative to the value, and to this where the value is smaller."""
_SLACK = 1e-12
_SHORTER = 1 - 1e-9


@dataclass(frozen=True)
class Find:
    """A claim that is false, or something that must not happen.

    Attributes
    ----------
    kind : str
    detail : str
    """

    kind: str
    detail: str


def finds(report: dx.Report, *, beside: bool = True) -> Iterator[Find]:
    """The false claims of a report.

    Parameters
    ----------
    report : Report
    beside : bool
        Whether to solve a linear program beside, where the dual does not already prove the bound.
    """
    problem = report.problem
    proof = report.certificate
    channel = report.mechanism.matrix
    if not isinstance(report.mechanism, MatrixMechanism):
        yield Find("not written down", f"{type(report.mechanism).__name__} on {len(problem.space)} points")
        return
    asked = asked_of(problem)
    # 1. the channel: probabilities, rows, privacy at the level asked and at the one claimed
    yield from _channel_finds(problem, proof, channel)
    # 2. the value, and the budget
    if not (math.isfinite(proof.value) and math.isfinite(proof.bound)):
        yield Find("not finite", f"value {proof.value}, bound {proof.bound}")
        return
    if not value_is(asked, channel, proof.value):
        exact = float(asked.exactly(rational(channel)))
        yield Find("false value", f"{proof.value!r} is claimed, {exact!r} is attained")
    if math.isfinite(asked.max_loss) and asked.spent(rational(channel)) > Fraction(asked.max_loss):
        yield Find("above budget", f"the loss exceeds {asked.max_loss!r}")
    # 3. the bound: on no side of the value where nothing can be, nor beyond any channel that is known
    if asked.sign * (proof.bound - proof.value) > 0 or better_than(asked, channel, proof.bound):
        yield Find("false bound", f"the channel itself is better: {proof.value!r} against {proof.bound!r}")
    elif not bound_follows(report) and beside:
        cone = cone_of(problem)
        better = counterexample(asked, cone, proof.bound, scale_of(asked, proof.value))
        if better is not None:
            yield Find("false bound", f"{proof.bound!r} is claimed, {float(asked.exactly(better))!r} is possible")
    # 4. what is said of the gap
    if proof.gap != abs(proof.value - proof.bound) / max(abs(proof.value), LEAST_VALUE):
        yield Find("false gap", f"{proof.gap!r} for value {proof.value!r} and bound {proof.bound!r}")
    if report.status == "optimal" and own_gap(report) > report.tolerance * (1 + 1e-9):
        yield Find("false status", f"optimal with {proof.value!r} against a bound of {proof.bound!r}")


def own_gap(report: dx.Report) -> float:
    """The gap relative to the value, or to 1e-12 of the largest loss that counts, and of 1 at most, where it is less.

    In units of the losses, so that small losses are no excuse for a value that is far from the bound. No gap where
    they are apart by 2^-46 of the largest loss at most.
    """
    proof = report.certificate
    off = abs(Fraction(proof.value) - Fraction(proof.bound))
    largest = largest_loss(report.problem)
    unit = max(abs(proof.value), LEAST_VALUE * min(1.0, largest), 5e-324)
    return 0.0 if off <= Fraction(largest) / 2**46 else float(min(off / Fraction(unit), Fraction(10**300)))


def largest_loss(problem: dx.Problem) -> float:
    """The largest finite size of a loss that counts towards the objective; of guesses for an adversary's error."""
    asked = asked_of(problem)
    costs = asked.losses if asked.guesses is None else asked.guesses
    counted = np.abs(costs if asked.objective == "worst_loss" else costs[asked.prior > 0])
    return float(counted[np.isfinite(counted)].max(initial=0.0))


def asked_of(problem: dx.Problem) -> Asked:
    """What a problem wants, as plain arrays."""
    objective = problem.objective
    guesses = objective.guesses if isinstance(objective, dx.AdversaryError) else None
    return Asked(objective.name, problem.prior.probabilities, problem.losses, guesses, objective.max_loss)


def cone_of(problem: dx.Problem) -> Cone:
    """What privacy asks for, as plain arrays."""
    distances = problem.space.distances if problem.private else np.where(np.eye(len(problem.space)) > 0, 0.0, np.inf)
    epsilon = problem.epsilon if problem.private else 1.0
    return Cone(distances, epsilon, problem.delta, _bound(distances, problem.pairs if problem.delta else "all"))


def scale_of(asked: Asked, value: float) -> float:
    """The unit of the costs of a linear program: the value, unless it is nothing beside the costs."""
    with np.errstate(all="ignore"):
        costs = np.abs(asked.losses if asked.guesses is None else asked.guesses)
        costs = costs if asked.objective == "worst_loss" else asked.prior[:, None] * costs
        largest = float(np.nanmax(np.where(np.isfinite(costs), costs, 0.0)))
    return max(abs(value), 1e-300 * largest, 2.0**-1000)


def bound_follows(report: dx.Report) -> bool:
    """Whether the bound follows exactly from the multipliers of the report: then it is true."""
    asked = asked_of(report.problem)
    cone = cone_of(report.problem)
    claimed = Fraction(report.certificate.bound)
    match report.dual:
        case None | Dual() if asked.objective == "expected_loss":
            return _least_is(claimed, asked, cone, asked.prior, _given(report.dual, cone))
        case LineDual():
            lengths = cone.distances.diagonal(1)
            paid = _paid(asked, asked.prior)
            least = along_line(paid, report.dual.prices, report.dual.roots, lengths, cone.epsilon)
            return least >= claimed
        case WorstDual() as dual:
            weights = np.maximum(dual.weights, 0.0)
            return weights.sum() > 0 and _least_is(
                claimed * sum(map(Fraction, weights.tolist())), asked, cone, weights, _given(dual.inner, cone)
            )
        case AdversaryDual() as dual:
            return _most_is(claimed, asked, cone, dual)
    return False


def _least_is(claimed: Fraction, asked: Asked, cone: Cone, weights: NDArray[np.float64], given: Multipliers) -> bool:
    """Whether no private channel costs less than claimed, under weights on the secrets: in doubles, else exactly."""
    if not cone.delta:
        losses = np.where(weights[:, None] > 0, asked.losses, 0.0)
        costs = weights[:, None] * losses
        lost = (costs == 0) & (losses != 0) & (weights > 0)[:, None]
        nearly = nearly_least_cost(costs, given, cone.distances, cone.epsilon)
        if not lost.any() and math.isfinite(nearly) and Fraction(nearly) >= claimed:
            return True
    return least_cost(_paid(asked, weights), given, cone.distances, cone.epsilon, cone.delta) >= claimed


def _most_is(claimed: Fraction, asked: Asked, cone: Cone, dual: AdversaryDual) -> bool:
    """Whether no channel within the budget has a larger error than claimed, by guesses and a price on the loss."""
    assert asked.guesses is not None
    price = Fraction(max(0.0, dual.price))
    chosen = rational(np.maximum(dual.guesses, 0.0))
    if not all(sum(row) > 0 for row in chosen):
        return False
    shares = [[weight / sum(row) for weight in row] for row in chosen]
    missed = rational(asked.guesses)
    likely = [Fraction(float(one)) for one in asked.prior]
    costs = [
        [
            price * cost - likely[x] * sum((a * b for a, b in zip(missed[x], shares[z], strict=True)), Fraction(0))
            for z, cost in enumerate(row)
        ]
        for x, row in enumerate(_paid(asked, asked.prior))
    ]
    least = least_cost(costs, _given(dual.inner, cone), cone.distances, cone.epsilon, cone.delta)
    return price * Fraction(asked.max_loss) - least <= claimed


def _given(dual: Dual | None, cone: Cone) -> Multipliers:
    """The multipliers of a dual on pairs that are bound; others prove nothing."""
    if dual is None:
        return Multipliers.none()
    good = cone.bound[dual.first, dual.second]
    return Multipliers(dual.report[good], dual.first[good], dual.second[good], dual.multiplier[good])


def _paid(asked: Asked, weights: NDArray[np.float64]) -> list[list[Fraction]]:
    """Weights times losses, exactly; 0 where the weight is."""
    losses = rational(np.where(weights[:, None] > 0, asked.losses, 0.0))
    return [[Fraction(float(weight)) * loss for loss in row] for weight, row in zip(weights, losses, strict=True)]


def _channel_finds(problem: dx.Problem, proof, channel: NDArray[np.float64]) -> Iterator[Find]:
    if not np.isfinite(channel).all() or (channel < 0).any() or (channel > 2).any():
        yield Find("no channel", "entries are no probabilities")
        return
    off = max(map(abs, row_sum_errors(channel)))
    if off > ROW_SUMS:
        yield Find("row sums", f"a row is off 1 by {float(off):.3e}")
    if proof.private is not problem.private:
        yield Find("not private", f"private is {proof.private} where {problem.private} was asked for")
    if not problem.private:
        return
    if not (proof.epsilon <= problem.epsilon and 0 <= proof.delta <= problem.delta):
        yield Find("not private", f"realised {proof.epsilon!r}, {proof.delta!r} is above what was asked for")
    distances = problem.space.distances
    if problem.delta:
        bound = _bound(distances, problem.pairs)
        broken = excess_above(channel, distances, proof.epsilon, proof.delta, bound)
    else:
        broken = [(x, y) for x, y, _ in violations(channel, distances, problem.epsilon)]
        broken += [(x, y) for x, y, _ in violations(channel, distances, proof.epsilon)]
    if broken:
        yield Find("not private", f"pairs {sorted(set(broken))[:4]} at {proof.epsilon!r}, delta {proof.delta!r}")


def _bound(distances: NDArray[np.float64], pairs: str) -> NDArray[np.bool_]:
    """The ordered pairs that are bound: of finite distance, and if asked with no third point between them."""
    n = len(distances)
    bound = np.isfinite(distances) & ~np.eye(n, dtype=bool)
    if pairs == "adjacent":
        for a, b in np.argwhere(bound):
            length = distances[a, b]
            legs = [(distances[a, c], distances[c, b]) for c in range(n) if c not in (a, b)]
            bound[a, b] = not any(
                first + second <= length * (1 + _SLACK) and max(first, second) < length * _SHORTER
                for first, second in legs
            )
    return bound
