"""Metrics that are Python functions of two points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.spaces.matrices import TRIANGLE_SLACK, checked_matrix, metric_matrix
from dxopt.spaces.metrics import Metric

Distance = Callable[[Any, Any], float]
MOST_CALLS = 4_000_000
"""The most pairs of points that a function is called for: all pairs of 2,000 points, in a few seconds."""


@dataclass(frozen=True, eq=False)
class Called:
    """Distances by a function of two points, called for each ordered pair.

    Attributes
    ----------
    function : callable
    flat : bool
        Whether points were given as numbers and not as rows of coordinates, and are passed so.
    """

    function: Distance
    flat: bool
    name: ClassVar[str] = "callable"
    symmetric = False

    @classmethod
    def of(cls, metric: str | Metric | Distance, points: Any) -> Called | None:
        """What is given for a metric, where it is a function; None where it is a name or a metric."""
        if callable(metric) and not hasattr(metric, "block"):
            return cls(cast(Distance, metric), np.ndim(points) == 1)
        return None

    def prepare(self, points: NDArray) -> Metric:
        return self

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        calls = len(rows) * len(columns)
        if calls > MOST_CALLS:
            wrong = f"is a function, to be called for {calls:,} pairs of points; {MOST_CALLS:,} at most"
            raise SpecError("metric", wrong, "give a matrix to MetricSpace.from_distances, or the name of a metric")
        sources = self._passed(rows)
        targets = self._passed(columns)
        distances = [[self._distance(one, other) for other in targets] for one in sources]
        return np.array(distances, dtype=float).reshape(len(rows), len(columns))

    def _passed(self, points: NDArray) -> list[Any]:
        return points[:, 0].tolist() if self.flat else list(points)

    def _distance(self, one: Any, other: Any) -> float:
        try:
            return float(np.asarray(self.function(one, other)).item())
        except Exception as error:  # whatever a function of the user raises
            wrong = f"gives no number for the points {one} and {other} ({type(error).__name__}: {error})"
            raise SpecError("metric", wrong, "give a function of two points that returns one number") from error


def called_matrix(metric: Called, points: NDArray, names: Sequence[str]) -> NDArray[np.float64]:
    """All distances `(n, n)` between points `(n, k)`, read-only.

    Raises
    ------
    SpecError
        If there are more than 4,000,000, one is negative or no number, or they break the triangle inequality by more
        than rounding.
    """
    try:
        matrix = checked_matrix(metric.block(points, points))
        largest = float(np.max(matrix, where=np.isfinite(matrix), initial=0.0))
        metric_matrix(matrix, names, close=False, slack=TRIANGLE_SLACK * largest)
    except SpecError as error:
        close = "MetricSpace.from_distances(matrix, close=True), which takes shortest paths"
        fix = f"mend the function, or use {close}" if "close" in error.fix else error.fix
        raise SpecError(
            "metric", f"distances {error.wrong}" if error.field != "metric" else error.wrong, fix
        ) from None
    matrix.flags.writeable = False
    return matrix
