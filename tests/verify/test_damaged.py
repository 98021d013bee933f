"""Every array and every entry of every file damaged: a check fails, nothing is raised, others are verified.

What the reader of results refuses is refused by the verifier as well.
"""

from __future__ import annotations

import io
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.verify import Verdicts, verify_all
from tests.material.forged_kinds import KINDS, compared
from tests.verify.changes import entries, with_entry, without_entry
from tests.verify.forging import loaded, redigest

SOME = ("regular", "kernel elsewhere", "product of parts", "measured", "beliefs", "cells", "level", "frontier")
EVERY = 61
"""One damage of so many; `full` has all."""
UNREAD = ("input.json", "summary.json", "digests.json")
Damage = tuple[str, str, str, Callable[[], bytes]]


def _arrays(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    yield from (("text", array.astype(str)), ("an axis more", array[None]), ("complex", np.full(array.shape, 1j)))
    yield from (("NaN", np.full(array.shape, np.nan)), ("infinite", np.full(array.shape, -np.inf)))
    yield "empty", array.reshape(-1)[:0]
    if array.dtype.kind == "f":
        yield "halves", array + 0.5


def _damages(folder: Path) -> Iterator[Damage]:
    for file in sorted(path for path in folder.rglob("*") if path.suffix in (".npz", ".json")):
        name = str(file.relative_to(folder))
        if file.name in UNREAD:
            continue
        if file.suffix == ".npz":
            with np.load(file) as stored:
                arrays = dict(stored)
            for key, array in arrays.items():
                for change, other in _arrays(array):
                    if (other.dtype.kind, other.tolist()) == (array.dtype.kind, array.tolist()):
                        continue
                    yield name, key, change, partial(_packed, {**arrays, key: other})
                rest = {one: kept for one, kept in arrays.items() if one != key}
                yield name, key, "missing", partial(_packed, rest)
        else:
            content = json.loads(file.read_text(encoding="utf-8"))
            for keys, value in entries(content):
                path = ".".join(map(str, keys))
                for other in (None, 0, 3, 1.5, True, "x", [], {}, [[]], -1e308, math.nan):
                    if type(other) is not type(value) or keys[-1] == "format":
                        changed = with_entry(content, keys, other)
                        yield name, path, repr(other), partial(_written, changed)
                yield name, path, "missing", partial(_written, without_entry(content, keys))


def _written(content: Any) -> bytes:
    return json.dumps(content).encode()


def _packed(arrays: dict[str, np.ndarray]) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # pyright: ignore[reportArgumentType]
    return stream.getvalue()


HARMLESS = (
    r"(.*/)?notes\.json: (?!format).*",  # nobody verifies it
    r"(.*/)?claims\.json: (rests_on.*|found\.spanner, .*|evaluation\..*, missing|tolerance, 0)",
    r"(.*/)?claims\.json: (certificate\.(delta|bound), 0|(evaluation|beliefs), .*|beliefs\.\d+, missing|status, .*)",
    r"claims\.json: evaluation\.(smallest_delta|delta of one record), 0",  # it is that up to rounding
    r"(.*/)?mechanism\.npz: (\d+/)+epsilon, halves",  # factors whose levels are less
    r"(.*/)?dual\.npz: (\d+/)*(prices|multiplier|report|first|second), .*",  # not needed for its bound
    r"(.*/)?comparison\.npz: \d+/remap/weights, halves",  # others that prove the same
    r"(.*/)?mechanism\.npz: (\d+/)?space\.points, halves",  # all are moved alike
    r"(adversary|exponential): problem\.npz: (epsilon|max_loss), halves",  # weaker: nothing better follows
    r"budgets: frontier\.json: (resolution, [03]|prices\.\d, 0)",  # nothing rises
    r"(.*/)?comparison\.json: (refinements\.\d+, missing|rows\.0, missing|verdict, None|interrupted, .*)",
    r"(.*/)?comparison\.json: (refinements, \[\]|refinements\.\d+\.shortfall, 0)",
)


def _unexplained(kind: str, base: Path, every: int) -> list[str]:
    """Damages that the verifier takes without a reason, of one of `every`, others by kind."""
    honest = KINDS[kind](base / "honest")
    folder = Path(shutil.copytree(honest, base / "damaged"))
    found = []
    for name, path, change, content in islice(_damages(honest), list(KINDS).index(kind) % every, None, every):
        before = (folder / name).read_bytes()
        (folder / name).write_bytes(content())
        redigest(folder)
        told = f"{name}: {path}, {change}"
        harmless = any(re.fullmatch(reason, text) for reason in HARMLESS for text in (told, f"{kind}: {told}"))
        refused = (folder / "claims.json").is_file() and not loaded(folder)
        if verify_all(folder).exit_code != 1 and not harmless:
            found.append(told + ", which no reader takes" * refused)
        (folder / name).write_bytes(before)
    return found


@pytest.mark.parametrize("kind", SOME)
def test_whatever_is_damaged_fails(kind: str, tmp_path: Path) -> None:
    assert _unexplained(kind, tmp_path, EVERY) == []


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_damaged_fails_in_full(kind: str, tmp_path: Path) -> None:
    assert _unexplained(kind, tmp_path, 3) == []


@pytest.mark.parametrize("prior", [np.full(4, np.nan), np.ones((1, 4)) / 4, np.full(4, "x"), np.full(4, 1j), None])
def test_other_results_are_verified(prior: np.ndarray | None, tmp_path: Path) -> None:
    report = dx.solve(dx.Problem(dx.line(4), epsilon=0.8, prior="uniform"))
    for name in ("bad", "good"):
        report.save(tmp_path / name)
    with np.load(tmp_path / "bad/problem.npz") as stored:
        arrays = {key: array for key, array in stored.items() if key != "prior"}
    np.savez(tmp_path / "bad/problem.npz", **arrays, **({} if prior is None else {"prior": prior}))  # pyright: ignore[reportArgumentType]
    redigest(tmp_path / "bad")
    found = verify_all(tmp_path)
    assert isinstance(found, Verdicts)
    assert [verdict.exit_code for verdict in found.results] == [1, 0]


@pytest.mark.parametrize("shortfall", [1e-7, 1.0, 1e308])
def test_a_refinement_is_up_to_rounding(shortfall: float, tmp_path: Path) -> None:
    """A shortfall of more than 1e-8 is none, though it is at most that."""
    space = dx.line(4)
    asked = dx.Problem(space, epsilon=0.8, prior=[0.4, 0.3, 0.2, 0.1], name="line")
    folder = compared(asked, ["geometric", "cloaking"]).save(tmp_path / "out")
    file = folder / "parts/comparison/comparison.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    some = [entry for entry in content["refinements"] if entry["holds"]]
    assert some
    some[0]["shortfall"] = shortfall
    file.write_text(json.dumps(content), encoding="utf-8")
    redigest(folder)
    assert verify_all(folder).exit_code == 1
