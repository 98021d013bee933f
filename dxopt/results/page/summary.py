"""The table of a batch."""

from __future__ import annotations

from collections.abc import Sequence

from dxopt.model.objective import OBJECTIVES
from dxopt.results.figures.tables import privacy_cell
from dxopt.results.page.entries import Entry
from dxopt.results.page.markup import Cell, Markup, table

HEADER = ("problem", "secrets", "ε", "objective", "value", "bound", "gap", "status", "seconds")


def summary(entries: Sequence[Entry]) -> Markup:
    """A line for each result, with a link to its part of the page."""
    rows = [_row(entry, f"#result-{number}") for number, entry in enumerate(entries, 1)]
    return table("Results", HEADER, rows)


def _row(entry: Entry, link: str) -> list[Cell]:
    name = Cell(entry.name, link=link)
    report = entry.report
    if report is None:
        blank = Cell("")
        levels, about, gap = _range(entry)
        asked = Cell(f"{levels[0]:.5g} to {levels[-1]:.5g}", levels[0]) if levels else blank
        return [name, blank, asked, Cell(about), blank, blank, Cell.number(gap), Cell(entry.status), blank]
    problem = report.problem
    proof = report.certificate
    asked = problem.epsilon if problem.private else None
    return [
        name,
        Cell(f"{len(problem.space):,}", len(problem.space)),
        Cell(privacy_cell(asked, problem.delta), asked),
        Cell(problem.objective.title),
        Cell.number(proof.value),
        Cell.number(proof.bound),
        Cell.number(proof.gap),
        Cell(entry.status),
        Cell.number(report.seconds),
    ]


def _range(entry: Entry) -> tuple[list[float], str, float | None]:
    """The levels of what is no single report, its objective, and its largest gap where it is a sweep."""
    if entry.sweep is not None:
        return entry.sweep.epsilons.tolist(), entry.sweep.problem.objective.title, entry.sweep.gap
    objective = OBJECTIVES[entry.frontier["objective"]].title if entry.frontier else ""
    return entry.frontier.get("epsilons", []), objective, None
