"""Random corruptions of result folders, judged by formulas written for the purpose and in exact arithmetic.

Numbers that are claims, or that claims are about: all in problem.npz, the matrix, points of a norm, the table, what
the dual has of multipliers, weights, guesses and price, the certificate, and of claims.json and problem.yaml what
the arrays determine. Of comparisons all channels, priors, duals and figures are, and the number in the verdict; of
beliefs the secrets that they are about. Row prices, seconds, and sizes before and after a reduction are none.
"""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.results.measures import MEASURES
from dxopt.verify import Outcome, verify
from tests.judges.result import judged
from tests.material.corrupted import SEED, corrupt, slots_of
from tests.material.few import few

MEASURED = ("expected_loss", "worst_loss", "utility", "min_entropy_leakage", "adversary_error")


def _points(**changes: Any) -> dx.Problem:
    space = dx.grid((3, 3))
    problem = dx.Problem(space, epsilon=0.8, prior=dx.Prior.from_weights(space, range(1, 10)), name="points")
    return problem.but(**changes)


def _one_way() -> dx.Problem:
    distances = [[0, 1, 0.5, 1.5], [2, 0, 2, 1], [math.inf, math.inf, 0, 1], [math.inf, math.inf, 1.5, 0]]
    space = dx.MetricSpace.from_distances(distances)
    return dx.Problem(space, epsilon=0.7, prior=dx.Prior.from_weights(space, [1, 2, 3, 4]), loss="binary")


KINDS = {
    "program": _points,
    "squared": lambda: _points(loss="squared"),
    "delta": lambda: _points(delta=0.05),
    "worst": lambda: _points(objective="worst_loss"),
    "adversary": lambda: _points(objective=dx.AdversaryError(0.89, "binary")),
    "one way": _one_way,
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("results")
    saved = {}
    for kind, make in KINDS.items():
        report = dx.solve(make())
        if kind != "one way":
            report = replace(
                report, evaluation={name: MEASURES[name](report.mechanism, report.problem) for name in MEASURED}
            )
        saved[kind] = report.save(base / kind)
        assert not judged(saved[kind])[0]
        assert verify(saved[kind]).outcome is Outcome.HOLDS
    return saved


@pytest.mark.parametrize("kind", few(KINDS, 1))
def test_single_numbers(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng([SEED, list(KINDS).index(kind)])
    folder = tmp_path / "out"
    slots = slots_of(results[kind])
    rejected = 0
    tried = 0
    for turn in range(max(20, len(slots))):
        shutil.copytree(results[kind], folder, dirs_exist_ok=True)
        where = corrupt(folder, *slots[turn % len(slots)], rng)
        false, doubtful = judged(folder)
        verdict = verify(folder)
        failing = {check.name: check.detail for check in verdict.checks if check.status is Outcome.FAILS}
        assert verdict.of("digests").status is Outcome.HOLDS
        tried += 1
        if false:
            rejected += 1
            assert false & set(failing), f"{where}: {sorted(false)} are false, but\n{verdict}"
            assert all(failing.values())
        elif not doubtful:
            assert not failing, f"{where}: nothing is false, but\n{verdict}"
    assert rejected > tried / 2


@pytest.mark.parametrize("kind", KINDS)
def test_single_bytes(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng([SEED, 99, list(KINDS).index(kind)])
    folder = tmp_path / "out"
    names = sorted(path.name for path in results[kind].iterdir())
    for turn in range(20):
        shutil.copytree(results[kind], folder, dirs_exist_ok=True)
        name = names[turn % len(names)]
        content = bytearray((folder / name).read_bytes())
        content[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
        (folder / name).write_bytes(bytes(content))
        verdict = verify(folder)
        assert verdict.of("digests").status is Outcome.FAILS
        try:
            false, _ = judged(folder)
        except Exception:
            continue
        if false:
            assert any(check.status is Outcome.FAILS for check in verdict.checks if check.name != "digests"), name


def test_every_byte_of_the_digests_counts(results: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(results["program"], tmp_path / "out"))
    content = (folder / "digests.json").read_bytes()
    for position in range(0, len(content), 7):
        changed = bytearray(content)
        changed[position] = ord("\t") if changed[position] == ord(" ") else ord(" ")
        (folder / "digests.json").write_bytes(bytes(changed))
        assert verify(folder).of("digests").status is Outcome.FAILS, position
