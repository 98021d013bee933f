"""Mixtures of the rows of a channel, θK, enclosed by doubles; and the ε between two of them, proven.

A mixture is what somebody who believes θ expects to see reported. Two beliefs θ and θ' are kept apart by at most
e^{εd} where θK ≤ e^{εd} θ'K in every report.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.rounding import SMALLEST, UNIT, factor_above

Array = NDArray[np.float64]
_FIRST_STEP = 2.0**-52
_STEPS = 40
"""ε is raised by this relative step, then by steps that double, so many times at most, until its proof succeeds."""
_ALIKE = 2.0**-40
"""Ratios this near 1 show no difference but rounding."""


def mixtures(weights: Array, channel: Array) -> tuple[Array, Array]:
    """Return doubles below and above Σ_x θ_x K[x, z], `(p, m)`, for θ `(p, n)` and K `(n, m)` of 0 or more.

    Both are exactly 0 where the sum has no positive term.
    """
    found = weights @ channel
    # k terms that are not 0, multiplied and added in any order, are off by less than (k + 1)·2^-53 of the sum, to
    # first order; twice that is taken, and for underflow the smallest normal double for each term and one more
    terms = np.count_nonzero(weights, axis=1)[:, None]
    margin = 2 * (terms + 2) * UNIT
    lost = (terms + 1) * SMALLEST
    low = np.maximum(found * (1 - margin) - lost, 0.0)
    met = (weights > 0).astype(float) @ (channel > 0).astype(float) > 0
    return low, np.where(met, found * (1 + margin) + lost, 0.0)


def shortfalls(first: Array, second: Array, distances: Array, epsilon: float, channel: Array) -> Array:
    """Bound e^{-εd} θK - θ'K from above, `(p, m)`; a pair is proven to keep ε where it is 0 or less in every report.

    θ (`first`) and θ' (`second`) are `(p, n)`, d `(p,)` positive and finite, K `(n, m)`.
    """
    _, high = mixtures(first, channel)
    low, _ = mixtures(second, channel)
    # the factor has room for the rounding of this product; what underflow may take from small products is added
    least = high * factor_above(epsilon, distances)[:, None]
    least = np.where(high > 0, least + SMALLEST * (least < 2**60 * SMALLEST), 0.0)
    # the sign of a difference of doubles is right; its size is off by one rounding, which whoever uses it pays for
    return least - low


def least_level(
    first: Array, second: Array, distances: Array, channel: Array
) -> tuple[float, tuple[int, int] | None]:
    """Return the smallest ε that holds for all pairs in all reports, rounded up and proven, and what needs it.

    ε is infinite where none holds, as where θ' never gives a report that θ gives, or where εd would exceed 700. What
    needs it is the pair and the report, as indices, that ask for the largest ε; None where all mixtures are alike, up
    to rounding. Pairs are given as for `shortfalls`.
    """
    _, high = mixtures(first, channel)
    low, _ = mixtures(second, channel)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ratios = np.where(high > 0, high / low, 0.0)
        levels = (np.log(np.maximum(ratios, 1.0)) + 64 * UNIT) / distances[:, None]
    if not ratios.size:
        return 0.0, None
    pair, report = (int(index) for index in np.unravel_index(int(levels.argmax()), levels.shape))
    worst = (pair, report) if ratios[pair, report] > 1 + _ALIKE else None
    epsilon = float(levels[pair, report])
    step = _FIRST_STEP
    # the proof; where rounding is in the way, ε grows by steps that double, in units of a budget of 1 as well
    for _ in range(_STEPS):
        if not np.isfinite(epsilon):
            break
        if (shortfalls(first, second, distances, epsilon, channel) <= 0).all():
            return epsilon, worst
        epsilon = epsilon * (1 + step) + step / float(distances.min())
        step *= 2
    return np.inf, worst
