"""Areas and lines on the Earth, from GeoJSON, Shapely or GeoPandas: what lies within, what is drawn under maps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, optional
from dxopt.runtime.reading import MOST_GRAPH, MOST_LISTS, as_path, content
from dxopt.spaces.geo.points import degrees_at
from dxopt.spaces.positions import as_wgs84, has_geometry, require_geojson_in_wgs84
from dxopt.spaces.space import MetricSpace

Area = Any
_AREAS = ("Polygon", "MultiPolygon")


def inside(places: MetricSpace | ArrayLike, area: Area) -> NDArray[np.bool_]:
    """Return the mask `(n,)` of the places in an area, its border included.

    Parameters
    ----------
    places : MetricSpace, or (n, 2) array of (latitude, longitude)
        A space has its points on the Earth.
    area : file name, GeoJSON as a mapping, geometry of Shapely, or GeoDataFrame or GeoSeries
        Polygons. GeoJSON and Shapely in longitude and latitude, frames in their CRS.

    Raises
    ------
    SpecError
        If the area is no such thing, or has no polygon, or lines or points beside them.
    UnsupportedError
        If Shapely is not installed, or the space has no positions on the Earth.

    Examples
    --------
    >>> import dxopt as dx
    >>> park = {"type": "Polygon", "coordinates": [[[-73.6, 45.5], [-73.5, 45.5], [-73.5, 45.6], [-73.6, 45.5]]]}
    >>> print(dx.geo.inside([[45.52, -73.53], [45.58, -73.59]], park).tolist())
    [True, False]
    """
    shapely = _library()
    degrees = degrees_at(places)
    whole = union_of(area, "area")
    shapely.prepare(whole)
    longitude = (degrees[:, 1] + 180.0) % 360.0 - 180.0
    # areas across ±180° may be written with longitudes beyond it
    found = [shapely.intersects_xy(whole, longitude + turn, degrees[:, 0]) for turn in (0.0, -360.0, 360.0)]
    return np.asarray(np.any(found, axis=0))


def is_area(given: Any) -> bool:
    """Return whether something is the name of a file, GeoJSON, a geometry or a frame of these, and no array."""
    return isinstance(given, str | Path | Mapping) or has_geometry(given) or hasattr(given, "geom_type")


def union_of(area: Area, field: str) -> Any:
    """Return all polygons of an area as one geometry of Shapely; SpecError where there are none, or others."""
    shapely = _library()
    shapes = [shape for shape, _ in geometries_of(area, field)]
    other = [shape.geom_type for shape in shapes if shape.geom_type not in _AREAS]
    if other or not shapes:
        raise SpecError(field, f"has {'a ' + other[0] if other else 'no polygon'}", "give polygons alone")
    return shapely.union_all([shapely.make_valid(shape) for shape in shapes])


def geometries_of(given: Area, field: str) -> list[tuple[Any, Mapping[str, Any]]]:
    """Return geometries in longitude and latitude, with the properties of the feature or other columns of the frame.

    Those of collections come one by one, empty ones are left out.

    Raises
    ------
    SpecError
        If it is no file of GeoJSON, mapping, geometry or frame, or in another CRS than it may be.
    """
    shapely = _library()
    if has_geometry(given):
        shapes = as_wgs84(given.geometry, field)
        rows = [{}] * len(shapes)
        if hasattr(given, "columns"):
            rows = given.drop(columns=given.geometry.name).to_dict("records")
        found = [(shape, row) for shape, row in zip(shapes, rows, strict=True) if shape is not None]
    elif isinstance(given, shapely.Geometry):
        found = [(given, {})]
    else:
        found = _of_geojson(_read(as_path(given, field), field) if isinstance(given, str | Path) else given, field)
    parts = [(part, about) for shape, about in found for part in _parts_of(shape)]
    for part, _ in parts:
        west, south, east, north = part.bounds
        # longitudes may go one turn beyond ±180°, as `inside` looks there too
        if not (-90 <= south <= north <= 90 and -540 <= west <= east <= 540):
            raise SpecError(field, "is not in degrees, longitude before latitude", "convert it to WGS 84")
    return parts


def _parts_of(shape: Any) -> list[Any]:
    """Return the geometries of which a geometry consists, from collections within collections; none if empty."""
    if shape.is_empty:
        return []
    if shape.geom_type == "GeometryCollection":
        return [part for inner in shape.geoms for part in _parts_of(inner)]
    return [shape]


def _read(file: Path, field: str) -> Any:
    try:
        raw = content(file, MOST_GRAPH)
        if raw.count(b"[") + raw.count(b"{") > MOST_LISTS:
            raise SpecError(field, f"{file.name} has more than {MOST_LISTS:,} coordinates", "simplify its outlines")
        return json.loads(raw.decode("utf-8-sig"))
    except SpecError:
        raise
    except FileNotFoundError:
        raise SpecError(field, f"there is no file {str(file)!r}", "check the name") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(field, f"{str(file)!r} cannot be read: {reason}", "name another") from None
    except (ValueError, RecursionError):
        raise SpecError(field, f"{file.name} is no GeoJSON", "give a file of GeoJSON") from None


def _of_geojson(given: Any, field: str) -> list[tuple[Any, Mapping[str, Any]]]:
    """Return the geometries of GeoJSON (RFC 7946), in longitude and latitude on WGS 84, with their properties."""
    shapely = _library()
    wrong = SpecError(field, "is no GeoJSON", "give a file or mapping of GeoJSON, a geometry of Shapely, or a frame")
    if not isinstance(given, Mapping):
        raise wrong
    require_geojson_in_wgs84(given.get("crs"), field)
    kind = given.get("type")
    try:
        if kind == "FeatureCollection":
            return [found for feature in given["features"] for found in _of_geojson(feature, field)]
        if kind == "Feature":
            about = given.get("properties")
            about = about if isinstance(about, Mapping) else {}
            return [] if given["geometry"] is None else [(shapely.geometry.shape(given["geometry"]), about)]
        return [(shapely.geometry.shape(given), {})]
    except SpecError:
        raise
    except Exception:  # Shapely lets whatever it meets escape
        raise wrong from None


def _library() -> Any:
    """Return Shapely, with its module `geometry` loaded; UnsupportedError where it is not installed."""
    optional("shapely.geometry")
    return optional("shapely")
