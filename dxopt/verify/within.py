"""The level within a radius that a problem was asked for by: whether its ε keeps it, derived here again."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.files import numbers
from dxopt.verify.folder import Result, as_number
from dxopt.verify.metrics import EARTH_RADIUS, ON_EARTH, on_sphere
from dxopt.verify.regions import WIDEST, Region, apart, region
from dxopt.verify.verdict import Broken

_KEYS = {"level", "radius", "positions"}
_LONGER = {"geodesic": 1.0045}
"""How many times as long as great circles distances are at most,"""
_SHORTER = {"geodesic": 1.005615, "conservative_haversine": 1.005615}
"""and these as distances."""
_MOST = 2_000
"""Distances between centres are looked at up to so many of them."""
_SLACK, _ROUNDING = 1e-6, 1e-9
_GAP_SLACK, _GAP_ROUNDING = 5e-7, 1e-7
"""So much more, in parts of the radius and of h, may be between regions that are within the radius."""


def claims_within(result: Result) -> bool:
    """Whether a level within a radius is claimed."""
    return result.summary.get("within") is not None


def check_within(result: Result) -> str:
    """ε times the largest distance of secrets that the radius comes to is at most the level.

    For positions it is the largest distance of two centres of cells whose regions are within the radius of each
    other: that of a centre has the positions that are nearest to it, at most h away, where h is the largest distance
    of a centre to a corner of its cell. Of many cells it is r + 2h.
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
    unit = EARTH_RADIUS[str(arrays[f"{start}positions.unit"])]
    sphere = 2 * math.asin(min(chord / 2, 1.0)) * unit
    longer, shorter = _stretches(str(metric), centres, sphere / unit)
    most = (radius + 2 * longer * sphere) * (1 + _SLACK)
    if result.size > _MOST:
        return most
    angle = radius * shorter / unit
    if max(sphere / unit, angle * (1 + _SLACK)) > WIDEST:
        return float(np.max(result.distances, where=result.distances <= most, initial=0.0)) or most
    return _furthest(result.distances, centres, (radius, most), sphere / unit, angle) or most


def _stretches(metric: str, centres: NDArray[np.float64], within: float) -> tuple[float, float]:
    """How many times as long as great circles distances are at most, and the other way round, near to the centres.

    A local map has all parallels as long as that in the middle: steps east are stretched by the ratio of both.
    """
    if metric != "euclidean":
        return _LONGER.get(metric, 1.0), _SHORTER.get(metric, 1.0)
    latitudes = np.arctan2(centres[:, 2], np.hypot(centres[:, 0], centres[:, 1]))
    south, north = float(latitudes.min()), float(latitudes.max())
    middle = math.cos((south + north) / 2)
    furthest = min(max(north, -south) + within, math.pi / 2)
    nearest = max(south - within, -north - within, 0.0)
    return max(middle / math.cos(furthest), 1.0), max(math.cos(nearest) / middle, 1.0)


def _furthest(
    distances: NDArray[np.float64],
    centres: NDArray[np.float64],
    between: tuple[float, float],
    within: float,
    angle: float,
) -> float:
    """The largest distance up to the first bound, or up to the second of centres with regions an angle apart."""
    near, most = between
    longest = np.triu(np.maximum(distances, distances.T))
    first, second = np.nonzero((longest > near) & (longest <= most))
    far = longest[first, second]
    found: dict[int, Region] = {}
    for k in np.argsort(-far, kind="stable"):
        pair = int(first[k]), int(second[k])
        for a in pair:
            if a not in found:
                found[a] = region(centres, a, within)
        if apart(found[pair[0]], found[pair[1]]) <= angle * (1 + _GAP_SLACK) + _GAP_ROUNDING * within:
            return float(far[k])
    return float(np.max(distances, where=distances <= near, initial=0.0))
