"""Forgeries that are consistent within themselves, with digests written anew: none of them holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.release.tables import IntegerTable
from dxopt.results.folder import write_digests
from dxopt.spaces.metrics import Haversine, OverTraces
from dxopt.spaces.positions import Positions
from dxopt.verify import Outcome, verify
from tests.judges.result import contents, packed
from tests.material.checks import change_array, change_claims

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
    space = dx.MetricSpace.from_points(DEGREES, Haversine(unit))
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
@pytest.mark.parametrize("metric", ["Euclidean", " euclidean", "zzz", "haversine", "euclidean", "manhattan"])
def test_half_the_level_on_the_same_points(folder: Path, metric: str) -> None:
    change_claims(folder, epsilon=dx.load(folder).certificate.epsilon / 2, loss="Distance")
    change_array(folder / "problem.npz", "distances", lambda d: 2 * d)
    for name in ("problem.npz", "table.dxt"):
        change_array(folder / name, "epsilon", lambda level: level / 2)
    change_array(folder / "mechanism.npz", "space.metric", lambda _: np.array(metric))
    assert _outcome(folder, "distances") is not Outcome.HOLDS
    assert _outcome(folder, "loss") is Outcome.NOT_REPROVED


@pytest.mark.parametrize("folder", ["places"], indirect=True)
def test_places_three_times_closer(folder: Path) -> None:
    for name, key in (("mechanism.npz", "space.points"), ("table.dxt", "space.points"), ("table.dxt", "points")):
        change_array(folder / name, key, lambda points: (points - points[0]) / 3 + points[0])
    assert _outcome(folder, "distances") is Outcome.FAILS


@pytest.mark.parametrize("folder", ["places"], indirect=True)
@pytest.mark.parametrize("unit", ["mi", "m", "MI", "parsec", ["km"]])
def test_another_unit_of_a_table(folder: Path, unit: Any) -> None:
    change_array(folder / "table.dxt", "unit", lambda _: np.array(unit))
    change_array(folder / "table.dxt", "space.parameters", lambda _: np.array(json.dumps({"unit": unit})))
    assert _outcome(folder, "table") is not Outcome.HOLDS
    if unit != "m":
        with pytest.raises((dx.SpecError, dx.CertificateError)):
            IntegerTable.load(folder / "table.dxt")


@pytest.mark.parametrize("folder", ["places", "line"], indirect=True)
@pytest.mark.parametrize("metric", ["zzz", "Euclidean", "Haversine", "manhattan", "discrete"])
def test_another_metric_of_a_table(folder: Path, metric: str) -> None:
    for key in ("metric", "space.metric"):
        change_array(folder / "table.dxt", key, lambda _: np.array(metric))
    assert _outcome(folder, "table") is not Outcome.HOLDS


def test_positions_of_a_table_are_its_points(tmp_path: Path) -> None:
    space = dx.MetricSpace.from_points(DEGREES, "haversine")
    degrees = np.array(DEGREES)
    space = replace(space, positions=Positions(degrees, streets=degrees[None, :2]))
    report = dx.solve(dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space)))
    file = report.save(tmp_path / "out") / "table.dxt"
    IntegerTable.load(file)
    change_array(file, "space.positions.degrees", lambda degrees: degrees * 0.99)
    with pytest.raises(dx.SpecError, match="positions"):
        IntegerTable.load(file)


def test_losses_to_reports_elsewhere(tmp_path: Path) -> None:
    """Losses by name follow from the points of secrets and reports, also where the reports are not the secrets."""
    space = dx.grid((2, 3))
    reports = dx.Reports.at([[0.5, 0.5], [0.5, 1.5]])
    folder = dx.solve(dx.Problem(space, epsilon=0.8, prior="uniform", reports=reports)).save(tmp_path / "out")
    assert _outcome(folder, "loss") is Outcome.HOLDS
    change_array(folder / "problem.npz", "losses", lambda loss: loss / 2)
    assert _outcome(folder, "loss") is Outcome.FAILS


@pytest.mark.parametrize("kind", KINDS)
def test_results_that_were_loaded_and_saved_again(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    assert verify(dx.load(results[kind]).save(tmp_path / "again")).exit_code == 0


def test_metrics_that_are_not_known(tmp_path: Path) -> None:
    """Honest results under metrics that are not derived hold but for what rests on these."""
    space = dx.MetricSpace.from_points([[0.0], [1.0], [3.0]], OverTraces(1))
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


FREE = {("found", "method"), ("found", "solver"), ("found", "spanner"), ("found", "claim"), ("rests_on",)}
"""What is no claim (docs/reference/verify.md)."""


def _put(content: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        content = content[key]
    content[path[-1]] = value


@pytest.mark.parametrize("folder", ["grid", "places", "line"], indirect=True)
def test_every_number_and_name_is_bound(folder: Path) -> None:
    """Whatever is changed in the claims, the result no longer holds, but for what is no claim."""
    file = folder / "claims.json"
    original = json.loads(file.read_text(encoding="utf-8"))
    passed = []
    for path, value in _values(original):
        if path[:2] in FREE or path[:1] in FREE:
            continue
        for other in _changed(value):
            # labels without letters have no other case
            if other == value or (path[-1] == "gap" and value < 1e-13):
                continue
            content = json.loads(json.dumps(original))
            _put(content, path, other)
            file.write_text(json.dumps(content), encoding="utf-8")
            write_digests(folder)
            if verify(folder).exit_code == 0:
                passed.append((path, value, other))
    # the tolerance is given, and the names of problems and of priors; gaps below 1e-12 are 0 up to rounding; units
    # are words, but for those of distances on the Earth
    given = {("tolerance",), ("problem", "name"), ("problem", "prior"), ("problem", "loss_by_distance")}
    given |= {("problem", "units", "loss"), ("problem", "units", "value")}
    if original["problem"]["units"]["distance"] != "km":
        given |= {("problem", "units", "distance")}
    assert [entry for entry in passed if entry[0] not in given] == []


@pytest.mark.parametrize("folder", ["grid", "places", "line"], indirect=True)
def test_every_array_of_a_table_is_bound(folder: Path) -> None:
    file = folder / "table.dxt"
    original = file.read_bytes()
    arrays = contents(file)
    passed = []
    for key, array in arrays.items():
        if key == "name" or not array.size:
            continue
        for change in (lambda a: a.astype(str), lambda a: a * 2, lambda a: a / 2, np.char.upper, np.char.lower):
            try:
                other = change(array)
            except (TypeError, ValueError):
                continue
            if (changed := packed({**arrays, key: other}, ".dxt")) == packed(arrays, ".dxt"):
                continue
            file.write_bytes(changed)
            write_digests(folder)
            if verify(folder).exit_code == 0:
                passed.append((key, str(other)[:60]))
            file.write_bytes(original)
    assert passed == []
