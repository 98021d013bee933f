"""Estimate time, memory and disk of a solve by column generation before it begins."""

from __future__ import annotations

import os
from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.number_syntax import at_most
from dxopt.runtime.progress import duration
from dxopt.spaces.units import with_unit

_SECONDS, _POINTS = 100.0, 1_000
"""Processor seconds to a gap of 1 % for so many points that are the reports as well: docs/benchmarks.md."""
_GROWTH, _SHARE = 3.2, 0.7
"""Powers of the number of points, and of the reports' share of it."""
_MOST_CORES = 1.6
"""Cores that two or more are worth, as parts of a solve have one thread."""
_ON_DISK = 16
"""Bytes for each entry of the mechanism, with its bound."""
LARGE = 10.0
"""Seconds from which on it is told."""
_FAR = 5.0
"""A time limit this many times shorter is too short."""
_ROUGHLY = 5.0
"""The time to 1 % that leaves a rough bound in a time limit, in parts of it."""
_LONGEST = 3600.0
"""Seconds for that without a time limit."""
_FEWEST = 300
"""Rows that a bound is from, at least."""
_MIXING, _SMALL = 5e-10, 0.25
"""Seconds to mix kernels for each triple of points, and the part of a time limit that this may take."""
_LONG, _SHORT = 600.0, 60.0
"""Seconds from which on it is told how few secrets take so many seconds."""


def expected_seconds(points: int, reports: int) -> float:
    """Return about how many seconds pass until the gap is 1 %; off by a factor of three either way."""
    share = reports / points
    work = _SECONDS * (points / _POINTS) ** _GROWTH * (share**_SHARE if share < 1 else share)
    return work / min(_MOST_CORES, os.cpu_count() or 1)


def rows_in_reach(points: int, reports: int, seconds: float | None, *, fits: bool) -> int:
    """Return how many rows to solve in so many seconds, None for any: all of them, or as many as a bound may be from.

    That is where all would take far longer, or do not fit into memory.
    """
    if fits and (seconds is None or expected_seconds(points, reports) <= _FAR * seconds):
        return points
    most = _ROUGHLY * (_LONGEST if seconds is None else seconds)
    count = bisect_right(range(1, points), most, key=lambda rows: expected_seconds(rows, reports))
    return min(points, max(count, _FEWEST))


def is_mixture_in_time(points: int, reports: int, seconds: float | None) -> bool:
    """Tell whether a problem will not be solved in so many seconds, and kernels are mixed in a small part of them."""
    return seconds is not None and points**3 * _MIXING <= _SMALL * seconds < _SMALL * expected_seconds(
        points, reports
    )


def told_before(points: int, reports: int, memory: str) -> str:
    """Return what a large solve comes to: size, time, memory, disk, and whether there will be a table."""
    seconds = expected_seconds(points, reports)
    if seconds < LARGE:
        return f"up to {memory}"
    from dxopt.release.tables.making import MOST_TRIPLES, seconds_to_make

    table = "no table"
    if points**2 * reports <= MOST_TRIPLES:
        table = f"a table afterwards takes {duration(seconds_to_make(points, reports))}"
    size = f"{points:,} secrets, {reports:,} outputs, {points * (points - 1):,} pairs"
    disk = f"{_ON_DISK * points * reports / 1e6:,.0f} MB on disk"
    time = f"about {duration(seconds)} to 1 %"
    return f"{size}: {time}, up to {memory}, {disk}, {table}; a stop returns the best so far, at first a closed form"


def fewer_instead(distances: NDArray[np.float64], reports: int, unit: str) -> str:
    """Return how few secrets take a minute, and how far the others are from these; "" where a solve is not long.

    `distances` `(n, n)` are those of all secrets, in `unit`.
    """
    points = len(distances)
    if expected_seconds(points, reports) < _LONG:
        return ""
    from dxopt.numerics.farthest_first import farthest_first

    few = bisect_right(range(1, points), _SHORT, key=lambda count: expected_seconds(count, min(reports, count)))
    _, _, radius = farthest_first(distances, few, few, 0.0)
    if not np.isfinite(radius):
        return ""
    away = with_unit(at_most(radius), unit)
    some = f"{few:,} of the secrets, as space.thinned({few}) chooses them in Python,"
    return f"; {some} take about a minute, and every other one is within {away} of one of them"
