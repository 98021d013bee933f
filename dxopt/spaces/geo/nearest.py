"""The nearest points of a space, for many locations at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.spaces.geo.located import known
from dxopt.spaces.matrices import BLOCK_CELLS
from dxopt.spaces.positions import chord, coordinates, in_degrees, on_sphere
from dxopt.spaces.space import MetricSpace

_NORMS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": math.inf}
_TIES = 8
_TIE = 1e-12


def nearest(space: MetricSpace, places: ArrayLike, *, within: float | None = None) -> NDArray[np.int64]:
    """The index of the nearest point of a space for each of some locations, `(m,)`; the first of equally near ones.

    Parameters
    ----------
    space : MetricSpace
        Where it has positions on the Earth, nearest is meant by great circles, road networks included.
    places : (m, 2) array of (latitude, longitude), or (m, k) array of coordinates of a space without positions
    within : float, optional
        Locations further away than this have index -1; in the unit of its positions, or of its coordinates.

    Raises
    ------
    SpecError
        If the locations are no such numbers, or `within` is negative or not a number.
    """
    if within is not None and not within >= 0:
        raise SpecError("within", f"is {within}", "give a distance of 0 or more")
    found = known(space)
    if found is not None:
        located = in_degrees(places)
        farthest = math.inf if within is None else chord(within, found.unit)
        return _by_tree(on_sphere(found.degrees), on_sphere(located), 2.0, farthest)
    if space.points is None:
        raise SpecError("space", "has no points, only distances", "use one with coordinates")
    farthest = math.inf if within is None else within
    metric = space.metric
    located = coordinates(places, space.points.shape[1])
    if metric is not None and metric.name in _NORMS:
        return _by_tree(space.points, located, _NORMS[metric.name], farthest)
    return _by_blocks(space, located, farthest)


def _by_tree(
    points: NDArray[np.float64], located: NDArray[np.float64], norm: float, farthest: float
) -> NDArray[np.int64]:
    from scipy.spatial import KDTree

    # equal points are one node of the tree, that of the first of them
    distinct, first = np.unique(points, axis=0, return_index=True)
    count = min(_TIES, len(distinct))
    found = KDTree(distinct).query(located, k=count, p=norm)
    apart, which = (np.asarray(part).reshape(len(located), count) for part in found)
    # the tree returns equally near points in any order: the first of up to 8 that tie up to rounding is chosen
    tied = apart <= apart[:, :1] * (1 + _TIE)
    chosen = np.where(tied, first[which], len(points)).min(axis=1, initial=len(points))
    return np.where(apart[:, 0] <= farthest * (1 + _TIE), chosen, -1)


def _by_blocks(space: MetricSpace, located: NDArray[np.float64], farthest: float) -> NDArray[np.int64]:
    chosen = np.empty(len(located), dtype=np.int64)
    wide = max(1, BLOCK_CELLS // len(space))
    for start in range(0, len(located), wide):
        apart = space.distances_to(located[start : start + wide])
        best = apart.argmin(axis=0)
        near = apart[best, np.arange(apart.shape[1])] <= farthest
        chosen[start : start + wide] = np.where(near, best, -1)
    return chosen
