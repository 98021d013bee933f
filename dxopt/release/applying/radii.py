"""The radius about a report that holds the true position with 95 %, from the table and the prior alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.release.applying.snapping import Snapper
from dxopt.release.applying.where import report_coordinates
from dxopt.release.tables.table import IntegerTable
from dxopt.spaces.geo.located import known
from dxopt.spaces.geo.reach import ELLIPSOID
from dxopt.spaces.globe import Haversine
from dxopt.verify.published.sidecar import SHARE

_ROUNDING = 1e-9
"""A share is reached where it is by as much, so that rounding never makes a radius too small."""


@dataclass(frozen=True, eq=False)
class Radii:
    """Radii that hold the true position, `within` included.

    Attributes
    ----------
    posterior : (m,) array
        For each report the smallest that holds it with 95 % under the prior, given that report; where the prior gives
        a report probability 0, the largest distance to a secret that may be behind it.
    worst : float
        The smallest that holds the report with 95 %, whatever the secret is.
    unit : str
        "m" on the Earth, in whole metres, rounded up; else that of distances, blank where it has no name.
    """

    posterior: NDArray[np.float64]
    worst: float
    unit: str


def radii(table: IntegerTable, prior: NDArray[np.float64], snapper: Snapper) -> Radii | None:
    """The radii of a table, or None where there are no distances between secrets and reports."""
    apart = _distances(table, snapper)
    if apart is None:
        return None
    chances = table.counts.astype(float) / float(table.total)
    joint = prior[:, None] * chances
    columns = [_behind(apart[:, z], joint[:, z], chances[:, z]) for z in range(len(table.reports))]
    worst = max(_smallest(row, weights) for row, weights in zip(apart, chances, strict=True))
    found = np.array([*columns, worst]) + snapper.within
    if snapper.where.kind != "earth":
        return Radii(found[:-1], float(found[-1]), table.space.unit)
    metres = found * (1000.0 / Haversine.units[snapper.unit]) * ELLIPSOID
    whole = np.ceil(metres - _ROUNDING)
    return Radii(whole[:-1], float(whole[-1]), "m")


def _behind(apart: NDArray[np.float64], joint: NDArray[np.float64], chances: NDArray[np.float64]) -> float:
    """The smallest distance from a report within which its secret is with 95 %."""
    if joint.sum() > 0:
        return _smallest(apart, joint)
    return float(apart[chances > 0].max(initial=0.0))


def _smallest(apart: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """The smallest distance within which there is 95 % of the weight, which need not sum to 1."""
    order = np.argsort(apart, kind="stable")
    reached = np.cumsum(weights[order])
    place = int(np.searchsorted(reached, (SHARE + _ROUNDING) * reached[-1]))
    return float(apart[order[min(place, len(order) - 1)]])


def _distances(table: IntegerTable, snapper: Snapper) -> NDArray[np.float64] | None:
    """The distances between secrets and reports `(n, m)`: great circles on the Earth, else those of the space."""
    space = table.space
    found = known(space)
    if snapper.where.kind == "earth" and found is not None:
        coordinates = report_coordinates(table, snapper.where)
        if coordinates is not None:
            return Haversine(found.unit).block(found.degrees, coordinates)
    if table.reports.secrets:
        return space.distances
    if table.reports.points is None or space.metric is None:
        return None
    try:
        return space.distances_to(table.reports.points)
    except SpecError:
        return None


def shown(radius: float) -> float | None:
    """A radius for JSON, which has no infinity."""
    return radius if math.isfinite(radius) else None
