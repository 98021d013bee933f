"""Find by sampling where the least weight turns negative: for spaces too large for a proof over intervals of ε."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from dxopt.analysis.regularity.weights import weights
from dxopt.errors import UnsupportedError
from dxopt.spaces.kernels.systems import system
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Tell = Callable[[str], None]
_GROWTH = 1.5
_STEPS = 24


class LeastWeight:
    """min μ as a function of ε, for Φμ = π; counts how often it was computed."""

    def __init__(self, space: MetricSpace, probabilities: Array, tell: Tell) -> None:
        self.space = space
        self.probabilities = probabilities
        self.tell = tell
        self.count = 0

    def __call__(self, epsilon: float) -> float:
        self.tell(f"weights of {len(self.space):,} points at epsilon = {epsilon:.7g}")
        self.count += 1
        values = weights(self.space, epsilon, self.probabilities).values
        return -1.0 if values is None else float(values.min())

    def root(self, low: float, high: float, tolerance: float) -> float:
        """The ε between one where it is negative and one where it is not at which that changes."""
        if self(low) >= 0:
            return low
        relative = max(tolerance, 1e-14)
        found = scipy.optimize.brentq(self, low, high, rtol=relative, xtol=tolerance * high)
        return float(found)  # pyright: ignore[reportArgumentType]


def epsilon_above(space: MetricSpace, probabilities: Array, epsilon: float, tell: Tell) -> float | None:
    """The first ε above this one from which no sample has a negative weight, or None where none was found.

    Two samples in a row with positive weights end the search, as a single one may be an island.
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
            return least.root(low, high, 1e-7) * (1 + 1e-6)
    return None


def epsilon_below(
    space: MetricSpace, probabilities: Array, high: float, floor: float, tolerance: float, tell: Tell
) -> tuple[float, int]:
    """The least ε below `high` above which no sample has a negative weight, and the number of samples."""
    least = LeastWeight(space, probabilities, tell)
    sample = high
    while sample > floor:
        above = sample
        sample = max(sample / _GROWTH, floor)
        if least(sample) < 0:
            return least.root(sample, above, tolerance), least.count
    return sample, least.count


def searched(
    space: MetricSpace, probabilities: Array, tolerance: float, floor: float, tell: Callable[[str], None]
) -> tuple[float, float, float, int, str]:
    """Sampled below an ε from which Eπ < π is proven, E = Φ - I, by the largest row sum of Φ and max π / min π.

    The value, low and high of a threshold, how many values of ε were sampled, and what was proven.
    """
    if not (space.symmetric and probabilities.min() > 0 and np.isfinite(space.nearest)):
        raise UnsupportedError("space", f"has {len(space):,} points", "thresholds need positive priors at this size")
    # `norm` bounds every row sum of Φ, whose diagonal is 1: Σ_{x' ≠ x} Φ[x, x'] π_x' ≤ (norm - 1) max π. From where
    # that is below min π, it is below every π_x: regular from there on.
    ratio = float(probabilities.max() / probabilities.min())
    high = 1.0 / space.nearest
    while (system(space, high).norm - 1) * ratio >= 1:
        high *= 1.25
    value, count = epsilon_below(space, probabilities, high, floor * high, tolerance, tell)
    # One proof on the other side, if a weight just below the answer is negative beyond its error.
    below = value * (1 - 2 * tolerance)
    low = below if len(weights(space, below, probabilities).negative) else 0.0
    reason = f"proven from {high:.7g} on, only sampled from {value:.7g} to there"
    return value, low, high, count, reason
