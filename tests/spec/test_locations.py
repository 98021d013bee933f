"""Problem files about places: boxes, hexagons, roads, and priors from check-ins."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from ruamel.yaml import YAML

import dxopt as dx
from dxopt.spaces import geo
from dxopt.spec import json_schema
from tests.material.places import BY_CAR, ON_FOOT, OSMNX, network
from tests.material.spec_files import refusal, small, task_of

BOX = "south: 45.4, west: -73.8, north: 45.6, east: -73.4"


@pytest.fixture(scope="module")
def city(folder: Path) -> Path:
    network(folder)
    return folder


def space_of(folder: Path, text: str) -> dx.MetricSpace:
    jsonschema.Draft202012Validator(json_schema()).validate(YAML(typ="safe", pure=True).load(small(text)))
    return task_of(folder, small(text)).problem.space


def same(ours: dx.MetricSpace, theirs: dx.MetricSpace) -> None:
    assert ours.labels == theirs.labels
    assert ours.distances.tolist() == theirs.distances.tolist()
    assert geo.positions(ours).degrees.tolist() == geo.positions(theirs).degrees.tolist()


@pytest.mark.parametrize("unit", ["km", "m"])
def test_bounding_boxes(folder: Path, unit: str) -> None:
    sides = (45.4, -73.8, 45.6, -73.4)
    shaped = space_of(folder, f"{{kind: bounding_box, {BOX}, shape: [2, 3], unit: {unit}}}")
    same(shaped, geo.bounding_grid(*sides, shape=(2, 3), unit=unit))
    spaced = space_of(folder, f"{{kind: bounding_box, {BOX}, spacing: {4 if unit == 'km' else 4000}, unit: {unit}}}")
    same(spaced, geo.bounding_grid(*sides, shape=(6, 8), unit=unit))
    projected = space_of(folder, f"{{kind: bounding_box, {BOX}, shape: [2, 3], unit: {unit}, project: true}}")
    same(projected, geo.bounding_grid(*sides, shape=(2, 3), unit=unit, project=True))


def test_a_box_across_the_antimeridian(folder: Path) -> None:
    text = "{kind: bounding_box, south: -18, west: 178, north: -16, east: -178, shape: [1, 2]}"
    assert space_of(folder, text).distances[0, 1] == pytest.approx(212.65, abs=0.1)


def test_projected_points(folder: Path) -> None:
    text = "{{kind: points, file: places.csv, columns: [lat, lon], metric: haversine{}}}"
    globe, plane = (space_of(folder, text.format(rest)) for rest in ("", ", project: true"))
    assert plane.distances == pytest.approx(globe.distances, rel=2e-3)
    assert not np.array_equal(plane.distances, globe.distances)
    same(plane, geo.points([[45.50, -73.60], [45.51, -73.58], [45.60, -73.60]], project=True))
    reports = "reports: {kind: points, values: [[45.5, -73.6]]}"
    assert task_of(folder, small(text.format(""), reports)).problem.losses[0, 0] == 0
    error = refusal(folder, small(text.format(", project: true"), reports))
    assert (error.field, error.fix) == ("reports", "leave out project: true")


def test_hexagons(folder: Path) -> None:
    pytest.importorskip("h3")
    hexagons = geo.h3_cells(6, box=(45.4, -73.8, 45.6, -73.4))
    same(space_of(folder, f"{{kind: h3, resolution: 6, {BOX}}}"), hexagons)
    same(space_of(folder, f"{{kind: h3, cells: [{', '.join(hexagons.labels)}]}}"), hexagons)
    for resolution, wrong in ((15, "limit 4,000"), (9, "limit 4,000"), (0, "no cell with its centre")):
        error = refusal(folder, small(f"{{kind: h3, resolution: {resolution}, {BOX}}}"))
        assert error.field == "space.resolution" and wrong in error.wrong
    assert refusal(folder, small("{kind: h3, cells: [mill]}")).field == "space.cells"


def test_hexagons_without_h3(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h3", None)
    for text in (f"{{kind: h3, resolution: 6, {BOX}}}", "{kind: h3, cells: [872baa090ffffff]}"):
        error = refusal(folder, small(text))
        assert (error.field, error.fix) == ("space", "install dxopt[geo]")


def test_roads(city: Path) -> None:
    assert space_of(city, "{kind: roads, file: city.graphml}").distances == pytest.approx(np.array(BY_CAR))
    on_foot = space_of(city, "{kind: roads, file: city.graphml, weight: length, unit: m, directed: false}")
    assert on_foot.distances == pytest.approx(1000 * np.array(ON_FOOT))
    prior = f"prior: {check_ins(', weight: lat, within: 1')}"
    hours = task_of(city, small("{kind: roads, file: city.graphml}", prior))
    assert hours.problem.prior.probabilities == pytest.approx([0.5, 0, 0.5], abs=1e-3)


def test_roads_with_places_that_are_cut_off(folder: Path) -> None:
    lonely = '<node id="99"><data key="d1">45.52</data><data key="d2">-73.6</data></node><node id="12">'
    (folder / "islands.graphml").write_text(OSMNX.replace('<node id="12">', lonely), encoding="utf-8")
    assert space_of(folder, "{kind: roads, file: islands.graphml, largest: true}").labels == ("31", "12", "57")
    error = refusal(folder, small("{kind: roads, file: islands.graphml}"))
    assert (error.field, error.fix) == ("space.file", "give largest: true to leave them out")


def test_graphs_whose_numbers_are_text(city: Path) -> None:
    problem = task_of(city, small("{kind: graph, file: city.graphml, weight: length}")).problem
    assert problem.space.distances == pytest.approx(1000 * np.array(BY_CAR))


def check_ins(rest: str = "") -> str:
    return f"{{kind: check_ins, file: places.csv, columns: [lat, lon]{rest}}}"


def test_check_ins(folder: Path) -> None:
    cells = f"{{kind: bounding_box, {BOX}, shape: [4, 2]}}"  # latitudes 45.425 to 45.575, longitudes -73.7, -73.5
    prior = task_of(folder, small(cells, f"prior: {check_ins(', weight: lat, within: 9')}")).problem.prior
    places = [[45.50, -73.60], [45.51, -73.58], [45.60, -73.60]]
    space = geo.bounding_grid(45.4, -73.8, 45.6, -73.4, shape=(4, 2))
    expected = dx.Prior.from_check_ins(space, places, [45.50, 45.51, 45.60], within=9)
    assert prior.probabilities.tolist() == expected.probabilities.tolist()
    assert 0 < np.count_nonzero(expected.probabilities) < 8
    line = "{kind: points, values: [[0, 0], [9, 9]]}"
    plain = "prior: {kind: check_ins, file: town.csv, columns: [x, y], weight: people}"
    assert task_of(folder, small(line, plain)).problem.prior.probabilities == pytest.approx([70 / 75, 5 / 75])
    near = plain.replace("weight: people", "weight: people, within: 5")
    problem = task_of(folder, small(line, near)).problem
    assert problem.prior.probabilities == pytest.approx([40 / 45, 5 / 45])
    assert problem.prior.name == "check-ins (1 of 4 further than 5 left out)"


SEEN = "lat,lon,w,x_km,y_km\n45.5,-73.6,0,3,4\n45.51,-73.61,0,5,6\n"
SWAPPED = "lat,lon,w\n-73.6,45.5,1\n-120,45.5,1\n"


@pytest.mark.parametrize(
    ("box", "unit", "rest", "seen", "words"),
    [
        (
            BOX,
            "km",
            "columns: [lat, lon], weight: w",
            SEEN,
            "prior.weight: seen.csv has 0 in all rows of column 'w'; name",
        ),
        (
            "south: 45.4, west: -73.4, north: 45.6, east: -73.8",
            "km",
            "columns: [lat, lon]",
            SEEN,
            "space.west: is -73.4, above east: -73.8, which makes a box of 359.6 degrees; exchange the two",
        ),
        (
            BOX,
            "km",
            "columns: {lat: x_km, lon: y_km}",
            SEEN,
            "prior.columns: lie outside of the space, all of them: the nearest is 8,",
        ),
        (
            BOX,
            "m",
            "columns: [lat, lon]",
            SEEN,
            "prior.within: 2 m leaves out every check-in that counts: the nearest is 3,535 m away; give",
        ),
        (
            BOX,
            "km",
            "columns: [lat, lon]",
            SWAPPED,
            "prior.columns[0]: seen.csv line 3 is no (latitude, longitude) in",
        ),
    ],
)
def test_why_no_check_in_counts(folder: Path, box: str, unit: str, rest: str, seen: str, words: str) -> None:
    (folder / "seen.csv").write_text(seen, encoding="utf-8")
    cells = f"{{kind: bounding_box, {box}, shape: [4, 4], unit: {unit}}}"
    said = str(refusal(folder, small(cells, f"prior: {{kind: check_ins, file: seen.csv, {rest}, within: 2}}")))
    assert words in said
    assert "45.5" not in said.replace(words, "")


def test_points_off_the_globe_are_told_by_their_line(folder: Path) -> None:
    (folder / "swapped.csv").write_text("lat,lon,n\n45.5,-73.6,1\n-100,45.5,2\n95,0,3\n", encoding="utf-8")
    points = "{kind: points, file: swapped.csv, columns: [lat, lon], metric: haversine, top: 2 by n}"
    assert "swapped.csv line 4 is no (latitude" in str(refusal(folder, small(points)))


def test_privacy_within_a_radius_is_the_level(folder: Path) -> None:
    text = small("{kind: line, size: 2}").replace("epsilon: 1", "privacy: {level: ln(4), radius: 0.2}")
    assert task_of(folder, text).problem.epsilon == geo.level(math.log(4), 0.2)
