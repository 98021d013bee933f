"""Thresholds of regularity: the least ε from which a prior is regular.

Let Φ[x, y] = e^{-εd(x, y)}. A prior π is regular at ε if some μ ≥ 0 solves Φμ = π, that is
π_x = Σ_y e^{-εd(x, y)} μ_y (ECP14, Def 4: `docs/theory/sources.md` has the title). The entries of μ are the weights.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.regularity.corner import checked_prior
from dxopt.analysis.regularity.intervals import distinct, dominant_from, regular_between, status_at
from dxopt.analysis.regularity.quotient import Quotient
from dxopt.analysis.regularity.search import searched
from dxopt.analysis.regularity.structures import Threshold, by_structure, largest
from dxopt.analysis.regularity.verdicts import impossible
from dxopt.analysis.regularity.weights import CLASSED_POINTS
from dxopt.errors import SpecError, required
from dxopt.model.factors import product_parts
from dxopt.model.prior import PriorLike
from dxopt.numerics.given import as_number
from dxopt.runtime.live import Progress, shows, told
from dxopt.spaces.products import sides
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]


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
    """The least ε from which on a prior, uniform by default, is regular (ECP14 §6.1, after Cor 3; §7).

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
    required("evaluations", evaluations, Integral, "give a whole number from 1")
    for name, number in (("tolerance", tolerance), ("floor", floor), ("evaluations", evaluations)):
        if not as_number(number, name, "give a positive number") > 0:
            raise SpecError(name, f"is {number}", "give a positive number")
    probabilities = checked_prior("uniform" if prior is None else prior, space)
    # Structures whose threshold is known, and products, by their factors.
    known = by_structure(space, tolerance) if np.ptp(probabilities) == 0 else None
    if known is not None:
        return known
    factors = sides(space)
    parts = product_parts(probabilities, tuple(map(len, factors))) if len(factors) > 1 else None
    if parts is not None:
        options = {"tolerance": tolerance, "floor": floor, "evaluations": evaluations, "progress": progress}
        pairs = {(id(factor), part.tobytes()): (factor, part) for factor, part in zip(factors, parts, strict=True)}
        return largest([threshold(factor, part, **options) for factor, part in pairs.values()], tolerance)
    # Proofs over intervals of ε need matrices of classes of points; above 2,000 points those are not formed.
    if len(space) > CLASSED_POINTS:
        tell = told(progress)
        value, low, high, count, reason = searched(space, probabilities, tolerance, floor, tell)
        return Threshold(value, low, high, False, count, reason)
    # What no ε changes: priors that are never regular, and those that always are.
    never = impossible(space, probabilities)
    if never:
        return Threshold(np.inf, np.inf, np.inf, True, 0, f"regular at no level: {never}")
    # The quotient has one unknown for all points that neither the distances nor the prior tell apart: they have equal
    # weights. A single class: Φμ = π with a constant μ = π / (the row sum of Φ) > 0.
    quotient = Quotient.of(space.distances, probabilities)
    if len(quotient) == 1:
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level, by symmetry")
    # The same row of Φ twice, as of points at distance 0, is no dominant diagonal: one of each such group is enough.
    # The points have equal probabilities by now, and their weights only enter as a sum.
    distances, distinct_prior = distinct(space.distances, probabilities)
    apart = ~np.eye(len(distinct_prior), dtype=bool)
    if np.isinf(distances[apart]).all():
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level: nothing constrains different points")
    # From where the kernel is diagonally dominant, down by proofs.
    start = dominant_from(distances, distinct_prior)
    if start is None:
        return Threshold(np.inf, 0.0, np.inf, False, 0, "no level was found from which on the prior is regular")
    return _descended(quotient, start, tolerance, start * floor, evaluations)


def _descended(quotient: Quotient, start: float, tolerance: float, bottom: float, evaluations: int) -> Threshold:
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
            low = _refuted_below(quotient, high, tolerance)
            break
    if high <= bottom:
        return Threshold(high, 0.0, high, False, 0, f"regular from {high:.3g} on: proven; below it was not examined")
    if high - low <= tolerance * high:
        return Threshold(high, low, high, True, 0, f"proven regular from here on, and not regular at {low:.10g}")
    return _sampled(quotient, low, high, bottom, tolerance)


def _refuted_below(quotient: Quotient, high: float, tolerance: float) -> float:
    """The ε nearest below `high`, within the tolerance, at which it is proven not regular; 0 where none was found."""
    # Nearest first, as the bracket is then narrowest; 0.999 is still within the tolerance.
    width = tolerance * high
    for part in (0.01, 0.1, 0.3, 0.6, 0.9, 0.999):
        if status_at(quotient, high - part * width) == "not regular":
            return high - part * width
    return 0.0


def _sampled(quotient: Quotient, low: float, high: float, bottom: float, tolerance: float) -> Threshold:
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
    below = f"not regular at {low:.10g}" if low > 0 else f"not examined below {bottom:.3g}"
    return Threshold(
        above, low, high, False, count, f"proven from {high:.7g} on, only sampled from {above:.7g} to there; {below}"
    )
