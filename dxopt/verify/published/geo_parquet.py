"""Metadata of the points of a published file of GeoParquet, word by word: nothing else may be said."""

from __future__ import annotations

import json
from typing import Any

_AXES = {
    "north": {"name": "Geodetic latitude", "abbreviation": "Lat", "direction": "north", "unit": "degree"},
    "east": {"name": "Geodetic longitude", "abbreviation": "Lon", "direction": "east", "unit": "degree"},
}
_ELLIPSOID = {"name": "WGS 84", "semi_major_axis": 6378137, "inverse_flattening": 298.257223563}
_NAMED = {
    ("EPSG", "4326"): ("WGS 84", 4326, ("north", "east")),
    ("OGC", "CRS84"): ("WGS 84 (CRS84)", "CRS84", ("east", "north")),
}
"""Of the coordinate systems that are WGS 84 in degrees: the name, the code in JSON, and the axes.

Whatever their order, GeoParquet has longitudes first.
"""


def described(column: str, system: tuple[str, str] | None) -> bytes:
    """Return the metadata `geo` of a file whose points are in a column, in a coordinate system or the usual one.

    KeyError where that is not WGS 84 in degrees.
    """
    said: dict[str, Any] = {"encoding": "WKB", "geometry_types": ["Point"]}
    if system is not None:
        name, code, axes = _NAMED[system]
        said["crs"] = {
            "$schema": "https://proj.org/schemas/v0.7/projjson.schema.json",
            "type": "GeographicCRS",
            "name": name,
            "datum": {
                "type": "GeodeticReferenceFrame",
                "name": "World Geodetic System 1984",
                "ellipsoid": _ELLIPSOID,
            },
            "coordinate_system": {"subtype": "ellipsoidal", "axis": [_AXES[axis] for axis in axes]},
            "id": {"authority": system[0], "code": code},
        }
    return json.dumps({"version": "1.1.0", "primary_column": column, "columns": {column: said}}).encode()


def all_described(column: str) -> list[bytes]:
    """Return all metadata that a file may have whose points are in a column."""
    return [described(column, system) for system in (None, *_NAMED)]
