"""Underlays of maps: coasts, borders, rivers, roads and the like, in quiet colours, and their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.results.maps.located import Window
from dxopt.spaces.geo.areas import Area, geometries_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = str
"""Water, road or land."""
MEANT: Mapping[Kind, str] = {"water": "water", "road": "roads, railways", "land": "land, borders"}
"""Text of the legend for each kind."""
_FILLS: Mapping[Kind, str] = {"water": "#dbe8f2", "road": "#efeeea", "land": "#f3f3f1"}
_LINES: Mapping[Kind, str] = {"water": "#9dbdd6", "road": "#d3cfc7", "land": "#b9b9b5"}
_WATERS = ("river", "lake", "ocean", "coastline")
_MOST_NAMES = 40
_LAST = (3, 0.0)  # after every `_label_rank`
_ROOM = 0.05
"""Margin beyond the window at which shapes are cut, as a share of its sides, so that no cut is seen."""

Ring = NDArray[np.float64]


Shapes = Sequence[tuple[Any, Kind, str]]
"""Geometries of Shapely in longitude and latitude, with their kinds and names; "" where there is none."""


def shapes_of(given: Area) -> Shapes:
    """Return the lines, areas and named points of geometries as `dx.geo.inside` takes them, repaired where invalid.

    Kinds and names are those that OpenStreetMap and Natural Earth write into features, as in `natural=water`,
    `highway=primary`, `featurecla=River` and `name=Rhône`; all else is land and borders.

    Raises
    ------
    SpecError
        If it is none of these, or has points without names alone.
    """
    from shapely import make_valid

    found = [(shape, _kind_of(about), _name_of(about)) for shape, about in geometries_of(given, "underlay")]
    kept = [(make_valid(shape), kind, name) for shape, kind, name in found if name or not _is_kind(shape, "Point")]
    if found and not kept:
        wrong = f"has a {found[0][0].geom_type}"
        raise SpecError("underlay", wrong, "give lines and polygons, or points with a name")
    return kept


@dataclass(frozen=True, eq=False)
class Underlay:
    """Shapes that are cut to a window, all as (longitude, latitude) in it.

    Attributes
    ----------
    areas : list of (kind, list of (k, 2) arrays)
        Each area is an outer ring, then its holes.
    lines : list of (kind, (k, 2) array)
        Lines, and the borders of areas.
    names : list of (text, longitude, latitude)
        Of places first, then of areas and lines by their size; each once, and at most 40.
    """

    areas: list[tuple[Kind, list[Ring]]]
    lines: list[tuple[Kind, Ring]]
    names: list[tuple[str, float, float]]

    @classmethod
    def of(cls, given: Area, window: Window) -> Underlay:
        """Read shapes and return the part of them that is in a window.

        Raises
        ------
        SpecError
            As `shapes_of`, or if nothing of it is in the window.
        """
        found = cls.within(shapes_of(given), window)
        if found is None:
            raise SpecError("underlay", "has nothing in this map", "check that longitudes come before latitudes")
        return found

    @classmethod
    def within(cls, shapes: Shapes, window: Window) -> Underlay | None:
        """Return the part of shapes in a window; None where it is empty."""
        from shapely import box

        inner = box(window.west, window.south, window.east, window.north)
        wide, high = _ROOM * (window.east - window.west), _ROOM * (window.north - window.south)
        frame = box(window.west - wide, window.south - high, window.east + wide, window.north + high)
        areas: list[tuple[Kind, list[Ring]]] = []
        lines: list[tuple[Kind, Ring]] = []
        named: dict[str, tuple[tuple[int, float], Any]] = {}
        for shape, kind, name in shapes:
            for turned in _turns_in_frame(shape, frame):
                within = turned.intersection(frame)
                edge = turned.boundary.intersection(frame) if _is_kind(shape, "Polygon") else within
                lines += [(kind, _ring_of(line)) for line in _parts_of_kind(edge, "LineString", "LinearRing")]
                areas += [
                    (kind, [_ring_of(ring) for ring in (part.exterior, *part.interiors)])
                    for part in _parts_of_kind(within, "Polygon")
                ]
                seen = turned.intersection(inner)
                if name and not seen.is_empty:
                    named[name] = min(
                        named.get(name, (_LAST, seen)), (_label_rank(seen), seen), key=lambda one: one[0]
                    )
        if not areas and not lines and not named:
            return None
        ranked = sorted(named.items(), key=lambda one: (one[1][0], one[0]))[:_MOST_NAMES]
        middles = [(name, seen.representative_point()) for name, (_, seen) in ranked]
        return cls(areas, lines, [(name, float(point.x), float(point.y)) for name, point in middles])

    def simplified(self, most: int) -> Underlay:
        """Return the same without invisible details, made coarser until `most` corners are left or the loss shows."""
        from shapely import LinearRing, LineString

        rings = [ring for _, area in self.areas for ring in area] + [line for _, line in self.lines]
        size = max((float(np.ptp(ring, axis=0).max()) for ring in rings), default=0.0)
        finest = size / 2000

        def simplify(ring: Ring, closed: bool) -> Ring:
            kind = LinearRing if closed and len(ring) > 3 else LineString
            return np.asarray(kind(ring).simplify(finest, preserve_topology=False).coords)

        while True:
            areas = [(kind, [simplify(ring, True) for ring in area]) for kind, area in self.areas]
            areas = [(kind, kept) for kind, area in areas if (kept := [ring for ring in area if len(ring) > 2])]
            lines = [(kind, simplify(line, False)) for kind, line in self.lines]
            corners = sum(len(ring) for _, area in areas for ring in area) + sum(len(line) for _, line in lines)
            if corners <= most or finest > size / 50:
                return replace(self, areas=areas, lines=lines)
            finest *= 2

    def placed(self, where: Callable[[Ring], Ring]) -> Underlay:
        """Return the same with every coordinate mapped by `where`, as into a plane."""
        areas = [(kind, [where(ring) for ring in rings]) for kind, rings in self.areas]
        lines = [(kind, where(line)) for kind, line in self.lines]
        names = [(name, *where(np.array([[x, y]]))[0].tolist()) for name, x, y in self.names]
        return Underlay(areas, lines, names)

    def as_data(self, scaled: Callable[[Ring], Any]) -> dict[str, Any]:
        """Return content for the script of a page, with coordinates mapped by `scaled` to lists."""
        return {
            "areas": [[kind, [scaled(ring) for ring in rings]] for kind, rings in self.areas],
            "lines": [[kind, scaled(line)] for kind, line in self.lines],
            "names": [[name, scaled(np.array(place))] for name, *place in self.names],
        }

    @property
    def kinds(self) -> list[Kind]:
        """Kinds of areas and lines, in the order of a legend."""
        there = {kind for kind, _ in (*self.areas, *self.lines)}
        return [kind for kind in MEANT if kind in there]

    def draw(self, axes: Axes) -> None:
        """Draw areas beneath everything, lines over filled cells, which would hide them, dots above; then names."""
        from matplotlib.collections import LineCollection, PathCollection
        from matplotlib.path import Path

        paths = [Path.make_compound_path(*(Path(ring, closed=True) for ring in rings)) for _, rings in self.areas]
        fills = [_FILLS[kind] for kind, _ in self.areas]
        axes.add_collection(PathCollection(paths, facecolors=fills, edgecolors="none", zorder=0.5), autolim=False)
        drawn = LineCollection(
            [line for _, line in self.lines],
            colors=[_LINES[kind] for kind, _ in self.lines],
            linewidths=0.8,
            zorder=2.5,
        )
        axes.add_collection(drawn, autolim=False)
        for text, x, y in _names_with_room(self.names, axes.get_xlim(), axes.get_ylim()):
            axes.annotate(
                text, (x, y), ha="center", va="center", fontsize=7, color="#6b6b66", zorder=2.7, clip_on=True
            )

    def legend(self) -> list[Any]:
        """Return lines of matplotlib that explain the kinds."""
        from matplotlib.lines import Line2D

        return [Line2D([], [], color=_LINES[kind], linewidth=2, label=MEANT[kind]) for kind in self.kinds]


def _label_rank(seen: Any) -> tuple[int, float]:
    """Return the order in which names are placed: points before areas before lines, large ones before small ones."""
    return (0, 0.0) if _is_kind(seen, "Point") else (1, -seen.area) if seen.area else (2, -seen.length)


def _turns_in_frame(shape: Any, frame: Any) -> Iterator[Any]:
    """Yield the copies of a shape that meet the frame: longitudes of a window may be a turn of 360° away."""
    from shapely import affinity

    turned = (affinity.translate(shape, turn) for turn in (-360.0, 0.0, 360.0))
    return (one for one in turned if one.intersects(frame))


def _kind_of(about: Mapping[str, Any]) -> Kind:
    """Return the kind of a feature by its properties, as OpenStreetMap or Natural Earth name them."""
    told = str(about.get("featurecla", "")).lower()
    natural = about.get("natural") in ("water", "bay", "strait", "coastline")
    if natural or about.get("waterway") or about.get("water") or any(name in told for name in _WATERS):
        return "water"
    return "road" if about.get("highway") or about.get("railway") or "road" in told else "land"


def _name_of(about: Mapping[str, Any]) -> str:
    name = about.get("name") or about.get("NAME")
    return name.strip() if isinstance(name, str) else ""


def _is_kind(shape: Any, kind: str) -> bool:
    """Return True if a shape is of a kind such as "Polygon", or a collection of it, such as "MultiPolygon"."""
    return shape.geom_type.endswith(kind)


def _names_with_room(
    names: Sequence[tuple[str, float, float]], across: tuple[float, float], up: tuple[float, float]
) -> Iterator[tuple[str, float, float]]:
    """Yield names in order, but for those that would overlap one already yielded, or leave the window."""
    taken: list[tuple[float, float, float]] = []
    for text, x, y in names:
        right, high = (x - across[0]) / (across[1] - across[0]), (y - up[0]) / (up[1] - up[0])
        half = 0.011 * len(text)
        inside = half < right < 1 - half and 0.06 < high < 0.97
        if inside and all(abs(right - a) > half + b or abs(high - c) > 0.04 for a, b, c in taken):
            taken.append((right, half, high))
            yield text, x, y


def _ring_of(line: Any) -> Ring:
    return np.asarray(line.coords)[:, :2]


def _parts_of_kind(found: Any, *kinds: str) -> list[Any]:
    """Return the parts of a shape, also of a nested collection, that are of some kinds, such as "Polygon"."""
    if hasattr(found, "geoms"):
        return [part for inner in found.geoms for part in _parts_of_kind(inner, *kinds)]
    return [found] if found.geom_type in kinds else []
