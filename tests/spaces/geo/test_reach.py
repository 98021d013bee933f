"""How far apart the cells of two positions may be: never more than is told, and that far for some that are drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial import KDTree

import dxopt as dx
from dxopt.spaces.geo import reach
from dxopt.spaces.geo.reach import Regions, across, ways
from dxopt.spaces.positions import on_sphere

BOX = (45.72, 4.79, 45.80, 4.90)
RADIUS = 6371.0088


def grid(*shape: int, **how: object) -> dx.MetricSpace:
    return dx.geo.bounding_grid(*BOX, shape=shape, **how)  # pyright: ignore[reportArgumentType]


def drawn(space: dx.MetricSpace, radius: float, within: float | None = None) -> float:
    """The largest distance of cells of positions at a distance in any direction, most of them next to borders."""
    rng = np.random.default_rng(11)
    where = dx.geo.positions(space)
    assert where.outlines is not None
    centres = on_sphere(where.degrees)
    corners = on_sphere(where.outlines.reshape(-1, 2)).reshape(*where.outlines.shape[:2], 3)
    widest = np.linalg.norm(corners - centres[:, None], axis=2).max()
    cell, corner = (rng.integers(most, size=40_000) for most in (len(space), corners.shape[1]))
    ends = corners[cell, corner], corners[cell, (corner + 1) % corners.shape[1]]
    start = ends[0] + rng.beta(0.3, 0.3, (40_000, 1)) * (ends[1] - ends[0])
    start += rng.normal(size=start.shape) * widest * 10.0 ** rng.uniform(-6, 0, (40_000, 1))
    if within is not None:
        start += rng.normal(size=start.shape) * within / RADIUS / 2
    start /= np.linalg.norm(start, axis=1, keepdims=True)
    way = np.cross(start, rng.normal(size=start.shape))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    angle = radius / RADIUS * (1 - 1e-9)
    found: list[Any] = [
        KDTree(centres).query(places) for places in (start, math.cos(angle) * start + math.sin(angle) * way)
    ]
    furthest = widest if within is None else 2 * math.sin(within / RADIUS / 2)
    near = (found[0][0] <= furthest) & (found[1][0] <= furthest)
    return float(space.distances[found[0][1][near], found[1][1][near]].max())


SPACES = {
    "15": lambda: grid(15, 15),
    "long": lambda: grid(3, 20),
    "hexagons": lambda: dx.geo.h3_cells(8, box=BOX),
    "irregular": lambda: dx.geo.h3_cells(cells=dx.geo.h3_cells(8, box=BOX).labels[::2]),
    "pole": lambda: dx.geo.bounding_grid(89.7, -180, 90, 179, shape=(4, 12)),
    "date line": lambda: dx.geo.bounding_grid(-5, 179, -4, -179, shape=(10, 20)),
    "large": lambda: dx.geo.h3_cells(1, box=(20, -60, 70, 60)),
}


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("sides", [0.33, 0.97, 1.03, 2.0])
def test_it_is_the_largest_that_is_drawn(name: str, sides: float) -> None:
    space = SPACES[name]()
    radius = sides * float(space.nearest)
    found = across(space, radius)
    assert found is not None
    assert 0.94 * found <= drawn(space, radius) <= found


@pytest.mark.parametrize(("shape", "radius", "apart"), [(15, 0.5, 0.8220), (16, 0.5, 0.7707), (19, 0.5, 1.0386)])
def test_grids_of_a_town(shape: int, radius: float, apart: float) -> None:
    found = across(grid(shape, shape), radius)
    assert found == pytest.approx(apart, abs=1e-4)
    assert drawn(grid(shape, shape), radius) == pytest.approx(apart, abs=1e-4)


def test_positions_from_further_away_reach_further() -> None:
    space = dx.geo.h3_cells(cells=dx.geo.h3_cells(8, box=BOX).labels[::7])
    found = [across(space, 0.3, within) for within in (None, 1.5, 2.0)]
    assert found[0] < found[1] < found[2]  # pyright: ignore[reportOperatorIssue, reportOptionalOperand]
    for within, far in zip((1.5, 2.0), found[1:], strict=True):
        assert far is not None and 0.95 * far <= drawn(space, 0.3, within) <= far


@pytest.mark.parametrize(
    "how", [{"metric": "geodesic"}, {"metric": "conservative_haversine"}, {"project": True}, {"unit": "m"}]
)
def test_every_metric_takes_great_circles_for_long_enough(how: dict[str, object]) -> None:
    space, plain = grid(9, 9, **how), grid(9, 9)
    unit = 1000 if "unit" in how else 1
    for radius in (0.3, 1.2, 2.0):
        found, usual = across(space, radius * unit), across(plain, radius)
        assert found is not None and usual is not None
        assert usual * 0.994 <= found / unit <= usual * 1.006
        # positions so far apart by the metric are up to so many times as far by great circles
        assert found >= drawn(space, radius * (1.005 if "metric" in how else 0.9999))


def test_a_local_map_far_north_stretches_what_lies_south() -> None:
    space = dx.geo.bounding_grid(68.0, 20.0, 70.0, 21.0, shape=(12, 2), project=True)
    where = dx.geo.positions(space)
    stretched = reach._stretched(space, where, 25.0)  # pyright: ignore[reportPrivateUsage]
    assert stretched is not None
    longer, shorter = stretched
    assert 1.04 < shorter < 1.06 and 1.04 < longer < 1.06
    globe, plane = dx.geo.points(where.degrees).distances, space.distances
    near = (globe > 0) & (globe <= 25.0)
    globe, plane = globe[near], plane[near]
    assert 1.04 < (globe / plane).max() <= shorter
    assert 1.04 < (plane / globe).max() <= longer


def test_polygons_hold_their_regions_and_no_more() -> None:
    space = grid(5, 5)
    where = dx.geo.positions(space)
    centres = on_sphere(where.degrees)
    found = ways(space)
    assert found is not None and where.outlines is not None
    within = found.furthest / RADIUS
    regions = Regions.of(centres, within)
    corners = on_sphere(where.outlines[12])
    nearest = np.linalg.norm(regions.corners[12][:, None] - corners, axis=2).min(axis=0)
    assert (nearest < 1e-3 * within).all()
    first, second = np.repeat(12, 25), np.arange(25)
    gaps = regions.gaps(first, second).reshape(5, 5)
    sides = np.array([*gaps[2] * RADIUS, *gaps[:, 2] * RADIUS])
    assert (gaps[1:4, 1:4] == 0).all()
    assert sides[[0, 4, 5, 9]] == pytest.approx([space.distances[12, k] for k in (11, 13, 7, 17)], rel=1e-3)
    assert np.array_equal(gaps.ravel(), regions.gaps(second, first))


def test_many_or_huge_cells_are_bounded_by_their_size() -> None:
    many, huge = grid(45, 45), dx.geo.bounding_grid(-60, -180, 60, 180, shape=(2, 4))
    found = ways(many), ways(huge)
    assert found[0] is not None and found[1] is not None
    assert across(many, 0.5) == pytest.approx(0.5 + 2 * found[0].furthest, rel=1e-5)
    apart = huge.distances[huge.distances <= 100.0 + 2 * found[1].furthest]
    assert across(huge, 100.0) == pytest.approx(float(apart.max()))
