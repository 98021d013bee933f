"""Inputs of losses between positions themselves: the metric, and the places of secrets and reports."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dxopt.model.loss import Loss, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.spaces.geo.located import known
from dxopt.spaces.globe import Haversine, OnEarth
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]
OF_DISTANCE = {"distance": 1, "squared": 2}
"""The losses that are known between positions, as powers of the distance."""


def is_of_distance(mechanism: Mechanism, loss: Loss) -> bool:
    """Return True if a loss is a power of the distance; the numbers of a saved loss are compared."""
    if loss.by_distance or loss.name not in OF_DISTANCE:
        return loss.name in OF_DISTANCE
    again = Loss.of(loss.name, mechanism.space, loss.reports)
    return np.allclose(loss.matrix, again.matrix, rtol=1e-6, atol=0.0)


def measure(space: MetricSpace, reports: Reports) -> tuple[Any, Array, Array] | None:
    """The metric between positions, where the reports are, and where the secrets are; None where one is not known.

    On the Earth these are great circles, for spaces on a local map as well; ways along streets are not known.
    """
    if space.metric is None or space.points is None:
        return None
    found = known(space)
    if found is None or isinstance(space.metric, OnEarth):
        if reports.points is None:
            return None
        return space.metric, cast("Array", reports.points), cast("Array", space.points)
    if not reports.secrets:
        return None
    return Haversine(found.unit), found.degrees, found.degrees
