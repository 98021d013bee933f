"""Points, boxes and grids on the Earth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.numerics.coerce import (
    POSITIVE,
    as_flag,
    as_number,
    keep_number,
    require_same_rows,
    require_values,
    short_repr,
)
from dxopt.spaces.labels import Numbers, Tuples
from dxopt.spaces.metrics import EARTH_RADIUS_KM, Haversine, OnEarth, on_earth
from dxopt.spaces.positions import Positions, in_degrees, local_plane, unrolled_places
from dxopt.spaces.space import MetricSpace, required_space


def positions(space: MetricSpace) -> Positions:
    """Return the positions of the points of a space.

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
        fix = "use haversine or geodesic distances, or a space that dx.geo makes"
        raise UnsupportedError("space", "has no positions on the Earth", fix)
    return found


def known(space: MetricSpace) -> Positions | None:
    """Return the positions of the points of a space, or None where they are not on the Earth."""
    required_space(space)
    if space.positions is None and isinstance(space.metric, OnEarth) and space.points is not None:
        return Positions(space.points, unit=space.metric.unit)
    return space.positions


def degrees_at(places: MetricSpace | ArrayLike) -> NDArray[np.float64]:
    """Return latitudes and longitudes `(n, 2)` of the points of a space, or of places as people give them."""
    return positions(places).degrees if isinstance(places, MetricSpace) else in_degrees(places)


MOST_DISTORTION = 0.1  # the largest relative error of distances in a local plane that is accepted


def points(
    degrees: ArrayLike,
    *,
    labels: Sequence[Any] | None = None,
    project: bool = False,
    unit: str = "km",
    metric: str = "haversine",
) -> MetricSpace:
    """Make a space of locations with distances on the globe, or with straight ones on a local map.

    Parameters
    ----------
    degrees : (n, 2) array
        (latitude, longitude).
    project : bool
        Euclidean distances in the equirectangular plane around the middle. They are off by a relative error of up to
        tan|φ| · h for latitudes up to φ and locations up to h radians north or south of the middle: 0.4 % in a city
        40 km high at latitude 50°. The points are then coordinates, east and north.
    unit : {"km", "m", "mi"}
        Of the distances.
    metric : {"haversine", "conservative_haversine", "geodesic"}
        Great circles on a sphere, these over 1.005615 so that none is too long, or ways on the ellipsoid WGS 84.

    Raises
    ------
    SpecError
        If the locations are not in degrees, or lie too far apart for a plane.

    Examples
    --------
    >>> import dxopt as dx
    >>> places = dx.geo.points([[45.5, -73.6], [45.5, -73.5]], labels=["west", "east"])
    >>> print(places.distances.round(2).tolist())
    [[0.0, 7.79], [7.79, 0.0]]
    """
    require_same_rows(degrees, labels, "labels")
    located = degrees_at(degrees)
    globe = MetricSpace.from_points(located, on_earth(metric, unit), labels=labels)
    if not as_flag(project, "project"):
        return globe
    if metric != "haversine":
        raise SpecError("project", f"makes straight distances, not {metric} ones", "leave out one of the two")
    # the plane measures east-west lengths in the middle, but they go with cos φ, which changes by tan φ a radian;
    # over a large width great circles leave the parallels, which changes lengths by the order of its square
    height, width = np.radians(np.ptp(unrolled_places(located), axis=0))
    slope = math.tan(math.radians(min(float(np.abs(located[:, 0]).max()), 89.9)))
    distortion = slope * height / 2 + (width / 4) ** 2
    if distortion > MOST_DISTORTION:
        wrong = f"would change distances by about {min(distortion, 1.0):.0%}"
        raise SpecError("project", wrong, "use great circles: leave it out")
    plane = MetricSpace.from_points(local_plane(located, unit), unit=unit)
    return replace(plane, labels=globe.labels, positions=Positions(located, unit=unit))


Shape = tuple[int, int]
MOST_CELLS = 1_000_000
_ROUND = 355.0
"""Degrees: a box across ±180° that is wider has west and east exchanged."""


@dataclass(frozen=True)
class Box:
    """The locations between two latitudes and two longitudes, in degrees; it crosses ±180° where west > east.

    Raises
    ------
    SpecError
        If a side is no such number, the box is empty, or it crosses ±180° and is wider than 355°.

    Examples
    --------
    >>> import dxopt as dx
    >>> box = dx.geo.Box(45.4, -73.8, 45.6, -73.5)
    >>> print(box.south, box.east)
    45.4 -73.5
    """

    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        for names, most in ((("south", "north"), 90.0), (("west", "east"), 180.0)):
            for name in names:
                fix = f"give degrees from -{most:g} to {most:g}"
                keep_number(self, name, fix, lambda degrees, most=most: abs(degrees) <= most)
        if not self.south < self.north:
            raise SpecError("north", f"is {self.north:g}, not above south: {self.south:g}", "give a larger latitude")
        if self.width == 0:
            raise SpecError("east", f"is {self.east:g}, the same as west", "give another longitude")
        if self.west > self.east and self.width > _ROUND:
            wrong = f"is {self.west:g}, above east: {self.east:g}, which makes a box of {self.width:g} degrees"
            raise SpecError("west", wrong, "exchange the two")

    @property
    def width(self) -> float:
        """Degrees from west to east, above 0 and at most 360."""
        return self.east - self.west + (360.0 if self.west > self.east else 0.0)

    @property
    def height(self) -> float:
        """Degrees from south to north."""
        return self.north - self.south

    @property
    def area(self) -> float:
        """Square kilometres."""
        south = math.radians(self.south)
        north = math.radians(self.north)
        # the part of the sphere between two parallels is as high as the cylinder around it (Archimedes)
        return EARTH_RADIUS_KM**2 * math.radians(self.width) * (math.sin(north) - math.sin(south))

    def shape(self, spacing: float, unit: str = "km") -> Shape:
        """Count rows and columns of cells with sides nearest to `spacing`, columns as half-way up the box."""
        Haversine(unit).prepare(np.zeros((1, 2)))
        spacing = as_number(spacing, "spacing", *POSITIVE)
        degree = math.radians(EARTH_RADIUS_KM * Haversine.units[unit])
        across = degree * math.cos(math.radians((self.south + self.north) / 2))
        # so many along a side are too many in all
        rows, columns = (min(side / spacing, 1e9) for side in (self.height * degree, self.width * across))
        return max(1, round(rows)), max(1, round(columns))

    def centres(self, shape: Shape) -> NDArray[np.float64]:
        """Return the centres of equal cells `(rows · columns, 2)`, row by row from the south-west."""
        rows, columns = _checked_shape(shape)
        up = self.south + self.height * (np.arange(rows) + 0.5) / rows
        return _all_pairs(up, self.west + self.width * (np.arange(columns) + 0.5) / columns)

    def outlines(self, shape: Shape) -> NDArray[np.float64]:
        """Return the corners of those cells, `(n, 4, 2)`, counterclockwise; longitudes may exceed 180°."""
        rows, columns = _checked_shape(shape)
        up = np.linspace(self.south, self.south + self.height, rows + 1)
        across = np.linspace(self.west, self.west + self.width, columns + 1)
        south, north = up[:-1], up[1:]
        west, east = across[:-1], across[1:]
        corners = ((south, west), (south, east), (north, east), (north, west))
        return np.stack([_all_pairs(*corner) for corner in corners], axis=1)


def bounding_grid(
    south: float,
    west: float,
    north: float,
    east: float,
    *,
    shape: Sequence[int] | None = None,
    spacing: float | None = None,
    unit: str = "km",
    project: bool = False,
    metric: str = "haversine",
) -> MetricSpace:
    """Take the centres of equal cells that tile a bounding box; named (row, column) from the south-west.

    Parameters
    ----------
    south, west, north, east : float
        Degrees; the box crosses ±180° of longitude where west > east.
    shape : (rows, columns), optional
        Rows from south to north, columns from west to east.
    spacing : float, optional
        Instead of `shape`: about how long the sides of a cell are; as many cells as come nearest to it.
    unit : {"km", "m", "mi"}
        Of distances and of `spacing`.
    project : bool
        Straight distances on a local map, see `points`; those on the globe otherwise.
    metric : {"haversine", "conservative_haversine", "geodesic"}
        See `points`.

    Raises
    ------
    SpecError
        If there is no such box or shape, it has more than a million cells, or not exactly one of shape and spacing
        is given.

    Examples
    --------
    >>> import dxopt as dx
    >>> city = dx.geo.bounding_grid(45.4, -73.8, 45.6, -73.5, spacing=8.0)
    >>> print(len(city.labels), city.labels[0], round(float(city.nearest), 2), "km")
    9 (0, 0) 7.41 km
    """
    box = Box(south, west, north, east)
    if shape is None and spacing is None:
        raise SpecError("shape", "is missing", "give shape or spacing")
    if shape is not None and spacing is not None:
        raise SpecError("spacing", "is given beside shape", "keep one of the two")
    if spacing is not None:
        shape = box.shape(spacing, unit)
    rows, columns = _checked_shape(shape, "shape" if spacing is None else "spacing")
    centres = box.centres((rows, columns))
    # a box across ±180° goes on beyond 180°
    centres[:, 1] -= np.where(centres[:, 1] > 180, 360.0, 0.0)
    space = points(centres, project=project, unit=unit, metric=metric)
    found = Positions(positions(space).degrees, box.outlines((rows, columns)), unit=unit)
    return replace(space, labels=Tuples((Numbers(rows), Numbers(columns))), positions=found)


def _checked_shape(shape: ArrayLike | None, key: str = "shape") -> Shape:
    """Return rows and columns; SpecError about `key` for too many cells, about the shape for no positive numbers."""
    require_values(shape, "shape")
    counts = np.array(None)
    with suppress(Exception):  # whatever a type of others raises
        counts = np.asarray(shape)
    if counts.shape != (2,) or not np.issubdtype(counts.dtype, np.integer) or counts.min() < 1:
        raise SpecError("shape", f"is {short_repr(shape)}", "give positive numbers of rows and columns")
    rows, columns = counts.tolist()
    if rows * columns > MOST_CELLS:
        raise SpecError(key, f"makes {rows * columns:,} cells, more than {MOST_CELLS:,}", "ask for larger cells")
    return rows, columns


def _all_pairs(latitudes: NDArray[np.float64], longitudes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each latitude with each longitude, `(rows · columns, 2)`, row by row."""
    return np.stack(np.meshgrid(latitudes, longitudes, indexing="ij"), axis=-1).reshape(-1, 2)
