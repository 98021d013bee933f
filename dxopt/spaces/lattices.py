"""Regular spaces: lines, grids and tori. Points are named by their index (pair), row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.spaces.metrics import Metric, metric_named, require_numbers
from dxopt.spaces.space import MetricSpace, Structure

LATTICE_METRICS = ("euclidean", "manhattan", "chebyshev")


@dataclass(frozen=True)
class Wrapped:
    """A lattice metric on a torus: each coordinate difference is the shorter way round its circumference."""

    flat: Metric
    circumference: tuple[float, ...]
    name: ClassVar[str] = "wrapped"

    def prepare(self, points: NDArray) -> Wrapped:
        require_numbers(points, self.name)
        return self

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        around = np.asarray(self.circumference)
        apart = np.abs(rows[:, None, :] - columns[None, :, :]) % around
        offsets = np.minimum(apart, around - apart).reshape(-1, rows.shape[1])
        origin = np.zeros((1, rows.shape[1]))
        return self.flat.block(offsets, origin).reshape(len(rows), len(columns))


def line(size: int, *, step: float = 1.0) -> MetricSpace:
    """Points 0, step, …, (size-1)·step with the numeric distance, such as the answers of a counting query."""
    shape = _whole(size)
    return MetricSpace.from_points(
        _indices(shape, step) * step, labels=range(shape[0]), structure=Structure("path", shape, step)
    )


def grid(shape: Sequence[int], *, spacing: float = 1.0, metric: str = "euclidean") -> MetricSpace:
    """A rectangular grid; `shape` gives the number of points along each axis, the last axis runs fastest.

    Raises
    ------
    SpecError
        If the shape or spacing is not positive, or the metric is not euclidean, manhattan or chebyshev.
    """
    return _lattice("lattice", _whole(shape), spacing, lambda flat, _: flat, metric)


def torus(shape: Sequence[int], *, spacing: float = 1.0, metric: str = "euclidean") -> MetricSpace:
    """A grid whose opposite sides are joined: a ring in one dimension, a torus in two."""
    return _lattice("torus", _whole(shape), spacing, Wrapped, metric)


def _lattice(kind, shape: tuple[int, ...], spacing: float, wrap, metric: str) -> MetricSpace:
    indices = _indices(shape, spacing)
    if metric not in LATTICE_METRICS:
        raise SpecError(
            "metric", f"{metric!r} is not a lattice metric", f"choose one of {', '.join(LATTICE_METRICS)}"
        )
    around = tuple(float(size) * spacing for size in shape)
    labels = [str(tuple(index)) if len(shape) > 1 else str(index[0]) for index in indices.tolist()]
    return MetricSpace.from_points(
        indices * spacing,
        wrap(metric_named(metric), around),
        labels=labels,
        structure=Structure(kind, shape, spacing),
    )


def _whole(shape: Sequence[int] | int) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if not sizes or any(isinstance(s, bool) or not isinstance(s, int | np.integer) or s < 1 for s in sizes):
        raise SpecError("shape", f"{shape} is not a shape", "give positive whole numbers")
    return tuple(int(s) for s in sizes)


def _indices(shape: tuple[int, ...], spacing: float) -> NDArray[np.int64]:
    if not (np.isfinite(spacing) and spacing > 0):
        raise SpecError("spacing", f"is {spacing}", "give a positive number")
    return np.stack(np.meshgrid(*(np.arange(s) for s in shape), indexing="ij"), axis=-1).reshape(-1, len(shape))
