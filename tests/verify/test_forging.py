"""A part of the forger's enumeration over every entry of every kind of result;
`python -m tests.verify.forging` is all.

Each kind has its turn with other entries, so that one run sees some of every file.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.release.tables import IntegerTable
from dxopt.verify import Outcome, verify, verify_all
from tests.material.checks import change_array
from tests.material.forged_kinds import DEGREES, KINDS, on, problem
from tests.verify.forging import READERS, accepted, redigest
from tests.verify.harmless import reason

EVERY = 307
"""One forgery of so many."""


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    base = tmp_path_factory.mktemp("honest")
    made: dict[str, Path] = {}

    def of(kind: str) -> Path:
        if kind not in made:
            made[kind] = KINDS[kind](base / kind)
        return made[kind]

    return of


@pytest.fixture
def forged(honest: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Path]:
    return lambda kind: Path(shutil.copytree(honest(kind), tmp_path / "out"))


@pytest.mark.parametrize("kind", KINDS)
def test_honest_results_hold(honest: Callable[[str], Path], kind: str) -> None:
    folder = honest(kind)
    assert verify_all(folder).exit_code == 0, str(verify_all(folder))
    if (folder / "certificate.json").is_file():
        dx.load(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_no_stronger_claim_passes(honest: Callable[[str], Path], kind: str, tmp_path: Path) -> None:
    folder = honest(kind)
    for reader, takes in READERS.items():
        if (reader == "table" and not (folder / "table.npz").is_file()) or not takes(folder):
            continue
        start = list(KINDS).index(kind)
        found = accepted(folder, tmp_path / reader, reader, EVERY, start)
        assert [str(one) for one in found if reason(kind, reader, one.file, one.path, one.change) is None] == []


def _status(folder: Path, name: str) -> Outcome:
    redigest(folder)
    verdict = verify(folder)
    assert verdict.of("digests").status is Outcome.HOLDS
    return verdict.of(name).status


def _edit(file: Path, change: Callable[[Any], object]) -> None:
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize("kind", ["map", "map in metres", "cells"])
def test_a_map_that_contradicts_the_points(forged: Callable[[str], Path], kind: str) -> None:
    """All else agrees: places are shown a tenth of a degree further apart."""
    folder = forged(kind)
    for name, start in (("mechanism.npz", ""), ("table.npz", "space.")):
        change_array(folder / name, f"{start}positions.degrees", lambda d: d[0] + (d - d[0]) * 1.1)
    assert _status(folder, "places") is Outcome.FAILS
    with pytest.raises(dx.SpecError):
        dx.load(folder)
    with pytest.raises(dx.SpecError, match="positions"):
        IntegerTable.load(folder / "table.npz")


def test_a_map_in_another_unit(forged: Callable[[str], Path]) -> None:
    folder = forged("map")
    for name, start in (("mechanism.npz", ""), ("table.npz", "space.")):
        change_array(folder / name, f"{start}positions.unit", lambda _: np.array("mi"))
    assert _status(folder, "places") is Outcome.FAILS


def test_ways_on_a_map_that_are_shorter_than_straight(forged: Callable[[str], Path]) -> None:
    """Given distances may be of any kind; shorter than straight ones they are no lengths."""
    folder = forged("streets")
    change_array(folder / "problem.npz", "distances", lambda d: d / 2)
    assert _status(folder, "places") is Outcome.NOT_REPROVED


def test_names_that_read_as_other_coordinates(forged: Callable[[str], Path]) -> None:
    """A line of steps of 2 whose places are called 0, 4, 8: they would be twice as far apart."""
    folder = forged("line")
    for name in ("mechanism.npz", "table.npz"):
        for key in ("space.labels", "reports"):
            change_array(folder / name, key, lambda labels: np.array([str(2 * int(one)) for one in labels]))
    assert _status(folder, "places") is Outcome.NOT_REPROVED


@pytest.mark.parametrize("key", ["value", "epsilon", "gap", "private", "size", "status", "objective"])
def test_the_record_of_the_input_repeats_the_result(forged: Callable[[str], Path], key: str) -> None:
    folder = forged("asked")
    changes = {"private": False, "status": "feasible", "objective": "worst loss", "size": 7}
    for file in (folder / "asked" / "input.json", folder / "summary.json"):
        original = file.read_text(encoding="utf-8")
        content = json.loads(original)
        line = content["line"] if "line" in content else content["problems"][0]
        line[key] = changes.get(key, 0.01)
        file.write_text(json.dumps(content), encoding="utf-8")
        redigest(folder)
        found = verify_all(folder)
        assert found.exit_code == 1, str(found)
        file.write_text(original, encoding="utf-8")


def test_gaps_are_relative(forged: Callable[[str], Path]) -> None:
    folder = forged("worst")
    _edit(folder / "certificate.json", lambda content: content.update(gap=content["gap"] * (1 - 1e-6)))
    assert _status(folder, "gap") is Outcome.FAILS
    with pytest.raises(dx.CertificateError, match="gap"):
        dx.load(folder)


@pytest.mark.parametrize("tolerance", [float("inf"), float("nan"), -1.0, True])
def test_tolerances_are_numbers(forged: Callable[[str], Path], tolerance: Any) -> None:
    folder = forged("worst")
    _edit(folder / "report.json", lambda content: content.update(tolerance=tolerance))
    assert _status(folder, "gap") is Outcome.FAILS


def test_rows_of_a_line_have_levels_of_their_own(tmp_path: Path) -> None:
    """The level in mechanism.npz is that of the optimum, which may be below that of another row."""
    space = dx.line(4, step=1e-5)
    asked = dx.Problem(space, epsilon=1e5, prior=dx.Prior.from_weights(space, [1, 0, 0, 1e-300]), loss="binary")
    report = dx.solve(asked)
    folder = replace(report, comparison=dx.compare(asked, ["exponential"], reference=report)).save(tmp_path / "out")
    assert verify(folder).exit_code == 0, str(verify(folder))


@pytest.mark.parametrize("kind", ["product", "product of parts"])
def test_factors_report_their_secrets(forged: Callable[[str], Path], kind: str) -> None:
    folder = forged(kind)
    change_array(folder / "mechanism.npz", "0/secrets", lambda _: np.array(False))
    assert _status(folder, "privacy") is Outcome.FAILS


def test_the_error_of_sums_is_not_taken_from_the_file(forged: Callable[[str], Path]) -> None:
    """With an error of -1 the factors seemed to have twice the budget."""
    folder = forged("product")
    change_array(folder / "mechanism.npz", "doubt", lambda _: np.array(-1.0))
    again = dx.load(folder)
    assert again.certificate.epsilon <= 0.7
    loaded = dx.Mechanism.load(folder / "mechanism.npz")
    assert loaded.distance_error > 0  # pyright: ignore[reportAttributeAccessIssue]


def test_factors_of_other_distances_do_not_fit(forged: Callable[[str], Path]) -> None:
    """Factors that are private on points ten times further apart would be so on those of the product."""
    folder = forged("product")
    with np.load(folder / "mechanism.npz") as stored:
        arrays = {key: stored[key] for key in stored}
    for key in arrays:
        if key.startswith(("0/", "1/")) and key.endswith("points"):
            arrays[key] = arrays[key] * 10
    np.savez_compressed(folder / "mechanism.npz", **arrays)
    with pytest.raises((dx.SpecError, dx.CertificateError), match=r"distances|damaged"):
        dx.Mechanism.load(folder / "mechanism.npz")


@pytest.mark.parametrize("metric", ["euclidean", "Euclidean"])
def test_load_takes_no_other_distances_of_a_grid(forged: Callable[[str], Path], metric: str) -> None:
    """Half the level on the same points, consistent in all files that are read."""
    folder = forged("squared")
    for name, key, factor in (("problem.npz", "distances", 2.0), ("problem.npz", "epsilon", 0.5)):
        change_array(folder / name, key, lambda array, factor=factor: array * factor)
    _edit(folder / "certificate.json", lambda content: content.update(epsilon=content["epsilon"] / 2))
    _edit(folder / "report.json", lambda content: content.update(loss="own"))
    text = (folder / "problem.yaml").read_text(encoding="utf-8")
    (folder / "problem.yaml").write_text(text.replace("euclidean", metric), encoding="utf-8")
    with pytest.raises(dx.CertificateError, match="distances"):
        dx.load(folder)


@pytest.mark.parametrize("name", ["worst_loss", "utility", "error_bound", "learns.within[0]"])
def test_load_computes_measures_again(forged: Callable[[str], Path], name: str) -> None:
    folder = forged("measured")
    _edit(folder / "report.json", lambda content: content["evaluation"].update({name: 0.25}))
    with pytest.raises(dx.CertificateError, match="measure"):
        dx.load(folder)


def test_load_takes_no_loss_by_the_name_of_another(forged: Callable[[str], Path]) -> None:
    folder = forged("torus")
    _edit(folder / "report.json", lambda content: content.update(loss="distance"))
    with pytest.raises(dx.CertificateError, match="loss"):
        dx.load(folder)


def test_reports_of_loaded_results_are_where_the_secrets_are(forged: Callable[[str], Path]) -> None:
    folder = forged("squared")
    change_array(folder / "mechanism.npz", "report_points", lambda points: points + 1)
    with pytest.raises(dx.SpecError, match="report_points"):
        dx.load(folder)


def _tiny() -> dict[str, dx.Problem]:
    """Honest problems at scales where doubles have few digits, each refused before."""
    line = dx.line(3)
    far = dx.MetricSpace.from_distances((1 - np.eye(3)) * 1e-300)
    near = dx.line(3, step=1e-320)
    wide = dx.line(3, step=1e100)
    unlikely = [1.0, 1e-90, 1e-200]
    return {
        "losses": on(line, loss=np.array([[0, 1, 2.0], [1, 0, 1], [2, 1, 0]]) * 1e-317),
        "distances": dx.Problem(far, epsilon=1e300, prior=dx.Prior.from_weights(far, [1, 1e-20, 3]), loss="distance"),
        "prior": problem(
            prior=dx.Prior.from_weights(problem().space, [*unlikely, 1e-300, 1e-70, 1e-320]), loss="binary"
        ),
        "short line": dx.Problem(
            near, epsilon=3e300, prior=dx.Prior.from_weights(near, [1e-81, 1e-292, 1]), loss="binary"
        ),
        "adversary": dx.Problem(
            wide,
            epsilon=1e-100,
            prior=dx.Prior.from_weights(wide, [1, 1e-100, 1e-195]),
            objective=dx.AdversaryError(5e99),
        ),
    }


@pytest.mark.parametrize("kind", _tiny())
def test_honest_results_of_tiny_numbers_hold(kind: str, tmp_path: Path) -> None:
    report = dx.solve(_tiny()[kind])
    evaluation = {
        name: dx.results.measures.MEASURES[name](report.mechanism, report.problem) for name in ("expected_loss",)
    }
    folder = replace(report, evaluation=evaluation).save(tmp_path / "out")
    assert verify(folder).exit_code == 0, str(verify(folder))


def test_a_bound_of_a_likely_prior_is_still_refused(tmp_path: Path) -> None:
    """Tiny numbers have room for their last digit, and no more."""
    folder = dx.solve(_tiny()["losses"]).save(tmp_path / "out")
    _edit(folder / "certificate.json", lambda content: content.update(value=content["value"] * 0.99))
    assert _status(folder, "value") is Outcome.FAILS


def test_degrees_are_no_plane(tmp_path: Path) -> None:
    """Points in degrees with positions hold; so does their map in the plane in every unit."""
    for unit in ("km", "m", "mi"):
        space = dx.geo.points(DEGREES, project=True, unit=unit)
        assert verify(dx.solve(on(space, epsilon=7e-4)).save(tmp_path / unit)).exit_code == 0
