"""The runs as Markdown: every candidate on every instance, dxopt beside the best of the others, and growth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.contract import Role
from benchmarks.growth import growths
from benchmarks.results import OURS, Cell, Run, cells

RUNS = (
    "instance",
    "points",
    "candidate",
    "seconds",
    "ratio",
    "CPU s",
    "runs",
    "private",
    "gap",
    "value",
    "MB",
    "why not",
)
BESIDE = ("instance", "points", "dxopt", "best route", "seconds", "within", "best peer", "seconds", "ratio", "within")
GROWTH = ("family", "candidate", "exponent", "sizes", "points")
FACTOR, PLUS = 1.2, 0.05
"""dxopt's own choice is within reach of another if it takes at most 1.2 times its seconds plus 50 ms."""


def document(runs: Sequence[Run]) -> str:
    """All tables, each under a heading."""
    found = cells(runs)
    parts = [
        ("Runs", RUNS, [_row(cell, _of(found, cell.instance, OURS)) for cell in found]),
        ("dxopt beside the best", BESIDE, list(_beside(found))),
        (
            "Growth of time with the number of points",
            GROWTH,
            [
                [g.family, g.candidate, f"{g.exponent:.2f}", str(len(g.sizes)), f"{g.sizes[0]:,} to {g.sizes[-1]:,}"]
                for g in growths(found)
            ],
        ),
    ]
    return "\n\n".join(f"## {title}\n\n{markdown(header, rows)}" for title, header, rows in parts if rows)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return an aligned table."""
    grid = [list(header), *(list(row) for row in rows)]
    widths = [max(3, *(len(row[i]) for row in grid)) for i in range(len(header))]
    grid.insert(1, ["-" * width for width in widths])
    lines = (" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in grid)
    return "\n".join(f"| {line} |" for line in lines)


def _of(found: Iterable[Cell], instance: str, candidate: str) -> Cell | None:
    return next((cell for cell in found if (cell.instance, cell.candidate) == (instance, candidate)), None)


def _row(cell: Cell, ours: Cell | None) -> list[str]:
    outcome = cell.last
    counted = cell.seconds is not None
    return [
        cell.instance,
        _points(cell),
        cell.candidate,
        _seconds(cell),
        _ratio(cell, ours),
        f"{cell.cpu:.4f}" if counted else "",
        str(cell.runs) if counted else "",
        outcome.private,
        "" if outcome.gap is None else f"{outcome.gap:.1e}",
        "" if outcome.value is None else f"{outcome.value:.9g}",
        f"{cell.memory:,.0f}" if counted else "",
        outcome.why_not,
    ]


def _points(cell: Cell) -> str:
    return "" if cell.points is None else f"{cell.points:,}"


def _seconds(cell: Cell) -> str:
    if cell.seconds is not None:
        return f"{cell.seconds:.4f}"
    return f"> {cell.last.spent:g}" if cell.last.late else ""


def _ratio(cell: Cell, ours: Cell | None) -> str:
    """Divide by dxopt's seconds: a lower bound for late candidates, in brackets for failed ones."""
    if ours is None or ours.seconds is None or cell.spent is None:
        return ""
    ratio = f"{cell.spent / ours.seconds:.3g}"
    if cell.last.late:
        return f"> {ratio}"
    return ratio if cell.seconds is not None else f"({ratio})"


def _beside(found: Sequence[Cell]) -> Iterable[list[str]]:
    for ours in found:
        if ours.candidate != OURS:
            continue
        route, peer = (_best(found, ours.instance, role) for role in ("route", "peer"))
        if route is None and peer is None:
            continue
        yield [
            ours.instance,
            _points(ours),
            _seconds(ours) or "failed",
            *_named(route),
            _within(ours, route),
            *_named(peer),
            "" if peer is None else _ratio(peer, ours),
            _within(ours, peer),
        ]


def _best(found: Iterable[Cell], instance: str, role: Role) -> Cell | None:
    """Return the fastest of those that count; where none does, one that was too late."""
    able = [c for c in found if (c.instance, c.role) == (instance, role) and (c.seconds is not None or c.last.late)]
    return min(able, key=lambda cell: (cell.seconds is None, cell.spent or 0.0), default=None)


def _named(cell: Cell | None) -> tuple[str, str]:
    return ("none", "") if cell is None else (cell.candidate, _seconds(cell))


def _within(ours: Cell, other: Cell | None) -> str:
    if other is None:
        return ""
    if ours.seconds is None:
        return "no" if other.seconds is not None else ""
    return "yes" if ours.seconds <= FACTOR * (other.spent or 0.0) + PLUS else "no"
