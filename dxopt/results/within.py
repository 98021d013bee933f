"""The level and the radius that a problem was asked for by, in report.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dxopt.errors import SpecError
from dxopt.results.files import REPORT
from dxopt.spaces.geo.levels import Level

_KINDS = {"level": (int, float), "radius": (int, float), "positions": (bool,)}


def content(within: Level | None) -> dict[str, Any] | None:
    """What report.json holds: null where ε was given as a number."""
    return None if within is None else {key: getattr(within, key) for key in _KINDS}


def within_of(summary: Mapping[str, Any], epsilon: float) -> Level | None:
    """The inverse of `content`, from all of report.json and the ε; results of earlier versions have none.

    Raises
    ------
    SpecError
        If it is no level and radius above 0.
    """
    found = summary.get("within")
    if found is None:
        return None
    if not isinstance(found, dict) or {key: type(entry) in _KINDS.get(key, ()) for key, entry in found.items()} != (
        dict.fromkeys(_KINDS, True)
    ):
        raise SpecError(REPORT, "within is no level, radius and positions", "solve the problem again")
    if not (found["level"] > 0 and found["radius"] > 0):
        raise SpecError(REPORT, "within has a level or radius that is not positive", "solve the problem again")
    return Level(epsilon, float(found["level"]), float(found["radius"]), found["positions"])
