"""Points of GeoPandas, in any coordinate reference system (CRS), as latitudes and longitudes on WGS 84."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.spaces.metrics import METRICS_ON_EARTH, OnEarth

WGS84 = "OGC:CRS84"
"""Longitude and latitude in degrees, as in GeoJSON."""


def has_geometry(given: Any) -> bool:
    """Return True for a GeoDataFrame or a GeoSeries of GeoPandas."""
    return all(hasattr(given, name) for name in ("geom_type", "to_crs", "crs"))


def without_geometry(given: Any, metric: Any) -> Any:
    """Points of GeoPandas in degrees, for a metric on the Earth; SpecError under another one. Others as they are."""
    if not has_geometry(given):
        return given
    if not (isinstance(metric, OnEarth) or (isinstance(metric, str) and metric in METRICS_ON_EARTH)):
        wrong = "are places on the Earth, which the metric does not measure"
        raise SpecError("points", wrong, f"use metric {' or '.join(METRICS_ON_EARTH)}")
    return degrees_of(given)


def degrees_of(given: Any, field: str = "points") -> NDArray[np.float64]:
    """Latitudes and longitudes `(n, 2)` in degrees of the points of a GeoDataFrame or GeoSeries.

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
        raise SpecError(field, f"row {row} is nowhere on the Earth in {_name(given.crs)}", "check the CRS")
    return degrees


def as_wgs84(given: Any, field: str) -> Any:
    """The same geometries in longitude and latitude; SpecError where they have no CRS."""
    if given.crs is None:
        raise SpecError(field, "have no CRS", "set it, such as frame.set_crs('EPSG:4326') for degrees")
    return given.to_crs(WGS84)


def _name(crs: Any) -> str:
    return str(getattr(crs, "name", crs))
