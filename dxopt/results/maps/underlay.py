"""What is drawn under a map: coasts, borders, rivers and the like, in a quiet grey."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.results.maps.window import Window
from dxopt.spaces.geo.areas import Area, geometries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FILL = "#f3f3f1"
_LINE = "#b9b9b5"
_ROOM = 0.05
"""How far beyond the window shapes are cut, as a share of its sides, so that no cut is seen."""

Ring = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Underlay:
    """Shapes that are cut to a window.

    Attributes
    ----------
    areas : list of lists of (k, 2) arrays
        Each area is an outer ring, then its holes, as (longitude, latitude) in the window.
    lines : list of (k, 2) arrays
        Lines, and the borders of areas.
    """

    areas: list[list[Ring]]
    lines: list[Ring]

    @classmethod
    def of(cls, given: Area, window: Window) -> Underlay:
        """The lines and areas of what `dx.geo.inside` takes.

        Raises
        ------
        SpecError
            If it is none of these, has a point among them, or nothing of it is in the window.
        """
        from shapely import affinity, box, make_valid

        wide = _ROOM * (window.east - window.west)
        high = _ROOM * (window.north - window.south)
        frame = box(window.west - wide, window.south - high, window.east + wide, window.north + high)
        areas: list[list[Ring]] = []
        lines: list[Ring] = []
        for shape in geometries(given, "underlay"):
            if shape.geom_type.endswith("Point"):
                raise SpecError("underlay", f"has a {shape.geom_type}", "give lines and polygons")
            area = shape.geom_type.endswith("Polygon")
            # longitudes of the window may be a turn away
            for turned in (affinity.translate(make_valid(shape), turn) for turn in (-360.0, 0.0, 360.0)):
                if not turned.intersects(frame):
                    continue
                lines += _lines(turned.boundary.intersection(frame) if area else turned.intersection(frame))
                areas += _areas(turned.intersection(frame)) if area else []
        if not areas and not lines:
            raise SpecError("underlay", "has nothing in this map", "check that longitudes come before latitudes")
        return cls(areas, lines)

    def draw(self, axes: Axes) -> None:
        """Areas beneath everything; lines over filled cells, which would hide them, and beneath dots."""
        from matplotlib.collections import LineCollection, PathCollection
        from matplotlib.path import Path

        paths = [Path.make_compound_path(*(Path(ring, closed=True) for ring in rings)) for rings in self.areas]
        axes.add_collection(PathCollection(paths, facecolors=_FILL, edgecolors="none", zorder=0.5), autolim=False)
        axes.add_collection(LineCollection(self.lines, colors=_LINE, linewidths=0.8, zorder=2.5), autolim=False)


def _lines(found: Any) -> list[Ring]:
    return [
        np.asarray(part.coords)[:, :2] for part in _parts(found) if part.geom_type in ("LineString", "LinearRing")
    ]


def _areas(found: Any) -> list[list[Ring]]:
    return [
        [np.asarray(ring.coords)[:, :2] for ring in (part.exterior, *part.interiors)]
        for part in _parts(found)
        if part.geom_type == "Polygon"
    ]


def _parts(found: Any) -> list[Any]:
    return [part for inner in found.geoms for part in _parts(inner)] if hasattr(found, "geoms") else [found]
