"""The ε' a hair below ε at which a mechanism is made, so that its rounding to doubles keeps it private at ε."""

from __future__ import annotations

import math

from dxopt.errors import UnsupportedError
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels import System
from dxopt.spaces.kernels.systems import distance_error
from dxopt.spaces.space import MetricSpace

_LARGEST_CUT = 1e-3
"""ε' is lowered by less than this part of ε; where more would be needed, points are too close for a proof."""
_LEAST_BUDGET = 1e-300
"""Smaller budgets count as this one, so that no quotient overflows."""


def lowered_epsilon(space: MetricSpace, epsilon: float, roundings: float, distance_error: float = 0.0) -> float:
    """The ε' < ε such that e^{ε'd(1 + distance_error)} (1 + 2^-53)^roundings ≤ e^{εd} for all d > 0.

    A mechanism that is private at ε', with respect to distances that are off by that relative error, is private at ε
    after that many relative roundings of its entries.

    Raises
    ------
    UnsupportedError
        If points are so close that ε' would be below about 0.999 ε.
    """
    # The rounding of entries is covered by the least budget: (ε - ε')d ≥ εd · cut for the least d, and so for all.
    cut = distance_error + roundings * UNIT / max(epsilon * space.nearest, _LEAST_BUDGET) + 8 * UNIT
    if not cut < _LARGEST_CUT:
        wrong = f"has points {space.nearest:.3g} apart, too close at epsilon = {epsilon:g}"
        raise UnsupportedError("space", wrong, "join them, or raise epsilon")
    return epsilon * (1 - 1.01 * cut)


def epsilon_of_weights(space: MetricSpace, epsilon: float, kernel: System) -> float:
    """The ε' < ε at which to compute the kernel T of a mechanism T·diag(w) that is to be private at ε.

    It is such that ε'd plus the rounding of two entries of T and of their products with a weight stays below εd for
    all d > 0. `kernel` is T at ε, whose entries have about the same relative error. Without two points at a finite
    distance nothing binds, and ε' is ε.

    Raises
    ------
    UnsupportedError
        If points are at distance 0, or so close that ε' would be below about 0.999 ε.
    """
    if not math.isfinite(space.nearest):
        return epsilon
    if _has_twins(space):
        raise UnsupportedError("space", "has points at distance 0", "join them")
    return lowered_epsilon(space, epsilon, 2 * kernel.entry_error / UNIT + 32, distance_error(space))


def _has_twins(space: MetricSpace) -> bool:
    """Return True if two points are at distance 0. Structured spaces have none, except in a factor of a product."""
    if space.structure.kind == "product":
        return any(_has_twins(factor) for factor in space.structure.factors)
    return space.structure.kind in ("general", "graph") and int((space.distances == 0).sum()) > len(space)
