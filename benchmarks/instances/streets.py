"""Crossings of a city, of which some are reports: what location privacy's papers on thousands of secrets time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Delaunay

import dxopt as dx
from benchmarks.contract import FULL, SCALE
from benchmarks.instances.families import register, scale

RADIUS, WHOLE = 25.0, 1_000
"""Kilometres within which that many crossings are, or more; fewer are a part of a city, as dense."""
CROWDED = 0.35
"""A centre in which half of the crossings are has this share of the radius, as in Rome."""
REACHES = 3000.0, 5400.0
"""Seconds for 2,000 crossings, and for more."""


def crossings(points: int) -> NDArray[np.float64]:
    """Return crossings in kilometres `(n, 2)`, crowded towards the middle and along eight roads out of it."""
    generator = np.random.default_rng(points)
    radius = RADIUS * np.sqrt(min(points, WHOLE) / WHOLE)
    distance = radius * generator.random(points) ** (np.log(CROWDED) / np.log(0.5))
    angle = 2 * np.pi * generator.random(points)
    road = np.round(angle * 4 / np.pi) * np.pi / 4
    pull = np.where(generator.random(points) < 0.5, distance / radius, 0.0)
    angle += pull * (road - angle)
    return distance[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def ways(places: NDArray[np.float64], goals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the metres `(n, k)` along streets from each crossing to some, the triangles' edges being the streets."""
    corners = Delaunay(places).simplices
    edges = np.unique(np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])), axis=0)
    metres = 1000 * np.linalg.norm(places[edges[:, 0]] - places[edges[:, 1]], axis=1)
    streets = coo_array((metres, edges.T), shape=(len(places),) * 2).tocsr()
    return np.asarray(dijkstra(streets, directed=False, indices=goals)).T


def rides(reports: int, tasks: int = 1, epsilon: float = 5.0, share: float = 0.0) -> Callable[[int], dx.Problem]:
    """Return the problems whose loss is by how many metres the way to a task is taken wrongly, mean of the tasks.

    Parameters
    ----------
    reports : int
        Crossings that may be reported; every one where there are no more.
    tasks : int
        At crossings by chance.
    epsilon : float
        Per kilometre in a straight line.
    share : float
        Of the prior at the crossing nearest to the middle; the others are equally likely.
    """

    def build(points: int) -> dx.Problem:
        places = crossings(points)
        generator = np.random.default_rng(points + 1)
        shown = np.sort(generator.permutation(points)[:reports])
        lengths = ways(places, generator.permutation(points)[:tasks])
        loss = np.zeros((points, len(shown)))
        for length in lengths.T:
            loss += np.abs(length[:, None] - length[shown]) / lengths.shape[1]
        space = dx.MetricSpace.from_points(places)
        offered = dx.Reports.at(places[shown], labels=[space.labels[k] for k in shown.tolist()])
        weights = np.ones(points)
        if share:
            weights[np.linalg.norm(places, axis=1).argmin()] = share / (1 - share) * (points - 1)
        return dx.Problem(
            space,
            epsilon=epsilon,
            prior=dx.Prior.from_weights(space, weights),
            loss=dx.Loss(loss, offered, unit="m"),
            reports=offered,
        )

    return build


_SMALLER = {25: (SCALE, FULL), **scale(60, 120)}
for _family, _about, _problems in (
    ("streets", "100 of them may be reported, ε = 5 per km", rides(100)),
    ("streets-tasks", "100 of them may be reported, ε = 5 per km, 100 tasks", rides(100, tasks=100)),
    ("streets-few", "10 of them may be reported, ε = 5 per km", rides(10)),
    ("streets-all", "each may be reported, ε = 5 per km", rides(10_000)),
    ("streets-near", "100 of them may be reported, ε = 1 per km", rides(100, epsilon=1.0)),
    ("streets-skewed", "a third of all people at one, 100 may be reported, ε = 5 per km", rides(100, share=1 / 3)),
):
    _large = (1_000, 2_000, 5_000) if _family == "streets" else (1_000,)
    register(
        _family,
        f"crossings of a city, {_about}, loss by the way to a task",
        _problems,
        {**(_SMALLER if _family != "streets-all" else {}), **scale(250, large=(500, *_large))},
        warm_up=(9, 25),
        limits={2_000: REACHES[0], 5_000: REACHES[1]},
        tolerances=dict.fromkeys((250, 500, *_large), 1e-2),
    )
