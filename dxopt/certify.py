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
from dxopt.rounding import SMALLEST, UNIT, factor_above, factor_below, totals
from dxopt.tropical import product

ROW_SUM_ERROR = 2.0**-50
_ROUNDING = 8 * UNIT


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

    With W ≥ (1 - 3·2^-53) max_z K[x, z] / K[x', z] and G ≥ e^{-εd} (1 + 16·2^-53), the pair (x, x') is private
    where fl(W·G) ≤ 1 + 8·2^-53; a pair with K[x', z] ≥ fl(G·K[x, z]) in every report z, as the repair leaves it,
    is within that. Where G is capped at 1, rows are compared themselves.

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
    worst = _worst_ratios(channel)
    broken = np.multiply(worst, factors, out=np.zeros(factors.shape), where=factors > 0) > 1 + _ROUNDING
    broken |= _unlike(channel, factors == 1)
    np.fill_diagonal(broken, False)
    if broken.any():
        x, other = np.unravel_index(int(broken.argmax()), broken.shape)
        raise CertificateError(_violation(problem, channel, int(x), int(other)))
    return min(_realised(worst, distances), problem.epsilon)


def _worst_ratios(channel: NDArray[np.float64]) -> NDArray[np.float64]:
    """max_z K[x, z] / K[x', z] for all x and x', `(n, n)`, up to 3·2^-53 relative, or ∞ where 1 / K[x', z] overflows.

    Entries of 0 ask for nothing, whatever they are divided by: -1 keeps their products out of the maximum.
    """
    inverse = np.full(channel.shape[::-1], np.inf)
    with np.errstate(over="ignore"):
        np.divide(1.0, channel.T, out=inverse, where=channel.T > 0)
    return product(np.where(channel > 0, channel, -1.0), inverse)


def _unlike(channel: NDArray[np.float64], alike: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The pairs `(n, n)` of those given where K[x, z] > K[x', z] for some z, compared exactly."""
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(row.tobytes(), len(kinds)) for row in channel])
    doubtful = alike & (kind[:, None] != kind)
    for x, other in np.argwhere(doubtful):
        doubtful[x, other] = (channel[x] > channel[other]).any()
    return doubtful


def _realised(worst: NDArray[np.float64], distances: NDArray[np.float64]) -> float:
    """The least level that allows the ratios, rounded up."""
    counted = np.isfinite(distances) & (distances > 0)
    with np.errstate(over="ignore"):
        levels = (np.log(worst[counted]) + 64 * UNIT) / distances[counted]
    return float(levels.max(initial=0.0)) * (1 + 16 * UNIT)


def _violation(problem: Problem, channel: NDArray[np.float64], x: int, other: int) -> str:
    with np.errstate(divide="ignore", over="ignore"):
        ratios = np.divide(channel[x], channel[other], out=np.zeros(channel.shape[1]), where=channel[x] > 0)
    report = int(ratios.argmax())
    labels = problem.space.labels
    return (
        f"secrets {labels[x]} and {labels[other]} are told apart by report "
        f"{problem.reports.labels[report]}: {channel[x, report]:.17g} against "
        f"{channel[other, report]:.17g} with a budget of {problem.budgets[x, other]:.6g}"
    )


def safe_bound(problem: Problem, dual: Dual | None) -> float:
    """A proven lower bound on the expected loss of every private channel.

    For λ ≥ 0 on constraints v_b - e^{-εd(a, b)} v_a ≥ 0, Σ_x min_z (c_z - A'λ_z)(x) is one, because K ≥ 0 and its
    rows sum to 1 (the row prices y cancel). A sum of t numbers in any order is off by less than t·2^-53 of the sum
    of their sizes, to first order; twice that, with 3 more terms for the roundings around it, is taken off.
    """
    costs = problem.costs
    residual, size, terms = costs, np.abs(costs), np.full(costs.shape, 3.0)
    if dual is not None:
        multiplier = np.where(np.isfinite(dual.multiplier), np.maximum(dual.multiplier, 0.0), 0.0)
        distances = problem.space.distances[dual.first, dual.second]
        back = multiplier * factor_below(problem.epsilon, distances)
        back = np.where(back < SMALLEST, 0.0, back * (1 - 2 * UNIT))
        there, origin = (dual.second, dual.report), (dual.first, dual.report)
        taken = totals(there, np.where(np.isfinite(distances), multiplier, 0.0), costs.shape)
        given = totals(origin, back, costs.shape)
        residual, size = costs - taken + given, size + taken + given
        for places in (there, origin):
            terms += totals(places, np.ones(len(multiplier)), costs.shape)
    low = (residual - 2 * terms * UNIT * size).min(axis=1)
    total = math.fsum(low)
    prior = problem.prior.probabilities
    underflow = costs.shape[1] * np.count_nonzero((prior > 0) & (prior < 1e-250)) * SMALLEST
    return float(total - 4 * UNIT * abs(total) - underflow)


def _pairs(problem: Problem) -> int:
    finite = np.isfinite(problem.space.distances)
    return int(finite.sum()) - len(problem.space)
