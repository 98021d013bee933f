"""Where the least weight turns negative, by sampling: for spaces too large for a proof over intervals of levels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import NDArray

from dxopt.analysis.regularity.weights import weights
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
Tell = Callable[[str], None]
_GROWTH = 1.5
_STEPS = 24


class LeastWeight:
    """min μ at a level, for Φμ = π; counts how often it was asked for."""

    def __init__(self, space: MetricSpace, probabilities: Array, tell: Tell) -> None:
        self.space, self.probabilities, self.tell, self.count = space, probabilities, tell, 0

    def __call__(self, level: float) -> float:
        self.tell(f"weights of {len(self.space):,} points at epsilon = {level:.7g}")
        self.count += 1
        values = weights(self.space, level, self.probabilities).values
        return -1.0 if values is None else float(values.min())

    def root(self, low: float, high: float, tolerance: float) -> float:
        """The level between one where it is negative and one where it is not at which that changes."""
        if self(low) >= 0:
            return low
        return float(scipy.optimize.brentq(self, low, high, rtol=max(tolerance, 1e-14), xtol=tolerance * high))  # pyright: ignore


def level_above(space: MetricSpace, probabilities: Array, epsilon: float, tell: Tell) -> float | None:
    """The first level above ε from which no sample has a negative weight, or None where none was found."""
    least, level, low, high = LeastWeight(space, probabilities, tell), epsilon, epsilon, None
    for _ in range(_STEPS):
        level *= _GROWTH
        if least(level) <= 0:
            low, high = level, None
        elif high is None:
            high = level
        else:
            return least.root(low, high, 1e-7) * (1 + 1e-6)
    return None


def level_below(
    space: MetricSpace, probabilities: Array, high: float, floor: float, tolerance: float, tell: Tell
) -> tuple[float, int]:
    """The least level below `high` above which no sample has a negative weight, and the number of samples."""
    least, level = LeastWeight(space, probabilities, tell), high
    while level > floor:
        above, level = level, max(level / _GROWTH, floor)
        if least(level) < 0:
            return least.root(level, above, tolerance), least.count
    return level, least.count
