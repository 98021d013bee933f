"""What column generation would take for more places on more machines, calculated: python -m benchmarks.model.

From parts that `benchmarks.parts` measured, by the formulas of docs/theory/costs.md. Nothing here runs a solver.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.parts import PARTS, Parts

_DOUBLE = 8.0
_TREES = 13.0
"""Bytes of a tree and its column for each point."""


@dataclass(frozen=True)
class Work:
    """How much there is to do.

    Attributes
    ----------
    places : int
        Secrets, and reports.
    window : int
        Points that a column lives on; all places, where there are no windows.
    rounds : float
    pricings, systems : float
        For each round: pricings of all reports, linear systems of the master.
    columns : float
        In the master for each row.
    later : float
        A pricing of the whole solve in units of one of the first rounds, which the parts are of.
    """

    places: int
    window: int
    rounds: float
    pricings: float
    systems: float
    columns: float
    later: float = 1.0


@dataclass(frozen=True)
class Machines:
    """Who does it.

    Attributes
    ----------
    name : str
    workers : int
        Cores that price reports.
    far : bool
        Whether trees travel to them.
    gram, cholesky : float
        Flops a second that the master's systems are done at.
    """

    name: str
    workers: int
    far: bool
    gram: float
    cholesky: float


@dataclass(frozen=True)
class Cost:
    """What it takes: seconds of pricing, of the link and of the master, and bytes in memory where the master is."""

    pricing: float
    link: float
    master: float
    memory: float

    @property
    def seconds(self) -> float:
        return self.pricing + self.link + self.master


def power(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Fit a and b of y = a x^b by least squares of logarithms; one point alone counts as linear."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    middle = sum(x for x, _ in logs) / len(logs)
    height = sum(y for _, y in logs) / len(logs)
    spread = sum((x - middle) ** 2 for x, _ in logs)
    slope = sum((x - middle) * (y - height) for x, y in logs) / spread if spread else 1.0
    return math.exp(height - slope * middle), slope


def cost(parts: Sequence[Parts], work: Work, machines: Machines, link: float, delay: float) -> Cost:
    """Return the cost of some work on some machines.

    Parameters
    ----------
    parts : sequence of Parts
        Measured.
    work : Work
    machines : Machines
    link : float
        Bytes a second between the workers and the master.
    delay : float
        Seconds of each pricing until all workers have begun and answered.
    """
    # 1. pricing: each report on its own, the first time from a star
    a, b = power([(one.places, one.price) for one in parts])
    first, grown = power([(one.places, one.first) for one in parts])
    count = max(work.rounds * work.pricings, 1.0)
    each = first * work.window**grown + (count - 1) * work.later * a * work.window**b
    pricing = work.places * each / machines.workers

    # 2. the link: trees there and back
    largest = parts[-1]
    bytes_of_point = (largest.sent + largest.returned) / largest.places
    travelling = work.places * work.window * bytes_of_point / link + delay
    carried = count * travelling if machines.far else 0.0

    # 3. the master: a product of its columns, and a factor that is dense
    gram = work.columns * work.places * work.window**2 / machines.gram
    cholesky = work.places**3 / 3 / machines.cholesky
    master = work.rounds * work.systems * (gram + cholesky)

    # 4. memory: costs, factors, trees and columns on windows, and the system
    cells = work.places * work.window
    memory = cells * (2 * _DOUBLE + _TREES + work.columns * _DOUBLE) + work.places**2 * _DOUBLE
    return Cost(pricing, carried, master, memory)


def machines(parts: Sequence[Parts], workers: int, gpu: float) -> Iterator[Machines]:
    """One core; some workers that price; workers that have the master's tiles as well; and a graphics processor."""
    largest = parts[-1]
    yield Machines("1 core", 1, False, largest.gram, largest.cholesky)
    yield Machines(f"{workers} workers price", workers, True, largest.gram, largest.cholesky)
    yield Machines(f"{workers} workers, tiles too", workers, True, workers * largest.gram, workers * largest.cholesky)
    yield Machines("1 core, master on a GPU", 1, False, gpu, gpu)
    yield Machines(f"{workers} workers, master on a GPU", workers, True, gpu, gpu)


def table(rows: Sequence[tuple[Work, Machines, Cost]]) -> str:
    """Return the costs in Markdown."""
    lines = [
        "| places | window | machines | pricing | link | master | in all | memory |",
        "|---:|---:|---|---:|---:|---:|---:|---:|",
    ]
    for work, who, found in rows:
        window = "all" if work.window == work.places else f"{work.window:,}"
        times = (found.pricing, found.link, found.master, found.seconds)
        told = " | ".join(map(duration, times))
        lines.append(f"| {work.places:,} | {window} | {who.name} | {told} | {found.memory / 1e9:,.0f} GB |")
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Seconds as people say them, with two digits."""
    for unit, length in (("years", 365.25 * 86400), ("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{_two_digits(seconds / length)} {unit}"
    return f"{_two_digits(seconds)} s"


def _two_digits(number: float) -> str:
    if number < 1e-3:
        return "0"
    return f"{float(f'{number:.2g}'):,g}"


def main(
    parts: Annotated[Path, typer.Option(help="What `python -m benchmarks.parts` wrote.")] = PARTS,
    places: Annotated[list[int] | None, typer.Option(help="Repeatable; 10000 and 100000 by default.")] = None,
    window: Annotated[
        list[int] | None, typer.Option(help="Points of a column, 0 for all; repeatable; 0 and 500 by default.")
    ] = None,
    rounds: Annotated[float, typer.Option(help="Rounds of a solve.")] = 100.0,
    pricings: Annotated[float, typer.Option(help="Pricings of a round.")] = 3.5,
    systems: Annotated[float, typer.Option(help="Systems of a round.")] = 23.0,
    columns: Annotated[float, typer.Option(help="Columns of a row of the master.")] = 10.0,
    later: Annotated[float, typer.Option(help="A pricing in units of those that were measured.")] = 0.33,
    workers: Annotated[int, typer.Option(min=1, help="Cores of a cluster.")] = 64,
    link: Annotated[float, typer.Option(help="Bytes a second between master and workers.")] = 2e8,
    delay: Annotated[float, typer.Option(help="Seconds that a pricing waits for workers.")] = 0.05,
    gpu: Annotated[float, typer.Option(help="Flops a second of a graphics processor, in doubles.")] = 3e13,
) -> None:
    """Print what a solve would take on paper, in Markdown.

    Rounds, pricings, systems, columns and later are by default about those of whole solves of 250 and 500 places.
    """
    try:
        found = sorted((Parts(**one) for one in json.loads(parts.read_text("utf-8"))), key=lambda one: one.places)
        if not found:
            raise ValueError("none")
    except (OSError, ValueError, TypeError):
        typer.echo(f"parts: {parts} has none; run python -m benchmarks.parts --output {parts}", err=True)
        raise typer.Exit(2) from None
    rows: list[tuple[Work, Machines, Cost]] = []
    for count in places or [10_000, 100_000]:
        for wide in window or [0, 500]:
            work = Work(count, min(wide or count, count), rounds, pricings, systems, columns, later)
            rows += [(work, who, cost(found, work, who, link, delay)) for who in machines(found, workers, gpu)]
    typer.echo(table(rows))


if __name__ == "__main__":
    typer.run(main)
