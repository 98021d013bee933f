"""Panels of curves and bars: losses and leakage of mechanisms beside what is proven."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_BOUND = 6
"""Index of the colour of a bound; the first is that of the optimum, and others take those between in turn."""
_MARKERS = "os^Dv"
_LEAST_SPAN = 0.01
_WIDE = 100.0
"""An axis is logarithmic where its largest number is that many times its smallest."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves of one quantity, which labels the vertical axis, and the bound on all of them, which is dashed.

    Curves at the same position have the same colour and symbol in every panel.
    """

    label: str
    curves: Sequence[plots.Curve]
    bound: plots.Curve | None = None


def panels(title: str, across: str, *several: Panel) -> Figure:
    """Return a figure of one or two panels, one above the other, with one legend below.

    The horizontal axis, and the vertical one of the upper panel, are logarithmic where their numbers range widely.
    """
    above = _with_colours(several[0])
    with plots.style():
        figure = plots.blank(7.2, 5.4 if len(several) == 1 else 7.4)
        ratios = (3, 2)[: len(several)]
        every = figure.subplots(len(several), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        for axes, panel in zip(every, several, strict=True):
            plots.draw(axes, _with_colours(panel))
            axes.set(ylabel=panel.label)
            _widen(axes)
        every[0].set(title=title)
        every[-1].set(xlabel=across)
        if _ranges_widely([curve.levels for curve in above]):
            every[0].set_xscale("log")
            plots.logarithmic(every[-1].xaxis)
        if _ranges_widely([curve.values for curve in above]):
            every[0].set_yscale("log")
            plots.logarithmic(every[0].yaxis)
        plots.name_below(figure, *every[0].get_legend_handles_labels())
    return figure


def _with_colours(panel: Panel) -> list[plots.Curve]:
    """Return the curves of a panel with colours and symbols by position, and the bound last, in its own colour."""
    others = _BOUND - 1
    coloured = []
    for position, curve in enumerate(panel.curves):
        colour = 1 + (position - 1) % others if position else 0
        marker = _MARKERS[max(position - 1, 0) // others % len(_MARKERS)]  # the next one when colours recur
        coloured.append(replace(curve, colour=colour, marker=marker))
    if panel.bound is not None:
        coloured.append(replace(panel.bound, line="dashed", colour=_BOUND))
    return [plots.unjoined(curve) for curve in coloured]


def _widen(axes: Axes) -> None:
    """Let the vertical axis span a hundredth of its largest number at least, so that rounding looks like nothing."""
    low, high = axes.get_ylim()
    span = _LEAST_SPAN * max(abs(low), abs(high))
    if high - low < span:
        middle = (low + high) / 2
        axes.set_ylim(middle - span / 2, middle + span / 2)


def _ranges_widely(arrays: Sequence[ArrayLike]) -> bool:
    """Return True if numbers are positive and of such different size that an axis of them is to be logarithmic."""
    numbers = np.concatenate([np.asarray(array, dtype=float) for array in arrays])
    finite = numbers[np.isfinite(numbers)]
    return len(finite) > 0 and bool(0 < finite.min() <= finite.max() / _WIDE)


_HATCH = "////"
_NAME = 28
"""Longer names take several lines."""
_ROOM = 0.2
"""For the numbers behind bars, as a share of the axis."""
_WIDTHS = (5, 3)
"""Of the panels, relative."""


@dataclass(frozen=True)
class Row:
    """Row of bars: a name and a note below it that they share, and whether all are hatched."""

    name: str
    note: str = ""
    hatched: bool = False


@dataclass(frozen=True)
class Bars:
    """A bar in each row, none where its length is None or infinite; the colour is an index in `plots.COLOURS`."""

    lengths: Sequence[float | None]
    colour: int
    label: str = ""


@dataclass(frozen=True)
class Line:
    """A line across all rows of the first panel."""

    at: float
    label: str
    colour: int
    dashed: bool = False


def bars(
    title: str, rows: Sequence[Row], quantities: Mapping[str, Sequence[Bars]], lines: Sequence[Line] = ()
) -> Figure:
    """Return a figure of one or two panels over the same rows, with lines in the first and one legend below.

    Quantities name the bars that each row has in a panel, one below the other.
    """
    from matplotlib.patches import Rectangle

    with plots.style():
        figure = plots.blank(8.4, 1.8 + 0.48 * max(len(rows), 2))
        panels = figure.subplots(
            1, len(quantities), sharey=True, squeeze=False, width_ratios=_WIDTHS[: len(quantities)]
        )[0]
        first = panels[0]
        for axes, several in zip(panels, quantities.values(), strict=True):
            _draw_bars(axes, rows, several)
        for line in lines:
            style = (0, (4, 4)) if line.dashed else "solid"
            first.axvline(line.at, color=plots.COLOURS[line.colour], linewidth=1.2, linestyle=style, label=line.label)
        names = [textwrap.fill(row.name, _NAME) for row in rows]
        labels = [f"{name}\n{row.note}" if row.note else name for name, row in zip(names, rows, strict=True)]
        first.set_yticks(range(len(rows)), labels)
        first.set(ylim=(max(len(rows), 1) - 0.4, -0.6))
        for axes, quantity in zip(panels, quantities, strict=True):
            axes.set(xlabel=quantity)
            axes.grid(visible=False, axis="y")
            axes.set_axisbelow(True)
            # without any length matplotlib would choose an axis around 0, with negative numbers
            if not any(bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)):
                axes.set_xlim(0.0, 1.0)
        figure.suptitle(title, fontsize=11)
        plots.name_below(figure, *first.get_legend_handles_labels())
    return figure


def _draw_bars(axes: Axes, rows: Sequence[Row], several: Sequence[Bars]) -> None:
    """Draw the bars of a panel: those of one row touch each other and are centred on it."""
    height = 0.6 if len(several) == 1 else 0.72 / len(several)
    hatches = [_HATCH if row.hatched else "" for row in rows]
    axes.margins(x=_ROOM)
    for number, one in enumerate(several):
        shift = (number - (len(several) - 1) / 2) * height
        drawn = axes.barh(
            [position + shift for position in range(len(rows))],
            [length if length is not None and math.isfinite(length) else 0.0 for length in one.lengths],
            height,
            color=plots.COLOURS[one.colour],
            hatch=hatches,
            edgecolor="white",
            linewidth=0,
            label=one.label or None,
        )
        there = [length is not None and math.isfinite(length) for length in one.lengths]
        texts = [f"{length:.3g}" if known else "" for length, known in zip(one.lengths, there, strict=True)]
        axes.bar_label(drawn, texts, padding=2, fontsize=7.5)
