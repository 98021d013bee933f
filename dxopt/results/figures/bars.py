"""A comparison as a figure: the loss of each mechanism beside what is proven, and its leakage."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from dxopt.results.comparison import level
from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dxopt.results.comparison import Compared, Comparison

_VALUE, _REMAPPED, _LEAKAGE = plots.COLOURS[0], plots.COLOURS[5], plots.COLOURS[4]
_OPTIMUM, _BOUND = plots.COLOURS[1], plots.COLOURS[6]
_HATCH = "////"
_NAME = 28
"""Longer names take several lines."""


def draw(comparison: Comparison) -> Figure:
    """A row for each mechanism that exists: its loss, the same with the optimal remap, and its leakage.

    Bars of what is not private are hatched, and the level that they have is below their names. Lines stand at the
    optimum and at the bound on every private mechanism.
    """
    from matplotlib.patches import Rectangle

    rows = [row for row in comparison.rows if row.value is not None]
    with plots.style():
        figure = plots.blank(8.4, 1.8 + 0.48 * max(len(rows), 2))
        loss, leakage = figure.subplots(1, 2, sharey=True, width_ratios=(5, 3))
        remapped = [row.remapped for row in rows]
        if any(value is not None for value in remapped):
            _bars(loss, rows, [row.value for row in rows], _VALUE, 0.36, -0.18, "as it is")
            _bars(loss, rows, remapped, _REMAPPED, 0.36, 0.18, "with the optimal remap")
        else:
            _bars(loss, rows, [row.value for row in rows], _VALUE, 0.6)
        _bars(leakage, rows, [row.leakage for row in rows], _LEAKAGE, 0.6)
        if rows and rows[0].value is not None:
            loss.axvline(rows[0].value, color=_OPTIMUM, linewidth=1.2, label=rows[0].name)
        if comparison.bound is not None and math.isfinite(comparison.bound):
            told = "bound on every private mechanism"
            loss.axvline(comparison.bound, color=_BOUND, linewidth=1.2, linestyle=(0, (4, 4)), label=told)
        loss.set_yticks(range(len(rows)), [_named(row) for row in rows])
        loss.set(xlabel=comparison.objective, ylim=(max(len(rows), 1) - 0.4, -0.6))
        leakage.set(xlabel="leakage (bits)")
        for axes in (loss, leakage):
            axes.grid(visible=False, axis="y")
            axes.set_axisbelow(True)
            if not any(bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)):
                axes.set_xlim(0.0, 1.0)
        figure.suptitle(_title(comparison), fontsize=11)
        handles, labels = loss.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
    return figure


def _bars(
    axes: Axes,
    rows: list[Compared],
    values: list[float | None],
    colour: str,
    height: float,
    shift: float = 0.0,
    label: str = "",
) -> None:
    """A bar for each row; none for a figure that is missing or infinite."""
    lengths = [value if value is not None and math.isfinite(value) else 0.0 for value in values]
    hatches = [_HATCH if _open(row) else "" for row in rows]
    places = [place + shift for place in range(len(rows))]
    axes.barh(
        places, lengths, height, color=colour, hatch=hatches, edgecolor="white", linewidth=0, label=label or None
    )


def _open(row: Compared) -> bool:
    """Whether it is a baseline that is not private at the level asked for."""
    return row.baseline and not row.private


def _named(row: Compared) -> str:
    name = textwrap.fill(row.name, _NAME)
    return f"{name}\nnot private: ε {level(row.epsilon, row.delta) or '∞'}" if _open(row) else name


def _title(comparison: Comparison) -> str:
    if comparison.epsilon is None:
        return f"{comparison.problem}: no privacy asked for"
    return f"{comparison.problem}: ε = {level(comparison.epsilon, comparison.delta)}"
