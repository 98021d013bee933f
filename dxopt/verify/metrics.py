"""Metrics between points: whether distances are those of the points, or which of them contradict these.

Great circles are measured by straight lines through the Earth: points become unit vectors, and a distance becomes the
chord that it spans, by sines that are summed here. Angles are reduced in degrees, where that is exact or nearly so.
All of this moves a chord by less than 1e-14, which is what is let pass beside the agreement that every metric has.
Ways on the ellipsoid are derived by `ellipsoid`, to 1e-7 m, which is let pass there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.ellipsoid import ACCURACY, geodesics
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
Points = NDArray[Any]
AGREEMENT = 1e-9
"""How far a distance may be from that of the points, relative."""
GIVEN = "given distances"
"""What problem.yaml calls the metric where none computes the distances."""
EARTH_RADIUS = {"km": 6371.0088, "m": 6371008.8, "mi": 6371.0088 / 1.609344}
_CHORD_SLACK = 1e-14
_TERMS = 15
"""Terms of the series of the sine: the first one left out is below 1e-26 at a right angle."""


def _euclidean(apart: Array) -> Array:
    """The norm of the last axis, by ratios, as squares of large or small numbers are out of range."""
    scale = apart.max(axis=-1)
    ratio = apart / np.where(scale > 0, scale, 1.0)[..., None]
    return scale * np.sqrt((ratio**2).sum(axis=-1))


NORMS: dict[str, Callable[[Array], Array]] = {
    "euclidean": _euclidean,
    "manhattan": lambda apart: apart.sum(axis=-1),
    "chebyshev": lambda apart: apart.max(axis=-1),
}
GREAT_CIRCLES = {"haversine": 1.0, "conservative_haversine": 1.005615}
"""Metrics on great circles, and what they divide these by."""
ON_EARTH = (*GREAT_CIRCLES, "geodesic")
PARAMETERS = {**dict.fromkeys(ON_EARTH, ("unit",)), "normalised_manhattan": ("diameter",)}
"""The parameters of the metrics that have some."""
_ON_VALUES = ("hamming", "discrete")
KNOWN = (*NORMS, *_ON_VALUES, "normalised_manhattan", *ON_EARTH)


def ticks(size: int, shape: Sequence[int], spacing: float) -> Array:
    """The points `(n, k)` of a lattice, row by row."""
    if math.prod(shape) != size:
        raise Broken(f"a lattice of shape {shape} has not {size} points")
    if not math.isfinite(spacing):
        raise Broken(f"a lattice has spacing {float(spacing)}")
    return np.stack(np.unravel_index(np.arange(size), shape), axis=1).astype(np.float64) * float(spacing)


def parameters_of(arrays: Mapping[str, NDArray[Any]], prefix: str = "space") -> dict[str, Any]:
    """The parameters of a metric, as arrays of a space have them in JSON; Broken where they are no object."""
    key = f"{prefix}.parameters"
    if key not in arrays:
        return {}
    try:
        found = json.loads(str(arrays[key]))
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Broken(f"{key} is no object")
    return found


class Measured:
    """Distances from some points to others under a metric; Unproved where the metric is not derived from points.

    Parameters
    ----------
    metric : object
        A name, as problem.yaml or table.npz has it.
    parameters : dict
        `unit` of distances on the Earth, `diameter` of normalised_manhattan.
    points : (n, k) array
    others : (m, k) array
    around : (k,) array, optional
        The way round a torus along each axis.
    """

    def __init__(
        self,
        metric: object,
        parameters: Mapping[str, Any],
        points: Points,
        others: Points,
        around: Array | None = None,
    ) -> None:
        if metric not in KNOWN:
            raise Unproved(f"{_name(metric)} distances are not derived from points")
        self.metric = str(metric)
        numeric = points.dtype.kind in "fiu" and others.dtype.kind in "fiu"
        if points.ndim != 2 or others.ndim != 2 or points.shape[1] != others.shape[1]:
            raise Broken(f"points {points.shape} and {others.shape} have no {metric} distances")
        if self.metric not in _ON_VALUES:
            if not numeric:
                raise Broken(f"points of {points.dtype} have no {metric} distances")
            points, others = (_finite(array) for array in (points, others))
        self.points = points
        self.others = others
        self.around = around
        self.scale = 1.0
        if self.metric in ON_EARTH:
            self.scale = _radius(parameters, self.metric)
            spheres = on_sphere(points), on_sphere(others)
            if self.metric in GREAT_CIRCLES:
                self.points, self.others = spheres
        if self.metric == "normalised_manhattan":
            self.scale = _diameter(parameters, points)

    def row(self, x: int) -> Array:
        """What `claimed` is compared with: distances from one point, or chords on great circles."""
        if self.metric == "geodesic":
            return geodesics(self.points[x], self.others) * self.scale
        if self.metric in _ON_VALUES:
            differ = self.points[x] != self.others
            return np.asarray(differ.sum(axis=1) if self.metric == "hamming" else differ.any(axis=1), dtype=float)
        apart = np.abs(self.points[x] - self.others)
        if self.around is not None:
            apart = np.minimum(apart % self.around, self.around - apart % self.around)
        if self.metric in GREAT_CIRCLES:
            return _euclidean(apart)
        if self.metric == "normalised_manhattan":
            return apart.sum(axis=-1) / self.scale
        return NORMS[self.metric](apart)

    def off(self, x: int, claimed: Array) -> NDArray[np.int64]:
        """The points to which the distances `(m,)` claimed from one point are not those of the points."""
        found = self.row(x)
        if self.metric not in GREAT_CIRCLES:
            slack = ACCURACY * self.scale if self.metric == "geodesic" else 0.0
            return np.flatnonzero(~(np.abs(claimed - found) <= AGREEMENT * found + slack))
        # no distance is longer than half a great circle, beyond which the chord would get shorter again
        half = claimed / (2 * self.scale)
        long = ~(half <= math.pi / 2 * (1 + AGREEMENT))
        chords = 2 * _sine(np.where(long, 0.0, half))
        return np.flatnonzero(long | ~(np.abs(chords - found) <= AGREEMENT * found + _CHORD_SLACK))

    def shown(self, x: int, other: int) -> float:
        """A distance, for messages."""
        found = float(self.row(x)[other])
        return 2 * self.scale * math.asin(min(found / 2, 1.0)) if self.metric in GREAT_CIRCLES else found


def on_sphere(degrees: Array) -> Array:
    """Unit vectors `(n, 3)` of (latitude, longitude) in degrees; Broken where a point is none."""
    if degrees.shape[1] != 2:
        raise Broken(f"points of {degrees.shape[1]} coordinates have no latitude and longitude")
    latitude, longitude = degrees.T
    wrong = np.flatnonzero((np.abs(latitude) > 90) | (np.abs(longitude) > 360))
    if len(wrong):
        raise Broken(f"point {wrong[0]} is no latitude and longitude in degrees")
    # the cosine is the sine of what is missing to a right angle; longitudes are first brought to -180 up to 180
    turned = np.where(np.abs(longitude) > 180, longitude - np.copysign(360.0, longitude), longitude)
    folded = np.where(np.abs(turned) > 90, np.copysign(180.0, turned) - turned, turned)
    to_axis = cosine_of_degrees(latitude)
    east = to_axis * _sine_of_degrees(folded)
    return np.stack([to_axis * _sine_of_degrees(90 - np.abs(turned)), east, _sine_of_degrees(latitude)], axis=1)


def cosine_of_degrees(latitudes: Array) -> Array:
    """The cosine of latitudes in degrees."""
    return _sine_of_degrees(90 - np.abs(latitudes))


def _sine_of_degrees(angles: Array) -> Array:
    return _sine(angles * (math.pi / 180))


def _sine(angles: Array) -> Array:
    """The sine of angles of at most a right one, by its series."""
    square = angles * angles
    found = np.ones_like(angles)
    for term in range(2 * _TERMS, 0, -2):
        found = 1 - square / (term * (term + 1)) * found
    return angles * found


def _radius(parameters: Mapping[str, Any], metric: str) -> float:
    """The radius of great circles, or a metre of the ellipsoid, in the unit of the distances."""
    unit = parameters.get("unit", "km")
    if not isinstance(unit, str) or unit not in EARTH_RADIUS:
        raise Unproved(f"{metric} distances in {_name(unit)} are not derived from points")
    if metric in GREAT_CIRCLES:
        return EARTH_RADIUS[unit] / GREAT_CIRCLES[metric]
    return EARTH_RADIUS[unit] / EARTH_RADIUS["m"]


def _diameter(parameters: Mapping[str, Any], points: Array) -> float:
    """The diameter that Manhattan distances are over; the widest coordinate where none is given."""
    width = parameters.get("diameter", float(np.ptp(points, axis=0).max()))
    if isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width < math.inf:
        raise Broken(f"the diameter {_name(width)} is no positive number")
    return float(width)


def _finite(points: Points) -> Array:
    found = points.astype(np.float64)
    if not np.isfinite(found).all():
        raise Broken(f"point {np.argwhere(~np.isfinite(found))[0].tolist()} is not finite")
    return found


def _name(content: object) -> str:
    text = repr(content)
    return text if len(text) <= 40 else f"{text[:37]}..."
