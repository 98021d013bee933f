"""Where positions are that are nearest to a centre and within an angle of it: whether two such regions are far apart.

Everything is on the sphere: the region of a centre a lies in the half-spaces x·(a - c) ≥ 0 of its nearest neighbours
c, and in those of 16 great circles, in the directions of the compass, that touch the circle around it. The corners of
the polygon that these leave are cross products of two normals, in all half-spaces.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WIDEST = 0.5
"""Polygons are made of regions up to so many radians from their centres."""
_NEIGHBOURS, _TANGENTS = 32, 16
_SAME = 1e-3
_TOLERANCE, _LEAST = 1e-9, 1e-9


@dataclass(frozen=True)
class Region:
    """A convex polygon: normals `(m, 3)` of half-spaces, corners `(k, 3)` in order around the centre."""

    normals: Array
    corners: Array


def region(centres: Array, a: int, within: float) -> Region:
    """A polygon that holds the region of one of the centres `(n, 3)`, for an angle up to `WIDEST`."""
    centre = centres[a]
    east = np.array([-centre[1], centre[0], 0.0]) if centre[:2].any() else np.array([0.0, 1.0, 0.0])
    east /= math.hypot(*east)
    north = np.cross(centre, east)
    turns = np.arange(_TANGENTS)[:, None] * (2 * math.pi / _TANGENTS)
    inward = -np.sin(turns) * east - np.cos(turns) * north
    normals = math.sin(within) * centre + math.cos(within) * inward
    ways = centre - centres
    lengths = np.sqrt((ways**2).sum(axis=1))
    near = np.argsort(lengths, kind="stable")[: _NEIGHBOURS + 1]
    near = near[(lengths[near] > _SAME * within) & (lengths[near] < 1)]
    normals = np.vstack([ways[near] / lengths[near, None], normals])
    i, j = np.triu_indices(len(normals), 1)
    found = np.cross(normals[i], normals[j])
    size = np.sqrt((found**2).sum(axis=1))
    found = found[size > _LEAST] / size[size > _LEAST, None]
    found *= np.sign(found @ centre)[:, None]
    found = found[(found @ normals.T >= -_TOLERANCE * within - 1e-15).all(axis=1) & (found @ centre > 0)]
    found = found[np.argsort(np.arctan2(found @ east, found @ north))]
    steps = np.sqrt(((found - np.roll(found, 1, axis=0)) ** 2).sum(axis=1))
    return Region(normals, found[steps > _TOLERANCE * within])


def apart(one: Region, other: Region) -> float:
    """The angle between two polygons: 0 unless a half-space of one has no corner of the other."""
    if not (_separates(one, other) or _separates(other, one)):
        return 0.0
    return min(_to_sides(one.corners, other.corners), _to_sides(other.corners, one.corners))


def _separates(one: Region, other: Region) -> bool:
    return bool((other.corners @ one.normals.T < 0).all(axis=0).any())


def _to_sides(corners: Array, around: Array) -> float:
    """The least angle from corners `(k, 3)` to the sides of a polygon `(m, 3)`."""
    following = np.roll(around, -1, axis=0)
    across = np.cross(around, following)
    across /= np.maximum(np.sqrt((across**2).sum(axis=1)), 1e-300)[:, None]
    # the foot is between both ends where the corner is between the great circles through these, at right angles
    beside = (corners @ np.cross(across, around).T > 0) & (corners @ np.cross(following, across).T > 0)
    straight = np.arcsin(np.minimum(np.abs(corners @ across.T), 1.0))
    chords = np.sqrt(((corners[:, None] - around) ** 2).sum(axis=2))
    return min(
        float(np.min(straight, where=beside, initial=math.inf)),
        2 * math.asin(min(float(chords.min()) / 2, 1.0)),
    )
