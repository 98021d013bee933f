"""Panels of curves against the same levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BOUND = 6
"""Index of the colour of a bound; the first is that of the optimum, and others take those between in turn."""
_JOINED = 3
"""At fewer levels than that, values are points that nothing joins."""
_MARKERS = "os^Dv"
_WIDE = 100.0
"""An axis is logarithmic where its largest number is that many times its smallest."""


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves of one quantity, and the bound on all of them, which is dashed.

    Attributes
    ----------
    label : str
        Of the vertical axis.
    curves : sequence of plots.Curve
        Curves at the same position have the same colour and symbol in every panel.
    bound : plots.Curve or None
    """

    label: str
    curves: Sequence[plots.Curve]
    bound: plots.Curve | None = None


def panels(title: str, across: str, *several: Panel) -> Figure:
    """Return a figure of one or two panels, one above the other, with one legend below.

    The horizontal axis, and the vertical one of the upper panel, are logarithmic where their numbers range widely.
    """
    above = _coloured(several[0])
    with plots.style():
        figure = plots.blank(7.2, 5.4 if len(several) == 1 else 7.4)
        ratios = (3, 2)[: len(several)]
        every = figure.subplots(len(several), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0]
        for axes, panel in zip(every, several, strict=True):
            plots.draw(axes, _coloured(panel))
            axes.set(ylabel=panel.label)
        every[0].set(title=title)
        every[-1].set(xlabel=across)
        if _wide([curve.levels for curve in above]):
            every[0].set_xscale("log")
            plots.logarithmic(every[-1].xaxis)
        if _wide([curve.values for curve in above]):
            every[0].set_yscale("log")
            plots.logarithmic(every[0].yaxis)
        plots.name_below(figure, *every[0].get_legend_handles_labels())
    return figure


def _coloured(panel: Panel) -> list[plots.Curve]:
    """Return the curves of a panel with colours and symbols by their positions, and the bound last."""
    others = _BOUND - 1
    coloured = []
    # Between two levels alone, a line would look like a curve that nobody has computed.
    few = len(np.unique(np.concatenate([np.asarray(curve.levels) for curve in panel.curves]))) < _JOINED
    for position, curve in enumerate(panel.curves):
        colour = 1 + (position - 1) % others if position else 0
        marker = _MARKERS[max(position - 1, 0) // others % len(_MARKERS)]
        line = "points" if few else curve.line
        coloured.append(replace(curve, line=line, colour=colour, marker=marker))
    if panel.bound is not None:
        line, marker = ("points", "_") if few else ("dashed", "")
        coloured.append(replace(panel.bound, line=line, colour=_BOUND, marker=marker))
    return coloured


def _wide(arrays: Sequence[ArrayLike]) -> bool:
    numbers = np.concatenate([np.asarray(array, dtype=float) for array in arrays])
    finite = numbers[np.isfinite(numbers)]
    return len(finite) > 0 and bool(0 < finite.min() <= finite.max() / _WIDE)
