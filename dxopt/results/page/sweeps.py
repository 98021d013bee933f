"""The sections of a page about a sweep, and the bars of a comparison."""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import NDArray

from dxopt.results.comparison import Compared, Comparison
from dxopt.results.figures.tables import privacy_cell
from dxopt.results.page.bars import Bar, bars
from dxopt.results.page.curves import Curve, chart
from dxopt.results.page.markup import Cell, Markup, folded, table
from dxopt.results.sweep import EpsilonSweep

_ACROSS = "ε per unit of distance"


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
        across=_ACROSS,
        up=f"{problem.objective.title} ({problem.loss.name})",
    )
    leakage = chart(
        _curves(sweep, sweep.leakage),
        title=f"{problem.name}: min-entropy leakage",
        across=_ACROSS,
        up="min-entropy leakage (bits)",
    )
    header = ["mechanism", "ε", problem.objective.title, "remapped", "gap to bound", "leakage (bits)", "privacy"]
    rows = [
        [
            Cell(row.name),
            Cell.number(report.problem.epsilon, ".8g"),
            Cell.number(row.value, ".7f"),
            Cell.number(row.remapped, ".7f"),
            Cell.number(row.gap, ".1e"),
            Cell.number(row.leakage, ".4f"),
            Cell(privacy(row)),
        ]
        for report in sweep.reports
        for row in (report.comparison.rows if report.comparison else ())
        if row.value is not None
    ]
    return [loss, leakage, folded("The numbers", table("Mechanisms at each level", header, rows))]


def _curves(sweep: EpsilonSweep, figures: Mapping[str, NDArray]) -> list[Curve]:
    levels = sweep.epsilons.tolist()
    baselines = sweep.baselines
    return [
        Curve(f"{name} (not private)" if name in baselines else name, levels, figures[name].tolist())
        for name in sweep.methods
    ]


def compared(found: Comparison) -> list[Markup]:
    """Bars of loss, with the bound on every private mechanism, and of leakage."""
    rows = [row for row in found.rows if row.value is not None]
    names = [f"{row.name} ({privacy(row)})" if row.unproven else row.name for row in rows]
    remapped = any(row.remapped is not None for row in rows)
    each = list(zip(names, rows, strict=True))
    loss = bars(
        [Bar(name, [row.value, row.remapped] if remapped else [row.value], row.unproven) for name, row in each],
        title=found.objective.capitalize(),
        quantities=[("as it is", 0), ("with the optimal remap", 5)] if remapped else [(found.objective, 0)],
        mark=("bound on every private mechanism", found.bound),
    )
    leakage = bars(
        [Bar(name, [row.leakage], row.unproven) for name, row in each],
        title="Min-entropy leakage in bits",
        quantities=[("leakage", 4)],
    )
    return [loss, leakage]


def privacy(row: Compared) -> str:
    """How private a mechanism is, in words."""
    realised = privacy_cell(row.epsilon, row.delta)
    if row.private:
        return f"proven, ε {realised}"
    if row.baseline:
        return f"not private, ε {realised or '∞'}"
    return "not asked"
