"""Curves against epsilon with thresholds, and with values that the paper states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Mark:
    """A vertical line at a level, such as a threshold."""

    level: float
    label: str
    line: Literal["solid", "dashed", "dotted"] = "solid"


@dataclass(frozen=True)
class Reading:
    """A value that the paper states for a level."""

    level: float
    value: float
    label: str


def against_epsilon(
    curves: Sequence[plots.Curve],
    *,
    title: str,
    quantity: str,
    marks: Sequence[Mark] = (),
    readings: Sequence[Reading] = (),
    shaded: tuple[float, float, str] | None = None,
    level: str,
) -> Figure:
    """Return a figure of curves with marks, readings and a shaded range (low, high, label) of levels."""
    with plots.style():
        figure = plots.blank(7.2, 5.4)
        axes = figure.add_subplot()
        if shaded is not None:
            low, high, label = shaded
            axes.axvspan(low, high, color="#888888", alpha=0.15, linewidth=0, label=label)
        for mark in marks:
            axes.axvline(mark.level, color="#666666", linewidth=1.2, linestyle=mark.line, label=mark.label)
        plots.draw(axes, curves)
        for reading, marker in zip(readings, "sD^v", strict=False):
            (drawn,) = axes.plot([reading.level], [reading.value], color="#000000", label=reading.label)
            drawn.set(marker=marker, markerfacecolor="none", linestyle="none")
        axes.set(title=title, xlabel=level, ylabel=quantity)
        plots.name_below(figure, *axes.get_legend_handles_labels())
    return figure
