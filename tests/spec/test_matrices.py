"""Matrices in CSV files, with names of rows and columns as tables of pandas and R have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dxopt as dx
from dxopt.cli.application import app
from dxopt.spec import SpecFileError, load

WORDS = ("flu", "cold", "St. Louis encephalitis")
APART = [[0, 1, 2], [1, 0, 1.5], [2, 1.5, 0]]
TABLE = pd.DataFrame(APART, WORDS, WORDS)
NUMBERED = pd.DataFrame(APART, pd.Index([5, 6, 7], name="id"), [5, 6, 7])
BARE = TABLE.to_csv(index=False, header=False)
R = '"","flu","cold"\n"flu",0,Inf\n"cold",Inf,0\n'


def space_of(folder: Path, text: str, keys: str = "", loss: str = "binary") -> dx.MetricSpace:
    return problem_of(folder, text, keys, loss).space


def problem_of(folder: Path, text: str, keys: str = "", loss: str = "binary") -> dx.Problem:
    (folder / "d.csv").write_text(text, encoding="utf-8")
    file = folder / "words.yaml"
    file.write_text(f"space: {{kind: distances, file: d.csv{keys}}}\nepsilon: 1\nloss: {loss}\n", encoding="utf-8")
    return load(file)[0].problem


@pytest.mark.parametrize(
    ("text", "keys", "labels"),
    [
        (TABLE.to_csv(), "", WORDS),
        (TABLE.to_csv(index=False), "", WORDS),
        (TABLE.to_csv(header=False), "", WORDS),
        (TABLE.to_csv(sep=";", decimal=","), "", WORDS),
        (TABLE.to_csv(), ", header: true", WORDS),
        (BARE, "", ("0", "1", "2")),
        (BARE, ", header: false", ("0", "1", "2")),
        (BARE, ", labels: [flu, cold, 7]", ("flu", "cold", "7")),
        (TABLE.to_csv(header=False), ", header: false", WORDS),
        (NUMBERED.rename_axis(None).to_csv(), "", ("5", "6", "7")),
        (NUMBERED.to_csv(index=False), ", header: true", ("5", "6", "7")),
        (NUMBERED.to_csv(), ", header: true", ("5", "6", "7")),
    ],
)
def test_names_are_labels(text: str, keys: str, labels: tuple[str, ...], tmp_path: Path) -> None:
    space = space_of(tmp_path, text, keys)
    assert (space.labels, space.distances.tolist()) == (labels, APART)


def test_what_r_writes(tmp_path: Path) -> None:
    space = space_of(tmp_path, R)
    assert (space.labels, space.distances.tolist()) == (("flu", "cold"), [[0, np.inf], [np.inf, 0]])


@pytest.mark.parametrize(
    ("text", "keys", "field"),
    [
        (TABLE.iloc[[1, 0, 2]].to_csv(), "", "space.file"),
        (TABLE.to_csv(), ", header: false", "space.file"),
        (TABLE.to_csv(), ", labels: [a, b, c]", "space.labels"),
        (BARE, ", labels: [a, b]", "space.labels"),
        (BARE, ", labels: [a, b, b]", "space.labels"),
        (BARE, ", labels: []", "space.labels"),
        ("flu,flu\n0,1\n1,0\n", "", "space.file"),
        ("flu,cold\n", "", "space.file"),
        ("flu,7\n0,1\n1,0\n", "", "space.file"),
        (NUMBERED.to_csv(index=False), "", "space.file"),
        (NUMBERED.to_csv(), "", "space.file"),
    ],
)
def test_names_that_are_none(text: str, keys: str, field: str, tmp_path: Path) -> None:
    with pytest.raises(SpecFileError) as refused:
        space_of(tmp_path, text, keys)
    assert refused.value.field == field


def test_labels_of_distances_that_are_written_out(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("space: {kind: distances, values: [[0, 1], [1, 0]], labels: [flu, cold]}\nepsilon: 1\n")
    assert load(file)[0].problem.space.labels == ("flu", "cold")


LOSSES: dict[str, tuple[Any, ...] | None] = {
    BARE: WORDS,
    TABLE.to_csv(): WORDS,
    TABLE.to_csv(index=False): WORDS,
    TABLE.to_csv(header=False): WORDS,
    TABLE.assign(other=3).to_csv(): (*WORDS, "other"),
    TABLE.assign(other=3).to_csv(index=False, header=False): ("0", "1", "2", "3"),
    TABLE.iloc[[1, 0, 2]].to_csv(): None,
    TABLE[["cold", "flu", "St. Louis encephalitis"]].to_csv(index=False): None,
    TABLE.assign(other=3).rename(index={"flu": "grippe"}).to_csv(): None,
}
"""Matrices of losses, and the labels of their reports; None of those whose names are others than the labels."""


@pytest.mark.parametrize("text", LOSSES)
def test_names_in_a_matrix_of_losses(text: str, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(text, encoding="utf-8")
    labels = LOSSES[text]
    if labels is not None:
        found = problem_of(tmp_path, TABLE.to_csv(), loss="{kind: matrix, file: l.csv}")
        assert (tuple(found.reports.labels), found.reports.secrets) == (labels, labels == WORDS)
        return
    with pytest.raises(SpecFileError) as refused:
        problem_of(tmp_path, TABLE.to_csv(), loss="{kind: matrix, file: l.csv}")
    assert refused.value.field == "loss.file"


def test_words_are_reported_from_the_command_line(tmp_path: Path) -> None:
    problem_of(tmp_path, TABLE.to_csv(), loss="distance")
    (tmp_path / "patients.csv").write_text("patient,diagnosis\n1,flu\n2,cold\n3,flu\n")
    result = str(tmp_path / "out")
    done = CliRunner().invoke(app, ["solve", str(tmp_path / "words.yaml"), "-o", result])
    assert done.exit_code == 0
    for option in ("--column", "--label"):
        output = tmp_path / f"public{option}.csv"
        given = [f"{result}/words", str(tmp_path / "patients.csv"), "-o", str(output), option, "diagnosis"]
        done = CliRunner().invoke(app, ["apply", *given])
        assert done.exit_code == 0, done.output
        assert set(pd.read_csv(output)["diagnosis"]) <= set(WORDS)
