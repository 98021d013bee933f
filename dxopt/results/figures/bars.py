"""Bar charts: the loss of each mechanism next to what is proven, and its leakage."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCH = "////"
_NAME = 28
"""Longer names take several lines."""


@dataclass(frozen=True)
class Row:
    """What bars are drawn of: a name, a note below it, and whether its bars are hatched."""

    name: str
    note: str = ""
    hatched: bool = False


@dataclass(frozen=True)
class Bars:
    """A bar in each row.

    Attributes
    ----------
    lengths : sequence of float or None
        One for each row; None or infinite draws no bar.
    colour : int
        Index in `plots.COLOURS`.
    label : str
        Name in the legend; blank for none.
    """

    lengths: Sequence[float | None]
    colour: int
    label: str = ""


@dataclass(frozen=True)
class Quantity:
    """A panel: the label of its axis, and the bars that each row has in it, one below the other."""

    label: str
    bars: Sequence[Bars]


@dataclass(frozen=True)
class Line:
    """A line across all rows of the first panel."""

    at: float
    label: str
    colour: int
    dashed: bool = False


def bars(title: str, rows: Sequence[Row], quantities: tuple[Quantity, Quantity], lines: Sequence[Line]) -> Figure:
    """Return a figure of two panels over the same rows, with lines in the first and one legend below."""
    from matplotlib.patches import Rectangle

    with plots.style():
        figure = plots.blank(8.4, 1.8 + 0.48 * max(len(rows), 2))
        panels = figure.subplots(1, 2, sharey=True, width_ratios=(5, 3))
        first = panels[0]
        for axes, quantity in zip(panels, quantities, strict=True):
            _draw(axes, rows, quantity.bars)
        for line in lines:
            style = (0, (4, 4)) if line.dashed else "solid"
            first.axvline(line.at, color=plots.COLOURS[line.colour], linewidth=1.2, linestyle=style, label=line.label)
        first.set_yticks(range(len(rows)), [_label(row) for row in rows])
        first.set(ylim=(max(len(rows), 1) - 0.4, -0.6))
        for axes, quantity in zip(panels, quantities, strict=True):
            axes.set(xlabel=quantity.label)
            axes.grid(visible=False, axis="y")
            axes.set_axisbelow(True)
            if not any(bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)):
                axes.set_xlim(0.0, 1.0)
        figure.suptitle(title, fontsize=11)
        handles, labels = first.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _draw(axes: Axes, rows: Sequence[Row], several: Sequence[Bars]) -> None:
    """Draw the bars of a panel: those of one row touch each other and are centred on it."""
    height = 0.6 if len(several) == 1 else 0.72 / len(several)
    hatches = [_HATCH if row.hatched else "" for row in rows]
    for number, one in enumerate(several):
        shift = (number - (len(several) - 1) / 2) * height
        axes.barh(
            [position + shift for position in range(len(rows))],
            [length if length is not None and math.isfinite(length) else 0.0 for length in one.lengths],
            height,
            color=plots.COLOURS[one.colour],
            hatch=hatches,
            edgecolor="white",
            linewidth=0,
            label=one.label or None,
        )


def _label(row: Row) -> str:
    name = textwrap.fill(row.name, _NAME)
    return f"{name}\n{row.note}" if row.note else name
