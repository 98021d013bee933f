"""Runs candidates on instances, in turn, each run in a fresh process; keeps every run as a line of JSON."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from benchmarks.once import Outcome

ROOT = Path(__file__).parent.parent
SLOW = 2.0


@dataclass(frozen=True)
class Run:
    """A run and its outcome."""

    instance: str
    candidate: str
    repeat: int
    outcome: Outcome


def run(
    instances: Sequence[str],
    candidates: Sequence[str],
    *,
    repeat: int,
    limit: float,
    output: TextIO,
    tell: Callable[[str], None],
) -> tuple[list[Run], bool]:
    """Every candidate on every instance, `repeat` times in turn.

    A candidate that refuses, fails, or takes more than 2 seconds is not repeated on that instance.

    Parameters
    ----------
    limit : float
        Seconds for each run, warm-up and scoring included.
    output : text file
        Gets a line of JSON at the end of each run.
    tell : callable
        Gets a line about each run.

    Returns
    -------
    The runs, and whether Ctrl-C ended them early.
    """
    runs, machine = [], facts()
    started = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        for instance in instances:
            waiting = list(candidates)
            for turn in range(1, repeat + 1):
                for candidate in tuple(waiting):
                    tell(f"{instance}: {candidate}, run {turn} of at most {repeat}")
                    outcome = apart(instance, candidate, limit)
                    runs.append(Run(instance, candidate, turn, outcome))
                    tell(f"    {outcome.summary}")
                    line = {"started": started, **_flat(runs[-1]), "load": os.getloadavg()[0], **machine}
                    print(json.dumps(line), file=output, flush=True)
                    if outcome.seconds is None or outcome.seconds > SLOW:
                        waiting.remove(candidate)
    except KeyboardInterrupt:
        return runs, True
    return runs, False


def apart(instance: str, candidate: str, limit: float) -> Outcome:
    """One run in a process of its own; one that takes too long, or dies, is a failure."""
    command = [sys.executable, "-m", "benchmarks.once", instance, candidate]
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return Outcome(failure=f"not done within {limit:g} seconds")
    if done.returncode != 0:
        killed = done.returncode == -signal.SIGKILL
        return Outcome(
            failure=f"its process ended with {done.returncode}" + (", out of memory perhaps" if killed else "")
        )
    return Outcome(**json.loads(done.stdout.splitlines()[-1]))


def facts() -> dict[str, Any]:
    """What the times depend on."""
    build: Any = np.show_config(mode="dicts")
    return {
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "blas": build["Build Dependencies"]["blas"]["name"],
        **{package: version(package) for package in ("numpy", "scipy")},
    }


def _flat(done: Run) -> dict[str, Any]:
    return {"instance": done.instance, "candidate": done.candidate, "repeat": done.repeat, **asdict(done.outcome)}
