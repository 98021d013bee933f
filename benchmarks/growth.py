"""How time grows with the number of points in a family: fitted exponents and plots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.results import Cell
from dxopt.results.figures.plots import COLOURS, blank, logarithmic, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST_SECONDS = 0.05
_LINES = {"dxopt": "solid", "route": "dashed", "peer": "solid", "classic": "dotted"}
_MARKERS = {"dxopt": "o", "route": "s", "peer": "^", "classic": "."}


@dataclass(frozen=True)
class Growth:
    """time ≈ c · points^exponent, fitted by least squares between logarithms, to medians above 50 ms.

    Attributes
    ----------
    sizes : tuple of int
        The numbers of points that it rests on.
    """

    family: str
    candidate: str
    exponent: float
    sizes: tuple[int, ...]


def growths(found: Iterable[Cell]) -> list[Growth]:
    """One for each candidate in each family that has two sizes above 50 ms."""
    together: dict[tuple[str, str], dict[int, float]] = {}
    for cell in found:
        if cell.points and cell.seconds is not None and cell.seconds > LEAST_SECONDS:
            together.setdefault((cell.family, cell.candidate), {})[cell.points] = cell.seconds
    return [
        Growth(*names, exponent(times), tuple(sorted(times))) for names, times in together.items() if len(times) > 1
    ]


def exponent(times: dict[int, float]) -> float:
    """Return the slope of the line through (log points, log seconds)."""
    points, seconds = np.log(np.array([*times.items()], dtype=float)).T
    return float(np.polyfit(points, seconds, 1)[0])


def plots(found: Sequence[Cell], folder: Path) -> list[Path]:
    """Time against points for every candidate, a figure for each family that has two sizes; the files written."""
    written: list[Path] = []
    for family in dict.fromkeys(cell.family for cell in found):
        mine = [cell for cell in found if cell.family == family and cell.points and cell.spent is not None]
        if _sizes(mine, family) > 1:
            with style():
                figure = blank(7.2, 5.4)
                axes = figure.add_subplot(xscale="log", yscale="log")
                for name, colour in _colours(mine).items():
                    _curve(axes, [cell for cell in mine if cell.candidate == name], colour)
                _ticks(axes, sorted({cell.points or 1 for cell in mine}))
                axes.set(title=family, xlabel="points", ylabel="seconds (hollow: no answer within)")
                figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
            written.extend(save(figure, folder, family))
    return written


def panels(found: Sequence[Cell], folder: Path, name: str) -> list[Path]:
    """Return the same for all families that have two sizes, side by side in one figure; the files written."""
    families = [family for family in dict.fromkeys(cell.family for cell in found) if _sizes(found, family) > 1]
    if not families:
        return []
    columns = min(3, len(families))
    lines = -(-len(families) // columns)
    colours, shown = _colours(found), {}
    with style():
        figure = blank(3.5 * columns + 0.4, 2.7 * lines + 0.9)
        for place, family in enumerate(families, start=1):
            axes = figure.add_subplot(lines, columns, place, xscale="log", yscale="log")
            mine = [cell for cell in found if cell.family == family and cell.points and cell.spent is not None]
            for candidate, colour in colours.items():
                _curve(axes, [cell for cell in mine if cell.candidate == candidate], colour)
            _ticks(axes, sorted({cell.points or 1 for cell in mine}))
            below = place + columns > len(families)
            axes.set(
                title=family,
                xlabel="points" if below else "",
                ylabel="seconds" if place % columns == 1 % columns else "",
            )
            shown |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        figure.suptitle("Hollow: nothing that counts within so many seconds", fontsize="medium")
        figure.legend(shown.values(), shown.keys(), loc="outside lower center", ncols=2 * columns)
    return [*save(figure, folder, name)]


def _sizes(found: Iterable[Cell], family: str) -> int:
    """At how many sizes of a family somebody's time counts."""
    return len({cell.points for cell in found if cell.family == family and cell.seconds is not None})


def _colours(found: Iterable[Cell]) -> dict[str, int]:
    """Return a colour for each candidate, none twice among those drawn with the same line."""
    roles = {cell.candidate: cell.role for cell in found}
    names = sorted(roles, key=lambda name: (roles[name] != "dxopt", roles[name], name))
    return {name: [other for other in names if roles[other] == roles[name]].index(name) for name in names}


def _curve(axes: Axes, mine: Sequence[Cell], colour: int) -> None:
    """Draw times that count, joined, and hollow symbols at the limit for late candidates."""
    counted = sorted((cell.points or 1, cell.seconds) for cell in mine if cell.seconds is not None)
    late = [(cell.points or 1, cell.spent or 0.0) for cell in mine if cell.last.late]
    if not counted and not late:
        return
    ours, marker = mine[0].role == "dxopt", _MARKERS[mine[0].role]
    painted = "#000000" if ours else COLOURS[colour % (len(COLOURS) - 1)]
    points, seconds = zip(*counted, strict=True) if counted else ((), ())
    axes.plot(
        points,
        seconds,
        linestyle=_LINES[mine[0].role],
        linewidth=2.2 if ours else 1.2,
        marker=marker,
        markersize=4.5,
        color=painted,
        zorder=3 if ours else 2,
        label=mine[0].candidate,
    )
    for size, limit in late:
        axes.plot(size, limit, linestyle="none", marker=marker, markersize=7, markerfacecolor="none", color=painted)


def _ticks(axes: Axes, sizes: Sequence[int]) -> None:
    """Numbers of points as they are, and of seconds as people write them; those too near to others have no number."""
    logarithmic(axes.yaxis)
    kept: list[int] = []
    for size in sizes:
        if not kept or size > 1.9 * kept[-1]:
            kept.append(size)
    axes.set_xticks(kept, [f"{size:,}" for size in kept])
    axes.set_xticks([], minor=True)
