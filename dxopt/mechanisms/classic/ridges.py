"""The ridges between the cells of a finite set of sites in the plane: pieces of bisectors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

ALIKE = 1e-9
"""Lengths below this part of the extent of all sites count as 0."""
_PARALLEL = 1e-12
_MANY = 400


def ridges(sites: Array) -> tuple[Indices, Array, Array]:
    """The ridges between sites `(k, 2)` that are all different.

    Returns
    -------
    pairs : (r, 2) array of int
        The two sites of each ridge, the first below the second.
    low, high : (r,) arrays
        Where the ridge begins and ends on their bisector, as lengths from the middle of the two along the direction
        from the first to the second turned left; may be infinite.
    """
    found = []
    low = []
    high = []
    for a, near in enumerate(neighbours(sites)):
        # A point of the bisector of a and b is (b - a)/2 + t·n from a, where n is the direction to b turned left.
        apart = sites[near] - sites[a]
        ahead = apart / np.hypot(*apart.T)[:, None]
        turned = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)

        # It is at least as near to a as to c, for c another neighbour, if t · 2n·(c - a) ≤ (c - a)·((c - a) - (b -
        # a)): one inequality t · slopes[b, c] ≤ room[b, c] for each c.
        slopes = 2 * (turned @ apart.T)
        room = (apart * (apart - apart[:, None, :])).sum(axis=2)

        # Positive slopes bound t from above, negative ones from below; if the slope is 0, the bisectors are parallel
        # and either all of the one with b is nearer to c, so that there is no ridge, or none of it.
        parallel = np.abs(slopes) <= _PARALLEL * np.hypot(*apart.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = room / slopes
        lowest = np.where(~parallel & (slopes < 0), meets, -np.inf).max(axis=1, initial=-np.inf)
        highest = np.where(~parallel & (slopes > 0), meets, np.inf).min(axis=1, initial=np.inf)
        lowest[(parallel & (room < 0)).any(axis=1)] = np.inf

        # Each ridge is kept once, from its first site.
        kept = (near > a) & (lowest < highest)
        found.append(np.stack([np.full(int(kept.sum()), a), near[kept]], axis=1))
        low.append(lowest[kept])
        high.append(highest[kept])
    return np.concatenate(found), np.concatenate(low), np.concatenate(high)


def neighbours(sites: Array) -> list[Indices]:
    """For each of k sites other sites, among which are all whose cells touch its cell.

    Qhull leaves out some that are nearer to each other than about 1e-7 of the extent; then it is all, if not many.
    """
    # On a line, neighbours are next to each other; elsewhere Qhull finds them, by the Delaunay triangulation.
    axis, thin = _main_axis(sites)
    if thin:
        order = np.argsort(sites @ axis, kind="stable")
        pairs = np.stack([order[:-1], order[1:]], axis=1)
    else:
        from scipy.spatial import Voronoi as Diagram

        pairs = Diagram(sites - sites.mean(axis=0)).ridge_points

    # Both directions of each pair, sorted by the first site and then by the second, cut where the first one changes.
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    ends = ends[np.lexsort(ends.T[::-1])].astype(np.int64)
    counts = np.bincount(ends[:, 0], minlength=len(sites))
    if counts.min() == 0 and len(sites) < _MANY:
        return [np.delete(np.arange(len(sites)), a) for a in range(len(sites))]
    return np.split(ends[:, 1], np.cumsum(counts)[:-1])


def straightened(sites: Array) -> Array:
    """The sites, moved to their main axis where they are on a line up to rounding."""
    axis, thin = _main_axis(sites)
    middle = sites.mean(axis=0)
    return middle + np.outer((sites - middle) @ axis, axis) if thin and len(sites) > 2 else sites


def _main_axis(sites: Array) -> tuple[Array, bool]:
    """The direction `(2,)` in which sites spread most, and whether they are on a line."""
    _, spread, axes = np.linalg.svd(sites - sites.mean(axis=0), full_matrices=False)
    return axes[0], len(sites) == 2 or bool(spread[1] <= ALIKE * spread[0])


def openings(sites: Array, pairs: Indices, low: Array, high: Array) -> Array:
    """The share `(m,)` of all directions in which each cell is unbounded.

    It is the angle between the two rays that bound the cell, over 2π; for cells between parallel lines it is 0.
    """
    # A ridge without an end is a ray in the direction from its first site to its second turned left; one without a
    # beginning is a ray the other way.
    across = sites[pairs[:, 1]] - sites[pairs[:, 0]]
    turned = np.arctan2(across[:, 0], -across[:, 1])
    rays = np.concatenate([turned[np.isinf(high)], turned[np.isinf(low)] + math.pi])
    cells = np.concatenate([pairs[np.isinf(high)], pairs[np.isinf(low)]])

    # Each unbounded cell has two rays, at an angle of less than π.
    opening = np.zeros(len(sites))
    for cell in np.unique(cells):
        ends = rays[(cells == cell).any(axis=1)]
        if len(ends) == 2:
            opening[cell] = abs((ends[1] - ends[0] + math.pi) % (2 * math.pi) - math.pi)
    return opening / opening.sum()
