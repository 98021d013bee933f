"""`dx.apply` on frames: the same kind comes back, with reports in the place of positions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.people import counts, people, plane, town

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
gpd = pytest.importorskip("geopandas")

ADDED = ["report", "epsilon", "coordinateUncertaintyInMeters", "dataGeneralizations"]


def geo_frame(**more: Any) -> Any:
    columns = people()
    points = gpd.points_from_xy(columns["lon"], columns["lat"])
    return gpd.GeoDataFrame({"person": columns["person"], **more}, geometry=points, crs=4326)


@pytest.mark.parametrize("build", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_the_same_kind_with_the_same_rows_comes_back(build: Any) -> None:
    given = people()
    frame = build(given)
    found = dx.apply(town(), frame, lat="lat", lon="lon")
    assert type(found) is type(frame)
    assert list(found.columns) == [*given, *ADDED]
    for name in ("person", "time", "note"):
        assert list(found[name]) == given[name]
    centres = dict(zip(town().reports.labels, np.asarray(town().reports.points).tolist(), strict=True))
    for lat, lon, report in zip(found["lat"], found["lon"], found["report"], strict=True):
        assert [lat, lon] == centres[report]
    assert not set(given["lat"]) & set(found["lat"])
    assert set(found["epsilon"]) == {town().epsilon}
    assert set(found["dataGeneralizations"]) == {
        "Coordinates moved at random; the true position is within the uncertainty with 95 % "
        f"(dxopt, metric differential privacy, epsilon {town().epsilon:.10g} per km)"
    }
    assert list(frame["lat"]) == given["lat"]


def test_the_index_of_pandas_stays_even_where_it_repeats() -> None:
    index = pd.Index([number // 2 for number in range(40)], name="household")
    frame = pd.DataFrame(people(), index=index)
    frame.iloc[3, 1] = np.nan
    found = dx.apply(town(), frame, lat="lat", lon="lon", outside="drop")
    assert found.index.tolist() == [*index[:3], *index[4:]]
    assert found["person"].tolist() == [f"p{number}" for number in range(40) if number != 3]
    assert found.index.name == "household"


def test_geopandas_gets_points_and_loses_other_geometry() -> None:
    frame = geo_frame()
    frame["home"] = gpd.GeoSeries(frame.geometry, crs=4326)
    found = dx.apply(town(), frame)
    assert type(found) is gpd.GeoDataFrame
    assert found.crs == frame.crs
    assert list(found.columns) == ["person", "geometry", *ADDED]
    points = {tuple(place) for place in np.asarray(town().reports.points).tolist()}
    assert {(point.y, point.x) for point in found.geometry} <= points
    named = dx.apply(town(), frame.assign(lat=people()["lat"], lon=people()["lon"]), lat="lat", lon="lon")
    assert type(named) is pd.DataFrame
    assert list(named.columns) == ["person", "lat", "lon", *ADDED]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda frame: frame.to_crs(3857), "geometry: is in another coordinate system .*convert"),
        (lambda frame: frame.set_crs(None, allow_override=True), "geometry: has no coordinate system"),
        (lambda frame: frame.set_geometry(frame.geometry.buffer(0.01)), "40 of 40 rows .* are empty or no point"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_other_geometry_is_refused(change: Any, words: str) -> None:
    with pytest.raises(dx.SpecError, match=words):
        dx.apply(town(), change(geo_frame()))


def test_coordinates_of_a_plane_and_whole_reports() -> None:
    frame = pd.DataFrame({"x": [0.2, 1.9], "y": [2.6, 0.1], "who": ["a", "b"]})
    found = dx.apply(plane(), frame, columns=dx.Columns(x="x", y="y", worst=True))
    assert list(found.columns)[3:6] == ["report", "epsilon", "uncertainty"]
    assert found["x"].dtype == found["y"].dtype == np.int64
    assert (found["report"] == [f"({x}, {y})" for x, y in zip(found["x"], found["y"], strict=True)]).all()
    assert (found["worst_case_uncertainty"] >= found["uncertainty"].max() - 1.5).all()


def test_values_and_labels() -> None:
    values = dx.apply(counts(), pd.DataFrame({"beds": [3, 6, 0]}), column="beds", within=0)
    assert values["beds"].between(0, 6).all()
    assert (values["report"] == values["beds"].astype(str)).all()
    labels = dx.apply(counts(), pl.DataFrame({"beds": ["3", "6", "0"]}), columns=dx.Columns(label="beds"))
    assert labels.columns == ["beds", "epsilon", "uncertainty", "dataGeneralizations"]
    assert set(labels["beds"]) <= set(counts().reports.labels)
    numbers = dx.apply(counts(), pl.DataFrame({"beds": [3, 6, 0]}), columns=dx.Columns(label="beds"))
    assert set(numbers["beds"]) <= set(counts().reports.labels)


def test_a_mechanism_and_a_report_stand_for_their_tables() -> None:
    space = dx.line(4)
    frame = pd.DataFrame({"value": [0, 1, 3]})
    prior = dx.Prior.from_weights(space, [5, 1, 1, 1], name="mine")
    report = dx.solve(dx.Problem(space, epsilon=1.0, prior=prior))
    for given in (report, report.mechanism, report.table):
        assert len(dx.apply(given, frame, column="value", within=0)) == 3
    for given in (report.problem, np.eye(3), None):
        with pytest.raises(dx.SpecError, match="table: is of type"):
            dx.apply(given, frame, column="value")


def test_columns_are_kept_and_left_out_by_name() -> None:
    frame = pd.DataFrame(people())
    found = dx.apply(town(), frame, lat="lat", lon="lon", columns=dx.Columns(keep=["time"]))
    assert list(found.columns) == ["lat", "time", "lon", *ADDED]
    found = dx.apply(town(), frame, lat="lat", lon="lon", columns=dx.Columns(drop=["note", "lat", "lon"]))
    assert list(found.columns) == ["person", "time", *ADDED]
    for name in ("lat", "lon"):
        with pytest.raises(dx.SpecError) as error:
            dx.apply(town(), frame, lat="lat", lon="lon", columns=dx.Columns(drop=[name]))
        assert error.value.field == "drop"
    # what is left has the report, if only in its column
    found = dx.apply(counts(), pd.DataFrame({"beds": [3]}), column="beds", columns=dx.Columns(drop=["beds"]))
    assert list(found.columns) == ["report", "epsilon", "uncertainty", "dataGeneralizations"]
    asked: list[tuple[str | None, dict[str, Any]]] = [("beds", {"lean": True}), (None, {"label": "beds"})]
    for column, options in asked:
        with pytest.raises(dx.SpecError, match=r"^drop: leaves no column with the report; keep 'beds'$"):
            columns = dx.Columns(drop=["beds"], **options)
            dx.apply(counts(), pd.DataFrame({"beds": [3], "ward": ["a"]}), column=column, columns=columns)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"keep": ["tim"]}, "keep: there is no column 'tim'; choose among person"),
        ({"drop": "note"}, r"drop: is the text 'note'; give a list"),
    ]
    for options, words in wrong:
        with pytest.raises(dx.SpecError, match=words):
            dx.apply(town(), frame, lat="lat", lon="lon", columns=dx.Columns(**options))


def test_names_that_are_somebodys_position_are_not_shown() -> None:
    nameless = pd.DataFrame([["ann", 45.75, 4.85]], columns=["ann", "45.75", "4.85"])
    for frame, words in (
        (nameless, "header: the first line looks like data; add a line that names the columns"),
        (nameless.set_axis(["ann", "45.75", "45.75"], axis=1), "header: the first line looks like"),
    ):
        with pytest.raises(dx.SpecError, match=f"^{words}") as found:
            dx.apply(town(), frame, lat="lat", lon="lon")
        assert "45.75" not in str(found.value) and "ann" not in str(found.value)


def test_an_earlier_uncertainty_is_replaced_and_other_names_are_refused() -> None:
    frame = pd.DataFrame({"coordinateUncertaintyInMeters": [3.0] * 40, **people()})
    found = dx.apply(town(), frame, lat="lat", lon="lon")
    assert found.columns[0] == "coordinateUncertaintyInMeters"
    assert (found["coordinateUncertaintyInMeters"] > 1000).all()
    with pytest.raises(dx.SpecError, match="data: has a column 'report'"):
        dx.apply(town(), frame.assign(report=1), lat="lat", lon="lon")
    assert (
        len(dx.apply(town(), frame.assign(report=1), lat="lat", lon="lon", columns=dx.Columns(drop=["report"]))) == 40
    )


@pytest.mark.filterwarnings("error::dxopt.PlausibilityWarning")
@pytest.mark.parametrize("name", ["home_address", "zipCode", "GeoHash", "verbatimLatitude", "h3_9", "postal code"])
def test_columns_that_locate_are_warned_of(name: str) -> None:
    frame = pd.DataFrame({**people(), name: "x"})
    with pytest.raises(dx.PlausibilityWarning, match=f"may locate somebody: '{name}'"):
        dx.apply(town(), frame, lat="lat", lon="lon")
    assert len(dx.apply(town(), frame, lat="lat", lon="lon", columns=dx.Columns(drop=[name]))) == 40


def test_the_warning_names_the_line_of_the_caller() -> None:
    with pytest.warns(dx.PlausibilityWarning) as told:
        dx.apply(town(), pd.DataFrame({**people(), "city": "x"}), lat="lat", lon="lon")
    assert told[0].filename == __file__


def test_what_was_done_is_written_where_asked(tmp_path: Path) -> None:
    file = tmp_path / "done.json"
    dx.apply(town(), pd.DataFrame(people()), dx.Output(sidecar=file), lat="lat", lon="lon")
    said = json.loads(file.read_text(encoding="utf-8"))
    assert said["rows"]["given"] == said["rows"]["out"] == 40
    assert said["output"] is None


def test_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    dx.apply(town(), pd.DataFrame(people()), lat="lat", lon="lon", progress=lambda *line: told.append(line))
    assert [share for _, share in told] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pl.DataFrame(people()).lazy(), "data: is of type LazyFrame; collect it first"),
        ([1, 2], "data: is of type list; give a frame"),
        (pd.DataFrame(people()).T, "data: has columns whose names are no text"),
        (pd.DataFrame({"lat": [], "lon": []}), "data: has no rows"),
    ],
)
def test_what_is_no_frame(data: Any, words: str) -> None:
    with pytest.raises(dx.SpecError, match=words):
        dx.apply(town(), data, lat="lat", lon="lon")


@pytest.mark.parametrize("library", ["narwhals"])
def test_what_is_not_installed_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(dx.UnsupportedError, match=rf"{library}: is not installed; install dxopt\[frames\]"):
        dx.apply(town(), pd.DataFrame(people()), lat="lat", lon="lon")


INDICES: dict[str, Any] = {
    "latitude": lambda frame: frame.set_index("lat", drop=False),
    "two": lambda frame: frame.set_index(["lat", "lon"], drop=False),
    "two without names": lambda frame: frame.set_index(["lat", "lon"], drop=False).rename_axis([None, None]),
    "one of pairs": lambda frame: frame.set_axis(
        pd.Index([*zip(frame["lat"], frame["lon"], strict=True)], tupleize_cols=False)
    ),
    "text": lambda frame: frame.set_axis(
        [f"{lat}, {lon}" for lat, lon in zip(frame["lat"], frame["lon"], strict=True)]
    ),
    "one of two": lambda frame: frame.set_index(["person", "lat"], drop=False)[:2],
    "copies": lambda frame: frame.set_axis(pd.MultiIndex.from_frame(frame[["lat", "lon"]], names=["p", "q"])),
    "times": lambda frame: frame.set_axis(pd.to_datetime(frame["time"], unit="D").rename("day")),
}


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("keep", [[], None, ["note"]], ids=str)
def test_no_index_is_published_that_was_not_chosen(index: str, keep: list[str] | None) -> None:
    """True positions do not leave as an index, whatever they are called there."""
    frame = INDICES[index](pd.DataFrame(people()))
    try:
        found = dx.apply(town(), frame, lat="lat", lon="lon", columns=dx.Columns(keep=keep))
    except dx.SpecError as error:
        assert error.field in ("data", "index", "columns") and keep is None
        return
    left = [found.index, *(found[name] for name in found)]
    true = {repr(value) for name in ("lat", "lon") for value in frame[name].tolist()}
    assert not [text for values in left for text in map(str, values) if any(value in text for value in true)]
    assert keep is None or found.index.equals(pd.RangeIndex(len(found)))


LABELS: dict[str, Any] = {
    "counted": lambda frame: frame,
    "counted, some left out": lambda frame: frame[frame["time"] % 3 > 0],
    "reversed": lambda frame: frame[::-1],
    "counted from 7": lambda frame: frame.set_axis(pd.RangeIndex(7, 47)),
    "text": lambda frame: frame.set_axis([f"i{number}" for number in range(40)]),
    "masked": lambda frame: frame.set_axis(pd.array(range(40, 0, -1), "Int64")),
    "categories": lambda frame: frame.set_axis(pd.CategoricalIndex([f"i{number}" for number in range(40)])),
    "days": lambda frame: frame.set_axis(pd.date_range("2020", periods=40)),
    "named": lambda frame: frame.set_index("person"),
    "a column": lambda frame: frame.set_index("person", drop=False),
    "two": lambda frame: frame.set_index(["time", "person"], drop=False).rename_axis([None, "person"]),
    "beside columns of its names": lambda frame: frame.assign(index=1, level_0=2)[::-1],
}


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("left_out", [0, 3])
def test_reports_go_to_their_rows_by_label(labels: str, left_out: int) -> None:
    frame = LABELS[labels](pd.DataFrame(people()))
    frame.iloc[:left_out, frame.columns.get_loc("lat")] = np.nan
    found = dx.apply(town(), frame, lat="lat", lon="lon", outside="drop")
    assert found.index.names == frame.index.names
    assert [*found.index] == [*frame.index[left_out:]]
    assert {*found.columns} == {*frame.columns, *ADDED}
    name = frame.index.names[-1] or "index"
    if labels not in ("counted", "beside columns of its names"):
        less = dx.apply(town(), frame, lat="lat", lon="lon", outside="drop", columns=dx.Columns(drop=[name]))
        assert name not in [*less.columns, *less.index.names]
        assert labels == "two" or [*less["note"]] == [*frame.iloc[less.index]["note"]]


REPEATING: dict[str, Any] = {
    "values": lambda names: names.to_numpy(),
    "another name": lambda names: pd.Index(names.array, name="u"),
    "its name": pd.Index,
    "categories": pd.CategoricalIndex,
    "Arrow": lambda names: pd.Index(names.astype("string[pyarrow]").array),
    "bytes": lambda names: pd.Index([str(name).encode() for name in names]),
    "text": lambda names: pd.Index([f" {name} " for name in names]),
}


@pytest.mark.parametrize("form", REPEATING)
@pytest.mark.parametrize("column", ["person", "time", "lat"])
@pytest.mark.parametrize("several", [False, True])
def test_an_index_that_repeats_what_is_left_out_is_left_out(form: str, column: str, several: bool) -> None:
    frame = pd.DataFrame(people()).assign(person=lambda frame: frame["person"].where(frame["time"] > 0))
    index = REPEATING[form](frame[column])
    frame.index = pd.MultiIndex.from_arrays([index, range(5, 45)], names=["u", "v"]) if several else index
    drop = ["person", "time"]
    found = dx.apply(town(), frame, lat="lat", lon="lon", columns=dx.Columns(drop=drop))
    assert [*found.index] == [*range(5 * several, 40 + 5 * several)]
    if column != "lat":
        assert frame.index.equals(dx.apply(town(), frame, lat="lat", lon="lon").index)


def test_an_index_of_true_values_is_not_published() -> None:
    frame = pd.DataFrame({"beds": [1.25, 2.25, 3.25], "ward": [*"abc"]})
    for given in (frame.set_index("beds", drop=False), frame.set_index("beds")):
        for keep in ([], ["ward"]):
            found = dx.apply(
                counts(), given, column="beds", outside="nearest", columns=dx.Columns(keep=keep), within=0.5
            )
            assert not {1.25, 2.25, 3.25} & {*found.reset_index()["beds"]}
