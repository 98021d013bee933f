"""Levels between positions: what the verifier derives is what was derived before, and larger ε are refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.archive import pack
from dxopt.spaces.geo.reach import across
from dxopt.spaces.positions import on_sphere
from dxopt.verify import claims as within
from dxopt.verify import verify
from dxopt.verify.cells import angle_between, region
from tests.material.checks import change_array, change_claims

BOX = (45.72, 4.79, 45.80, 4.90)
HOW: list[dict[str, Any]] = [
    {},
    {"metric": "geodesic"},
    {"metric": "conservative_haversine"},
    {"project": True},
    {"unit": "m"},
]


def derived(space: dx.MetricSpace, radius: float) -> float:
    where = dx.geo.positions(space)
    assert where.outlines is not None
    result: Any = SimpleNamespace(size=len(space), distances=space.distances, mechanism=pack(space))
    return within._across(result, radius)  # pyright: ignore[reportPrivateUsage]


def spaces() -> list[dx.MetricSpace]:
    cells = dx.geo.h3_cells(8, box=BOX).labels
    return [
        *(dx.geo.bounding_grid(*BOX, shape=(7, 9), **how) for how in HOW),
        dx.geo.bounding_grid(*BOX, shape=(3, 20)),
        dx.geo.h3_cells(8, box=BOX),
        dx.geo.h3_cells(cells=cells[::2]),
        dx.geo.bounding_grid(89.7, -180, 90, 179, shape=(3, 9)),
        dx.geo.bounding_grid(-5, 179, -4, -179, shape=(4, 8)),
        dx.geo.h3_cells(1, box=(20, -60, 70, 60)),
        dx.geo.bounding_grid(-60, -180, 60, 180, shape=(2, 4)),
    ]


@pytest.mark.parametrize("sides", [0.1, 0.97, 1.03, 2.1])
def test_it_derives_the_same(sides: float) -> None:
    for space in spaces():
        radius = sides * float(space.nearest)
        assert derived(space, radius) == pytest.approx(across(space, radius), rel=1e-12)


def test_a_larger_epsilon_is_refused_and_a_smaller_one_is_not(tmp_path: Path) -> None:
    space = dx.geo.bounding_grid(*BOX, shape=(4, 4))
    level = dx.geo.level("ln(4)", 0.5, space=space)
    report = dx.solve(dx.Problem(space, epsilon=level, prior="uniform"), tolerance=1e-2)
    folder = report.save(tmp_path / "town")
    # a level that is larger than ε times the distance is kept as well, as that of results with a looser ε
    for share, status in ((1.0, "holds"), (1.3, "holds"), (0.9999, "fails")):
        change_claims(folder, within={"level": share * level.level, "radius": 0.5, "positions": True})
        assert {check.name: check.status for check in verify(folder).checks}["within"] == status
        if status == "fails":
            with pytest.raises(dx.SpecError):
                dx.load(folder)
        else:
            assert dx.load(folder).problem.epsilon == float(level)


def test_corners_of_regions_are_those_of_cells() -> None:
    space = dx.geo.bounding_grid(*BOX, shape=(5, 5))
    where = dx.geo.positions(space)
    assert where.outlines is not None
    centres, corners = on_sphere(where.degrees), on_sphere(where.outlines[12])
    angle = float(np.linalg.norm(corners - centres[12], axis=1).max())
    cells = [region(centres, k, angle) for k in range(25)]
    assert (np.linalg.norm(cells[12].corners[:, None] - corners, axis=2).min(axis=0) < 1e-3 * angle).all()
    gaps = np.array([angle_between(cells[12], cell) for cell in cells]).reshape(5, 5) * 6371.0088
    assert (gaps[1:4, 1:4] < 1e-6).all()
    assert gaps[2, [0, 4]] == pytest.approx(space.distances[12, [11, 13]], rel=1e-3)
    assert gaps[[0, 4], 2] == pytest.approx(space.distances[12, [7, 17]], rel=1e-3)


@pytest.mark.parametrize("how", [{}, {"project": True}])
def test_cells_on_the_map_are_those_of_the_points(how: dict[str, Any], tmp_path: Path) -> None:
    """Cells that are shown closer would keep a larger level within the same radius."""
    space = dx.geo.bounding_grid(*BOX, shape=(3, 3), **how)
    level = dx.geo.level("ln(4)", 0.5, space=space)
    folder = dx.solve(dx.Problem(space, epsilon=level, prior="uniform"), tolerance=1e-2).save(tmp_path / "town")
    assert verify(folder).of("within").status == "holds"
    for key in ("degrees", "outlines"):
        change_array(folder / "mechanism.npz", f"space.positions.{key}", lambda at: at * 0.999)
        assert verify(folder).of("within").status == "fails"
