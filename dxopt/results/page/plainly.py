"""Plain words: what a result promises and costs, and what other levels do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dxopt.numerics.digits import factor
from dxopt.results.explanation import choices_of, of_problem
from dxopt.results.page.channels import readable
from dxopt.results.page.markup import Cell, Markup, element, facts, table
from dxopt.results.page.plane import Plane
from dxopt.results.report import Report
from dxopt.words.result import table_of


def plainly(report: Report, plane: Plane | None) -> tuple[Markup, Markup]:
    """What is promised, in a sentence, and what else there is to say, topic by topic."""
    (_, first), *told = report.explanation.renamed(_names(report, plane)).sentences
    if report.problem.private:
        told.append(("other levels", "dxopt explain, with --epsilon, says what other ε promise and cost."))
    return element("p", first, class_="headline"), facts(told)


def level_table(reports: Sequence[Report]) -> Markup:
    """What each of several levels of one problem promises and costs, as a table."""
    found = replace(of_problem(reports[0].problem), choices=choices_of(one.explanation for one in reports))
    rows = []
    for one in found.choices:
        odds = Cell.number(one.factor, short=factor(one.epsilon * found.between))
        costs = (one.value, one.bound, one.worst_loss, one.radius)
        rows.append([Cell.number(one.epsilon), odds, *map(Cell.number, costs)])
    return table("What each ε promises and costs", table_of(found)[0], rows)


def _names(report: Report, plane: Plane | None) -> Mapping[str, str]:
    """What the page calls secrets and reports, by their labels, where it calls them something else."""
    names: dict[str, str] = {}
    for one in (report.mechanism.space, report.mechanism.reports):
        names |= dict(zip(one.labels, readable(one.labels, one.points, plane), strict=True))
    return {label: f"({name})" for label, name in names.items() if label != name}
