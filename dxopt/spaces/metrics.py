"""The metrics between points (CABP13 §2, §5, §6; Cha13), each one class.

Every metric computes a block of distances between two arrays of points, `(p, k)` and `(q, k)`, as a
`(p, q)` array. Differences are taken coordinate by coordinate, so that the result is exactly symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.runtime.registry import Registry

EARTH_RADIUS_KM = 6371.0088


class Metric(Protocol):
    """Distances between points."""

    name: ClassVar[str]

    @property
    def symmetric(self) -> bool:
        """Whether blocks are symmetric, bit for bit, wherever they are cut."""
        ...

    def prepare(self, points: NDArray) -> Metric:
        """The metric with all that it needs of the whole set of points; raises SpecError on bad points."""
        ...

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        """Distances `(p, q)` between points `(p, k)` and `(q, k)`."""
        ...


METRICS: Registry[type[Metric]] = Registry("metric")


def metric_named(metric: str | Metric) -> Metric:
    """A metric from its registered name; a metric object is returned as it is."""
    if isinstance(metric, str):
        return METRICS.get(metric)()
    if isinstance(metric, type) or not hasattr(metric, "block"):
        fix = f"choose one of {', '.join(METRICS)}, or give a function of two points"
        raise SpecError("metric", f"is of type {type(metric).__name__}", fix)
    return metric


def _differences(rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
    return np.abs(rows[:, None, :] - columns[None, :, :])


class _OnNumbers:
    """A metric on coordinates that takes nothing from the whole set."""

    symmetric = True

    def prepare(self, points: NDArray) -> Metric:
        require_numbers(points, self.name)  # pyright: ignore[reportAttributeAccessIssue]
        return self  # pyright: ignore[reportReturnType]


def require_numbers(points: NDArray, name: str) -> None:
    """Raise SpecError unless every coordinate is a finite number."""
    if not np.issubdtype(points.dtype, np.number):
        raise SpecError("points", f"{name} needs numbers", "give numeric coordinates, or use hamming or discrete")
    if not np.isfinite(points).all():
        row = int(np.flatnonzero(~np.isfinite(points).all(axis=1))[0])
        raise SpecError("points", f"point {row} has a coordinate that is not finite", "remove or mend it")


@METRICS.register("euclidean")
@dataclass(frozen=True)
class Euclidean(_OnNumbers):
    """`d_2`; on one coordinate, the numeric distance |x - x'|."""

    name: ClassVar[str] = "euclidean"

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
class Manhattan(_OnNumbers):
    """`d_1`."""

    name: ClassVar[str] = "manhattan"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        return _differences(rows, columns).sum(axis=2)


@METRICS.register("normalised_manhattan")
@dataclass(frozen=True)
class NormalisedManhattan:
    """`d_1 / d_V(V)`: Manhattan distance over the diameter of one record's values (CABP13 §5).

    Parameters
    ----------
    diameter : float, optional
        `d_V(V)`. Without it, the widest range any coordinate takes over the points of the space.
    """

    diameter: float | None = None
    name: ClassVar[str] = "normalised_manhattan"
    symmetric = True

    def prepare(self, points: NDArray) -> NormalisedManhattan:
        require_numbers(points, self.name)
        width = float(np.ptp(points, axis=0).max()) if self.diameter is None else self.diameter
        if not (np.isfinite(width) and width > 0):
            raise SpecError("diameter", f"is {width}", "give the positive diameter of one record's values")
        return NormalisedManhattan(width)

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        if self.diameter is None:
            raise SpecError("diameter", "is not known yet", "prepare the metric with the points first")
        return _differences(rows, columns).sum(axis=2) / self.diameter


@METRICS.register("chebyshev")
@dataclass(frozen=True)
class Chebyshev(_OnNumbers):
    """`d_∞`, the maximum metric."""

    name: ClassVar[str] = "chebyshev"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        return _differences(rows, columns).max(axis=2)


class _OnValues:
    """A metric that only asks whether coordinates are equal; points may be of any type."""

    symmetric = True

    def prepare(self, points: NDArray) -> Metric:
        return self  # pyright: ignore[reportReturnType]


@METRICS.register("hamming")
@dataclass(frozen=True)
class Hamming(_OnValues):
    """`d_h` on tuples: the number of coordinates in which two points differ."""

    name: ClassVar[str] = "hamming"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        return (rows[:, None, :] != columns[None, :, :]).sum(axis=2).astype(float)


@METRICS.register("discrete")
@dataclass(frozen=True)
class Discrete(_OnValues):
    """1 between different points, 0 otherwise."""

    name: ClassVar[str] = "discrete"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        return (rows[:, None, :] != columns[None, :, :]).any(axis=2).astype(float)


@METRICS.register("haversine")
@dataclass(frozen=True)
class Haversine(_OnNumbers):
    """Great-circle distance between (latitude, longitude) in degrees, on a sphere of radius 6371.0088 km.

    Parameters
    ----------
    unit : {"km", "m", "mi"}
        Unit of the distances.
    """

    unit: str = "km"
    name: ClassVar[str] = "haversine"
    units: ClassVar[dict[str, float]] = {"km": 1.0, "m": 1000.0, "mi": 1 / 1.609344}

    def prepare(self, points: NDArray) -> Haversine:
        require_numbers(points, self.name)
        if self.unit not in self.units:
            raise SpecError("unit", f"there is no {self.unit!r}", f"choose one of {', '.join(self.units)}")
        if points.shape[1] != 2:
            raise SpecError("points", f"haversine needs 2 columns, not {points.shape[1]}", "give (lat, lon)")
        outside = np.flatnonzero((np.abs(points[:, 0]) > 90) | (np.abs(points[:, 1]) > 360))
        if len(outside):
            raise SpecError(
                "points",
                f"point {outside[0]} is no (latitude, longitude) in degrees",
                "give lat first, then lon",
            )
        return self

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        # contiguous, as other layouts may take another path through cos, an ulp away
        lat_r, lon_r = np.ascontiguousarray(np.radians(rows).T)[:, :, None]
        lat_c, lon_c = np.ascontiguousarray(np.radians(columns).T)[:, None, :]
        # haversine formula: sin²(θ/2) of the central angle θ, at most 1 but for rounding
        half = np.sin(np.abs(lat_r - lat_c) / 2) ** 2
        half = half + (np.cos(lat_r) * np.cos(lat_c)) * np.sin(np.abs(lon_r - lon_c) / 2) ** 2
        return 2 * EARTH_RADIUS_KM * self.units[self.unit] * np.arcsin(np.sqrt(np.minimum(half, 1.0)))


@dataclass(frozen=True)
class OverTraces:
    """`d_∞` on traces (Cha13): the largest distance between points at the same time.

    Points of the space are traces of `length` steps, flattened step by step to `length · k` coordinates.
    """

    length: int
    step: Metric = Euclidean()
    name: ClassVar[str] = "traces"

    @property
    def symmetric(self) -> bool:
        return self.step.symmetric

    def prepare(self, points: NDArray) -> OverTraces:
        if self.length < 1 or points.shape[1] % self.length:
            raise SpecError("length", f"{points.shape[1]} columns are not {self.length} equal steps", "mend it")
        return OverTraces(self.length, self.step.prepare(points.reshape(len(points) * self.length, -1)))

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        steps_r = rows.reshape(len(rows), self.length, -1)
        steps_c = columns.reshape(len(columns), self.length, -1)
        return np.max([self.step.block(steps_r[:, t], steps_c[:, t]) for t in range(self.length)], axis=0)


@dataclass(frozen=True)
class WithNull:
    """A metric on values to which a null value is added: `d(∅, v)` is the diameter of the values (CABP13 §5).

    A point whose coordinates are all NaN is the null value.
    """

    values: Metric = Euclidean()
    diameter: float | None = None
    name: ClassVar[str] = "with_null"

    @property
    def symmetric(self) -> bool:
        return self.values.symmetric

    def prepare(self, points: NDArray) -> WithNull:
        present = points[~_is_null(points)]
        if not len(present):
            raise SpecError("points", "every point is the null value", "give at least one value")
        values = self.values.prepare(present)
        return WithNull(values, float(values.block(present, present).max()))

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        if self.diameter is None:
            raise SpecError("diameter", "is not known yet", "prepare the metric with the points first")
        null_r = _is_null(rows)
        null_c = _is_null(columns)
        distance = self.values.block(np.nan_to_num(rows), np.nan_to_num(columns))
        distance[null_r[:, None] != null_c[None, :]] = self.diameter
        distance[null_r[:, None] & null_c[None, :]] = 0.0
        return distance


def _is_null(points: NDArray) -> NDArray[np.bool_]:
    return np.asarray(np.isnan(points).all(axis=1))
