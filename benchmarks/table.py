"""The runs as a table: median seconds of each candidate, and how many times those of dxopt they are."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.run import Run

COLUMNS = (
    "instance",
    "points",
    "candidate",
    "seconds",
    "ratio",
    "CPU s",
    "runs",
    "private",
    "utility",
    "MB",
    "why not",
)
OURS = "dxopt"


def table(runs: Sequence[Run]) -> str:
    """Plain aligned lines, one for each candidate on each instance."""
    grid: list[list[str]] = [list(COLUMNS)]
    for instance, candidate in dict.fromkeys((run.instance, run.candidate) for run in runs):
        grid.append(_cells(runs, instance, candidate))
    widths = [max(len(row[i]) for row in grid) for i in range(len(COLUMNS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in grid
    )


def seconds(runs: Sequence[Run], instance: str, candidate: str) -> float | None:
    """Median of the runs; None where there is none, or one of them failed."""
    times = [run.outcome.seconds for run in runs if (run.instance, run.candidate) == (instance, candidate)]
    counted = [time for time in times if time is not None]
    return median(counted) if counted and len(counted) == len(times) else None


def _cells(runs: Sequence[Run], instance: str, candidate: str) -> list[str]:
    mine = [run.outcome for run in runs if (run.instance, run.candidate) == (instance, candidate)]
    points = next((f"{outcome.points:,}" for outcome in mine if outcome.points is not None), "")
    time, ours = seconds(runs, instance, candidate), seconds(runs, instance, OURS)
    if time is None:
        why = next(outcome.summary for outcome in mine if outcome.seconds is None)
        return [instance, points, candidate, *[""] * (len(COLUMNS) - 4), why]
    return [
        instance,
        points,
        candidate,
        f"{time:.4f}",
        "" if ours is None else f"{time / ours:.3g}",
        f"{median(outcome.cpu or 0.0 for outcome in mine):.4f}",
        str(len(mine)),
        "proven" if all(outcome.proven for outcome in mine) else "not proven",
        f"{mine[0].utility:.8f}",
        f"{max(outcome.memory or 0.0 for outcome in mine):,.0f}",
        "",
    ]
