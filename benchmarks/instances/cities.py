"""Real places: car-share zones of Montreal, and check-ins of Gowalla in San Francisco."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from functools import cache
from math import log
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from benchmarks.contract import FULL, SCALE_LARGE, SMOKE, TARGETS
from benchmarks.instances.families import full, register, scale
from dxopt.spaces.metrics import EARTH_RADIUS_KM

ZONES = Path(__file__).parents[2] / "problems" / "montreal-carshare.csv"
PLACE = 30
"""Counted from 0; of fewer than 61 places it is the one in the middle."""
GOWALLA = "BENCHMARK_GOWALLA"
"""The environment variable by which the file reaches the processes of the runs."""


@cache
def table(file: Path, *columns: str) -> NDArray[np.float64]:
    """Return some columns of a file of comma-separated values, rows by falling weight, which is the last column.

    Raises
    ------
    SpecError
        If the file cannot be read, lacks a column, or has a cell that is no number.
    """
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = np.array([[float(row[name]) for name in columns] for row in csv.DictReader(lines)])
    except OSError as error:
        raise dx.SpecError("gowalla", str(error), "name a file that can be read") from None
    except (KeyError, ValueError, TypeError) as error:
        raise dx.SpecError(
            "gowalla", f"{file}: {error}", f"give numbers in the columns {', '.join(columns)}"
        ) from None
    return rows[np.argsort(-rows[:, -1], kind="stable")]


def zones(busiest: int) -> dx.Problem:
    """Return the busiest zones of Montreal, every pair, ln 4 within a kilometre, weighted by hours of use."""
    rows = table(ZONES, "lat", "lon", "weight")[:busiest]
    space = dx.MetricSpace.from_points(rows[:, :2], "haversine")
    return dx.Problem(space, epsilon=log(4), prior=dx.Prior.from_weights(space, rows[:, 2], name="hours"))


def check_ins(busiest: int) -> dx.Problem:
    """Return the busiest places of the Gowalla file in the plane, ln 4 within 0.5 km, weighted by check-ins."""
    rows = table(Path(os.environ[GOWALLA]), "lat", "lon", "checkins")
    space = dx.MetricSpace.from_points(projected(rows[:, :2])[:busiest])
    weights = rows[:busiest, 2]
    return dx.Problem(space, epsilon=log(4) / 0.5, prior=dx.Prior.from_weights(space, weights, name="check-ins"))


def at_one_place(share: float, radius: float) -> Callable[[int], dx.Problem]:
    """Return the busiest places with this share of all weight at rank `PLACE`, ln 4 within a radius in km."""

    def build(busiest: int) -> dx.Problem:
        problem = check_ins(busiest)
        weights = problem.prior.probabilities.copy()
        place = min(PLACE, len(weights) // 2)
        weights[place] = 0.0
        weights[place] = share / (1 - share) * weights.sum()
        prior = dx.Prior.from_weights(problem.space, weights, name=f"check-ins, {share:.0%} at place {place}")
        return dx.Problem(problem.space, epsilon=log(4) / radius, prior=prior)

    return build


def projected(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    """Kilometres east and north of the middle of (latitude, longitude) `(n, 2)`, equirectangular, as `(n, 2)`."""
    latitude, longitude = np.radians(degrees - degrees.mean(axis=0)).T
    east = longitude * np.cos(np.radians(degrees[:, 0].mean()))
    return EARTH_RADIUS_KM * np.column_stack([east, latitude])


def absent() -> str | None:
    """Why there are no check-ins, or None."""
    return None if GOWALLA in os.environ else "give --gowalla PATH"


register(
    "montreal",
    "car-share zones of Montreal, every pair, ln 4 per km",
    zones,
    {25: (SMOKE, FULL), **full(60, 120, 249)},
    warm_up=(9, 25),
)
register(
    "gowalla",
    "busiest check-ins in San Francisco, every pair, ln 4 per 0.5 km",
    check_ins,
    {**scale(25, 60, 100, 250, large=(500, 2_000, 9_701)), 1_000: (TARGETS, SCALE_LARGE, FULL)},
    warm_up=(9, 25),
    limits={1_000: 3600.0, 2_000: 3600.0, 9_701: 5400.0},
    tolerances={**dict.fromkeys((250, 500, 1_000, 2_000), 1e-4), 9_701: 1e-2},
    missing=absent,
)
for _family, _radius in (("gowalla-place-30", 0.5), ("gowalla-place-30-km", 1.0)):
    register(
        _family,
        f"busiest check-ins in San Francisco, 37 % of them at place {PLACE}, ln 4 per {_radius:g} km",
        at_one_place(0.37, _radius),
        scale(250, large=(500,)),
        warm_up=(9, 25),
        tolerances=dict.fromkeys((250, 500), 1e-4),
        missing=absent,
    )
