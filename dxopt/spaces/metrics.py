"""The metrics between points (CABP13 §2, §5, §6; Cha13), each one class.

Every metric computes a block of distances between two arrays of points, `(p, k)` and `(q, k)`, as a
`(p, q)` array. Differences are taken coordinate by coordinate, so that the result is exactly symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.runtime.plugins import OrPlugins, Plugins
from dxopt.runtime.registry import Registry
from dxopt.spaces.contract import Metric, OnNumbers, require_numbers
from dxopt.spaces.globe import METRICS_ON_EARTH, OnEarth

METRICS: Registry[type[Metric]] = Registry("metric")
for _name, _on_earth in METRICS_ON_EARTH.items():
    METRICS.register(_name)(_on_earth)
METRIC_PLUGINS = Plugins("metric", METRICS, "block")
METRIC_NAMES = OrPlugins(METRICS, METRIC_PLUGINS)


def metric_named(metric: str | Metric, unit: str = "") -> Metric:
    """A metric from its registered name, in a unit where it is on the Earth; an object is returned as it is."""
    if isinstance(metric, str):
        if metric not in METRICS:
            raise SpecError("metric", f"there is no {metric!r}", METRIC_NAMES.fix())
        kind = METRICS.get(metric)
        return kind(unit) if unit and issubclass(kind, OnEarth) else kind()
    if isinstance(metric, type) or not hasattr(metric, "block"):
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
    name = "normalised_manhattan"
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
class Chebyshev(OnNumbers):
    """`d_∞`, the maximum metric."""

    name = "chebyshev"

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
        steps_r = rows.reshape(len(rows), self.length, -1)
        steps_c = columns.reshape(len(columns), self.length, -1)
        return np.max([self.step.block(steps_r[:, t], steps_c[:, t]) for t in range(self.length)], axis=0)


@dataclass(frozen=True)
class WithNull:
    """A metric on values to which a null value is added: `d(∅, v)` is the diameter of the values (CABP13 §5).

    A point whose coordinates are all NaN is the null value.
    """

    values: Metric = Euclidean()  # pyright: ignore[reportAssignmentType]
    diameter: float | None = None
    name = "with_null"

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
