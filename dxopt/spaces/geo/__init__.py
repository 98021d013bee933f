"""Locations: points and grids on the Earth, hexagons, road networks, and the privacy that is usual for them.

Locations are (latitude, longitude) in degrees, distances in km along great circles unless asked otherwise. Spaces
made here know where their points are, also where distances are taken in a plane or along roads: `positions` returns
it, and `dx.draw_map`, `dx.geojson` and `Prior.from_check_ins` use it.
"""

from dxopt.spaces.geo.areas import inside
from dxopt.spaces.geo.hexagons import h3_cells
from dxopt.spaces.geo.levels import Level, level
from dxopt.spaces.geo.nearest import nearest
from dxopt.spaces.geo.points import Box, bounding_grid, points, positions
from dxopt.spaces.geo.roads import roads
from dxopt.spaces.positions import Positions

__all__ = [
    "Box",
    "Level",
    "Positions",
    "bounding_grid",
    "h3_cells",
    "inside",
    "level",
    "nearest",
    "points",
    "positions",
    "roads",
]
