"""What a solve that is stopped is worth, by its limit: python -m benchmarks.anytime."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import dxopt as dx
from benchmarks.instances.cities import projected, table, zones
from benchmarks.usage import Usage
from dxopt.mechanisms.classic.base import CLASSICS

LIMITS = (1.0, 2.0, 4.0, 8.0, 16.0)
SHOWN = re.compile(r"^(?:column generation, round \d+|proven): ([-+.e\d]+)")
"""The value in a line of progress, where it has one."""
RISE = 1e-6
"""What counts as no rise of a value, relative to it: the tolerance of the solve."""
HEADER = ("instance", "limit", "value", "bound", "gap", "last shown", "best classic", "seconds", "CPU s")
WIDTHS = (16, 6, 11, 11, 8, 11, 12, 8, 7)


@dataclass(frozen=True)
class Stopped:
    """A solve with a limit.

    Attributes
    ----------
    instance : str
    limit : float
        Seconds.
    value, bound, gap : float
        As proven.
    shown : float
        The last value that progress told before it was proven; infinite where it told none.
    rose : bool
        Whether progress told a value above one that it had told before.
    classic : float
        The least loss of a mechanism of `dx.classic`.
    seconds, cpu : float
        Of the whole call; processor time of all threads suffers less from other work on the machine.
    """

    instance: str
    limit: float
    value: float
    bound: float
    gap: float
    shown: float
    rose: bool
    classic: float
    seconds: float
    cpu: float

    def row(self) -> str:
        """Return a line of the table."""
        cells = (
            self.instance,
            f"{self.limit:g}",
            f"{self.value:.6g}",
            f"{self.bound:.6g}",
            f"{self.gap:.1e}",
            f"{self.shown:.6g}" if np.isfinite(self.shown) else "-",
            f"{self.classic:.6g}",
            f"{self.seconds:.2f}",
            f"{self.cpu:.2f}",
        )
        return "  ".join(cell.rjust(width) for cell, width in zip(cells, WIDTHS, strict=True))

    def faults(self, before: float) -> list[str]:
        """Return the claims that do not hold, given the least value at smaller limits."""
        found = []
        if self.value > self.classic * (1 + 1e-9):
            found.append("worse than a mechanism in closed form")
        if self.value > self.shown * (1 + RISE) or self.rose:
            found.append("worse than progress told")
        if self.value > before * (1 + RISE):
            found.append("worse than with a smaller limit")
        return [f"{self.instance}, limit {self.limit:g} s: {fault}" for fault in found]


def skewed(space: dx.MetricSpace, tail: float = 1.2) -> dx.Prior:
    """Return a prior with few busy places."""
    return dx.Prior.from_weights(space, np.random.default_rng(1).pareto(tail, len(space)) + 0.05)


def euclidean() -> dx.Problem:
    """Return a grid of 12 × 12 with Euclidean distances."""
    space = dx.grid((12, 12))
    return dx.Problem(space, epsilon=0.5, prior=skewed(space), loss="distance")


def manhattan() -> dx.Problem:
    """Return a grid of 20 × 20 with distances along streets, of which no product is made as its prior is none."""
    space = dx.grid((20, 20), metric="manhattan")
    return dx.Problem(space, epsilon=0.5, prior=skewed(space), loss="distance")


def chebyshev() -> dx.Problem:
    """Return a grid of 16 × 16 where a step goes in eight directions."""
    space = dx.grid((16, 16), metric="chebyshev")
    return dx.Problem(space, epsilon=0.4, prior=skewed(space), loss="distance")


def check_ins(file: Path, busiest: int) -> dx.Problem:
    """Return the busiest places of a file of check-ins, ln 4 per kilometre."""
    rows = table(file, "lat", "lon", "checkins")
    space = dx.MetricSpace.from_points(projected(rows[:, :2])[:busiest])
    return dx.Problem(space, epsilon=log(4), prior=dx.Prior.from_weights(space, rows[:busiest, 2]), loss="distance")


def instances(gowalla: Path | None, places: list[int]) -> dict[str, Callable[[], dx.Problem]]:
    """Return the problems by name."""
    found: dict[str, Callable[[], dx.Problem]] = {
        "euclidean-144": euclidean,
        "manhattan-400": manhattan,
        "chebyshev-256": chebyshev,
        "montreal-249": lambda: zones(249),
    }
    if gowalla is not None:
        found |= {f"gowalla-{size}": partial(check_ins, gowalla, size) for size in places}
    return found


def best_classic(problem: dx.Problem) -> float:
    """Return the least loss of all mechanisms in closed form that there are for a problem, as they are."""
    values = []
    for name in CLASSICS:
        try:
            values.append(dx.solve(problem, method=name).certificate.value)
        except dx.SpecError:
            continue
    return min(values)


def stopped(name: str, problem: dx.Problem, limit: float, classic: float) -> Stopped:
    """Solve with a limit."""
    lines: list[str] = []
    before = Usage.now()
    began = time.perf_counter()
    proof = dx.solve(problem, method="optimal", time_limit=limit, progress=lines.append).certificate
    seconds = time.perf_counter() - began
    cpu = Usage.now().cpu - before.cpu
    told = [float(match[1]) for line in lines[:-1] if (match := SHOWN.match(line))]
    rose = any(later > earlier * (1 + RISE) for earlier, later in pairwise(told))
    shown = told[-1] if told else np.inf
    return Stopped(name, limit, proof.value, proof.bound, proof.gap, shown, rose, classic, seconds, cpu)


def main(
    gowalla: Annotated[Path | None, typer.Option(help="A CSV file of check-ins: lat, lon, checkins.")] = None,
    places: Annotated[list[int] | None, typer.Option(help="How many of its places; repeatable.")] = None,
    instance: Annotated[list[str] | None, typer.Option(help="Only these; repeatable.")] = None,
    limit: Annotated[list[float] | None, typer.Option(help="Seconds; repeatable.")] = None,
    classics: Annotated[bool, typer.Option(help="Compare with mechanisms in closed form.")] = True,
) -> None:
    """Solve with growing limits; exit code 1 where an answer is worse than it should be."""
    problems = instances(gowalla, places or [250, 500])
    chosen = instance or list(problems)
    for name in chosen:
        if name not in problems:
            raise typer.BadParameter(f"there is no {name}; choose among {', '.join(problems)}", param_hint="instance")
    dx.solve(zones(25), method="optimal", solver="columns")  # imports and compilation are not timed
    typer.echo("  ".join(title.rjust(width) for title, width in zip(HEADER, WIDTHS, strict=True)))
    faults = []
    for name in chosen:
        problem = problems[name]()
        classic = best_classic(problem) if classics else np.inf
        best = np.inf
        for seconds in sorted(limit or LIMITS):
            found = stopped(name, problem, seconds, classic)
            typer.echo(found.row())
            faults += found.faults(best)
            best = min(best, found.value)
    for fault in faults:
        typer.echo(fault, err=True)
    raise typer.Exit(1 if faults else 0)


if __name__ == "__main__":
    typer.run(main)
