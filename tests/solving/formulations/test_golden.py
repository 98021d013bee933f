"""Known optima of the prior-specific problem on small grids, by both solvers of first choice."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.material.files import ROOT

INSTANCES = json.loads((ROOT / "tests" / "material" / "golden_utility.json").read_text(encoding="utf-8"))["instances"]


def named(instance: dict[str, Any]) -> str:
    shape = "x".join(str(side) for side in instance["shape"])
    return "-".join(
        str(part) for part in (shape, instance["metric"], instance["epsilon"], instance["prior"], instance["loss"])
    )


def problem_of(instance: dict[str, Any]) -> dx.Problem:
    space = dx.grid(instance["shape"], metric=instance["metric"])
    weights = np.ones(len(space))
    if instance["prior"] == "sawtooth":
        weights = 1.0 + (7 * np.arange(len(space))) % 5
    prior = dx.Prior.from_weights(space, weights)
    return dx.Problem(space, epsilon=instance["epsilon"], prior=prior, loss=instance["loss"])


def test_there_are_instances() -> None:
    assert len(INSTANCES) >= 30


@pytest.mark.parametrize("solver", ["clarabel", "highs"])
@pytest.mark.parametrize("instance", INSTANCES, ids=named)
def test_known_optimum(instance: dict[str, Any], solver: str) -> None:
    report = dx.solve(problem_of(instance), method="optimal", solver=solver)
    proof = report.certificate
    assert proof.private
    assert proof.gap <= 1e-6
    assert report.status == "optimal"
    assert proof.value == pytest.approx(instance["value"], abs=1e-6)
    assert proof.bound <= instance["value"] + 1e-9
