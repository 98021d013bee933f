"""From which level on a prior is regular."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.regularity.corner import checked_prior
from dxopt.analysis.regularity.enclosure import Enclosure, growth
from dxopt.analysis.regularity.quotient import Quotient
from dxopt.analysis.regularity.search import level_below
from dxopt.analysis.regularity.verdicts import Status, impossible, signs
from dxopt.analysis.regularity.weights import CLASSED_POINTS, weights
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.prior import Prior
from dxopt.numerics.rounding import UNIT, factor_above
from dxopt.spaces.kernels.systems import system
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Threshold:
    """The least level from which on a prior is regular at every level.

    Attributes
    ----------
    value : float
        The answer: `high` where `proven`; otherwise the least level above which no sample was found not regular.
        Infinite where no level will do.
    low : float
        The largest level at which the prior was proven not regular; 0 where none was found.
    high : float
        Proven: the prior is regular at every level from here on.
    proven : bool
        Whether `high - low` is within the tolerance asked for, so that the answer is proven on both sides.
    sampled : int
        Levels between `low` and `high` that were only sampled; 0 where `proven`.
    reason : str
        One line.
    """

    value: float
    low: float
    high: float
    proven: bool
    sampled: int
    reason: str

    def __str__(self) -> str:
        return f"{self.value:.7g}: {self.reason}"


def threshold(
    space: MetricSpace,
    prior: Prior | None = None,
    *,
    tolerance: float = 1e-6,
    floor: float = 1e-3,
    evaluations: int = 400,
    progress: Callable[[str], None] | None = None,
) -> Threshold:
    """The least level from which on a prior, uniform by default, is regular (ECP14 §6.1, after Cor 3; §7).

    A proof, not a table of samples. At large levels Σ_{x' ≠ x} e^{-εd(x, x')} π_x' < π_x, which makes the prior
    regular and stays true at larger ones: μ = Σ_k E^{2k} (π - Eπ) with E = Φ - I. From there the proof goes down by
    intervals of levels, on each of which μ is enclosed together with its derivative, until μ reaches 0. Regularity is
    not monotone: below the threshold there may be regular levels again.

    For the uniform prior structure helps: numbers on a line are regular at every level, a product from the largest
    threshold of its factors, and trees from where 1 - Σ 1/(1 + e^{εl}) over the edges of each point is 0 or more.
    Above 2,000 points without such structure all levels below the dominant one are sampled.

    Parameters
    ----------
    space : MetricSpace
    prior : Prior, optional
        The uniform prior by default; for symmetric distances that is the prior that decides whether a
        tight-constraints mechanism exists (ECP14, Prop 8).
    tolerance : float
        Width, relative to the answer, of the bracket sought.
    floor : float
        Levels below this fraction of the level where the proof begins are not examined.
    evaluations : int
        Systems to solve at most. What they leave unproven is sampled.
    progress : callable, optional
        Given a line of text now and then.

    Raises
    ------
    SpecError
        If sizes differ or a parameter is not positive.
    """
    for name, number in (("tolerance", tolerance), ("floor", floor), ("evaluations", evaluations)):
        if not number > 0:
            raise SpecError(name, f"is {number}", "give a positive number")
    if prior is None:
        known = _by_structure(space, tolerance, floor, evaluations)
        if known is not None:
            return known
    probabilities = checked_prior(prior if prior is not None else Prior.uniform(space), space)
    if len(space) > CLASSED_POINTS:
        return _searched(space, probabilities, tolerance, floor, progress or (lambda line: None))
    never = impossible(space, probabilities)
    if never:
        return Threshold(np.inf, np.inf, np.inf, True, 0, f"regular at no level: {never}")
    quotient = Quotient.of(space.distances, probabilities)
    if len(quotient) == 1:
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level, by symmetry")
    distances, weights = _distinct(space.distances, probabilities)
    apart = ~np.eye(len(weights), dtype=bool)
    if np.isinf(distances[apart]).all():
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level: nothing constrains different points")
    start = _dominant_from(distances, weights)
    if start is None:
        return Threshold(np.inf, 0.0, np.inf, False, 0, "no level was found from which on the prior is regular")
    return _descended(quotient, start, tolerance, start * floor, evaluations)


def _by_structure(space: MetricSpace, tolerance: float, floor: float, evaluations: int) -> Threshold | None:
    """The answer for the uniform prior where the structure gives it."""
    structure, metric = space.structure, space.metric
    line = structure.kind == "path" or (structure.kind == "lattice" and sum(s > 1 for s in structure.shape) <= 1)
    if line or (structure.kind == "lattice" and metric is not None and metric.name == "manhattan"):
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level: numbers on lines")
    if structure.kind == "tree":
        return _of_tree(space, tolerance)
    if structure.kind == "product" and space.symmetric:
        found = [threshold(f, tolerance=tolerance, floor=floor, evaluations=evaluations) for f in structure.factors]
        low, high = max(part.low for part in found), max(part.high for part in found)
        proven = high - low <= tolerance * high
        value, sampled = max(part.value for part in found), sum(part.sampled for part in found)
        return Threshold(value, low, high, proven, sampled, "the largest threshold of the factors")
    return None


def _of_tree(space: MetricSpace, tolerance: float) -> Threshold:
    """By bisection: every weight rises with the level."""
    edges, lengths = space.structure.edges, space.structure.lengths
    degree = np.bincount(edges.ravel(), minlength=len(space))
    doubt = 4 * UNIT * (int(degree.max(initial=0)) + 8)

    def least(level: float) -> float:
        taken = 1 / (1 + np.exp(np.minimum(level * lengths, 700.0)))
        return 1 - float(np.bincount(edges.ravel(), np.repeat(taken, 2), minlength=len(space)).max())

    if degree.max(initial=0) <= 2:
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level: every point has at most two neighbours")
    high = 1.0 / float(lengths.min())
    while least(high) < doubt:
        high *= 2
    low = 0.0
    while high - low > tolerance * high:
        middle = 0.5 * (low + high)
        value = least(middle)
        if abs(value) <= doubt:
            break
        low, high = (middle, high) if value < 0 else (low, middle)
    proven = high - low <= tolerance * high
    return Threshold(
        high, low, high, proven, 0, f"a tree: proven regular from here on, and not regular at {low:.10g}"
    )


def _searched(
    space: MetricSpace, probabilities: Array, tolerance: float, floor: float, tell: Callable[[str], None]
) -> Threshold:
    """Sampled below the level from which Φ is diagonally dominant, with the prior's range counted."""
    if not (space.symmetric and probabilities.min() > 0 and np.isfinite(space.nearest)):
        raise UnsupportedError("space", f"has {len(space):,} points", "thresholds need positive priors at this size")
    ratio, high = float(probabilities.max() / probabilities.min()), 1.0 / space.nearest
    while (system(space, high).norm - 1) * ratio >= 1:
        high *= 1.25
    value, count = level_below(space, probabilities, high, floor * high, tolerance, tell)
    below = value * (1 - 2 * tolerance)
    low = below if len(weights(space, below, probabilities).negative) else 0.0
    reason = f"proven from {high:.7g} on, only sampled from {value:.7g} to there"
    return Threshold(value, low, high, False, count, reason)


def _descended(quotient: Quotient, start: float, tolerance: float, least: float, evaluations: int) -> Threshold:
    high, step, low = start, 0.25 * start, 0.0
    for _ in range(evaluations):
        if high <= least:
            break
        end = max(high - step, least)
        if regular_between(quotient, end, high):
            high, step = end, 1.6 * step
            continue
        step *= 0.5
        if step < 0.25 * tolerance * high:
            low = _refuted_below(quotient, high, tolerance)
            break
    if high <= least:
        return Threshold(high, 0.0, high, False, 0, f"regular from {high:.3g} on: proven; below it was not examined")
    if high - low <= tolerance * high:
        return Threshold(high, low, high, True, 0, f"proven regular from here on, and not regular at {low:.10g}")
    return _sampled(quotient, low, high, least, tolerance)


def regular_between(quotient: Quotient, low: float, high: float) -> bool:
    """Whether regularity at every level in [low, high] is proven."""
    middle = 0.5 * (low + high)
    enclosure = Enclosure.of(*quotient.between(low, high))
    if enclosure is None:
        return False
    ones = np.ones(len(quotient))
    here = Enclosure.around(*quotient.between(middle, middle), enclosure)
    ratios, narrow = here.solve(ones)
    wide = enclosure.error(ratios, ones)
    if (ratios - wide >= 0).all():
        return True
    slope_low, slope_high = quotient.slopes(low, high)
    slope = 0.5 * slope_low + 0.5 * slope_high
    grow = growth(len(quotient))
    moved = slope @ ratios
    unsure = (0.5 * (slope_high - slope_low)) @ (np.abs(ratios) + wide) + slope @ wide
    unsure = unsure * (1 + grow) + 2 * grow * (slope @ np.abs(ratios)) + 1e-290
    rate, doubt = enclosure.solve(moved, unsure)
    drop = max(high - middle, middle - low) * (1 + 8 * UNIT) * (np.abs(rate) + doubt)
    return bool((ratios - narrow - drop * (1 + 8 * UNIT) - 8 * UNIT * np.abs(ratios) >= 0).all())


def status_at(quotient: Quotient, level: float) -> Status:
    """The verdict at one level from the enclosure of μ alone."""
    enclosure = Enclosure.of(*quotient.between(level, level))
    return "undecided" if enclosure is None else signs(*enclosure.solve(np.ones(len(quotient))))


def _refuted_below(quotient: Quotient, high: float, tolerance: float) -> float:
    """The level nearest below `high`, within the tolerance, that is proven not regular; 0 where there is none."""
    width = tolerance * high
    for part in (0.01, 0.1, 0.3, 0.6, 0.9, 0.999):
        if status_at(quotient, high - part * width) == "not regular":
            return high - part * width
    return 0.0


def _sampled(quotient: Quotient, low: float, high: float, least: float, tolerance: float) -> Threshold:
    """Walk down a grid of levels to the first that is not regular, and bisect there."""
    grid = np.geomspace(least, high, 129)[:-1][::-1]
    above, count = high, 0
    for level in grid:
        count += 1
        if status_at(quotient, float(level)) == "not regular":
            low = max(low, float(level))
            break
        above = float(level)
    while low > 0 and above - low > tolerance * above:
        middle = 0.5 * (low + above)
        count += 1
        if status_at(quotient, middle) == "not regular":
            low = middle
        else:
            above = middle
    said = f"not regular at {low:.10g}" if low > 0 else f"not examined below {least:.3g}"
    return Threshold(
        above, low, high, False, count, f"proven from {high:.7g} on, only sampled from {above:.7g} to there; {said}"
    )


def _distinct(distances: Array, probabilities: Array) -> tuple[Array, Array]:
    """One of each group of points with equal distances to all, of those with positive probability."""
    support = np.flatnonzero(probabilities > 0)
    first = np.unique(distances[np.ix_(support, support)] + 0.0, axis=0, return_index=True)[1]
    kept = support[np.sort(first)]
    return distances[np.ix_(kept, kept)], probabilities[kept]


def _dominant_from(distances: Array, weights: Array) -> float | None:
    """A level at which Σ_{x' ≠ x} e^{-εd(x, x')} π_x' < π_x for every x, proven; None where none was found."""
    apart = ~np.eye(len(weights), dtype=bool)
    nearest = float(distances[apart].min())
    if not nearest > 0:
        return None

    def dominant(level: float) -> bool:
        others = np.where(apart, factor_above(level, distances), 0.0) @ weights
        return bool((others * (1 + growth(len(weights))) + 1e-290 < weights * (1 - 4 * UNIT)).all())

    high = 1.0 / nearest
    for _ in range(60):
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
