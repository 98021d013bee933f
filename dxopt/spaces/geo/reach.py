"""How far from its nearest point a location of a space may be: derived from the points alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.spaces.geo.located import known
from dxopt.spaces.lattices import Wrapped
from dxopt.spaces.positions import Positions, distance_of, on_sphere
from dxopt.spaces.space import MetricSpace

NORMS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}
"""Metrics of the plane that are norms, with their order."""
_ROWS = 500


def reach(space: MetricSpace) -> float:
    """How far from its nearest point a location may be that still belongs to a space.

    Of cells (grids, hexagons, lattices) the largest distance from a centre to a corner of its cell; on one axis half
    of the widest gap between neighbours; of other points the largest distance of one to its nearest neighbour.

    Returns
    -------
    float
        In the unit of the positions on the Earth where the space has some, otherwise in that of its distances.

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
        return _positive(float(np.diff(np.sort(space.points[:, 0])).max(initial=0.0)) / 2)
    return _by_distances(space)


def _on_earth(found: Positions) -> float:
    centres = on_sphere(found.degrees)
    if found.outlines is not None:
        corners = on_sphere(found.outlines.reshape(-1, 2)).reshape(*found.outlines.shape[:2], 3)
        furthest = np.linalg.norm(corners - centres[:, None, :], axis=2).max()
        return float(distance_of(furthest, found.unit))
    return _positive(float(distance_of(_widest(centres), found.unit)))


def _widest(points: NDArray[np.float64]) -> float:
    """The largest distance of a point `(k, 3)` to its nearest neighbour, straight; 0 where all points are one."""
    from scipy.spatial import KDTree

    distinct = np.unique(points, axis=0)
    if len(distinct) == 1:
        return 0.0
    gaps, _ = KDTree(distinct).query(distinct, k=2)
    return float(gaps[:, 1].max())


def _by_distances(space: MetricSpace) -> float:
    """The largest distance of a point to its nearest neighbour, by blocks of rows of distances."""
    everything = np.arange(len(space))
    widest = 0.0
    for start in range(0, len(space), _ROWS):
        apart = space.block(everything[start : start + _ROWS], everything)
        apart = np.where((apart > 0) & np.isfinite(apart), apart, np.inf).min(axis=1)
        widest = max(widest, float(apart[np.isfinite(apart)].max(initial=0.0)))
    return _positive(widest)


def _positive(distance: float) -> float:
    if not distance > 0:
        fix = "say how far a position may be from its secret"
        raise SpecError("within", "does not follow from a space whose points are all one", fix)
    return distance
