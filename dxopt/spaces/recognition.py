"""Which structure points have under a metric, told from their coordinates."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.spaces.metrics import Hamming, Manhattan, Metric, NormalisedManhattan
from dxopt.spaces.space import MetricSpace, Structure

_ON_A_LINE = ("euclidean", "manhattan", "chebyshev")


def recognised(points: NDArray, metric: Metric) -> Structure:
    """The structure of points `(n, k)` under a metric prepared for them.

    One sorted coordinate is a path. A full product of two or more columns in row-by-row order, the last column
    fastest, is a product under hamming, manhattan and normalised_manhattan, which are sums over columns; its factors
    are the columns under the summands.
    """
    if points.shape[1] == 1:
        steps = np.diff(points[:, 0]) if metric.name in _ON_A_LINE else np.zeros(1)
        return Structure("path", (len(points),)) if (steps > 0).all() or (steps < 0).all() else Structure()
    columns = _columns(points) if isinstance(metric, Hamming | Manhattan | NormalisedManhattan) else None
    if columns is None:
        return Structure()
    factors = tuple(MetricSpace.from_points(column, metric) for column in columns)
    return Structure("product", tuple(map(len, factors)), factors=factors)


def _columns(points: NDArray) -> list[NDArray] | None:
    """The values of each column if the rows are all their combinations in order and two or more vary, else None.

    Values that repeat are left to methods that join points at distance 0.
    """
    columns: list[NDArray] = []
    inner = 1
    for column in points.T[::-1]:
        values = column[::inner]
        again = np.flatnonzero(values[1:] == values[0])
        columns.insert(0, values[: again[0] + 1] if len(again) else values)
        if len(set(columns[0].tolist())) < len(columns[0]):
            return None
        inner *= len(columns[0])
    shape = [len(values) for values in columns]
    if math.prod(shape) != len(points) or sum(size > 1 for size in shape) < 2:
        return None
    whole = points.reshape(*shape, len(shape))
    for axis, values in enumerate(columns):
        if not (whole[..., axis] == values.reshape(-1, *[1] * (len(shape) - axis - 1))).all():
            return None
    return columns
