"""Sets of priors in problem files: what they make, what is wrong with them, and that the schema knows them."""

from __future__ import annotations

import math
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from ruamel.yaml import YAML

import dxopt as dx
from dxopt.model.moment_sets import Fitting
from dxopt.model.prior_sets import Ball, Box, Hull
from dxopt.spec import SpecFileError, json_schema, load
from tests.material.files import PROBLEMS

HEAD = "space: {kind: grid, shape: [1, 3]}\n"
LEVEL = "epsilon: 1\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "problem.yaml"
    file.write_text(HEAD + text, encoding="utf-8")
    return file


GOOD = {
    "prior: {kind: hull, priors: [uniform, {kind: explicit, values: [1/2, 1/4, 1/4]}]}": Hull,
    "prior: {kind: ball, around: uniform, total_variation: 0.2}": Ball,
    "prior: {kind: box, lower: [0.1, 0.1, 0.1]}": Box,
    "prior: {kind: box, around: {kind: corner, point: {index: 1}}, ratio: 2}": Box,
    "prior: {kind: fitting, marginals: [[1], [0.2, 0.3, 0.5]]}": Fitting,
    "prior: {kind: fitting, marginals: [null, [0.2, 0.3, 0.5]]}": Fitting,
    "prior: {kind: fitting, marginals: [~, [0.2, 0.3, 0.5]]}": Fitting,
    "prior: {kind: fitting, totals: [{points: [{index: 0}, {index: 1}], low: 0.2, high: 0.4}]}": Fitting,
}


@pytest.mark.parametrize("text", GOOD)
def test_a_set_is_made(text: str, tmp_path: Path) -> None:
    file = written(tmp_path, LEVEL + text)
    [task] = load(file)
    priors = task.problem.priors
    assert isinstance(priors, GOOD[text])
    assert task.problem.objective.name == "worst_expected_loss"
    assert jsonschema.Draft202012Validator(json_schema()).is_valid(YAML(typ="safe", pure=True).load(file))
    if isinstance(priors, Fitting) and len(priors.low) == 1:
        assert math.isclose(float(priors.worst([1, 1, 0])[:2].sum()), 0.4, abs_tol=2e-9)


def test_sets_make_families_and_a_corner_follows_the_level(tmp_path: Path) -> None:
    ball = "{kind: ball, around: {kind: corner, point: {index: 0}}, total_variation: 0.1}"
    text = f"epsilon: [1, 2]\nprior:\n  - uniform\n  - {ball}\n"
    tasks = load(written(tmp_path, text))
    assert [task.problem.priors is None for task in tasks] == [True, True, False, False]
    first, second = (task.problem.prior.probabilities for task in tasks[2:])
    assert not np.allclose(first, second)
    hull = "epsilon: [1, 2]\nobjective: regret\nprior: {kind: hull, priors: [uniform]}\n"
    assert {task.problem.objective.name for task in load(written(tmp_path, hull))} == {"regret"}


BAD = {
    "prior: {kind: hull, priors: []}": (2, 21, "prior.priors"),
    "prior: {kind: hull, priors: [{kind: ball, around: uniform}]}": (2, 37, "prior.priors[0].kind"),
    "prior: {kind: ball, around: {kind: unifrm}, total_variation: 0.1}": (2, 36, "prior.around.kind"),
    "prior: {kind: ball, around: uniform, total_variation: 2}": (2, 55, "prior.total_variation"),
    "prior: {kind: ball, around: uniform}": (2, 1, "prior.total_variation"),
    "prior: {kind: box}": (2, 1, "prior"),
    "prior: {kind: box, lower: [0.5]}": (2, 20, "prior.lower"),
    "prior: {kind: box, lower: [0.5, 0.5, 0.5]}": (2, 20, "prior.lower"),
    "prior: {kind: box, around: uniform, ratio: 0.5}": (2, 44, "prior.ratio"),
    "prior: {kind: box, around: uniform}": (2, 1, "prior.ratio"),
    "prior: {kind: fitting}": (2, 1, "prior"),
    "prior: {kind: fitting, marginals: [[1]]}": (2, 24, "prior.marginals"),
    "prior: {kind: fitting, marginals: [~, ~]}": (2, 1, "prior"),
    "prior: {kind: fitting, totals: [{points: [{index: 9}]}]}": (2, 33, "prior.totals[0]"),
    "prior: uniform\nobjective: regret": (3, 12, "objective"),
    "prior: {kind: hull, priors: [uniform]}\nobjective: worst_loss": (3, 12, "objective"),
    "prior: {kind: hull, priors: [uniform]}\nspanner: 1.5": (3, 10, "spanner"),
    "prior: uniform\npriors: {other: {kind: hull, priors: [uniform]}}": (3, 24, "priors.other.kind"),
}


@pytest.mark.parametrize("text", BAD)
def test_what_is_wrong_is_one_line_at_its_place(text: str, tmp_path: Path) -> None:
    file = tmp_path / "problem.yaml"
    file.write_text("space: {kind: grid, shape: [1, 3]}\n" + text + "\nepsilon: 1\n", encoding="utf-8")
    with pytest.raises(SpecFileError) as caught:
        load(file)
    assert (caught.value.line, caught.value.column, caught.value.field) == BAD[text]
    assert len(str(caught.value).splitlines()) == 1


def test_the_optimum_for_counts_holds_off_the_prior() -> None:
    """What is promised of the problem file, beside the optimum for its Poisson prior alone."""
    [task] = load(PROBLEMS / "counts-off-the-prior.yaml")
    alone = dx.solve(task.problem.but(prior=task.problem.prior))
    held = dx.solve(task.problem)
    assert int(alone.mechanism.matrix[55].argmax()) == 38 and int(held.mechanism.matrix[55].argmax()) == 55
    assert dx.evaluate.worst_loss(alone.mechanism) > 20 and dx.evaluate.worst_loss(held.mechanism) < 1.26
    on_it = dx.evaluate.expected_loss(held.mechanism, task.problem.prior)
    assert on_it < 1.005 * alone.certificate.value
    assert held.off_prior.never is not None and not len(held.off_prior.never)
    used = np.flatnonzero(alone.mechanism.matrix.max(axis=0) > 1e-9)
    assert (used.min(), used.max()) == (5, 38)
