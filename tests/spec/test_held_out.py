"""Smoothing of priors, and data to evaluate on, as problem files ask for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.spec import SpecFileError
from dxopt.verify import verify
from tests.material.spec_files import task_of

SPACE = "space: {kind: line, size: 4}\nepsilon: 1\n"
SMOOTHED = {
    "1": (1.0, None, None),
    "1/2": (0.5, None, None),
    "{add: 1}": (1.0, None, None),
    "{kernel: gaussian, bandwidth: 0.5}": (0.0, "gaussian", 0.5),
    "{kernel: exponential, bandwidth: ln(4), add: 2}": (2.0, "exponential", float(np.log(4))),
}
PRIORS = {
    "prior: {kind: check_ins, file: new.csv, columns: [x], weight: w, smoothing: %s}": "",
    "priors: {other: {kind: column, file: new.csv, column: w, smoothing: %s}}": "other",
    "prior: {kind: samples, file: seen.csv, columns: [x], smoothing: %s}": "",
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> Path:
    (tmp_path / "new.csv").write_text("x,w,zone\n0,1,a\n0.2,3,b\n5,1,c\n7,2,c\n", encoding="utf-8")
    (tmp_path / "seen.csv").write_text("x\n0\n0\n3\n", encoding="utf-8")
    (tmp_path / "zones.csv").write_text("zone,people\n0,2\n3,1\n", encoding="utf-8")
    (tmp_path / "elsewhere.csv").write_text("zone\n0\n9\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("written", SMOOTHED)
@pytest.mark.parametrize("prior", PRIORS)
def test_smoothing(files: Path, prior: str, written: str) -> None:
    task = task_of(files, SPACE + prior % written + "\n")
    found = task.priors["other"] if PRIORS[prior] else task.problem.prior
    counts = {"check_ins": [4, 0, 0, 3], "column": [1, 3, 1, 2], "samples": [2, 0, 0, 1]}
    asked = np.array(next(value for kind, value in counts.items() if f"kind: {kind}," in prior), dtype=float)
    wanted = dx.Smoothing(*SMOOTHED[written]).smoothed(dx.line(4), asked)
    np.testing.assert_allclose(found.probabilities, wanted / wanted.sum(), rtol=1e-12)
    assert "smoothed" in found.name


@pytest.mark.parametrize(
    ("written", "column", "message"),
    [
        ("0", 77, "prior.smoothing: is the number 0; give a number above 0"),
        ("[1]", 66, "prior.smoothing: is a list; give a number"),
        ("yes", 77, "prior.smoothing: is the text 'yes'; give a number"),
        ("{}", 66, "prior.smoothing: smooths nothing; give pseudo-counts"),
        ("{add: -1}", 83, "prior.smoothing.add: is the number -1; give a number of at least 0"),
        ("{addd: 1}", 78, "prior.smoothing.addd: is no known key here; did you mean add?"),
        ("{kernel: gaussian}", 66, "prior.smoothing: has no bandwidth; give kernel and bandwidth together"),
        ("{bandwidth: 2}", 66, "prior.smoothing: has no kernel; give kernel and bandwidth together"),
        ("{kernel: gauss, bandwidth: 1}", 86, "prior.smoothing.kernel: there is no 'gauss'; choose one of gaussian"),
        ("{kernel: gaussian, bandwidth: 0}", 107, "prior.smoothing.bandwidth: is the number 0; give a number above"),
    ],
)
def test_bad_smoothing(files: Path, written: str, column: int, message: str) -> None:
    with pytest.raises(SpecFileError) as caught:
        task_of(files, SPACE + next(iter(PRIORS)) % written + "\n")
    assert (caught.value.line, caught.value.column) == (3, column)
    assert message in str(caught.value)


def test_lists_of_names_and_data(files: Path) -> None:
    task = task_of(files, SPACE + "evaluate: [worst_loss, {file: new.csv, columns: [x], weight: w, within: 2.5}]\n")
    assert task.evaluate == ("worst_loss",)
    ((data, positions),) = task.held_out
    assert (data.name, data.rows, data.outside, positions) == ("new", 3, 2.0, False)
    assert data.weights.tolist() == [4, 0, 0, 1]


def test_one_set_of_data(files: Path) -> None:
    task = task_of(files, SPACE + "evaluate: {file: zones.csv, label: zone, count: people, name: tried}\n")
    ((data, _),) = task.held_out
    assert (data.name, data.rows, data.weights.tolist()) == ("tried", 3, [2, 0, 0, 1])
    assert task.evaluate == ()


BAD = {
    "[{file: new.csv, columns: [x]}, {file: new.csv, columns: [x]}]": "evaluate[1]",
    "{file: new.csv}": "evaluate.columns",
    "{columns: [x]}": "evaluate.file",
    "{file: new.csv, columns: [x], label: zone}": "evaluate.label",
    "{file: zones.csv, label: zone, within: 2}": "evaluate.within",
    "{file: zones.csv, label: zone, positions: true}": "evaluate.positions",
    "{file: new.csv, columns: [y]}": "evaluate.columns[0]",
    "[worst_loss, {file: none.csv, columns: [x]}]": "evaluate[1].file",
    "[worst_loss, {file: new.csv, columns: [x, w]}]": "evaluate[1].columns",
    "[{file: new.csv, columns: [zone]}]": "evaluate[0].columns[0]",
    "[{file: new.csv, columns: [x], weight: zone}]": "evaluate[0].weight",
    "[{file: new.csv, columns: [x], colour: 1}]": "evaluate[0].colour",
    "[{file: new.csv, columns: [x], within: -1}]": "evaluate[0].within",
    "[{file: elsewhere.csv, label: zone}]": "evaluate[0].file",
    "[utilty]": "evaluate[0]",
    "utility": "evaluate",
    "[3]": "evaluate[0]",
}


@pytest.mark.parametrize("written", BAD)
def test_bad_data(files: Path, written: str) -> None:
    with pytest.raises(SpecFileError) as caught:
        task_of(files, SPACE + f"evaluate: {written}\n")
    assert caught.value.field == BAD[written]
    assert len(str(caught.value).splitlines()) == 1


def test_data_do_not_go_with_frontiers(files: Path) -> None:
    text = "space: {kind: line, size: 4}\nepsilon: {from: 1, to: 2, resolution: 0.1}\n"
    with pytest.raises(SpecFileError, match="evaluate: does not go with the frontier"):
        task_of(files, text + "evaluate: {file: new.csv, columns: [x]}\n")


@pytest.mark.parametrize("positions", [False, True])
def test_from_a_file_to_what_is_verified(files: Path, positions: bool) -> None:
    asked = f"{{file: new.csv, columns: [x], weight: w, within: 2.5, positions: {str(positions).lower()}}}"
    text = SPACE + "prior: {kind: samples, file: seen.csv, columns: [x]}\n"
    (files / "tried.yaml").write_text(f"{text}evaluate: [worst_loss, {asked}]\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["solve", str(files / "tried.yaml"), "-o", str(files / "out")])
    assert done.exit_code == 0, done.output
    assert "on new" in done.output
    folder = files / "out" / "tried"
    again = dx.load(folder)
    new = np.array([[0.0], [0.2], [5.0]])
    wanted = dx.evaluate.on(again, point=new, weights=[1, 3, 1])
    (loaded,) = again.held_out
    assert loaded.loss == pytest.approx(wanted.loss)
    assert loaded.standard_error == pytest.approx(wanted.standard_error)
    assert loaded.data.outside == 2
    assert (loaded.positions is not None) is positions
    verdict = verify(folder)
    assert verdict.exit_code == 0, str(verdict)
    assert "held_out.npz" in verdict.note
    assert verify(again.save(files / "again")).exit_code == 0


def test_levels_and_sweeps_have_it_as_well(files: Path) -> None:
    (files / "least.yaml").write_text(
        "space: {kind: line, size: 4}\nepsilon: {max_loss: 0.5, accuracy: 1e-2}\n"
        "evaluate: {file: new.csv, columns: [x]}\n",
        encoding="utf-8",
    )
    done = CliRunner().invoke(app, ["solve", str(files / "least.yaml"), "-o", str(files / "out")])
    assert done.exit_code == 0, done.output
    assert (files / "out" / "least" / "held_out.npz").is_file()
    assert verify(files / "out" / "least").exit_code == 0


EMPTY = "x;w\n0,0;1\n;5\n3,0;\n2,0;3\nnone;1\n"


def test_check_ins_with_empty_cells_are_left_out_where_that_is_asked(files: Path) -> None:
    (files / "empty.csv").write_text(EMPTY, encoding="utf-8")
    prior = "prior: {kind: check_ins, file: empty.csv, columns: [x], weight: w, unusable: drop}\n"
    found = task_of(files, SPACE + prior).problem.prior
    assert isinstance(found, dx.Prior)
    assert found.probabilities.tolist() == [0.25, 0.0, 0.75, 0.0]
    assert "3 of 5" in found.name


@pytest.mark.parametrize(
    ("text", "more", "at", "words"),
    [
        (EMPTY, "", "prior.columns[0]", "line 3"),
        ("x;w\n0;1\n1;\n", "", "prior.weight", "line 3"),
        ("x;w\n;1\n1;\n", ", unusable: drop", "prior.columns[0]", "no row"),
        ("x;w\n0;1,234\n1;2\n", ", unusable: drop", "prior.weight", "line 2"),
    ],
)
def test_empty_cells_are_refused_with_their_line(files: Path, text: str, more: str, at: str, words: str) -> None:
    (files / "empty.csv").write_text(text, encoding="utf-8")
    with pytest.raises(SpecFileError) as caught:
        task_of(files, SPACE + f"prior: {{kind: check_ins, file: empty.csv, columns: [x], weight: w{more}}}\n")
    assert caught.value.field == at and words in caught.value.wrong
    assert ("unusable" in caught.value.fix) == (not more)


def test_decimal_commas_are_read_in_every_file_of_a_problem(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("name;x;w\na;0,5;1,5\nb;2,25;0,5\n", encoding="utf-8")
    (tmp_path / "seen.csv").write_text("x|w\n0,4|1,5\n2|4,5\n", encoding="utf-8")
    (tmp_path / "loss.csv").write_text("0\t1,5\n2,5\t0\n", encoding="utf-8")
    space = "space: {kind: points, file: places.csv, columns: [x], metric: euclidean, label: name}\nepsilon: 1\n"
    priors = {
        "kind: column, column: w": [0.75, 0.25],
        "kind: check_ins, file: seen.csv, columns: [x], weight: w": [0.25, 0.75],
    }
    for prior, wanted in priors.items():
        problem = task_of(tmp_path, f"{space}prior: {{{prior}}}\nloss: {{kind: matrix, file: loss.csv}}\n").problem
        assert problem.space.points is not None and problem.space.points.tolist() == [[0.5], [2.25]]
        assert problem.prior is not None and problem.prior.probabilities.tolist() == wanted
        assert problem.loss.matrix.tolist() == [[0.0, 1.5], [2.5, 0.0]]
