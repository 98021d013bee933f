"""What is published of a number against what is true: middles and ranges of the reports of each secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dxopt.results.figures import plots
from dxopt.results.page.inline import drawn
from dxopt.results.page.markup import Cell, Markup, folded, table
from dxopt.results.report import Report
from dxopt.spaces.units import in_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 100
"""So many secrets are drawn, evenly spaced where there are more."""
_SHARES = (0.025, 0.25, 0.5, 0.75, 0.975)
_HEADER = ("true", "mean", "median", "50 % from", "to", "95 % from", "to")
Array = NDArray[np.float64]


def published(report: Report, name: str) -> list[Markup]:
    """The chart of what is published of each true value, with its numbers; empty where secrets are no numbers."""
    space, reports = report.mechanism.space, report.mechanism.reports
    true, said = _numbers(space.points), _numbers(space.points if reports.secrets else reports.points)
    if true is None or said is None or len(true) < 2:
        return []
    chosen = np.argsort(true, kind="stable")[_spread(len(true))]
    levels = true[chosen].tolist()
    found = np.array([_spread_of(report.mechanism.row(index=int(x)), said) for x in chosen])
    every = "" if len(levels) == len(true) else f", at {len(levels)} of {len(true):,} values"
    figure = _figure(levels, found, in_unit(space.unit))
    chart = drawn(figure, name, f"What is published of each true value, and how far off that is{every}")
    rows = [
        [Cell.number(number) for number in (level, at[0], at[3], at[2], at[4], at[1], at[5])]
        for level, at in zip(levels, found.tolist(), strict=True)
    ]
    return [chart, folded("The numbers", table("What is published of each true value", _HEADER, rows))]


def _figure(levels: list[float], found: Array, unit: str) -> Figure:
    """Return two panels over the true values: means and quantiles `(k, 6)`, and how far they are off."""
    with plots.style():
        figure = plots.blank(7.2, 7.4)
        panels = figure.subplots(2, 1, sharex=True)
        for axes, label, values in zip(
            panels, ("published", "published − true"), (found, found - np.array(levels)[:, None]), strict=True
        ):
            mean, lowest, low, middle, high, highest = values.T
            shade = {"color": plots.COLOURS[0], "alpha": 0.16, "linewidth": 0}
            axes.fill_between(levels, lowest, highest, label="95 % of the reports", **shade)
            axes.fill_between(levels, low, high, label="half of the reports", **shade)
            plots.draw(axes, [plots.Curve("median", levels, middle), plots.Curve("mean", levels, mean, "dashed", 1)])
            axes.set(ylabel=f"{label}{unit}")
        panels[1].set(xlabel=f"true value{unit}")
        plots.name_below(figure, *panels[0].get_legend_handles_labels())
    return figure


def _numbers(points: NDArray | None) -> Array | None:
    """One number for each point, or None."""
    if points is None or not np.issubdtype(points.dtype, np.number):
        return None
    return points.reshape(len(points)).astype(float) if points.size == len(points) else None


def _spread(size: int) -> NDArray[np.int64]:
    return np.unique(np.linspace(0, size - 1, min(size, MOST)).round().astype(np.int64))


def _spread_of(row: Array, said: Array) -> Array:
    """The mean and the quantiles of one row: of each share the least report that so many are at or below."""
    order = np.argsort(said, kind="stable")
    below = np.cumsum(row[order])
    places = np.searchsorted(below, np.array(_SHARES) * below[-1] * (1 - 1e-12))
    return np.concatenate([[row @ said], said[order][np.minimum(places, len(said) - 1)]])
