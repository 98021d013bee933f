"""Check that check-ins, or other positions, are about the points that they are counted for."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import PlausibilityWarning, SpecError
from dxopt.spaces.geo.nearest import Near, nearest_of
from dxopt.spaces.space import MetricSpace

MOST_OUTSIDE = 0.05
"""The largest share of check-ins outside of the space that is not worth a warning,"""
MOST_LEFT_OUT = 0.5
"""and that of those which were left out as asked for."""

_SWAPPED = "they fit with their coordinates swapped: give both in one order, (latitude, longitude) on the Earth"


def check_ins_outside(
    space: MetricSpace,
    places: ArrayLike,
    found: Near,
    counted: NDArray[np.float64],
    kept: NDArray[np.bool_],
) -> tuple[PlausibilityWarning, ...]:
    """The warning where many check-ins are outside of the space.

    Parameters
    ----------
    space : MetricSpace
    places : (m, k) array
    found : Near
        What is nearest to them.
    counted : (m,) array
        Their weights.
    kept : (m,) array of bool
        Which of them are counted at all; all, unless some are left out as asked for.

    Raises
    ------
    SpecError
        If all that count are outside.
    """
    chosen = not kept.all()
    if not chosen:
        require_some_inside(space, places, found, counted)
    whole = counted.sum()
    far = ~kept if chosen else found.outside
    share = float(counted[far].sum() / whole)
    if share <= (MOST_LEFT_OUT if chosen else MOST_OUTSIDE):
        return ()
    swapped = _fit_swapped(space, places, counted)
    furthest = found.length(found.apart[far].max())
    seen = f"{share:.0%} of the check-ins are outside of the space, up to {furthest} from the nearest of its points"
    fix = "enlarge the space, or leave them out by `within`, as they would count for its rim"
    if chosen:
        seen = f"{share:.0%} of the check-ins are left out, up to {furthest} from the nearest point"
        fix = "enlarge the space or `within`, or check the order and unit of the coordinates"
    if swapped:
        fix = _SWAPPED
    return (PlausibilityWarning("check_ins_outside", "prior", seen, fix),)


def require_some_within(
    space: MetricSpace, places: ArrayLike, found: Near, counted: NDArray[np.float64], within: float
) -> None:
    """Raise SpecError unless a check-in that counts is at most so far from a point."""
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
    raise SpecError(field, wrong, _SWAPPED if _fit_swapped(space, places, counted) else fix)


def _fit_swapped(space: MetricSpace, places: ArrayLike, counted: NDArray[np.float64]) -> bool:
    """Return True if most check-ins are inside once their two coordinates are swapped."""
    located = np.asarray(places, dtype=float)
    if located.shape[1] != 2:
        return False
    try:
        found = nearest_of(space, located[:, ::-1])
    except SpecError:
        return False
    return bool(counted[found.outside].sum() <= MOST_OUTSIDE * counted.sum())
