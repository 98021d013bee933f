"""The sections of a page with charts: comparisons, sweeps, ranges, published values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dxopt.model.objective import OBJECTIVES
from dxopt.numerics.number_syntax import excluded_text
from dxopt.results.claims import FrontierFile, LevelFile
from dxopt.results.compared import Compared, describe_refinements, excess_cell, privacy_text
from dxopt.results.comparison import Comparison
from dxopt.results.figures import plots
from dxopt.results.frontier import staircases
from dxopt.results.page.markup import (
    Cell,
    Markup,
    bullets,
    element,
    facts,
    figure_element,
    filled_in,
    folded,
    level_number,
    number,
    table,
)
from dxopt.results.page.words import level_table
from dxopt.results.report import Report
from dxopt.results.sweep import EpsilonSweep
from dxopt.spaces.units import in_unit
from dxopt.words.phrases import level_found

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def comparison_section(found: Comparison, name: str) -> Iterator[Markup]:
    """Yield the section on a comparison: bars, tables, the refinements, and why some mechanisms are missing."""
    found = found.told
    rows = [row for row in found.rows if row.value is not None]
    yield figure_element(found.figure(), name)
    yield table("Mechanisms side by side", ["mechanism", found.measured, *_COLUMNS], map(_row_cells, rows))
    if found.bound is not None:
        bound = filled_in(
            "No mechanism of that privacy is better than {bound}.", bound=number(found.bound, found.unit)
        )
        yield element("p", bound)
    if found.verdict is not None:
        yield element("p", f"The prior is {found.verdict}.")
    priors = list(rows[0].under) if rows else []
    if priors:
        under = [(row.name, [row.value, *(row.under.get(prior) for prior in priors)]) for row in rows]
        under.append(("bound", [found.bound, *(found.bounds.get(prior) for prior in priors)]))
        heads = ["mechanism", "as asked", *(f"under {prior}" for prior in priors)]
        lines = ([Cell(mechanism), *map(Cell.number, values)] for mechanism, values in under)
        yield table(f"{found.measured.capitalize()} under other priors", heads, lines)
    if order := describe_refinements(found.refinements):
        yield element(
            "p", "One mechanism refines another if, after the best remaps, it is no worse for any prior and loss:"
        )
        yield bullets(order)
    if notes := [f"{row.name}: {row.note}" for row in found.rows if row.note]:
        yield folded("Notes", bullets(notes))


_COLUMNS = ("excess", "remapped", "excess remapped", "gap to bound", "leakage (bits)", "privacy")


def _row_cells(row: Compared) -> list[Cell]:
    return [
        Cell(row.name),
        Cell.number(row.value),
        Cell(excess_cell(row.excess), row.excess),
        Cell.number(row.remapped),
        Cell(excess_cell(row.remapped_excess), row.remapped_excess),
        Cell.number(row.gap),
        Cell.number(row.leakage),
        Cell(privacy_text(row)),
    ]


def sweep_section(sweep: EpsilonSweep, name: str) -> list[Markup]:
    """Return the section on a sweep: charts of loss and leakage against ε, and tables of their numbers."""
    problem = sweep.problem
    title = f"{problem.name}: {problem.objective.title} and min-entropy leakage at {sweep.reached} ({sweep.status})"
    rows = [
        [Cell.level(report.problem.epsilon), *_row_cells(row)]
        for report in sweep.reports
        for row in (report.comparison.rows if report.comparison else ())
        if row.value is not None
    ]
    header = ["ε", "mechanism", problem.objective.title, *_COLUMNS]
    return [
        figure_element(sweep.figure(), name, title),
        level_table(sweep.reports),
        folded("The numbers", table("Mechanisms at each level", header, rows)),
    ]


def level_section(found: LevelFile) -> list[Markup]:
    """Return the section on level.json, the smallest ε for a loss: a sentence, and both levels with all digits."""
    told = element("p", f"{level_found(found.max_loss, found.below, found.epsilon, found.status)}.")
    ends = []
    if found.epsilon is not None:
        ends.append(("possible at ε", level_number(found.epsilon)))
    if found.below > 0:
        ends.append(("not possible at ε", number(found.below, short=excluded_text(found.below, 3))))
    return [told, facts(ends)]


def frontier_section(found: FrontierFile, key: str) -> tuple[str, list[Markup]]:
    """Return the title and the section on frontier.json: a chart with its numbers."""
    levels = found.epsilons or found.budgets
    values, bounds = ([math.nan if one is None else one for one in ends] for ends in (found.values, found.bounds))
    across = "ε per unit of distance" if found.epsilons else "loss budget"
    title = OBJECTIVES[found.objective].title
    caption = f"{found.problem}: {found.status}"
    caption += "" if found.resolution is None else f", resolution {found.resolution:.2g}"
    # the band is only proven along ε, and where every level has a value and a bound
    if found.epsilons and not np.isnan([*values, *bounds]).any():
        figure = staircases(levels, values, bounds, "", title, across)
        caption += "; at every level the best value lies within the shaded band: proven"
    else:
        lines = [
            plots.unjoined(plots.Curve("possible", levels, values, marker="o")),
            plots.Curve("bound: proven", levels, bounds, "points", colour=1, marker="_"),
        ]
        figure = plots.against_epsilon(lines, title="", quantity=title, level=across)
    point = Cell.level if found.epsilons else Cell.number
    rows = [
        [point(level), Cell.number(value), Cell.number(bound)]
        for level, value, bound in zip(levels, found.values, found.bounds, strict=True)
    ]
    listed = table("What is possible and what is proven", [across, "possible", "bound"], rows)
    return f"{title} against {across}".capitalize(), [
        figure_element(figure, key, caption),
        folded("The numbers", listed),
    ]


MOST = 100
"""So many secrets are drawn, evenly spaced where there are more."""
_SHARES = (0.025, 0.25, 0.5, 0.75, 0.975)
_HEADER = ("true", "mean", "median", "50 % from", "to", "95 % from", "to")
Array = NDArray[np.float64]


def published_section(report: Report, name: str) -> list[Markup]:
    """Return a chart of the reports of each true value, with its numbers; empty where secrets are no numbers."""
    space, reports = report.mechanism.space, report.mechanism.reports
    true, said = _as_numbers(space.points), _as_numbers(space.points if reports.secrets else reports.points)
    if true is None or said is None or len(true) < 2:
        return []
    spread = np.unique(np.linspace(0, len(true) - 1, min(len(true), MOST)).round().astype(np.int64))
    chosen = np.argsort(true, kind="stable")[spread]
    levels = true[chosen].tolist()
    found = np.array([_spread_of(report.mechanism.row(index=int(x)), said) for x in chosen])
    every = "" if len(levels) == len(true) else f", at {len(levels)} of {len(true):,} values"
    figure = _published_figure(levels, found, in_unit(space.unit))
    chart = figure_element(figure, name, f"What is published of each true value, and how far off that is{every}")
    mean, lowest, low, middle, high, highest = found.T
    rows = [map(Cell.number, row) for row in zip(levels, mean, middle, low, high, lowest, highest, strict=True)]
    return [chart, folded("The numbers", table("What is published of each true value", _HEADER, rows))]


def _published_figure(levels: list[float], found: Array, unit: str) -> Figure:
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
            both = [plots.Curve("median", levels, middle), plots.Curve("mean", levels, mean, "dashed", 1)]
            plots.draw(axes, map(plots.unjoined, both))
            axes.set(ylabel=f"{label}{unit}")
        panels[1].set(xlabel=f"true value{unit}")
        plots.name_below(figure, *panels[0].get_legend_handles_labels())
    return figure


def _as_numbers(points: NDArray | None) -> Array | None:
    """Return points `(n,)` or `(n, 1)` as numbers `(n,)`; None where they are something else."""
    if points is None or not np.issubdtype(points.dtype, np.number):
        return None
    return points.reshape(len(points)).astype(float) if points.size == len(points) else None


def _spread_of(row: Array, said: Array) -> Array:
    """Return the mean and the `_SHARES` quantiles of reports `said` `(m,)` with the probabilities `row`, `(6,)`."""
    order = np.argsort(said, kind="stable")
    below = np.cumsum(row[order])
    # relative to the sum, as rounded rows may end below 1; the factor keeps a share that is met from being missed
    places = np.searchsorted(below, np.array(_SHARES) * below[-1] * (1 - 1e-12))
    return np.concatenate([[row @ said], said[order][np.minimum(places, len(said) - 1)]])
