"""Locations on the globe, drawn in a plane."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.spaces.globe import EARTH_RADIUS_KM, Haversine
from dxopt.spaces.positions import in_degrees, together

_WIDEST = 180.0


def local_plane(degrees: ArrayLike, unit: str = "km") -> NDArray[np.float64]:
    """Coordinates in the equirectangular plane around the middle of some locations.

    x = R cos(lat₀) (lon - lon₀) points east and y = R (lat - lat₀) north, with R = 6371.0088 km, both angles in
    radians, and (lat₀, lon₀) the middle of the ranges of latitudes and longitudes. Distances are those of the globe
    up to a relative error of the order of the squared extent over R². Longitudes count from the first location,
    modulo 360, so that a set may lie on both sides of the antimeridian.

    Parameters
    ----------
    degrees : (n, 2) array
        Latitude and longitude in degrees.
    unit : {"km", "m", "mi"}
        Of the coordinates.

    Returns
    -------
    (n, 2) array
        x and y.

    Raises
    ------
    SpecError
        If these are no locations, one is a pole, or they span 180 degrees of longitude or more, as around a pole.
    """
    located = in_degrees(degrees)
    if not len(located):
        raise SpecError("points", "are none", "give at least one place")
    radius = EARTH_RADIUS_KM * Haversine.units[Haversine(unit).prepare(located).unit]
    latitude, longitude = together(located).T
    if np.abs(latitude).max() >= 90 or np.ptp(longitude) >= _WIDEST:
        wrong = f"have a pole among them or span {_WIDEST:g} degrees of longitude"
        raise SpecError("points", wrong, "a plane needs places of one region")
    north = np.radians(latitude - _middle(latitude))
    east = np.radians(longitude - _middle(longitude))
    return radius * np.column_stack([np.cos(np.radians(_middle(latitude))) * east, north])


def _middle(values: NDArray[np.float64]) -> float:
    return 0.5 * float(values.min() + values.max())
