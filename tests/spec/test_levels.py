"""Problem files that ask for a smallest epsilon or a frontier: what is read, and where their errors point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from dxopt.spec import json_schema
from dxopt.studies.questions import EpsilonFrontier, LossFrontier, SmallestEpsilon
from tests.material.spec_files import refusal, task_of, tasks_of

PAIR = "space: {kind: line, size: 2}\n"
LEVEL = "epsilon: {max_loss: 0.2}\n"
FRONTIER = "epsilon: {from: 1/2, to: 2, resolution: 0.2}\n"
BUDGETS = "objective: {kind: adversary_error, max_loss: {from: 0.1, to: 1, resolution: 0.01}}\n"

ASKED = {
    LEVEL: SmallestEpsilon(0.2, 1e-6),
    "epsilon: {max_loss: 1/5, accuracy: 0.01}\nobjective: worst_loss\ndelta: 0.01\n": SmallestEpsilon(0.2, 0.01),
    "epsilon: {accuracy: 0.01, max_loss: -1}\nevaluate: [utility]\n": SmallestEpsilon(-1, 0.01),
    FRONTIER: EpsilonFrontier(0.5, 2, 0.2),
    BUDGETS: LossFrontier(0.1, 1, 0.01),
    "epsilon: 1\nprior: {kind: corner, point: 0}\n" + BUDGETS: LossFrontier(0.1, 1, 0.01),
    "privacy: {level: 1, radius: 2}\n" + BUDGETS: LossFrontier(0.1, 1, 0.01),
    "epsilon: 1\n": None,
    "epsilon: {from: 1, to: 1, step: 1}\n": None,
}

BAD_FORMS: dict[str, tuple[str, int, int]] = {
    "epsilon: {}\n": ("epsilon.max_loss", 2, 1),
    "epsilon: {max_los: 1}\n": ("epsilon.max_los", 2, 11),
    "epsilon: {max_loss: much}\n": ("epsilon.max_loss", 2, 21),
    "epsilon: {max_loss: inf}\n": ("epsilon.max_loss", 2, 21),
    "epsilon: {max_loss: }\n": ("epsilon.max_loss", 2, 11),
    "epsilon: {max_loss: 1, from: 2}\n": ("epsilon.from", 2, 24),
    "epsilon: {max_loss: 1, accuracy: 0}\n": ("epsilon.accuracy", 2, 34),
    "epsilon: {max_loss: 1, accuracy: 1}\n": ("epsilon.accuracy", 2, 34),
    "epsilon: {from: 1, to: 2}\n": ("epsilon.step", 2, 1),
    "epsilon: {from: 1, to: 2, resolution: 0.1, step: 1}\n": ("epsilon.resolution", 2, 27),
    "epsilon: {from: 1, resolution: 0.1}\n": ("epsilon.to", 2, 1),
    "epsilon: {from: 0, to: 2, resolution: 0.1}\n": ("epsilon.from", 2, 17),
    "epsilon: {from: 1, to: 2, resolution: 1}\n": ("epsilon.resolution", 2, 39),
    "epsilon: {from: 1, to: 2, resolution: fine}\n": ("epsilon.resolution", 2, 39),
    BUDGETS.replace(", to: 1", ""): ("objective.max_loss.to", 2, 36),
    BUDGETS.replace(", resolution: 0.01", ""): ("objective.max_loss.resolution", 2, 36),
    BUDGETS.replace("resolution: 0.01", "step: 1"): ("objective.max_loss.step", 2, 65),
    BUDGETS.replace("0.01", "2"): ("objective.max_loss.resolution", 2, 77),
    BUDGETS.replace("0.1,", "[1],"): ("objective.max_loss.from", 2, 47),
    BUDGETS.replace("{from: 0.1, to: 1, resolution: 0.01}", "[1]"): ("objective.max_loss", 2, 36),
    LEVEL + "privacy: {level: 1, radius: 1}\n": ("epsilon", 2, 1),
}

UNSUITED: dict[str, tuple[str, int, int]] = {
    "epsilon: {from: 1, to: 1, resolution: 0.1}\n": ("epsilon.to", 2, 24),
    BUDGETS.replace("to: 1", "to: 0.1"): ("objective.max_loss.to", 2, 62),
    LEVEL + BUDGETS: ("objective", 3, 1),
    LEVEL + "objective: {kind: adversary_error, max_loss: 1}\n": ("objective", 3, 1),
    FRONTIER + "objective: {kind: adversary_error, max_loss: 1}\n": ("objective", 3, 1),
    LEVEL + "prior: {kind: corner, point: 0}\n": ("prior", 3, 1),
    FRONTIER + "prior: {kind: corner, point: 0}\n": ("prior", 3, 1),
    BUDGETS + "prior: {kind: corner, point: 0}\n": ("prior", 3, 1),
    LEVEL + "compare: [exponential]\n": ("compare", 3, 1),
    LEVEL + "priors: {flat: uniform}\n": ("priors", 3, 1),
    FRONTIER + "compare: [exponential]\n": ("compare", 3, 1),
    BUDGETS + "compare: [exponential]\n": ("compare", 3, 1),
    FRONTIER + "evaluate: [utility]\n": ("evaluate", 3, 1),
    BUDGETS + "evaluate: [utility]\n": ("evaluate", 3, 1),
    FRONTIER + "expect: {value: 1, source: a}\n": ("expect", 3, 1),
    BUDGETS + "expect: {value: 1, source: a}\n": ("expect", 3, 1),
    LEVEL + "expect: [{value: 1, source: a}]\n": ("expect", 3, 1),
    LEVEL + "method: tight\n": ("method", 3, 9),
    FRONTIER + "method: geometric\n": ("method", 3, 9),
    "epsilon: 1\nmethod: exponential\n" + BUDGETS: ("method", 3, 9),
    LEVEL + "spanner: 2\n": ("spanner", 3, 10),
    FRONTIER + "spanner: 2\n": ("spanner", 3, 10),
}


@pytest.mark.parametrize("text", list(ASKED))
def test_what_is_asked(folder: Path, text: str) -> None:
    assert task_of(folder, PAIR + text).sweep == ASKED[text]
    plain = YAML(typ="safe", pure=True).load(PAIR + text)
    jsonschema.Draft202012Validator(json_schema()).validate(plain)


def test_the_problem_is_the_first_one(folder: Path) -> None:
    frontier, budgets = (task_of(folder, PAIR + text).problem for text in (FRONTIER, BUDGETS))
    assert (frontier.epsilon, budgets.objective.max_loss, budgets.private) == (0.5, 0.1, False)


def test_a_family_of_frontiers(folder: Path) -> None:
    tasks = tasks_of(folder, PAIR + "epsilon: [1, 2]\n" + BUDGETS)
    assert [task.problem.epsilon for task in tasks] == [1, 2]
    assert {task.sweep for task in tasks} == {LossFrontier(0.1, 1, 0.01)}


def test_gaps_are_smaller_than_the_accuracy_unless_a_tolerance_is_given(folder: Path) -> None:
    fine = PAIR + "epsilon: {max_loss: 0.2, accuracy: 1e-4}\n"
    assert task_of(folder, fine).tolerance == 1e-5
    assert task_of(folder, fine + "tolerance: 1e-3\n").tolerance == 1e-3
    assert task_of(folder, PAIR + FRONTIER).tolerance == 1e-6


@pytest.mark.parametrize("text", [*BAD_FORMS, *UNSUITED])
def test_what_is_wrong_is_one_line_at_its_place(folder: Path, text: str) -> None:
    error = refusal(folder, PAIR + text)
    assert (error.field, error.line, error.column) == (BAD_FORMS | UNSUITED)[text]
    assert error.fix and len(str(error).splitlines()) == 1


@pytest.mark.parametrize("text", BAD_FORMS)
def test_schema_rejects_bad_forms(text: str) -> None:
    plain: Any = YAML(typ="safe", pure=True).load(PAIR + text)
    assert not jsonschema.Draft202012Validator(json_schema()).is_valid(plain)
