"""Pairs of beliefs: repair, proof of privacy, and what their multipliers do to a bound.

A pair j holds in report z where Σ_x θ_x K[x, z] ≤ e^{εd} Σ_x θ'_x K[x, z]. A number s ≥ 0 that is added to the whole
column z raises the left side by s and the right one by s e^{εd}; so a channel is repaired by adding to each column
the least number that all pairs ask for, and dividing by 1 plus these numbers: it is mixed with a report that does not
depend on the secret.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.model.beliefs.pairs import BeliefPairs
from dxopt.model.problem import Problem
from dxopt.numerics.belief_mixtures import least_level, shortfalls
from dxopt.numerics.rounding import UNIT, factor_above, factor_below
from dxopt.proofs.duals import BeliefDual

Array = NDArray[np.float64]
_ROOM = 2.0**-49
_ATTEMPTS = 22
_HUGE = 1e290
"""Multipliers that make costs larger than this prove nothing, and their sums may overflow."""


def mix_for_beliefs(pairs: BeliefPairs, channel: Array, repaired: Callable[[Array], Array]) -> Array:
    """Return a channel `(n, m)` that holds for all pairs, near the given one, by the steps of the module.

    Parameters
    ----------
    channel : (n, m) array
        That `repaired` returned.
    repaired : callable
        Makes a channel of a matrix that keeps to the privacy of single secrets, which mixing may break by rounding.

    Raises CertificateError where no mixture is proven, as where ε is so small that rounding decides.
    """
    growth = 1 - factor_above(pairs.level, pairs.distances)
    if not growth.min() > 0:
        raise CertificateError(f"a level of {pairs.level:g} cannot be told from 0")
    for attempt in range(_ATTEMPTS):
        lack = np.maximum(shortfalls(pairs.first, pairs.second, pairs.distances, pairs.level, channel), 0.0)
        if not lack.any():
            return channel
        # each column that is used gets some room for rounding besides, more each time; one of zeros needs none
        more = 4.0**attempt
        added = (lack / growth[:, None]).max(axis=0) * (1 + more * _ROOM)
        added += np.where(channel.any(axis=0), more * _ROOM / growth.min(), 0.0)
        channel = repaired((channel + added) / (1 + added.sum()))
    raise CertificateError("no mixture with a constant report is proven for all pairs of beliefs")


def prove_beliefs(problem: Problem, channel: Array) -> float:
    """Prove a channel for all pairs of beliefs of a problem, and return the least level, rounded up."""
    pairs = require_beliefs(problem)
    lack = shortfalls(pairs.first, pairs.second, pairs.distances, pairs.level, channel)
    if (lack > 0).any():
        pair, report = (int(index) for index in np.unravel_index(int(lack.argmax()), lack.shape))
        expected = [float(side[pair] @ channel[:, report]) for side in (pairs.first, pairs.second)]
        raise CertificateError(
            f"beliefs are told apart by report {problem.reports.labels[report]}, {pairs.names[pair]}: "
            f"{expected[0]:.17g} against {expected[1]:.17g} with a budget of {pairs.budgets[pair]:.6g}"
        )
    found, _ = least_level(pairs.first, pairs.second, pairs.distances, channel)
    return min(found, pairs.level)


def require_beliefs(problem: Problem) -> BeliefPairs:
    """Return the pairs of a problem; CertificateError where it has none."""
    if problem.beliefs is None:
        raise CertificateError("the problem has no pairs of beliefs")
    return problem.beliefs


def less_beliefs(
    problem: Problem, costs: Array, costly: NDArray[np.bool_], dual: BeliefDual
) -> tuple[Array, Array, float, NDArray[np.bool_]]:
    """Return costs less what the multipliers λ of pairs of beliefs take from them, for a bound on Σ c K by the rest.

    Weak duality: Σ c K ≥ Σ (c - Σ_j λ_j (θ'_j - e^{-εd_j} θ_j)) K for channels that the pairs hold for, λ ≥ 0. Each λ
    takes λ θ' from the costs of its report, and gives λ e^{-εd} θ back, where e^{-εd} is rounded down. Returns the
    costs left `(n, m)`, -∞ where multipliers are huge; the sizes of what they were computed from; the number of
    roundings in each; and where a cost may not be 0 in real numbers.

    Raises CertificateError where multipliers are of no such pairs or reports.
    """
    pairs = require_beliefs(problem)
    count, reports = len(pairs), problem.shape[1]
    shapes = {dual.belief.shape, dual.report.shape, dual.multiplier.shape}
    if len(shapes) > 1 or dual.multiplier.ndim != 1:
        raise CertificateError("the multipliers of beliefs do not fit each other")
    for indices, size in ((dual.belief, count), (dual.report, reports)):
        if len(indices) and not (indices.min() >= 0 and indices.max() < size):
            raise CertificateError(f"the multipliers are not about {count} pairs of beliefs and {reports} reports")
    good = np.isfinite(dual.multiplier) & (dual.multiplier > 0)
    multipliers = np.zeros((count, reports))
    # of a pair and report that are listed twice, the larger one counts, which is a multiplier as well
    np.maximum.at(multipliers, (dual.belief[good], dual.report[good]), dual.multiplier[good])
    back = factor_below(pairs.level, pairs.distances)[:, None] * (1 - 2 * UNIT)
    with np.errstate(over="ignore", invalid="ignore"):
        taken = pairs.second.T @ multipliers
        given = pairs.first.T @ (multipliers * back)
        size = np.abs(costs) + taken + given
        left = np.where(size < _HUGE, costs - taken + given, -np.inf)
    # a product of λ, θ (and e^{-εd}) and a sum of as many as there are pairs, for both; the sums with the cost
    return left, size, 3.0 + 2.0 * (count + 4), costly | (multipliers > 0).any(axis=0)
