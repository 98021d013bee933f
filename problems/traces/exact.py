"""The mean error of independent planar Laplace noise on a trace, without drawing any: integrals, to 1e-9."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.integrate import quad
from scipy.special import ellipe

from problems.traces.settings import Trace

FAR = 60.0
"""Noise beyond 60/ε has a probability below 1e-24."""


def mean_distance(off: float, epsilon: float) -> float:
    """Return the mean distance of planar Laplace noise at level ε from a point `off` away from its centre.

    At 0 it is 2/ε. In general the integral of ε²r e^{-εr} m(r), where m(r), the mean distance of a circle of radius r
    from a point a away from its centre, is (2/π)(a + r) E(4ar/(a + r)²) with the complete elliptic integral E.

    Parameters
    ----------
    off : float
        a, in units of distance.
    epsilon : float
        Per unit of distance.
    """
    if off == 0:
        return 2 / epsilon

    def weighted(radius: float) -> float:
        around = 2 / math.pi * (off + radius) * ellipe(4 * off * radius / (off + radius) ** 2)
        return epsilon**2 * radius * math.exp(-epsilon * radius) * around

    # the circle through the point has a kink in its second derivative
    inside = quad(weighted, 0, min(off, FAR / epsilon), epsabs=1e-12, limit=200)[0]
    outside = quad(weighted, off, off + FAR / epsilon, epsabs=1e-12, limit=200)[0]
    return inside + outside


def independent_error(shown: Sequence[Trace], budget: float, every: int = 1) -> float:
    """Return the mean error of `IndependentNoise` that spends a budget on each trace, over all points of all traces.

    Parameters
    ----------
    shown : sequence of (n, 2) arrays
    budget : float
        For all points of a trace together, per unit of distance.
    every : int
        Only every so-manyth point is reported; those between repeat the last report.
    """
    means = []
    for trace in shown:
        epsilon = budget / -(-len(trace) // every)
        behind = trace - trace[np.arange(len(trace)) // every * every]
        means += [mean_distance(float(off), epsilon) for off in np.hypot(*behind.T)]
    return float(np.mean(means))
