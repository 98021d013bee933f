"""Runs candidates on instances, in turn, each run in a fresh process; keeps every run as a line of JSON."""

from __future__ import annotations

import json
import math
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event, Timer
from typing import Any, TextIO

import numpy as np

from benchmarks.contract import CANDIDATES, INSTANCES, answers
from benchmarks.once import ANSWERING, SCORING, Outcome
from benchmarks.results import EVERYONE, OURS, Run
from benchmarks.usage import children

ROOT = Path(__file__).parent.parent
SLOW = 2.0
AROUND = 1800.0
"""Seconds for the warm-up, and for scoring; neither is timed."""

DIED = "its process ended"
PACKAGES = ("numpy", "scipy", "numba", "clarabel", "highspy", "cvxpy", "qif")


def run(
    instances: Sequence[str],
    candidates: Sequence[str],
    *,
    repeat: int,
    limit: float | None,
    output: TextIO,
    tell: Callable[[str], None],
) -> tuple[list[Run], bool]:
    """Every candidate on every instance it answers, `repeat` times in turn, dxopt first.

    A candidate that refuses, fails, or takes more than 2 seconds is not repeated on that instance. One that is too
    late, or whose process dies, is not asked larger instances of the family, unless it is dxopt. The best bound of
    dxopt's answers is known to the objective from then on.

    Parameters
    ----------
    limit : float or None
        Seconds for each answer; None leaves it to the instance.
    output : text file
        Gets a line of JSON at the end of each run.
    tell : callable
        Gets a line about each run.

    Returns
    -------
    The runs, and whether Ctrl-C ended them early.
    """
    runs: list[Run] = []
    machine, started = facts(), datetime.now(UTC).isoformat(timespec="seconds")
    late: dict[tuple[str, str], tuple[int, str]] = {}

    def keep(done: Run) -> None:
        runs.append(done)
        tell(f"    {done.outcome.summary}")
        line = {"started": started, **done.flat(), "load": os.getloadavg()[0], **machine}
        print(json.dumps(line), file=output, flush=True)

    try:
        for name in _by_size(instances):
            instance, known = INSTANCES.get(name), -math.inf
            missing = instance.missing()
            if missing is not None:
                tell(name)
                keep(Run(name, instance.family, EVERYONE, "peer", 1, Outcome(skipped=missing)))
                continue
            waiting = sorted((c for c in candidates if answers(c, name)), key=lambda c: (c != OURS, c))
            for turn in range(1, repeat + 1):
                for candidate in tuple(waiting):
                    tell(f"{name}: {candidate}, run {turn} of at most {repeat}")
                    role, before = CANDIDATES.get(candidate).role, late.get((candidate, instance.family))
                    if role != OURS and before is not None and before[0] < instance.size:
                        outcome = Outcome(skipped=f"gave up already on {before[1]}")
                    else:
                        outcome = apart(name, candidate, instance.limit if limit is None else limit, known)
                    keep(Run(name, instance.family, candidate, role, turn, outcome))
                    if outcome.late or (outcome.failure or "").startswith(DIED):
                        late.setdefault((candidate, instance.family), (instance.size, name))
                    if role in (OURS, "route") and outcome.bound is not None:
                        known = max(known, outcome.bound)
                    if outcome.seconds is None or outcome.seconds > SLOW:
                        waiting.remove(candidate)
    except KeyboardInterrupt:
        return runs, True
    return runs, False


def _by_size(instances: Sequence[str]) -> list[str]:
    """Families in the order given, each from its smallest instance on."""
    families = list(dict.fromkeys(INSTANCES.get(name).family for name in instances))
    found = {name: INSTANCES.get(name) for name in instances}
    return sorted(found, key=lambda name: (families.index(found[name].family), found[name].size))


def apart(instance: str, candidate: str, limit: float, known: float = -math.inf) -> Outcome:
    """One run in a process of its own; one that takes too long, or dies, is a failure."""
    command = [sys.executable, "-m", "benchmarks.once", instance, candidate, repr(known)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            first, _ = _line(process, AROUND)
            if not first.startswith(ANSWERING):
                return _last(process, first, "while it warmed up")
            points = int(first.split()[1])
            second, ended = _line(process, limit)
            if ended:
                return Outcome(points, failure=f"no answer within {limit:g} s", late=True, spent=limit)
            if second.strip() != SCORING:
                return _last(process, second, "while it answered", points)
            third, ended = _line(process, AROUND)
            return _last(process, third, "while it was scored", points)
        finally:
            end(process)


def _line(process: subprocess.Popen[str], seconds: float) -> tuple[str, bool]:
    """The next line of a process, and whether it was ended for taking too long."""
    late = Event()

    def enough() -> None:
        late.set()
        end(process)

    timer = Timer(seconds, enough)
    timer.start()
    try:
        line = process.stdout.readline() if process.stdout else ""
    finally:
        timer.cancel()
    return line, late.is_set() and not line


def _last(process: subprocess.Popen[str], line: str, when: str, points: int | None = None) -> Outcome:
    if line:
        return Outcome(**json.loads(line))
    code = process.wait()
    killed = ", out of memory or time perhaps" if code == -signal.SIGKILL else ""
    return Outcome(points, failure=f"{DIED} with {code} {when}{killed}")


def end(process: subprocess.Popen[str]) -> None:
    """Kill a run and its helper processes."""
    if process.poll() is None:
        for helper in children(process.pid):
            with suppress(ProcessLookupError):
                os.kill(helper, signal.SIGKILL)
        process.kill()


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
        **{package: _version(package) for package in PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
