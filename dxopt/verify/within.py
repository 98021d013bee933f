"""The level within a radius that a problem was asked for by: whether its ε keeps it, derived here again."""

from __future__ import annotations

import math

from dxopt.verify.cells import Cells
from dxopt.verify.folder import Result, as_number
from dxopt.verify.verdict import Broken

_KEYS = {"level", "radius", "positions"}
_ROUNDING = 1e-9


def claims_within(result: Result) -> bool:
    """Whether a level within a radius is claimed."""
    return result.named.get("within") is not None


def check_within(result: Result) -> str:
    """ε times the largest distance of secrets that the radius comes to is at most the level.

    For positions it is the largest distance of two centres of cells whose regions are within the radius of each
    other: that of a centre has the positions that are nearest to it, at most h away, where h is the largest distance
    of a centre to a corner of its cell. Of many cells it is r + 2h.
    """
    claimed = result.named["within"]
    if not isinstance(claimed, dict) or {*claimed} != _KEYS or not isinstance(claimed["positions"], bool):
        raise Broken(f"claims.json: within is {claimed!r}")
    level, radius = (as_number(claimed[key], f"claims.json: {key} within") for key in ("level", "radius"))
    if not (0 < level < math.inf and 0 < radius < math.inf):
        raise Broken(f"claims.json: within has a level of {level} and a radius of {radius}")
    far = _across(result, radius) if claimed["positions"] else radius
    if not result.epsilon * far <= level * (1 + _ROUNDING):
        raise Broken(
            f"claims.json: a level of {level:.10g} within {radius:.10g} takes an epsilon of {level / far:.10g}, but "
            f"{result.epsilon:.10g} was asked for"
        )
    between = "positions" if claimed["positions"] else "secrets"
    return f"{level:.10g} between {between} within {radius:.10g}, which are in places up to {far:.10g} apart"


def _across(result: Result, radius: float) -> float:
    """How far apart the centres of cells may be that have positions within the radius."""
    arrays = result.mechanism
    metric = str(arrays["space.metric"]) if "space.metric" in arrays else None
    outlined = "space.positions.outlines" in arrays
    cells = Cells.of(arrays, "space.", result.distances, metric) if outlined else None
    far = None if cells is None else cells.across(radius)
    if far is None:
        raise Broken("claims.json: a level between positions is claimed, but there are no cells that they lie in")
    return far
