"""Thresholds of regularity: the least ε from which a prior is regular.

Let Φ[x, y] = e^{-εd(x, y)}. A prior π is regular at ε if some μ ≥ 0 solves Φμ = π, that is
π_x = Σ_y e^{-εd(x, y)} μ_y (ECP14, Def 4: `docs/theory/sources.md` has the title). The entries of μ are the weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from dxopt.analysis.regularity.verdicts import Status, status_of_signs, why_never_regular
from dxopt.analysis.regularity.weights import CLASSED_POINTS, UNDERFLOW, Enclosure, Quotient, growth, weights
from dxopt.errors import UnsupportedError
from dxopt.model.factors import product_parts
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.privacy import ShownLevels
from dxopt.numerics.coerce import POSITIVE, as_number, checked_count
from dxopt.numerics.number_syntax import excluded_text, level_text
from dxopt.numerics.rounding import UNIT, factor_above
from dxopt.runtime.progress import Progress, or_silence, shows
from dxopt.spaces.kernels.systems import system
from dxopt.spaces.products import sides
from dxopt.spaces.space import MetricSpace


@dataclass(frozen=True, repr=False)
class Threshold(ShownLevels):
    """The least ε from which on a prior is regular at every ε.

    Attributes
    ----------
    value : float
        The answer: `high` where `proven`; otherwise the least ε above which no sample was found not regular.
        Infinite where no ε will do, or where none was found.
    low : float
        The largest ε at which the prior was proven not regular; 0 where none was found, infinite where that is
        proven of every ε.
    high : float
        Proven: the prior is regular at every ε from here on. Infinite where nothing is proven.
    proven : bool
        Whether `high - low` is proven to be within the tolerance asked for, so that the answer is proven on both
        sides. Not claimed of an answer that was found by sampling.
    sampled : int
        Values of ε that were only sampled; 0 where nothing was.
    reason : str
        One line.

    Examples
    --------
    >>> import dxopt as dx
    >>> found = dx.regularity.threshold(dx.grid((3, 3)))
    >>> print(found.proven, round(found.low, 3), round(found.high, 3))
    True 0.878 0.878
    """

    _LEVELS = ("value", "high")
    _EXCLUDED = ("low",)

    value: float
    low: float
    high: float
    proven: bool
    sampled: int
    reason: str

    def __str__(self) -> str:
        return f"{level_text(self.value, 7)}: {self.reason}"


def _always(why: str) -> Threshold:
    """Return the threshold 0, of a prior that is regular at every ε, with the reason."""
    return Threshold(0.0, 0.0, 0.0, True, 0, f"regular at every level: {why}")


def by_structure(space: MetricSpace, tolerance: float) -> Threshold | None:
    """Return the threshold of the uniform prior where a formula for the structure gives it; None elsewhere."""
    structure = space.structure
    metric = space.metric
    # A lattice is a line if one axis at most has several points.
    line = structure.kind == "path" or (structure.kind == "lattice" and sum(s > 1 for s in structure.shape) <= 1)
    # Under d_1 a lattice is a product of lines, and a product is regular where its factors are.
    if line or (structure.kind == "lattice" and metric is not None and metric.name == "manhattan"):
        return _always("numbers on lines")
    if structure.kind == "tree":
        return _threshold_of_tree(space, tolerance)
    return None


def product_threshold(found: Sequence[Threshold], tolerance: float) -> Threshold:
    """Return the threshold of a product prior on a product of spaces, from those of its factors.

    At every ε such a prior is regular exactly where all of its factors are, whatever the signs in Φ⁻¹, if there is
    one. Distances of a product add up, so that Φ is the Kronecker product of those of the factors. If Φ_i μ_i = π_i
    with μ_i ≥ 0, their Kronecker product solves Φμ = π. Conversely let Φμ = π with μ ≥ 0, and take points x_j of the
    factors j ≠ i of positive probability: then Φ_i ν = π_i for ν(y_i) = Σ_y Π_j e^{-εd_j(x_j, y_j)} / π_j(x_j) μ(y)
    over the y of that y_i, and ν ≥ 0.
    """
    last = max(found, key=lambda part: part.value)
    low = max(part.low for part in found)
    high = max(part.high for part in found)
    # ∞ - low ≤ tolerance · ∞ holds for every finite low, where nothing is proven; `low` is ∞ if a factor was proven
    # regular at no ε.
    proven = high == low or (math.isfinite(high) and high - low <= tolerance * high)
    sampled = sum(part.sampled for part in found)
    return Threshold(last.value, low, high, proven, sampled, f"the largest threshold of the factors: {last.reason}")


def _threshold_of_tree(space: MetricSpace, tolerance: float) -> Threshold:
    """Find the threshold of the uniform prior on a tree or forest by bisection.

    The weight of a point is 1 - Σ 1/(1 + e^{εl}) over its edges, of lengths l. That solves Φμ = 1 by induction: a new
    leaf has 1 there, and at all other points it cancels what its edge takes from the weight of its neighbour. Each
    weight rises with ε, so that its sign changes once. (Here π is 1 everywhere instead of 1/n, which scales the
    weights and keeps their signs.)
    """
    edges = space.structure.edges
    lengths = space.structure.lengths
    degree = np.bincount(edges.ravel(), minlength=len(space))
    # Bounds the rounding of a weight: a sum of as many terms as the point has edges.
    rounding = 4 * UNIT * (int(degree.max(initial=0)) + 8)

    def least_weight(epsilon: float) -> float:
        taken = 1 / (1 + np.exp(np.minimum(epsilon * lengths, 700.0)))
        return 1 - float(np.bincount(edges.ravel(), np.repeat(taken, 2), minlength=len(space)).max())

    # Each term is at most 1/2, so that two of them leave 0 or more.
    if degree.max(initial=0) <= 2:
        return _always("every point has at most two neighbours")
    # At `high` the least weight is proven positive, and so it is at every larger ε.
    high = 1.0 / float(lengths.min())
    while least_weight(high) < rounding:
        high *= 2
    # At `low` it is proven negative, or `low` is 0. Where rounding hides the sign, the bracket stays as it is. If
    # that is too wide, the answer is not `proven`, though `high` is.
    low = 0.0
    while high - low > tolerance * high:
        middle = 0.5 * (low + high)
        value = least_weight(middle)
        if abs(value) <= rounding:
            break
        low, high = (middle, high) if value < 0 else (low, middle)
    proven = high - low <= tolerance * high
    below = f"and not regular at {excluded_text(low, 10)}" if low > 0 else "with no proof below"
    reason = f"a tree: proven regular from here on, {below}"
    return Threshold(high, low, high, proven, 0, reason)


Array = NDArray[np.float64]
Tell = Callable[[str], None]
_GROWTH = 1.5
_STEPS = 24


class LeastWeight:
    """The least entry of the μ with Φμ = π, as a function of ε: 0 or more if regular. `count` counts the calls."""

    def __init__(self, space: MetricSpace, probabilities: Array, tell: Tell) -> None:
        self.space = space
        self.probabilities = probabilities
        self.tell = tell
        self.count = 0

    def __call__(self, epsilon: float) -> float:
        self.tell(f"weights of {len(self.space):,} points at epsilon = {epsilon:.7g}")
        self.count += 1
        values = weights(self.space, epsilon, self.probabilities).values
        # A Φ that is singular to working precision counts as not regular.
        return -1.0 if values is None else float(values.min())

    def root(self, low: float, high: float, tolerance: float) -> float:
        """Return the ε at which the sign changes between `low` and `high`; `low` if it is not negative there."""
        if self(low) >= 0:
            return low
        relative = max(tolerance, 1e-14)  # brentq takes no smaller ones than a few units of rounding
        found = scipy.optimize.brentq(self, low, high, rtol=relative, xtol=tolerance * high)
        return float(found)  # pyright: ignore[reportArgumentType]


def epsilon_above(space: MetricSpace, probabilities: Array, epsilon: float, tell: Tell) -> float | None:
    """Return the first ε above this one from which no sample has a negative weight, or None where none was found.

    It goes into the error that no tight-constraints mechanism exists at `epsilon`. Two samples in a row with positive
    weights end the search, as the prior may be regular at a single one between others where it is not.
    """
    least = LeastWeight(space, probabilities, tell)
    sample = epsilon
    low = epsilon
    high = None
    for _ in range(_STEPS):
        sample *= _GROWTH
        if least(sample) <= 0:
            low = sample
            high = None
        elif high is None:
            high = sample
        else:
            return least.root(low, high, 1e-7) * (1 + 1e-6)  # surely on the regular side of the root found
    return None


def sample_threshold(
    space: MetricSpace, probabilities: Array, tolerance: float, floor: float, tell: Tell
) -> Threshold:
    """Return the threshold in a space of more than 2,000 points, without the matrices of proofs over intervals.

    It is proven from the ε on at which the largest row sum of Φ and max π / min π show that (Φ - I)π < π, and only
    sampled below.
    """
    if not (space.symmetric and probabilities.min() > 0 and np.isfinite(space.nearest)):
        raise UnsupportedError("space", f"has {len(space):,} points", "thresholds need positive priors at this size")
    # `norm` bounds every row sum of Φ, whose diagonal is 1: Σ_{x' ≠ x} Φ[x, x'] π_x' ≤ (norm - 1) max π. From where
    # that is below min π, it is below every π_x: regular from there on.
    ratio = float(probabilities.max() / probabilities.min())
    high = 1.0 / space.nearest
    while (system(space, high).norm - 1) * ratio >= 1:
        high *= 1.25
    # The least ε below it above which no sample has a negative weight.
    least = LeastWeight(space, probabilities, tell)
    value = high
    while value > floor * high:
        above = value
        value = max(value / _GROWTH, floor * high)
        if least(value) < 0:
            value = least.root(value, above, tolerance)
            break
    # One proof on the other side, if a weight just below the answer is negative beyond its error.
    below = value * (1 - 2 * tolerance)
    low = below if len(weights(space, below, probabilities).negative) else 0.0
    reason = f"proven from {level_text(high, 7)} on, only sampled from {level_text(value, 7)} to there"
    return Threshold(value, low, high, False, least.count, reason)


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
    """Return the verdict at one ε by an enclosure of μ, in which the prior is divided out: the right side is 1.

    "undecided" where μ is not known well enough.
    """
    enclosure = Enclosure.of(*quotient.between(epsilon, epsilon))
    return "undecided" if enclosure is None else status_of_signs(*enclosure.solve(np.ones(len(quotient))))


def distinct(distances: Array, probabilities: Array) -> tuple[Array, Array]:
    """Return distances and probabilities without points of probability 0, and with one point of each equal row."""
    support = np.flatnonzero(probabilities > 0)
    first = np.unique(distances[np.ix_(support, support)] + 0.0, axis=0, return_index=True)[1]
    kept = support[np.sort(first)]
    return distances[np.ix_(kept, kept)], probabilities[kept]


def dominant_from(distances: Array, weights: Array) -> float | None:
    """Return an ε at which Σ_{x' ≠ x} e^{-εd(x, x')} π_x' < π_x for every x, proven; None where none was found.

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


@shows
def threshold(
    space: MetricSpace,
    prior: PriorLike | None = None,
    *,
    tolerance: float = 1e-6,
    floor: float = 1e-3,
    evaluations: int = 400,
    progress: Progress | bool | None = None,
) -> Threshold:
    """Return the least ε from which on a prior, uniform by default, is regular (ECP14 §6.1, after Prop 8; §7).

    A proof, not a table of samples. With E = Φ - I ≥ 0, at large ε Eπ < π in every entry, that is
    Σ_{x' ≠ x} e^{-εd(x, x')} π_x' < π_x. This stays true at larger ε, as E falls, and makes the prior regular: the
    powers of E tend to 0, so that μ = (I + E)⁻¹π = Σ_k (-E)^k π = Σ_k E^{2k} (π - Eπ) ≥ 0. From there the proof goes
    down by intervals of ε, on each of which μ is enclosed together with its derivative, until μ reaches 0.
    Regularity is not monotone: below the threshold the prior may be regular again.

    Structure helps. A product prior on a product of spaces is regular exactly where all of its factors are, so from
    their largest threshold on. The uniform prior is regular at every ε on a line, and on trees from where
    1 - Σ 1/(1 + e^{εl}) over the edges of each point, of lengths l, is 0 or more.
    Above 2,000 points without such structure everything below the dominant ε is only sampled.

    Parameters
    ----------
    space : MetricSpace
    prior : Prior, optional
        The uniform prior by default; for symmetric distances that is the prior that decides whether a
        tight-constraints mechanism exists (ECP14, Prop 8). One that is the product of its marginals up to rounding
        (1e-12) counts as that product.
    tolerance : float
        Width, relative to the answer, of the bracket [low, high] sought.
    floor : float
        Nothing below this fraction of the ε where the proof begins is examined.
    evaluations : int
        Intervals on which a proof is tried at most, for each factor of a product. What they leave is sampled.
    progress : bool or callable, optional
        True shows a bar, as in `dx.solve`; a callable is given a line of text for each sample, in
        spaces of more than 2,000 points.

    Raises
    ------
    SpecError
        If sizes differ or a parameter is not positive.

    Examples
    --------
    >>> import dxopt as dx
    >>> print([round(dx.regularity.threshold(space).value, 3) for space in (dx.line(5), dx.grid((3, 3)))])
    [0.0, 0.878]
    """
    evaluations = checked_count("evaluations", evaluations)
    tolerance, floor = as_number(tolerance, "tolerance", *POSITIVE), as_number(floor, "floor", *POSITIVE)
    probabilities = Prior.of("uniform" if prior is None else prior, space).probabilities
    # Structures whose threshold is known, and products, by their factors.
    known = by_structure(space, tolerance) if np.ptp(probabilities) == 0 else None
    if known is not None:
        return known
    factors = sides(space)
    parts = product_parts(probabilities, tuple(map(len, factors))) if len(factors) > 1 else None
    if parts is not None:
        options = {"tolerance": tolerance, "floor": floor, "evaluations": evaluations, "progress": progress}
        # Each different factor is solved once.
        pairs = {(id(factor), part.tobytes()): (factor, part) for factor, part in zip(factors, parts, strict=True)}
        return product_threshold([threshold(factor, part, **options) for factor, part in pairs.values()], tolerance)
    # Proofs over intervals of ε need matrices of classes of points; above 2,000 points those are not formed.
    if len(space) > CLASSED_POINTS:
        return sample_threshold(space, probabilities, tolerance, floor, or_silence(progress))
    # What no ε changes: priors that are never regular, and those that always are.
    never = why_never_regular(space, probabilities)
    if never:
        return Threshold(np.inf, np.inf, np.inf, True, 0, f"regular at no level: {never}")
    # The quotient has one unknown for all points that neither the distances nor the prior tell apart: they have equal
    # weights. A single class: Φμ = π with a constant μ = π / (the row sum of Φ) > 0.
    quotient = Quotient.of(space.distances, probabilities)
    if len(quotient) == 1:
        return _always("symmetry")
    # The same row of Φ twice, as of points at distance 0, is no dominant diagonal: one of each such group is enough.
    # The points have equal probabilities by now, and their weights only enter as a sum.
    distances, distinct_prior = distinct(space.distances, probabilities)
    apart = ~np.eye(len(distinct_prior), dtype=bool)
    if np.isinf(distances[apart]).all():
        return _always("nothing constrains different points")
    # From where the kernel is diagonally dominant, down by proofs.
    start = dominant_from(distances, distinct_prior)
    if start is None:
        return Threshold(np.inf, 0.0, np.inf, False, 0, "no level was found from which on the prior is regular")
    return _descend(quotient, start, tolerance, start * floor, evaluations)


def _descend(quotient: Quotient, start: float, tolerance: float, bottom: float, evaluations: int) -> Threshold:
    """Prove regularity from `start` downwards, interval by interval, as far as it holds or down to `bottom`.

    The threshold is in (low, high], whether regularity is monotone or not: from `high` on the prior is regular, and
    at `low` it is not.
    """
    # Steps only decide how many intervals are tried: the first is a quarter, those that succeed grow by 1.6, others
    # are halved.
    high = start
    step = 0.25 * start
    low = 0.0
    # Throughout, the prior is proven regular at every ε from `high` on. Where an interval below it is proven as well,
    # it is added and the next one is wider. Where it is not, which says nothing of the prior, the next one is
    # narrower. Once a quarter of the tolerance is too wide, the threshold is likely near, and one ε just below with a
    # proof of the contrary completes the bracket.
    for _ in range(evaluations):
        if high <= bottom:
            break
        end = max(high - step, bottom)
        if regular_between(quotient, end, high):
            high = end
            step *= 1.6
            continue
        step *= 0.5
        if step < 0.25 * tolerance * high:
            # The nearest ε below, within the tolerance, at which it is proven not regular, as the bracket is then
            # narrowest; 0.999 is still within the tolerance.
            below = (high - part * (tolerance * high) for part in (0.01, 0.1, 0.3, 0.6, 0.9, 0.999))
            low = next((epsilon for epsilon in below if status_at(quotient, epsilon) == "not regular"), 0.0)
            break
    if high <= bottom:
        return Threshold(
            high, 0.0, high, False, 0, f"regular from {level_text(high)} on: proven; below it was not examined"
        )
    if high - low <= tolerance * high:
        return Threshold(
            high, low, high, True, 0, f"proven regular from here on, and not regular at {excluded_text(low, 10)}"
        )
    return _sample_downwards(quotient, low, high, bottom, tolerance)


def _sample_downwards(quotient: Quotient, low: float, high: float, bottom: float, tolerance: float) -> Threshold:
    """Walk down a grid of ε to the first where the prior is proven not regular, and bisect there.

    Throughout, `low` is 0 or proven not regular, and `high` is proven. Between the two only samples were examined; a
    sample that is undecided counts as regular.
    """
    # 128 values from just below `high` down to `bottom`, each the same fraction of the one before.
    grid = np.geomspace(bottom, high, 129)[:-1][::-1]
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
    below = f"not regular at {excluded_text(low, 10)}" if low > 0 else f"not examined below {bottom:.3g}"
    reason = f"proven from {level_text(high, 7)} on, only sampled from {level_text(above, 7)} to there; {below}"
    return Threshold(above, low, high, False, count, reason)
