"""Crossings of a city's streets, few of them reports: the setting of papers on mobile crowdsensing, made up.

As in PAnDA (Yang et al., CCS 2025), a task is somewhere, and a report costs by how much it mistakes the way to it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from benchmarks.contract import FULL, SMALL, SMOKE
from benchmarks.instances.families import Weights, heavy, register, scale, uniform

REPORTS = 100
_DISTRICTS = 60
_TOWN = 7.0
_DISTRICT = 1.2
"""Kilometres: the spread of districts around the middle, and of crossings around that of a district."""
_MIDDLE = np.array([41.9, 12.5])
_KM_OF_DEGREE = 111.2


def crossings(count: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return crossings `(count, 2)` in degrees: each district has streets 80 to 200 m apart, turned its own way."""
    middles = generator.normal(0.0, _TOWN, (_DISTRICTS, 2))
    apart = generator.uniform(0.08, 0.2, _DISTRICTS)
    turns = generator.uniform(0.0, np.pi / 2, _DISTRICTS)
    found = np.zeros((0, 2))
    while len(found) < count:
        which = generator.integers(_DISTRICTS, size=2 * count)
        steps = np.rint(generator.normal(0.0, _DISTRICT, (2 * count, 2)) / apart[which, None]) * apart[which, None]
        cosine, sine = np.cos(turns[which]), np.sin(turns[which])
        east = steps[:, 0] * cosine - steps[:, 1] * sine
        north = steps[:, 0] * sine + steps[:, 1] * cosine
        bent = generator.normal(0.0, 0.01, (2 * count, 2))
        found = np.concatenate([found, middles[which] + np.column_stack([east, north]) + bent])
    east, north = found[:count].T / _KM_OF_DEGREE
    return _MIDDLE + np.column_stack([north, east / np.cos(np.radians(_MIDDLE[0]))])


def on_the_way(epsilon: float, weights: Weights = uniform) -> Callable[[int], dx.Problem]:
    """Return problems on so many crossings, of which 100 at most are reports, ε per km, the loss in metres."""

    def build(places: int) -> dx.Problem:
        generator = np.random.default_rng(places)
        drawn = crossings(places + 1, generator)
        space = dx.MetricSpace.from_points(drawn[:-1], "haversine")
        reports = generator.choice(places, min(REPORTS, places), replace=False)
        way = dx.MetricSpace.from_points(drawn, "haversine").distances[-1, :-1]
        loss = 1000 * np.abs(way[:, None] - way[reports])
        prior = dx.Prior.from_weights(space, weights(places), name=weights.__name__)
        return dx.Problem(space, epsilon=epsilon, prior=prior, loss=loss)

    return build


for _family, _epsilon, _weights in (
    ("streets", 5.0, uniform),
    ("streets-heavy", 5.0, heavy),
    ("streets-1-per-km", 1.0, uniform),
):
    register(
        _family,
        f"crossings of streets, {REPORTS} of them reports, {_weights.__name__} prior, ε = {_epsilon:g} per km",
        on_the_way(_epsilon, _weights),
        {25: (SMOKE, SMALL, FULL), **scale(100, 250, large=(500, 1_000, 2_000, 5_000))},
        warm_up=(9, 25),
        tolerances=dict.fromkeys((500, 1_000, 2_000, 5_000), 1e-2),
    )
