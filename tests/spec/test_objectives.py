"""Problem files with other objectives, relaxed privacy, or none: what they ask for, and where their errors point."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

import dxopt as dx
from dxopt.spec import json_schema
from tests.material.spec_files import refusal, task_of, tasks_of

HEAD = "space: {kind: line, size: 3}\n"
LEVEL = "epsilon: 1\n"
ERROR = "objective: {kind: adversary_error, max_loss: 0.5}\n"

GOOD = {
    "worst": HEAD + LEVEL + "objective: worst_loss\n",
    "worst as a mapping": HEAD + LEVEL + "objective: {kind: worst_loss}\n",
    "expected": HEAD + LEVEL + "objective: expected_loss\n",
    "worst with a prior": HEAD + LEVEL + "objective: worst_loss\nprior: {kind: corner, point: 0}\n",
    "error": HEAD + ERROR,
    "private error": HEAD + "privacy: {level: ln(4), radius: 2}\n" + ERROR,
    "error for a family": HEAD + "epsilon: [1, 2]\n" + ERROR,
    "error by name": HEAD + "objective: {kind: adversary_error, max_loss: 1/2, adversary_loss: squared}\n",
    "error by values": HEAD
    + "objective:\n  kind: adversary_error\n  max_loss: -1\n"
    + "  adversary_loss: {kind: matrix, values: [[0, 1], [1, 0], [1/2, -1]]}\n",
    "error by file": HEAD
    + "objective: {kind: adversary_error, max_loss: 1, adversary_loss: {kind: matrix, file: guesses.csv}}\n",
    "delta": HEAD + LEVEL + "delta: 1/10\n",
    "no delta": HEAD + LEVEL + "delta: 0\nspanner: 2\n",
    "adjacent": HEAD + LEVEL + "delta: 0.1\npairs: adjacent\n",
    "everything": HEAD + "epsilon: {from: 1, to: 2, step: 1}\ndelta: 0.1\npairs: all\nmethod: exponential\n" + ERROR,
}

GUESSES = "objective: {kind: adversary_error, max_loss: 1, adversary_loss: "
MATRIX = GUESSES + "{kind: matrix, values: "

BAD: dict[str, tuple[str, int, int, str]] = {
    # objectives
    LEVEL + "objective: least\n": ("objective", 3, 12, "unknown"),
    LEVEL + "objective: adversary_error\n": ("objective", 3, 12, "without a budget"),
    LEVEL + "objective: [worst_loss]\n": ("objective", 3, 1, "a list"),
    LEVEL + "objective:\n": ("objective", 3, 1, "empty"),
    LEVEL + "objective: {max_loss: 1}\n": ("objective.kind", 3, 1, "no kind"),
    LEVEL + "objective: {kind: error, max_loss: 1}\n": ("objective.kind", 3, 19, "unknown kind"),
    LEVEL + "objective: {kind: adversary_error}\n": ("objective.max_loss", 3, 1, "no budget"),
    LEVEL + "objective: {kind: worst_loss, max_loss: 1}\n": (
        "objective.max_loss",
        3,
        31,
        "a budget that is not taken",
    ),
    LEVEL + "objective: {kind: adversary_error, max_los: 1}\n": ("objective.max_los", 3, 36, "misspelt budget"),
    LEVEL + "objective: {kind: adversary_error, max_loss: inf}\n": ("objective.max_loss", 3, 46, "infinite budget"),
    LEVEL + GUESSES + "binry}\n": ("objective.adversary_loss", 3, 65, "unknown guesses"),
    LEVEL + GUESSES + "7}\n": ("objective.adversary_loss", 3, 65, "guesses are a number"),
    LEVEL + GUESSES + "{kind: matrices}}\n": ("objective.adversary_loss.kind", 3, 72, "guesses of an unknown kind"),
    LEVEL + GUESSES + "{kind: matrix}}\n": ("objective.adversary_loss.file", 3, 49, "guesses from nowhere"),
    LEVEL + MATRIX + "[[0]], file: guesses.csv}}\n": ("objective.adversary_loss.values", 3, 80, "guesses twice"),
    LEVEL + MATRIX + "[[0], [x], [1]]}}\n": ("objective.adversary_loss.values[1][0]", 3, 95, "guess that is text"),
    LEVEL + MATRIX + "[[0, 1], [1]]}}\n": ("objective.adversary_loss.values[1]", 3, 97, "ragged guesses"),
    LEVEL + MATRIX + "[[0, 1], [1, 0]]}}\n": ("objective.adversary_loss.values", 3, 80, "too few guesses"),
    LEVEL + MATRIX + "[[0], [inf], [1]]}}\n": ("objective.adversary_loss.values", 3, 80, "infinite guess"),
    LEVEL + GUESSES + "{kind: matrix, file: none.csv}}\n": (
        "objective.adversary_loss.file",
        3,
        86,
        "guesses from a missing file",
    ),
    # levels
    "objective: worst_loss\n": ("epsilon", 1, 1, "worst loss without a level"),
    "": ("epsilon", 1, 1, "nothing"),
    "prior: {kind: corner, point: 0}\n" + ERROR: ("prior", 2, 1, "corner without a level"),
    LEVEL + "privacy: {level: 1, radius: 1}\n" + ERROR: ("epsilon", 2, 10, "two levels"),
    # delta
    LEVEL + "delta: 1\n": ("delta", 3, 8, "delta of 1"),
    LEVEL + "delta: -0.1\n": ("delta", 3, 8, "delta below 0"),
    LEVEL + "delta: much\n": ("delta", 3, 8, "delta that is text"),
    LEVEL + "delta: [0.1]\n": ("delta", 3, 1, "delta that is a list"),
    "delta: 0.1\n" + ERROR: ("delta", 2, 8, "delta without a level"),
    LEVEL + "pairs: adjacent\n": ("pairs", 3, 8, "pairs without delta"),
    LEVEL + "delta: 0\npairs: all\n": ("pairs", 4, 8, "pairs with a delta of 0"),
    LEVEL + "delta: 0.1\npairs: some\n": ("pairs", 4, 8, "pairs"),
    # how to solve
    LEVEL + "delta: 0.1\nmethod: tight\n": ("method", 4, 9, "tight with delta"),
    "method: tight\n" + ERROR: ("method", 2, 9, "tight without a level"),
    "method: geometric\n" + ERROR: ("method", 2, 9, "a classic without a level"),
    LEVEL + "delta: 0.1\nspanner: 2\n": ("spanner", 4, 10, "spanner with delta"),
    LEVEL + "spanner: 2\nobjective: worst_loss\n": ("spanner", 3, 10, "spanner for the worst loss"),
    "spanner: 2\n" + ERROR: ("spanner", 2, 10, "spanner for the error"),
    "evaluate: [utility, smallest_delta]\n" + ERROR: ("evaluate[1]", 2, 21, "smallest delta without a level"),
    "evaluate: [error_bound]\n" + ERROR: ("evaluate[0]", 2, 12, "bound on errors"),
    "expect: [{value: 1, source: a}]\n" + ERROR: ("expect", 2, 1, "list of one value"),
}


@pytest.fixture
def guesses(folder: Path) -> Path:
    """The folder with what guesses cost."""
    (folder / "guesses.csv").write_text("0,3\n1,2\n2,1\n")
    return folder


def problem_of(folder: Path, name: str) -> dx.Problem:
    return task_of(folder, GOOD[name]).problem


def error_of(problem: dx.Problem) -> dx.AdversaryError:
    assert isinstance(problem.objective, dx.AdversaryError)
    return problem.objective


def test_objectives_by_name(folder: Path) -> None:
    assert problem_of(folder, "expected").objective.name == "expected_loss"
    for name in ("worst", "worst as a mapping", "worst with a prior"):
        assert problem_of(folder, name).objective.name == "worst_loss"
    assert problem_of(folder, "worst with a prior").prior.probabilities[0] > 0.5


def test_the_error_of_an_adversary(guesses: Path) -> None:
    problem = problem_of(guesses, "error")
    assert (problem.private, problem.epsilon, error_of(problem).max_loss) == (False, math.inf, 0.5)
    assert error_of(problem).guesses.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert problem_of(guesses, "private error").epsilon == pytest.approx(math.log(2))
    assert error_of(problem_of(guesses, "error by name")).guesses.tolist() == [[0, 1, 4], [1, 0, 1], [4, 1, 0]]
    assert error_of(problem_of(guesses, "error by values")).guesses.tolist() == [[0, 1], [1, 0], [0.5, -1]]
    assert error_of(problem_of(guesses, "error by values")).max_loss == -1
    assert error_of(problem_of(guesses, "error by file")).guesses.tolist() == [[0, 3], [1, 2], [2, 1]]


def test_families_of_other_objectives(folder: Path) -> None:
    tasks = tasks_of(folder, GOOD["error for a family"])
    assert [task.problem.name for task in tasks] == ["problem [epsilon=1]", "problem [epsilon=2]"]
    assert {task.problem.objective.name for task in tasks} == {"adversary_error"}
    assert [(t.problem.delta, t.problem.epsilon) for t in tasks_of(folder, GOOD["everything"])] == [
        (0.1, 1),
        (0.1, 2),
    ]


def test_delta_and_its_pairs(folder: Path) -> None:
    relaxed = {name: problem_of(folder, name) for name in ("delta", "no delta", "adjacent", "worst")}
    assert [problem.delta for problem in relaxed.values()] == [0.1, 0, 0.1, 0]
    assert [problem.pairs for problem in relaxed.values()] == ["all", "all", "adjacent", "all"]


@pytest.mark.parametrize("text", list(BAD), ids=lambda text: BAD[text][-1])
def test_what_is_wrong_is_one_line_at_its_place(guesses: Path, text: str) -> None:
    error = refusal(guesses, HEAD + text)
    assert (error.field, error.line, error.column) == BAD[text][:3]
    assert error.fix and len(str(error).splitlines()) == 1


def test_infinite_losses_are_refused_where_they_leave_nothing(folder: Path) -> None:
    head = (
        "space: {kind: distances, values: [[0, inf], [1, 0]]}\nepsilon: 1\nprior: {kind: explicit, values: [0, 1]}\n"
    )
    assert task_of(folder, head).problem.losses[0, 1] == math.inf
    given = refusal(folder, head + "objective: worst_loss\nloss: {kind: matrix, values: [[0, .inf], [.inf, 0]]}\n")
    assert (given.line, given.field) == (5, "loss")
    capped = refusal(folder, head + "max_loss: -1\n")
    assert (capped.line, capped.field) == (4, "max_loss")
    guesses = refusal(folder, head + ERROR)
    assert (guesses.line, guesses.field) == (4, "objective.adversary_loss")


def plain(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


@pytest.mark.parametrize("name", list(GOOD))
def test_schema_accepts_good_files(name: str) -> None:
    jsonschema.Draft202012Validator(json_schema()).validate(plain(GOOD[name]))


FORM = [
    text
    for text, (field, _, _, name) in BAD.items()
    if not field.startswith(("spanner", "method", "prior", "evaluate", "expect"))
    and name not in ("delta without a level", "pairs with a delta of 0")
    and not name.endswith(("ragged guesses", "too few guesses", "infinite guess", "missing file"))
]


@pytest.mark.parametrize("text", FORM, ids=lambda text: BAD[text][-1])
def test_schema_rejects_bad_forms(text: str) -> None:
    assert not jsonschema.Draft202012Validator(json_schema()).is_valid(plain(HEAD + text))
