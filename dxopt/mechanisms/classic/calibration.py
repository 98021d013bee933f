"""The largest rate of a mechanism at which its matrix is private: found by trying, and proven afterwards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.rounding import ALIKE, UNIT
from dxopt.numerics.tropical import product
from dxopt.proofs.repair import NOTHING
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]

CALIBRATED_BELOW = 1_000
"""For so many secrets and more, no rate is looked for."""
_CALIBRATED = 1e-7
_DOUBLINGS = 6
_TRIALS = 60


def largest_private_rate(
    channel: Callable[[float], Array],
    space: MetricSpace,
    epsilon: float,
    safe: float,
    *,
    resolution: float = 4 * UNIT,
) -> float:
    """A rate from the safe one on at which the realised ε of a channel is the ε that is given or a hair less.

    Where a larger rate does not raise the realised ε, the rate stays as it is; it ends at 64 times the safe one.

    Parameters
    ----------
    channel : callable
        The channel `(n, m)` at a rate.
    space : MetricSpace
    epsilon : float
    safe : float
        A rate at which it is private at ε; what is returned where there are no two secrets apart.
    resolution : float
        How close to a rate that is not private the search ends, as a part of it, where the realised ε jumps.
    """
    # Pairs that count as one point bind nothing.
    distances = space.distances
    counted = distances > ALIKE / epsilon
    if not counted.any():
        return safe

    def realised(rate: float) -> float:
        """The ε of the matrix: the largest log(max_z K[x, z] / K[x', z]) / d(x, x')."""
        masses = np.maximum(channel(rate), NOTHING)
        return float((np.log(product(masses, 1 / masses.T)[counted]) / distances[counted]).max())

    return _calibrated(realised, safe, epsilon, resolution)


def _calibrated(realised: Callable[[float], float], safe: float, epsilon: float, resolution: float) -> float:
    """A rate from the safe one on at which the realised ε is the ε that is given or a hair less.

    `low` is a rate at which the realised ε is `least`, at most ε, and `high` one at which it is `most`, above ε.
    """
    # 1. Raise the rate until the realised ε exceeds ε: in proportion to what is left, by a factor of 2 at most.
    enough = epsilon * (1 - _CALIBRATED)
    low = safe
    least = realised(safe)
    for _ in range(_DOUBLINGS):
        if least >= enough:
            return low
        high = low * (min(2.0, 2 * epsilon / least - 1) if least > 0 else 2.0)
        most = realised(high)
        if most > epsilon:
            break
        # A larger rate has no effect any more.
        if most <= least * (1 + _CALIBRATED):
            return low
        low = high
        least = most
    else:
        return low

    # 2. Close in by secants aimed between `enough` and ε, with a bisection each third time so that it surely ends.
    for trial in range(_TRIALS):
        if least >= enough or high - low <= resolution * high:
            break
        part = 0.5 if trial % 3 == 2 else (0.5 * (epsilon + enough) - least) / (most - least)
        rate = low + part * (high - low)
        found = realised(rate)
        if found <= epsilon:
            low = rate
            least = found
        else:
            high = rate
            most = found
    return low
