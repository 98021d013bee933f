"""The section of a page about a sweep."""

from __future__ import annotations

from dxopt.results.page.comparison import privacy
from dxopt.results.page.inline import drawn
from dxopt.results.page.markup import Cell, Markup, folded, table
from dxopt.results.page.plainly import level_table
from dxopt.results.sweep import EpsilonSweep


def against_epsilon(sweep: EpsilonSweep, name: str) -> list[Markup]:
    """Charts of loss and leakage, and the numbers."""
    problem = sweep.problem
    levels = sweep.epsilons.tolist()
    reached = (
        f"{len(levels)} levels" if len(levels) == len(sweep.asked) else f"{len(levels)} of {len(sweep.asked)} levels"
    )
    title = f"{problem.name}: {problem.objective.title} and min-entropy leakage at {reached} ({sweep.status})"
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
        drawn(sweep.figure(), name, title),
        level_table(sweep.reports),
        folded("The numbers", table("Mechanisms at each level", header, rows)),
    ]
