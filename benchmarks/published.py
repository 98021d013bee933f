"""Losses that papers print for crossings of Rome, beside ours for crossings alike: a table and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results import OURS, Cell
from benchmarks.table import markdown
from dxopt.results.figures.plots import COLOURS, blank, save, style

FAMILY = "streets"
ROME = (500, 1_000, 2_000, 3_000, 4_000, 5_000)
"""Crossings, of which 100 are reports, ε = 5 per km: Liu and Qiu, CCS 2025, the tables of Rome."""
PUBLISHED = {
    "plain-exponential": ("exponential", (1145, 1214, 1300, 1302, 1299, 1216)),
    "classic-exponential": ("exponential + remap", (996, 1078, 1147, 1166, 1181, 1097)),
    OURS: ("PAnDA-e (theirs), dxopt (ours)", (319, 275, 316, 307, 270, 184)),
}
"""Metres by the candidate of ours that stands beside them, under the name of the mechanism."""
HEADER = ("n", "exponential, theirs", "ours", "+ remap, theirs", "ours", "PAnDA-e, theirs", "dxopt", "bound")


def of_streets(found: Sequence[Cell]) -> dict[tuple[str, int], Cell]:
    """Return the runs that stand beside published ones, by candidate and crossings."""
    return {
        (cell.candidate, cell.points): cell
        for cell in found
        if cell.family == FAMILY
        and cell.candidate in PUBLISHED
        and cell.points in ROME
        and cell.last.value is not None
    }


def beside(found: Sequence[Cell]) -> str:
    """Return the table: metres of loss by crossings, theirs and ours."""
    ours = of_streets(found)
    rows = []
    for size in ROME:
        row = [f"{size:,}"]
        for candidate, (_, metres) in PUBLISHED.items():
            cell = ours.get((candidate, size))
            row += [f"{metres[ROME.index(size)]:,}", "" if cell is None else f"{cell.last.value:,.0f}"]
        cell = ours.get((OURS, size))
        row.append("" if cell is None or cell.last.bound is None else f"{cell.last.bound:,.0f}")
        rows.append(row)
    return markdown(HEADER, rows)


def plot(found: Sequence[Cell], folder: Path, name: str) -> list[Path]:
    """Draw the table, theirs dashed and ours solid; the files written."""
    ours = of_streets(found)
    with style():
        figure = blank(7.2, 4.6)
        axes = figure.add_subplot(xscale="log", yscale="log")
        for colour, (candidate, (title, metres)) in enumerate(PUBLISHED.items()):
            painted = "#000000" if candidate == OURS else COLOURS[colour]
            axes.plot(ROME, metres, linestyle="dashed", marker="s", markersize=4, color=painted)
            sizes = [size for size in ROME if (candidate, size) in ours]
            values = [ours[candidate, size].last.value or 0.0 for size in sizes]
            axes.plot(sizes, values, marker="o", markersize=5, color=painted, label=title)
        for size in ROME:
            if (cell := ours.get((OURS, size))) is not None and cell.last.bound is not None:
                axes.plot(size, cell.last.bound, marker="_", markersize=14, color="#000000")
        axes.set_xticks(ROME, [f"{size:,}" for size in ROME])
        axes.set_xticks([], minor=True)
        axes.set_yticks(shown := (100, 200, 500, 1_000, 2_000), [f"{metres:,}" for metres in shown])
        axes.set_yticks([], minor=True)
        axes.set(
            title="Rome (dashed, as published) and crossings alike (solid)",
            xlabel="crossings",
            ylabel="metres of loss",
        )
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return save(figure, folder, name)
