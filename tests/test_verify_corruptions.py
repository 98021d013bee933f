"""Random corruptions of result folders, judged by formulas written for the purpose and in exact arithmetic.

Numbers that are claims, or that claims are about: all in problem.npz, the matrix, points of a norm, the table, what
the dual says of multipliers, weights, guesses and price, the certificate, and of report.json and problem.yaml what
the arrays determine. Of comparisons all channels, priors, duals and figures are, and the number in the verdict; of
beliefs the secrets that they are about. Row prices, seconds, and sizes before and after a reduction are none.
"""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from result_judge import judged, read_arrays, read_json

import dxopt as dx
from dxopt.report.measures import MEASURES
from dxopt.report.places import write_digests
from dxopt.verify import Outcome, verify

NO_CLAIMS = {"prices", "labels", "report_labels", "report_points", "secrets", "pairs", "name", "format"}
MEASURED = ("expected_loss", "worst_loss", "utility", "min_entropy_leakage", "adversary_error")
SEED = 20261121


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
    base, saved = tmp_path_factory.mktemp("results"), {}
    for kind, make in KINDS.items():
        report = dx.solve(make())
        if kind != "one way":
            report = replace(report, evaluation={name: MEASURES[name](report) for name in MEASURED})
        saved[kind] = report.save(base / kind)
        assert not judged(saved[kind])[0]
        assert verify(saved[kind]).outcome is Outcome.HOLDS
    return saved


def slots_of(folder: Path) -> list[tuple[str, tuple[Any, ...]]]:
    """The numbers that are claims or that claims are about: a file, and a path within it."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    for file in sorted(folder.glob("*.npz")):
        arrays = read_arrays(folder, file.stem)
        found += [
            (file.name, (key,))
            for key, array in arrays.items()
            if key.rsplit("/")[-1] not in NO_CLAIMS
            and array.dtype.kind in "fiu"
            and array.size
            and key != "space.kind"
        ]
    found += [("certificate.json", (key,)) for key in ("epsilon", "value", "bound", "gap", "delta")]
    told = read_json(folder, "report")
    for entry in ("evaluation", "beliefs", "comparison"):
        found += [("report.json", (entry, *path)) for path in _numbers(told[entry])]
    found += [("report.json", ("tolerance",)), ("problem.yaml", ("epsilon",)), ("problem.yaml", ("delta",))]
    if (shape := told["structure"]["shape"]) != []:
        found += [("report.json", ("structure", "spacing"))]
        found += [("report.json", ("structure", "shape", place)) for place in range(len(shape))]
    return [*found, ("problem.yaml", ("points",))]


def _numbers(content: Any) -> Iterator[tuple[Any, ...]]:
    """The paths of all numbers in JSON, and of the verdict."""
    if isinstance(content, dict | list):
        for key, inner in content.items() if isinstance(content, dict) else enumerate(content):
            yield from ((key, *path) for path in ([()] if key == "verdict" and inner else _numbers(inner)))
    elif isinstance(content, float | int) and not isinstance(content, bool):
        yield ()


def moved(value: float, rng: np.random.Generator) -> float:
    """A number at least 1e-6 away, and 1e-6 of itself."""
    step = max(1e-6, 1e-6 * abs(value)) * 10 ** rng.uniform(0.001, 4)
    return value + step if rng.random() < 0.5 else value - step


def corrupt(folder: Path, name: str, path: tuple[Any, ...], rng: np.random.Generator) -> str:
    """Change one number of a file, and write the digests again."""
    file = folder / name
    if name.endswith(".npz"):
        arrays, key = read_arrays(folder, name.removesuffix(".npz")), path[0]
        array = arrays[key].copy()
        finite = np.argwhere(np.isfinite(array))
        place = tuple(finite[rng.integers(len(finite))])
        whole = array.dtype.kind in "iu"
        old, one = array[place].item(), 1 if rng.random() < 0.5 else -1
        array[place] = (old + one) % 256 if array.dtype == np.uint8 else old + one if whole else moved(old, rng)
        arrays[key] = array
        np.savez_compressed(file, **arrays)
        path = (*path, *map(int, place))
    elif name.endswith(".json"):
        content = read_json(folder, name.removesuffix(".json"))
        *outer, last = path
        part: Any = content
        for key in outer:
            part = part[key]
        part[last] = _changed(part[last], rng)
        file.write_text(json.dumps(content), encoding="utf-8")
    else:
        text = file.read_text(encoding="utf-8")
        old = re.search(rf"\b{path[0]}: (\S+)", text)
        assert old
        new = str(int(old[1]) + 1) if path[0] == "points" else repr(moved(float(old[1]), rng))
        file.write_text(text[: old.start(1)] + new + text[old.end(1) :], encoding="utf-8")
    write_digests(folder)
    return f"{name}: {path}"


def _changed(content: Any, rng: np.random.Generator) -> Any:
    """A number changed, or the one in a text."""
    if isinstance(content, str):
        found = re.search(r"at least (\S+)$|μ is (\S+) at", content)
        assert found
        start, end = found.span(found.lastindex or 0)
        return content[:start] + repr(moved(float(content[start:end]), rng)) + content[end:]
    return content + 1 if isinstance(content, int) else moved(content, rng)


@pytest.mark.parametrize("kind", KINDS)
def test_single_numbers(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    rng, folder = np.random.default_rng([SEED, list(KINDS).index(kind)]), tmp_path / "out"
    slots, rejected, tried = slots_of(results[kind]), 0, 0
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
    rng, folder = np.random.default_rng([SEED, 99, list(KINDS).index(kind)]), tmp_path / "out"
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
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] = ord("\t") if changed[place] == ord(" ") else ord(" ")
        (folder / "digests.json").write_bytes(bytes(changed))
        assert verify(folder).of("digests").status is Outcome.FAILS, place
