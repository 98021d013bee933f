"""Forgeries that are consistent within themselves, with digests written anew: none of them holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

import dxopt as dx
from dxopt.release.tables import IntegerTable
from dxopt.results.folder import write_digests
from dxopt.verify import Outcome, verify
from tests.material.checks import change_array

DEGREES = [[45.50, -73.57], [45.51, -73.60], [45.53, -73.55], [45.47, -73.62], [45.52, -73.58]]


def _grid() -> dx.Report:
    space = dx.grid((2, 3))
    return dx.solve(dx.Problem(space, epsilon=0.8, prior=dx.Prior.uniform(space), name="grid"))


def _places(metric: Any = "haversine") -> dx.Report:
    space = dx.MetricSpace.from_points(DEGREES, metric)
    prior = dx.Prior.from_weights(space, [1, 2, 3, 2, 1])
    return dx.solve(dx.Problem(space, epsilon=0.7, prior=prior, name="places"))


def _line() -> dx.Report:
    space = dx.line(5)
    prior = dx.Prior.from_weights(space, [1, 2, 3, 2, 1])
    return dx.solve(dx.Problem(space, epsilon=0.7, prior=prior, loss="binary", name="line"))


def _torus() -> dx.Report:
    space = dx.torus((3, 3))
    return dx.solve(dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space), loss="binary", name="torus"))


KINDS: dict[str, Callable[[], dx.Report]] = {"grid": _grid, "places": _places, "line": _line, "torus": _torus}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("results")
    return {kind: make().save(base / kind) for kind, make in KINDS.items()}


@pytest.fixture
def folder(results: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    return Path(shutil.copytree(results[request.param], tmp_path / "out"))


def _json(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | changes), encoding="utf-8")


def _yaml(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    file = folder / "problem.yaml"
    content = YAML(typ="safe").load(file)
    change(content)
    with file.open("w", encoding="utf-8") as stream:
        YAML().dump(content, stream)


def _outcome(folder: Path, name: str) -> Outcome:
    """What is found of a claim once the digests are written again; the whole is no better."""
    write_digests(folder)
    verdict = verify(folder)
    assert verdict.of("digests").status is Outcome.HOLDS
    found = verdict.of(name).status
    assert found is Outcome.HOLDS or verdict.exit_code in (1, 3)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_honest_results_hold(results: dict[str, Path], kind: str) -> None:
    assert verify(results[kind]).exit_code == 0


@pytest.mark.parametrize("unit", ["km", "m", "mi"])
def test_haversine_in_any_unit_holds(unit: str, tmp_path: Path) -> None:
    factor = {"km": 1.0, "m": 1e-3, "mi": 1.609344}[unit]
    space = dx.MetricSpace.from_points(DEGREES, dx.spaces.globe.Haversine(unit))
    problem = dx.Problem(space, epsilon=0.7 * factor, prior=dx.Prior.uniform(space), name="places")
    folder = dx.solve(problem).save(tmp_path / "out")
    assert verify(folder).exit_code == 0
    again = dx.load(folder).save(tmp_path / "again")
    assert verify(again).exit_code == 0


@pytest.mark.parametrize("metric", ["normalised_manhattan", "discrete", "chebyshev"])
def test_other_metrics_hold(metric: str, tmp_path: Path) -> None:
    folder = _places(metric).save(tmp_path / "out")
    assert verify(folder).exit_code == 0


@pytest.mark.parametrize("folder", ["grid"], indirect=True)
@pytest.mark.parametrize(
    ("metric", "found"),
    [
        ("Euclidean", Outcome.NOT_REPROVED),
        (" euclidean", Outcome.NOT_REPROVED),
        ("given distances", Outcome.NOT_REPROVED),
        ("zzz", Outcome.NOT_REPROVED),
        (None, Outcome.NOT_REPROVED),
        ("haversine", Outcome.FAILS),
        ("euclidean", Outcome.FAILS),
        ("manhattan", Outcome.FAILS),
        ("wrapped", Outcome.NOT_REPROVED),
    ],
)
def test_half_the_level_on_the_same_points(folder: Path, metric: str | None, found: Outcome) -> None:
    change_array(folder / "problem.npz", "distances", lambda d: 2 * d)
    for name in ("problem.npz", "table.npz"):
        change_array(folder / name, "epsilon", lambda level: level / 2)
    change_array(folder / "table.npz", "space.metric", lambda _: np.array("zzz"))
    _json(folder / "certificate.json", epsilon=json.loads((folder / "certificate.json").read_text())["epsilon"] / 2)
    _json(folder / "report.json", loss="Distance")
    _yaml(folder, lambda content: content.update(epsilon=0.4, loss="Distance"))
    _yaml(folder, lambda content: content["space"].update(metric=metric))
    assert _outcome(folder, "distances") is found
    assert _outcome(folder, "table") is not Outcome.HOLDS
    assert _outcome(folder, "loss") is Outcome.NOT_REPROVED


@pytest.mark.parametrize("folder", ["places"], indirect=True)
def test_places_three_times_closer(folder: Path) -> None:
    moved = [("mechanism.npz", key) for key in ("points", "report_points", "positions.degrees")]
    moved += [("table.npz", key) for key in ("space.points", "report_points")]
    for name, key in moved:
        change_array(folder / name, key, lambda points: (points - points[0]) / 3 + points[0])
    assert _outcome(folder, "distances") is Outcome.FAILS


@pytest.mark.parametrize("folder", ["places"], indirect=True)
def test_a_map_of_other_places(folder: Path) -> None:
    change_array(folder / "mechanism.npz", "positions.degrees", lambda degrees: degrees * 0.99)
    assert _outcome(folder, "places") is Outcome.FAILS


@pytest.mark.parametrize("folder", ["places"], indirect=True)
@pytest.mark.parametrize("unit", ["mi", "m", "MI", "parsec", ["km"]])
def test_another_unit_of_a_table(folder: Path, unit: Any) -> None:
    change_array(folder / "table.npz", "space.parameters", lambda _: np.array(json.dumps({"unit": unit})))
    assert _outcome(folder, "table") is not Outcome.HOLDS
    if unit != "m":
        with pytest.raises((dx.SpecError, dx.CertificateError)):
            IntegerTable.load(folder / "table.npz")


@pytest.mark.parametrize("folder", ["places", "line"], indirect=True)
@pytest.mark.parametrize("metric", ["zzz", "Euclidean", "Haversine", "manhattan", "discrete"])
def test_another_metric_of_a_table(folder: Path, metric: str) -> None:
    change_array(folder / "table.npz", "space.metric", lambda _: np.array(metric))
    assert _outcome(folder, "table") is not Outcome.HOLDS


def test_positions_of_a_table_are_its_points(tmp_path: Path) -> None:
    space = dx.MetricSpace.from_points(DEGREES, "haversine")
    degrees = np.array(DEGREES)
    space = dx.spaces.geo.located.placed(space, dx.spaces.positions.Positions(degrees, streets=degrees[None, :2]))
    report = dx.solve(dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space)))
    file = report.save(tmp_path / "out") / "table.npz"
    IntegerTable.load(file)
    change_array(file, "space.positions.degrees", lambda degrees: degrees * 0.99)
    with pytest.raises(dx.SpecError, match="positions"):
        IntegerTable.load(file)


@pytest.mark.parametrize("folder", ["grid"], indirect=True)
def test_losses_to_reports_elsewhere(folder: Path, tmp_path: Path) -> None:
    """Losses by name follow from the points of secrets and reports, also where the reports are not the secrets."""
    _json(folder / "report.json", secrets_are_reports=False)
    assert _outcome(folder, "loss") is Outcome.HOLDS
    change_array(folder / "problem.npz", "loss", lambda loss: loss / 2)
    assert _outcome(folder, "loss") is Outcome.FAILS


@pytest.mark.parametrize("folder", ["grid"], indirect=True)
@pytest.mark.parametrize("metric", ["euclidean", "given distances"])
def test_points_that_were_taken_away(folder: Path, metric: str) -> None:
    """A lattice has points, and so have distances with the name of a metric."""
    with np.load(folder / "mechanism.npz") as stored:
        arrays = {key: stored[key] for key in stored if key != "points"}
    np.savez_compressed(folder / "mechanism.npz", **arrays)
    _yaml(folder, lambda content: content["space"].update(metric=metric))
    assert _outcome(folder, "distances") is Outcome.NOT_REPROVED


@pytest.mark.parametrize("kind", KINDS)
def test_results_that_were_loaded_and_saved_again(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    assert verify(dx.load(results[kind]).save(tmp_path / "again")).exit_code == 0


def test_metrics_that_are_not_known(tmp_path: Path) -> None:
    """Honest results under metrics that are not derived hold but for what rests on these."""
    space = dx.MetricSpace.from_points([[0.0], [1.0], [3.0], [np.nan]], dx.spaces.metrics.WithNull())
    problem = dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space), loss="binary")
    verdict = verify(dx.solve(problem).save(tmp_path / "out"))
    assert verdict.exit_code == 3
    assert [check.name for check in verdict.checks if check.status is not Outcome.HOLDS] == ["distances"]


def _values(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every number and name in plain content, with the way to it."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield from _values(value, (*path, key))
    if not isinstance(content, dict | list):
        yield path, content


def _changed(value: Any) -> list[Any]:
    """Other values of the same kind, that may claim more."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value / 2, value * 2] if value else [1]
    return [value.upper(), value + " "] if isinstance(value, str) else [0]


FREE = {
    "name",
    "problem",
    "prior",
    "seconds",
    "route",
    "mechanism",
    "refused",
    "how",
    "reductions",
    "solver",
    "claim",
    "arrays",
}
"""What is no claim (docs/reference/verify.md), and where the name of a prior is only repeated."""


def _put(content: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        content = content[key]
    content[path[-1]] = value


@pytest.mark.parametrize("folder", ["grid", "places", "line"], indirect=True)
@pytest.mark.parametrize("name", ["problem.yaml", "certificate.json", "report.json"])
def test_every_number_and_name_is_bound(folder: Path, name: str) -> None:
    """Whatever is changed in a file of text, the result no longer holds, but for what is no claim."""
    file = folder / name
    text = file.read_text(encoding="utf-8")
    original = YAML(typ="safe").load(text) if name.endswith(".yaml") else json.loads(text)
    passed = []
    for path, value in _values(original):
        if path[0] in FREE - ({"prior"} if name == "problem.yaml" else set()):
            continue
        for other in _changed(value):
            # labels without letters have no other case
            if other == value or (path == ("gap",) and value < 1e-13):
                continue
            content = json.loads(json.dumps(original))
            _put(content, path, other)
            # JSON is YAML as well
            file.write_text(json.dumps(content), encoding="utf-8")
            write_digests(folder)
            if verify(folder).exit_code == 0:
                passed.append((path, value, other))
    # the tolerance is given, and the spacing of what is no lattice; gaps below 1e-12 are 0 up to rounding; units are
    # words, but for those of distances on the Earth
    given = {("tolerance",), ("structure", "spacing"), ("units", "loss"), ("units", "value")}
    with np.load(folder / "mechanism.npz") as arrays:
        if "positions.unit" not in arrays:
            given |= {("units", "distance")}
    assert [entry for entry in passed if entry[0] not in given] == []


@pytest.mark.parametrize("folder", ["grid", "places", "line"], indirect=True)
def test_every_array_of_a_table_is_bound(folder: Path) -> None:
    file = folder / "table.npz"
    original = file.read_bytes()
    with np.load(file) as stored:
        arrays = {key: stored[key] for key in stored}
    passed = []
    for key, array in arrays.items():
        if key == "name" or not array.size:
            continue
        for change in (lambda a: a.astype(str), lambda a: a * 2, lambda a: a / 2, np.char.upper, np.char.lower):
            try:
                other = change(array)
            except (TypeError, ValueError):
                continue
            if np.array_equal(other, array):
                continue
            np.savez_compressed(file, **{**arrays, key: other})
            write_digests(folder)
            if verify(folder).exit_code == 0:
                passed.append((key, str(other)[:60]))
            file.write_bytes(original)
    assert passed == []


def _product(folder: Path) -> Path:
    """A product that is written down, with its own file."""
    space = dx.product(dx.line(2, step=1.5), dx.line(3))
    problem = dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space))
    found = dx.solve(problem).save(folder)
    assert verify(found).exit_code == 0
    return found


@pytest.mark.parametrize("change", [lambda at: 2 * at, lambda at: at[::-1], lambda at: np.roll(at, 1)])
def test_reports_of_a_product_elsewhere(tmp_path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """They were looked at only where mechanism.npz has all points."""
    folder = _product(tmp_path / "out")
    for file in ("mechanism.npz", "table.npz"):
        change_array(folder / file, "report_points", change)
    write_digests(folder)
    assert verify(folder).of("description").status is Outcome.FAILS


def test_a_factor_that_is_mirrored_under_its_names(tmp_path: Path) -> None:
    folder = _product(tmp_path / "out")
    for file in ("mechanism.npz", "table.npz"):
        change_array(folder / file, "space.0.points", lambda at: at[::-1])
        change_array(folder / file, "report_points", lambda at: np.concatenate([at[3:], at[:3]]))
    write_digests(folder)
    verdict = verify(folder)
    assert verdict.exit_code != 0
    assert "space.0.labels may be names" in verdict.of("places").detail
