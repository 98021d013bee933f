"""One rule says which column is a latitude, in every library and file: spellings, carriers and faults."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.runtime.identity import composed
from dxopt.verify import verify_published
from tests.material.spec_files import task_of

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PLACES = np.array([[48.85, 2.25], [48.75, 2.5], [48.5, 2.75]])
"""As latitudes they are all possible the other way round."""
TOWN = dx.geo.points(PLACES, labels=["a", "b", "c"])
TABLE = dx.integer_table(dx.classic.exponential(TOWN, epsilon=0.1))

NAMES = {
    "short": ("lat", "lon", 1),
    "snake": ("pickup_latitude", "pickup_longitude", 1),
    "camel": ("startLat", "startLng", 1),
    "Darwin Core": ("decimalLatitude", "decimalLongitude", 1),
    "alike": ("geolat", "geolong", 1),
    "German": ("Breite", "Länge", 1),
    "Chinese": ("纬度值", "经度值", 1),
    "E7": ("latitudeE7", "longitudeE7", 10**7),
    "E6": ("LAT_E6", "LON_E6", 10**6),
}
NAMELESS = (("x", "y"), ("a", "b"), ("0", "1"), ("lat", "value"), ("latlon", "lonlat"))

Columns = dict[str, list[Any]]
FRAMES: dict[str, Callable[[Columns], Any]] = {
    "pandas": pd.DataFrame,
    "pandas object": lambda columns: pd.DataFrame(columns).astype(object),
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas index": lambda columns: pd.DataFrame(columns, index=["p", "q", "r"]),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "points": lambda frame: dx.geo.positions(dx.geo.points(frame)).degrees,
    "projected": lambda frame: dx.geo.positions(dx.geo.points(frame, project=True)).degrees,
    "from_points": lambda frame: dx.MetricSpace.from_points(frame, "haversine").points,
    "geodesic": lambda frame: dx.MetricSpace.from_points(frame, "geodesic").points,
    "reports": lambda frame: (
        dx.Problem(TOWN, epsilon=1, prior="uniform", reports=dx.Reports.at(frame)).reports.points
    ),
    "check-ins": lambda frame: PLACES[dx.Prior.from_check_ins(TOWN, frame).probabilities > 0],
    "nearest": lambda frame: PLACES[dx.geo.nearest(TOWN, frame)],
}


def columns_of(first: str, second: str, parts: int = 1, *, swapped: bool = False) -> Columns:
    degrees = PLACES[:, ::-1] if swapped else PLACES
    values = np.rint(degrees * parts).astype(np.int64) if parts > 1 else degrees
    return {first: values[:, 0].tolist(), second: values[:, 1].tolist()}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("names", NAMES)
def test_frames_are_taken_by_their_names(names: str, frame: str, call: str) -> None:
    lat, lon, parts = NAMES[names]
    assert np.allclose(CALLS[call](FRAMES[frame](columns_of(lat, lon, parts))), PLACES, atol=1e-6)
    with pytest.raises(dx.SpecError) as refused:
        CALLS[call](FRAMES[frame](columns_of(lon, lat, parts, swapped=True)))
    assert refused.value.field == "points" and repr(lat) in refused.value.fix


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("names", NAMELESS, ids=str)
def test_frames_that_do_not_tell_are_asked(names: tuple[str, str], frame: str, call: str) -> None:
    with pytest.raises(dx.SpecError, match="cannot be known") as refused:
        CALLS[call](FRAMES[frame](columns_of(*names)))
    assert refused.value.field in ("points", "reports")
    assert np.allclose(CALLS[call](np.column_stack(list(columns_of(*names).values()))), PLACES)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("names", NAMES)
def test_data_held_out(names: str, frame: str) -> None:
    mechanism = dx.classic.exponential(TOWN, epsilon=0.1)
    lat, lon, parts = NAMES[names]
    assert dx.evaluate.on(mechanism, point=FRAMES[frame](columns_of(lat, lon, parts))).outside == 0
    with pytest.raises(dx.SpecError) as refused:
        dx.evaluate.on(mechanism, point=FRAMES[frame](columns_of(lon, lat, parts, swapped=True)))
    assert refused.value.field == "data"


def test_reports_in_another_order_than_the_space() -> None:
    space = dx.MetricSpace.from_points(pd.DataFrame({"x": [0.0, 1.0], "y": [0.0, 3.0]}))
    frame = pd.DataFrame({"y": [0.0, 3.0], "x": [0.0, 1.0]})
    with pytest.raises(dx.SpecError) as refused:
        dx.Problem(space, epsilon=1, prior="uniform", reports=dx.Reports.at(frame))
    assert refused.value.field == "reports"
    assert dx.Problem(space, epsilon=1, prior="uniform", reports=dx.Reports.at(frame[["x", "y"]])).shape == (2, 2)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("call", ["check-ins", "nearest", "samples", "held out"])
def test_columns_in_another_order_than_the_space(call: str, frame: str) -> None:
    plane = {"x": [0.0, 1.0, 5.0], "y": [1.0, 0.0, 5.0]}
    space = dx.MetricSpace.from_points(FRAMES[frame](plane))
    calls: dict[str, Callable[[Any], Any]] = {
        "check-ins": lambda data: dx.Prior.from_check_ins(space, data),
        "nearest": lambda data: dx.geo.nearest(space, data),
        "samples": lambda data: dx.Prior.from_samples(space, data),
        "held out": lambda data: dx.evaluate.on(dx.classic.exponential(space, epsilon=1), point=data),
    }
    calls[call](FRAMES[frame](plane))
    with pytest.raises(dx.SpecError, match="in another order"):
        calls[call](FRAMES[frame](dict(reversed(plane.items()))))


@pytest.mark.parametrize("carrier", ["csv", *FRAMES])
def test_parts_of_degrees_are_whole(carrier: str, tmp_path: Path) -> None:
    columns = columns_of("latitudeE7", "longitudeE7")
    data = DATA[carrier](tmp_path, columns)
    with pytest.raises(dx.SpecError) as refused:
        dx.apply(TABLE, data, tmp_path / "o.csv" if carrier == "csv" else None, lat="latitudeE7", lon="longitudeE7",
                 outside="nearest")  # fmt: skip
    assert refused.value.field == "data"
    with pytest.raises(dx.SpecError) as refused:
        if carrier == "csv":
            read(tmp_path, "check-ins", "[latitudeE7, longitudeE7]", columns)
        else:
            dx.geo.points(data)
    assert refused.value.field in ("points", "prior.columns[0]")


FILES = {
    "space": "space: {{kind: points, file: p.csv, columns: {0}, metric: haversine}}\nepsilon: 1\n",
    "check-ins": "{town}prior: {{kind: check_ins, file: p.csv, columns: {0}}}\n",
    "samples": "{town}prior: {{kind: samples, file: p.csv, columns: {0}}}\n",
    "reports": "{town}reports: {{kind: points, file: p.csv, columns: {0}}}\n",
    "evaluate": "{town}evaluate: {{file: p.csv, columns: {0}}}\n",
}
IN_A_FILE = f"space: {{kind: points, values: {PLACES.tolist()}, metric: haversine}}\nepsilon: 1\n"


def read(folder: Path, kind: str, columns: str, table: Columns) -> Any:
    pd.DataFrame(table).to_csv(folder / "p.csv", index=False)
    return task_of(folder, FILES[kind].format(columns, town=IN_A_FILE))


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("names", NAMES)
def test_problem_files_take_the_same_names(names: str, kind: str, tmp_path: Path) -> None:
    lat, lon, parts = NAMES[names]
    table = columns_of(lat, lon, parts)
    for columns in (f"[{lat}, {lon}]", f"{{lat: {lat}, lon: {lon}}}"):
        problem = read(tmp_path, kind, columns, table).problem
        assert np.allclose(dx.geo.positions(problem.space).degrees, PLACES)
        if kind == "reports":
            assert np.allclose(problem.reports.points, PLACES)
    for columns in (f"[{lon}, {lat}]", f"{{lat: {lon}, lon: {lat}}}"):
        with pytest.raises(dx.SpecError) as refused:
            read(tmp_path, kind, columns, table)
        assert refused.value.field.endswith("columns")


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("names", [pair for pair in NAMELESS if pair != ("0", "1")], ids=str)
def test_problem_files_that_do_not_tell_are_asked(names: tuple[str, str], kind: str, tmp_path: Path) -> None:
    first, second = names
    with pytest.raises(dx.SpecError, match="cannot be known") as refused:
        read(tmp_path, kind, f"[{first}, {second}]", columns_of(*names))
    assert refused.value.field.endswith("columns")
    if first != "latlon":  # a name that means both is told apart by nobody
        problem = read(tmp_path, kind, f"{{lat: {first}, lon: {second}}}", columns_of(*names)).problem
        assert np.allclose(dx.geo.positions(problem.space).degrees, PLACES)


def csv(folder: Path, columns: Columns) -> Path:
    pd.DataFrame(columns).to_csv(folder / "in.csv", index=False)
    return folder / "in.csv"


def parquet(folder: Path, columns: Columns) -> Path:
    pq.write_table(pa.table(columns), folder / "in.parquet")
    return folder / "in.parquet"


def geojson(folder: Path, columns: Columns) -> Path:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    features = [{"type": "Feature", "properties": row, "geometry": None} for row in rows]
    (folder / "in.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return folder / "in.geojson"


DATA = {
    "csv": csv,
    "parquet": parquet,
    "geojson": geojson,
    **{name: lambda folder, columns, make=make: make(columns) for name, make in FRAMES.items()},
}


def applied(folder: Path, data: Any, lat: str, lon: str, **columns: Any) -> list[list[Any]]:
    """Apply to a file or a frame, and return the rows of two columns; what was published is proven again."""
    asked = {"lat": lat, "lon": lon, "columns": dx.Columns(**columns)}
    if not isinstance(data, Path):
        found = dx.apply(TABLE, data, **asked)
        return np.column_stack([np.asarray(found[name], dtype=float) for name in (lat, lon)]).tolist()
    output = folder / f"out{data.suffix}"
    dx.apply(TABLE, data, dx.Output(output, force=True), **asked)
    TABLE.save(folder / "t.dxt")
    assert verify_published(output, folder / "t.dxt").exit_code == 0
    if data.suffix == ".csv":
        frame = pd.read_csv(output)
    elif data.suffix == ".parquet":
        frame = pd.read_parquet(output)
    else:
        frame = pd.DataFrame([f["properties"] for f in json.loads(output.read_text())["features"]])
    return frame[[lat, lon]].astype(float).to_numpy().tolist()


@pytest.mark.parametrize("carrier", DATA)
@pytest.mark.parametrize("names", NAMES)
def test_apply_takes_the_same_names(names: str, carrier: str, tmp_path: Path) -> None:
    lat, lon, parts = NAMES[names]
    data = DATA[carrier](tmp_path, columns_of(lat, lon, parts))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = np.array(applied(tmp_path, data, lat, lon))
    assert all((np.abs(PLACES - row / parts) < 1e-9).all(axis=1).any() for row in found)
    with pytest.raises(dx.SpecError) as refused:
        applied(tmp_path, data, lon, lat)
    assert refused.value.field == "lat"


def texts(decimal: str) -> Columns:
    return {"lat": [repr(lat).replace(".", decimal) for lat, _ in PLACES.tolist()], "lon": ["2,25", "2,5", "2,75"]}


@pytest.mark.parametrize("outside", ["refuse", "nearest", "drop"])
@pytest.mark.parametrize("carrier", [name for name in DATA if name != "csv"])
def test_decimal_commas_are_asked_for_in_every_carrier(carrier: str, outside: Any, tmp_path: Path) -> None:
    data = DATA[carrier](tmp_path, texts(","))
    output = tmp_path / f"out{data.suffix}" if isinstance(data, Path) else None
    with pytest.raises(dx.SpecError) as refused:
        dx.apply(TABLE, data, output, lat="lat", lon="lon", outside=outside)
    assert refused.value.field == "data" and refused.value.options == {"decimal"}
    assert output is None or not output.exists()
    found = applied(tmp_path, data, "lat", "lon", decimal=",")
    assert all(row in PLACES.tolist() for row in found)


@pytest.mark.parametrize("carrier", [name for name in DATA if name not in ("csv", "geojson")])
def test_names_that_are_data_are_refused_in_every_carrier(carrier: str, tmp_path: Path) -> None:
    first, *rest = PLACES.tolist()
    names = list(map(repr, first))
    columns = {name: [row[place] for row in rest] for place, name in enumerate(names)}
    if carrier == "pandas index":
        columns = {name: [*values, values[0]] for name, values in columns.items()}
    data = DATA[carrier](tmp_path, {"ann": ["bob", "cem", "dan"][: len(columns[names[0]])], **columns})
    output = tmp_path / f"out{data.suffix}" if isinstance(data, Path) else None
    for lat, lon in (("lat", "lon"), names, ("0", "1")):
        with pytest.raises(dx.SpecError) as refused:
            dx.apply(TABLE, data, output, lat=lat, lon=lon)
        assert refused.value.field == "header"
        assert not any(name in str(refused.value) for name in names)


SEEN_AS = {
    "blanks": (" lat", "lon  "),
    "mark": ("\ufefflat", "lon"),
    "unseen": ("la\u200bt", "lon\u00ad"),
    "letters": ("Bre\u0300ite", "L\u00e4nge"),
}
"""Names of columns that look as others do."""


@pytest.mark.parametrize("carrier", [*DATA, "geopandas"])
@pytest.mark.parametrize("seen", SEEN_AS)
def test_names_are_taken_as_they_look_in_every_carrier(seen: str, carrier: str, tmp_path: Path) -> None:
    stored = SEEN_AS[seen]
    lat, lon = map(composed, stored)
    rows = {**columns_of(*stored), " k ": ["u", "v", "w"]}
    make = DATA.get(carrier, lambda folder, columns: pytest.importorskip("geopandas").GeoDataFrame(columns))
    for asked in ((lat, lon), stored):
        found = applied(tmp_path, make(tmp_path, rows), *asked, keep=["k"])
        assert all(row in PLACES.tolist() for row in found)
    twice = make(tmp_path, {**rows, lat + "\u200d": [0.0, 0.0, 0.0]})
    with pytest.raises(dx.SpecError) as refused:
        applied(tmp_path, twice, lat, lon)
    assert refused.value.field == "data"


def test_names_that_cannot_be_written_are_refused() -> None:
    data = pd.DataFrame({**columns_of("lat", "lon"), "k": [1, 2, 3]})
    data.columns = pd.Index(["lat", "lon", "k\ud800"], dtype=object)
    with pytest.raises(dx.SpecError) as refused:
        applied(Path(), data, "lat", "lon")
    assert refused.value.field == "data"


@pytest.mark.parametrize("carrier", DATA)
@pytest.mark.parametrize("name", [0, 1.5, b"lat", ("lat",), True, np.int64(1)], ids=repr)
def test_names_that_are_no_text_are_refused_in_every_carrier(name: Any, carrier: str, tmp_path: Path) -> None:
    data = DATA[carrier](tmp_path, columns_of("lat", "lon"))
    output = tmp_path / f"out{data.suffix}" if isinstance(data, Path) else None
    options: dict[str, Callable[[], dict[str, Any]]] = {
        "lat": lambda: {"lat": name, "lon": "lon"},
        "lon": lambda: {"lat": "lat", "lon": name},
        "column": lambda: {"column": name},
        "person": lambda: {"lat": "lat", "lon": "lon", "person": name, "key": dx.Key.new(), "release": "r"},
        "x": lambda: {"columns": dx.Columns(x=name, y="lon")},
        "y": lambda: {"columns": dx.Columns(x="lat", y=name)},
        "label": lambda: {"columns": dx.Columns(label=name)},
        "keep": lambda: {"lat": "lat", "lon": "lon", "columns": dx.Columns(keep=[name])},
        "drop": lambda: {"lat": "lat", "lon": "lon", "columns": dx.Columns(drop=[name])},
    }
    for field, given in options.items():
        with pytest.raises(dx.SpecError) as refused:
            dx.apply(TABLE, data, output, **given())
        assert refused.value.field == field


@pytest.mark.parametrize("field", ["keep", "drop"])
@pytest.mark.parametrize("names", ["lat", 5, 1.5, True], ids=repr)
def test_names_that_are_no_list_are_refused(field: str, names: Any) -> None:
    with pytest.raises(dx.SpecError) as refused:
        applied(Path(), pd.DataFrame(columns_of("lat", "lon")), "lat", "lon", **{field: names})
    assert refused.value.field == field
