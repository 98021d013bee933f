"""Positions on the Earth: coordinates as people give them, arithmetic of degrees, and drawing in a plane.

Coordinates come as arrays, as data frames whose columns have names, or as points of GeoPandas in any coordinate
reference system (CRS).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.numerics.coerce import VALUE, as_numbers, ragged, require_values
from dxopt.runtime.column_names import in_degrees as degrees_in
from dxopt.runtime.column_names import latitude_first, means
from dxopt.spaces.metrics import EARTH_RADIUS_KM, METRICS_ON_EARTH, Haversine, OnEarth

WGS84 = "OGC:CRS84"
"""Longitude and latitude in degrees, as in GeoJSON."""
_WGS84 = {("OGC", "CRS84"), ("EPSG", "4326")}
_CRS = re.compile(
    r"(?:urn:(?:x-)?ogc:def:crs:|https?://www\.opengis\.net/def/crs/)?([a-z]+)(?:[:/][\w.]*)?[:/](\w+)", re.IGNORECASE
)
"""The authority and the code in the name of a coordinate system, with a version between them or without."""
NAME_DEGREES = "name the columns lat and lon, or give rows of (latitude, longitude)"


@dataclass(frozen=True, eq=False)
class Positions:
    """Locations on the Earth, in degrees (latitude, longitude).

    Attributes
    ----------
    degrees : (n, 2) array
    outlines : (n, k, 2) array or None
        Corners of the area that each point represents; shorter outlines repeat their last corner.
    streets : (m, 2, 2) array or None
        Both ends of straight pieces of road; longitudes may exceed 180°, as those of outlines, rather than jump.
    unit : {"km", "m", "mi"}
        What `within` is measured in.

    Examples
    --------
    >>> import dxopt as dx
    >>> places = dx.geo.points([[45.5, -73.6], [45.6, -73.6]])
    >>> where = dx.geo.positions(places)
    >>> print(where.degrees.tolist(), where.unit)
    [[45.5, -73.6], [45.6, -73.6]] km
    """

    degrees: NDArray[np.float64]
    outlines: NDArray[np.float64] | None = None
    streets: NDArray[np.float64] | None = None
    unit: str = "km"

    def __post_init__(self) -> None:
        if not isinstance(self.degrees, np.ndarray):
            object.__setattr__(self, "degrees", in_degrees(self.degrees))
        Haversine(self.unit).prepare(self.degrees)
        for field, corners in (("outlines", self.outlines), ("streets", self.streets)):
            if corners is not None:
                _check_corners(field, corners)
        if self.outlines is not None and not _lie_within(self.degrees, self.outlines):
            raise SpecError("outlines", "are not around the positions", "give the corners of the area of each")
        for array in (self.degrees, self.outlines, self.streets):
            if array is not None:
                array.flags.writeable = False


def _check_corners(field: str, corners: NDArray[Any]) -> None:
    """Raise SpecError unless these are latitudes and longitudes `(n, k, 2)`, both ends of each street."""
    fit = corners.dtype.kind == "f" and corners.ndim == 3 and corners.shape[2] == 2
    fit = fit and (corners.shape[1] > 0 if field == "outlines" else corners.shape[1] == 2)
    if not fit or not (np.abs(corners) <= (90.0, 540.0)).all():
        raise SpecError(
            field, f"of shape {corners.shape} are not in degrees", "give (latitude, longitude) of corners"
        )


def _lie_within(degrees: NDArray[np.float64], outlines: NDArray[np.float64]) -> bool:
    """Return True if each position `(n, 2)` is in the least box around the corners `(n, k, 2)` of its area."""
    if len(degrees) != len(outlines):
        return False
    turns = np.floor((outlines[..., 1] - degrees[:, None, 1] + 180.0) / 360.0)
    corners = outlines - turns[..., None] * (0.0, 360.0)
    return bool(((corners.min(axis=1) <= degrees) & (degrees <= corners.max(axis=1))).all())


def to_corners(found: Positions) -> NDArray[np.float64] | None:
    """Return vectors `(n, k, 3)` from points of the unit sphere to the corners of their outlines; None without."""
    if found.outlines is None:
        return None
    corners = on_sphere(found.outlines.reshape(-1, 2)).reshape(*found.outlines.shape[:2], 3)
    return corners - on_sphere(found.degrees)[:, None, :]


def coordinates_of(given: ArrayLike) -> NDArray:
    """Return points as a new read-only array `(n, k)`; SpecError unless there is a row of coordinates for each."""
    require_values(given, "points")
    try:
        located = np.array(given, order="C")
    except ValueError:
        raise SpecError("points", f"have {ragged(given)}", "give each point as many coordinates") from None
    if located.ndim == 1:
        located = located[:, None]
    if located.ndim != 2 or not located.size:
        raise SpecError("points", f"have shape {located.shape}", "give one row of coordinates per point")
    other = None if located.dtype != object else next((e for e in located.flat if not isinstance(e, VALUE)), None)
    if other is not None:
        fix = "give one row of coordinates per point, or a data frame"
        raise SpecError("points", f"have an entry of type {type(other).__name__}", fix)
    objects = located.dtype == object and all(isinstance(entry, Real) for entry in located.flat)
    if objects or np.issubdtype(located.dtype, np.number) or located.dtype == bool:
        located = located.astype(float, copy=False)
    located.flags.writeable = False
    return located


def names_of(given: Any) -> tuple[str, ...]:
    """Return the names of the columns of a data frame or a table; none for all else, and for points of GeoPandas."""
    if len(getattr(given, "shape", ())) != 2 or has_geometry(given):
        return ()
    return tuple(map(str, getattr(given, "column_names", getattr(given, "columns", ()))))


def are_degrees(names: Sequence[str]) -> bool:
    """Return True if two names, in either order, mean a latitude and a longitude, as `pickup_lat` and `lng`."""
    return len(names) == 2 and latitude_first(*names) is not None


def require_latitude_first(names: Sequence[str], field: str, fix: str = "") -> None:
    """Raise SpecError unless two names mean a latitude and a longitude, in this order.

    Names that tell no order are refused with a fix, which says how to tell it; without one they were told, and only
    those are refused that mean the other.
    """
    first, second = names
    order = latitude_first(first, second)
    if order is False:
        other = f"places are (latitude, longitude): give [{second!r}, {first!r}]"
        raise SpecError(field, f"are {first!r} and {second!r}, in this order", other)
    if order is None and fix:
        raise SpecError(field, f"are {first!r} and {second!r}: which place they are of cannot be known", fix)
    for name, role, other in ((first, "latitude", "longitude"), (second, "longitude", "latitude")):
        if order is None and means(name) == other:
            raise SpecError(field, f"have {name!r} as the {role}, whose name means a {other}", "exchange the two")


def degrees_of_columns(given: Any, located: NDArray, field: str = "points") -> NDArray:
    """Return coordinates `(n, 2)` in degrees, of the columns of a frame that `located` was read from, if it is one.

    SpecError unless their names mean a latitude and a longitude. Columns such as `latitudeE7` are divided.
    """
    names = names_of(given)
    if len(names) != 2 or located.shape[1:] != (2,):
        return located
    require_latitude_first(names, field, NAME_DEGREES)
    found = np.column_stack([degrees_in(name, values) for name, values in zip(names, located.T, strict=True)])
    if not np.isfinite(found).all():
        raise SpecError(
            field, f"{' or '.join(map(repr, names))} has numbers that are not whole", "rename the columns"
        )
    return found


def require_same_order(names: Sequence[str], axes: Sequence[str], field: str) -> None:
    """Raise SpecError where columns have the names of the axes of a space, in another order."""
    if tuple(names) != tuple(axes) and sorted(names) == sorted(axes):
        wrong = f"are {', '.join(map(repr, names))}, in another order than those of the space"
        raise SpecError(field, wrong, f"give {list(axes)}")


def has_geometry(given: Any) -> bool:
    """Return True for a GeoDataFrame or a GeoSeries of GeoPandas."""
    return all(hasattr(given, name) for name in ("geom_type", "to_crs", "crs"))


def located_under(given: Any, metric: Any) -> NDArray:
    """Return points as a read-only array `(n, k)`; in degrees, latitude first, under a metric on the Earth.

    SpecError if points of GeoPandas have another metric, or the names of a frame's columns do not mean degrees.
    """
    if isinstance(metric, OnEarth) or (isinstance(metric, str) and metric in METRICS_ON_EARTH):
        return coordinates_of(in_degrees(given))
    if has_geometry(given):
        wrong = "are places on the Earth, which the metric does not measure"
        raise SpecError("points", wrong, f"use metric {' or '.join(METRICS_ON_EARTH)}")
    return coordinates_of(given)


def degrees_of(given: Any, field: str = "points") -> NDArray[np.float64]:
    """Return the latitudes and longitudes `(n, 2)` in degrees of the points of a GeoDataFrame or GeoSeries.

    Coordinates are taken by name, as GeoPandas keeps x for east and y for north in every CRS.

    Raises
    ------
    SpecError
        If it has no CRS, a geometry is missing or no point, or a point is none on the Earth.
    """
    kinds = np.array([str(kind) for kind in given.geom_type])
    missing = np.asarray(given.geometry.isna() | given.geometry.is_empty)
    if missing.any():
        raise SpecError(field, f"row {int(np.flatnonzero(missing)[0])} has no geometry", "remove or mend it")
    if (kinds != "Point").any():
        row = int(np.flatnonzero(kinds != "Point")[0])
        fix = "give points, such as frame.representative_point()"
        raise SpecError(field, f"row {row} is a {kinds[row]}, not a point", fix)
    placed = as_wgs84(given.geometry, field)
    degrees = np.column_stack([np.asarray(placed.y, dtype=float), np.asarray(placed.x, dtype=float)])
    if not np.isfinite(degrees).all():
        row = int(np.flatnonzero(~np.isfinite(degrees).all(axis=1))[0])
        crs = getattr(given.crs, "name", given.crs)
        raise SpecError(field, f"row {row} is nowhere on the Earth in {crs}", "check the CRS")
    return degrees


def require_wgs84(authority: Any, code: Any, field: str = "geometry") -> None:
    """Raise SpecError unless a coordinate system is WGS 84 in degrees, by the authority and code that name it."""
    if (str(authority).upper(), str(code).upper()) not in _WGS84:
        named = f"{authority}:{code}" if code else "without a code"
        fix = "convert the data to WGS 84 first, as GeoDataFrame.to_crs(4326) does"
        raise SpecError(field, f"is in another coordinate system ({named})", fix)


def require_geojson_in_wgs84(crs: Any, field: str = "geometry") -> None:
    """Raise SpecError unless the member `crs` of GeoJSON, which may be missing, names WGS 84."""
    if crs is None:
        return
    try:
        about = crs["properties"]
        named = _CRS.fullmatch(str(about["name"] if "name" in about else f"EPSG:{about['code']}"))
    except (KeyError, TypeError):
        named = None
    authority, code = named.groups() if named else (None, None)
    require_wgs84(authority, code, field)


def as_wgs84(given: Any, field: str) -> Any:
    """Convert geometries to longitude and latitude; SpecError where they have no CRS."""
    if given.crs is None:
        raise SpecError(field, "have no CRS", "set it, such as frame.set_crs('EPSG:4326') for degrees")
    return given.to_crs(WGS84)


def coordinates(rows: ArrayLike, columns: int = 2, field: str = "points") -> NDArray[np.float64]:
    """Return rows of coordinates as an array `(m, columns)`; SpecError unless they are as many finite numbers."""
    located = np.array(as_numbers(rows, field, "give one row of coordinates per place"), order="C")
    if located.ndim != 2 or located.shape[1] != columns:
        what = "(latitude, longitude)" if columns == 2 else f"{columns} coordinates"
        raise SpecError(field, f"have shape {located.shape}", f"give rows of {what}")
    if not np.isfinite(located).all():
        raise SpecError(field, "have a coordinate that is not finite", "remove or mend it")
    return located


def in_degrees(degrees: ArrayLike, field: str = "points") -> NDArray[np.float64]:
    """Return locations `(m, 2)` as (latitude, longitude) in degrees, converted from their CRS if from GeoPandas.

    SpecError where one is not on the Earth, or columns are named longitude and latitude, in this order.
    """
    if has_geometry(degrees):
        degrees = degrees_of(degrees, field)
    located = degrees_of_columns(degrees, coordinates(degrees, field=field), field)
    Haversine().prepare(located)
    return located


def unrolled(longitudes: NDArray[np.float64], start: ArrayLike) -> NDArray[np.float64]:
    """Shift longitudes by whole turns, to `start - 180` up to `start + 180` degrees; those there stay as they are."""
    turns = np.floor((longitudes - np.asarray(start) + 180.0) / 360.0)
    return np.where(turns == 0, longitudes, longitudes - 360.0 * turns)


def unrolled_places(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return locations `(n, 2)` with longitudes that do not jump at ±180°, if all are within 180° of the first."""
    return np.column_stack([degrees[:, 0], unrolled(degrees[:, 1], float(degrees[0, 1]))])


def on_sphere(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit vectors `(n, 3)` of locations `(n, 2)`, (latitude, longitude) in degrees."""
    latitude, longitude = np.radians(degrees).T
    cos_latitude = np.cos(latitude)
    return np.column_stack([cos_latitude * np.cos(longitude), cos_latitude * np.sin(longitude), np.sin(latitude)])


def distance_of(chords: ArrayLike, unit: str) -> NDArray[np.float64]:
    """Return the great-circle distances, in a unit, of places whose chords on the unit sphere have these lengths."""
    return angles_of(chords) * (EARTH_RADIUS_KM * OnEarth.units[unit])


def angles_of(chords: ArrayLike) -> NDArray[np.float64]:
    """Return the angles, in radians, that chords of these lengths span on the unit sphere."""
    return 2 * np.arcsin(np.minimum(np.asarray(chords) / 2, 1.0))


_WIDEST = 180.0  # degrees of longitude from which on places have no local plane


def local_plane(degrees: ArrayLike, unit: str = "km") -> NDArray[np.float64]:
    """Project locations to the equirectangular plane around their middle.

    x = R cos(lat₀) (lon - lon₀) points east and y = R (lat - lat₀) north, with R = 6371.0088 km, both angles in
    radians, and (lat₀, lon₀) the middle of the ranges of latitudes and longitudes. Distances are those of the globe
    up to a relative error of the order of the squared extent over R². Longitudes count from the first location,
    modulo 360, so that a set may lie on both sides of the antimeridian.

    Parameters
    ----------
    degrees : (n, 2) array
        Latitude and longitude in degrees.
    unit : {"km", "m", "mi"}
        Of the coordinates x and y, which are returned as `(n, 2)`.

    Raises
    ------
    SpecError
        If these are no locations, one is a pole, or they span 180 degrees of longitude or more, as around a pole.
    """
    located = in_degrees(degrees)
    if not len(located):
        raise SpecError("points", "are none", "give at least one place")
    radius = EARTH_RADIUS_KM * Haversine.units[Haversine(unit).prepare(located).unit]
    located = unrolled_places(located)
    latitude, longitude = located.T
    if np.abs(latitude).max() >= 90 or np.ptp(longitude) >= _WIDEST:
        wrong = f"have a pole among them or span {_WIDEST:g} degrees of longitude"
        raise SpecError("points", wrong, "a plane needs places of one region")
    middle = 0.5 * (located.min(axis=0) + located.max(axis=0))
    north, east = np.radians(located - middle).T
    return radius * np.column_stack([np.cos(np.radians(middle[0])) * east, north])
