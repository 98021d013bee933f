"""What is promised of outputs, against exact rows, and by a judge that imports nothing of dxopt."""

from __future__ import annotations

import csv
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.geo.reach import reach
from dxopt.verify import verify_published
from tests.judges.releases import great_circle, judged
from tests.material.people import EAST, NORTH, SOUTH, WEST, counts, plane, town

pd = pytest.importorskip("pandas")


def city(size: int) -> Any:
    """Positions all over the town, evenly by area."""
    rng = np.random.default_rng(3)
    return pd.DataFrame({"lat": rng.uniform(SOUTH, NORTH, size), "lon": rng.uniform(WEST, EAST, size)})


def rows_of(file: Path) -> list[dict[str, Any]]:
    if file.suffix == ".parquet":
        return pd.read_parquet(file).to_dict("records")
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_judge_finds_every_claim_of_the_sidecar_true(tmp_path: Path, ending: str) -> None:
    table = tmp_path / "town.dxt"
    data = tmp_path / f"people.{ending}"
    output = tmp_path / f"out.{ending}"
    town().save(table)
    frame = city(300)
    frame.loc[17, "lat"] = 50.0
    frame.to_csv(data, index=False) if ending == "csv" else frame.to_parquet(data)
    done = dx.apply(town(), data, output, lat="lat", lon="lon", outside="drop", worst=True)
    assert judged(table, output, done.sidecar, rows_of(output)) == []
    assert verify_published(output, table).exit_code == 0
    assert done.dropped == [19 if ending == "csv" else 18]
    # the judge is awake
    said = json.loads(done.sidecar.read_text(encoding="utf-8"))
    said["privacy"]["epsilon"] *= 0.999
    said["secret"]["within"] *= 0.5
    done.sidecar.write_text(json.dumps(said), encoding="utf-8")
    wrong = judged(table, output, done.sidecar, rows_of(output))
    assert {"epsilon", "worst radius"} <= set(wrong)


def test_the_radius_holds_the_true_position_and_barely_less_does_not() -> None:
    frame = city(4000)
    found = dx.apply(town(), frame, lat="lat", lon="lon")
    apart = np.array(
        [
            1000 * great_circle([*true], [*report])
            for true, report in zip(frame.to_numpy(), found[["lat", "lon"]].to_numpy(), strict=True)
        ]
    )
    held = apart <= found["coordinateUncertaintyInMeters"].to_numpy()
    # 0.95 less five standard deviations
    assert held.mean() >= 0.95 - 5 * math.sqrt(0.95 * 0.05 / 4000)
    without = found["coordinateUncertaintyInMeters"].to_numpy() - 1005 * 2 * reach(town().space)
    assert (apart <= without).mean() < 0.95


def test_reports_have_the_probabilities_of_the_table() -> None:
    size = 20_000
    label = town().space.labels[7]
    lat, lon = np.asarray(town().space.points)[7]
    found = dx.apply(
        town(), pd.DataFrame({"lat": [lat + 1e-4] * size, "lon": [lon - 1e-4] * size}), lat="lat", lon="lon"
    )
    seen = found["report"].value_counts()
    row = {report: town().probability(label, report, by="label") for report in town().reports.labels}
    assert set(seen.index) <= {report for report, chance in row.items() if chance}
    statistic = sum(
        float((Fraction(int(seen.get(report, 0))) - size * chance) ** 2 / (size * chance))
        for report, chance in row.items()
    )
    # 19 degrees of freedom: the chance of more than 60 is 4e-6
    assert statistic < 60


def test_every_row_is_drawn_on_its_own() -> None:
    found = dx.apply(town(), pd.DataFrame({"lat": [45.7] * 400, "lon": [4.8] * 400}), lat="lat", lon="lon")
    again = dx.apply(town(), pd.DataFrame({"lat": [45.7] * 400, "lon": [4.8] * 400}), lat="lat", lon="lon")
    assert found["report"].nunique() > 5
    assert (found["report"] != again["report"]).any()


def test_radii_by_rationals_on_a_line_with_a_prior() -> None:
    table = counts()
    prior = [Fraction(weight, 16) for weight in (8, 4, 2, 1, 1, 0, 0)]
    found = dx.apply(
        table,
        pd.DataFrame({"beds": [0] * 3000}),
        column="beds",
        within=0,
        worst=True,
        prior=[float(share) for share in prior],
    )
    seen = dict(zip(found["beds"], found["uncertainty"], strict=True))
    assert len(seen) >= 5
    for z, radius in seen.items():
        weights = [share * row[z] for share, row in zip(prior, table.counts.tolist(), strict=True)]
        within = [sum(w for x, w in enumerate(weights) if abs(x - z) <= r) for r in range(7)]
        assert radius == next(r for r in range(7) if within[r] >= Fraction(95, 100) * sum(weights)), z
    rows = table.counts.tolist()
    worst = max(
        next(r for r in range(7) if sum(row[max(0, x - r) : x + r + 1]) >= Fraction(95, 100) * table.total)
        for x, row in enumerate(rows)
    )
    assert set(found["worst_case_uncertainty"]) == {worst}


def test_a_report_that_the_prior_excludes_has_the_radius_of_all_its_secrets() -> None:
    apart = [[0, math.inf, math.inf], [math.inf, 0, 1], [math.inf, 1, 0]]
    space = dx.MetricSpace.from_distances(apart, labels=["away", "left", "right"])
    table = dx.integer_table(dx.certify([[1, 0, 0], [0, 0.6, 0.4], [0, 0.4, 0.6]], space, 1.0))
    frame = pd.DataFrame({"v": ["away", "left", "right"]})
    found = dx.apply(table, frame, label="v", prior=[1.0, 0.0, 0.0])
    assert list(found["uncertainty"]) == [0.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("space", "expected"),
    [
        (dx.grid((3, 4), spacing=2.0), math.sqrt(2)),
        (dx.grid((3, 4), metric="manhattan"), 1.0),
        (dx.grid((3, 4), metric="chebyshev"), 0.5),
        (dx.torus((5, 5)), math.sqrt(0.5)),
        (dx.line(5, step=3.0), 1.5),
        (dx.MetricSpace.from_points([0.0, 1.0, 5.0]), 2.0),
        (dx.MetricSpace.from_points([[0, 0], [1, 0], [4, 0]]), 3.0),
        (dx.MetricSpace.from_distances([[0, 1, 4], [1, 0, 3], [4, 3, 0]]), 3.0),
    ],
)
def test_within_follows_from_the_space(space: dx.MetricSpace, expected: float) -> None:
    assert reach(space) == pytest.approx(expected)


def test_within_on_the_earth() -> None:
    places = [[45.0, 5.0], [45.0, 5.1], [46.0, 5.0]]
    table = dx.MetricSpace.from_points(places, "haversine")
    assert reach(table) == pytest.approx(great_circle(places[0], places[2]))
    cells = town().space
    corners = [[SOUTH, WEST], [SOUTH, WEST + (EAST - WEST) / 5]]
    assert reach(cells) == pytest.approx(
        max(great_circle(corner, np.asarray(cells.points)[0].tolist()) for corner in corners), rel=1e-3
    )


def test_a_corner_of_the_town_belongs_to_it() -> None:
    frame = pd.DataFrame({"lat": [SOUTH, SOUTH, NORTH, NORTH], "lon": [WEST, EAST, WEST, EAST]})
    assert len(dx.apply(town(), frame, lat="lat", lon="lon")) == 4
    assert len(dx.apply(plane(), pd.DataFrame({"x": [-0.5, 2.5], "y": [-0.5, 3.5]}), x="x", y="y")) == 2


@pytest.mark.parametrize("outside", ["refuse", "nearest", "drop"])
def test_the_statement_says_what_the_policy_costs(tmp_path: Path, outside: Any) -> None:
    file = tmp_path / "done.json"
    dx.apply(town(), city(5), lat="lat", lon="lon", outside=outside, sidecar=file, command=["dxopt", "apply"])
    said = json.loads(file.read_text(encoding="utf-8"))
    text = " ".join(said["privacy"]["statement"])
    assert ("left out" in text) is (outside == "drop")
    assert ("for these the radii hold about their secret" in text) is (outside == "nearest")
    assert "n independent reports of one person together cost n times as much" in text
    assert "The guarantee is between secrets" in text
    assert said["command"] == ["dxopt", "apply"]
    assert (said["secret"]["outside"], said["secret"]["within_unit"]) == (outside, "km")
    assert (said["secret"]["within"], said["secret"]["within_from_space"]) == (reach(town().space), True)


@pytest.mark.parametrize(
    ("within", "outside", "told"),
    [
        (0, "refuse", "between the 11 values of the space, and no other value was taken for one of them."),
        (0, "nearest", "Any other value is taken for the nearest of them"),
        (None, "refuse", "which is up to 0.5 beds away"),
    ],
)
def test_counts_are_values_throughout_the_sidecar(
    tmp_path: Path, within: float | None, outside: Any, told: str
) -> None:
    file = tmp_path / "done.json"
    beds = dx.classic.geometric(dx.line(11, unit="beds"), epsilon=0.5)
    counted = pd.DataFrame({"beds": [3, 7]})
    found = dx.apply(beds, counted, column="beds", within=within, outside=outside, sidecar=file)
    text = file.read_text(encoding="utf-8")
    assert told in " ".join(json.loads(text)["privacy"]["statement"])
    assert "position" not in text and "border" not in text
    assert "11 possible values" in found["dataGeneralizations"][0]


_BETWEEN = "The guarantee is between the 11 values of the space"
_MERGED = (
    "values with the same nearest one are not told apart at all, others as their nearest ones are, however close "
    "they are."
)
_HALF = f"{_BETWEEN}. Any other value is taken for the nearest of them, which is up to 0.5 beds away: {_MERGED}"
_ANY = f"{_BETWEEN}. Any other value is taken for the nearest of them, however far away that is: {_MERGED}"
_NONE = f"{_BETWEEN}, and no other value was taken for one of them."
_LOST = (
    "Rows without a value in the space were left out: that a row is missing says so, which no level of privacy "
    "covers."
)
_RADII = "the radii hold about their secret, not about the value itself."


@pytest.mark.parametrize(
    ("within", "outside", "told"),
    [
        (None, "refuse", [_HALF]),
        (None, "drop", [_HALF, _LOST]),
        (None, "nearest", [_ANY, f"There may be values further than 0.5 beds from every secret: for these {_RADII}"]),
        (0, "refuse", [_NONE]),
        (0, "drop", [_NONE, _LOST]),
        (0, "nearest", [_ANY, f"There may be values that are no secrets themselves: for these {_RADII}"]),
    ],
)
def test_which_values_are_taken_for_others(
    tmp_path: Path, within: float | None, outside: Any, told: list[str]
) -> None:
    beds = dx.classic.geometric(dx.line(11, unit="beds"), epsilon=0.5)
    file = tmp_path / "done.json"
    dx.apply(beds, pd.DataFrame({"beds": [3]}), column="beds", within=within, outside=outside, sidecar=file)
    said = json.loads(file.read_text(encoding="utf-8"))["privacy"]["statement"]
    start = next(place for place, sentence in enumerate(said) if sentence.startswith("The guarantee"))
    end = next(place for place, sentence in enumerate(said) if sentence.startswith("Rows stand"))
    assert said[start:end] == told


@pytest.mark.parametrize("outside", ["refuse", "drop", "nearest"])
@pytest.mark.parametrize("within", [None, 0])
def test_which_positions_are_taken_for_others(tmp_path: Path, within: float | None, outside: Any) -> None:
    file = tmp_path / "done.json"
    place = pd.DataFrame(np.asarray(town().space.points)[:1], columns=["lat", "lon"])
    dx.apply(town(), place, lat="lat", lon="lon", within=within, outside=outside, sidecar=file)
    text = " ".join(json.loads(file.read_text(encoding="utf-8"))["privacy"]["statement"])
    far = f"{reach(town().space):.6g} km"
    assert (f"each for the nearest, which is up to {far} away." in text) is (within is None and outside != "nearest")
    assert ("each for the nearest, however far away that is." in text) is (outside == "nearest")
    assert ("each for the one where it is." in text) is (within == 0 and outside != "nearest")
    off = "that are no secrets themselves" if within == 0 else f"further than {far} from every secret"
    told = (
        f"There may be positions {off}: for these the radii hold about their secret, not about the position itself, "
        "and the factor between positions does not hold."
    )
    assert (told in text) is (outside == "nearest")
    assert ("were left out" in text) is (outside == "drop")
    assert " 0 km" not in text


def test_labels_are_never_taken_for_others(tmp_path: Path) -> None:
    file = tmp_path / "done.json"
    dx.apply(counts(), pd.DataFrame({"beds": ["3"]}), label="beds", outside="nearest", sidecar=file)
    text = file.read_text(encoding="utf-8")
    assert "There may be" not in text and "taken for" not in text


def test_labels_are_labels_throughout_the_sidecar(tmp_path: Path) -> None:
    file = tmp_path / "done.json"
    words = dx.classic.exponential(dx.MetricSpace.from_points(["yes", "no"], "discrete"), epsilon=0.5)
    found = dx.apply(words, pd.DataFrame({"answer": ["no"]}), label="answer", sidecar=file)
    assert "position" not in file.read_text(encoding="utf-8")
    assert "2 possible labels" in found["dataGeneralizations"][0]


def test_a_lean_output_has_what_differs_between_rows(tmp_path: Path) -> None:
    file = tmp_path / "done.json"
    found = dx.apply(town(), city(5), lat="lat", lon="lon", lean=True, sidecar=file)
    assert found.columns.tolist() == ["lat", "lon", "coordinateUncertaintyInMeters"]
    said = json.loads(file.read_text(encoding="utf-8"))
    assert said["columns"]["made"] == found.columns.tolist()
    assert said["privacy"]["epsilon"] == town().epsilon and "dataGeneralizations" not in str(said)
    places = {tuple(point) for point in np.asarray(town().space.points).tolist()}
    assert {*zip(found["lat"], found["lon"], strict=True)} <= places
    beds = dx.classic.geometric(dx.line(4), epsilon=0.5)
    assert dx.apply(beds, pd.DataFrame({"beds": [3]}), column="beds", lean=True, worst=True).columns.tolist() == [
        "beds",
        "uncertainty",
        "worst_case_uncertainty",
    ]
