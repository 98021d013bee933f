"""Repair, then prove: nothing leaves dxopt without passing here.

The privacy proof is about the doubles of the returned matrix and the real products of the doubles ε and d; the
bound is a weak-duality bound that holds for any multipliers of 0 or more, computed with every rounding
counted against it. The one assumption is stated in `rounding`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.mechanism import Mechanism, Privacy
from dxopt.problem import Problem
from dxopt.program import Dual
from dxopt.repair import repair
from dxopt.rounding import SMALLEST, UNIT, factor_above, factor_below

ROW_SUM_ERROR = 2.0**-50


@dataclass(frozen=True)
class Certificate:
    """What this run proved.

    Attributes
    ----------
    private : bool
        Every pair of secrets and every report satisfies K[x, z] ≤ e^{εd(x, x')} K[x', z]: proven.
    epsilon : float
        The realised level: the least one for which the channel is private, rounded up; at most the one asked.
    value : float
        Expected loss, recomputed from the channel.
    bound : float
        A number no private channel's expected loss is below: proven.
    gap : float
        |value - bound| / max(|value|, 1e-12).
    how : dict
        What was done to prove `privacy` and `bound`.
    """

    private: bool
    epsilon: float
    value: float
    bound: float
    gap: float
    how: Mapping[str, str]


def certify(
    problem: Problem, raw: NDArray[np.float64], dual: Dual | None, *, name: str = "mechanism"
) -> tuple[Mechanism, Certificate]:
    """Repair a channel, prove it private, and bound its distance from the optimum.

    Parameters
    ----------
    problem : Problem
    raw : (n, m) array
        A channel from anywhere; it is repaired first.
    dual : Dual or None
        Multipliers of any quality. Without them the bound is Σ_x min_z π_x l(x, z).

    Raises
    ------
    CertificateError
        If privacy cannot be proven after the repair.
    """
    channel = repair(problem, raw)
    moved = float(np.abs(channel - np.where(np.isfinite(raw), raw, 0.0)).max())
    epsilon = prove_private(problem, channel)
    value = expected_cost(problem, channel)
    bound = safe_bound(problem, dual)
    multipliers = "no dual needed" if dual is None else f"{np.count_nonzero(dual.multiplier):,} multipliers"
    how = {
        "privacy": f"closure and slack report moved entries by at most {moved:.1e}; all {_pairs(problem):,} ordered "
        "pairs checked in every report with rounding counted",
        "bound": f"weak duality, {multipliers}, rounding counted",
    }
    proven = Privacy(epsilon, how["privacy"])
    mechanism = Mechanism.from_matrix(problem.space, channel, problem.reports, name=name, privacy=proven)
    return mechanism, Certificate(True, epsilon, value, bound, gap(value, bound), how)


def gap(value: float, bound: float) -> float:
    """|value - bound| / max(|value|, 1e-12)."""
    return abs(value - bound) / max(abs(value), 1e-12)


def expected_cost(problem: Problem, channel: NDArray[np.float64]) -> float:
    """Σ π_x K[x, z] l(x, z), summed without rounding."""
    return math.fsum((problem.costs * channel).ravel())


def prove_private(problem: Problem, channel: NDArray[np.float64]) -> float:
    """Prove that a channel `(n, m)` is private, and return its realised ε.

    Raises
    ------
    CertificateError
        Naming a pair and a report for which the inequality is not proven, or a row that does not sum to 1.
    """
    if not np.isfinite(channel).all() or (channel < 0).any():
        raise CertificateError("the channel has entries that are no probabilities")
    off = [abs(math.fsum([-1.0, *row])) for row in channel]
    if max(off) > ROW_SUM_ERROR:
        raise CertificateError(f"row {int(np.argmax(off))} of the channel sums to 1 only within {max(off):.1e}")
    distances = problem.space.distances
    factors = factor_above(problem.epsilon, distances)
    realised = 0.0
    for x in range(len(channel)):
        needed = factors[x, :, None] * channel[None, x, :]
        vanishing = (needed < SMALLEST) & (channel[x] > 0) & (factors[x, :, None] > 0)
        broken = (channel < needed) | (vanishing & (channel < SMALLEST))
        if broken.any():
            other, report = np.argwhere(broken)[0]
            raise CertificateError(_violation(problem, channel, x, int(other), int(report)))
        realised = max(realised, _realised(channel, distances, x))
    return min(realised, problem.epsilon)


def _realised(channel: NDArray[np.float64], distances: NDArray[np.float64], x: int) -> float:
    counted = np.isfinite(distances[x]) & (distances[x] > 0)
    positive = channel[x] > 0
    if not counted.any() or not positive.any():
        return 0.0
    with np.errstate(over="ignore"):
        ratio = channel[x, positive] / channel[np.ix_(counted, positive)]
    logs = np.log(ratio.max(axis=1)) + 64 * UNIT
    return float((logs / distances[x, counted]).max()) * (1 + 8 * UNIT)


def _violation(problem: Problem, channel: NDArray[np.float64], x: int, other: int, report: int) -> str:
    labels = problem.space.labels
    budget = problem.budgets[x, other]
    return (
        f"secrets {labels[x]} and {labels[other]} are told apart by report "
        f"{problem.reports.labels[report]}: {channel[x, report]:.17g} against "
        f"{channel[other, report]:.17g} with a budget of {budget:.6g}"
    )


def safe_bound(problem: Problem, dual: Dual | None) -> float:
    """A proven lower bound on the expected loss of every private channel.

    For λ ≥ 0 on constraints v_b - e^{-εd(a, b)} v_a ≥ 0, Σ_x min_z (c_z - A'λ_z)(x) is one, because K ≥ 0 and its
    rows sum to 1 (the row prices y cancel). Each rounding is counted against it.
    """
    costs = problem.costs
    terms = 3.0 * np.ones(costs.shape)
    residual, size = costs.copy(), np.abs(costs)
    if dual is not None:
        multiplier = np.where(np.isfinite(dual.multiplier), np.maximum(dual.multiplier, 0.0), 0.0)
        distances = problem.space.distances[dual.first, dual.second]
        back = multiplier * factor_below(problem.epsilon, distances)
        there, origin = (dual.second, dual.report), (dual.first, dual.report)
        multiplier = np.where(np.isfinite(distances), multiplier, 0.0)
        for place, amount in ((there, -multiplier), (origin, back * (1 - 2 * UNIT))):
            np.add.at(residual, place, amount)
            np.add.at(size, place, np.abs(amount))
            np.add.at(terms, place, 1.0)
    low = (residual - 2 * terms * UNIT * size).min(axis=1)
    total = math.fsum(low)
    prior = problem.prior.probabilities
    underflow = costs.shape[1] * np.count_nonzero((prior > 0) & (prior < 1e-250)) * SMALLEST
    return float(total - 4 * UNIT * abs(total) - underflow)


def _pairs(problem: Problem) -> int:
    finite = np.isfinite(problem.space.distances)
    return int(finite.sum()) - len(problem.space)
