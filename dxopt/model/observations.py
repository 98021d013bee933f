"""Count samples and check-ins for the points of a space."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import PlausibilityWarning, SpecError, required_choice
from dxopt.numerics.coerce import FROM_0, as_number, as_weights, require_values
from dxopt.runtime.csv_text import number
from dxopt.runtime.identity import each
from dxopt.spaces.geo.nearest import Near, nearest_of
from dxopt.spaces.metrics import OnEarth
from dxopt.spaces.naming import NotOnePoint
from dxopt.spaces.positions import degrees_of_columns, has_geometry, names_of, require_same_order
from dxopt.spaces.space import MetricSpace

MOST_OUTSIDE = 0.05
"""A larger share of check-ins outside of the space is warned of."""
MOST_LEFT_OUT = 0.5
"""A larger share that `within` leaves out is warned of."""

_SWAPPED = "they fit with their coordinates swapped: give both in one order, (latitude, longitude) on the Earth"


def check_ins_near(
    space: MetricSpace, points: ArrayLike, weights: ArrayLike | None, within: float | None
) -> tuple[Near, NDArray[np.float64], NDArray[np.bool_]]:
    """Find the point that each of some check-ins counts for, their weights `(m,)`, and the mask of those that count.

    SpecError where these are no points or weights, or none of positive weight counts.
    """
    reach = math.inf if within is None else as_number(within, "within", *FROM_0)
    reach *= 1 + 1e-12  # a distance may be rounded up
    found = nearest_of(space, points)
    counted = _weights_of_each(weights, len(found.index))
    _require_some_within(space, points, found, counted, reach)
    return found, counted, found.apart <= reach


def check_ins_outside(
    space: MetricSpace, places: ArrayLike, found: Near, counted: NDArray[np.float64], kept: NDArray[np.bool_]
) -> tuple[PlausibilityWarning, ...]:
    """Return a warning if many check-ins are outside of the space, or were left out; none otherwise.

    The check-ins `places` `(m, k)` have the weights `counted` `(m,)`. `found` has for each how far `apart` it is from
    the nearest point, and whether it is `outside`. Those not `kept` were left out by the option `within`. If none
    was, SpecError where all that count are outside.
    """
    chosen = not kept.all()  # the user chose by `within` which are left out
    if not chosen:
        require_some_inside(space, places, found, counted)
    whole = counted.sum()
    far = ~kept if chosen else found.outside
    share = float(counted[far].sum() / whole)
    if share <= (MOST_LEFT_OUT if chosen else MOST_OUTSIDE):
        return ()
    swapped = _fits_swapped(space, places, counted)
    furthest = found.length(found.apart[far].max())
    seen = f"{share:.0%} of the check-ins are outside of the space, up to {furthest} from the nearest of its points"
    fix = "enlarge the space, or leave them out by `within`, as they would count for its rim"
    if chosen:
        seen = f"{share:.0%} of the check-ins are left out, up to {furthest} from the nearest point"
        fix = "enlarge the space or `within`, or check the order and unit of the coordinates"
    if swapped:
        fix = _SWAPPED
    return (PlausibilityWarning("check_ins_outside", "prior", seen, fix),)


def _require_some_within(
    space: MetricSpace, places: ArrayLike, found: Near, counted: NDArray[np.float64], within: float
) -> None:
    """Raise SpecError unless some check-in of positive weight is at most `within` from a point.

    If all lie outside of the space, the error says that instead, as it is the likelier mistake.
    """
    if not counted.any():
        field, wrong = ("weight", "is 0 for every check-in") if len(counted) else ("points", "have no check-in")
        raise SpecError(field, wrong, "give some of positive weight")
    nearest = found.apart[counted > 0].min()
    if nearest <= within:
        return
    require_some_inside(space, places, found, counted)
    wrong = (
        f"{found.length(within)} leaves out every check-in that counts: the nearest is {found.length(nearest)} away"
    )
    larger = f"give a larger distance{found.unit and f' in {found.unit}'}"
    raise SpecError("within", wrong, f"{larger}, or check the order of the coordinates")


def require_some_inside(
    space: MetricSpace, places: ArrayLike, found: Near, counted: NDArray[np.float64], field: str = "points"
) -> None:
    """Raise SpecError, which names the field, if all places `(m, k)` that count are outside of the space."""
    if (counted > 0)[~found.outside].any():
        return
    nearest = found.length(found.apart[counted > 0].min(initial=np.inf))
    wrong = f"lie outside of the space, all of them: the nearest is {nearest} from all of its points"
    fix = f"{'give degrees (WGS 84), or ' if found.unit else ''}check their unit and the space"
    raise SpecError(field, wrong, _SWAPPED if _fits_swapped(space, places, counted) else fix)


def _fits_swapped(space: MetricSpace, places: ArrayLike, counted: NDArray[np.float64]) -> bool:
    """Return True if most check-ins are inside once their two coordinates are swapped."""
    located = np.asarray(places, dtype=float)
    if located.shape[1] != 2:
        return False
    try:
        found = nearest_of(space, located[:, ::-1])
    except SpecError:  # longitudes may be no latitudes
        return False
    return bool(counted[found.outside].sum() <= MOST_OUTSIDE * counted.sum())


def usable_check_ins(points: Any, weights: ArrayLike | None, unusable: str) -> tuple[Any, ArrayLike | None, int, int]:
    """Return check-ins and weights without those that lack a number, how many these are, and of how many.

    Where these are not to be left out, all are returned, and refused later. SpecError where none is left.
    """
    required_choice("unusable", unusable, ("refuse", "drop"))
    if unusable == "refuse":
        return points, weights, 0, 0
    usable = are_numbers(points)
    if weights is not None:
        weighed = np.array([*map(_is_number, np.asarray(weights, dtype=object))], dtype=bool)
        if len(weighed) != len(usable):
            return points, weights, 0, 0  # which is refused
        usable &= weighed
        weights = [weight for weight, kept in zip(np.asarray(weights).tolist(), usable.tolist(), strict=True) if kept]
    if not usable.any():
        raise SpecError("points", "have no check-in without an empty or unusable entry", "check the columns")
    kept = np.flatnonzero(usable)
    return points_at(points, kept), weights, len(usable) - len(kept), len(usable)


def are_numbers(points: Any) -> NDArray[np.bool_]:
    """Return the mask `(m,)` of the check-ins that have numbers alone, or a geometry.

    SpecError for what has no rows of coordinates, or masked entries.
    """
    if has_geometry(points):
        return ~np.asarray(points.geometry.isna() | points.geometry.is_empty)
    require_values(points, "points")
    rows = points if isinstance(points, list | tuple) else np.atleast_1d(np.asarray(points, dtype=object))
    if len({np.shape(row) for row in rows} - {()}) != 1:
        raise SpecError("points", "are no rows of as many coordinates each", "give an array (m, k)")
    return np.array([np.ndim(row) == 1 and all(map(_is_number, row)) for row in rows], dtype=bool)


def points_at(points: Any, rows: NDArray[np.int64]) -> Any:
    """Return the check-ins in some rows, which have numbers, as an array or in a frame of the same kind."""
    if hasattr(points, "iloc"):  # of pandas and GeoPandas
        return points.iloc[rows]
    if names_of(points):
        return points.take(rows) if hasattr(points, "take") else points[rows]
    return np.asarray(points, dtype=object)[rows].astype(float)


def _is_number(value: Any) -> bool:
    return math.isfinite(number(value))


def _weights_of_each(weights: ArrayLike | None, size: int) -> NDArray[np.float64]:
    """Return the weights `(size,)` of check-ins, 1 each by default; SpecError where they are none."""
    fix = "give one number per check-in"
    return np.ones(size) if weights is None else as_weights(weights, "weight", fix, size)


def numbers_of(space: MetricSpace) -> NDArray[Any] | None:
    """Return the coordinates of the points of a space, `(n, k)`; None where they have none that are numbers."""
    points = space.points
    return None if points is None or not np.issubdtype(points.dtype, np.number) else points


def labelled(
    space: MetricSpace, observed: Any, field: str, at: Callable[[int], str] | None = None
) -> NDArray[np.int64]:
    """Return the index of the point that each of some labels names, `(m,)`; SpecError about the field where none is.

    `at` says where the label of an index stands. The error does not quote it: it may be somebody's secret.
    """
    try:
        return space.naming.find(label=each(observed, field), called=field)
    except NotOnePoint as error:
        where = (at or "number {}".format)(error.position or 0)
        raise SpecError(field, f"{where} {error.said} points", "use labels of one point each") from None


def frequencies(
    space: MetricSpace, observed: Sequence[Any] | NDArray[Any], at: Callable[[int], str] | None = None
) -> NDArray[np.int64]:
    """Count the observations of each point of a space, `(n,)`; SpecError where something else was observed.

    `at` says where the observation of an index stands, such as a line of a file, in errors. Without coordinates
    observations are labels, else coordinates.
    """
    points = numbers_of(space)
    if points is None:
        return np.bincount(labelled(space, observed, "samples", at), minlength=len(space))
    try:
        located = np.array(observed, dtype=float).reshape(len(observed), -1)
    except (TypeError, ValueError):
        raise SpecError("samples", "are not all coordinates", "give numbers like those of the points") from None
    if located.shape[1] != points.shape[1]:
        raise SpecError("samples", f"have {located.shape[1]} coordinates", f"the points have {points.shape[1]}")
    require_same_order(names_of(observed), space.axes, "samples")
    if isinstance(space.metric, OnEarth):
        located = degrees_of_columns(observed, located, "samples")
    # Each distinct sample is looked up once, and counts for the point it is up to rounding.
    distinct, which, counts = np.unique(located, axis=0, return_inverse=True, return_counts=True)
    scale = max(1.0, float(np.abs(points).max()))
    nearest = np.zeros(len(distinct), dtype=np.int64)
    near = np.zeros(len(distinct), dtype=bool)
    for row, sample in enumerate(distinct):
        apart = np.abs(points - sample).max(axis=1)
        nearest[row] = apart.argmin()
        near[row] = apart[nearest[row]] <= 1e-9 * scale
    if not near.all():
        first = int(np.flatnonzero(~near[which.ravel()])[0])
        raise _no_point(points, located[first], f"number {first}" if at is None else at(first))
    return np.bincount(nearest, weights=counts, minlength=len(space)).astype(np.int64)


def _no_point(points: NDArray[Any], sample: NDArray[np.float64], where: str) -> SpecError:
    """Return the error about a sample that is no point. It never shows the coordinates: they may be a person's."""
    wrong = f"{where} is no point of the space"
    if points.shape[1] > 1 or points.min() <= sample[0] <= points.max() or np.isnan(sample[0]):
        return SpecError("samples", wrong, "remove or round it")
    ends = f"{points.min():.10g} and {points.max():.10g}"
    return SpecError("samples", f"{wrong}: it is beyond the ends, {ends}", "remove it, or take a space that has it")
