"""The traces that are evaluated: walkers from a script, and a real ride."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
KM_PER_DEGREE = 111.195
MINUTES = 5
Trace = NDArray[np.float64]


def walker(
    rng: np.random.Generator, *, steps: int = 120, side: float = 10.0, speed: float = 15.0, pause: float = 90.0
) -> Trace:
    """Yield a random waypoint walker: to a uniform point of a square, in a straight line, then a pause, and so on.

    Parameters
    ----------
    rng : numpy Generator
    steps : int
        Points, one every 5 minutes; 120 are ten hours.
    side : float
        Of the square, in km.
    speed : float
        In km per hour.
    pause : float
        Mean of the exponential length of a pause, in minutes.

    Returns
    -------
    (steps, 2) array, in km.
    """
    here, clock = rng.random(2) * side, 0.0
    times, places = [clock], [here]
    while clock < steps * MINUTES:
        clock += rng.exponential(pause)
        times.append(clock)
        places.append(here)
        there = rng.random(2) * side
        clock += 60 * float(np.hypot(*(there - here))) / speed
        times.append(clock)
        places.append(there)
        here = there
    asked, corners = np.arange(steps) * MINUTES, np.array(places)
    return np.column_stack([np.interp(asked, times, corners[:, axis]) for axis in range(2)])


def walkers(count: int = 10, seed: int = 2013) -> list[Trace]:
    """Several walkers, always the same."""
    rng = np.random.default_rng(seed)
    return [walker(rng) for _ in range(count)]


def ride() -> Trace:
    """Return the cycling workout of `cycling.csv`, every 30 seconds, in km east and north of its start `(147, 2)`."""
    with (HERE / "cycling.csv").open(encoding="utf-8") as file:
        degrees = np.array([(float(row["lat"]), float(row["lon"])) for row in csv.DictReader(file)])
    north, east = (degrees - degrees[0]).T * KM_PER_DEGREE
    return np.column_stack([east * np.cos(np.radians(degrees[0, 0])), north])
