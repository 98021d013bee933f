"""The page of scale: for each run how many points, seconds, megabytes, which gap, and whether it was proven."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.contract import INSTANCES
from benchmarks.growth import panels
from benchmarks.instances.cities import absent
from benchmarks.objective.verdict import PROVEN
from benchmarks.published import beside, of_streets, plot
from benchmarks.results import EVERYONE, Cell, Run, cells
from benchmarks.table import markdown
from dxopt.errors import SpecError

BEGIN, END = "<!-- begin: python -m benchmarks --from FILE --page THIS -->", "<!-- end -->"
HEADER = ("n", "ε", "candidate", "seconds", "CPU s", "MB", "rounds", "gap", "goal", "result", "load", "arguments")
LONGEST = 90
"""Characters of a reason; more are cut."""


def publish(runs: Sequence[Run], page: Path) -> list[Path]:
    """Replace what stands between the markers of a page by the tables and a plot; the files written.

    Raises
    ------
    SpecError
        If the page cannot be read, or has no markers.
    """
    before, after = around(page)
    found = cells(runs)
    drawn = panels(found, page.parent, page.stem)
    parts = [_shown("Seconds against points", page.stem)] if drawn else []
    if of_streets(found):
        rome = f"{page.stem}-rome"
        drawn += plot(found, page.parent, rome)
        parts += ["### Beside what papers print", _shown("Metres of loss against crossings", rome), beside(found)]
    text = "\n\n".join([before + BEGIN, *parts, tables(found), END + after])
    page.write_text(text, encoding="utf-8")
    return [page, *drawn]


def _shown(title: str, name: str) -> str:
    """Return a picture that leads to its drawing."""
    return f"[![{title}]({name}.png)]({name}.svg)"


def around(page: Path) -> tuple[str, str]:
    """Split a page before and after its markers.

    Raises
    ------
    SpecError
        If the page cannot be read, or has no markers.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise SpecError("page", str(error), "name a file of Markdown") from None
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SpecError("page", f"{page} has no markers", f"write {BEGIN!r} and {END!r} on lines of their own")
    return before, after


def tables(found: Sequence[Cell]) -> str:
    """Return a table for each family under a heading."""
    parts = []
    for family in dict.fromkeys(cell.family for cell in found):
        mine = [cell for cell in found if cell.family == family and cell.candidate != EVERYONE]
        if mine:
            parts.append(
                f"### {family}\n\n{_about(mine[0])}\n\n{markdown(HEADER, (row(cell, mine) for cell in mine))}"
            )
    return "\n\n".join(parts)


def _about(cell: Cell) -> str:
    about = INSTANCES.get(cell.instance).about if cell.instance in INSTANCES else cell.family
    return f"{about[:1].upper()}{about[1:]}."


def row(cell: Cell, others: Iterable[Cell]) -> list[str]:
    """Return a line of the table; who was not asked has the points and the level from the others."""
    same = [cell, *(other for other in others if other.instance == cell.instance)]
    points = next((other.points for other in same if other.points is not None), None)
    epsilon = next((other.last.epsilon for other in same if other.last.epsilon is not None), None)
    last = cell.last
    return [
        "" if points is None else f"{points:,}",
        "" if epsilon is None else f"{epsilon:.3g}",
        cell.candidate,
        _seconds(cell),
        f"{cell.cpu:.3g}" if cell.cpu else "",
        f"{cell.memory:,.0f}" if cell.memory else "",
        "" if last.rounds is None else str(last.rounds),
        "" if last.gap is None else f"{last.gap:.1e}",
        "" if cell.tolerance is None else f"{cell.tolerance:g}",
        result(cell),
        "" if cell.load is None else f"{cell.load:.1f}",
        f"`{arguments(cell)}`",
    ]


def _seconds(cell: Cell) -> str:
    if cell.last.late:
        return f"> {cell.limit:g}" if cell.limit is not None else f"> {cell.spent:.3g}"
    return "" if cell.spent is None else f"{cell.spent:.3g}"


def result(cell: Cell) -> str:
    """Whether the answer is proven; if not, what there is instead."""
    last = cell.last
    after = "" if last.private in ("", PROVEN) else " after repair"
    if cell.seconds is not None:
        return f"proven{after}"
    if last.gap is not None and math.isfinite(last.gap):
        return f"private{after}, gap too large"
    if last.late:
        return "none in the limit"
    return shortened(f"not asked: {last.skipped}" if last.skipped else last.why_not)


def shortened(reason: str) -> str:
    """Return a reason that fits into a cell."""
    plain = " ".join(reason.replace("|", "/").split())
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"


def arguments(cell: Cell) -> str:
    """Return the arguments of `python -m benchmarks` for this row alone."""
    limit = "" if cell.limit is None else f" --limit {cell.limit:g}"
    asks = cell.instance in INSTANCES and INSTANCES.get(cell.instance).missing is absent
    return f"--instance {cell.instance} --candidate {cell.candidate}{limit}{' --gowalla FILE' if asks else ''}"
