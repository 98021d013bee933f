"""Bound the diameter of a space, by its structure where it has one, without a matrix of distances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from dxopt.spaces.distances import Paths, in_blocks
from dxopt.spaces.space import MetricSpace

_MOST_CELLS = 4_000_000
"""Distances that are looked at where no structure gives them: all of them up to 2,000 points."""
_SWEEPS = 8
"""Searches through a graph that is larger than that."""

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Spread:
    """The diameter and the least distances of a space.

    Attributes
    ----------
    diameter : float
        The largest finite distance; of large spaces without structure the largest that was found, which under
        symmetric distances is at least half of that. 0 where there is none.
    nearest : (k,) array
        The distance from each point that was looked at to the point nearest to it, which may be 0; infinite where
        none is at a finite distance.
    """

    diameter: float
    nearest: Array

    @property
    def typical(self) -> float:
        """The median distance to the nearest point; infinite where no point has any at a finite distance."""
        found = self.nearest[np.isfinite(self.nearest)]
        return float(np.quantile(found, 0.5)) if len(found) else float("inf")

    @property
    def telling(self) -> float:
        """A round distance at which texts say what privacy means.

        1 if that is from the typical distance to the diameter, or no typical one is known; else the typical distance,
        in one digit if three are not enough.
        """
        typical = self.typical
        if self.diameter >= 1.0 >= typical or not (math.isfinite(typical) and typical > 0):
            return 1.0
        return typical if float(f"{typical:.3g}") == typical else float(f"{typical:.1g}")


def spread_of(space: MetricSpace) -> Spread:
    """Measure the distances between the points of a space; O(n) by structure, at most 4 million without."""
    if len(space) == 1:
        return Spread(0.0, np.array([np.inf]))
    structure = space.structure
    match structure.kind:
        case "path" if space.points is not None:
            places = space.points[:, 0]
            beside = np.pad(np.abs(np.diff(places)), 1, constant_values=np.inf)
            return Spread(float(abs(places[-1] - places[0])), np.minimum(beside[:-1], beside[1:]))
        case "lattice" | "torus":
            # no two points are further apart than some point is from the first, and all have a neighbour
            return Spread(_largest_finite(space.row(index=0)), np.full(len(space), space.nearest))
        case "product":
            parts = [spread_of(factor) for factor in structure.factors]
            # the nearest point differs in one coordinate; the furthest in all of them
            nearest = reduce(np.minimum.outer, (part.nearest for part in parts)).ravel()
            return Spread(sum(part.diameter for part in parts), nearest)
    if isinstance(space.given, Paths) and len(space) ** 2 > _MOST_CELLS:
        return _on_a_graph(space.given)
    return _by_rows(space)


def _on_a_graph(paths: Paths) -> Spread:
    """Measure by the edges at each point, and by a few searches from one point to all others.

    Each search starts at the point furthest from the last start, whose own furthest point is likely further; where
    the last search found nothing further, at a point that was not reached yet.
    """
    steps = paths.steps.tocoo()
    nearest = np.full(paths.size, np.inf)
    np.minimum.at(nearest, steps.row, steps.data)
    diameter = 0.0
    unreached = np.ones(paths.size, dtype=bool)
    start = 0
    for _ in range(_SWEEPS):
        found = paths.block(np.array([start]), np.arange(paths.size))[0]
        reached = np.isfinite(found)
        unreached &= ~reached
        furthest = int(np.where(reached, found, -1.0).argmax())
        further = found[furthest] > diameter
        diameter = max(diameter, float(found[furthest]))
        if not further and not unreached.any():
            break
        start = furthest if further else int(unreached.argmax())
    return Spread(diameter, nearest)


def _by_rows(space: MetricSpace) -> Spread:
    """Measure by whole rows of distances, evenly spaced where all of them would be too many."""
    size = len(space)
    chosen = np.linspace(0, size - 1, min(size, max(1, _MOST_CELLS // size))).round().astype(np.int64)
    everything = np.arange(size)
    diameter = 0.0
    nearest: list[Array] = []
    for rows in in_blocks(chosen, size):
        apart = space.block(rows, everything)
        diameter = max(diameter, _largest_finite(apart))
        apart[np.arange(len(rows)), rows] = np.inf
        nearest.append(apart.min(axis=1))
    return Spread(diameter, np.concatenate(nearest))


def _largest_finite(distances: Array) -> float:
    return float(np.max(distances, where=np.isfinite(distances), initial=0.0))
