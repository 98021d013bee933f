"""Functions of the user or of a plug-in: metrics between two points or values, and predicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError, required
from dxopt.numerics.coerce import as_numbers, short_repr
from dxopt.runtime.plugins import Plugin, error_text
from dxopt.spaces.distances import TRIANGLE_SLACK, BrokenTriangle, checked_matrix, metric_matrix, require_few
from dxopt.spaces.metrics import METRIC_PLUGINS, METRICS, Metric

Distance = Callable[[Any, Any], float]
MOST_CALLS = 4_000_000
"""The most pairs of points that a function is called for: all pairs of 2,000 points, in a few seconds."""


@dataclass(frozen=True, eq=False)
class Called:
    """Distances by a function of two points, of the user or of a plug-in, called for each ordered pair.

    `flat` says that points were given as numbers and not as rows of coordinates, and are passed so.
    """

    function: Distance
    flat: bool
    name: str = "callable"
    plugin: Plugin | None = None
    symmetric = False

    @classmethod
    def of(cls, metric: str | Metric | Distance, points: Any) -> Called | None:
        """Return the metric where a function or the name of a plug-in is given; None for others."""
        if callable(metric) and not hasattr(metric, "block"):
            return cls(cast(Distance, metric), np.ndim(points) == 1)
        if not isinstance(metric, str) or metric in METRICS or not METRIC_PLUGINS.offered(metric):
            return None
        found = METRIC_PLUGINS.find(metric)  # with the method `block`, or else a function of two points
        return (InBlocks if found.method else Called)(found.call, flat=False, name=metric, plugin=found.plugin)

    def prepare(self, points: NDArray) -> Metric:
        return self

    def block(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        distances = self.values_between(rows, columns)
        for one, other in np.argwhere(~(distances >= 0))[:1]:  # the first that is negative or NaN
            told = f"{distances[one, other]} for the points {rows[one]} and {columns[other]}"
            raise SpecError("metric", f"{self.whose}gives {told}", "give numbers of 0 or more, or inf")
        return distances

    def values_between(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        """Return the values of the function for points `(p, k)` and `(q, k)`, `(p, q)`, unchecked: any numbers."""
        calls = len(rows) * len(columns)
        if calls > MOST_CALLS:
            wrong = f"is a function, to be called for {calls:,} pairs of points; {MOST_CALLS:,} at most"
            raise SpecError("metric", wrong, "give a matrix to MetricSpace.from_distances, or the name of a metric")
        sources, targets = (points[:, 0].tolist() if self.flat else list(points) for points in (rows, columns))
        told = {"field": "metric", "whose": self.whose}
        distances = [[called_number(self.function, one, other, **told) for other in targets] for one in sources]
        return np.array(distances, dtype=float).reshape(len(rows), len(columns))

    @property
    def whose(self) -> str:
        """The beginning of errors: the name and the package of a plug-in."""
        return "" if self.plugin is None else f"{self.name} of {self.plugin.where} "


class InBlocks(Called):
    """Distances by an object of a plug-in with `block(rows, columns)`, `(p, q)` from points `(p, k)` and `(q, k)`."""

    def values_between(self, rows: NDArray, columns: NDArray) -> NDArray[np.float64]:
        try:
            distances = as_numbers(self.function(rows, columns), "metric", "mend the package")
        except Exception as error:  # whatever a package of others raises
            wrong = f"{self.whose}gives no distances ({error_text(error)})"
            raise SpecError("metric", wrong, "mend the package") from error
        if distances.shape != (len(rows), len(columns)):
            wrong = f"{self.whose}gives an array of shape {distances.shape}, not {(len(rows), len(columns))}"
            raise SpecError("metric", wrong, "mend the package")
        return distances


def called_matrix(metric: Called, points: NDArray, names: Sequence[str]) -> NDArray[np.float64]:
    """Return all distances `(n, n)` between points `(n, k)`, read-only.

    Raises
    ------
    SpecError
        If there are more than 4,000,000, one is negative or no number, or they break the triangle inequality by more
        than rounding.
    """
    require_few(len(points))
    try:
        matrix = checked_matrix(metric.values_between(points, points))
        largest = float(np.max(matrix, where=np.isfinite(matrix), initial=0.0))
        metric_matrix(matrix, names, close=False, slack=TRIANGLE_SLACK * largest)
    except SpecError as error:
        wrong = f"{metric.whose}gives distances of which {error.wrong}" if error.field != "metric" else error.wrong
        if not isinstance(error, BrokenTriangle):
            raise error.at("metric", wrong) from None
        close = "mend the metric, or give all distances as a matrix with ", Option("close", True)
        raise SpecError("metric", wrong, *close, ", which takes shortest paths") from None
    matrix.flags.writeable = False
    return matrix


def called_number(
    function: Callable[[Any, Any], Any],
    one: Any,
    other: Any,
    *,
    field: str,
    about: str = "the points {} and {}",
    takes: str = "two points",
    whose: str = "",
) -> float:
    """Return the number that a function of the user gives; SpecError where it raises, or gives something else.

    The error is about the `field`. `about` says what the two arguments are, `takes` what the function is to take, and
    `whose` begins the message.
    """
    try:
        return float(np.asarray(function(one, other)).item())
    except Exception as error:  # whatever a function of the user raises
        wrong = f"{whose}gives no number for {about.format(one, other)} ({error_text(error)})"
        fix = f"give a function of {takes} that returns one number; it gets each {_as_passed(one)}"
        raise SpecError(field, wrong, fix) from error


def truth_of(holds: Callable[[Any], Any], secret: Any, field: str) -> bool:
    """Return True if a predicate of the user holds; SpecError where it raises, or gives no truth value."""
    try:
        return bool(holds(secret))
    except Exception as error:  # whatever a function of the user raises
        wrong = f"the function gives no truth value for {short_repr(secret)} ({error_text(error)})"
        raise SpecError(field, wrong, "give a function of a secret that returns True or False") from error


def value_distances(values: Sequence[Any], distance: Distance | None) -> NDArray[np.float64]:
    """Return the distances `(v, v)` between the values of a record, by a function of the user; |v - w| without one.

    Raises
    ------
    SpecError
        If a value is no number where no function is given, or the function gives something else than finite numbers
        of 0 or more.
    """
    if distance is None:
        try:
            return np.array([[float(abs(v - w)) for w in values] for v in values])
        except (TypeError, ValueError, OverflowError):
            raise SpecError("values", "are no numbers", "give a distance between them, or use hamming") from None
    required("distance", distance, Callable, "give a function of two values that returns a number")
    about = "the values {!r} and {!r}"
    between = {"field": "distance", "about": about, "takes": "two values"}
    found = np.array([[called_number(distance, v, w, **between) for w in values] for v in values])
    for one, other in np.argwhere(~((found >= 0) & np.isfinite(found)))[:1]:
        told = f"gives {found[one, other]:g} for {about.format(values[one], values[other])}"
        raise SpecError("distance", told, "give finite numbers of 0 or more")
    return found


def _as_passed(given: Any) -> str:
    """Describe the form in which a function of the user gets a point."""
    if isinstance(given, str):
        return "as its label, a text"
    if isinstance(given, tuple):
        return f"as a tuple of {len(given)}"
    if np.ndim(given) == 0:
        return "as a number"
    size = len(given)
    return f"as an array of {size} coordinate{'' if size == 1 else 's'}"
