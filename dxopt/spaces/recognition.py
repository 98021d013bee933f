"""The structure of points, found from their coordinates: whether they are a path, or the columns of a product."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.spaces.metrics import Hamming, Manhattan, Metric, NormalisedManhattan

_ON_A_LINE = ("euclidean", "manhattan", "chebyshev")


def is_path(points: NDArray, metric: Metric) -> bool:
    """Return True if points `(n, k)` have one monotonic coordinate whose differences are the distances."""
    if points.shape[1] != 1 or metric.name not in _ON_A_LINE:
        return False
    steps = np.diff(points[:, 0])
    return bool((steps > 0).all() or (steps < 0).all())


def product_columns(points: NDArray, metric: Metric) -> list[NDArray] | None:
    """The values of each column where points `(n, k)` are a product under a metric prepared for them, else None.

    A full product of two or more columns in row-by-row order, the last column fastest, is a product under hamming,
    manhattan and normalised_manhattan, which are sums over columns; its factors are the columns under the summands.
    Values that repeat are left to methods that join points at distance 0.
    """
    if points.shape[1] == 1 or not isinstance(metric, Hamming | Manhattan | NormalisedManhattan):
        return None
    columns = _candidate_columns(points)
    if columns is None:
        return None
    shape = [len(values) for values in columns]
    if math.prod(shape) != len(points) or sum(size > 1 for size in shape) < 2:
        return None
    # as many rows as combinations: they are these combinations in order if column by column the values are
    whole = points.reshape(*shape, len(shape))
    for axis, values in enumerate(columns):
        if not (whole[..., axis] == values.reshape(-1, *[1] * (len(shape) - axis - 1))).all():
            return None
    return columns


def _candidate_columns(points: NDArray) -> list[NDArray] | None:
    """The values that each column would have in a product, or None where values repeat."""
    columns: list[NDArray] = []
    inner = 1
    for column in points.T[::-1]:
        # in a product a column keeps its value while the columns to its right run through their `inner` combinations
        values = column[::inner]
        # and starts anew when its first value comes back
        again = np.flatnonzero(values[1:] == values[0])
        columns.insert(0, values[: again[0] + 1] if len(again) else values)
        if len(set(columns[0].tolist())) < len(columns[0]):
            return None
        inner *= len(columns[0])
    return columns
