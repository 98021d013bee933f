"""Bound the distance of a location from its nearest point, and between the points of two locations.

The region of a centre a has the positions x, as unit vectors, with x·(a - c) ≥ 0 for all other centres c, up to an
angle from a. In the gnomonic projection at a, where great circles are straight, half-planes of some c and tangents to
the circle around a leave a convex polygon that holds the region.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.spaces.distances import in_blocks, least
from dxopt.spaces.geo.nearest import widest_gap
from dxopt.spaces.geo.points import known
from dxopt.spaces.lattices import Wrapped
from dxopt.spaces.metrics import EARTH_RADIUS_KM, NORMS, STRETCH, OnEarth
from dxopt.spaces.positions import Positions, angles_of, distance_of, on_sphere, to_corners
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
WIDEST = 0.5
"""Polygons are made of regions up to so many radians from their centres."""
_NEIGHBOURS, _TANGENTS = 24, 16
"""Borders with so many nearest centres, and so many tangents to the circle around a centre, make its polygon."""
_BLOCK = 200  # centres whose polygons are made at once
_REGIONS_SLACK, _ROUNDING = 1e-7, 1e-12
"""So much further out are borders taken to be, in parts of the angle and radians, as what is nearest is rounded."""
_SAME = 1e-3
"""Centres nearer to each other than this, in parts of the angle, have no border: it would be rounded too much."""
_PARALLEL = 1e-9


@dataclass(frozen=True, eq=False)
class Regions:
    """Convex polygons on the sphere around `centres` `(n, 3)`.

    Attributes
    ----------
    corners : (n, k, 3) array
        Unit vectors, in any order; those of smaller polygons are repeated.
    sides : (n, k, 3) array
        The vectors from corners to the next ones.
    """

    corners: Array
    sides: Array
    centres: Array

    @classmethod
    def of(cls, centres: Array, within: float) -> Self:
        """Make polygons that hold the regions of centres `(n, 3)`, for an angle from 0 to `WIDEST`."""
        blocks = [_polygons(centres, slice(at, at + _BLOCK), within) for at in range(0, len(centres), _BLOCK)]
        most = max(block.shape[1] for block in blocks)
        edges = np.concatenate([np.pad(b, ((0, 0), (0, most - b.shape[1]), (0, 0), (0, 0)), "edge") for b in blocks])
        return cls(edges[:, :, 0], edges[:, :, 1] - edges[:, :, 0], centres)

    def may_meet(self, first: NDArray[np.int64], second: NDArray[np.int64], angle: float) -> NDArray[np.bool_]:
        """Return the mask of pairs `(p,)` whose circles around all corners are no more than an angle apart."""
        radii = angles_of(np.linalg.norm(self.corners - self.centres[:, None], axis=2).max(axis=1))
        between = angles_of(np.linalg.norm(self.centres[first] - self.centres[second], axis=1))
        return between <= radii[first] + radii[second] + angle

    def gaps(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Array:
        """Return the angles `(p,)` between pairs of polygons; 0 where they meet.

        The shortest way between polygons that do not meet ends at a corner of one of them. They do not meet if the
        great circle at right angles to that way, half-way, has one polygon on each side.
        """
        (here, sides), (there, others) = ((self.corners[which], self.sides[which]) for which in (first, second))
        one, other = _shortest_ways(here, there, others), -_shortest_ways(there, here, sides)
        lengths = np.linalg.norm([one, other], axis=2)
        way = np.where((lengths[0] <= lengths[1])[:, None], one, other)[:, :, None]
        apart = (here @ way > 0).all(axis=(1, 2)) & (there @ way < 0).all(axis=(1, 2))
        return np.where(apart, angles_of(lengths.min(axis=0)), 0.0)


def _polygons(centres: Array, rows: slice, within: float) -> Array:
    """Return the edges of the polygons of some centres by both ends, unit vectors `(b, k, 2, 3)`."""
    here = centres[rows]
    # east and north `(b, 2, 3)`; at the poles some right angle
    east = np.stack([-here[:, 1], here[:, 0], np.zeros(len(here))], axis=1)
    east[~east.any(axis=1), 1] = 1.0
    east /= np.linalg.norm(east, axis=1, keepdims=True)
    north = np.asarray(np.cross(here, east), dtype=float)
    frames = np.stack([east, north], axis=1)
    normals, offsets = _half_planes(centres, here, frames, within)
    along = np.stack([normals[..., 1], -normals[..., 0]], axis=-1)
    ends = _parts_inside(normals, offsets, along)
    there = ends[..., 0] < ends[..., 1]
    ends[~there] = 0.0
    # lines of which a part is inside come first; the first of them takes the place of the others
    chosen = np.argsort(~there, axis=1, kind="stable")[:, : there.sum(axis=1).max()]
    chosen = np.where(np.take_along_axis(there, chosen, axis=1), chosen, chosen[:, :1])
    places = ends[..., None] * along[:, :, None] - offsets[..., None, None] * normals[:, :, None]
    places = np.take_along_axis(places, chosen[..., None, None], axis=1)
    found: Array = here[:, None, None] + places @ frames[:, None]
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def _half_planes(centres: Array, here: Array, frames: Array, within: float) -> tuple[Array, Array]:
    """Return the half-planes normal·u ≥ -offset that hold the regions in the gnomonic projection.

    That is unit normals `(b, m, 2)` and offsets `(b, m)`: borders with the nearest centres, then tangents.
    """
    more = _REGIONS_SLACK * within + _ROUNDING
    apart = centres - here[:, None]
    squares = (apart * apart).sum(axis=2)
    count = min(_NEIGHBOURS + 1, len(centres))
    near = np.argpartition(squares, count - 1, axis=1)[:, :count]
    apart, squares = np.take_along_axis(apart, near[..., None], axis=1), np.take_along_axis(squares, near, axis=1)
    turns = np.arange(_TANGENTS) * (2 * np.pi / _TANGENTS)
    tangents = np.broadcast_to(-np.stack([np.sin(turns), np.cos(turns)], axis=1), (len(here), _TANGENTS, 2))
    beyond = np.full((len(here), _TANGENTS), np.tan(within) + more)
    # u is a + u₁ east + u₂ north, and a·(a - c) half of the square; centres too near or far have no border here,
    # and a half-plane that cuts nothing off takes its place
    borders = -apart @ frames.transpose(0, 2, 1)
    lengths = np.linalg.norm(borders, axis=2)
    usable = (squares > (_SAME * within) ** 2) & (squares < 1.0) & (lengths > 0)
    lengths = np.where(usable, lengths, 1.0)
    borders = np.where(usable[..., None], borders / lengths[..., None], (1.0, 0.0))
    offsets = np.where(usable, squares / (2 * lengths) + more, 10 * beyond[:, :1])
    return np.concatenate([borders, tangents], axis=1), np.concatenate([offsets, beyond], axis=1)


def _parts_inside(normals: Array, offsets: Array, along: Array) -> Array:
    """Return the part of each border that is in all half-planes, `(b, m, 2)`: from where to where, along its line.

    Where no part is inside, the two are in the wrong order.
    """
    # at t along the line of border i, half-plane j asks for slopes[i, j]·t ≥ -levels[i, j]
    slopes = along @ normals.transpose(0, 2, 1)
    levels = offsets[:, None] - offsets[..., None] * (normals @ normals.transpose(0, 2, 1))
    parallel = np.abs(slopes) < _PARALLEL
    cuts = -levels / np.where(parallel, 1.0, slopes)
    low = np.where(~parallel & (slopes > 0), cuts, -np.inf)
    low = np.where(parallel & (levels < -_PARALLEL * offsets[..., None]), np.inf, low).max(axis=2)
    high = np.where(~parallel & (slopes < 0), cuts, np.inf).min(axis=2)
    return np.stack([low, high], axis=2)


def _shortest_ways(corners: Array, starts: Array, sides: Array) -> Array:
    """Return for each pair of polygons the shortest vector `(p, 3)` from an edge of one to a corner of the other.

    The corners are `(p, j, 3)`, the edges begin at `starts` and lead along `sides`, both `(p, k, 3)`.
    """
    apart = corners[:, :, None] - starts[:, None]
    squares = (sides * sides).sum(axis=2)[:, None]
    # the foot is a multiple of start + t·side, by normal equations in differences, which lose no digits
    leaning = -squares / 2  # start·side, as both ends of a side have length 1
    half = (apart * apart).sum(axis=3) / 2
    steps = (np.einsum("pjki,pki->pjk", apart, sides) + leaning * half) / np.where(
        squares > 0, squares - leaning**2, 1.0
    )
    shares = np.clip(steps / (1 - half - leaning * steps), 0.0, 1.0)
    feet = starts[:, None] + shares[..., None] * sides[:, None]
    feet /= np.linalg.norm(feet, axis=3, keepdims=True)
    ways = (corners[:, :, None] - feet).reshape(len(corners), -1, 3)
    nearest = (ways * ways).sum(axis=2).argmin(axis=1)
    return ways[np.arange(len(ways)), nearest]


ELLIPSOID = 1.0045
"""WGS 84 is at most so many times as long as a sphere of radius 6371.0088 km: its largest radius of curvature is
a²/b = 6399.594 km."""
_MOST_LOOKED_AT = 2_000
"""Distances between centres are looked at one by one up to so many of them,"""
_AT_ONCE = 1_000
"""and so many pairs of regions at once."""
_SLACK = 1e-6
"""So much further, in parts, are positions taken to reach, as what is nearest and how far is rounded."""


@dataclass(frozen=True)
class Ways:
    """Bounds on the distance of positions in a cell from its centre, in the unit of distances.

    `furthest` holds in every cell; `mean` is that over the area of a cell, in the cell where this is largest.
    """

    furthest: float
    mean: float


def ways(space: MetricSpace) -> Ways | None:
    """Bound the distance of positions from the centres of cells; None where points stand for no areas on the Earth.

    The mean takes a cell for flat: relative errors are of the order of its size over that of the globe, squared.

    Examples
    --------
    >>> import dxopt as dx
    >>> from dxopt.spaces.geo.reach import ways
    >>> found = ways(dx.geo.bounding_grid(45.4, -73.8, 45.6, -73.4, shape=(4, 6)))
    >>> print(round(found.furthest, 2), round(found.mean, 2))
    3.81 2.06
    """
    found = known(space)
    corners = None if found is None else to_corners(found)
    if found is None or corners is None:
        return None
    within = _on_earth(found)
    stretched = _stretched(space, found, within)
    if stretched is None:
        return None
    mean = float(distance_of(_mean_distances(corners).max(), found.unit))
    return Ways(within * stretched[0], mean * stretched[0])


def across(space: MetricSpace, distance: float, within: float | None = None) -> float | None:
    """Bound the distance between the places of two positions that are within a given distance of each other.

    Each position is at most h from the nearest place, so that the triangle inequality makes it `distance` + 2h at
    most. Of up to 2,000 places it is the largest distance between two whose `Regions` are no further apart than
    `distance`: docs/theory/earth.md has the proof.

    Parameters
    ----------
    space : MetricSpace
    distance : float
        As the space measures distances, and in their unit, like the result: None where points stand for no areas, or
        distances are not those of positions.
    within : float, optional
        h, along a great circle in the unit of positions; by default that of the cells.
    """
    found = known(space)
    if found is None or (within is None and found.outlines is None):
        return None
    within = _on_earth(found) if within is None else within
    stretched = _stretched(space, found, within)
    if stretched is None:
        return None
    longer, shorter = stretched
    most = (distance + 2 * within * longer) * (1 + _SLACK)
    if len(space) > _MOST_LOOKED_AT:
        return most
    radius = EARTH_RADIUS_KM * OnEarth.units[found.unit]
    angles = within / radius, distance * shorter / radius * (1 + _SLACK)
    if max(angles) > WIDEST:
        return _split_at(space, most, most)[0] or most
    near, pairs = _split_at(space, distance * (1 + _SLACK), most)
    return max(near, _longest_within(on_sphere(found.degrees), pairs, *angles)) or most


def _stretched(space: MetricSpace, found: Positions, within: float) -> tuple[float, float] | None:
    """Bound the ratio of distances to great circles, and its inverse, for positions up to `within` from a space's.

    None where distances are not those of positions.
    """
    if space.metric is None:
        return None
    if space.metric.name == "euclidean":
        # a step east is cos φ₀ / cos φ times as long on the local map as on the globe, one north as long: so a great
        # circle is no longer than what the widest parallel makes of a straight line, and the other way round
        latitudes = np.radians(found.degrees[:, 0])
        middle = math.cos((latitudes.min() + latitudes.max()) / 2)
        margin = within / (EARTH_RADIUS_KM * OnEarth.units[found.unit])
        far = min(float(np.abs(latitudes).max()) + margin, math.pi / 2)
        near = max(float(latitudes.min()) - margin, -float(latitudes.max()) - margin, 0.0)
        return max(1.0, middle / math.cos(far)), max(1.0, math.cos(near) / middle)
    if not isinstance(space.metric, OnEarth):
        return None
    longer = ELLIPSOID if space.metric.name == "geodesic" else 1.0
    return longer, 1.0 if space.metric.name == "haversine" else STRETCH


def _longest_within(
    centres: NDArray[np.float64], pairs: tuple[NDArray[Any], ...], within: float, apart: float
) -> float:
    """Return the largest distance of the `pairs` of centres whose regions are no more than an angle apart, or 0.

    `within` is the angle up to which the regions go from their centres, `apart` the one between regions.
    """
    if not len(pairs[0]):
        return 0.0
    regions = Regions.of(centres, within)
    likely = regions.may_meet(pairs[0], pairs[1], apart)
    first, second, lengths = (part[likely] for part in pairs)
    for some in in_blocks(np.argsort(-lengths, kind="stable"), 1, _AT_ONCE):
        reached = some[regions.gaps(first[some], second[some]) <= apart]
        if len(reached):
            return float(lengths[reached[0]])
    return 0.0


def _split_at(space: MetricSpace, near: float, most: float) -> tuple[float, tuple[NDArray[Any], ...]]:
    """Return the largest distance up to `near`, and the pairs of points further apart than that, up to `most`.

    The pairs are three arrays: the first points, the second points, and their distances.
    """
    found, largest = [], 0.0
    everything = np.arange(len(space))
    for rows in in_blocks(everything, len(space)):
        apart = space.block(rows, everything)
        largest = max(largest, float(apart[apart <= near].max(initial=0.0)))
        first, second = np.nonzero((apart > near) & (apart <= most))
        once = rows[first] < second
        found.append((rows[first[once]], second[once], apart[first[once], second[once]]))
    return largest, tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def _mean_distances(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean distance `(n,)` from the origin of the points of flat polygons around it, `(n, k, 3)`.

    A polygon is cut into triangles at the origin.
    """
    following = np.roll(corners, -1, axis=1)
    areas = np.linalg.norm(np.cross(corners, following), axis=2)
    places, weights = np.polynomial.legendre.leggauss(16)  # Gauss' rule along each side
    along = (places + 1)[:, None, None, None] / 2
    lengths = np.linalg.norm(corners + along * (following - corners), axis=3)
    # over a triangle the mean is 2/3 of that over the opposite side
    means = 2 / 3 * np.einsum("q,qnk->nk", weights / 2, lengths)
    return (areas * means).sum(axis=1) / areas.sum(axis=1)


def reach(space: MetricSpace) -> float:
    """Bound the distance from its nearest point of a location that still belongs to a space.

    Of cells (grids, hexagons, lattices) the largest distance from a centre to a corner of its cell; on one axis half
    of the widest gap between neighbours; of other points the largest distance of one to its nearest neighbour.

    It is in the unit of the positions on the Earth where the space has some, otherwise in that of its distances.

    Raises
    ------
    SpecError
        If all points are one, as that gives no scale.
    """
    found = known(space)
    if found is not None:
        return _on_earth(found)
    metric = space.metric
    structure = space.structure
    flat = metric.flat if isinstance(metric, Wrapped) else metric
    if structure.kind in ("lattice", "torus") and flat is not None and flat.name in NORMS:
        half = np.full(len(structure.shape), structure.spacing / 2)
        return float(np.linalg.norm(half, ord=NORMS[flat.name]))
    if space.points is not None and space.points.shape[1] == 1 and metric is not None and metric.name in NORMS:
        return _require_positive(float(np.diff(np.sort(space.points[:, 0])).max(initial=0.0)) / 2)
    everything = np.arange(len(space))
    nearest = np.array([least(space.block(point, everything)) for point in everything[:, None]])
    return _require_positive(float(np.max(nearest, where=np.isfinite(nearest), initial=0.0)))


def _on_earth(found: Positions) -> float:
    """Return the largest distance from a centre to a corner of its cell; to its nearest neighbour without cells."""
    corners = to_corners(found)
    if corners is not None:
        return float(distance_of(np.linalg.norm(corners, axis=2).max(), found.unit))
    return _require_positive(float(distance_of(widest_gap(on_sphere(found.degrees)), found.unit)))


def _require_positive(distance: float) -> float:
    """Return a distance; SpecError where it is 0, as all points are one."""
    if not distance > 0:
        fix = "say how far a position may be from its secret"
        raise SpecError("within", "does not follow from a space whose points are all one", fix)
    return distance
