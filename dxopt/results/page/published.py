"""What is published of a number against what is true: middles and ranges of the reports of each secret."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dxopt.results.page.curves import Band, Curve, chart
from dxopt.results.page.markup import Cell, Markup, folded, table
from dxopt.results.report import Report
from dxopt.spaces.units import in_unit

MOST = 100
"""So many secrets are drawn, evenly spaced where there are more."""
_SHARES = (0.025, 0.25, 0.5, 0.75, 0.975)
_HEADER = ("true", "mean", "median", "50 % from", "to", "95 % from", "to")
Array = NDArray[np.float64]


def published(report: Report) -> list[Markup]:
    """The chart of what is published of each true value, with its numbers; empty where secrets are no numbers."""
    space, reports = report.mechanism.space, report.mechanism.reports
    true, said = _numbers(space.points), _numbers(space.points if reports.secrets else reports.points)
    if true is None or said is None or len(true) < 2:
        return []
    chosen = np.argsort(true, kind="stable")[_spread(len(true))]
    levels = true[chosen].tolist()
    drawn = np.array([_spread_of(report.mechanism.row(index=int(x)), said) for x in chosen])
    every = "" if len(levels) == len(true) else f", at {len(levels)} of {len(true):,} values"
    charts = [
        _chart(levels, drawn, title=f"What is published of each true value{every}", up="published", unit=space.unit),
        _chart(
            levels, drawn - true[chosen][:, None], title="How far off that is", up="published − true", unit=space.unit
        ),
    ]
    rows = [
        [Cell.number(number) for number in (level, at[0], at[3], at[2], at[4], at[1], at[5])]
        for level, at in zip(levels, drawn.tolist(), strict=True)
    ]
    return [*charts, folded("The numbers", table("What is published of each true value", _HEADER, rows))]


def _chart(levels: list[float], drawn: Array, *, title: str, up: str, unit: str) -> Markup:
    mean, lowest, low, middle, high, highest = (Curve("", levels, column.tolist()) for column in drawn.T)
    return chart(
        [replace(middle, name="median", plain=True), replace(mean, name="mean", dashed=True, colour=1)],
        title=title,
        across=f"true value{in_unit(unit)}",
        up=f"{up}{in_unit(unit)}",
        bands=[Band("95 % of the reports", lowest, highest), Band("half of the reports", low, high)],
    )


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
