"""Every field of a sidecar changed, taken away or added: refused, or listed as not checked."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.verify import Outcome, verify, verify_published
from dxopt.verify.published.sidecar import read_sidecar
from dxopt.verify.verdict import Broken
from tests.material.forged_kinds import KINDS
from tests.material.people import counts, people, plane, town
from tests.verify.changes import changes
from tests.verify.forging import redigest

pandas = pytest.importorskip("pandas")
_POINTS: dict[str, Any] = {"lat": "lat", "lon": "lon"}


def _positions(data: Path, out: Path, **options: Any) -> dx.IntegerTable:
    pandas.DataFrame(people(12)).to_csv(data, index=False)
    dx.apply(town(), data, out, **{**_POINTS, **options})
    return town()


def _far(data: Path, out: Path, outside: Any) -> dx.IntegerTable:
    frame = pandas.DataFrame(people(12))
    frame.loc[3, "lat"] += 1.0
    frame.to_csv(data, index=False)
    dx.apply(town(), data, out, outside=outside, columns=dx.Columns(drop=["note"]), **_POINTS)
    return town()


def _counted(data: Path, out: Path) -> dx.IntegerTable:
    pandas.DataFrame({"beds": [0, 3, 6, 3]}).to_csv(data, index=False)
    dx.apply(counts(), data, out, column="beds")
    return counts()


def _labelled(data: Path, out: Path) -> dx.IntegerTable:
    pandas.DataFrame({"place": ["(0, 0)", "(2, 3)"]}).to_csv(data, index=False)
    dx.apply(plane(), data, out, columns=dx.Columns(label="place"))
    return plane()


MADE: dict[str, Callable[[Path, Path], dx.IntegerTable]] = {
    "positions": lambda data, out: _positions(data, out, columns=dx.Columns(worst=True)),
    "within": lambda data, out: _positions(data, out, within=3.0),
    "keyed": lambda data, out: _positions(data, out, key=dx.Key(bytes(32)), person="person", release="May"),
    "nearest": lambda data, out: _far(data, out, "nearest"),
    "drop": lambda data, out: _far(data, out, "drop"),
    "counts": _counted,
    "labels": _labelled,
}
GIVEN = (
    (r"version|prior\.name|output\.name|command.*|draws\..*", ".*", "names, versions, keys and the command"),
    (r"privacy\.near\.radius", "half|a little .*|0|one less", "no larger factor follows"),
    (r"privacy\.near\.(apart|factor)", "twice|a little more|one more", "a weaker promise"),
    (r"secret\.within(_from_space)?", ".*", "what was given is listed as given"),
    (r"radius\.worst", "twice|a little (more|less)|one more|null", "it still holds as much"),
    (r"radius", "null", "radii that are not said claim nothing"),
    (r"rows\.(given|outside|unusable)", ".*", "how many rows there were is listed as not proven"),
    (r"rows\.dropped.*|columns\.left_out.*", ".*", "what is not there cannot be seen"),
    (r"columns\.(kept|made)", "reversed", "the same columns in another order"),
)


def _given(entry: str, change: str) -> bool:
    return any(re.fullmatch(path, entry) and re.fullmatch(how, change) for path, how, _ in GIVEN)


def _items(content: Any) -> Iterator[tuple[Any, Any]]:
    yield from (
        content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    )


def _objects(content: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in plain content, with the way to it."""
    if isinstance(content, dict):
        yield path, content
    for key, value in _items(content):
        yield from _objects(value, f"{path}.{key}".strip("."))


@pytest.mark.parametrize("kind", MADE)
def test_no_field_of_a_sidecar_passes(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    table = MADE[kind](tmp_path / "data.csv", out).save(tmp_path / "table.dxt")
    side = tmp_path / "out.csv.dxopt.json"
    honest = side.read_text(encoding="utf-8")
    assert verify_published(out, table).exit_code == 0
    passed = []
    for entry, change, content in [*changes(side)][list(MADE).index(kind) % 5 :: 5]:
        side.write_bytes(content())
        if json.loads(side.read_text()) != json.loads(honest) and verify_published(out, table).exit_code == 0:
            passed += [] if _given(entry, change) else [(entry, change)]
    assert passed == []


@pytest.mark.parametrize("kind", ["nearest", "drop"])
def test_what_became_of_rows_outside(kind: str, tmp_path: Path) -> None:
    """Neither another policy nor a number of those taken for the nearest secret."""
    out = tmp_path / "out.csv"
    side = tmp_path / "out.csv.dxopt.json"
    table = MADE[kind](tmp_path / "data.csv", out).save(tmp_path / "table.dxt")
    for policy in ("refuse", "nearest", "drop"):
        _change(side, "secret", outside=policy)
        assert (verify_published(out, table).exit_code == 0) is (kind == policy)
    _change(side, "secret", outside="nearest")
    for number in (0, 1):
        _change(side, "rows", outside=number)
        assert verify_published(out, table).exit_code == 1


def _change(side: Path, group: str, **fields: object) -> None:
    said = json.loads(side.read_text(encoding="utf-8"))
    said[group] |= fields
    side.write_text(json.dumps(said), encoding="utf-8")


@pytest.mark.parametrize("kind", ["nearest", "drop", "positions"])
def test_numbers_of_rows_that_cannot_be(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    table = MADE[kind](tmp_path / "data.csv", out).save(tmp_path / "table.dxt")
    side = tmp_path / "out.csv.dxopt.json"
    honest = side.read_text(encoding="utf-8")
    rows = json.loads(honest)["rows"]
    unfit = (rows["outside"] or 0) + rows["unusable"]
    for outside in (-5, rows["given"] + 1, 10**18):
        for unusable in (rows["unusable"], unfit - outside):
            side.write_text(honest, encoding="utf-8")
            _change(side, "rows", outside=outside, unusable=unusable)
            assert verify_published(out, table).of("rows").status is Outcome.FAILS, (outside, unusable)


@pytest.mark.parametrize("metric", ["haversine", "conservative_haversine", "geodesic", "euclidean"])
@pytest.mark.parametrize("within", [None, 0.01])
def test_positions_are_not_without_their_factor(metric: str, within: float | None, tmp_path: Path) -> None:
    project: dict[str, Any] = {"project": True} if metric == "euclidean" else {"metric": metric}
    space = dx.geo.bounding_grid(45.68, 4.76, 45.74, 4.84, shape=(2, 3), **project)
    table = dx.integer_table(dx.solve(dx.Problem(space, epsilon=0.9, prior="uniform")).mechanism)
    pandas.DataFrame({"lat": [45.695, 45.71], "lon": [4.8, 4.79]}).to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "out.csv"
    dx.apply(table, tmp_path / "data.csv", out, **_POINTS, within=within, outside="nearest")
    saved = table.save(tmp_path / "table.dxt")
    assert verify_published(out, saved).of("promise").status is not Outcome.FAILS
    side = tmp_path / "out.csv.dxopt.json"
    near = json.loads(side.read_text(encoding="utf-8"))["privacy"]["near"]
    assert near["between"] == "positions"
    factor = math.exp(table.epsilon * near["radius"])
    _change(side, "privacy", near={**near, "between": "secrets", "apart": near["radius"], "factor": factor})
    assert verify_published(out, saved).of("promise").status is Outcome.FAILS


@pytest.mark.parametrize(
    "change", [{"between": "positions"}, {"factor": 1.0}, {"apart": 0.5}, {"radius": 2.0}, {"radius": -1.0}]
)
def test_between_values_no_more_is_promised_than_holds(change: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    table = MADE["counts"](tmp_path / "data.csv", out).save(tmp_path / "table.dxt")
    side = tmp_path / "out.csv.dxopt.json"
    near = json.loads(side.read_text(encoding="utf-8"))["privacy"]["near"]
    assert (near["between"], near["radius"], near["apart"]) == ("secrets", 1.0, 1.0)
    assert near["factor"] == math.exp(counts().epsilon)
    assert verify_published(out, table).exit_code == 0
    _change(side, "privacy", near=near | change)
    assert verify_published(out, table).of("promise").status is Outcome.FAILS


def test_no_unknown_field_of_a_sidecar_passes(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    table = MADE["positions"](tmp_path / "data.csv", out).save(tmp_path / "table.dxt")
    side = tmp_path / "out.csv.dxopt.json"
    honest = json.loads(side.read_text(encoding="utf-8"))
    for path, _ in [*_objects(honest)]:
        said = json.loads(json.dumps(honest))
        dict(_objects(said))[path]["guarantee"] = "perfect secrecy"
        side.write_text(json.dumps(said), encoding="utf-8")
        assert verify_published(out, table).of("sidecar").status is Outcome.FAILS, path


@pytest.mark.parametrize("kind", ["keyed", "positions"])
def test_no_missing_field_of_a_sidecar_passes(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    table = MADE[kind](tmp_path / "data.csv", out).save(tmp_path / "table.dxt")
    side = tmp_path / "out.csv.dxopt.json"
    honest = json.loads(side.read_text(encoding="utf-8"))
    for path, fields in [*_objects(honest)]:
        for field in fields:
            said = json.loads(json.dumps(honest))
            del dict(_objects(said))[path][field]
            side.write_text(json.dumps(said), encoding="utf-8")
            assert verify_published(out, table).of("sidecar").status is Outcome.FAILS, f"{path}: {field}"
    for field in ("keyed", "key", "release", "person"):
        said = json.loads(json.dumps(honest))
        said["draws"][field] = not said["draws"][field] if field == "keyed" else None if kind == "keyed" else "x"
        side.write_text(json.dumps(said), encoding="utf-8")
        assert verify_published(out, table).of("sidecar").status is Outcome.FAILS, field


IMPOSSIBLE = [
    *({"draws": {"key": key}} for key in ("x", "", "1234567G", "1234567", "123456789", "1234ABCD", "12345678\n")),
    *({"draws": {"release": release}} for release in ("", " ", " r", "r ", "a  b", "a\nb", "a\u0308")),
    *(
        {group: {"person": person}}
        for group in ("draws", "budgets")
        for person in ("", "nosuchcolumn", "report", "lat")
    ),
    {"draws": {"person": "nosuchcolumn"}, "budgets": {"person": "nosuchcolumn"}},
    {"draws": {"keyed": False, "key": None, "release": None}},
    {"draws": {"keyed": False, "key": None, "person": None}},
    {"draws": {"keyed": False}},
    {"budgets": {"over_budget": "drop"}},
    *({"budgets": {"default": default, "default_rows": -1}} for default in (-0.5, -1e-9)),
    *({"budgets": {"persons_left_out": many}} for many in (1, -1)),
    *(
        {"budgets": {"run": run}}
        for run in (None, [], ["x", "y"], ["0" * 64], ["0" * 63, "0" * 32], ["0" * 64, "g" * 32])
    ),
]


def test_draws_and_budgets_that_cannot_be(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    with dx.Budgets.open(tmp_path / "l.sqlite", create=True, default=9, unit="per km") as ledger:
        asked = {"key": dx.Key(bytes(32)), "person": "person", "release": "May", "ledger": ledger}
        table = _positions(tmp_path / "data.csv", out, **asked).save(tmp_path / "table.dxt")
    side = tmp_path / "out.csv.dxopt.json"
    honest = side.read_text(encoding="utf-8")
    assert verify_published(out, table).exit_code == 0
    for change in IMPOSSIBLE:
        said = json.loads(honest)
        for group, fields in change.items():
            said[group] |= fields
        side.write_text(json.dumps(said), encoding="utf-8")
        with pytest.raises(Broken):
            read_sidecar(side)
    assert verify_published(out, table).of("sidecar").status is Outcome.FAILS


@pytest.mark.parametrize("digest", ["x", "", "0" * 64, "0" * 64 + "\0"])
def test_radii_under_an_unknown_prior_are_not_proven(digest: str, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    table = _counted(tmp_path / "data.csv", out).save(tmp_path / "table.dxt")
    side = tmp_path / "out.csv.dxopt.json"
    said = json.loads(side.read_text(encoding="utf-8"))
    said["prior"] = {"name": "explicit", "sha256": digest}
    side.write_text(json.dumps(said), encoding="utf-8")
    assert verify_published(out, table).of("radii").status is Outcome.NOT_REPROVED


@pytest.mark.parametrize("kind", ["irregular", "level", "frontier", "sweep"])
def test_no_unknown_field_of_a_certificate_passes(kind: str, tmp_path: Path) -> None:
    """In any file of JSON that claims something, at any depth."""
    folder = KINDS[kind](tmp_path / "out")
    files = [file for file in folder.rglob("*.json") if file.name not in ("notes.json", "digests.json", "input.json")]
    for file in files:
        honest = file.read_text(encoding="utf-8")
        for path in [path for path, _ in _objects(json.loads(honest)) if not re.match("evaluation|rests_on", path)]:
            said = json.loads(honest)
            dict(_objects(said))[path]["guarantee"] = "perfect secrecy"
            file.write_text(json.dumps(said), encoding="utf-8")
            redigest(folder)
            assert verify(folder).exit_code in (1, 3), f"{file.relative_to(folder)}: {path}"
        file.write_text(honest, encoding="utf-8")


def test_a_result_that_keeps_a_formula_proves_what_was_drawn_of_it(tmp_path: Path) -> None:
    """Its table is made again, and proven as one that is named; another mechanism's is not taken for it."""
    folder = KINDS["kernel"](tmp_path / "line")
    assert not (folder / "table.dxt").exists()
    (tmp_path / "data.csv").write_text("beds\n0\n3\n5\n", encoding="utf-8")
    mechanism = dx.Mechanism.load(dx.load(folder).mechanism.save(tmp_path / "line.npz"))
    out = tmp_path / "out.csv"
    dx.apply(dx.integer_table(mechanism), tmp_path / "data.csv", out, column="beds")
    done = CliRunner().invoke(app, ["verify", str(out), "--result", str(folder)])
    assert done.exit_code == 0, done.output
    assert verify_published(out, folder).of("table").status is Outcome.NOT_REPROVED
    side = tmp_path / "out.csv.dxopt.json"
    said = json.loads(side.read_text(encoding="utf-8"))
    said["mechanism"]["table_sha256"] = "0" * 64
    side.write_text(json.dumps(said), encoding="utf-8")
    assert CliRunner().invoke(app, ["verify", str(out), "--result", str(folder)]).exit_code == 3
    other = dx.integer_table(dx.classic.geometric(dx.line(7), epsilon=1.0)).save(tmp_path / "other.dxt")
    assert verify_published(out, folder, table=other).of("made table").status is Outcome.FAILS
