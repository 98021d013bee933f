"""Areas, places and cells in every form that people have them in; errors name the field that was given."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.spec import load

h3 = pytest.importorskip("h3")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
shapely = pytest.importorskip("shapely")
geopandas = pytest.importorskip("geopandas")

AREA = shapely.box(-73.62, 45.48, -73.55, 45.55)
CORNERS = [(lat, lon) for lon, lat in AREA.exterior.coords[:-1]]
MAPPING = json.loads(shapely.to_geojson(AREA))
AREAS: dict[str, Any] = {
    "corners": CORNERS,
    "array": np.array(CORNERS),
    "polars": pl.DataFrame(CORNERS, schema=["lat", "lon"], orient="row"),
    "shapely": AREA,
    "several": shapely.MultiPolygon([AREA]),
    "collection": shapely.GeometryCollection([AREA]),
    "mapping": MAPPING,
    "feature": {"type": "Feature", "properties": {}, "geometry": MAPPING},
    "frame": geopandas.GeoDataFrame(geometry=[AREA], crs=4326),
    "series": geopandas.GeoSeries([AREA], crs=4326),
    "another system": geopandas.GeoSeries([AREA], crs=4326).to_crs(32188),
}
NO_AREAS: dict[str, Any] = {
    "point": shapely.Point(1, 2),
    "empty": shapely.Polygon(),
    "without a system": geopandas.GeoSeries([AREA]),
    "points": geopandas.GeoSeries([shapely.Point(1, 2)], crs=4326),
    "no file": "nowhere",
    "nul": "a\0b",
    "number": 3,
    "none": [],
    "nan": [[np.nan, 1]] * 3,
    "text": [["a", "b"]] * 3,
    "surrogates": [["\ud800", 1]] * 3,
    "400 digits": [[10**400, 1]] * 3,
    "5000 digits": [[10**5000, 1]] * 3,
    "metres": shapely.box(0, 0, 1_000, 1_000),
    "wide": shapely.box(-179, -10, 179, 10),
    "lazy": pl.LazyFrame({"lat": [45.0], "lon": [-73.0]}),
}


@pytest.mark.parametrize("name", AREAS)
def test_areas(name: str, tmp_path: Path) -> None:
    expected = {*dx.geo.h3_cells(8, polygon=CORNERS).labels}
    assert {*dx.geo.h3_cells(8, polygon=AREAS[name]).labels} == expected
    (tmp_path / "area.geojson").write_text(json.dumps(MAPPING), encoding="utf-8")
    assert {*dx.geo.h3_cells(8, polygon=tmp_path / "area.geojson").labels} == expected


def test_cells_are_those_with_their_centre_inside() -> None:
    holed = AREA.difference(shapely.box(-73.60, 45.50, -73.57, 45.53)).union(shapely.box(-73.5, 45.4, -73.4, 45.45))
    found = {*dx.geo.h3_cells(8, polygon=holed).labels}
    around = dx.geo.h3_cells(8, box=(45.3, -73.7, 45.6, -73.3))
    inside = dx.geo.inside(around, holed)
    assert found == {label for label, within in zip(around.labels, inside, strict=True) if within}


@pytest.mark.parametrize("name", NO_AREAS)
def test_no_areas(name: str) -> None:
    with pytest.raises(dx.SpecError) as caught:
        dx.geo.h3_cells(5, polygon=NO_AREAS[name])
    assert caught.value.field == "polygon" and str(caught.value).isprintable()


PLACES = {"lat": [45.5, 45.55], "lon": [-73.57, -73.6]}
FORMS: dict[str, Any] = {
    "rows": [*zip(*PLACES.values(), strict=True)],
    "pandas": pd.DataFrame(PLACES),
    "polars": pl.DataFrame(PLACES),
    "arrow": pa.table(PLACES),
    "geopandas": geopandas.GeoSeries(geopandas.points_from_xy(PLACES["lon"], PLACES["lat"]), crs=4326),
    "space": dx.geo.points([*zip(*PLACES.values(), strict=True)]),
}
NO_PLACES: dict[str, Any] = {
    "lazy": pl.LazyFrame(PLACES),
    "empty point": geopandas.GeoSeries([shapely.Point()], crs=4326),
    "none": [],
    "text": "x",
    "mapping": PLACES,
    "400 digits": [[10**400, 1]],
    "5000 digits": [[10**5000, 1]],
    "surrogate": [["\ud800", 1]],
    "iterator": iter([(1, 2)]),
}
TAKERS: dict[str, Callable[[Any], Any]] = {
    "inside": lambda places: dx.geo.inside(places, AREA),
    "points": dx.geo.points,
    "cells": lambda places: dx.geo.h3_cells(7, points=places),
    "nearest": lambda places: dx.geo.nearest(FORMS["space"], places),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_places(taker: str) -> None:
    for name, places in FORMS.items():
        assert len(TAKERS[taker](places)) == 2, name
    for name, places in NO_PLACES.items():
        if (taker, name) != ("inside", "none"):
            with pytest.raises(dx.SpecError) as caught:
                TAKERS[taker](places)
            assert caught.value.field == "points" and str(caught.value).isprintable(), name


NAMES = dx.geo.h3_cells(7, points=FORMS["rows"]).labels
NUMBERS = [h3.str_to_int(name) for name in NAMES]
CELLS: dict[str, Any] = {
    "text": list(NAMES),
    "large letters": [name.upper() for name in NAMES],
    "numbers": NUMBERS,
    "numbers as text": [*map(str, NUMBERS)],
    "array": np.array(NUMBERS),
    "unsigned": np.array(NUMBERS, dtype=np.uint64),
    "series": pd.Series(NUMBERS),
    "with gaps": pd.array(NUMBERS, dtype="Int64"),
    "polars": pl.Series(NUMBERS),
    "arrow": pa.array(NUMBERS),
}
NO_CELLS: list[Any] = [
    [float(NUMBERS[0])], [-1], [0], [10**400], [10**5000], [True], [None], ["\ud800"], [b"872baa444ffffff"], [[1]],
    NUMBERS[0], NAMES[0], [NUMBERS[0], NAMES[0]], [],
]  # fmt: skip


@pytest.mark.parametrize("name", CELLS)
def test_cells(name: str) -> None:
    assert list(dx.geo.h3_cells(cells=CELLS[name]).labels) == list(NAMES)
    table = dx.integer_table(dx.classic.exponential(dx.geo.h3_cells(cells=NAMES), epsilon=1.0))
    given = CELLS[name].tolist() if hasattr(CELLS[name], "tolist") else CELLS[name]
    frame = pd.DataFrame({"place": given})
    assert len(dx.apply(table, frame, columns=dx.Columns(label="place"))) == 2
    assert table.sample(given).shape == (2, 1)


@pytest.mark.parametrize("given", NO_CELLS, ids=range(len(NO_CELLS)))
def test_no_cells(given: Any) -> None:
    with pytest.raises(dx.SpecError) as caught:
        dx.geo.h3_cells(cells=given)
    assert caught.value.field == "cells" and str(caught.value).isprintable()


def test_numbers_of_cells_in_a_problem_file(tmp_path: Path) -> None:
    texts = ("{}", "'{}'")
    for number, text in enumerate(texts):
        file = tmp_path / f"{number}.yaml"
        cells = ", ".join(text.format(cell) for cell in NUMBERS)
        file.write_text(f"space: {{kind: h3, cells: [{cells}]}}\nepsilon: 1\n", encoding="utf-8")
        (task,) = load(file)
        assert list(task.problem.space.labels) == list(NAMES)
