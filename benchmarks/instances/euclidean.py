"""Locations: square Euclidean grids, and one whose sides are joined."""

from __future__ import annotations

import numpy as np

import dxopt as dx
from benchmarks.contract import INSTANCES, TightInstance


def square(side: int) -> dx.MetricSpace:
    """A Euclidean grid with as many points on each side."""
    return dx.grid((side, side))


def joined(side: int) -> dx.MetricSpace:
    """The same with opposite sides joined."""
    return dx.torus((side, side))


def joined_value(side: int, epsilon: float) -> float:
    """1 / Σ_z e^{-εd(x, z)}, the same for every x (ECP14, Prop 9)."""
    around = np.minimum(np.arange(side), side - np.arange(side))
    return float(1 / np.exp(-epsilon * np.hypot(around[:, None], around)).sum())


INSTANCES.register("euclidean-grid-10")(
    TightInstance("Euclidean grid, 10 x 10", square, size=10, small=4, epsilon=0.8, value=0.155222055)
)
INSTANCES.register("euclidean-grid-100")(
    TightInstance("Euclidean grid, 100 x 100", square, size=100, small=8, epsilon=0.8, value=0.1052122)
)
INSTANCES.register("euclidean-grid-1000")(
    TightInstance("Euclidean grid, 1000 x 1000", square, size=1000, small=8, epsilon=0.8, value=0.10053531)
)
INSTANCES.register("euclidean-torus-60")(
    TightInstance(
        "Euclidean torus, 60 x 60", joined, size=60, small=8, epsilon=0.8, value=joined_value(60, epsilon=0.8)
    )
)
