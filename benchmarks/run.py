"""Runs candidates on instances, in turn, each run in a fresh process; keeps every run as a line of JSON."""

from __future__ import annotations

import json
import math
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event, Thread
from typing import Any, TextIO

import numpy as np

from benchmarks.contract import CANDIDATES, INSTANCES, answers
from benchmarks.once import ANSWERING, SCORING, Outcome
from benchmarks.results import EVERYONE, OURS, Run
from benchmarks.usage import children, held, spare

ROOT = Path(__file__).parent.parent
SLOW = 2.0
AROUND = 3600.0
"""Seconds for the warm-up, and for scoring; neither is timed."""

DIED = "its process ended"
LATE = ", as it took too long"
WATCHED = 0.25
"""Seconds between two looks at the memory of a run."""
SPARE = 0.95
"""The part of the memory to be had at its beginning that a run may take; one that takes more is ended."""
OVERTIME = 1.25
"""Who stops by itself at a limit is ended after so many limits, and half a minute."""
PACKAGES = ("numpy", "scipy", "numba", "clarabel", "highspy", "highspy-extras", "cvxpy", "qif")


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
        done = replace(done, load=os.getloadavg()[0])
        runs.append(done)
        tell(f"    {done.outcome.summary}")
        line = {"started": started, **done.flat(), **machine}
        print(json.dumps(line), file=output, flush=True)

    try:
        for name in _by_size(instances):
            instance, known = INSTANCES.get(name), -math.inf
            allowed = instance.limit if limit is None else limit
            tolerance = getattr(instance, "tolerance", None)
            missing = instance.missing()
            if missing is not None:
                tell(name)
                keep(Run(name, instance.family, EVERYONE, "peer", 1, Outcome(skipped=missing), allowed, tolerance))
                continue
            waiting = sorted((c for c in candidates if answers(c, name)), key=lambda c: (c != OURS, c))
            for turn in range(1, repeat + 1):
                for candidate in tuple(waiting):
                    tell(f"{name}: {candidate}, run {turn} of at most {repeat}")
                    role, before = CANDIDATES.get(candidate).role, late.get((candidate, instance.family))
                    if role != OURS and before is not None and before[0] < instance.size:
                        outcome = Outcome(skipped=f"gave up already on {before[1]}")
                    else:
                        outcome = apart(name, candidate, allowed, known)
                    keep(Run(name, instance.family, candidate, role, turn, outcome, allowed, tolerance))
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
    """One run in a process of its own; one that takes too long, or too much memory, or dies, is a failure."""
    command = [sys.executable, "-m", "benchmarks.once", instance, candidate, repr(known), repr(limit)]
    most = limit * OVERTIME + 30 if CANDIDATES.get(candidate).stops else limit
    memory = SPARE * spare()
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            first, ended, _ = _line(process, AROUND, memory)
            if not first.startswith(ANSWERING):
                return _last(process, first, f"while it warmed up{ended}")
            _, points, epsilon = first.split()
            asked = Outcome(int(points), float(epsilon))
            second, ended, peak = _line(process, most, memory)
            if ended == LATE:
                failure = f"no answer within {limit:g} s"
                return replace(asked, failure=failure, late=True, spent=limit, memory=peak)
            if second.strip() != SCORING:
                return replace(_last(process, second, f"while it answered{ended}", asked), memory=peak)
            third, ended, _ = _line(process, AROUND, memory)
            return _last(process, third, f"while it was scored{ended}", asked)
        finally:
            end(process)


def _line(process: subprocess.Popen[str], seconds: float, memory: float) -> tuple[str, str, float]:
    """Return the next line of a process; why it was ended, or nothing; and the most memory that it was seen to hold.

    Parameters
    ----------
    memory : float
        Megabytes that it and its helpers may hold.
    """
    done, why, peak = Event(), "", 0.0

    def watch() -> None:
        nonlocal why, peak
        until = time.monotonic() + seconds
        while not done.wait(max(min(WATCHED, until - time.monotonic()), 0.0)):
            peak = max(peak, held(process.pid))
            if time.monotonic() >= until:
                why = LATE
            elif held(process.pid) > memory:
                why = f", as it held more than the {memory / 1e3:.1f} GB that were left"
            if why:
                end(process)
                return

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        line = process.stdout.readline() if process.stdout else ""
    finally:
        done.set()
        watcher.join()
    return line, "" if line else why, peak


def _last(process: subprocess.Popen[str], line: str, when: str, asked: Outcome | None = None) -> Outcome:
    if line:
        return Outcome(**json.loads(line))
    code = process.wait()
    killed = ", out of memory or time perhaps" if code == -signal.SIGKILL and "," not in when else ""
    return replace(asked or Outcome(), failure=f"{DIED} with {code} {when}{killed}")


def end(process: subprocess.Popen[str]) -> None:
    """Kill a run and its helper processes."""
    if process.poll() is None:
        for helper in children(process.pid):
            with suppress(ProcessLookupError):
                os.kill(helper, signal.SIGKILL)
        process.kill()


def facts() -> dict[str, Any]:
    """Return the facts about this machine that times depend on."""
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
