"""Regularity at one ε, at every ε of an interval, and from some ε on: what `thresholds` proves its answer from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.regularity.enclosure import UNDERFLOW, Enclosure, growth
from dxopt.analysis.regularity.quotient import Quotient
from dxopt.analysis.regularity.verdicts import Status, signs
from dxopt.numerics.rounding import UNIT, factor_above

Array = NDArray[np.float64]
_DOUBLINGS = 60


def regular_between(quotient: Quotient, low: float, high: float) -> bool:
    """Prove regularity at every ε in [low, high]; False says nothing.

    On the classes of the quotient the system is A(ε) r = 1, where r is μ over the prior. The solutions for all of
    these A are bounded at once: first by how far they are from r in the middle, and where that is too far, by the
    mean value theorem, which takes from r in the middle half the width of the interval times a bound on |dr/dε|.
    """
    # One approximate inverse for all A of the interval, with a proof that none is singular.
    middle = 0.5 * (low + high)
    enclosure = Enclosure.of(*quotient.between(low, high))
    if enclosure is None:
        return False
    # r in the middle, up to `narrow` there, and up to `wide` anywhere in the interval.
    ones = np.ones(len(quotient))
    here = Enclosure.around(*quotient.between(middle, middle), enclosure)
    ratios, narrow = here.solve(ones)
    wide = enclosure.error(ratios, ones)
    if (ratios - wide >= 0).all():
        return True
    # A r = 1 gives A dr/dε = -(dA/dε) r. That right side is `moved`, the midpoint of the bounds on -dA/dε times r in
    # the middle, up to `unsure`: half of what the bounds are apart times any r, and the midpoint times what r may be
    # off.
    slope_low, slope_high = quotient.slopes(low, high)
    slope = 0.5 * slope_low + 0.5 * slope_high
    grow = growth(len(quotient))
    moved = slope @ ratios
    unsure = (0.5 * (slope_high - slope_low)) @ (np.abs(ratios) + wide) + slope @ wide
    unsure = unsure * (1 + grow) + 2 * grow * (slope @ np.abs(ratios)) + UNDERFLOW
    # So |dr/dε| ≤ |rate| + error in the whole interval, and r falls by at most `drop` from the middle to its ends.
    rate, rate_error = enclosure.solve(moved, unsure)
    drop = max(high - middle, middle - low) * (1 + 8 * UNIT) * (np.abs(rate) + rate_error)
    return bool((ratios - narrow - drop * (1 + 8 * UNIT) - 8 * UNIT * np.abs(ratios) >= 0).all())


def status_at(quotient: Quotient, epsilon: float) -> Status:
    """The verdict at one ε from the enclosure of μ alone: "undecided" where μ is not known well enough."""
    enclosure = Enclosure.of(*quotient.between(epsilon, epsilon))
    return "undecided" if enclosure is None else signs(*enclosure.solve(np.ones(len(quotient))))


def distinct(distances: Array, probabilities: Array) -> tuple[Array, Array]:
    """Distances and probabilities of the points that have any, one of each group with equal distances to all."""
    support = np.flatnonzero(probabilities > 0)
    first = np.unique(distances[np.ix_(support, support)] + 0.0, axis=0, return_index=True)[1]
    kept = support[np.sort(first)]
    return distances[np.ix_(kept, kept)], probabilities[kept]


def dominant_from(distances: Array, weights: Array) -> float | None:
    """An ε at which Σ_{x' ≠ x} e^{-εd(x, x')} π_x' < π_x for every x, proven; None where none was found.

    The left side falls as ε rises, so that the prior is regular from there on.
    """
    apart = ~np.eye(len(weights), dtype=bool)
    nearest = float(distances[apart].min())
    if not nearest > 0:
        return None

    def dominant(epsilon: float) -> bool:
        others = np.where(apart, factor_above(epsilon, distances), 0.0) @ weights
        return bool((others * (1 + growth(len(weights))) + UNDERFLOW < weights * (1 - 4 * UNIT)).all())

    # Doubling finds one, bisection brings it within 1 % of the least; `high` is proven throughout.
    high = 1.0 / nearest
    for _ in range(_DOUBLINGS):
        if dominant(high):
            break
        high *= 2
    else:
        return None
    low = 0.0
    while high - low > 1e-2 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if dominant(middle) else (middle, high)
    return high
