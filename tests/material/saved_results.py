"""The saved results of tests/material/saved: written once, and read by every later version of this format.

python -m tests.material.saved_results      writes them again
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dxopt as dx
from dxopt.results.folder import Result
from dxopt.results.measures import MEASURES

FOLDER = Path(__file__).parent / "saved" / "results"
PLACES = [[45.50, -73.57], [45.51, -73.60], [45.53, -73.55], [45.47, -73.62], [45.52, -73.58]]


def _on(space: dx.MetricSpace, name: str, **changes: Any) -> dx.Problem:
    return dx.Problem(space, **{"epsilon": 1.0, "prior": "uniform", "name": name, **changes})


def _compared() -> dx.Report:
    report = dx.solve(_on(dx.grid((3, 3)), "grid", epsilon=0.8))
    evaluation = {name: MEASURES[name](report.mechanism, report.problem) for name in ("worst_loss", "utility")}
    comparison = dx.compare(report.problem, ["exponential"], reference=report)
    return replace(report, evaluation=evaluation, comparison=comparison)


def _weighted(space: dx.MetricSpace) -> dx.Prior:
    return dx.Prior.from_weights(space, range(1, len(space) + 1), name="weights")


def _places() -> dx.Report:
    space = dx.MetricSpace.from_points(PLACES, "haversine")
    return dx.solve(_on(space, "places", epsilon="ln(4)", prior=_weighted(space)))


def _delta() -> dx.Report:
    space = dx.line(5)
    return dx.solve(_on(space, "delta", delta=0.05, prior=_weighted(space)))


def _budgets() -> Result:
    asked = _on(dx.line(4), "budgets", objective=dx.AdversaryError(0.9))
    return dx.budget_frontier(asked, 0.7, 1.0, resolution=0.3)


RESULTS: dict[str, Callable[[], Result]] = {
    "adversary": lambda: dx.solve(_on(dx.grid((2, 3)), "adversary", objective=dx.AdversaryError(0.75))),
    "budgets": _budgets,
    "delta": _delta,
    "frontier": lambda: dx.frontier(_on(dx.line(4), "frontier"), 0.5, 1.0, resolution=0.4),
    "grid": _compared,
    "level": lambda: dx.smallest_epsilon(_on(dx.line(5), "level"), max_loss=0.6, accuracy=1e-2),
    "line": lambda: dx.solve(_on(dx.line(400), "line", epsilon=0.5)),
    "places": _places,
    "product": lambda: dx.solve(_on(dx.grid((20, 20), metric="manhattan"), "product", epsilon=0.5)),
    "spanner": lambda: dx.solve(_on(dx.grid((3, 4)), "spanner", epsilon=0.8), method="optimal", spanner=1.2),
    "sweep": lambda: dx.sweep(_on(dx.grid((3, 3)), "sweep"), [0.5, 1.0], ["exponential"]),
    "tight": lambda: dx.solve(_on(dx.line(6), "tight", loss="binary"), method="tight"),
    "worst-loss": lambda: dx.solve(_on(dx.grid((2, 3)), "worst-loss", objective="worst_loss")),
}

if __name__ == "__main__":
    for name, make in RESULTS.items():
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        make().save(FOLDER / name)
