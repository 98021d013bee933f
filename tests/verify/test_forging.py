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
from dxopt.results.measures import MEASURES
from dxopt.verify import Outcome, verify, verify_all
from tests.material.checks import change_array, change_claims
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
    if (folder / "claims.json").is_file():
        dx.load(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_no_stronger_claim_passes(honest: Callable[[str], Path], kind: str, tmp_path: Path) -> None:
    folder = honest(kind)
    for reader, takes in READERS.items():
        if (reader == "table" and not (folder / "table.dxt").is_file()) or not takes(folder):
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


@pytest.mark.parametrize("kind", ["map", "map in metres"])
def test_a_map_that_contradicts_the_points(forged: Callable[[str], Path], kind: str) -> None:
    """Places are shown a tenth of a degree further apart: whoever shows a map refuses it."""
    folder = forged(kind)
    for name in ("mechanism.npz", "table.dxt"):
        change_array(folder / name, "space.positions.degrees", lambda d: d[0] + (d - d[0]) * 1.1)
    with pytest.raises(dx.SpecError, match="positions"):
        dx.load(folder)
    with pytest.raises(dx.SpecError, match="positions"):
        IntegerTable.load(folder / "table.dxt")


def test_gaps_are_relative(forged: Callable[[str], Path]) -> None:
    folder = forged("worst")
    proof = dx.load(folder).certificate
    change_claims(folder, gap=proof.gap * (1 - 1e-6))
    assert _status(folder, "gap") is Outcome.FAILS
    with pytest.raises(dx.CertificateError, match="gap"):
        dx.load(folder)


@pytest.mark.parametrize("tolerance", [float("inf"), float("nan"), -1.0, 1.0, 1e308, True])
def test_tolerances_are_numbers(forged: Callable[[str], Path], tolerance: Any) -> None:
    folder = forged("worst")
    _edit(folder / "claims.json", lambda content: content.update(tolerance=tolerance))
    assert _status(folder, "gap") is Outcome.FAILS


@pytest.mark.parametrize("shape", [(3, 3), (60, 60)])
def test_pairs_are_all_or_adjacent(shape: tuple[int, int], tmp_path: Path) -> None:
    space = dx.grid(shape, metric="manhattan")
    folder = dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform")).save(tmp_path / "out")
    change_claims(folder, pairs="ann, 45.7")
    assert verify(folder).exit_code == 1
    with pytest.raises((dx.SpecError, dx.CertificateError)):
        dx.load(folder)


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


def test_load_takes_no_other_distances_of_a_grid(forged: Callable[[str], Path]) -> None:
    """Half the level on the same points, consistent in all files that are read."""
    folder = forged("squared")
    change_claims(folder, epsilon=dx.load(folder).certificate.epsilon / 2, loss="own", loss_by_distance=False)
    for name, key, factor in (("problem.npz", "distances", 2.0), ("problem.npz", "epsilon", 0.5)):
        change_array(folder / name, key, lambda array, factor=factor: array * factor)
    with pytest.raises(dx.CertificateError, match="distances"):
        dx.load(folder)


@pytest.mark.parametrize("name", ["worst_loss", "utility", "error_bound", "learns.within[0]"])
def test_verify_computes_measures_again(forged: Callable[[str], Path], name: str) -> None:
    folder = forged("measured")
    _edit(folder / "claims.json", lambda content: content["evaluation"].update({name: 0.25}))
    assert _status(folder, f"measure: {name}") is Outcome.FAILS


def test_measures_that_nothing_proves(forged: Callable[[str], Path]) -> None:
    folder = forged("squared")
    change_claims(folder, evaluation={"odds of a guess": 0.0})
    assert _status(folder, "measure: odds of a guess") is Outcome.NOT_REPROVED


def test_no_loss_by_the_name_of_another(forged: Callable[[str], Path]) -> None:
    folder = forged("torus")
    change_claims(folder, loss="distance")
    assert _status(folder, "loss") is Outcome.FAILS
    with pytest.raises(dx.CertificateError):
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
    evaluation = {name: MEASURES[name](report.mechanism, report.problem) for name in ("expected_loss",)}
    folder = replace(report, evaluation=evaluation).save(tmp_path / "out")
    assert verify(folder).exit_code == 0, str(verify(folder))


def test_a_bound_of_a_likely_prior_is_still_refused(tmp_path: Path) -> None:
    """Tiny numbers have room for their last digit, and no more."""
    folder = dx.solve(_tiny()["losses"]).save(tmp_path / "out")
    change_claims(folder, value=dx.load(folder).certificate.value * 0.99)
    assert _status(folder, "value") is Outcome.FAILS


def test_degrees_are_no_plane(tmp_path: Path) -> None:
    """Points in degrees with positions hold; so does their map in the plane in every unit."""
    for unit in ("km", "m", "mi"):
        space = dx.geo.points(DEGREES, project=True, unit=unit)
        assert verify(dx.solve(on(space, epsilon=7e-4)).save(tmp_path / unit)).exit_code == 0
