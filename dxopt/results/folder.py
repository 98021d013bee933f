"""Result folders: where one may go, what it holds, and how it takes the place of an earlier one all at once."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.problem import Problem

REPORT = "report.json"
LEVEL = "level.json"
FRONTIER = "frontier.json"
SWEEP = "sweep.json"
SWEEP_TABLE = "sweep.csv"
COMPARISON = "comparison"
PARTS = "parts"
DESCRIPTION = "problem.yaml"
TABLE = "table.npz"
COMPARED = "compared.npz"
DIGESTS = "digests.json"
PAGE = "report.html"
_PROOF = (REPORT, "certificate.json", "mechanism.npz")
_ARRAYS = ("problem.npz", "dual.npz", TABLE, COMPARED)
_QUESTIONS = (LEVEL, FRONTIER, SWEEP)
_PICTURES = tuple(f"{name}.{ending}" for name in ("frontier", "sweep", COMPARISON) for ending in ("svg", "png"))
_FILES = (DESCRIPTION, *_ARRAYS, *_PROOF, *_QUESTIONS, PARTS, *_PICTURES, SWEEP_TABLE, PAGE, "input.json", DIGESTS)


def place(folder: Path, write: Callable[[Path], object]) -> Path:
    """Let `write` fill a fresh folder, and put it where `folder` is: an earlier result is replaced, other files kept.

    Raises
    ------
    SpecError
        If the folder holds something that is no result, or cannot be written.
    """
    fresh = _beside(folder)
    try:
        write(fresh)
        write_digests(fresh)
        fresh.chmod(0o755)
        if folder.exists():
            shutil.copytree(folder, fresh, ignore=shutil.ignore_patterns(*_FILES), dirs_exist_ok=True)
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
            folder.replace(old / "old")
            fresh.replace(folder)
            shutil.rmtree(old)
        else:
            fresh.replace(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return folder


def require_writable(folder: Path) -> None:
    """Raise SpecError unless a result can be saved to `folder`; to be asked before the work is done."""
    _beside(folder).rmdir()


def _beside(folder: Path) -> Path:
    """A fresh folder next to `folder`, to be moved to its place."""
    if folder.exists() and not is_result(folder) and (not folder.is_dir() or any(folder.iterdir())):
        raise SpecError("output", f"{folder} exists and is no result folder", "name another folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise SpecError("output", f"{folder} cannot be written: {error.strerror}", "name another folder") from None


def is_result(folder: Path) -> bool:
    """Whether a folder holds a result: a report, a level, a frontier or a sweep."""
    return holds_report(folder) or any((folder / name).is_file() for name in _QUESTIONS)


def holds_report(folder: Path) -> bool:
    """Whether a folder holds a report."""
    return all((folder / name).is_file() for name in _PROOF)


def finite(number: float) -> float | None:
    """JSON has no infinity."""
    return number if math.isfinite(number) else None


def numbers(array: NDArray[np.float64]) -> list[float | None]:
    """The same for each entry."""
    return [finite(number) for number in array.tolist()]


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON, indented."""
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_digests(folder: Path) -> None:
    """Write digests.json: `{"format": 1, "sha256": {name: hexadecimal digest}}` for every other file of a folder.

    The names are sorted. It is written last, so that a folder that has it is whole. Of a part, which is a result
    folder itself, only digests.json is listed, as `parts/00/digests.json`.
    """
    files = [path for path in folder.iterdir() if path.is_file() and path.name != DIGESTS]
    names = sorted(str(path.relative_to(folder)) for path in [*files, *folder.glob(f"{PARTS}/*/{DIGESTS}")])
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    write_json(folder / DIGESTS, {"format": 1, "sha256": digests})


def describe(problem: Problem, path: Path, **changes: Any) -> None:
    """Write what a problem is about as YAML, with some entries changed."""
    from ruamel.yaml import YAML

    metric = problem.space.metric.name if problem.space.metric else "given distances"
    described = {
        "name": problem.name,
        "epsilon": finite(problem.epsilon),
        "delta": problem.delta,
        "objective": problem.objective.name,
        "space": {
            "points": len(problem.space),
            "metric": metric,
            "structure": problem.space.structure.kind,
        },
        "prior": problem.prior.name,
        "loss": problem.loss.name,
    }
    with path.open("w", encoding="utf-8") as stream:
        YAML().dump({**described, **changes}, stream)
