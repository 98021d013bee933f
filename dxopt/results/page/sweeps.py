"""The section of a page about a sweep."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import NDArray

from dxopt.results.page.comparison import privacy
from dxopt.results.page.curves import Curve, chart
from dxopt.results.page.markup import Cell, Markup, folded, table
from dxopt.results.page.plainly import level_table
from dxopt.results.sweep import EpsilonSweep
from dxopt.results.units import level_axis, value_axis


def against_epsilon(sweep: EpsilonSweep) -> list[Markup]:
    """Charts of loss and leakage, and the numbers."""
    problem = sweep.problem
    levels = sweep.epsilons.tolist()
    reached = (
        f"{len(levels)} levels" if len(levels) == len(sweep.asked) else f"{len(levels)} of {len(sweep.asked)} levels"
    )
    bound = Curve("bound on every private mechanism", levels, sweep.bounds.tolist(), dashed=True, colour=6)
    loss = chart(
        [*_curves(sweep, sweep.values), bound],
        title=f"{problem.name}: {problem.objective.title} at {reached} ({sweep.status})",
        across=level_axis(problem),
        up=value_axis(problem),
    )
    leakage = chart(
        _curves(sweep, sweep.leakage),
        title=f"{problem.name}: min-entropy leakage",
        across=level_axis(problem),
        up="min-entropy leakage (bits)",
    )
    header = ["mechanism", "ε", problem.objective.title, "remapped", "gap to bound", "leakage (bits)", "privacy"]
    rows = [
        [
            Cell(row.name),
            Cell.number(report.problem.epsilon),
            Cell.number(row.value),
            Cell.number(row.remapped),
            Cell.number(row.gap),
            Cell.number(row.leakage),
            Cell(privacy(row)),
        ]
        for report in sweep.reports
        for row in (report.comparison.rows if report.comparison else ())
        if row.value is not None
    ]
    return [
        loss,
        leakage,
        level_table(sweep.reports),
        folded("The numbers", table("Mechanisms at each level", header, rows)),
    ]


def _curves(sweep: EpsilonSweep, figures: Mapping[str, NDArray]) -> list[Curve]:
    levels = sweep.epsilons.tolist()
    baselines = sweep.baselines
    return [
        Curve(f"{name} (not private)" if name in baselines else name, levels, figures[name].tolist())
        for name in sweep.methods
    ]
