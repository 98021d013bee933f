"""Two panels of curves against the same levels."""

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


def panels(title: str, across: str, upper: Panel, lower: Panel) -> Figure:
    """Return a figure of two panels, one above the other, with one legend below.

    The horizontal axis, and the vertical one of the upper panel, are logarithmic where their numbers range widely.
    """
    above = _coloured(upper)
    with plots.style():
        figure = plots.blank(7.2, 7.4)
        first, second = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
        plots.draw(first, above)
        plots.draw(second, _coloured(lower))
        first.set(title=title, ylabel=upper.label)
        second.set(xlabel=across, ylabel=lower.label)
        if _wide([curve.levels for curve in above]):
            first.set_xscale("log")
        if _wide([curve.values for curve in above]):
            first.set_yscale("log")
        figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _coloured(panel: Panel) -> list[plots.Curve]:
    """Return the curves of a panel with colours and symbols by their positions, and the bound last."""
    others = _BOUND - 1
    coloured = []
    for position, curve in enumerate(panel.curves):
        colour = 1 + (position - 1) % others if position else 0
        marker = _MARKERS[max(position - 1, 0) // others % len(_MARKERS)]
        coloured.append(replace(curve, colour=colour, marker=marker))
    if panel.bound is not None:
        coloured.append(replace(panel.bound, line="dashed", colour=_BOUND))
    return coloured


def _wide(arrays: Sequence[ArrayLike]) -> bool:
    numbers = np.concatenate([np.asarray(array, dtype=float) for array in arrays])
    finite = numbers[np.isfinite(numbers)]
    return len(finite) > 0 and bool(0 < finite.min() <= finite.max() / _WIDE)
