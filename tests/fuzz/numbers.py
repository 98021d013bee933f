"""Random levels, priors, losses and δ, over the whole range of doubles that makes sense."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Draw = np.random.Generator
Array = NDArray[np.float64]
DELTAS = (1e-300, 1e-30, 2.0**-64, 1e-18, 1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.1, 0.3, 0.5)


def level(draw: Draw) -> float:
    """ε from 1e-9 to 1e4, half of them usual ones."""
    kind = draw.random()
    if kind < 0.5:
        return float(draw.uniform(0.05, 4))
    if kind < 0.6:
        return float(draw.choice([1.0, math.log(2), math.log(4), 0.1, 1e-9, 1e4, 745.0, 36.0]))
    return float(10 ** draw.uniform(-9, 4))


def weights(draw: Draw, size: int) -> Array:
    """Weights of a prior: alike, random, skewed over many decades, with zeros, denormal, or all on one secret."""
    kind = draw.random()
    if kind < 0.2:
        found = np.ones(size)
    elif kind < 0.45:
        found = draw.random(size)
    elif kind < 0.6:
        found = draw.integers(0, 9, size=size).astype(float)
    elif kind < 0.75:
        found = 10 ** draw.uniform(-draw.choice([3, 20, 300]), 0, size=size)
    elif kind < 0.85:
        found = draw.choice([1.0, 0.5, 1e-300, 1e-308, 1e-310, 5e-324, 0.0], size=size)
    elif kind < 0.93:
        found = draw.random(size) * (draw.random(size) < 0.5)
    else:
        found = np.zeros(size)
    if not found.any():
        found[int(draw.integers(size))] = 1.0
    return found


def losses(draw: Draw, size: int, reports: int) -> Array:
    """A matrix of losses `(n, m)`: usual, signed, asymmetric, with zeros, constant, or over many decades."""
    shape = (size, reports)
    kind = draw.random()
    if kind < 0.25:
        found = draw.random(shape)
    elif kind < 0.4:
        found = draw.integers(0, 10, size=shape).astype(float)
    elif kind < 0.5:
        found = draw.uniform(-1, 1, size=shape)
    elif kind < 0.7:
        found = 10 ** draw.uniform(-draw.choice([2, 6, 20, 150]), draw.choice([0, 6, 20]), size=shape)
    elif kind < 0.78:
        found = draw.random(shape) * (draw.random(shape) < 0.4)
    elif kind < 0.86:
        found = draw.random(shape) * 10.0 ** float(draw.choice([-301, -150, -30, -12, 12, 30, 150, 290]))
    elif kind < 0.9:
        found = np.full(shape, float(draw.choice([0.0, 1.0, -3.5, 1e-20])))
    elif kind < 0.93:
        found = np.repeat(draw.random((size, 1)), reports, axis=1)
    elif kind < 0.96:
        found = draw.choice([0.0, 1.0, 1e-300, 1e300], size=shape)
    else:
        found = 1.0 + draw.random(shape) * 1e-9
    return found


def delta(draw: Draw) -> float:
    """A positive δ, of one of some sizes or between."""
    if draw.random() < 0.7:
        return float(draw.choice(DELTAS))
    return float(10 ** draw.uniform(-20, -0.3))
