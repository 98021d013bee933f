"""Secrets named in problem files and on the command line, by label, index or coordinates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.results.maps.geojson import geojson
from dxopt.spec import SpecFileError, load
from tests.material.spec_files import refusal, task_of

IDS = "space: {kind: points, file: ids.csv, columns: [x], label: id}\nepsilon: 1\n"
CORNER = IDS + "prior: {kind: corner, point: %s}\n"


@pytest.fixture(autouse=True)
def _table(tmp_path: Path) -> None:
    """Labels that are indices of other points, and one that two points have."""
    (tmp_path / "ids.csv").write_text("id,x\n3,0\n7,1\n1,2.5\n0,4\n", encoding="utf-8")
    (tmp_path / "twice.csv").write_text("id,x\na,0\na,1\nb,2.5\n", encoding="utf-8")


def read(folder: Path, text: str) -> Any:
    (folder / "problem.yaml").write_text(text, encoding="utf-8")
    (task,) = load(folder / "problem.yaml")
    return task


@pytest.mark.parametrize(
    ("named", "index"),
    [
        ("{index: 3}", 3),
        ("{label: 3}", 0),
        ("{label: '1'}", 2),
        ("{point: 2.5}", 2),
        ("{point: [1]}", 1),
        ("{point: [5/2]}", 2),
        ("7", 1),
        ("3", 0),
        ("'3'", 0),
    ],
)
def test_a_corner_is_the_point_that_is_meant(named: str, index: int, tmp_path: Path) -> None:
    task = read(tmp_path, CORNER % named)
    found = task.problem.prior.probabilities
    away = np.exp(-task.problem.space.row(index=index))
    assert found == pytest.approx(away / away.sum())


def test_points_of_one_label_are_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path, (CORNER % "b").replace("ids", "twice"))
    assert error.field == "space.label"


def test_beliefs_are_about_the_points_that_are_meant(tmp_path: Path) -> None:
    pairs = "[[{index: 3}, {point: 1}], ['3', '7']]"
    asked = f"learns: {{within: [[{{index: 0}}, {{label: 0}}]], hiding: [{pairs}, {{'3': {{index: 1}}}}]}}\n"
    within, paired, mapped = read(tmp_path, IDS + asked).beliefs
    assert within.places == (0, 3)
    assert paired.places == (1, 1, 2, 1)
    assert mapped.places == (1, 1, 2, 3)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("{index: 9}", "9"),
        ("{index: -1}", "prior.point.index"),
        ("{index: one}", "prior.point.index"),
        ("{label: none}", "none"),
        ("{point: [1, 2]}", "coordinates"),
        ("{point: [x]}", "is the text 'x'"),
        ("{index: 1, label: 1}", "give one of label, index and point"),
        ("{id: 1}", "prior.point.id"),
        ("{}", "give one of label, index and point"),
        ("2", "{index: 2}"),
    ],
)
def test_what_names_no_point_is_one_line(named: str, words: str, tmp_path: Path) -> None:
    error = refusal(tmp_path, CORNER % named)
    assert error.field.startswith("prior")
    assert words in str(error)
    assert "\n" not in str(error)


def test_a_map_of_the_secret_that_is_meant(tmp_path: Path) -> None:
    degrees = [[45.50, -73.57], [45.51, -73.60], [45.53, -73.55]]
    space = dx.MetricSpace.from_points(degrees, "haversine", labels=[2, 0, 1])
    problem = dx.Problem(space, epsilon=1.0, prior=dx.Prior.uniform(space), name="places")
    folder = dx.solve(problem, method="exponential").save(tmp_path / "out")
    report = dx.load(folder)

    def drawn(*options: str) -> str:
        done = CliRunner().invoke(app, ["map", str(folder), *options, "-o", str(tmp_path / "map.geojson")])
        assert done.exit_code == 0, done.output
        return (tmp_path / "map.geojson").read_text(encoding="utf-8")

    assert drawn("--index", "0") == drawn("--label", "2") == drawn("--point", "45.50,-73.57")
    assert drawn("--index", "1") == drawn("--label", "0") != drawn("--index", "0")
    assert geojson(report, secret={"index": 1}) == geojson(report, secret={"label": "0"})
    for options, words in (
        (["--index", "9"], "9"),
        (["--label", "9"], "9"),
        (["--point", "1,2"], "1"),
        (["--point", "a"], "point: is 'a'; give numbers with commas between them"),
        (["--index", "0", "--label", "0"], "give one"),
    ):
        done = CliRunner().invoke(app, ["map", str(folder), *options, "-o", str(tmp_path / "x.geojson")])
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), done.output
        assert words in done.stderr


@pytest.mark.parametrize(
    ("label", "there", "hint"),
    [
        ("01001", "1001", True),
        ("Paris", "paris", True),
        ("New York", "NewYork", True),
        ("01001", "1002", False),
        ("0", "00", False),
    ],
)
def test_a_label_that_is_written_otherwise(label: str, there: str, hint: bool, tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text(f"code,w\n{there},1\nb,1\n", encoding="utf-8")
    text = f'space: {{kind: points, values: [["{label}"], [b]], metric: discrete}}\nepsilon: 1\n'
    with pytest.raises(SpecFileError) as refused:
        task_of(tmp_path, text + "prior: {kind: column, file: w.csv, column: w, label: code}\n")
    assert refused.value.field == "prior.label"
    assert (repr(there) in refused.value.fix) is hint


@pytest.mark.parametrize("written", ["007", "-01", "+00", "01.50", "00e2"])
def test_codes_with_zeros_at_the_beginning(written: str, tmp_path: Path) -> None:
    text = "space: {kind: points, values: [[%s], [8]], metric: discrete}\nepsilon: 1\n"
    with pytest.raises(SpecFileError) as refused:
        task_of(tmp_path, text % written)
    assert refused.value.field == "space.values[0][0]"
    assert repr(written) in refused.value.fix
    assert task_of(tmp_path, text % f"'{written}'").problem.space.labels[0] == written


def test_a_label_that_is_there_twice(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("name,x\na,1\nb,2\n\na,3\n", encoding="utf-8")
    with pytest.raises(SpecFileError) as refused:
        task_of(tmp_path, "space: {kind: points, file: p.csv, columns: [x], label: name}\nepsilon: 1\n")
    assert refused.value.field == "space.label" and "line 5" in refused.value.wrong
