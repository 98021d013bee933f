"""Count observations for the points of a space: samples, and the weights of check-ins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.spaces.lookup import SeveralPoints
from dxopt.spaces.space import MetricSpace


def counted_by(weights: ArrayLike | None, size: int) -> NDArray[np.float64]:
    """The weights `(size,)` of check-ins, 1 each by default; SpecError where they are none."""
    try:
        counted = np.ones(size) if weights is None else np.array(weights, dtype=float)
    except (TypeError, ValueError):
        raise SpecError("weight", "is not a number for each", "give one number per check-in") from None
    if counted.shape != (size,):
        raise SpecError("weight", f"has shape {counted.shape} for {size} check-ins", "give one number per check-in")
    bad = np.flatnonzero(~(np.isfinite(counted) & (counted >= 0)))
    if len(bad):
        raise SpecError("weight", f"number {bad[0]} is {counted[bad[0]]:g}", "weights are finite and 0 or more")
    return counted


def frequencies(
    space: MetricSpace, observed: Sequence[Any] | NDArray[Any], at: Callable[[int], str] | None = None
) -> NDArray[np.int64]:
    """Count the observations of each point of a space, `(n,)`; SpecError where something else was observed.

    `at` says where the observation of an index stands, in errors.
    """
    if space.points is None or not np.issubdtype(space.points.dtype, np.number):
        found = [_labelled(space, label, "" if at is None else f"{at(i)}: ") for i, label in enumerate(observed)]
        return np.bincount(found, minlength=len(space))
    try:
        located = np.array(observed, dtype=float).reshape(len(observed), -1)
    except (TypeError, ValueError):
        raise SpecError("samples", "are not all coordinates", "give numbers like those of the points") from None
    if located.shape[1] != space.points.shape[1]:
        raise SpecError("samples", f"have {located.shape[1]} coordinates", f"the points have {space.points.shape[1]}")
    # Each distinct sample is looked up once, and counts for the point it is up to rounding.
    distinct, which, counts = np.unique(located, axis=0, return_inverse=True, return_counts=True)
    scale = max(1.0, float(np.abs(space.points).max()))
    nearest = np.zeros(len(distinct), dtype=np.int64)
    near = np.zeros(len(distinct), dtype=bool)
    for row, sample in enumerate(distinct):
        apart = np.abs(space.points - sample).max(axis=1)
        nearest[row] = apart.argmin()
        near[row] = apart[nearest[row]] <= 1e-9 * scale
    if not near.all():
        first = int(np.flatnonzero(~near[which.ravel()])[0])
        raise _no_point(space.points, located[first], f"number {first}" if at is None else at(first))
    return np.bincount(nearest, weights=counts, minlength=len(space)).astype(np.int64)


def _no_point(points: NDArray[Any], sample: NDArray[np.float64], where: str) -> SpecError:
    """Return what is wrong with a sample, by its place alone: it may be where a person is."""
    wrong = f"{where} is no point of the space"
    if points.shape[1] > 1 or points.min() <= sample[0] <= points.max() or np.isnan(sample[0]):
        return SpecError("samples", wrong, "remove or round it")
    ends = f"{points.min():.10g} and {points.max():.10g}"
    return SpecError("samples", f"{wrong}: it is beyond the ends, {ends}", "remove it, or take a space that has it")


def _labelled(space: MetricSpace, label: Any, where: str) -> int:
    try:
        return space.naming.one(label=label)
    except SeveralPoints as error:
        raise SpecError("samples", where + error.wrong, "use labels of one point each") from None
    except SpecError:
        raise SpecError("samples", f"{where}{label!r} is no point of the space", "use its labels") from None
