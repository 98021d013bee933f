"""Maps in a page: where places are, what is under them, and how they are named."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.results.maps.located import KM_PER_DEGREE
from dxopt.results.page import page, page_of_batch
from dxopt.results.page.channels import Plane, readable
from dxopt.spaces.labels import Coordinates
from tests.material.pages import Parsed, grid

pytest.importorskip("shapely")


def _feature(kind: str, coordinates: Any, **about: str) -> dict[str, Any]:
    return {"type": "Feature", "properties": about, "geometry": {"type": kind, "coordinates": coordinates}}


RIVER = _feature("LineString", [[4.0, 45.1], [6.0, 45.1]], waterway="river", name="Loire")
ROAD = _feature("LineString", [[5.05, 44.0], [5.05, 46.0]], highway="primary", name="A 7")
LAKE = _feature("Polygon", [[[5.1, 45.12], [5.2, 45.12], [5.2, 45.18], [5.1, 45.12]]], natural="water", name="Lac")
TOWN = _feature("Point", [5.15, 45.05], place="town", name="Vienne")
TREE = _feature("Point", [5.15, 45.06], natural="tree")
AWAY = _feature("Point", [9.0, 45.06], name="Milano")
BORDER = _feature("LineString", [[4.0, 45.0], [6.0, 45.2]], boundary="administrative")
ALL = {"type": "FeatureCollection", "features": [RIVER, ROAD, LAKE, TOWN, TREE, AWAY, BORDER]}


@cache
def _town(name: str = "town") -> dx.Report:
    space = dx.geo.points([[45.0, 5.0], [45.1, 5.1], [45.2, 5.3]])
    return dx.solve(dx.Problem(space, epsilon=0.1, prior=dx.Prior.uniform(space), name=name))


def _beneath(text: str) -> dict[str, Any]:
    return Parsed(text).channels["result-1"]["plane"]["beneath"]


def test_kinds_and_names_are_those_of_the_features() -> None:
    found = _beneath(page(_town(), underlay=ALL))
    assert [kind for kind, _ in found["areas"]] == ["water"]
    assert sorted(kind for kind, _ in found["lines"]) == ["land", "road", "water", "water"]
    assert [name for name, _ in found["names"]] == ["Vienne", "Lac", "Loire", "A 7"]
    legend = [text for text in Parsed(page(_town(), underlay=ALL)).texts["li"] if text in ("water", "land, borders")]
    assert legend == ["water", "land, borders"]
    assert "water" not in Parsed(page(_town())).texts["li"]


def test_what_is_beneath_is_where_it_is() -> None:
    plane = Parsed(page(_town(), underlay=ALL)).channels["result-1"]["plane"]
    (_, place), *_ = plane["beneath"]["names"]
    (low, left), size = plane["corner"][::-1], plane["size"]
    latitude, longitude = plane["middle"]
    east, north = left + size * place[0], low + size * place[1]
    assert latitude + north / KM_PER_DEGREE == pytest.approx(45.05, abs=1e-4)
    shrunk = KM_PER_DEGREE * math.cos(math.radians(latitude))
    assert longitude + east / shrunk == pytest.approx(5.15, abs=1e-4)


def test_details_that_nobody_sees_are_left_out() -> None:
    along = np.linspace(4.0, 6.0, 100_000)
    coast = _feature("LineString", np.column_stack([along, 45.1 + 1e-5 * np.sin(1e4 * along)]).tolist())
    found = _beneath(page(_town(), underlay=coast))
    assert sum(len(line) for _, line in found["lines"]) < 100


def test_a_batch_may_be_of_several_places() -> None:
    text = page_of_batch([grid(), _town()], underlay=ALL)
    channels = Parsed(text).channels
    assert channels["result-1"]["plane"]["beneath"] is None
    assert channels["result-2"]["plane"]["beneath"]["areas"]
    for build in (lambda: page(grid(), underlay=ALL), lambda: page_of_batch([_town()], underlay=AWAY)):
        with pytest.raises(dx.SpecError, match=r"underlay: has nothing in any map"):
            build()


def test_coordinates_are_read_as_degrees() -> None:
    report = _town()
    labels = report.mechanism.space.labels
    plane = Plane.of(report)
    assert readable(labels, report.mechanism.space.points, plane)[0] == "45.000° N, 5.000° E"
    near = np.array([[-45.00001, -5.0], [-45.00002, -5.0]])
    assert readable(Coordinates(near), near, plane) == [
        "45.00001° S, 5.00000° W",
        "45.00002° S, 5.00000° W",
    ]
    assert readable(["Lyon", "Vienne"], near, plane) == ["Lyon", "Vienne"]
    assert Parsed(page(grid())).channels["result-1"]["plane"]["named"]
    assert not Parsed(page(report)).channels["result-1"]["plane"]["named"]


def test_the_command_takes_a_title_and_an_underlay(tmp_path: Path) -> None:
    _town().save(tmp_path / "all" / "town")
    (tmp_path / "all.geojson").write_text(json.dumps(ALL), encoding="utf-8")
    given = ["report", str(tmp_path / "all"), "--title", "Rhône", "--underlay", str(tmp_path / "all.geojson")]
    ran = CliRunner().invoke(app, given)
    assert ran.exit_code == 0
    text = (tmp_path / "all" / "report.html").read_text(encoding="utf-8")
    assert Parsed(text).texts["title"] == ["Rhône"] and _beneath(text)["names"]
    ran = CliRunner().invoke(app, [*given[:-1], str(tmp_path / "none.geojson")])
    assert ran.exit_code == 2 and "there is no file" in ran.output
