"""Folders that were made to mislead the verifier, or to keep it busy: it finds where they are wrong, and ends."""

from __future__ import annotations

import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

import dxopt as dx
from dxopt.results.folder import write_digests
from dxopt.results.measures import MEASURES
from dxopt.verify import Outcome, Verdicts, files, verify, verify_all
from dxopt.verify.values import Enclosed
from dxopt.verify.verdict import Unproved
from tests.judges.result import read_arrays
from tests.material.checks import change_array


def _points(**changes: Any) -> dx.Problem:
    space = dx.grid((2, 3))
    return dx.Problem(space, epsilon=0.8, prior=dx.Prior.uniform(space), name="points").but(**changes)


def _reported() -> dx.Report:
    report = dx.solve(_points())
    measured = {"min_entropy_leakage": MEASURES["min_entropy_leakage"](report.mechanism, report.problem)}
    compared = dx.compare(report.problem, ["exponential"], reference=report)
    return replace(report, evaluation=measured, comparison=compared)


def _unlikely() -> dx.Report:
    space = dx.line(4, step=2.0)
    return dx.solve(dx.Problem(space, epsilon=0.7, prior=dx.Prior.from_weights(space, [1, 0, 2, 1]), name="unlikely"))


def _tree() -> dx.Report:
    space = dx.MetricSpace.from_graph(nx.star_graph(3))
    return dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary", name="tree"))


def _product() -> dx.Report:
    space = dx.product(dx.MetricSpace.from_distances(1 - np.eye(3)), dx.line(2))
    return dx.solve(dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary", name="product"))


KINDS: dict[str, Callable[[], dx.Report]] = {
    "reported": _reported,
    "unlikely": _unlikely,
    "tree": _tree,
    "product": _product,
    "adversary": lambda: dx.solve(_points(objective=dx.AdversaryError(0.9, "binary"))),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("results")
    return {kind: make().save(base / kind) for kind, make in KINDS.items()}


@pytest.fixture
def folder(results: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    found = Path(shutil.copytree(results[getattr(request, "param", "reported")], tmp_path / "out"))
    assert verify(found).outcome is Outcome.HOLDS
    return found


def failing(folder: Path) -> dict[str, str]:
    """What fails once the digests are written again."""
    write_digests(folder)
    return {check.name: check.detail for check in verify(folder).checks if check.status is Outcome.FAILS}


def change_entry(folder: Path, name: str, *path: Any, to: Any) -> None:
    """Change an entry of a JSON file."""
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def array_of(shape: tuple[int, ...], size: int) -> bytes:
    """An array that claims to be of a shape, with so many bytes."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return head.getvalue() + bytes(size)


def _boasting(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as stored:
        stored.writestr("prior.npy", array_of((1 << 40,), 64))


def _twice(file: Path) -> None:
    with zipfile.ZipFile(file) as stored:
        content = stored.read("prior.npy")
    with zipfile.ZipFile(file, "a") as stored, pytest.warns(UserWarning, match="Duplicate"):
        stored.writestr("prior.npy", content)


def _twice_to_readers(file: Path) -> None:
    with zipfile.ZipFile(file) as stored:
        content = stored.read("prior.npy")
    with zipfile.ZipFile(file, "a") as stored:
        stored.writestr("prior", content)


def _short(file: Path) -> None:
    whole = array_of((1 << 10,), 1 << 13)
    with zipfile.ZipFile(file, "w") as stored:
        stored.writestr("prior.npy", whole[:-1])
        stored.infolist()[0].file_size = len(whole)


def _objects(file: Path) -> None:
    np.savez(file, prior=np.array([print], dtype=object))


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _endless(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


@pytest.mark.parametrize(
    ("name", "damage", "found"),
    [
        ("problem.npz", _boasting, "not the size of its shape"),
        ("problem.npz", _twice, "an array is there twice"),
        ("problem.npz", _twice_to_readers, "an array is there twice"),
        ("problem.npz", _short, "damaged"),
        ("problem.npz", _objects, "damaged"),
        ("problem.npz", _pipe, "no plain file"),
        ("claims.json", _endless, "no plain file"),
        ("problem.yaml", lambda file: file.write_text("arrays: problem.npz\nepsilon: 1\n"), "something else"),
        ("claims.json", lambda file: file.write_text('{"value": 1, "value": 2}'), "there twice"),
        ("claims.json", lambda file: file.write_text("[" * 100_000), "damaged"),
    ],
)
def test_files_that_are_none(folder: Path, name: str, damage: Callable[[Path], Any], found: str) -> None:
    damage(folder / name)
    details = [check.detail for check in verify(folder).checks if check.status is Outcome.FAILS]
    assert any(name in detail and found in detail for detail in details), details


def test_a_bomb_is_not_unpacked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dxopt.verify.files._LARGEST", 1 << 16)
    with zipfile.ZipFile(folder / "dual.npz", "w", zipfile.ZIP_DEFLATED) as stored:
        stored.writestr("multiplier.npy", array_of((1 << 14,), 1 << 17))
    assert "its arrays have more than" in failing(folder)["files"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_more_than_is_read_at_once(tmp_path: Path, save: Callable[..., None]) -> None:
    arrays = {"a": np.arange(2_500_000) // 100_000, "b": np.asfortranarray(np.arange(6).reshape(2, 3))}
    save(tmp_path / "some.npz", **arrays)
    found = files.read_arrays(tmp_path, "some.npz")
    assert found.keys() == arrays.keys()
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


COMPARED = "parts/comparison/comparison.json"


@pytest.mark.parametrize(
    ("path", "to", "check", "found"),
    [
        (("claims.json", "evaluation", "min_entropy_leakage"), 1e300, "measure: min_entropy_leakage", "not 1"),
        ((COMPARED, "rows", 1, "value"), "1e999999999", "comparison: exponential", "no number"),
        ((COMPARED, "verdict"), {"status": "optimal", "reason": ""}, "comparison: verdict", "optimal"),
        ((COMPARED, "objective"), "worst loss", "comparison", "objective"),
        ((COMPARED, "rows", 1, "name"), "optimal", "comparison", "same name"),
        (("claims.json", "status"), "proven", "gap", "proven"),
        (("claims.json", "problem", "unknown"), 1, "claims", "unknown"),
        (("claims.json", "format"), 1, "files", "format"),
    ],
)
def test_claims_of_reports(folder: Path, path: tuple[Any, ...], to: Any, check: str, found: str) -> None:
    change_entry(folder, *path, to=to)
    if path[0] == COMPARED:
        write_digests((folder / COMPARED).parent)
    if found == "proven":
        change_entry(folder, "claims.json", "tolerance", to=0.0)
    failed = failing(folder)
    assert any(check in name and found in detail for name, detail in failed.items()), failed


def test_uniform_priors_are(folder: Path) -> None:
    change_array(folder / "problem.npz", "prior", lambda prior: prior + 1e-6 * np.eye(6)[0] - 1e-6 * np.eye(6)[1])
    assert "not uniform" in failing(folder)["prior"]


@pytest.mark.parametrize("folder", ["unlikely"], indirect=True)
def test_losses_of_secrets_of_probability_0(folder: Path) -> None:
    change_array(folder / "problem.npz", "losses", lambda losses: losses + 1e-3 * np.diag([0, 1, 0, 0]))
    assert "but distance is" in failing(folder)["loss"]


def test_arrays_of_a_problem_are_known(folder: Path) -> None:
    arrays = {**read_arrays(folder, "problem"), "extra": np.zeros(1)}
    np.savez(folder / "problem.npz", **arrays)
    assert "extra is unknown" in failing(folder)["claims"]


def test_distances_are_not_negative(folder: Path) -> None:
    change_array(folder / "problem.npz", "distances", lambda d: np.where(np.eye(6)[::-1] > 0, -0.5, d))
    assert "distances: d[0, 5] is negative" in failing(folder).values()


@pytest.mark.parametrize("folder", ["tree", "product"], indirect=True)
def test_tables_repeat_the_distances(folder: Path) -> None:
    change_array(folder / "table.dxt", "distances", lambda distances: distances * (1 + 1e-6))
    assert "its distances are not those of the result" in failing(folder)["table"]


def test_budgets_of_any_size_end(folder: Path) -> None:
    change_array(folder / "problem.npz", "epsilon", lambda epsilon: epsilon * 0 + 1e300)
    assert "comparison: exponential" in failing(folder)


@pytest.mark.parametrize("folder", ["adversary"], indirect=True)
def test_a_level_is_of_a_loss(folder: Path) -> None:
    content = {"format": 2, "problem": "points", "max_loss": 9.0, "accuracy": 1e-6, "epsilon": 0.8, "below": 0.0}
    content |= {"resolution": None, "status": "feasible"}
    (folder / "level.json").write_text(json.dumps(content), encoding="utf-8")
    assert "no loss that falls" in failing(folder)["level.json"]


def _axes(*lines: list[float]) -> dx.Problem:
    space = dx.MetricSpace.from_points([[a, b] for a in lines[0] for b in lines[1]], "manhattan")
    return dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="distance", name="axes")


@pytest.mark.parametrize("index", [0, 1])
def test_bounds_of_axes_are_not_those_of_others(index: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dxopt.solving.routes.limits.WRITTEN_CELLS", 4)
    folder = dx.solve(_axes([0, 3, 4, 10], [0, 3, 6, 10])).save(tmp_path / "out")
    assert verify(folder).outcome is Outcome.HOLDS
    assert len(set(read_arrays(folder, "dual")["which"].tolist())) == 2
    change_array(folder / "dual.npz", "which", lambda which: which[[index, index]])
    assert "bound" in failing(folder)


def test_what_is_known_badly_is_left_open() -> None:
    assert Enclosed(Fraction(1), Fraction(1) + Fraction(1, 10**13), Fraction(1)).agrees(1.0)
    with pytest.raises(Unproved, match="enclosed"):
        Enclosed(Fraction(1), Fraction(2), Fraction(2)).agrees(1.5)


def test_the_expected_loss_of_what_is_not_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dxopt.solving.routes.limits.WRITTEN_CELLS", 4)
    report = dx.solve(_axes([0, 3, 4], [0, 1, 3]))
    folder = replace(report, evaluation={"expected_loss": report.certificate.value}).save(tmp_path / "out")
    assert verify(folder).of("measure: expected_loss").status is Outcome.HOLDS
    change_entry(folder, "claims.json", "evaluation", "expected_loss", to=report.certificate.value + 1e-6)
    assert "expected_loss is" in failing(folder)["measure: expected_loss"]


def test_links_to_folders_are_not_followed(folder: Path) -> None:
    for name in "abcde":
        (folder.parent / "more" / name).mkdir(parents=True)
        (folder.parent / "more" / name / "back").symlink_to("..")
    found = verify_all(folder.parent)
    assert isinstance(found, Verdicts)
    assert len(found.results) == 1
