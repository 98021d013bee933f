"""The problem.yaml of a result folder, solved again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app

SAVED = Path(__file__).parents[1] / "material" / "saved" / "results"
REPORTS = sorted(path.parent.name for path in SAVED.glob("*/claims.json"))
PLACES = [[45.50, -73.57], [45.51, -73.60], [45.53, -73.55], [45.47, -73.62]]


def call(*arguments: str | Path) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", REPORTS)
def test_the_same_value_from_the_folder_alone(name: str, tmp_path: Path) -> None:
    folder = shutil.copytree(SAVED / name, tmp_path / "results" / name)
    done = call("solve", folder / "problem.yaml", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    (result,) = (tmp_path / "out").iterdir()
    earlier, again = dx.load(folder), dx.load(result)
    if name == "spanner":  # found without one, and so no worse
        assert again.certificate.value <= earlier.certificate.value + 1e-9
        return
    assert again.certificate.value == pytest.approx(earlier.certificate.value, rel=2e-6)
    assert set(again.evaluation) == set(earlier.evaluation)
    assert again.problem.name == earlier.problem.name
    assert again.problem.space.metric == earlier.problem.space.metric


@pytest.mark.parametrize("method", ["exponential", "planar_laplace", "tight", "randomised_response"])
def test_a_mechanism_by_name_is_that_mechanism(method: str, tmp_path: Path) -> None:
    space = dx.MetricSpace.from_points(PLACES, "haversine")
    prior = dx.Prior.from_weights(space, [1, 2, 3, 4])
    report = dx.solve(dx.Problem(space, epsilon=2.0, prior=prior, name="places"), method=method)
    folder = report.save(tmp_path / "results" / "mine")
    assert call("solve", folder / "problem.yaml", "-o", tmp_path / "out").exit_code == 0
    again = dx.load(tmp_path / "out" / "places")
    assert again.certificate.value == pytest.approx(report.certificate.value, rel=1e-9)
    assert again.route == report.route


def test_the_folder_that_is_read_is_not_replaced(tmp_path: Path) -> None:
    folder = shutil.copytree(SAVED / "grid", tmp_path / "grid")
    before = (folder / "claims.json").read_bytes()
    for _ in range(2):
        assert call("solve", folder / "problem.yaml", "-o", tmp_path).exit_code == 0
        assert sorted(path.name for path in tmp_path.iterdir()) == ["grid", "grid-2"]
    assert (folder / "claims.json").read_bytes() == before


def test_compare_sweep_and_batch_take_it(tmp_path: Path) -> None:
    file = SAVED / "tight" / "problem.yaml"
    assert call("compare", file, "-o", tmp_path).exit_code in (0, 1)
    assert call("sweep", file, "-o", tmp_path, "--epsilon", "1,2", "--method", "tight").exit_code == 0
    assert call("batch", file, "-o", tmp_path).exit_code == 0
    assert call("batch", file, "-o", tmp_path, "--resume").stderr.startswith("1 of 1 were finished before")
    names = sorted(path.name for path in tmp_path.iterdir() if path.is_dir())
    assert names == ["tight", "tight-compare", "tight-sweep"]


def test_further_keys_are_refused(tmp_path: Path) -> None:
    folder = shutil.copytree(SAVED / "grid", tmp_path / "grid")
    with (folder / "problem.yaml").open("a", encoding="utf-8") as stream:
        stream.write("epsilon: 0.9\n")
    done = call("solve", folder / "problem.yaml", "-o", tmp_path / "out")
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert ":2:10: epsilon: " in done.stderr


@pytest.mark.parametrize("name", ["sweep", "frontier", "budgets"])
def test_parts_of_results_of_many_solves_are_solved(name: str, tmp_path: Path) -> None:
    assert not (SAVED / name / "problem.yaml").exists()
    assert call("solve", SAVED / name / "parts" / "000" / "problem.yaml", "-o", tmp_path).exit_code == 0


def test_arrays_without_a_result_and_damaged_ones(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("arrays: problem.npz\nepsilon: 1\n", encoding="utf-8")
    done = call("solve", tmp_path / "a.yaml", "-o", tmp_path / "out")
    assert (done.exit_code, "arrays: is for result folders; leave it out, or" in done.stderr) == (2, True)
    for name in ("problem.npz", "mechanism.npz", "claims.json"):
        folder = shutil.copytree(SAVED / "grid", tmp_path / name / "grid")
        (folder / name).write_bytes(b"{}")
        done = call("solve", folder / "problem.yaml", "-o", tmp_path / "out")
        assert (done.exit_code, done.stderr.count("\n")) == (2, 1), done.stderr
        assert f"arrays: folder: {folder} is damaged" in done.stderr
