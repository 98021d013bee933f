"""Thresholds that the structure of a space gives: of lines, trees and products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dxopt.numerics.rounding import UNIT
from dxopt.runtime.shown import Shown
from dxopt.spaces.space import MetricSpace


@dataclass(frozen=True, repr=False)
class Threshold(Shown):
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

    value: float
    low: float
    high: float
    proven: bool
    sampled: int
    reason: str

    def __str__(self) -> str:
        return f"{self.value:.7g}: {self.reason}"


def by_structure(space: MetricSpace, tolerance: float) -> Threshold | None:
    """The answer for the uniform prior where the structure gives it at once."""
    structure = space.structure
    metric = space.metric
    line = structure.kind == "path" or (structure.kind == "lattice" and sum(s > 1 for s in structure.shape) <= 1)
    # Under d_1 a lattice is a product of lines, and a product is regular where its factors are.
    if line or (structure.kind == "lattice" and metric is not None and metric.name == "manhattan"):
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level: numbers on lines")
    if structure.kind == "tree":
        return _of_tree(space, tolerance)
    return None


def largest(found: Sequence[Threshold], tolerance: float) -> Threshold:
    """The threshold of a product prior on a product of spaces, from those of its factors.

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


def _of_tree(space: MetricSpace, tolerance: float) -> Threshold:
    """By bisection: every weight is 1 - Σ 1/(1 + e^{εl}) over the edges of the point, and rises with ε.

    (Here π is 1 everywhere instead of 1/n, which scales the weights and keeps their signs.)
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
        return Threshold(0.0, 0.0, 0.0, True, 0, "regular at every level: every point has at most two neighbours")
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
    return Threshold(
        high, low, high, proven, 0, f"a tree: proven regular from here on, and not regular at {low:.10g}"
    )
