"""Policies for what lies outside, and input that is refused: one line, no position in it, nothing written."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.people import NORTH, counts, people, plane, town

pd = pytest.importorskip("pandas")


def frame_with(**cells: tuple[int, Any]) -> Any:
    """The people, with some cells of a column replaced: `lat=(row, value)`."""
    frame = pd.DataFrame(people()).astype({"lat": object, "lon": object})
    for name, (row, value) in cells.items():
        frame.loc[row, name] = value
    return frame


def applied(frame: Any, **options: Any) -> Any:
    return dx.apply(town(), frame, lat="lat", lon="lon", **options)


@pytest.mark.parametrize("value", [math.nan, None, "", "x", math.inf, True])
def test_rows_without_a_number_are_refused_or_left_out(value: object) -> None:
    frame = frame_with(lat=(6, value))
    for outside in ("refuse", "nearest"):
        with pytest.raises(dx.SpecError, match=r"^data: 1 of 40 rows \(row 7\) is empty or no number; mend them"):
            applied(frame, outside=outside)
    assert list(applied(frame, outside="drop")["person"]) == [f"p{row}" for row in range(40) if row != 6]


def test_rows_outside_are_refused_snapped_or_left_out() -> None:
    frame = frame_with(lat=(6, NORTH + 0.5), lon=(9, 5.2))
    words = r"^data: 2 of 40 rows \(rows 7, 10\) are further than 1\.04 km from every secret; check "
    with pytest.raises(dx.SpecError, match=words) as refused:
        applied(frame)
    assert str(NORTH + 0.5) not in str(refused.value)
    assert len(applied(frame, outside="nearest")) == 40
    assert list(applied(frame, outside="drop")["person"]) == [f"p{row}" for row in range(40) if row not in (6, 9)]
    assert len(applied(frame, within=60)) == 40
    with pytest.raises(dx.SpecError, match=r"rows \(rows 1, 2, 3, 4, 5, …\) are further than 1e-05 km"):
        applied(frame, within=1e-5)


@pytest.mark.parametrize("outside", ["refuse", "nearest", "drop"])
def test_swapped_coordinates_are_refused_whatever_the_policy(outside: str) -> None:
    frame = pd.DataFrame(people()).rename(columns={"lat": "a", "lon": "b"})
    with pytest.raises(dx.SpecError, match="lie outside of the space, but fit with their coordinates swapped"):
        dx.apply(town(), frame, lat="b", lon="a", outside=outside)  # pyright: ignore[reportArgumentType]
    with pytest.raises(dx.SpecError, match="lat: are 'lon' and 'lat', in this order"):
        dx.apply(town(), pd.DataFrame(people()), lat="lon", lon="lat", outside=outside)  # pyright: ignore


def test_metres_are_no_degrees() -> None:
    frame = pd.DataFrame({"lat": [5_070_000.0, 45.7], "lon": [650_000.0, 4.8]})
    for outside in ("refuse", "nearest"):
        with pytest.raises(dx.SpecError, match=r"\(row 1\) is no latitude and longitude in degrees; convert them"):
            applied(frame, outside=outside)
    assert len(applied(frame, outside="drop")) == 1


def test_nothing_left_is_an_error() -> None:
    frame = pd.DataFrame({"lat": [0.0, 10.0], "lon": [0.0, 10.0]})
    for outside in ("nearest", "drop"):
        with pytest.raises(dx.SpecError, match="data: has no row whose position is within the space"):
            applied(frame, outside=outside)


def test_labels_that_are_none() -> None:
    frame = pd.DataFrame({"beds": ["3", "7", "x", None]})
    for outside in ("refuse", "nearest"):
        with pytest.raises(dx.SpecError, match=r"data: 1 of 4 rows \(row 4\) is empty or no label"):
            dx.apply(counts(), frame, columns=dx.Columns(label="beds"), outside=outside)  # pyright: ignore[reportArgumentType]
        with pytest.raises(dx.SpecError, match=r"data: 2 of 3 rows \(rows 2, 3\) are no label of a secret"):
            dx.apply(counts(), frame[:3], columns=dx.Columns(label="beds"), outside=outside)  # pyright: ignore[reportArgumentType]
    assert len(dx.apply(counts(), frame, columns=dx.Columns(label="beds"), outside="drop")) == 1


@pytest.mark.parametrize(
    "column",
    [
        pd.array(["3", pd.NA, "0"], dtype="string"),
        pd.array([3, pd.NA, 0], dtype="Int64"),
        pd.Categorical(["3", None, "0"]),
        ["3", [1, 2], "0"],
        ["3", np.array([1, 2]), "0"],
        [3, {"a": 1}, 0.0],
    ],
)
def test_labels_of_every_type(column: Any) -> None:
    frame = pd.DataFrame({"beds": column, "who": ["a", "b", "c"]})
    with pytest.raises(dx.SpecError, match=r"data: 1 of 3 rows \(row 2\) is "):
        dx.apply(counts(), frame, columns=dx.Columns(label="beds"))
    assert list(dx.apply(counts(), frame, columns=dx.Columns(label="beds"), outside="drop")["who"]) == ["a", "c"]


def test_values_between_secrets() -> None:
    frame = pd.DataFrame({"beds": [3.5, 6.5, -0.5]})
    assert len(dx.apply(counts(), frame, column="beds")) == 3
    for within, refused in ((0.4, "3 of 3 rows"), (0, "3 of 3 rows")):
        with pytest.raises(dx.SpecError, match=refused):
            dx.apply(counts(), frame, column="beds", within=within)
    with pytest.raises(dx.SpecError, match="1 of 1 rows"):
        dx.apply(counts(), pd.DataFrame({"beds": [6.6]}), column="beds")


@pytest.mark.parametrize("value", [3.5, 7, -1])
def test_values_that_are_no_secret(value: float) -> None:
    frame = pd.DataFrame({"beds": [1, value]})
    with pytest.raises(dx.SpecError) as refused:
        dx.apply(counts(), frame, column="beds", within=0)
    assert str(refused.value) == (
        "data: 1 of 2 rows (row 2) is none of the secrets, which are the whole numbers from 0 to 6; mend them, "
        "take a line that has them, or give a larger within= (how far a value may be from the secret that stands "
        "for it), or outside='nearest' or outside='drop'"
    )
    halves = dx.integer_table(dx.classic.geometric(dx.line(7, step=0.5), epsilon=1.0))
    with pytest.raises(dx.SpecError, match="is none of the secrets, which run from 0 to 3; mend them"):
        dx.apply(halves, pd.DataFrame({"beds": [1, 0.25]}), column="beds", within=0)
    with pytest.raises(
        dx.SpecError, match=r"further than 0\.1 from every secret, which run from 0 to 3; take a line"
    ):
        dx.apply(halves, pd.DataFrame({"beds": [1, 0.25]}), column="beds", within=0.1)


def test_underscores_are_no_number() -> None:
    for other in ("2", "x"):
        frame = pd.DataFrame({"beds": ["1_0", other]})
        with pytest.raises(dx.SpecError, match=r"(is|are) empty or no number"):
            dx.apply(dx.integer_table(dx.classic.geometric(dx.line(21), epsilon=1.0)), frame, column="beds")


def test_underscores_in_a_file_are_no_number(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    file.write_text("beds\n3\n1_0\n", encoding="utf-8")
    table = dx.integer_table(dx.classic.geometric(dx.line(21), epsilon=1.0))
    with pytest.raises(dx.SpecError, match=r"data: 1 of 2 rows \(line 3\) is empty or no number; mend them"):
        dx.apply(table, file, tmp_path / "out.csv", column="beds")


@pytest.mark.parametrize(
    ("table", "columns", "words"),
    [
        (town, {}, "columns: are not named"),
        (town, {"lat": "lat"}, "columns: are named by lat; name lat and lon"),
        (
            town,
            {"lat": "lat", "lon": "lon", "columns": dx.Columns(label="note")},
            "columns: are named by lat and lon and label",
        ),
        (town, {"lat": "lat", "lon": "lat"}, "columns: are both 'lat'"),
        (town, {"columns": dx.Columns(x="lat", y="lon")}, "x: the secrets are on the Earth; name lat and lon"),
        (plane, {"lat": "lat", "lon": "lon"}, "lat: the secrets have no positions on the Earth; name x and y"),
        (counts, {"columns": dx.Columns(x="lat", y="lon")}, "x: the secrets have no two coordinates with a metric"),
        (town, {"lat": "lat", "lon": "lng"}, "columns: there is no column 'lng'; choose among person, lat"),
        (town, {"lat": "lat", "lon": "lon", "outside": "ignore"}, "outside: is 'ignore'; choose one of refuse"),
        (town, {"lat": "lat", "lon": "lon", "within": -1}, "within: is -1; give a finite number"),
        (town, {"lat": "lat", "lon": "lon", "within": math.nan}, "within: is nan; give a finite number"),
        (counts, {"columns": dx.Columns(label="time"), "within": 1}, "within: is given for labels"),
        (
            town,
            {"lat": "lat", "lon": "lon", "columns": dx.Columns(prior=[1, 2])},
            "prior: has 2 entries",
        ),
        (
            town,
            {"lat": "lat", "lon": "lon", "output": dx.Output(sidecar="/no/folder/x.json")},
            "output: there is no folder",
        ),
    ],
)
def test_options_that_do_not_fit(table: Any, columns: dict[str, Any], words: str) -> None:
    with pytest.raises(dx.SpecError, match=words) as refused:
        dx.apply(table(), pd.DataFrame(people()), **columns)
    assert "\n" not in str(refused.value)


def test_refused_rows_leave_no_file(tmp_path: Path) -> None:
    file = tmp_path / "people.csv"
    frame_with(lat=(39, 50.0)).to_csv(file, index=False)
    with pytest.raises(dx.SpecError, match=r"data: 1 of 40 rows \(line 41\) is further than"):
        dx.apply(town(), file, tmp_path / "out.csv", lat="lat", lon="lon")
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_one_secret_gives_no_scale() -> None:
    space = dx.MetricSpace.from_points([[45.0, 5.0]], "haversine")
    table = dx.integer_table(dx.classic.exponential(space, epsilon=1.0))
    frame = pd.DataFrame({"lat": [45.0], "lon": [5.0]})
    with pytest.raises(dx.SpecError, match="within: does not follow from a space whose points are all one"):
        dx.apply(table, frame, lat="lat", lon="lon")
    assert list(dx.apply(table, frame, lat="lat", lon="lon", within=1)["coordinateUncertaintyInMeters"]) == [1005]


def test_longitudes_may_be_a_turn_away() -> None:
    frame = pd.DataFrame(people())
    frame["lon"] -= 360.0
    assert np.isin(applied(frame)["report"], list(town().reports.labels)).all()


@pytest.mark.parametrize("within", [20_016, 1e15, 1e18, 1e300])
def test_within_is_no_more_than_positions_can_be_apart(within: float) -> None:
    with pytest.raises(dx.SpecError) as refused:
        applied(pd.DataFrame(people()), within=within)
    assert refused.value.field == "within"
    assert applied(pd.DataFrame(people()), within=20_015)["coordinateUncertaintyInMeters"].min() > 20_015_000


@pytest.mark.parametrize("within", [10, 2**53, 1e18, 1e19, 1e300])
def test_radii_of_values_are_never_below_within(within: float) -> None:
    frame = dx.apply(
        counts(), pd.DataFrame({"beds": [1, 2]}), column="beds", within=within, columns=dx.Columns(worst=True)
    )
    assert frame[["uncertainty", "worst_case_uncertainty"]].to_numpy().min() >= within


@pytest.mark.parametrize("largest", [2**52, 2**53 + 2, 1e18, 1e19, 1e300])
def test_whole_values_of_any_size_are_published_as_they_are(largest: float) -> None:
    space = dx.MetricSpace.from_points([[0.0], [float(largest)]])
    report = dx.solve(dx.Problem(space, epsilon=1 / float(largest), prior="uniform"))
    frame = dx.apply(report, pd.DataFrame({"beds": [0.0] * 20}), column="beds", within=0)
    assert {*frame["beds"].tolist()} <= {0, largest}
