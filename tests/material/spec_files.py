"""Problem files written, read and refused, for the tests of `dxopt.spec`."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from ruamel.yaml import YAML

import dxopt as dx
from dxopt.spec import SpecFileError, Task, json_schema, load

HEAD = "name: spaces\nepsilon: 1.0\nprior: {kind: uniform}\nloss: binary\nspace: "

SPACES: list[tuple[str, list[list[float]]]] = [
    ("{kind: points, values: [[0], [3], [1/2]]}", [[0, 3, 0.5], [3, 0, 2.5], [0.5, 2.5, 0]]),
    ("{kind: points, values: [[0, 0], [3, 4]], metric: manhattan}", [[0, 7], [7, 0]]),
    ("{kind: points, values: [[a, b], [a, c], [d, 1]], metric: hamming}", [[0, 1, 2], [1, 0, 2], [2, 2, 0]]),
    ("{kind: points, file: town.csv, columns: [place], metric: discrete, top: 2 by x}", [[0, 1], [1, 0]]),
    ("{kind: points, file: town.csv, columns: [x, y], metric: hamming, top: 2 by people}", [[0, 2], [2, 0]]),
    ("{kind: grid, shape: [1, 2], spacing: 1.5}", [[0, 1.5], [1.5, 0]]),
    ("{kind: grid, shape: [2, 2], metric: chebyshev}", (1 - np.eye(4)).tolist()),
    ("{kind: torus, shape: [4], spacing: 2}", [[0, 2, 4, 2], [2, 0, 2, 4], [4, 2, 0, 2], [2, 4, 2, 0]]),
    ("{kind: line, size: 2, step: sqrt(4)}", [[0, 2], [2, 0]]),
    ("{kind: graph, file: roads.graphml}", [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
    ("{kind: graph, file: roads.graphml, weight: length}", [[0, 1.5, 3.5], [1.5, 0, 2], [3.5, 2, 0]]),
    ("{kind: graph, file: roads.csv, weight: length}", [[0, 1.5, 3.5], [1.5, 0, 2], [3.5, 2, 0]]),
    ("{kind: graph, edges: [[a, b], [b, c, 2.5], [b, c, 3]]}", [[0, 1, 3.5], [1, 0, 2.5], [3.5, 2.5, 0]]),
    ("{kind: distances, values: [[0, ln(1)], [2, 0]]}", [[0, 0], [2, 0]]),
    ("{kind: distances, file: triangle.csv, close: true}", [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
    ("{kind: distances, file: asymmetric.csv}", [[0, 1], [2, 0]]),
]

PRIORS: list[tuple[str, list[float]]] = [
    ("uniform", [1 / 3, 1 / 3, 1 / 3]),
    ("{kind: uniform}", [1 / 3, 1 / 3, 1 / 3]),
    ("{kind: explicit, values: [0.5, 1/4, 0.25]}", [0.5, 0.25, 0.25]),
    ("{kind: column, column: people}", [3 / 7, 3 / 7, 1 / 7]),
    ("{kind: column, column: weight, file: weights.csv}", [0.25, 0.5, 0.25]),
    ("{kind: samples, file: seen.csv, columns: [x, y]}", [0.75, 0.25, 0]),
]

LOSSES: list[tuple[str, list[list[float]]]] = [
    ("distance", [[0, 2], [2, 0]]),
    ("squared", [[0, 4], [4, 0]]),
    ("binary", [[0, 1], [1, 0]]),
    ("{kind: matrix, values: [[0, 1, 1/2], [ln(1), 2, 3]]}", [[0, 1, 0.5], [0, 2, 3]]),
    ("{kind: beyond, distance: 0}", [[0, 1], [1, 0]]),
    ("{kind: beyond, distance: 1}", [[0, 1], [1, 0]]),
    ("{kind: beyond, distance: 2}", [[0, 0], [0, 0]]),
    ("{kind: matrix, file: wide.csv}", [[0, 1, 2], [1, 0, 1]]),
]


def tasks_of(folder: Path, text: str) -> list[Task]:
    path = folder / "problem.yaml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def task_of(folder: Path, text: str) -> Task:
    (task,) = tasks_of(folder, text)
    return task


def small(space: str, *lines: str) -> str:
    return "\n".join([f"space: {space}", "epsilon: 1", *lines, ""])


def refusal(folder: Path, text: str) -> SpecFileError:
    with pytest.raises(SpecFileError) as caught:
        tasks_of(folder, text)
    return caught.value


def assert_space(folder: Path, text: str, expected: dx.MetricSpace) -> None:
    """A text is that of a space, also by the schema."""
    space = task_of(folder, HEAD + text).problem.space
    assert tuple(space.labels) == tuple(expected.labels)
    assert np.array_equal(space.distances, expected.distances)
    jsonschema.Draft202012Validator(json_schema()).validate(YAML(typ="safe").load(HEAD + text))


def assert_space_refused(folder: Path, text: str, where: str, message: str) -> None:
    """The text of a space is refused by a message that a pattern finds, at a part of it."""
    told = str(refusal(folder, HEAD + text))
    column = len("space: ") + text.index(where) + 1 if where else 1
    assert re.search(message, told) and f"problem.yaml:5:{column}: " in told and "\n" not in told


# good files
