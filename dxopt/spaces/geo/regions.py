"""Regions of positions nearest to a centre and not too far from it, and the distance between two such regions.

The region of a centre a has the positions x, as unit vectors, with x·(a - c) ≥ 0 for all other centres c, up to an
angle from a. In the gnomonic projection at a, where great circles are straight, half-planes of some c and tangents to
the circle around a leave a convex polygon that holds the region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
WIDEST = 0.5
"""Polygons are made of regions up to so many radians from their centres."""
_NEIGHBOURS, _TANGENTS = 24, 16
_BLOCK = 200
_SLACK, _ROUNDING = 1e-7, 1e-12
"""So much further out are borders taken to be, in parts of the angle and radians, as what is nearest is rounded."""
_SAME = 1e-3
"""Centres nearer to each other than this, in parts of the angle, have no border: it would be rounded too much."""
_PARALLEL = 1e-9


@dataclass(frozen=True, eq=False)
class Regions:
    """Convex polygons on the sphere.

    Attributes
    ----------
    corners : (n, k, 3) array
        Unit vectors, in any order; those of smaller polygons are repeated.
    sides : (n, k, 3) array
        The straight ways from corners to the next ones.
    centres : (n, 3) array
    """

    corners: Array
    sides: Array
    centres: Array

    @classmethod
    def of(cls, centres: Array, within: float) -> Self:
        """Polygons that hold the regions of centres `(n, 3)`, for an angle from 0 to `WIDEST`."""
        blocks = [_polygons(centres, slice(at, at + _BLOCK), within) for at in range(0, len(centres), _BLOCK)]
        most = max(block.shape[1] for block in blocks)
        edges = np.concatenate([np.pad(b, ((0, 0), (0, most - b.shape[1]), (0, 0), (0, 0)), "edge") for b in blocks])
        return cls(edges[:, :, 0], edges[:, :, 1] - edges[:, :, 0], centres)

    def may_meet(self, first: NDArray[np.int64], second: NDArray[np.int64], angle: float) -> NDArray[np.bool_]:
        """Pairs `(p,)` that the corners furthest from their centres leave no further apart than an angle."""
        radii = _angles(np.linalg.norm(self.corners - self.centres[:, None], axis=2).max(axis=1))
        between = _angles(np.linalg.norm(self.centres[first] - self.centres[second], axis=1))
        return between <= radii[first] + radii[second] + angle

    def gaps(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> Array:
        """The angles `(p,)` between pairs of polygons; 0 where they meet.

        The shortest way between polygons that do not meet ends at a corner of one of them. They do not where the
        great circle at right angles to it, half-way, has one on each side.
        """
        (here, sides), (there, others) = ((self.corners[which], self.sides[which]) for which in (first, second))
        one, other = _ways(here, there, others), -_ways(there, here, sides)
        lengths = np.linalg.norm([one, other], axis=2)
        way = np.where((lengths[0] <= lengths[1])[:, None], one, other)[:, :, None]
        apart = (here @ way > 0).all(axis=(1, 2)) & (there @ way < 0).all(axis=(1, 2))
        return np.where(apart, _angles(lengths.min(axis=0)), 0.0)


def _angles(chords: Array) -> Array:
    return 2 * np.arcsin(np.minimum(chords / 2, 1.0))


def _polygons(centres: Array, rows: slice, within: float) -> Array:
    """The edges of some polygons by both ends, `(b, k, 2, 3)`."""
    here = centres[rows]
    frames = _frames(here)
    normals, offsets = _half_planes(centres, here, frames, within)
    along = np.stack([normals[..., 1], -normals[..., 0]], axis=-1)
    ends = _left(normals, offsets, along)
    there = ends[..., 0] < ends[..., 1]
    ends[~there] = 0.0
    # lines of which something is left come first, and the first of them instead of others
    chosen = np.argsort(~there, axis=1, kind="stable")[:, : there.sum(axis=1).max()]
    chosen = np.where(np.take_along_axis(there, chosen, axis=1), chosen, chosen[:, :1])
    places = ends[..., None] * along[:, :, None] - offsets[..., None, None] * normals[:, :, None]
    places = np.take_along_axis(places, chosen[..., None, None], axis=1)
    found: Array = here[:, None, None] + places @ frames[:, None]
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def _frames(centres: Array) -> Array:
    """East and north `(b, 2, 3)`; at the poles some right angle."""
    east = np.stack([-centres[:, 1], centres[:, 0], np.zeros(len(centres))], axis=1)
    east[~east.any(axis=1), 1] = 1.0
    east /= np.linalg.norm(east, axis=1, keepdims=True)
    north = np.asarray(np.cross(centres, east), dtype=float)
    return np.stack([east, north], axis=1)


def _half_planes(centres: Array, here: Array, frames: Array, within: float) -> tuple[Array, Array]:
    """Unit normals `(b, m, 2)` and offsets `(b, m)` of the half-planes normal·u ≥ -offset, in the projections."""
    more = _SLACK * within + _ROUNDING
    apart = centres - here[:, None]
    squares = (apart * apart).sum(axis=2)
    count = min(_NEIGHBOURS + 1, len(centres))
    near = np.argpartition(squares, count - 1, axis=1)[:, :count]
    apart, squares = np.take_along_axis(apart, near[..., None], axis=1), np.take_along_axis(squares, near, axis=1)
    turns = np.arange(_TANGENTS) * (2 * np.pi / _TANGENTS)
    tangents = np.broadcast_to(-np.stack([np.sin(turns), np.cos(turns)], axis=1), (len(here), _TANGENTS, 2))
    beyond = np.full((len(here), _TANGENTS), np.tan(within) + more)
    # u is a + u₁ east + u₂ north, and a·(a - c) half of the square; centres too near or far have no border here
    borders = -apart @ frames.transpose(0, 2, 1)
    lengths = np.linalg.norm(borders, axis=2)
    usable = (squares > (_SAME * within) ** 2) & (squares < 1.0) & (lengths > 0)
    lengths = np.where(usable, lengths, 1.0)
    borders = np.where(usable[..., None], borders / lengths[..., None], (1.0, 0.0))
    offsets = np.where(usable, squares / (2 * lengths) + more, 10 * beyond[:, :1])
    return np.concatenate([borders, tangents], axis=1), np.concatenate([offsets, beyond], axis=1)


def _left(normals: Array, offsets: Array, along: Array) -> Array:
    """From where to where each line is in all half-planes, `(b, m, 2)`; the first is the greater where it is not."""
    slopes = along @ normals.transpose(0, 2, 1)
    levels = offsets[:, None] - offsets[..., None] * (normals @ normals.transpose(0, 2, 1))
    parallel = np.abs(slopes) < _PARALLEL
    cuts = -levels / np.where(parallel, 1.0, slopes)
    low = np.where(~parallel & (slopes > 0), cuts, -np.inf)
    low = np.where(parallel & (levels < -_PARALLEL * offsets[..., None]), np.inf, low).max(axis=2)
    high = np.where(~parallel & (slopes < 0), cuts, np.inf).min(axis=2)
    return np.stack([low, high], axis=2)


def _ways(corners: Array, starts: Array, sides: Array) -> Array:
    """The shortest ways `(p, 3)` from edges `(p, k)` to corners `(p, j)`, straight."""
    apart = corners[:, :, None] - starts[:, None]
    squares = (sides * sides).sum(axis=2)[:, None]
    # the foot is a multiple of start + t·side, by normal equations in differences, which lose no digits
    leaning = -squares / 2
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
