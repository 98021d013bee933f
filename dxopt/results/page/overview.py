"""Overview of a batch: a table with links, what failed and why, and charts over all results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from dxopt.model.objective import OBJECTIVES
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import level_text
from dxopt.results.comparison_folder import comparable, difference
from dxopt.results.figures import plots
from dxopt.results.figures.panels import Bars, Panel, Row, bars, panels
from dxopt.results.packing import level_axis, unit_names, value_axis
from dxopt.results.page.entries import Entry
from dxopt.results.page.markup import (
    Cell,
    Markup,
    bullets,
    element,
    figure_element,
    filled_in,
    folded,
    joined,
    level_number,
    number,
    section,
    table,
)
from dxopt.results.page.words import level_table
from dxopt.results.report import Report
from dxopt.runtime.stopping import Status
from dxopt.spaces.units import per
from dxopt.words.phrases import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def families(entries: Sequence[Entry]) -> list[list[Report]]:
    """Group the reports of problems that differ in ε alone, each group in the order of ε; without single ones."""
    private = [entry.report for entry in entries if entry.report is not None and entry.report.problem.private]
    several = (
        group for group in _grouped(private, _same_but_level) if len({each.problem.epsilon for each in group}) > 1
    )
    return [sorted(group, key=lambda report: report.problem.epsilon) for group in several]


def _grouped(reports: Iterable[Report], alike: Callable[[Problem, Problem], bool]) -> list[list[Report]]:
    """Group reports by problems that are alike, in the order of the first of each group."""
    found: list[list[Report]] = []
    for report in reports:
        group = next((group for group in found if alike(group[0].problem, report.problem)), None)
        if group is None:
            found.append([report])
        else:
            group.append(report)
    return found


def _same_but_level(mine: Problem, other: Problem) -> bool:
    """Return True if two problems differ in ε and name at most."""
    quick = mine.shape == other.shape and mine.objective.name == other.objective.name
    same = quick and unit_names(mine) == unit_names(other) and mine.space.labels == other.space.labels
    return same and difference(mine.at(other.epsilon), other) is None


def curves(group: Sequence[Report]) -> Panel:
    """Return a panel of values against ε: the reports' mechanisms, those they are compared with, and the bound."""
    points: dict[str, dict[float, float]] = {}
    bounds: dict[float, float] = {}
    sign = group[0].problem.objective.sign
    for report in group:
        epsilon = report.problem.epsilon
        bound = report.certificate.bound
        # one that is not optimal is another curve, under its own name
        own = "optimal" if report.status is Status.OPTIMAL else report.mechanism.name
        found = {own: report.certificate.value}
        if report.comparison is not None:
            found |= {row.name: row.value for row in report.comparison.rows[1:] if row.value is not None}
        for name, value in found.items():
            points.setdefault(name, {})[epsilon] = value
        # Several reports at one ε have bounds on the same optimum: the sharpest counts.
        bounds[epsilon] = sign * max(sign * bound, sign * bounds.get(epsilon, bound))
    lines = [plots.Curve(name, sorted(at), [at[level] for level in sorted(at)]) for name, at in points.items()]
    bound = plots.Curve("bound on every private mechanism", list(bounds), list(bounds.values()))
    return Panel(value_axis(group[0].problem), lines, bound)


def family_figure(group: Sequence[Report]) -> Figure:
    """Draw the loss against ε of problems that differ in ε alone."""
    problem, last = group[0].problem, group[-1].problem
    about = problem.name if problem.name == last.name else f"{problem.name} to {last.name}"
    levels = len({report.problem.epsilon for report in group})
    title = f"{about}: {problem.objective.title} at {levels} levels"
    return panels(title, level_axis(problem), curves(group))


HEADER = ("problem", "value", "gap", "private", "ε", "objective", "secrets", "status", "seconds")
MOST_BARS = 40
"""Further bars are left out of a chart, which then states that."""
MOST_CHARTS = 6
"""Further charts of a section are folded."""


def outcome(entries: Sequence[Entry]) -> str:
    """Return a sentence on how many results there are of each outcome, the most frequent first."""
    found = Counter(entry.status for entry in entries)
    each = ", ".join(f"{count:,} {status}" for status, count in found.most_common())
    return f"{counted(len(entries), 'results')}: {each}"


def overview(entries: Sequence[Entry]) -> Iterator[Markup]:
    """Yield the sections before the results: what failed, charts of groups of results, and a table of all."""
    links = {id(entry): f"#result-{place}" for place, entry in enumerate(entries, 1)}
    reasons = ((entry, _why_open(entry)) for entry in entries)
    failed = [joined([element("a", one.name, href=links[id(one)]), ": ", why]) for one, why in reasons if why]
    if failed:
        yield section("What failed, or is open", bullets(failed), level=2)
    along = families(entries)
    charts = [
        element(
            "div",
            figure_element(family_figure(group), f"family-{place}"),
            folded("What each ε promises and costs", level_table(group)),
        )
        for place, group in enumerate(along)
    ]
    groups = enumerate(_comparable_groups(entries, along))
    grouped = [_side_by_side(group, f"side-{place}") for place, group in groups]
    for title, several in (("Against ε", charts), ("Side by side", grouped)):
        if several:
            yield section(title, *_charts(several), level=2)
    rows = [_row(entry, links[id(entry)]) for entry in entries]
    yield section("All results", table("Results", HEADER, rows), level=2)


def _charts(several: Sequence[Markup]) -> Iterator[Markup]:
    """Yield the first charts side by side, and further ones folded."""
    yield element("div", *several[:MOST_CHARTS], class_="charts")
    if further := several[MOST_CHARTS:]:
        yield folded(f"{counted(len(further), 'more charts')}", element("div", *further, class_="charts"))


def _why_open(entry: Entry) -> str:
    """Return why a result is missing, or not known to be the best one; blank where neither is so."""
    if entry.failure:
        return f"{entry.failure}: {entry.reason}" if entry.reason else entry.failure
    report = entry.report
    if report is None or report.delivered:
        return ""
    return filled_in(
        f"{entry.status}: what it found is {{gap}} from what no mechanism can beat; more time may close that gap",
        gap=number(report.certificate.gap),
    )


def _row(entry: Entry, link: str) -> list[Cell]:
    """Return an entry's row of the table of all results, with blanks for what its kind of answer has not."""
    name = Cell(entry.name, link=link)
    report = entry.report
    warned = len(entry.warnings)
    status = Cell(entry.status + (f", {counted(warned, 'warnings')}" if warned else ""))
    blank = Cell("")
    if report is None:
        levels, about, gap = _range_figures(entry)
        asked = Cell(f"{level_text(levels[0])} to {level_text(levels[-1])}", levels[0]) if levels else blank
        return [name, blank, Cell.number(gap), blank, asked, Cell(about), blank, status, blank]
    problem = report.problem
    proof = report.certificate
    private = "proven" if problem.private else "for beliefs: proven" if problem.beliefs is not None else "not asked"
    return [
        name,
        Cell.number(proof.value, problem.unit),
        Cell.number(proof.gap),
        Cell(private),
        _level_cell(problem),
        Cell(problem.objective.title),
        Cell(f"{len(problem.space):,}", len(problem.space)),
        status,
        Cell(f"{report.seconds:.1f}", report.seconds),
    ]


def _level_cell(problem: Problem) -> Cell:
    """Return ε with its unit, and δ, as a cell sorted by ε; blank without privacy."""
    if not problem.private:
        return Cell("")
    unit = problem.space.unit
    delta = filled_in(", δ {delta}", delta=level_number(problem.delta)) if problem.delta else Markup("")
    return Cell(joined([level_number(problem.epsilon, per(unit) if unit else ""), delta]), problem.epsilon)


def _range_figures(entry: Entry) -> tuple[list[float], str, float | None]:
    """Return the levels of a sweep or frontier, the title of its objective, and the largest gap of a sweep."""
    if entry.sweep is not None:
        return entry.sweep.epsilons.tolist(), entry.sweep.problem.objective.title, entry.sweep.gap
    if entry.frontier is None:
        return [], "", None
    return entry.frontier.epsilons, OBJECTIVES[entry.frontier.objective].title, None


def _comparable_groups(entries: Sequence[Entry], shown: Sequence[Sequence[Report]]) -> list[list[Report]]:
    """Group reports whose values can be compared, without groups that are within one of those `shown` already."""
    reports = [entry.report for entry in entries if entry.report is not None]
    drawn = [set(map(id, group)) for group in shown]
    several = (group for group in _grouped(reports, comparable) if len(group) > 1)
    return [group for group in several if not any(set(map(id, group)) <= one for one in drawn)]


def _side_by_side(group: Sequence[Report], name: str) -> Markup:
    """Return a chart with a bar for the value of each report of a group of comparable ones."""
    problem = group[0].problem
    left = f"; the first {MOST_BARS} of {len(group):,}" if len(group) > MOST_BARS else ""
    kept = group[:MOST_BARS]
    lengths = Bars([report.certificate.value for report in kept], colour=0)
    figure = bars("", [Row(report.problem.name) for report in kept], {value_axis(problem): [lengths]})
    return figure_element(figure, name, f"{value_axis(problem).capitalize()}{left}")
