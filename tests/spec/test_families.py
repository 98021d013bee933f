"""Lists of levels, methods and priors in one file."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import numpy as np
import pytest

from dxopt.spec import json_schema, read_problems
from tests.material.spec_files import refusal, tasks_of

LINE = "name: town\nspace: {kind: line, size: 3}\n"
WHOLE = (
    "epsilon: [0.5, 1]\nmethod: [optimal, geometric]\nprior: [uniform, {kind: explicit, values: [0.5, 0.3, 0.2]}]\n"
)


def test_every_combination_is_a_problem(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, LINE + WHOLE)
    combinations = {(task.problem.epsilon, task.method, tuple(task.problem.prior.probabilities)) for task in tasks}
    thirds, given = tuple(np.full(3, 1 / 3)), (0.5, 0.3, 0.2)
    assert combinations == {
        (epsilon, method, prior)
        for epsilon in (0.5, 1.0)
        for method in ("optimal", "geometric")
        for prior in (thirds, given)
    }
    assert len(tasks) == 8
    for task in tasks:
        kind = "uniform" if task.problem.prior.probabilities[0] < 0.4 else "explicit"
        assert task.problem.name == f"town [epsilon={task.problem.epsilon:g}, method={task.method}, prior={kind}]"
    assert len({id(task.problem.space) for task in tasks}) == 1


def test_names_are_known_before_anything_is_built(tmp_path: Path) -> None:
    tasks = tasks_of(tmp_path, LINE + WHOLE)
    file = read_problems(tmp_path / "problem.yaml")
    assert file.names == [task.problem.name for task in tasks]
    assert file.data == []


def test_priors_of_one_kind_are_numbered(tmp_path: Path) -> None:
    priors = "prior: [{kind: corner, point: 0}, uniform, {kind: corner, point: 2}]\n"
    tasks = tasks_of(tmp_path, LINE + "epsilon: 1\n" + priors)
    assert [task.problem.name for task in tasks] == [
        f"town [prior={name}]" for name in ("corner 1", "uniform", "corner 3")
    ]
    assert tasks[0].problem.prior.probabilities.argmax() == 0
    assert tasks[2].problem.prior.probabilities.argmax() == 2


def test_data_files_are_found_at_any_depth(tmp_path: Path) -> None:
    (tmp_path / "town.csv").write_text("x,people\n0,1\n1,2\n", encoding="utf-8")
    (tmp_path / "more.csv").write_text("people\n3\n1\n", encoding="utf-8")
    space = "space: {kind: points, file: town.csv, columns: [x]}\nepsilon: 1\n"
    tasks = tasks_of(tmp_path, space + "prior: [uniform, {kind: column, column: people, file: more.csv}]\n")
    assert tasks[1].problem.prior.probabilities.tolist() == [0.75, 0.25]
    assert read_problems(tmp_path / "problem.yaml").data == [tmp_path / "town.csv", tmp_path / "more.csv"]


@pytest.mark.parametrize(
    ("text", "line", "column", "field"),
    [
        ("method: []\n", 4, 1, "method"),
        ("method: [optimal, optimal]\n", 4, 19, "method[1]"),
        ("method: [optimal, opitmal]\n", 4, 19, "method[1]"),
        ("method: [optimal, 7]\n", 4, 19, "method[1]"),
        ("prior: [uniform, {kind: explicit, values: [1, 2, 3]}]\n", 4, 35, "prior[1].values"),
        ("prior: [uniform, {kind: explicit, values: [0.5, 0.5]}]\n", 4, 35, "prior[1].values"),
        ("prior: [uniform, {kind: unifrom}]\n", 4, 25, "prior[1].kind"),
        ("spanner: 2\nmethod: [optimal, tight]\n", 4, 10, "spanner"),
        ("method: [optimal, tight]\nexpect: {value: 1, source: nowhere}\n", 5, 1, "expect"),
    ],
)
def test_bad_lists_are_refused_at_their_position(
    tmp_path: Path, text: str, line: int, column: int, field: str
) -> None:
    error = refusal(tmp_path, LINE + "epsilon: 1\n" + text)
    assert (error.line, error.column, error.field) == (line, column, field)


def test_editors_take_lists_as_well(tmp_path: Path) -> None:
    schema = json_schema()
    good = {"space": {"kind": "line", "size": 3}, "epsilon": 1}
    kinds = ["uniform", {"kind": "corner", "point": 0}]
    jsonschema.validate({**good, "method": ["optimal", "tight"], "prior": kinds}, schema)
    jsonschema.validate({**good, "method": "optimal", "prior": kinds[1]}, schema)
    for bad in ({"method": []}, {"method": ["optimal", "opitmal"]}, {"prior": ["uniform", "uniform"]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**good, **bad}, schema)
