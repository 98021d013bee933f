"""What is promised of outputs, against exact rows, and by a judge that imports nothing of dxopt."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.spaces.geo.reach import reach
from dxopt.verify import verify_published
from dxopt.verify.published.sidecar import read_sidecar
from dxopt.words.published import PublishedFile, sentences
from tests.judges.releases import great_circle, judged
from tests.material.people import EAST, NORTH, SOUTH, WEST, counts, plane, town

pd = pytest.importorskip("pandas")

PLACE = {"lat": "lat", "lon": "lon"}


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
    done = dx.apply(town(), data, output, lat="lat", lon="lon", outside="drop", columns=dx.Columns(worst=True))
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
        columns=dx.Columns(worst=True, prior=[float(share) for share in prior]),
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
    found = dx.apply(table, frame, columns=dx.Columns(label="v", prior=[1.0, 0.0, 0.0]))
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
    assert (
        len(dx.apply(plane(), pd.DataFrame({"x": [-0.5, 2.5], "y": [-0.5, 3.5]}), columns=dx.Columns(x="x", y="y")))
        == 2
    )


@pytest.mark.parametrize("outside", ["refuse", "nearest", "drop"])
def test_the_statement_says_what_the_policy_costs(tmp_path: Path, outside: Any) -> None:
    file = tmp_path / "done.json"
    dx.apply(
        town(), city(5), dx.Output(sidecar=file, command=["dxopt", "apply"]), lat="lat", lon="lon", outside=outside
    )
    said = json.loads(file.read_text(encoding="utf-8"))
    topics = dict(sentences(read_sidecar(file)))
    assert ("left out" in topics) is (outside == "drop")
    assert ("outside" in topics) is (outside == "nearest")
    assert {"positions", "one report", "several reports", "secrets", "order", "radii", "other columns"} <= set(topics)
    assert "dataGeneralizations" not in str(topics)
    assert said["command"] == ["dxopt", "apply"]
    assert (said["secret"]["outside"], said["secret"]["within_unit"]) == (outside, "km")
    assert (said["secret"]["within"], said["secret"]["within_from_space"]) == (reach(town().space), True)


@pytest.mark.parametrize(("within", "outside"), [(0, "refuse"), (0, "nearest"), (None, "refuse"), (None, "nearest")])
def test_counts_are_values_throughout_the_sidecar(tmp_path: Path, within: float | None, outside: Any) -> None:
    """What is taken for a value, and from how far away, follows from the policy and the space."""
    file = tmp_path / "done.json"
    beds = dx.classic.geometric(dx.line(11, unit="beds"), epsilon=0.5)
    counted = pd.DataFrame({"beds": [3, 7]})
    found = dx.apply(beds, counted, dx.Output(sidecar=file), column="beds", within=within, outside=outside)
    said = read_sidecar(file)
    assert (said.secret.within, said.secret.outside) == (0 if within == 0 else 0.5, outside)
    topics = dict(sentences(said))
    assert "the 11 values" in topics["secrets"]
    assert ("up to 0.5 beds away" in topics["secrets"]) is (within is None and outside == "refuse")
    assert ("outside" in topics) is (outside == "nearest")
    assert "position" not in str(topics) + file.read_text(encoding="utf-8")
    assert "11 possible values" in found["dataGeneralizations"][0]


@pytest.mark.parametrize(("table", "where"), [(counts, {"column": "beds"}), (town, PLACE)])
@pytest.mark.parametrize(("within", "near"), [(None, "{} of a secret"), (0, "among the secrets")])
def test_radii_are_said_to_hold_what_they_hold(
    table: Callable[[], dx.IntegerTable], where: dict[str, str], within: float | None, near: str, tmp_path: Path
) -> None:
    """Of rows far from every secret, that were taken for the nearest, radii hold that secret alone."""
    file, space = tmp_path / "done.json", table().space
    points = np.asarray(space.points, dtype=float)[:2]
    data = pd.DataFrame(dict(zip(where.values(), points.T, strict=True)))
    told = {}
    for outside in ("refuse", "drop", "nearest"):
        asked: dict[str, Any] = {**where, "within": within, "outside": outside}
        found = dx.apply(table(), data, dx.Output(sidecar=file, force=True), **asked)
        page = PublishedFile(file, read_sidecar(file))
        row = found["dataGeneralizations"][0] if where is PLACE else None
        told[outside] = (*re.split(" Column ", page.data_page.accuracy), dict(page.sentences)["radii"], row)
    assert told["refuse"] == told["drop"]
    unit = f" {space.unit}".rstrip()
    said = near.format(f"{reach(space):.6g}{unit}")
    for usual, nearest in zip(told["refuse"], told["nearest"], strict=True):
        assert nearest is None or (said in nearest and said not in usual)


@pytest.mark.parametrize("key", [None, dx.Key(bytes(32))], ids=["no key", "key"])
def test_a_budget_pays_for_rows_or_with_a_key_for_different_secrets(key: dx.Key | None, tmp_path: Path) -> None:
    """With a key a person has as many rows of one secret as there are."""
    data = pd.DataFrame({"user": ["a"] * 4, "beds": [3] * 4, "day": ["2026-01-01"] * 4})
    file, cost = tmp_path / "said.json", Fraction(counts().epsilon)
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=5 * cost) as ledger:
        ledger.set_per("month", 4 * cost)
        asked: dict[str, Any] = {"person": "user", "time": "day", "ledger": ledger}
        asked |= {"key": key, "release": "May"} if key else {}
        dx.apply(counts(), data, dx.Output(sidecar=file), column="beds", **asked)
        assert [account.spent for account in ledger.accounts()] == [cost if key else 4 * cost]
    told = PublishedFile(file, read_sidecar(file))
    budget = dict(told.sentences)["budget"]
    assert budget in told.data_page.repeated
    assert ("row" in budget, budget.count("different secret")) == ((False, 3) if key else (True, 0))


@pytest.mark.parametrize("unusable", ["refuse", "drop"])
@pytest.mark.parametrize("over_budget", ["refuse", "drop"])
def test_a_data_page_says_which_rows_are_left_out(unusable: Any, over_budget: Any, tmp_path: Path) -> None:
    data = pd.DataFrame({"user": ["a", "a", "b"], "beds": [3.0, 4.0, math.nan if unusable == "drop" else 5.0]})
    file, cost = tmp_path / "said.json", Fraction(counts().epsilon)
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=2 * cost) as ledger:
        asked: dict[str, Any] = {"person": "user", "ledger": ledger, "unusable": unusable, "over_budget": over_budget}
        dx.apply(counts(), data, dx.Output(sidecar=file), column="beds", **asked)
    told = PublishedFile(file, read_sidecar(file))
    topics, page = dict(told.sentences), told.data_page.written()
    assert {topic for topic in ("left out", "kept") if topics.get(topic, "none") in page} == {
        *(["left out"] if unusable == "drop" else []),
        *(["kept"] if over_budget == "drop" else []),
    }


@pytest.mark.parametrize("paid", [False, True])
@pytest.mark.parametrize("key", [None, dx.Key(bytes(32))], ids=["no key", "key"])
@pytest.mark.parametrize("person", ["user", "user_day", "Día del usuario"])
def test_the_statement_says_whose_values_are_persons(
    person: str, key: dx.Key | None, paid: bool, tmp_path: Path
) -> None:
    """Where a column splits a user into days, nothing is promised about the user."""
    data = pd.DataFrame({person: ["u1, mon", "u1, tue", "u2, mon"], "beds": [1, 2, 3]})
    file = tmp_path / "said.json"
    with dx.Budgets.open(tmp_path / "ledger.sqlite", create=True, default=10) as ledger:
        asked: dict[str, Any] = {"ledger": ledger} if paid else {}
        asked |= {"key": key, "release": "May"} if key else {}
        asked |= {"person": person} if asked else {}
        dx.apply(counts(), data, dx.Output(sidecar=file), column="beds", **asked)
    topics = dict(sentences(read_sidecar(file)))
    assert ("persons" in topics) == bool(asked)
    assert repr(person) in topics.get("persons", repr(person))


def test_labels_are_never_taken_for_others(tmp_path: Path) -> None:
    file = tmp_path / "done.json"
    dx.apply(
        counts(),
        pd.DataFrame({"beds": ["3"]}),
        dx.Output(sidecar=file),
        columns=dx.Columns(label="beds"),
        outside="nearest",
    )
    assert not {"outside", "secrets"} & set(dict(sentences(read_sidecar(file))))


def test_labels_are_labels_throughout_the_sidecar(tmp_path: Path) -> None:
    file = tmp_path / "done.json"
    words = dx.classic.exponential(dx.MetricSpace.from_points(["yes", "no"], "discrete"), epsilon=0.5)
    found = dx.apply(
        words, pd.DataFrame({"answer": ["no"]}), dx.Output(sidecar=file), columns=dx.Columns(label="answer")
    )
    assert "position" not in str(sentences(read_sidecar(file)))
    assert "2 possible labels" in found["dataGeneralizations"][0]


def test_a_lean_output_has_what_differs_between_rows(tmp_path: Path) -> None:
    file = tmp_path / "done.json"
    found = dx.apply(town(), city(5), dx.Output(sidecar=file), lat="lat", lon="lon", columns=dx.Columns(lean=True))
    assert found.columns.tolist() == ["lat", "lon", "coordinateUncertaintyInMeters"]
    said = json.loads(file.read_text(encoding="utf-8"))
    assert said["columns"]["made"] == found.columns.tolist()
    assert said["privacy"]["epsilon"] == town().epsilon and "dataGeneralizations" not in str(said)
    places = {tuple(point) for point in np.asarray(town().space.points).tolist()}
    assert {*zip(found["lat"], found["lon"], strict=True)} <= places
    beds = dx.classic.geometric(dx.line(4), epsilon=0.5)
    assert dx.apply(
        beds, pd.DataFrame({"beds": [3]}), column="beds", columns=dx.Columns(lean=True, worst=True)
    ).columns.tolist() == [
        "beds",
        "uncertainty",
        "worst_case_uncertainty",
    ]


BEYOND: dict[str, tuple[Callable[[], dx.IntegerTable], dict[str, Any], list[dict[str, list[float]]]]] = {
    "values": (counts, {"column": "beds"}, [{"beds": [2, last]} for last in (6, 7, 999.5)]),
    "positions": (town, PLACE, [{"lat": [45.7, north], "lon": [4.8, EAST]} for north in (NORTH, 45.8, 46)]),
    "plane": (plane, {"columns": dx.Columns(x="x", y="y")}, [{"x": [0, far], "y": [0, 2]} for far in (2, 3, 90.5)]),
}
"""Table, columns, and data whose rows stand for the same secrets; the last row is inside, outside and far outside."""


@pytest.mark.parametrize("form", ["file", "frame"])
@pytest.mark.parametrize("kind", BEYOND)
def test_nothing_published_tells_of_a_row_outside_that_was_taken_for_the_nearest_secret(
    kind: str, form: str, tmp_path: Path
) -> None:
    """With a key the same secrets have the same reports, and so all that is published has to be the same."""
    table, where, data = BEYOND[kind]
    asked = {**where, "outside": "nearest", "key": dx.Key(bytes(32)), "person": "user", "release": "May"}
    given, output, beside = (tmp_path / name for name in ("in.csv", "out.csv", "out.json"))
    published = []
    for columns in data:
        frame = pd.DataFrame({"user": ["a", "b"], **columns})
        if form == "frame":
            found = dx.apply(table(), frame, dx.Output(sidecar=beside, force=True), **asked)
            published.append((found.to_csv(), beside.read_bytes()))
            continue
        frame.to_csv(given, index=False)
        done = dx.apply(table(), given, dx.Output(output, force=True), **asked)
        assert done.moved.outside == (columns is not data[0])
        for shown in (str(done), done._repr_html_()):
            assert ("outside of the space" in shown) is (columns is not data[0])
        published.append((output.read_bytes(), done.sidecar.read_bytes()))
    assert published[0] == published[1] == published[2]
