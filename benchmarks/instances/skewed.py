"""Places in clusters, of which one in the middle has some share of all weight: how much skew costs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import dxopt as dx
from benchmarks.contract import FULL, SCALE, SMALL
from benchmarks.instances.families import heavy, register, scale

SHARES = (0, 10, 37, 60)
"""Per cent of the weight at one place; 0 leaves it what it is."""


def clustered(points: int) -> dx.MetricSpace:
    """Places around one centre in twenty, about one to a unit of area near a centre; always the same ones."""
    generator = np.random.default_rng(points)
    centres = generator.normal(size=(max(1, points // 20), 2)) * np.sqrt(points / 4)
    nearest = generator.integers(len(centres), size=points)
    return dx.MetricSpace.from_points(centres[nearest] + 1.5 * generator.normal(size=(points, 2)))


def skewed_at(share: float) -> Callable[[int], dx.Problem]:
    """Return the problems with this share of the weight at the place nearest to the middle, ε = 0.5."""

    def build(points: int) -> dx.Problem:
        space = clustered(points)
        weights = heavy(points)
        if share:
            middle = int(space.distances.sum(axis=1).argmin())
            weights[middle] = 0.0
            weights[middle] = share / (1 - share) * weights.sum()
        prior = dx.Prior.from_weights(space, weights, name=f"{share:.0%} at one place" if share else "heavy-tailed")
        return dx.Problem(space, epsilon=0.5, prior=prior)

    return build


def _about(share: int) -> str:
    most = f", {share} % of it at one place" if share else ""
    return f"clustered places, Euclidean, heavy-tailed prior{most}, ε = 0.5"


for _share in SHARES:
    register(
        f"skewed-{_share}",
        _about(_share),
        skewed_at(_share / 100),
        {25: (SMALL, SCALE, FULL) if _share == 37 else (SCALE, FULL), **scale(60, 120, 250, large=(500,))},
        warm_up=(9, 25),
        tolerances=dict.fromkeys((250, 500), 1e-4),
    )
