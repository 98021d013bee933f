"""Lines and polygons under maps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.results.maps.map import save_map

shapely = pytest.importorskip("shapely")
LAND = {"type": "Polygon", "coordinates": [[[4.0, 44.0], [5.15, 44.0], [5.15, 46.0], [4.0, 46.0], [4.0, 44.0]]]}
RIVER = {"type": "LineString", "coordinates": [[0.0, 45.1], [10.0, 45.1]]}
BOTH = {"type": "GeometryCollection", "geometries": [LAND, RIVER]}


def _town(turn: float = 0.0) -> dx.Mechanism:
    space = dx.geo.points([[45.0, 5.0 + turn], [45.1, 5.1 + turn], [45.2, 5.3 + turn]])
    return dx.classic.exponential(space, epsilon=0.1)


def _drawn(figure: Figure) -> tuple[list[np.ndarray], list[np.ndarray], Any]:
    """Areas and lines beneath the first panel, and that panel."""
    axes = figure.axes[0]
    beneath = [one for one in axes.collections if isinstance(one, PathCollection) and one.zorder == 0.5]
    above = [one for one in axes.collections if isinstance(one, LineCollection) and one.zorder == 2.5]
    areas = [np.asarray(path.vertices) for path in beneath[0].get_paths()]
    return areas, [np.asarray(line) for line in above[0].get_segments()], axes


def test_lines_and_areas_are_cut_to_the_map() -> None:
    figure = dx.draw_map(_town(), underlay=BOTH)
    areas, lines, axes = _drawn(figure)
    bare = dx.draw_map(_town()).axes[0]
    assert (axes.get_xlim(), axes.get_ylim()) == (bare.get_xlim(), bare.get_ylim())
    (west, east), (south, north) = axes.get_xlim(), axes.get_ylim()
    # as wide as the window and a little more, but for the coast at 5.15
    assert len(areas) == 1
    assert areas[0][:, 0].max() == 5.15
    assert west - 0.1 < areas[0][:, 0].min() < west
    assert areas[0][:, 1].min() < south
    assert areas[0][:, 1].max() > north
    river = next(line for line in lines if (line[:, 1] == 45.1).all())
    assert river[:, 0].min() < west
    assert east < river[:, 0].max() < east + 0.1
    # beneath the dots, and on every panel
    assert all(one.zorder > 2.5 for one in axes.collections if one.get_array() is not None)
    assert len(figure.axes[1].collections) == len(axes.collections)


def test_a_map_that_is_a_turn_away() -> None:
    _, lines, axes = _drawn(dx.draw_map(_town(175.0), underlay=shapely.LineString([[-179.9, 40], [-179.9, 50]])))
    middle = sum(axes.get_xlim()) / 2
    assert [abs(line[:, 0] - middle).max() < 1 for line in lines] == [True]


@pytest.mark.parametrize(
    ("underlay", "wrong"),
    [
        ({"type": "Point", "coordinates": [5, 45]}, "has a Point; give lines and polygons"),
        (shapely.box(44, 4, 46, 5), "has nothing in this map"),
        ("missing.geojson", "there is no file"),
        (3, "is no GeoJSON"),
    ],
)
def test_what_is_no_underlay(underlay: Any, wrong: str) -> None:
    with pytest.raises(dx.SpecError, match=f"^underlay: .*{wrong}"):
        dx.draw_map(_town(), underlay=underlay)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_files_have_it(ending: str, tmp_path: Path) -> None:
    area = tmp_path / "land.geojson"
    area.write_text(json.dumps(BOTH))
    plain = save_map(_town(), tmp_path / f"plain.{ending}").read_bytes()
    assert save_map(_town(), tmp_path / f"with.{ending}", underlay=area).read_bytes() != plain


def test_the_command_draws_it(tmp_path: Path) -> None:
    space = dx.geo.points([[45.0, 5.0], [45.1, 5.1]], metric="geodesic")
    dx.solve(dx.Problem(space, epsilon=0.1, prior=dx.Prior.uniform(space), loss="distance")).save(tmp_path / "town")
    (tmp_path / "land.geojson").write_text(json.dumps(BOTH))

    def run(output: str, area: str) -> Any:
        given = ["map", str(tmp_path / "town"), "-o", str(tmp_path / output), "--underlay", str(tmp_path / area)]
        return CliRunner().invoke(app, given)

    assert run("map.svg", "land.geojson").exit_code == 0
    assert "#f3f3f1" in (tmp_path / "map.svg").read_text()
    assert run("other.svg", "missing.geojson").exit_code == 2
    assert run("map.geojson", "land.geojson").exit_code == 2
    assert not (tmp_path / "other.svg").exists()
    assert not (tmp_path / "map.geojson").exists()
