"""Results with one number changed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dxopt.results.folder import write_digests
from tests.judges.result import contents, packed, read_arrays, read_json

NO_CLAIMS = {"prices", "space.labels", "report_points", "points", "secrets", "version", "pairs", "name", "format"}


SEED = 20261121


def slots_of(folder: Path) -> list[tuple[str, tuple[Any, ...]]]:
    """The numbers that are claims or that claims are about: a file, and a path within it."""
    found: list[tuple[str, tuple[Any, ...]]] = []
    for file in sorted([*folder.glob("*.npz"), *folder.glob("*.dxt")]):
        arrays = contents(file)
        found += [
            (file.name, (key,))
            for key, array in arrays.items()
            if key.rsplit("/")[-1] not in NO_CLAIMS
            and array.dtype.kind in "fiu"
            and array.size
            and key != "space.kind"
        ]
    found += [("claims.json", ("certificate", key)) for key in ("epsilon", "value", "bound", "gap", "delta")]
    report = read_json(folder, "claims")
    for entry in ("evaluation", "beliefs"):
        found += [("claims.json", (entry, *path)) for path in numbers(report[entry])]
    return [*found, ("claims.json", ("tolerance",))]


def moved(value: float, rng: np.random.Generator) -> float:
    """A number at least 1e-6 away, and 1e-6 of itself."""
    step = max(1e-6, 1e-6 * abs(value)) * 10 ** rng.uniform(0.001, 4)
    return value + step if rng.random() < 0.5 else value - step


def corrupt(folder: Path, name: str, path: tuple[Any, ...], rng: np.random.Generator) -> str:
    """Change one number of a file, and write the digests again."""
    file = folder / name
    if name.endswith((".npz", ".dxt")):
        arrays = read_arrays(folder, file.stem)
        key = path[0]
        array = arrays[key].copy()
        finite = np.argwhere(np.isfinite(array))
        index = tuple(finite[rng.integers(len(finite))])
        whole = array.dtype.kind in "iu"
        old = array[index].item()
        one = 1 if rng.random() < 0.5 else -1
        new = old + one if whole else moved(old, rng)
        array[index] = new % (np.iinfo(array.dtype).max + 1) if array.dtype.kind == "u" else new
        arrays[key] = array
        file.write_bytes(packed(arrays, file.suffix))
        path = (*path, *map(int, index))
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


def numbers(content: Any) -> Iterator[tuple[Any, ...]]:
    """The paths of all numbers in JSON."""
    if isinstance(content, dict | list):
        for key, inner in content.items() if isinstance(content, dict) else enumerate(content):
            yield from ((key, *path) for path in numbers(inner))
    elif isinstance(content, float | int) and not isinstance(content, bool):
        yield ()


def _changed(content: Any, rng: np.random.Generator) -> Any:
    """A number changed."""
    return content + 1 if isinstance(content, int) else moved(content, rng)
