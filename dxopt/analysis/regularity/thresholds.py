"""From which ε on a prior is regular."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.regularity.corner import checked_prior
from dxopt.analysis.regularity.intervals import distinct, dominant_from, regular_between, status_at
from dxopt.analysis.regularity.quotient import Quotient
from dxopt.analysis.regularity.search import epsilon_below
from dxopt.analysis.regularity.verdicts import impossible
from dxopt.analysis.regularity.weights import CLASSED_POINTS, weights
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.prior import Prior
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels.systems import system
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Threshold:
    """The least ε from which on a prior is regular at every ε.

    Attributes
    ----------
    value : float
        The answer: `high` where `proven`; otherwise the least ε above which no sample was found not regular.
        Infinite where no ε will do.
    low : float
        The largest ε at which the prior was proven not regular; 0 where none was found.
    high : float
        Proven: the prior is regular at every ε from here on.
    proven : bool
        Whether `high - low` is within the tolerance asked for, so that the answer is proven on both sides.
    sampled : int
        Values of ε between `low` and `high` that were only sampled; 0 where `proven`.
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
    """The least ε from which on a prior, uniform by default, is regular (ECP14 §6.1, after Cor 3; §7).

    A proof, not a table of samples. At large ε Σ_{x' ≠ x} e^{-εd(x, x')} π_x' < π_x, which makes the prior
    regular and stays true at larger ones: μ = Σ_k E^{2k} (π - Eπ) with E = Φ - I. From there the proof goes down by
    intervals of ε, on each of which μ is enclosed together with its derivative, until μ reaches 0. Regularity is
    not monotone: below the threshold the prior may be regular again.

    For the uniform prior structure helps: numbers on a line are regular at every ε, a product from the largest
    threshold of its factors, and trees from where 1 - Σ 1/(1 + e^{εl}) over the edges of each point is 0 or more.
    Above 2,000 points without such structure everything below the dominant ε is only sampled.

    Parameters
    ----------
    space : MetricSpace
    prior : Prior, optional
        The uniform prior by default; for symmetric distances that is the prior that decides whether a
        tight-constraints mechanism exists (ECP14, Prop 8).
    tolerance : float
        Width, relative to the answer, of the bracket sought.
    floor : float
        Nothing below this fraction of the ε where the proof begins is examined.
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
    # Structures whose threshold is known, and spaces too large for a proof over intervals.
    if prior is None:
        known = _by_structure(space, tolerance, floor, evaluations)
        if known is not None:
            return known
    probabilities = checked_prior(prior if prior is not None else Prior.uniform(space), space)
    if len(space) > CLASSED_POINTS:
        return _searched(space, probabilities, tolerance, floor, progress or (lambda line: None))
    # What no ε changes: priors that are never regular, and those that always are.
    never = impossible(space, probabilities)
    if never:
        return Threshold(np.inf, np.inf, np.inf, True, 0, f"regular at no level: {never}")
    quotient = Quotient.of(space.distances, probabilities)
    if len(quotient) == 1:
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level, by symmetry")
    distances, weights = distinct(space.distances, probabilities)
    apart = ~np.eye(len(weights), dtype=bool)
    if np.isinf(distances[apart]).all():
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level: nothing constrains different points")
    # From where the kernel is diagonally dominant, down by proofs.
    start = dominant_from(distances, weights)
    if start is None:
        return Threshold(np.inf, 0.0, np.inf, False, 0, "no level was found from which on the prior is regular")
    return _descended(quotient, start, tolerance, start * floor, evaluations)


def _by_structure(space: MetricSpace, tolerance: float, floor: float, evaluations: int) -> Threshold | None:
    """The answer for the uniform prior where the structure gives it."""
    structure = space.structure
    metric = space.metric
    line = structure.kind == "path" or (structure.kind == "lattice" and sum(s > 1 for s in structure.shape) <= 1)
    if line or (structure.kind == "lattice" and metric is not None and metric.name == "manhattan"):
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level: numbers on lines")
    if structure.kind == "tree":
        return _of_tree(space, tolerance)
    if structure.kind == "product" and space.symmetric:
        found = [threshold(f, tolerance=tolerance, floor=floor, evaluations=evaluations) for f in structure.factors]
        # μ is the product of those of the factors, each of which has a positive entry: it has a negative one exactly
        # where one of them has.
        low = max(part.low for part in found)
        high = max(part.high for part in found)
        proven = high - low <= tolerance * high
        value = max(part.value for part in found)
        sampled = sum(part.sampled for part in found)
        return Threshold(value, low, high, proven, sampled, "the largest threshold of the factors")
    return None


def _of_tree(space: MetricSpace, tolerance: float) -> Threshold:
    """By bisection: every weight, 1 - Σ 1/(1 + e^{εl}) over the edges of a point, rises with ε."""
    edges = space.structure.edges
    lengths = space.structure.lengths
    degree = np.bincount(edges.ravel(), minlength=len(space))
    # Bounds the rounding of a weight: a sum of as many terms as the point has edges.
    rounding = 4 * UNIT * (int(degree.max(initial=0)) + 8)

    def least(epsilon: float) -> float:
        taken = 1 / (1 + np.exp(np.minimum(epsilon * lengths, 700.0)))
        return 1 - float(np.bincount(edges.ravel(), np.repeat(taken, 2), minlength=len(space)).max())

    if degree.max(initial=0) <= 2:
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level: every point has at most two neighbours")
    # At `high` the least weight is proven positive, and so it is at every larger ε.
    high = 1.0 / float(lengths.min())
    while least(high) < rounding:
        high *= 2
    # At `low` it is proven negative, or `low` is 0. Where rounding hides the sign, the bracket stays as it is.
    low = 0.0
    while high - low > tolerance * high:
        middle = 0.5 * (low + high)
        value = least(middle)
        if abs(value) <= rounding:
            break
        low, high = (middle, high) if value < 0 else (low, middle)
    proven = high - low <= tolerance * high
    return Threshold(
        high, low, high, proven, 0, f"a tree: proven regular from here on, and not regular at {low:.10g}"
    )


def _searched(
    space: MetricSpace, probabilities: Array, tolerance: float, floor: float, tell: Callable[[str], None]
) -> Threshold:
    """Sampled below the ε from which Φ is diagonally dominant, with the prior's range counted."""
    if not (space.symmetric and probabilities.min() > 0 and np.isfinite(space.nearest)):
        raise UnsupportedError("space", f"has {len(space):,} points", "thresholds need positive priors at this size")
    # Σ_{x' ≠ x} Φ[x, x'] π_x' ≤ (norm - 1) max π, which is below every π_x where this holds: regular from there on.
    ratio = float(probabilities.max() / probabilities.min())
    high = 1.0 / space.nearest
    while (system(space, high).norm - 1) * ratio >= 1:
        high *= 1.25
    value, count = epsilon_below(space, probabilities, high, floor * high, tolerance, tell)
    # One proof on the other side, if a weight just below the answer is negative beyond its error.
    below = value * (1 - 2 * tolerance)
    low = below if len(weights(space, below, probabilities).negative) else 0.0
    reason = f"proven from {high:.7g} on, only sampled from {value:.7g} to there"
    return Threshold(value, low, high, False, count, reason)


def _descended(quotient: Quotient, start: float, tolerance: float, least: float, evaluations: int) -> Threshold:
    """Prove regularity from `start` downwards, interval by interval, as far as it holds or down to `least`."""
    high = start
    step = 0.25 * start
    low = 0.0
    # Throughout, the prior is proven regular at every ε from `high` on. Where an interval below it is proven as well,
    # it is added and the next one is wider; where not, the next one is narrower. Once a quarter of the tolerance is
    # too wide, the threshold must be near, and one ε just below with a proof of the contrary completes the bracket.
    for _ in range(evaluations):
        if high <= least:
            break
        end = max(high - step, least)
        if regular_between(quotient, end, high):
            high = end
            step *= 1.6
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


def _refuted_below(quotient: Quotient, high: float, tolerance: float) -> float:
    """The ε nearest below `high`, within the tolerance, at which it is proven not regular; 0 where none was found."""
    width = tolerance * high
    for part in (0.01, 0.1, 0.3, 0.6, 0.9, 0.999):
        if status_at(quotient, high - part * width) == "not regular":
            return high - part * width
    return 0.0


def _sampled(quotient: Quotient, low: float, high: float, least: float, tolerance: float) -> Threshold:
    """Walk down a grid of ε to the first where the prior is not regular, and bisect there.

    `low` is proven not regular at every step, but between it and `high` only samples were examined.
    """
    grid = np.geomspace(least, high, 129)[:-1][::-1]
    above = high
    count = 0
    for epsilon in grid.tolist():
        count += 1
        if status_at(quotient, epsilon) == "not regular":
            low = max(low, epsilon)
            break
        above = epsilon
    while low > 0 and above - low > tolerance * above:
        middle = 0.5 * (low + above)
        count += 1
        if status_at(quotient, middle) == "not regular":
            low = middle
        else:
            above = middle
    below = f"not regular at {low:.10g}" if low > 0 else f"not examined below {least:.3g}"
    return Threshold(
        above, low, high, False, count, f"proven from {high:.7g} on, only sampled from {above:.7g} to there; {below}"
    )
