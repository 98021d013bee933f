"""GeoJSON that other programs can read."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.maps.geojson import geojson
from dxopt.spaces import geo
from tests.material.places import box, randomised, towns


def signed_area(ring: list[list[float]]) -> float:
    return sum(a[0] * b[1] - a[1] * b[0] for a, b in itertools.pairwise(ring)) / 2


def check_geojson(content: dict[str, Any]) -> None:
    """RFC 7946: closed counterclockwise rings, longitudes first, within the globe; and nothing but JSON."""
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert content["type"] == "FeatureCollection"
    for feature in content["features"]:
        assert set(feature) == {"type", "geometry", "properties"} and feature["type"] == "Feature"
        shape = feature["geometry"]
        coordinates = shape["coordinates"]
        if shape["type"] == "Point":
            coordinates = [[[coordinates]]]
        else:
            coordinates = [coordinates] if shape["type"] == "Polygon" else coordinates
            for polygon in coordinates:
                (ring,) = polygon
                assert ring[0] == ring[-1] and len(ring) >= 4 and signed_area(ring) > 0
                assert len({tuple(corner) for corner in ring}) == len(ring) - 1
                assert max(x for x, _ in ring) - min(x for x, _ in ring) < 180
        for polygon in coordinates:
            for ring in polygon:
                assert all(abs(x) <= 180 and abs(y) <= 90 for x, y in ring)


def test_points_and_their_probabilities() -> None:
    space = towns()
    mechanism = randomised(space)
    prior = dx.Prior.from_weights(space, range(6))
    content = geojson(mechanism, secret="c", prior=prior)
    check_geojson(content)
    assert space.points is not None
    for index, feature in enumerate(content["features"]):
        assert feature["geometry"] == {"type": "Point", "coordinates": space.points[index, ::-1].tolist()}
        assert feature["properties"] == {
            "label": space.labels[index],
            "prior": prior.probabilities[index],
            "is_secret": index == 2,
            "reported": pytest.approx(prior.probabilities @ mechanism.matrix[:, index]),
            "given_secret": mechanism.matrix[2, index],
        }
    assert set(geojson(mechanism)["features"][0]["properties"]) == {"label", "prior", "reported"}
    assert geojson(mechanism)["features"][0]["properties"]["prior"] == pytest.approx(1 / 6)


@pytest.mark.parametrize("project", [False, True])
def test_cells_are_polygons(project: bool) -> None:
    content = geojson(randomised(box(project=project)))
    check_geojson(content)
    ring = content["features"][0]["geometry"]["coordinates"][0]
    corners = [[-73.8, 45.4], [-73.7, 45.4], [-73.7, 45.4 + 0.2 / 3], [-73.8, 45.4 + 0.2 / 3], [-73.8, 45.4]]
    assert np.array(ring) == pytest.approx(np.array(corners))


def test_cells_across_the_antimeridian_are_cut() -> None:
    content = geojson(randomised(geo.bounding_grid(-18, 177, -16, -178, shape=(1, 1))))
    check_geojson(content)
    shape = content["features"][0]["geometry"]
    assert shape["type"] == "MultiPolygon"
    areas = [signed_area(ring) for (ring,) in shape["coordinates"]]
    assert areas == pytest.approx([6.0, 4.0])
    beyond = geojson(randomised(geo.bounding_grid(-18, 178, -16, -178, shape=(1, 4))))
    check_geojson(beyond)
    assert {feature["geometry"]["type"] for feature in beyond["features"]} == {"Polygon"}


def test_hexagons_are_polygons() -> None:
    h3 = pytest.importorskip("h3")
    for around in ((45.42, -73.70, 45.60, -73.50), (-18, 178, -16, -178)):
        space = geo.h3_cells(5, box=around) if around[1] > 0 else geo.h3_cells(7, box=around)
        content = geojson(randomised(space))
        check_geojson(content)
        whole = [f for f in content["features"] if f["geometry"]["type"] == "Polygon"]
        for feature in whole:
            corners = {(round(x, 9), round(y, 9)) for x, y in feature["geometry"]["coordinates"][0]}
            boundary = h3.cell_to_boundary(feature["properties"]["label"])
            assert corners == {(round(lon, 9), round(lat, 9)) for lat, lon in boundary}
        assert (len(whole) < len(space)) == (around[1] > 0)


def test_pentagons_have_their_own_corners_only() -> None:
    h3 = pytest.importorskip("h3")
    pentagon = h3.get_pentagons(6)[3]
    content = geojson(randomised(geo.h3_cells(cells=[pentagon, h3.latlng_to_cell(45, 0, 6)])))
    check_geojson(content)
    assert [len(feature["geometry"]["coordinates"][0]) for feature in content["features"]] == [6, 7]


def test_a_cell_around_a_pole_is_its_centre() -> None:
    h3 = pytest.importorskip("h3")
    content = geojson(randomised(geo.h3_cells(points=[[90, 0], [45, 0]], resolution=3)))
    check_geojson(content)
    shapes = {feature["properties"]["label"]: feature["geometry"]["type"] for feature in content["features"]}
    assert shapes == {h3.latlng_to_cell(90, 0, 3): "Point", h3.latlng_to_cell(45, 0, 3): "Polygon"}


def test_other_reports_are_features_of_their_own() -> None:
    mechanism = randomised(towns(3), dx.Reports.at([[45.1, -73.5], [45.2, 190.0]]))
    content = geojson(mechanism, secret={"index": 0})
    check_geojson(content)
    secrets = content["features"][:3]
    reports = content["features"][3:]
    assert [set(feature["properties"]) for feature in secrets] == [{"label", "prior", "is_secret"}] * 3
    assert [feature["geometry"]["coordinates"] for feature in reports] == [[-73.5, 45.1], [-170.0, 45.2]]
    assert [feature["properties"]["given_secret"] for feature in reports] == mechanism.matrix[0].tolist()


def test_what_cannot_be_placed() -> None:
    space = towns(3)
    with pytest.raises(dx.UnsupportedError, match="positions"):
        geojson(randomised(dx.grid((2, 2))))
    with pytest.raises(dx.UnsupportedError, match="reports"):
        geojson(randomised(space, dx.Reports(("x", "y"))))
    with pytest.raises(dx.SpecError, match="secret"):
        geojson(randomised(space), secret="z")
    with pytest.raises(dx.SpecError, match="prior"):
        geojson(randomised(space), prior=dx.Prior.uniform(towns(4)))
