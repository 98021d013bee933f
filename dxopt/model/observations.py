"""What was observed, counted for the points of a space: samples, and the weights of check-ins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
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


def frequencies(space: MetricSpace, observed: list[Any]) -> NDArray[np.int64]:
    """How often each point of a space was observed, `(n,)`; SpecError where something else was."""
    if space.points is None or not np.issubdtype(space.points.dtype, np.number):
        return np.bincount([_labelled(space, label) for label in observed], minlength=len(space))
    try:
        located = np.array(observed, dtype=float).reshape(len(observed), -1)
    except (TypeError, ValueError):
        raise SpecError("samples", "are not all coordinates", "give numbers like those of the points") from None
    if located.shape[1] != space.points.shape[1]:
        raise SpecError("samples", f"have {located.shape[1]} coordinates", f"the points have {space.points.shape[1]}")
    # Each distinct sample is looked up once, and counts for the point it is up to rounding.
    distinct, counts = np.unique(located, axis=0, return_counts=True)
    scale = max(1.0, float(np.abs(space.points).max()))
    found = np.zeros(len(space), dtype=np.int64)
    for sample, count in zip(distinct, counts, strict=True):
        apart = np.abs(space.points - sample).max(axis=1)
        nearest = int(apart.argmin())
        if not apart[nearest] <= 1e-9 * scale:
            raise SpecError("samples", f"{sample.tolist()} is no point of the space", "remove or round it")
        found[nearest] += count
    return found


def _labelled(space: MetricSpace, label: Any) -> int:
    try:
        return space.naming.one(label=label)
    except SpecError as error:
        several = f"{label!r} names several points" == error.wrong
        wrong = error.wrong if several else f"{label!r} is no point of the space"
        raise SpecError("samples", wrong, "use labels of one point each" if several else "use its labels") from None
