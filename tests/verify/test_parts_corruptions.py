"""Random corruptions of levels, frontiers and sweeps, and of the parts that prove them, judged independently."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxopt.verify import Outcome, verify
from tests.judges.parts import judged_with_parts, question_of
from tests.material.corrupted import corrupt, slots_of
from tests.material.few import few
from tests.material.parted import KINDS, failing, redigest

SEED = 20261122


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("results")
    return {kind: make().save(base / kind) for kind, make in KINDS.items()}


def claims_of(folder: Path) -> list[tuple[str, tuple[Any, ...]]]:
    """The numbers of what follows from the parts: a file, and a path within it."""
    name = f"{question_of(folder)}.json"
    content = json.loads((folder / name).read_text(encoding="utf-8"))
    found: list[tuple[str, tuple[Any, ...]]] = []
    for key, value in content.items():
        if isinstance(value, list):
            found += [(name, (key, index)) for index in range(len(value))]
        elif isinstance(value, float | int) and key != "format":
            found.append((name, (key,)))
    return found


def corrupt_any(folder: Path, part: str, name: str, path: tuple[Any, ...], rng: np.random.Generator) -> str:
    """Change one number of a result or of a part, and write the digests at both depths again."""
    corrupt(folder / part, name, path, rng)
    redigest(folder)
    return f"{part} {name} {path}"


def assert_judged_alike(folder: Path, where: str) -> bool:
    """Whether something is false; the verifier then fails one of these claims, with a reason, and else none."""
    false, doubtful = judged_with_parts(folder)
    verdict = verify(folder)
    assert verdict.of("digests").status is Outcome.HOLDS
    found = failing(verdict)
    if false:
        assert false & set(found), f"{where}: {sorted(false)} are false, but\n{verdict}"
        assert all(found.values())
    elif not doubtful:
        assert not found, f"{where}: nothing is false, but\n{verdict}"
    return bool(false)


@pytest.mark.parametrize("kind", few(KINDS, 1))
def test_single_numbers(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng([SEED, list(KINDS).index(kind)])
    folder = tmp_path / "out"
    own = claims_of(results[kind])
    parts = sorted((results[kind] / "parts").iterdir())
    rejected = 0
    tried = 0
    for turn in range(24):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(results[kind], folder)
        part = f"parts/{parts[int(rng.integers(len(parts)))].name}" if turn % 2 else "."
        slots = slots_of(folder / part) if turn % 2 else own
        where = corrupt_any(folder, part, *slots[int(rng.integers(len(slots)))], rng)
        tried += 1
        rejected += assert_judged_alike(folder, where)
    assert rejected > tried / 2


@pytest.mark.parametrize("kind", KINDS)
def test_single_bytes(results: dict[str, Path], kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng([SEED, 9, list(KINDS).index(kind)])
    folder = Path(shutil.copytree(results[kind], tmp_path / "out"))
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for file in rng.permutation(np.array(files, dtype=object))[:8]:
        whole = file.read_bytes()
        content = bytearray(whole)
        content[int(rng.integers(len(content)))] ^= int(rng.integers(1, 256))
        file.write_bytes(bytes(content))
        verdict = verify(folder)
        inside = file.relative_to(folder)
        name = f"parts/{inside.parts[1]}" if inside.parts[0] == "parts" else "digests"
        assert inside.name == "digests.json" or inside.name in failing(verdict)[name], inside
        assert failing(verdict)[name]
        file.write_bytes(whole)
    assert verify(folder).outcome is Outcome.HOLDS
