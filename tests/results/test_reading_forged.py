"""Result folders that were changed: `dx.load` says in one line what is wrong, and takes nothing odd for proof."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.checks import change_array, change_claims


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    space = dx.grid((2, 2))
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), loss="binary")
    return dx.solve(problem, method="exponential").save(tmp_path_factory.mktemp("saved") / "out")


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(saved, tmp_path / "out"))


def _refused(folder: Path) -> str:
    """The message of `dx.load`, of one line."""
    with pytest.raises((dx.SpecError, dx.CertificateError)) as caught:
        dx.load(folder)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 300
    return message


def test_distances_that_are_no_numbers_prove_nothing(folder: Path) -> None:
    """The reproducer of the defect: an identity matrix was private at ε = 0."""
    change_array(folder / "problem.npz", "distances", lambda d: np.where(np.eye(len(d)) > 0, d, np.nan))
    change_array(folder / "mechanism.npz", "matrix", lambda _: np.eye(4))
    bound = json.loads((folder / "claims.json").read_text())["certificate"]["bound"]
    change_claims(folder, value=0.0, epsilon=0.0, gap=abs(bound) / 1e-12, status="optimal")
    _refused(folder)


@pytest.mark.parametrize("entry", [float("nan"), float("inf"), -1.0, 1.0])
def test_the_diagonal_is_0(folder: Path, entry: float) -> None:
    def change(distances: np.ndarray) -> np.ndarray:
        distances = distances.copy()
        distances[0, 0] = entry
        return distances

    change_array(folder / "problem.npz", "distances", change)
    assert "distances" in _refused(folder)


ARRAYS: dict[str, tuple[str, str, Callable[[np.ndarray], np.ndarray], str]] = {
    "triangles": ("problem.npz", "distances", lambda d: d**3, "distances"),
    "wide": ("problem.npz", "distances", lambda d: d[:, :3], "distances"),
    "one axis": ("problem.npz", "distances", lambda d: d[0], "distances"),
    "words": ("problem.npz", "distances", lambda d: d.astype(str), ""),
    "a prior of another size": ("problem.npz", "prior", lambda p: np.append(p, 0.0), "prior"),
    "a prior of nan": ("problem.npz", "prior", lambda p: p * np.nan, "prior"),
    "fewer points": ("mechanism.npz", "space.shape", lambda shape: shape - 1, ""),
    "a shape that is not whole": ("mechanism.npz", "space.shape", lambda shape: shape * 1.000001, "shape"),
    "fewer reports": ("mechanism.npz", "matrix", lambda matrix: matrix[:, :3], ""),
    "no spacing": ("mechanism.npz", "space.spacing", lambda spacing: spacing * 0, ""),
    "two levels": ("problem.npz", "epsilon", lambda level: np.array([level, level]), "damaged"),
}


@pytest.mark.parametrize("which", ARRAYS)
def test_arrays_are_checked_as_at_construction(folder: Path, which: str) -> None:
    name, array, change, message = ARRAYS[which]
    change_array(folder / name, array, change)
    assert message in _refused(folder)


def _named(kind: str) -> tuple[dx.Problem, dict[str, str]]:
    """A problem with a prior or losses of its own, and the entry of claims.json that names a known one instead."""
    space = dx.line(4)
    prior = [0.1, 0.2, 0.3, 0.4] if kind == "uniform" else "uniform"
    loss: Any = space.distances / 4
    if kind == "elsewhere":
        space, reports = dx.MetricSpace.from_points(np.arange(4.0)[:, None]), dx.Reports.at([[0.5], [2.5]])
        loss, kind = dx.Loss(np.abs(np.arange(4.0)[:, None] - [0.5, 2.5]) / 4, reports), "distance"
    return dx.Problem(space, epsilon=1.0, prior=prior, loss=loss), {"prior" if kind == "uniform" else "loss": kind}


@pytest.mark.parametrize("kind", ["uniform", "distance", "squared", "binary", "elsewhere"])
def test_a_prior_or_a_loss_by_the_name_of_another(kind: str, tmp_path: Path) -> None:
    problem, names = _named(kind)
    folder = dx.solve(problem).save(tmp_path / "out")
    dx.load(folder)
    change_claims(folder, **names)
    with pytest.raises(dx.CertificateError):
        dx.load(folder)


def _problems() -> dict[str, tuple[dx.Problem, str]]:
    """Problems, and the array of names that their results have."""
    town, line = dx.geo.points([[45.5, -73.6], [45.5, -73.4]], labels=["a", "b"]), dx.line(2)
    given, tree = dx.MetricSpace.from_distances([[0, 1], [1, 0]]), dx.neighbours(dx.Universe.words("ab", 1), "edit")
    priors, beliefs = (
        dx.Prior.hull([dx.Prior(np.array(one)) for one in ([0.8, 0.2], [0.4, 0.6])]),
        dx.BeliefPairs([[0.8, 0.2]], [[0.4, 0.6]]).at(1.0),
    )
    uniform: dict[str, Any] = {"epsilon": 1.0, "prior": "uniform"}
    losses, reports = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]), dx.Reports(("x", "y", "z"))
    return {
        "points": (dx.Problem(town, **uniform), "mechanism.npz space.labels"),
        "distances": (dx.Problem(given, **uniform), "mechanism.npz space.labels"),
        "tree": (dx.Problem(tree, **uniform), "mechanism.npz space.labels"),
        "reports": (dx.Problem(line, **uniform, loss=dx.Loss(losses, reports)), "mechanism.npz reports"),
        "hull": (dx.Problem(line, epsilon=1.0, prior=priors), "problem.npz prior_set.names"),
        "beliefs": (dx.Problem(line, **uniform, beliefs=beliefs), "problem.npz belief_names"),
        "left out": (dx.Problem(line, **uniform, beliefs=beliefs), "problem.npz belief_left_out"),
        "name": (dx.Problem(line, **uniform), "mechanism.npz name"),
        "format": (dx.Problem(line, **uniform), "mechanism.npz format"),
    }


@pytest.mark.parametrize("dtype", ["f8", "U1"])
@pytest.mark.parametrize("kind", list(_problems()))
def test_millions_of_names_are_refused_before_they_take_memory(kind: str, dtype: str, tmp_path: Path) -> None:
    problem, array = _problems()[kind]
    file, key = array.split()
    folder = dx.solve(problem).save(tmp_path / "out")
    change_array(folder / file, key, lambda _: np.zeros(2_000_001, dtype))
    tracemalloc.start()
    try:
        assert str(folder) in _refused(folder)
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


def test_a_number_of_factors_that_is_not_whole(tmp_path: Path) -> None:
    space = dx.product(dx.line(2), dx.torus((2, 2)))
    folder = dx.solve(dx.Problem(space, epsilon=0.7, prior=dx.Prior.uniform(space))).save(tmp_path / "out")
    for file in ("mechanism.npz", "table.dxt"):
        change_array(folder / file, "space.factors", lambda factors: factors * 1.000001)
    assert "factors" in _refused(folder)


BAD = ("0.9", [], {}, None, 10**400, True, float("nan"), float("inf"), [0.5])


@pytest.mark.parametrize("entry", BAD, ids=lambda entry: str(entry)[:8])
@pytest.mark.parametrize("name", ["epsilon", "value", "bound", "gap", "delta"])
def test_numbers_of_a_certificate(folder: Path, name: str, entry: Any) -> None:
    change_claims(folder, **{name: entry})
    assert name in _refused(folder)


@pytest.mark.parametrize("entry", ["yes", 1, None, []])
def test_private_is_true_or_false(folder: Path, entry: Any) -> None:
    change_claims(folder, private=entry)
    assert "private" in _refused(folder)


@pytest.mark.parametrize("entry", BAD, ids=lambda entry: str(entry)[:8])
@pytest.mark.parametrize(("file", "name"), [("notes.json", "seconds"), ("claims.json", "tolerance")])
def test_numbers_of_a_report(folder: Path, file: str, name: str, entry: Any) -> None:
    content = json.loads((folder / file).read_text(encoding="utf-8"))
    (folder / file).write_text(json.dumps(content | {name: entry}), encoding="utf-8")
    assert f"{file}: {name}" in _refused(folder)


@pytest.mark.parametrize("name", ["units", "status", "found", "evaluation", "beliefs", "unknown"])
@pytest.mark.parametrize("entry", ["x", [1], {"a": "b"}, 10**400], ids=lambda entry: str(entry)[:8])
def test_entries_of_a_report(folder: Path, name: str, entry: Any) -> None:
    change_claims(folder, **{name: entry})
    _refused(folder)


@pytest.mark.parametrize("name", ["claims.json", "notes.json"])
@pytest.mark.parametrize("text", ["[]", "1", "null", '"x"', "[" * 100_000], ids=lambda text: text[:4])
def test_files_without_entries(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    _refused(folder)


def test_the_triangle_inequality_may_be_off_by_rounding(folder: Path) -> None:
    change_array(folder / "problem.npz", "distances", lambda d: d * (1 + 1e-13 * (d == d.max())))
    dx.load(folder)


def test_a_level_where_none_was_asked_for(tmp_path: Path) -> None:
    space = dx.line(3)
    objective = dx.AdversaryError(0.4, "binary")
    folder = dx.solve(
        dx.Problem(space, epsilon=None, prior=dx.Prior.uniform(space), loss="binary", objective=objective)
    ).save(tmp_path / "out")
    change_claims(folder, epsilon=0.0)
    assert "claims.json: certificate.epsilon" in _refused(folder)
    (folder / "dual.npz").unlink()
    assert "out is damaged: dual.npz is missing; solve the problem again" in _refused(folder)
