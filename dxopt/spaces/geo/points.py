"""Points on the Earth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.spaces.geo.located import placed
from dxopt.spaces.globe import on_earth
from dxopt.spaces.positions import Positions, in_degrees, together
from dxopt.spaces.projection import local_plane
from dxopt.spaces.space import MetricSpace

MOST_DISTORTION = 0.1


def points(
    degrees: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    project: bool = False,
    unit: str = "km",
    metric: str = "haversine",
) -> MetricSpace:
    """Locations with distances on the globe, or with straight ones on a local map.

    Parameters
    ----------
    degrees : (n, 2) array
        (latitude, longitude).
    labels : sequence, optional
    project : bool
        Euclidean distances in the equirectangular plane around the middle. They are off by a relative error of up to
        tan|φ| · h for latitudes up to φ and locations up to h radians north or south of the middle: 0.4 % in a city
        40 km high at latitude 50°. The points are then coordinates, east and north.
    unit : {"km", "m", "mi"}
        Of the distances.
    metric : {"haversine", "conservative_haversine", "geodesic"}
        Great circles on a sphere, these over 1.005615 so that none is too long, or ways on the ellipsoid WGS 84.

    Raises
    ------
    SpecError
        If the locations are not in degrees, or lie too far apart for a plane.

    Examples
    --------
    >>> import dxopt as dx
    >>> places = dx.geo.points([[45.5, -73.6], [45.5, -73.5]], labels=["west", "east"])
    >>> print(places.distances.round(2).tolist())
    [[0.0, 7.79], [7.79, 0.0]]
    """
    located = in_degrees(degrees)
    globe = MetricSpace.from_points(located, on_earth(metric, unit), labels=labels)
    if not project:
        return globe
    if metric != "haversine":
        raise SpecError("project", f"makes straight distances, not {metric} ones", "leave out one of the two")
    _require_local(together(located))
    plane = MetricSpace.from_points(local_plane(located, unit), unit=unit)
    return placed(replace(plane, labels=globe.labels), Positions(located, unit=unit))


def _require_local(degrees: NDArray[np.float64]) -> None:
    """Refuse locations for which no local plane is faithful."""
    height, width = np.radians(np.ptp(degrees, axis=0))
    # the plane measures east-west lengths in the middle, but they go with cos φ, which changes by tan φ a radian;
    # over a large width great circles leave the parallels, which changes lengths by the order of its square
    slope = math.tan(math.radians(min(float(np.abs(degrees[:, 0]).max()), 89.9)))
    distortion = slope * height / 2 + (width / 4) ** 2
    if distortion > MOST_DISTORTION:
        raise SpecError(
            "project",
            f"would change distances by about {min(distortion, 1.0):.0%}",
            "use great circles: leave it out",
        )
