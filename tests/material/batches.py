"""Batches started, watched and compared, for the tests of `dxopt.batch`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from dxopt.batch.jobs import problem_files

SMALL = "space: {kind: line, size: 4}\nepsilon: 1.0\n"
FAMILY = "space: {kind: grid, shape: [2, 3]}\nepsilon: [0.5, 1]\nmethod: [optimal, exponential]\n"
LONG = "space: {kind: grid, shape: [20, 20]}\nepsilon: 0.1\nmethod: optimal\nsolver: clarabel\n"


def write(folder: Path, **texts: str) -> list[Path]:
    """Problem files by name."""
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return problem_files([folder])


def told(folder: Path) -> dict[str, Any]:
    """The summary without how long anything took."""
    content = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    for line in content["problems"]:
        del line["seconds"]
    return content


def arrays(folder: Path) -> dict[str, bytes]:
    """Every array of every result, as bytes."""
    found = {}
    for file in sorted(folder.rglob("*.npz")):
        with np.load(file) as content:
            found |= {f"{file.relative_to(folder)} {name}": content[name].tobytes() for name in content}
    return found


def times(folder: Path) -> dict[str, int]:
    return {path.parent.name: path.stat().st_mtime_ns for path in folder.glob("*/claims.json")}


def below(process: int) -> list[int]:
    """The processes that one started, and those that they did."""
    try:
        return [child.pid for child in psutil.Process(process).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


@contextmanager
def once_below(running: subprocess.Popen[Any], count: int) -> Iterator[list[int]]:
    """A context with the processes below one, once there are so many, which takes long where much else runs.

    None of them is left where a test fails.
    """
    found: list[int] = []
    try:
        until = time.monotonic() + 120
        while len(found := below(running.pid)) < count and time.monotonic() < until:
            time.sleep(0.05)
        yield found
    finally:
        running.kill()
        running.communicate()


def alive(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone(processes: list[int], seconds: float = 10.0) -> bool:
    until = time.monotonic() + seconds
    while any(map(alive, processes)) and time.monotonic() < until:
        time.sleep(0.05)
    return not any(map(alive, processes))


def start(folder: Path, *options: str) -> subprocess.Popen[str]:
    """The command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "dxopt.cli", "batch", str(folder), "-o", str(folder / "out"), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )


def until_told(running: subprocess.Popen[str], words: str) -> None:
    assert running.stderr is not None
    for line in running.stderr:
        if words in line:
            return
    raise AssertionError(f"never told {words}")
