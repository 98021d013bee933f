"""Cells of H3, the hexagonal grid of the Earth; needs the package h3."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError, optional
from dxopt.numerics.coerce import as_numbers, checked_count, short_repr
from dxopt.spaces.geo.areas import Area, is_area, union_of
from dxopt.spaces.geo.points import MOST_CELLS, Box, degrees_at
from dxopt.spaces.metrics import on_earth
from dxopt.spaces.naming import cell_id
from dxopt.spaces.positions import Positions, in_degrees, unrolled_places
from dxopt.spaces.space import MetricSpace

FINEST = 15  # the finest resolution of H3


def h3_cells(
    resolution: int | None = None,
    *,
    box: Sequence[float] | Box | None = None,
    polygon: ArrayLike | Area | None = None,
    points: ArrayLike | None = None,
    cells: Iterable[str | int] | None = None,
    unit: str = "km",
    metric: str = "haversine",
) -> MetricSpace:
    """Take H3 cells as locations: named by their ids, at their centres, with distances on the globe.

    Exactly one of `box`, `polygon`, `points` and `cells` is given. Cells come in the order of their ids, `cells` in
    their own.

    Parameters
    ----------
    resolution : int
        0 to 15; the cells of 8 have sides of about 0.5 km. Not with `cells`, which have their own.
    box : (south, west, north, east), optional
        The cells with their centre in it, in degrees.
    polygon : (k, 2) array, or area as `inside` takes it, optional
        The cells with their centre within these corners (latitude, longitude), or within the polygons of the area.
    points : (k, 2) array, optional
        The cells in which these locations lie.
    cells : ids, optional
        As text, or as the whole numbers that they stand for.
    unit : {"km", "m", "mi"}
    metric : {"haversine", "conservative_haversine", "geodesic"}
        See `points`.

    Raises
    ------
    SpecError
        If there is no such area, location or cell, or no cell in it, or more than a million.
    UnsupportedError
        If h3 is not installed.

    Examples
    --------
    >>> import dxopt as dx
    >>> cells = dx.geo.h3_cells(7, points=[[45.50, -73.57], [45.55, -73.60]])
    >>> print(list(cells.labels), round(float(cells.nearest), 2), "km")
    ['872baa444ffffff', '872baa46affffff'] 5.03 km
    """
    h3 = optional("h3")
    areas = {"box": box, "polygon": polygon, "points": points, "cells": cells}
    given = [name for name, value in areas.items() if value is not None]
    if len(given) != 1:
        raise SpecError("h3_cells", f"{' and '.join(given) or 'no area'} given", "give box, polygon, points or cells")
    if cells is not None:
        chosen = _checked_cells(h3, cells, resolution)
    else:
        fineness = checked_count("resolution", resolution, 0, FINEST)
        chosen = sorted(_in_area(h3, fineness, box, polygon) if points is None else _of_points(h3, fineness, points))
        if not chosen:
            raise SpecError("resolution", f"{fineness} has no cell with its centre there", "give a finer one")
    centres = np.array([h3.cell_to_latlng(cell) for cell in chosen])
    space = MetricSpace.from_points(centres, on_earth(metric, unit), labels=chosen)
    rings = [unrolled_places(np.array(h3.cell_to_boundary(cell))) for cell in chosen]
    most = max(map(len, rings))
    outlines = np.stack([np.pad(ring, ((0, most - len(ring)), (0, 0)), "edge") for ring in rings])
    return replace(space, positions=Positions(centres, outlines, unit=unit))


def cell_count(box: Box, resolution: int) -> float:
    """Estimate how many cells of a resolution have their centre in a box."""
    return box.area / optional("h3").average_hexagon_area(
        checked_count("resolution", resolution, 0, FINEST), unit="km^2"
    )


def advise(box: Box, most: int) -> str:
    """Advise on a box with more than `most` cells: the finest resolution that surely has fewer."""
    # a box of few cells may have more than its area allows for, at its border
    few = (resolution for resolution in range(FINEST, -1, -1) if 1.1 * cell_count(box, resolution) < most)
    finest = next(few, None)
    if finest is None:
        return "give a smaller box"
    return f"give {finest} or less (about {max(1, round(cell_count(box, finest))):,} cells), or a smaller box"


def _checked_cells(h3: Any, cells: Iterable[str | int], resolution: int | None) -> list[str]:
    if resolution is not None:
        raise SpecError("resolution", f"{resolution} is given beside cells, which have their own", "leave it out")
    if isinstance(cells, str) or not isinstance(cells, Iterable):
        raise SpecError("cells", f"are {short_repr(cells)}", "give a list of ids")
    chosen = [cell_id(cell) or "" for cell in cells]
    number = next((at for at, cell in enumerate(chosen) if not h3.is_valid_cell(cell)), None)
    if number is not None:
        raise SpecError("cells", f"number {number} is no H3 cell", "give ids such as 882baa4e43fffff")
    if not chosen:
        raise SpecError("cells", "are none", "give at least one id")
    if len(set(chosen)) < len(chosen):
        raise SpecError("cells", "name a cell twice", "keep one")
    return chosen


def _in_area(h3: Any, resolution: int, box: Sequence[float] | Box | None, polygon: Any) -> list[str]:
    """Return the cells with their centre in a box or a polygon; SpecError if these are none, or have too many."""
    if box is None:
        return list(
            {cell for rings in _rings_of(polygon) for cell in _within(h3, resolution, _around(rings[0]), rings)}
        )
    if not isinstance(box, Box) and np.shape(sides := as_numbers(box, "box", fix := "give its four sides")) != (4,):
        raise SpecError("box", f"has shape {sides.shape}", f"{fix}: south, west, north and east")
    area = box if isinstance(box, Box) else Box(*box)
    south, north = area.south, area.north
    corners = np.array([(south, area.west), (south, area.east), (north, area.east), (north, area.west)])
    return _within(h3, resolution, area, [corners])


def _rings_of(polygon: Any) -> Iterator[list[NDArray[np.float64]]]:
    """Yield the corners of each polygon `(k, 2)`, latitude first, and those of its holes."""
    if not is_area(polygon):
        corners = in_degrees(polygon, "polygon")
        if len(corners) < 3:
            raise SpecError("polygon", f"has {len(corners)} corners", "give 3 or more")
        yield [corners]
        return
    shapely = optional("shapely")
    for part in shapely.get_parts(shapely.get_parts(union_of(polygon, "polygon"))):
        if part.geom_type == "Polygon":
            if part.bounds[2] - part.bounds[0] >= 180:
                raise SpecError("polygon", "is 180 degrees wide or more", "cut it into narrower ones")
            rings = (part.exterior, *part.interiors)
            yield [np.array([(lat, (lon + 180.0) % 360.0 - 180.0) for lon, lat, *_ in ring.coords]) for ring in rings]


def _around(corners: NDArray[np.float64]) -> Box:
    """Return the box around some corners."""
    located = unrolled_places(corners)
    (south, west), (north, east) = located.min(axis=0).tolist(), located.max(axis=0).tolist()
    return Box(south, (west + 180.0) % 360.0 - 180.0, north, (east + 180.0) % 360.0 - 180.0)


def _within(h3: Any, resolution: int, area: Box, rings: Sequence[NDArray[np.float64]]) -> list[str]:
    """Return the cells with their centre in a polygon, whose box is `area`; SpecError for too many."""
    if area.width >= 180:
        raise SpecError("east", f"makes the area {area.width:g} degrees wide", "keep it below 180")
    if cell_count(area, resolution) > MOST_CELLS:
        wrong = f"{resolution} makes about {round(cell_count(area, resolution)):,} cells, more than {MOST_CELLS:,}"
        raise SpecError("resolution", wrong, advise(area, MOST_CELLS))
    return list(h3.polygon_to_cells(h3.LatLngPoly(*(ring.tolist() for ring in rings)), resolution))


def _of_points(h3: Any, resolution: int, points: ArrayLike) -> list[str]:
    located = degrees_at(points)
    if not len(located):
        raise SpecError("points", "are none", "give at least one place")
    return list({h3.latlng_to_cell(*point, resolution) for point in located.tolist()})
