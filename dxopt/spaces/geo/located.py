"""Locate the points of a space on the Earth, for maps, GeoJSON and check-ins."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from dxopt.errors import UnsupportedError
from dxopt.spaces.globe import OnEarth
from dxopt.spaces.positions import Positions
from dxopt.spaces.space import MetricSpace, required_space

AnySpace = TypeVar("AnySpace", bound=MetricSpace)


def positions(space: MetricSpace) -> Positions:
    """The positions of the points of a space.

    Raises
    ------
    UnsupportedError
        If they are not on the Earth.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.geo.positions(dx.geo.points([[45.5, -73.6], [45.5, -73.5]], unit="m")).unit)
    m
    """
    found = known(space)
    if found is None:
        raise UnsupportedError(
            "space",
            "has no positions on the Earth",
            "use haversine or geodesic distances, or a space that dx.geo makes",
        )
    return found


def known(space: MetricSpace) -> Positions | None:
    """The positions of the points of a space, or None where they are not on the Earth."""
    required_space(space)
    if space.positions is None and isinstance(space.metric, OnEarth) and space.points is not None:
        return Positions(space.points, unit=space.metric.unit)
    return space.positions


def placed(space: AnySpace, found: Positions) -> AnySpace:
    """The same space with positions."""
    return replace(space, positions=found)
