"""Points as files write them: in WKB, as structs of Arrow, alone or as several that are one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify import verify_published

gpd = pytest.importorskip("geopandas")
shapely = pytest.importorskip("shapely")
pq = pytest.importorskip("pyarrow.parquet")
PLACES = [(45.70, 4.79), (45.71, 4.81), (45.69, 4.78)]


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Places so far apart for their level that each is reported for itself."""
    space = dx.geo.points([[lat, lon] for lat, lon in PLACES])
    problem = dx.Problem(space, epsilon=60.0, prior="uniform")
    return dx.solve(problem, method="exponential").save(tmp_path_factory.mktemp("results") / "town")


def points() -> list[Any]:
    return [shapely.Point(lon, lat) for lat, lon in PLACES]


def several() -> list[Any]:
    return [shapely.MultiPoint([[lon, lat]]) for lat, lon in PLACES]


def places_in(file: Path) -> list[tuple[float, float]]:
    found = gpd.read_parquet(file) if file.suffix == ".parquet" else gpd.read_file(file)
    assert set(found.geometry.geom_type) == {"Point"}
    return [(point.y, point.x) for point in found.geometry]


@pytest.mark.parametrize("shapes", [points, several])
@pytest.mark.parametrize("kind", ["wkb.parquet", "native.parquet", "data.geojson", "frame"])
def test_each_point_is_read(town: Path, tmp_path: Path, kind: str, shapes) -> None:
    frame = gpd.GeoDataFrame({"id": [1, 2, 3]}, geometry=shapes(), crs=4326)
    if kind == "frame":
        done = dx.apply(town, frame)
        np.testing.assert_allclose([(point.y, point.x) for point in done.geometry], PLACES, rtol=0, atol=1e-9)
        return
    data, out = tmp_path / kind, tmp_path / f"out.{kind}"
    match kind:
        case "native.parquet":
            if shapes is several:
                pytest.skip("has an encoding of its own, which is refused")
            frame.to_parquet(data, geometry_encoding="geoarrow", schema_version="1.1.0", index=False)
            assert json.loads(pq.read_schema(data).metadata[b"geo"])["columns"]["geometry"]["encoding"] == "point"
        case "wkb.parquet":
            frame.to_parquet(data, index=False)
        case _:
            data.write_text(frame.to_json(), encoding="utf-8")
    dx.apply(town, data, out)
    np.testing.assert_allclose(places_in(out), PLACES, rtol=0, atol=1e-9)
    assert verify_published(out, town).exit_code == 0


@pytest.mark.parametrize("coordinates", [[], [[4.8, 45.7], [4.8, 45.7]], [4.8, 45.7], "x", [["x", 45.7]], None])
def test_several_points_that_are_not_one_are_refused(town: Path, tmp_path: Path, coordinates) -> None:
    geometry = {"type": "MultiPoint", "coordinates": coordinates}
    features = [{"type": "Feature", "properties": {}, "geometry": geometry}]
    data = tmp_path / "data.geojson"
    data.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    with pytest.raises(dx.SpecError) as caught:
        dx.apply(town, data, tmp_path / "out.geojson")
    assert caught.value.field == "data"


def test_missing_points_and_other_encodings_are_refused(town: Path, tmp_path: Path) -> None:
    native = {"geometry_encoding": "geoarrow", "schema_version": "1.1.0", "index": False}
    shapes = {"missing": [*points()[:2], None], "several": several()}
    for name, geometry in shapes.items():
        gpd.GeoDataFrame({"id": [1, 2, 3]}, geometry=geometry, crs=4326).to_parquet(
            tmp_path / f"{name}.parquet", **native
        )
    for name, field in (("missing", "data"), ("several", "geometry")):
        with pytest.raises(dx.SpecError) as caught:
            dx.apply(town, tmp_path / f"{name}.parquet", tmp_path / "out.parquet")
        assert caught.value.field == field
    done = dx.apply(town, tmp_path / "missing.parquet", tmp_path / "out.parquet", unusable="drop")
    assert done.dropped == [3]
