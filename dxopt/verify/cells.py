"""Places on the Earth that positions are moved to: how far apart those of two near positions may be, derived again.

Everything is on the sphere. The region of a centre are the positions that are nearer to it than to any other, within
a given angle of it. It lies in a polygon, which is computed instead: half-spaces x·(a - c) ≥ 0 of the centre a and
its nearest neighbours c, and those of 16 great circles that touch the circle around it, in the directions of the
compass. The corners of the polygon are cross products of two normals, in all half-spaces.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import numbers
from dxopt.verify.metrics import AGREEMENT, EARTH_RADIUS, ON_EARTH, cosine_of_degrees, on_sphere, parameters_of
from dxopt.verify.verdict import Broken

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
    """Return a polygon that holds the region of centre a of the centres `(n, 3)`, within an angle up to `WIDEST`."""
    # 1. half-spaces of great circles that touch the circle around the centre
    centre = centres[a]
    east = np.array([-centre[1], centre[0], 0.0]) if centre[:2].any() else np.array([0.0, 1.0, 0.0])
    east /= math.hypot(*east)
    north = np.cross(centre, east)
    turns = np.arange(_TANGENTS)[:, None] * (2 * math.pi / _TANGENTS)
    inward = -np.sin(turns) * east - np.cos(turns) * north
    normals = math.sin(within) * centre + math.cos(within) * inward
    # 2. half-spaces nearer to the centre than to a neighbour; to leave some out only widens the polygon: those at
    #    nearly the same place, and those too far away to cut anything off
    ways = centre - centres
    lengths = np.sqrt((ways**2).sum(axis=1))
    near = np.argsort(lengths, kind="stable")[: _NEIGHBOURS + 1]
    near = near[(lengths[near] > _SAME * within) & (lengths[near] < 1)]
    normals = np.vstack([ways[near] / lengths[near, None], normals])
    # 3. corners: where two great circles meet, on the side of the centre, in all half-spaces; in order around it,
    #    those at one place once
    i, j = np.triu_indices(len(normals), 1)
    found = np.cross(normals[i], normals[j])
    size = np.sqrt((found**2).sum(axis=1))
    found = found[size > _LEAST] / size[size > _LEAST, None]
    found *= np.sign(found @ centre)[:, None]
    found = found[(found @ normals.T >= -_TOLERANCE * within - 1e-15).all(axis=1) & (found @ centre > 0)]
    found = found[np.argsort(np.arctan2(found @ east, found @ north))]
    steps = np.sqrt(((found - np.roll(found, 1, axis=0)) ** 2).sum(axis=1))
    return Region(normals, found[steps > _TOLERANCE * within])


def angle_between(one: Region, other: Region) -> float:
    """Return the least angle between two polygons: 0 unless a half-space of one has no corner of the other."""
    if not (_separates(one, other) or _separates(other, one)):
        return 0.0
    return min(_angle_to_sides(one.corners, other.corners), _angle_to_sides(other.corners, one.corners))


def _separates(one: Region, other: Region) -> bool:
    """Return whether some half-space of one polygon has no corner of the other, so that the two do not meet."""
    return bool((other.corners @ one.normals.T < 0).all(axis=0).any())


def _angle_to_sides(corners: Array, around: Array) -> float:
    """Return the least angle from corners `(k, 3)` to the sides of a polygon `(m, 3)`."""
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


_LONGER = {"geodesic": 1.0045}
"""Largest ratio of a distance to the great circle, by metric; 1 for others."""
_SHORTER = {"geodesic": 1.005615, "conservative_haversine": 1.005615}
"""Largest ratio of the great circle to a distance, by metric; 1 for others."""
_MOST = 2_000
"""With more centres than this, distances between them are not looked at."""
_SLACK = 1e-6
_GAP_SLACK, _GAP_ROUNDING = 5e-7, 1e-7
"""Regions count as within the radius up to these shares of the radius and of the reach more, for rounding."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Centres `(n, 3)` on the Earth that positions near to them are moved to, and their distances under a metric.

    `earth` is the radius of the Earth in the unit of the positions, and `reach` the largest distance of a position
    from its centre along a great circle in that unit: to the corner of a cell, or else to the next centre.
    """

    centres: Array
    distances: Array
    metric: str | None
    earth: float
    reach: float

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], distances: Array) -> Self | None:
        """Read the arrays of a space; None where they are not on the Earth."""
        metric = str(arrays["space.metric"]) if "space.metric" in arrays else None
        key = "space.positions.degrees"
        if key not in arrays:
            key = "space.points"
            if key not in arrays or metric not in ON_EARTH:
                return None
        size = len(distances)
        degrees = numbers(arrays, key, size, 2)
        centres = on_sphere(degrees)
        key = "space.positions.unit"
        unit = str(arrays[key]) if key in arrays else parameters_of(arrays).get("unit", "km")
        earth = EARTH_RADIUS[unit]
        if "space.positions.degrees" in arrays:
            require_positions(arrays, "space", unit)
        if "space.positions.outlines" not in arrays:
            return cls(centres, distances, metric, earth, _widest(centres) * earth)
        outlines = numbers(arrays, "space.positions.outlines", size, None, 2)
        corners = on_sphere(outlines.reshape(-1, 2)).reshape(*outlines.shape[:2], 3)
        chord = float(np.linalg.norm(corners - centres[:, None, :], axis=2).max())
        return cls(centres, distances, metric, earth, _angle(chord) * earth)

    def across(self, radius: float, within: float | None = None) -> float | None:
        """Return the largest distance of centres that have positions within the radius of each other.

        It is the largest distance of two centres whose regions are within the radius r, where h is how far a position
        may be from its centre: `within`, or the reach where that is not given. Of many centres, or wide regions, it
        is bounded by r + 2h. None where distances are not those of positions.
        """
        if self.metric not in (*ON_EARTH, "euclidean"):
            return None
        away = self.reach if within is None else within
        centres = self.centres
        longer, shorter = _stretches(self.metric, centres, away / self.earth)
        most = (radius + 2 * longer * away) * (1 + _SLACK)
        if len(centres) > _MOST:
            return most
        angle = radius * shorter / self.earth
        wide = max(away / self.earth, angle * (1 + _SLACK)) > WIDEST
        if wide or not away > 0:
            limit = most if wide else radius  # all positions are at centres if `away` is 0
            return float(np.max(self.distances, where=self.distances <= limit, initial=0.0)) or most
        return _furthest(self.distances, centres, radius, most, away / self.earth, angle) or most


def require_positions(arrays: Mapping[str, NDArray[Any]], prefix: str, unit: str) -> None:
    """Broken unless positions are degrees, points are they or a map of them, and cells lie around them."""
    if unit not in EARTH_RADIUS:
        raise Broken(f"the unit of positions is {unit}")
    degrees = numbers(arrays, f"{prefix}.positions.degrees", None, 2)
    on_sphere(degrees)
    if f"{prefix}.points" in arrays:
        _require_located(numbers(arrays, f"{prefix}.points", len(degrees), 2), degrees, EARTH_RADIUS[unit])
    elif len(degrees) != len(arrays[f"{prefix}.labels"]):
        raise Broken(f"there are {len(degrees)} positions")
    for name, shape in (("outlines", (len(degrees), None, 2)), ("streets", (None, 2, 2))):
        if f"{prefix}.positions.{name}" in arrays:
            corners = numbers(arrays, f"{prefix}.positions.{name}", *shape)
            on_sphere(corners.reshape(-1, 2))
            if name == "outlines":
                _require_around(degrees, corners)


def _require_located(points: Array, degrees: Array, earth: float) -> None:
    """Broken unless the points are the positions `(n, 2)`, or these in the plane around them.

    A map in the plane is equirectangular: x = R cos(φ₀) (λ - λ₀) east and y = R (φ - φ₀) north, in radians, around
    the middle (φ₀, λ₀) of the ranges of latitudes and longitudes; longitudes count from the first one, modulo 360.
    """
    on_globe = bool((np.abs(points) <= (90.0, 360.0)).all())
    if on_globe and not (np.abs(on_sphere(points) - on_sphere(degrees)) > AGREEMENT).any():
        return
    latitude, longitude = degrees.T
    longitude = longitude - 360.0 * np.floor((longitude - longitude[0] + 180.0) / 360.0)
    middles = [0.5 * (float(values.min()) + float(values.max())) for values in (latitude, longitude)]
    shrunk = float(cosine_of_degrees(np.array([middles[0]]))[0])
    plane = earth * math.pi / 180 * np.column_stack([shrunk * (longitude - middles[1]), latitude - middles[0]])
    if (np.abs(points - plane) > AGREEMENT * np.abs(plane).max()).any():
        raise Broken("the points are not the positions on the map, nor these in the plane around them")


def _require_around(degrees: Array, outlines: Array) -> None:
    """Broken unless each position is within the least box around the corners `(n, c, 2)` of its cell."""
    # longitudes by whole turns, to at most 180 degrees from the position
    longitudes = outlines[..., 1] - 360.0 * np.floor((outlines[..., 1] - degrees[:, None, 1] + 180.0) / 360.0)
    for axis, corners in enumerate((outlines[..., 0], longitudes)):
        off = ~((corners.min(axis=1) <= degrees[:, axis]) & (degrees[:, axis] <= corners.max(axis=1)))
        if off.any():
            raise Broken(f"the position of secret {int(off.argmax())} is not in its cell")


def _angle(chord: float) -> float:
    return 2 * math.asin(min(chord / 2, 1.0))


def _widest(centres: Array) -> float:
    """Return the largest angle from a place `(n, 3)` to the nearest other one; 0 where all are the same place."""
    widest = 0.0
    for centre in centres:
        chords = np.sqrt(((centres - centre) ** 2).sum(axis=1))
        others = chords[chords > 0]
        widest = max(widest, float(others.min()) if len(others) else 0.0)
    return _angle(widest)


def _stretches(metric: str | None, centres: Array, within: float) -> tuple[float, float]:
    """Return the largest ratio of a distance to the great circle, and that of the great circle to a distance.

    For positions within an angle of the centres, under a metric on the Earth or in the plane of a local map. Such
    a map has all parallels as long as that in the middle: steps east are stretched by the ratio of both.
    """
    if metric != "euclidean":
        return _LONGER.get(str(metric), 1.0), _SHORTER.get(str(metric), 1.0)
    latitudes = np.arctan2(centres[:, 2], np.hypot(centres[:, 0], centres[:, 1]))
    south, north = float(latitudes.min()), float(latitudes.max())
    middle = math.cos((south + north) / 2)
    furthest = min(max(north, -south) + within, math.pi / 2)
    nearest = max(south - within, -north - within, 0.0)
    return max(middle / math.cos(furthest), 1.0), max(math.cos(nearest) / middle, 1.0)


def _furthest(distances: Array, centres: Array, near: float, most: float, within: float, angle: float) -> float:
    """Return the largest distance that is at most `near`, or at most `most` with regions at most `angle` apart.

    Regions are the positions within the angle `within` of a centre. From the furthest centres to nearer ones, so that
    the first two whose regions are that near decide.
    """
    longest = np.triu(np.maximum(distances, distances.T))
    first, second = np.nonzero((longest > near) & (longest <= most))
    far = longest[first, second]
    found: dict[int, Region] = {}
    for k in np.argsort(-far, kind="stable"):
        pair = int(first[k]), int(second[k])
        for a in pair:
            if a not in found:
                found[a] = region(centres, a, within)
        if angle_between(found[pair[0]], found[pair[1]]) <= angle * (1 + _GAP_SLACK) + _GAP_ROUNDING * within:
            return float(far[k])
    return float(np.max(distances, where=distances <= near, initial=0.0))
