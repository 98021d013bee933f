"""Regular spaces: lines, grids and tori. Points of a line have their values as labels, others their index (pair)."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.numerics.coerce import POSITIVE, as_number, checked_count, short_repr
from dxopt.spaces.distances import in_blocks
from dxopt.spaces.labels import Coordinates, Numbers, Tuples
from dxopt.spaces.metrics import NORMS, Euclidean, Metric, OnNumbers, metric_named
from dxopt.spaces.space import MetricSpace, Structure, combined

MOST_COORDINATES = 200_000_000
"""The most coordinates of points that are kept in memory: 1.6 GB."""


def require_room(field: str, sizes: Sequence[int], width: int, fix: str) -> None:
    """Raise SpecError where a product of these sizes has too many points, of `width` coordinates each, for memory."""
    count = math.prod(sizes)
    if count * max(width, 1) > MOST_COORDINATES:
        shape = f" ({' x '.join(map(str, sizes))})" if 1 < len(sizes) <= 4 else ""
        most = f"at most {MOST_COORDINATES // max(width, 1):,} fit in memory"
        makes = "make" if field.endswith("s") else "makes"
        counted = f"{count:,}" if count < 10**12 else f"{count:.2e}"
        raise SpecError(field, f"{makes} {counted} points{shape}; {most}", fix)


Array = NDArray[np.float64]

_STEPS_AT_ONCE = 64  # steps of a line that are the diagonal of one block of distances


@dataclass(frozen=True)
class Wrapped(OnNumbers):
    """A lattice metric on a torus: each coordinate difference is the shorter way round its circumference."""

    flat: Metric
    circumference: tuple[float, ...]
    name = "wrapped"

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        around = np.asarray(self.circumference)
        # a lattice metric is a norm of the differences: the shorter ways round replace them
        apart = np.abs(rows[:, None, :] - columns[None, :, :]) % around
        offsets = np.minimum(apart, around - apart).reshape(-1, rows.shape[1])
        origin = np.zeros((1, rows.shape[1]))
        return self.flat.block(offsets, origin).reshape(len(rows), len(columns))


def line(size: int, *, step: float = 1.0, unit: str = "") -> MetricSpace:
    """Make points 0, step, …, (size-1)·step with the numeric distance, such as answers of a counting query.

    Labels are these values, in 10 digits.

    Parameters
    ----------
    size : int
        Points, 1 or more.
    step : float
        The distance of neighbours, in a unit such as "EUR" or "people".

    Raises
    ------
    SpecError
        If the size or step is not positive.

    Examples
    --------
    >>> import dxopt as dx
    >>> answers = dx.line(4, step=5)
    >>> print(list(answers.labels))
    ['0', '5', '10', '15']
    >>> answers.distances[0].tolist()
    [0.0, 5.0, 10.0, 15.0]
    """
    return _built(
        Structure("path", _checked_shape((size,), "size"), as_number(step, "step", *POSITIVE)), Euclidean(), unit
    )


def grid(shape: Sequence[int], *, spacing: float = 1.0, metric: str = "euclidean", unit: str = "") -> MetricSpace:
    """Make a rectangular grid; `shape` gives the number of points along each axis, the last axis runs fastest.

    Takes 8·k bytes a point in k dimensions; labels and distances are computed when they are read.

    Parameters
    ----------
    shape : sequence of int
    spacing : float
        The distance of neighbours, in a unit such as "km".
    metric : {"euclidean", "manhattan", "chebyshev"}

    Raises
    ------
    SpecError
        If the shape or spacing is not positive, or the metric is not euclidean, manhattan or chebyshev.

    Examples
    --------
    >>> import dxopt as dx
    >>> city = dx.grid((3, 4), spacing=0.5)
    >>> print(len(city.labels), city.labels[:5])
    12 ('(0, 0)', '(0, 1)', '(0, 2)', '(0, 3)', '(1, 0)')
    >>> city.row(label="(0, 0)").round(2).tolist()
    [0.0, 0.5, 1.0, 1.5, 0.5, 0.71, 1.12, 1.58, 1.0, 1.12, 1.41, 1.8]
    """
    return _built(*_lattice("lattice", shape, spacing, metric), unit)


def torus(shape: Sequence[int], *, spacing: float = 1.0, metric: str = "euclidean", unit: str = "") -> MetricSpace:
    """Make a grid whose opposite sides are joined: a ring in one dimension, a torus in two.

    Parameters, and errors raised, are those of `grid`.

    Examples
    --------
    >>> import dxopt as dx
    >>> dx.torus((6,)).distances[0].tolist()
    [0.0, 1.0, 2.0, 3.0, 2.0, 1.0]
    """
    structure, flat = _lattice("torus", shape, spacing, metric)
    return _built(structure, Wrapped(flat, tuple(size * structure.spacing for size in structure.shape)), unit)


def _lattice(
    kind: Literal["lattice", "torus"], shape: Sequence[int], spacing: float, metric: str
) -> tuple[Structure, Metric]:
    """Return the structure of a grid or torus, and the metric of the grid; SpecError where an argument is wrong."""
    structure = Structure(kind, _checked_shape(shape), as_number(spacing, "spacing", *POSITIVE))
    if not isinstance(metric, str) or metric not in NORMS:
        fix = f"choose one of {', '.join(NORMS)}"
        if callable(metric):
            wrong = "is a function, which makes no regular grid"
            raise SpecError("metric", wrong, f"{fix}, or use dx.MetricSpace.from_points(points, metric)")
        raise SpecError("metric", f"is {short_repr(metric)}, which is not a lattice metric", fix)
    return structure, metric_named(metric)


def _built(structure: Structure, metric: Metric, unit: str) -> MetricSpace:
    """Make the space of all points of a regular structure; SpecError where they are too many."""
    shape = structure.shape
    axes = len(shape)
    if structure.spacing > sys.float_info.max / max(shape):
        field = "step" if structure.kind == "path" else "spacing"
        raise SpecError(field, f"is {structure.spacing:g}, too large for doubles", "give a smaller one")
    require_room("size" if structure.kind == "path" else "shape", shape, axes, "give fewer")
    points = combined([ticks[:, None] for ticks in structure.ticks])
    # At step 1 a value is its index: numbers have the labels of coordinates, and are found without writing any.
    valued = structure.kind == "path" and structure.spacing != 1
    counted = Numbers(*shape) if axes == 1 else Tuples(tuple(map(Numbers, shape)))
    labels = Coordinates(points) if valued else counted
    return MetricSpace(labels, points, metric.prepare(points), structure, unit=unit)


def _checked_shape(shape: Sequence[int] | int, field: str = "shape") -> tuple[int, ...]:
    """Return numbers of points as a tuple; SpecError unless each is a whole number of 1 or more."""
    sizes = tuple(shape) if isinstance(shape, Sequence) and not isinstance(shape, str | bytes) else (shape,)
    if not sizes:
        raise SpecError(field, f"is {short_repr(shape)}", "give positive whole numbers, such as (4, 3)")
    return tuple(checked_count(field, size) for size in sizes)


def coordinates_of_line(space: MetricSpace) -> Array | None:
    """Return the coordinate `(n,)` along which the points of a line are sorted; None where the space is no line.

    A grid with one axis of more than one point is a line.
    """
    kind = space.structure.kind
    long = [axis for axis, size in enumerate(space.structure.shape) if size > 1]
    is_line = kind == "path" or (kind == "lattice" and len(long) < 2)
    if space.points is None or not is_line:
        return None
    return space.points[:, long[0] if long else 0]


def line_steps(space: MetricSpace) -> Array:
    """Return the distances `(n - 1,)` between neighbours, as the space gives them."""
    # each block of distances is a few steps wide, and the steps are its diagonal
    blocks = in_blocks(np.arange(len(space) - 1), 1, _STEPS_AT_ONCE)
    return np.concatenate([np.zeros(0), *(space.block(at, at + 1).diagonal() for at in blocks)])
