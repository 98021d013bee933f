"""The level within a radius that a problem was asked for by: whether its ε keeps it, derived here again."""

from __future__ import annotations

import math

import numpy as np

from dxopt.verify.files import numbers
from dxopt.verify.folder import Result, as_number
from dxopt.verify.metrics import EARTH_RADIUS, ON_EARTH, on_sphere
from dxopt.verify.verdict import Broken

_KEYS = {"level", "radius", "positions"}
_FLAT, _ELLIPSOID = 1.1, 1.0045
"""How many times as long as great circles distances on a local map, or on the ellipsoid, are at most."""
_MOST = 2_000
"""Distances between centres are looked at up to so many of them."""
_SLACK, _ROUNDING = 1e-6, 1e-9


def claims_within(result: Result) -> bool:
    """Whether a level within a radius is claimed."""
    return result.summary.get("within") is not None


def check_within(result: Result) -> str:
    """ε times the largest distance of secrets that the radius comes to is at most the level.

    For positions it is the largest distance of two centres of cells up to r + 2h, where h is the largest distance of
    a centre to a corner of its cell.
    """
    claimed = result.summary["within"]
    if not isinstance(claimed, dict) or {*claimed} != _KEYS or not isinstance(claimed["positions"], bool):
        raise Broken(f"report.json: within is {claimed!r}")
    level, radius = (as_number(claimed[key], f"report.json: {key} within") for key in ("level", "radius"))
    if not (0 < level < math.inf and 0 < radius < math.inf):
        raise Broken(f"report.json: within has a level of {level} and a radius of {radius}")
    far = _across(result, radius) if claimed["positions"] else radius
    if not result.epsilon * far <= level * (1 + _ROUNDING):
        raise Broken(
            f"report.json: a level of {level:.10g} within {radius:.10g} takes an epsilon of {level / far:.10g}, but "
            f"{result.epsilon:.10g} was asked for"
        )
    between = "positions" if claimed["positions"] else "secrets"
    return f"{level:.10g} between {between} within {radius:.10g}, which are in places up to {far:.10g} apart"


def _across(result: Result, radius: float) -> float:
    """How far apart the centres of cells may be that have positions within the radius."""
    arrays = result.mechanism
    start = next((start for start in ("", "space.") if f"{start}positions.outlines" in arrays), None)
    metric = (result.described.get("space") or {}).get("metric")
    if start is None or (metric not in ON_EARTH and metric != "euclidean"):
        raise Broken("report.json: a level between positions is claimed, but there are no cells that they lie in")
    centres = on_sphere(numbers(arrays, f"{start}positions.degrees", result.size, 2))
    outlines = numbers(arrays, f"{start}positions.outlines", result.size, None, 2)
    corners = on_sphere(outlines.reshape(-1, 2)).reshape(*outlines.shape[:2], 3)
    chord = float(np.linalg.norm(corners - centres[:, None, :], axis=2).max())
    sphere = 2 * math.asin(min(chord / 2, 1.0)) * EARTH_RADIUS[str(arrays[f"{start}positions.unit"])]
    longer = {"euclidean": _FLAT, "geodesic": _ELLIPSOID}.get(str(metric), 1.0)
    most = (radius + 2 * longer * sphere) * (1 + _SLACK)
    if result.size > _MOST:
        return most
    return float(np.max(result.distances, where=result.distances <= most, initial=0.0)) or most
