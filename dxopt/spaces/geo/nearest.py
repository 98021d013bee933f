"""The nearest points of a space, for many locations at once, and which locations lie outside of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, required_choice
from dxopt.numerics.coerce import FROM_0, as_number
from dxopt.spaces.distances import in_blocks
from dxopt.spaces.geo.points import degrees_at, known
from dxopt.spaces.metrics import NORMS
from dxopt.spaces.positions import (
    coordinates,
    distance_of,
    names_of,
    on_sphere,
    require_same_order,
    to_corners,
)
from dxopt.spaces.space import MetricSpace

OUTSIDE = ("refuse", "nearest", "drop")
_TIES = 8  # up to so many equally near points are compared, to choose the first
_TIE = 1e-12  # distances that differ by no more than this, relative, count as equal
_CELLS = 2.0
"""A location is outside of cells if it is more than this many of their radii away from the nearest centre."""
_GAPS = 2.0
"""A location is outside of other points if it is more than this many of the widest gaps from the box around them,"""
_SHARE = 0.1  # and more than this share of the diagonal of the box
_LARGE = 400
_FAR = 2.0**500
"""Points are made smaller above 2 to this power, and locations cut off at that number: squares may overflow."""


@dataclass(frozen=True, eq=False)
class Near:
    """The nearest points of a space for m locations.

    Attributes
    ----------
    index : (m,) array
        Index of the nearest point, the first of equally near ones.
    apart : (m,) array
        Distance to it, in the `unit` of the positions of the space, or in that of its coordinates, which is blank.
    outside : (m,) array of bool
        Which locations are outside of the space; none where its metric gives no scale to tell that.
    """

    index: NDArray[np.int64]
    apart: NDArray[np.float64]
    outside: NDArray[np.bool_]
    unit: str

    def length(self, distance: float) -> str:
        """Write a distance with its unit."""
        return f"{distance:,.4g} {self.unit}".rstrip()


def nearest(
    space: MetricSpace, places: ArrayLike, *, within: float | None = None, outside: str | None = None
) -> NDArray[np.int64]:
    """Find the index of the nearest point of a space for some locations, `(m,)`; the first of equally near ones.

    Parameters
    ----------
    space : MetricSpace
        Where it has positions on the Earth, nearest is meant by great circles, road networks included.
    places : (m, 2) array of (latitude, longitude), or (m, k) array of coordinates of a space without positions
    within : float, optional
        Locations further away than this are outside; in the unit of its positions, or of its coordinates. By default
        those further from the nearest centre than 2 radii of a cell; or, of points that are no cells, further from
        the box around them than twice the widest gap between nearest neighbours and a tenth of its diagonal.
    outside : {"refuse", "nearest", "drop"}
        What becomes of locations outside: an error, the nearest point all the same, or index -1. "refuse" by
        default; "drop" where `within` is given.

    Raises
    ------
    SpecError
        If the locations are no such numbers, `within` is negative or not a number, or locations outside are refused.

    Examples
    --------
    >>> import dxopt as dx
    >>> places = dx.geo.points([[45.5, -73.6], [45.5, -73.5]], labels=["west", "east"])
    >>> print(dx.geo.nearest(places, [[45.501, -73.51], [45.49, -73.59]]).tolist())
    [1, 0]
    """
    within = None if within is None else as_number(within, "within", *FROM_0)
    policy = ("refuse" if within is None else "drop") if outside is None else outside
    required_choice("outside", policy, OUTSIDE)
    found = nearest_of(space, places)
    far = found.outside if within is None else found.apart > within * (1 + _TIE)
    if policy == "refuse" and far.any():
        furthest = int(np.where(far, found.apart, -1.0).argmax())
        beyond = "outside of the space" if within is None else f"further than {within:g} from all points"
        away = found.length(float(found.apart[furthest]))
        wrong = f"{int(far.sum())} of {len(far)} lie {beyond}: number {furthest} is {away} from the nearest point"
        raise SpecError("points", wrong, "check their order and unit, or set outside to 'nearest' or 'drop'")
    return np.where(far & (policy == "drop"), -1, found.index)


def nearest_of(space: MetricSpace, places: ArrayLike) -> Near:
    """Find the nearest points for locations, and how far they are; SpecError where these are no such numbers."""
    found = known(space)
    if found is not None:
        located = on_sphere(degrees_at(places))
        centres = on_sphere(found.degrees)
        index, apart = _by_tree(centres, located, 2.0)  # `apart` are chords of the unit sphere
        corners = to_corners(found)
        if corners is None:
            outside = _outside(centres, located, 2.0)
        else:
            outside = apart > _CELLS * float(np.linalg.norm(corners, axis=2).max()) * (1 + _TIE)
        return Near(index, distance_of(apart, found.unit), outside, found.unit)
    if space.points is None:
        raise SpecError("space", "has no points, only distances", "use one with coordinates")
    require_same_order(names_of(places), space.axes, "points")
    located = coordinates(places, space.points.shape[1])
    norm = None if space.metric is None else NORMS.get(space.metric.name)
    if norm is None:
        chosen = np.empty(len(located), dtype=np.int64)
        near = np.empty(len(located))
        for some in in_blocks(np.arange(len(located)), len(space)):
            distances = space.distances_to(located[some])
            chosen[some] = distances.argmin(axis=0)
            near[some] = distances.min(axis=0)
        return Near(chosen, near, np.zeros(len(located), dtype=bool), "")
    scale = 2.0 ** max(0, int(np.frexp(np.abs(space.points).max())[1]) - _LARGE)  # which rounds nothing
    points, located = space.points / scale, np.clip(located / scale, -_FAR, _FAR)
    index, apart = _by_tree(points, located, norm)
    with np.errstate(over="ignore"):
        return Near(index, apart * scale, _outside(points, located, norm), "")


def _outside(points: NDArray[np.float64], located: NDArray[np.float64], norm: float) -> NDArray[np.bool_]:
    """Return the mask of the locations outside of points, see `_GAPS`; none where all points are one: no scale."""
    gap = widest_gap(points, norm)
    if not gap:
        return np.zeros(len(located), dtype=bool)
    low = points.min(axis=0)
    high = points.max(axis=0)
    beyond = np.maximum(np.maximum(low - located, located - high), 0.0)
    margin = max(_GAPS * gap, _SHARE * float(np.linalg.norm(high - low, ord=norm)))
    return np.linalg.norm(beyond, ord=norm, axis=1) > margin * (1 + _TIE)


def widest_gap(points: NDArray[np.float64], norm: float = 2.0) -> float:
    """Return the largest distance from one of the points `(n, d)` to its nearest other point, in an l_p norm.

    Points that are given several times count once; 0 where all points are one.
    """
    from scipy.spatial import KDTree

    distinct = np.unique(points, axis=0)
    if len(distinct) == 1:
        return 0.0
    gaps, _ = KDTree(distinct).query(distinct, k=2, p=norm)  # the point itself and its neighbour
    return float(gaps[:, 1].max())


def _by_tree(
    points: NDArray[np.float64], located: NDArray[np.float64], norm: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the index of the nearest point of each location, the first where several are, and its distance."""
    from scipy.spatial import KDTree

    # equal points are one node of the tree, that of the first of them
    distinct, first = np.unique(points, axis=0, return_index=True)
    count = min(_TIES, len(distinct))
    found = KDTree(distinct).query(located, k=count, p=norm)
    apart, which = (np.asarray(part).reshape(len(located), count) for part in found)
    # the tree returns equally near points in any order: the first of up to 8 that tie up to rounding is chosen;
    # `len(points)` stands for those that are no tie, as it is more than any index
    tied = apart <= apart[:, :1] * (1 + _TIE)
    chosen = np.where(tied, first[which], len(points)).min(axis=1, initial=len(points))
    return chosen, np.asarray(apart[:, 0], dtype=float)
