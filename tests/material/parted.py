"""Levels, frontiers and sweeps to be proven again, and ways to change their folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dxopt as dx
from dxopt.results.folder import write_digests
from dxopt.verify import Outcome, Verdict


def points(**changes: Any) -> dx.Problem:
    space = dx.grid((2, 3))
    problem = dx.Problem(space, epsilon=0.8, prior=dx.Prior.from_weights(space, range(1, 7)), name="points")
    return problem.but(**changes)


KINDS: dict[str, Callable[[], Any]] = {
    "level": lambda: dx.smallest_epsilon(points(), 0.5, accuracy=1e-4),
    "worst level": lambda: dx.smallest_epsilon(points(objective="worst_loss", delta=0.01), 0.7, accuracy=1e-3),
    "frontier": lambda: dx.frontier(points(), 0.5, 2.0, resolution=0.3),
    "budgets": lambda: dx.budget_frontier(
        points(objective=dx.AdversaryError(1.0, "binary")), 0.75, 1.2, resolution=0.02
    ),
    "sweep": lambda: dx.sweep(points(), [0.3, 1.0, 2.0], ["exponential", "cloaking"]),
}


def failing(verdict: Verdict) -> dict[str, str]:
    """The checks that fail, and where."""
    return {check.name: check.detail for check in verdict.checks if check.status is Outcome.FAILS}


def redigest(folder: Path) -> None:
    """Write the digests at both depths again."""
    for part in (folder / "parts").iterdir():
        write_digests(part)
    write_digests(folder)


def change(file: Path, **changes: Any) -> None:
    """Change entries of a JSON file."""
    content = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(content | changes), encoding="utf-8")
