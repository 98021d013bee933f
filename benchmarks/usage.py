"""What a process and its helper processes have used."""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path

_MEGA = 1e6 if sys.platform == "darwin" else 1e3
_PROC = Path("/proc")


@dataclass(frozen=True)
class Usage:
    """Readings of the clocks in seconds, and the largest memory so far in megabytes.

    Helper processes (solvers that dxopt runs apart) are counted where /proc tells of them, that is on Linux; of those
    that have ended the largest.
    """

    wall: float
    cpu: float
    memory: float

    @classmethod
    def now(cls) -> Usage:
        """Return the usage of this process and its living helpers until now."""
        helpers = children(os.getpid())
        return cls(
            time.perf_counter(),
            time.process_time() + sum(map(_cpu, helpers)),
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MEGA
            + max(sum(map(_memory, helpers)), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / _MEGA),
        )


def held(process: int, field: str = "VmRSS") -> float:
    """Return the megabytes that a process and its helpers hold; with "VmHWM" the most that each has held."""
    return sum(_memory(each, field) for each in (process, *children(process)))


def spare() -> float:
    """Return the megabytes that this machine can still hand out; all that it has without /proc."""
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
    except OSError:
        lines = []
    everything = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6
    return next((float(line.split()[1]) / 1e3 for line in lines if line.startswith("MemAvailable:")), everything)


def children(process: int) -> list[int]:
    """Return the living child processes of a process, as far as /proc tells."""
    found: list[int] = []
    for listing in _PROC.glob(f"{process}/task/*/children"):
        try:
            found.extend(map(int, listing.read_text().split()))
        except OSError:
            continue
    return found


def _cpu(process: int) -> float:
    try:
        fields = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(process: int, field: str = "VmHWM") -> float:
    try:
        lines = (_PROC / str(process) / "status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) / 1e3 for line in lines if line.startswith(f"{field}:")), 0.0)
