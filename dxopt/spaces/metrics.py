"""Metrics between points (CABP13 §2, §5, §6; Cha13): on numbers, vectors, and the Earth as a sphere or WGS 84.

Every metric computes a block of distances between two arrays of points, `(p, k)` and `(q, k)`, as a
`(p, q)` array. Differences are taken coordinate by coordinate, so that the result is exactly symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, optional, required_choice
from dxopt.runtime.plugins import OrPlugins, Plugins
from dxopt.runtime.registry import Registry
from dxopt.spaces.units import checked_unit


class Metric(Protocol):
    """Distances between points."""

    @property
    def name(self) -> str:
        """Name in problem files and results."""
        ...

    @property
    def symmetric(self) -> bool:
        """True if blocks are symmetric bit for bit, wherever they are cut."""
        ...

    def prepare(self, points: NDArray) -> Metric:
        """Return the metric with all that it needs of the whole set of points; SpecError on bad points."""
        ...

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        """Return the distances `(p, q)` between points `(p, k)` and `(q, k)`."""
        ...


class OnNumbers:
    """A metric on coordinates that takes nothing from the whole set."""

    name: str
    symmetric = True

    def prepare(self, points: NDArray) -> Self:
        """Return the metric itself; SpecError unless every coordinate is a finite number."""
        if not np.issubdtype(points.dtype, np.number):
            fix = "give numeric coordinates, or use hamming or discrete"
            raise SpecError("points", f"{self.name} needs numbers", fix)
        if not np.isfinite(points).all():
            row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
            raise SpecError("points", f"point {row} has a coordinate that is not finite", "remove or mend it")
        return self


Array = NDArray[np.float64]
EARTH_RADIUS_KM = 6371.0088
STRETCH = 1.005615
"""More than any great-circle distance is of the geodesic one: the least such number is R a / b² = 1.0056144…"""
NO_DEGREES = "is no (latitude, longitude) in degrees"
LATITUDE_FIRST = "give lat first, then lon"
_MAJOR = 6378137.0
_FLATTENING = 1 / 298.257223563
_MINOR = _MAJOR * (1 - _FLATTENING)
_THIRD = _FLATTENING / (2 - _FLATTENING)  # the third flattening, n
_SHORT = 20_000.0
"""Metres: up to here distances are taken from chords, which are right to the last digits."""


def beyond_degrees(places: NDArray) -> NDArray[np.int64]:
    """Return the indices of places `(m, 2)` that are no latitude and longitude; longitudes go to ±360 degrees."""
    return np.flatnonzero(~((np.abs(places[:, 0]) <= 90) & (np.abs(places[:, 1]) <= 360)))


@dataclass(frozen=True)
class OnEarth(OnNumbers):
    """A metric between (latitude, longitude) in degrees, in a unit: "km", "m" or "mi"."""

    unit: str = "km"
    units: ClassVar[dict[str, float]] = {"km": 1.0, "m": 1000.0, "mi": 1 / 1.609344}

    def prepare(self, points: NDArray) -> Self:
        """Return the metric itself; SpecError where the unit is none, or a point has no latitude and longitude."""
        super().prepare(points)
        required_choice("unit", self.unit, self.units)
        if points.shape[1] != 2:
            raise SpecError("points", f"{self.name} needs 2 columns, not {points.shape[1]}", "give (lat, lon)")
        outside = beyond_degrees(points)
        if len(outside):
            raise SpecError("points", f"point {outside[0]} {NO_DEGREES}", LATITUDE_FIRST)
        return self

    def block(self, rows: NDArray, columns: NDArray) -> Array:
        """Return the distances `(p, q)` between points `(p, 2)` and `(q, 2)`."""
        raise NotImplementedError


@dataclass(frozen=True)
class Haversine(OnEarth):
    """Great-circle distance on a sphere of radius 6371.0088 km: 0.57 % too long at most, 0.45 % too short."""

    name = "haversine"
    shrink: ClassVar[float] = 1.0  # what distances are divided by

    def block(self, rows: NDArray, columns: NDArray) -> Array:
        # contiguous, as other layouts may take another path through cos, an ulp away
        lat_r, lon_r = np.ascontiguousarray(np.radians(rows).T)[:, :, None]
        lat_c, lon_c = np.ascontiguousarray(np.radians(columns).T)[:, None, :]
        # haversine formula: sin²(θ/2) of the central angle θ, at most 1 but for rounding
        half = np.sin(np.abs(lat_r - lat_c) / 2) ** 2
        half = half + (np.cos(lat_r) * np.cos(lat_c)) * np.sin(np.abs(lon_r - lon_c) / 2) ** 2
        diameter = 2 * (EARTH_RADIUS_KM / self.shrink) * self.units[self.unit]
        return diameter * np.arcsin(np.sqrt(np.minimum(half, 1.0)))


@dataclass(frozen=True)
class ConservativeHaversine(Haversine):
    """Great-circle distance over 1.005615, which is never more than the distance on the ellipsoid WGS 84.

    No great-circle distance is R a / b² = 1.0056144… times the geodesic one or more; see docs/theory/earth.md.
    """

    name = "conservative_haversine"
    shrink: ClassVar[float] = STRETCH


@dataclass(frozen=True)
class Geodesic(OnEarth):
    """The length of the shortest way on the ellipsoid WGS 84 (Karney 2013); needs the package pyproj.

    Below 20 km distances are taken from chords, which is right to 1e-14 relative, beyond by pyproj, to some
    nanometres: both are as exact as the triangle inequality needs, to 1e-12 relative.
    """

    name = "geodesic"

    def prepare(self, points: NDArray) -> Self:
        """Prepare as every metric on the Earth; UnsupportedError where pyproj is not installed."""
        _ellipsoid()
        return super().prepare(points)

    def block(self, rows: NDArray, columns: NDArray) -> Array:
        # contiguous, as other layouts may take another path through sin
        lat_r, lon_r = np.ascontiguousarray(np.asarray(rows, dtype=float).T)[:, :, None]
        lat_c, lon_c = np.ascontiguousarray(np.asarray(columns, dtype=float).T)[:, None, :]
        metres = _by_chord(lat_r, lon_r, lat_c, lon_c)
        i, j = np.nonzero(~(metres < _SHORT))
        if len(i):
            # one order of the two ends whichever is the row, so that the matrix is symmetric to the bit
            first = rows[i].astype(float)
            last = columns[j].astype(float)
            swapped = (first[:, 0] > last[:, 0]) | ((first[:, 0] == last[:, 0]) & (first[:, 1] > last[:, 1]))
            start = np.where(swapped[:, None], last, first).T
            end = np.where(swapped[:, None], first, last).T
            metres[i, j] = _ellipsoid().inv(start[1], start[0], end[1], end[0])[2]
        return metres * (self.units[self.unit] / 1000.0)


@cache
def _ellipsoid() -> Any:
    return optional("pyproj").Geod(ellps="WGS84")


def _by_chord(lat: Array, lon: Array, lat_other: Array, lon_other: Array) -> Array:
    """Return the geodesic distances of near places in metres, `(p, 1)` and `(1, q)` in degrees.

    For places further apart than `_SHORT` this has no meaning: it is NaN, or more than `_SHORT`.
    """
    # 1. angles: differences in degrees are exact
    apart = np.radians(np.abs(lat - lat_other))
    around = np.radians(_between_meridians(lon, lon_other))
    twice = np.radians(lat + lat_other)
    # 2. reduced latitudes β with tan β = (1 - f) tan φ, and their difference, from φ - β = arg(1 + n e^{2iφ})
    bent = _THIRD * (2 * np.cos(twice) * np.sin(apart) + _THIRD * np.sin(2 * apart))
    bent = np.arctan2(bent, 1 + 2 * _THIRD * np.cos(twice) * np.cos(apart) + _THIRD**2 * np.cos(2 * apart))
    reduced = apart - bent
    beta, beta_other = _reduced(lat), _reduced(lat_other)
    middle = (beta + beta_other) / 2
    # 3. the chord: along the meridian from one parallel to the other, and across
    lift = 2 * np.sin(reduced / 2)
    radial = _MAJOR * np.sin(middle) * lift
    axial = _MINOR * np.cos(middle) * lift
    north = radial * radial + axial * axial
    across = _from_axis(lat, beta) * _from_axis(lat_other, beta_other) * (2 * np.sin(around / 2)) ** 2
    square = north + across
    # 4. the arc over it, whose curvature is that of the ellipsoid half-way in this direction (Euler)
    bulge = (_MAJOR * np.sin(middle)) ** 2 + (_MINOR * np.cos(middle)) ** 2
    meridian = _MAJOR * _MINOR / (bulge * np.sqrt(bulge))
    normal = _MINOR / (_MAJOR * np.sqrt(bulge))
    with np.errstate(invalid="ignore", divide="ignore"):
        curvature = (meridian * north + normal * across) / square
        arc = 2 / curvature * np.arcsin(curvature * np.sqrt(square) / 2)
    return np.where(square > 0, arc, 0.0)


def _between_meridians(lon: Array, lon_other: Array) -> Array:
    """Return the degrees between meridians, the shorter way round; exact where they are near, also across ±180°."""
    lon, lon_other = (np.where(np.abs(x) > 180, x - np.copysign(360.0, x), x) for x in (lon, lon_other))
    plain = np.abs(lon - lon_other)
    over_seam = (180.0 - np.abs(lon)) + (180.0 - np.abs(lon_other))
    return np.where(plain > 180.0, over_seam, plain)


def _reduced(latitude: Array) -> Array:
    """Return the reduced latitude β = φ - arg(1 + n e^{2iφ}), in radians, of latitudes φ in degrees."""
    phi = np.radians(latitude)
    return phi - np.arctan2(_THIRD * np.sin(2 * phi), 1 + _THIRD * np.cos(2 * phi))


def _from_axis(latitude: Array, beta: Array) -> Array:
    """Return the distance from the axis of the Earth in metres, exactly 0 at the poles."""
    return np.where(np.abs(latitude) == 90.0, 0.0, _MAJOR * np.cos(beta))


METRICS_ON_EARTH: dict[str, type[OnEarth]] = {
    kind.name: kind for kind in (Haversine, ConservativeHaversine, Geodesic)
}


def on_earth(name: str, unit: str) -> OnEarth:
    """Return a metric on the Earth by its name; SpecError where there is none of this name."""
    required_choice("metric", name, METRICS_ON_EARTH)
    return METRICS_ON_EARTH[name](unit)


METRICS: Registry[type[Metric]] = Registry("metric")
for _name, _on_earth in METRICS_ON_EARTH.items():
    METRICS.register(_name)(_on_earth)
METRIC_PLUGINS = Plugins("metric", METRICS, "block")
METRIC_NAMES = OrPlugins(METRICS, METRIC_PLUGINS)
NORMS = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}
"""Metrics that are norms of differences of coordinates, with their order."""


def metric_named(metric: str | Metric, unit: str = "") -> Metric:
    """Return a metric by its registered name, in a unit where it is on the Earth; a metric object as it is."""
    checked_unit(unit)
    if isinstance(metric, str):
        if metric not in METRICS:
            raise SpecError("metric", f"there is no {metric!r}", METRIC_NAMES.fix(metric))
        kind = METRICS.get(metric)
        return kind(unit) if unit and issubclass(kind, OnEarth) else kind()
    if isinstance(metric, type) or not all(hasattr(metric, part) for part in ("block", "prepare")):
        fix = f"choose one of {', '.join(METRIC_NAMES.listed())}, or give a function of two points"
        raise SpecError("metric", f"is of type {type(metric).__name__}", fix)
    return metric


def _differences(rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
    return np.abs(rows[:, None, :] - columns[None, :, :])


@METRICS.register("euclidean")
@dataclass(frozen=True)
class Euclidean(OnNumbers):
    """`d_2`; on one coordinate, the numeric distance |x - x'|."""

    name = "euclidean"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        difference = _differences(rows, columns)
        # one coordinate needs no root; several are divided by the largest, so that squares cannot overflow or vanish
        if difference.shape[2] == 1:
            return difference[:, :, 0]
        scale = difference.max(axis=2)
        ratio = difference / np.where(scale > 0, scale, 1.0)[:, :, None]
        return scale * np.sqrt((ratio**2).sum(axis=2))


@METRICS.register("manhattan")
@dataclass(frozen=True)
class Manhattan(OnNumbers):
    """`d_1`."""

    name = "manhattan"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        with np.errstate(over="ignore"):
            return _differences(rows, columns).sum(axis=2)


@METRICS.register("normalised_manhattan")
@dataclass(frozen=True)
class NormalisedManhattan(OnNumbers):
    """`d_1 / d_V(V)`: Manhattan distance over the diameter of one record's values (CABP13 §5).

    Parameters
    ----------
    diameter : float, optional
        `d_V(V)`. Without it, the widest range any coordinate takes over the points of the space.
    """

    diameter: float | None = None
    name = "normalised_manhattan"

    def prepare(self, points: NDArray) -> Self:
        super().prepare(points)
        width = float(np.ptp(points, axis=0).max()) if self.diameter is None else self.diameter
        if not (np.isfinite(width) and width > 0):
            raise SpecError("diameter", f"is {width}", "give the positive diameter of one record's values")
        return replace(self, diameter=width)

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        if self.diameter is None:
            raise SpecError("diameter", "is not known yet", "prepare the metric with the points first")
        return _differences(rows, columns).sum(axis=2) / self.diameter


@METRICS.register("chebyshev")
@dataclass(frozen=True)
class Chebyshev(OnNumbers):
    """`d_∞`, the maximum metric."""

    name = "chebyshev"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        return _differences(rows, columns).max(axis=2)


class _OnValues:
    """A metric that only asks whether coordinates are equal; points may be of any type."""

    symmetric = True

    def prepare(self, points: NDArray) -> Self:
        return self


@METRICS.register("hamming")
@dataclass(frozen=True)
class Hamming(_OnValues):
    """`d_h` on tuples: the number of coordinates in which two points differ."""

    name = "hamming"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        return (rows[:, None, :] != columns[None, :, :]).sum(axis=2).astype(float)


@METRICS.register("discrete")
@dataclass(frozen=True)
class Discrete(_OnValues):
    """1 between different points, 0 otherwise."""

    name = "discrete"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        return (rows[:, None, :] != columns[None, :, :]).any(axis=2).astype(float)


@dataclass(frozen=True)
class OverTraces:
    """`d_∞` on traces (Cha13): the largest distance between points at the same time.

    Points of the space are traces of `length` steps, flattened step by step to `length · k` coordinates.
    """

    length: int
    step: Metric = Euclidean()  # pyright: ignore[reportAssignmentType]
    name = "traces"

    @property
    def symmetric(self) -> bool:
        return self.step.symmetric

    def prepare(self, points: NDArray) -> OverTraces:
        if self.length < 1 or points.shape[1] % self.length:
            raise SpecError("length", f"{points.shape[1]} columns are not {self.length} equal steps", "mend it")
        return OverTraces(self.length, self.step.prepare(points.reshape(len(points) * self.length, -1)))

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        steps_r, steps_c = (points.reshape(len(points), self.length, -1) for points in (rows, columns))
        return np.max([self.step.block(steps_r[:, t], steps_c[:, t]) for t in range(self.length)], axis=0)
