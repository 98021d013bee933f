"""Metrics between points: whether distances are those of the points, or which of them contradict these.

`geodesics` measures the shortest ways on the ellipsoid, solving the inverse problem as Karney (2013) does: one end is
put on the southern side, further from the equator than the other, where the difference of longitudes rises with the
azimuth at this end. Newton's method in the azimuth is kept in brackets, so that it ends near antipodes as well. The
integrals are summed by Gauss' rule rather than from series; what is left of the longitude is made up for to first
order. Distances are right to 1e-7 m, nearly always to 1e-8 m.

Great circles are measured by straight lines through the Earth: points become unit vectors, and a distance becomes the
chord that it spans, by sines that are summed here. Angles are reduced in degrees, where that is exact or nearly so.
All of this moves a chord by less than 1e-14, which is what is let pass beside the agreement that every metric has.
On the ellipsoid 1e-7 m are let pass.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
MAJOR = 6378137.0
FLATTENING = 1 / 298.257223563
MINOR = MAJOR * (1 - FLATTENING)
ACCURACY = 1e-7
"""Metres."""
_SQUARED = FLATTENING * (2 - FLATTENING)
_SECOND = _SQUARED / (1 - _SQUARED)
_TINY = 1e-150
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(14)
_NEWTON = 25
"""Newton's steps; after these brackets are halved alone."""
_MOST = 120
"""Largest number of steps of both kinds."""
_ENOUGH = 1e-15
"""Radians of longitude that count as no miss; smaller steps, relative, are lost in rounding."""
_NEAR = 1e-10
"""Radians of longitude within which a step that is lost in rounding is the last one."""


def geodesics(here: Array, others: Array) -> Array:
    """Return metres `(m,)` on the ellipsoid from a place `(2,)` to others `(m, 2)`, latitudes and longitudes."""
    # 1. turned round so that -90 <= φ1 <= φ2 <= -φ1 and 0 <= λ <= 180, which changes no distance
    lat = np.broadcast_to(here[0], len(others))
    swap = np.abs(lat) < np.abs(others[:, 0])
    first, last = np.where(swap, others[:, 0], lat), np.where(swap, lat, others[:, 0])
    last = np.where(first > 0, -last, last)
    first = -np.abs(first)
    turned = _turned(here[1]), _turned(others[:, 1])
    plain = np.abs(turned[0] - turned[1])
    seam = (180.0 - np.abs(turned[0])) + (180.0 - np.abs(turned[1]))
    around = np.radians(np.where(plain > 180, seam, plain))
    # 2. along the equator while that is shortest, along a meridian, else by the azimuth
    equator = (first == 0) & (last == 0) & (around <= (1 - FLATTENING) * math.pi)
    meridian = ~equator & ((around == 0) | (around == math.pi) | (first == -90.0))
    found = MAJOR * around
    found[meridian] = _on_meridian(first[meridian], last[meridian], around[meridian])
    rest = np.flatnonzero(~equator & ~meridian)
    found[rest] = _by_azimuth(first[rest], last[rest], around[rest])
    return found


def _turned(longitude: Array) -> Array:
    """Return longitudes from -360 up to 360 brought to -180 up to 180."""
    return np.where(np.abs(longitude) > 180, longitude - np.copysign(360.0, longitude), longitude)


def _on_meridian(first: Array, last: Array, around: Array) -> Array:
    """Return metres along a meridian, over the southern pole where the other end is half a turn away."""
    start, end = (np.arctan2(*_reduced(latitude)) for latitude in (first, last))
    start = np.where((around == math.pi) & (first > -90.0), -math.pi - start, start)
    half = (end - start) / 2
    sigma = start[:, None] + half[:, None] * (1 + _NODES)
    return MINOR * half * (np.sqrt(1 + _SECOND * np.sin(sigma) ** 2) @ _WEIGHTS)


class _Ends(NamedTuple):
    """Two ends by sine and cosine of their reduced latitudes; an end at a pole or on the equator is next to it."""

    sin1: Array
    cos1: Array
    sin2: Array
    cos2: Array

    def reached(self, sine: Array, cosine: Array) -> tuple[Array, Array, Array]:
        """Follow ways with an azimuth, given by sine and cosine, at the first end up to the latitude of the other.

        Returns the longitude gained, its derivative by the azimuth, and the metres (Karney 2013, Eqs. 5 to 11).
        """
        # 1. the great circle on the auxiliary sphere: α0, σ and ω at both ends, and cos α2
        sine0 = sine * self.cos1
        cosine0 = np.hypot(cosine, sine * self.sin1)
        # cos² β2 - cos² β1, by the squares whose difference loses fewer digits
        gap = np.where(
            self.cos1 < -self.sin1,
            (self.cos2 - self.cos1) * (self.cos1 + self.cos2),
            (self.sin1 - self.sin2) * (self.sin1 + self.sin2),
        )
        cosine2 = np.sqrt(np.maximum((cosine * self.cos1) ** 2 + gap, 0.0)) / self.cos2
        start = np.arctan2(self.sin1, cosine * self.cos1)
        end = np.arctan2(self.sin2, cosine2 * self.cos2)
        end = np.where(end < start, end + 2 * math.pi, end)
        omega = np.arctan2(sine0 * self.sin2, cosine2 * self.cos2) - np.arctan2(sine0 * self.sin1, cosine * self.cos1)
        omega = np.where(omega < 0, omega + 2 * math.pi, omega)
        # 2. integrals over σ of distance, longitude and reduced length
        modulus = _SECOND * cosine0**2
        half = (end - start) / 2
        sigma = start[:, None] + half[:, None] * (1 + _NODES)
        stretched = np.sqrt(1 + modulus[:, None] * np.sin(sigma) ** 2)
        metres = MINOR * half * (stretched @ _WEIGHTS)
        lag = (2 - FLATTENING) / (1 + (1 - FLATTENING) * stretched)
        gained = omega - FLATTENING * sine0 * half * (lag @ _WEIGHTS)
        excess = half * ((stretched - 1 / stretched) @ _WEIGHTS)
        # 3. the derivative by the azimuth, from the reduced length
        s1, c1, s2, c2 = np.sin(start), np.cos(start), np.sin(end), np.cos(end)
        reduced = np.sqrt(1 + modulus * s2**2) * c1 * s2 - np.sqrt(1 + modulus * s1**2) * s1 * c2 - c1 * c2 * excess
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = (1 - FLATTENING) * reduced / (cosine2 * self.cos2)
        return gained, slope, metres


def _reduced(latitude: Array) -> tuple[Array, Array]:
    """Return sine and cosine of the reduced latitude, the cosine a little above 0 at the poles, as it divides."""
    phi = np.radians(latitude)
    sine, cosine = (1 - FLATTENING) * np.sin(phi), np.where(np.abs(latitude) == 90.0, _TINY, np.cos(phi))
    length = np.hypot(sine, cosine)
    return sine / length, np.maximum(cosine / length, _TINY)


def _by_azimuth(first: Array, last: Array, around: Array) -> Array:
    """Return metres of the shortest ways between latitudes, over longitudes `around`: the azimuth is searched for."""
    sin1, cos1 = _reduced(first)
    every = _Ends(np.minimum(sin1, -_TINY), cos1, *_reduced(last))
    # 1. the azimuth on a sphere, and brackets: due north gains no longitude, due south half a turn
    sphere = around / np.sqrt(1 - _SQUARED * ((every.cos1 + every.cos2) / 2) ** 2)
    sphere = np.minimum(sphere, math.pi)
    sine = every.cos2 * np.sin(sphere)
    cosine = every.cos1 * every.sin2 - every.sin1 * every.cos2 * np.cos(sphere)
    sine, cosine = _unit(np.maximum(sine, _TINY), cosine)
    low = np.full_like(around, _TINY), np.ones_like(around)
    high = np.full_like(around, _TINY), -np.ones_like(around)
    active = np.arange(len(around))
    # 2. Newton's method; where a step leaves the brackets, or there were many, these are halved
    for turn in range(_MOST):
        ends = _Ends(*(each[active] for each in every))
        now = sine[active], cosine[active]
        gained, slope, _ = ends.reached(*now)
        miss = gained - around[active]
        for bracket, chosen in ((high, miss > 0), (low, miss < 0)):
            for part, value in zip(bracket, now, strict=True):
                part[active] = np.where(chosen, value, part[active])
        with np.errstate(divide="ignore", invalid="ignore"):
            step = -miss / slope
        good = np.isfinite(step) & (slope > 0) & (np.abs(step) < math.pi) & (turn < _NEWTON)
        # a step that is lost in rounding is no way on, unless next to the end
        lost = np.abs(step) <= _ENOUGH * now[0]
        good &= ~lost | (np.abs(miss) < _NEAR)
        step = np.where(good, step, 0.0)
        newton = _unit(now[0] * np.cos(step) + now[1] * np.sin(step), now[1] * np.cos(step) - now[0] * np.sin(step))
        below, above = (tuple(part[active] for part in bracket) for bracket in (low, high))
        within = good & (newton[0] > 0) & _between(newton, below, above)
        halved = _unit((below[0] + above[0]) / 2, (below[1] + above[1]) / 2)
        sine[active] = np.where(within, newton[0], halved[0])
        cosine[active] = np.where(within, newton[1], halved[1])
        # what misses by rounding alone stays as it was
        done = np.abs(miss) <= _ENOUGH
        sine[active[done]], cosine[active[done]] = now[0][done], now[1][done]
        active = active[~done & ~(within & lost)]
        if not len(active):
            break
    # 3. the length, and what the rest of the longitude takes: ds = a sin α0 dλ (Clairaut)
    gained, _, metres = every.reached(sine, cosine)
    return metres + MAJOR * sine * every.cos1 * (around - gained)


def _unit(sine: Array, cosine: Array) -> tuple[Array, Array]:
    length = np.hypot(sine, cosine)
    return sine / length, cosine / length


def _between(azimuth: tuple[Array, Array], below: tuple[Array, ...], above: tuple[Array, ...]) -> NDArray[np.bool_]:
    """Return whether azimuths from 0 to π are no less than `below` and no more than `above`, as sines and cosines."""
    sine, cosine = azimuth
    return (sine * below[1] - cosine * below[0] >= 0) & (above[0] * cosine - above[1] * sine >= 0)


Points = NDArray[Any]
AGREEMENT = 1e-9
"""Largest relative difference of a distance from that of the points."""
_AT_ONCE = 32
"""Rows of distances that fit in the cache together."""
GIVEN = "given distances"
"""Name of the metric where none computes the distances."""
EARTH_RADIUS = {"km": 6371.0088, "m": 6371008.8, "mi": 6371.0088 / 1.609344}
_CHORD_SLACK = 1e-14
_TERMS = 15
"""Terms of the series of the sine: the first one left out is below 1e-26 at a right angle."""


def _euclidean(apart: Array) -> Array:
    """Return the norms of the last axis, by ratios to the largest, as squares may be out of range."""
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
ON_VALUES = ("hamming", "discrete")
KNOWN = (*NORMS, *ON_VALUES, "normalised_manhattan", *ON_EARTH)


def parameters_of(arrays: Mapping[str, NDArray[Any]], prefix: str = "space") -> dict[str, Any]:
    """Return the parameters of a metric, as arrays of a space have them in JSON; Broken where they are no object."""
    text = str(arrays.get(f"{prefix}.parameters", "{}"))
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or json.dumps(found) != text:
        raise Broken(f"{prefix}.parameters is no object, or not as it is written")
    return found


class Measured:
    """Distances from some points to others under a metric; Unproved where the metric is not derived from points.

    Parameters
    ----------
    metric : object
    parameters : dict
        `unit` of distances on the Earth, `diameter` of normalised_manhattan.
    points : (n, k) array
    others : (m, k) array
    around : (k,) array, optional
        The length of a torus along each axis, after which it begins again.
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
            raise Unproved(f"{metric!r:.40} distances are not derived from points")
        self.metric = str(metric)
        if points.ndim != 2 or others.ndim != 2 or points.shape[1] != others.shape[1]:
            raise Broken(f"points {points.shape} and {others.shape} have no {metric} distances")
        if self.metric not in ON_VALUES:
            points, others = (finite_points(array) for array in (points, others))
        self.points = points
        self.others = others
        self.around = around
        self.scale = 1.0  # multiplies distances on the Earth; divides those of normalised_manhattan
        if self.metric in ON_EARTH:
            self.scale = _radius(parameters, self.metric)
            spheres = on_sphere(points), on_sphere(others)
            if self.metric in GREAT_CIRCLES:
                self.points, self.others = spheres
        if self.metric == "normalised_manhattan":
            width = parameters.get("diameter", float(np.ptp(points, axis=0).max()))
            if isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width < math.inf:
                raise Broken(f"the diameter {width!r:.40} is no positive number")
            self.scale = float(width)

    def row(self, x: int) -> Array:
        """Return distances `(m,)` from one point; on great circles chords of the unit sphere, as `off` compares."""
        if self.metric == "geodesic":
            return geodesics(self.points[x], self.others) * self.scale
        if self.metric in ON_VALUES:
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
        """Return the indices of the others whose claimed distance `(m,)` from one point is wrong."""
        found = self.row(x)
        if self.metric not in GREAT_CIRCLES:
            slack = ACCURACY * self.scale if self.metric == "geodesic" else 0.0
            return np.flatnonzero(~(np.abs(claimed - found) <= AGREEMENT * found + slack))
        # no distance is longer than half a great circle, beyond which the chord would get shorter again
        half = claimed / (2 * self.scale)
        long = ~(half <= math.pi / 2 * (1 + AGREEMENT))
        chords = 2 * _sine(np.where(long, 0.0, half))
        return np.flatnonzero(long | ~(np.abs(chords - found) <= AGREEMENT * found + _CHORD_SLACK))

    def lengths(self, x: int) -> Array:
        """Return distances `(m,)` from one point, on great circles those of the chords."""
        found = self.row(x)
        return 2 * self.scale * np.arcsin(np.minimum(found / 2, 1.0)) if self.metric in GREAT_CIRCLES else found


def require_triangles(distances: Array, secret: Callable[[int], str]) -> None:
    """Broken unless distances `(n, n)` are 0 on the diagonal and obey the triangle inequality, up to 1e-12."""
    wrong = np.flatnonzero(distances.diagonal())
    if len(wrong):
        raise Broken(f"secret {secret(int(wrong[0]))} is {distances[wrong[0], wrong[0]]:g} from itself")
    if np.isnan(distances).any() or (distances < 0).any():
        raise Broken("some distance is negative or no number")
    largest = float(np.max(distances, where=np.isfinite(distances), initial=0.0))
    most = (distances - 1e-12 * largest) / (1 + 1e-12)
    # few rows at a time, which stay in the cache
    for x, row in enumerate(distances):
        detours = np.full(len(row), np.inf)
        for some in range(0, len(row), _AT_ONCE):
            np.minimum(
                detours,
                (row[some : some + _AT_ONCE, None] + distances[some : some + _AT_ONCE]).min(axis=0),
                out=detours,
            )
        bad = np.flatnonzero(most[x] > detours)
        if len(bad):
            other = int(bad[0])
            via = int((row + distances[:, other]).argmin())
            way = f"from secret {secret(x)} to {secret(other)} it is {row[other]:.17g}"
            raise Broken(f"{way}, but {detours[other]:.17g} by way of {secret(via)}")


def require_measured(
    measured: Measured, claimed: Array, secret: Callable[[int], str], there: Callable[[int], str]
) -> None:
    """Check that claimed distances `(n, m)` are those of some points; Broken names the first that is not."""
    for x, row in enumerate(claimed):
        bad = measured.off(x, row)
        if len(bad):
            other = int(bad[0])
            way = f"from secret {secret(x)} to {there(other)} it is {row[other]:.17g}"
            raise Broken(f"{way}, but the {measured.metric} one is {measured.lengths(x)[other]:.17g}")


def on_sphere(degrees: Array) -> Array:
    """Return unit vectors `(n, 3)` of (latitude, longitude) in degrees; Broken where a point is none."""
    if degrees.shape[1] != 2:
        raise Broken(f"points of {degrees.shape[1]} coordinates have no latitude and longitude")
    latitude, longitude = degrees.T
    wrong = np.flatnonzero((np.abs(latitude) > 90) | (np.abs(longitude) > 360))
    if len(wrong):
        raise Broken(f"point {wrong[0]} is no latitude and longitude in degrees")
    # the cosine is the sine of what is missing to a right angle; longitudes are first brought to -180 up to 180
    turned = _turned(longitude)
    folded = np.where(np.abs(turned) > 90, np.copysign(180.0, turned) - turned, turned)
    to_axis = cosine_of_degrees(latitude)
    east = to_axis * _sine_of_degrees(folded)
    return np.stack([to_axis * _sine_of_degrees(90 - np.abs(turned)), east, _sine_of_degrees(latitude)], axis=1)


def cosine_of_degrees(latitudes: Array) -> Array:
    """Return the cosine of latitudes in degrees."""
    return _sine_of_degrees(90 - np.abs(latitudes))


def _sine_of_degrees(angles: Array) -> Array:
    """Return the sine of angles from -90 to 90 degrees."""
    return _sine(angles * (math.pi / 180))


def _sine(angles: Array) -> Array:
    """Return the sine of angles up to a right one, by its series, as no library is trusted."""
    square = angles * angles
    found = np.ones_like(angles)
    for term in range(2 * _TERMS, 0, -2):
        found = 1 - square / (term * (term + 1)) * found
    return angles * found


def _radius(parameters: Mapping[str, Any], metric: str) -> float:
    """Return what a metric is scaled by: the radius for great circles, or a metre for the ellipsoid, in its unit."""
    unit = parameters.get("unit", "km")
    if not isinstance(unit, str) or unit not in EARTH_RADIUS:
        raise Unproved(f"{metric} distances in {unit!r:.40} are not derived from points")
    if metric in GREAT_CIRCLES:
        return EARTH_RADIUS[unit] / GREAT_CIRCLES[metric]
    return EARTH_RADIUS[unit] / EARTH_RADIUS["m"]


def points_of(arrays: Mapping[str, NDArray[Any]], size: int, key: str) -> Points:
    """Return the points `(n, k)`, numbers or other values; Broken where they are not that."""
    points = arrays[key]
    if points.dtype.kind not in "fiuUb" or points.ndim != 2 or len(points) != size:
        raise Broken(f"{key} is an array {points.shape} of {points.dtype}")
    return points


def finite_points(points: Points) -> Array:
    """Return points as doubles; Broken where they are no finite numbers."""
    if points.dtype.kind not in "fiu":
        raise Broken(f"points of {points.dtype} have no coordinates")
    found = points.astype(np.float64)
    if not np.isfinite(found).all():
        raise Broken(f"point {np.argwhere(~np.isfinite(found))[0].tolist()} is not finite")
    return found
