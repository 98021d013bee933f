"""The sections of a page about one result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dxopt.results.page import problem, ranges, words
from dxopt.results.page.comparison import compared
from dxopt.results.page.entries import Entry
from dxopt.results.page.markup import Markup, element, facts, folded, joined, number, section
from dxopt.results.page.plainly import plainly
from dxopt.results.page.plane import Plane
from dxopt.results.page.published import published
from dxopt.results.page.sweeps import against_epsilon
from dxopt.results.page.views import heat_map, locations
from dxopt.results.report import Report
from dxopt.results.report_lines import everything
from dxopt.spaces.units import per
from dxopt.words.report import on_other_data

MOST_ROWS = 1000
_Section = tuple[str, Iterable[Markup]]


@dataclass(frozen=True, eq=False)
class Shown:
    """What is drawn of a result.

    Attributes
    ----------
    name : str
        What its channel is called in the page.
    drawn : bool
        Whether that is part of the page.
    plane : Plane or None
        Its map, where it has one.
    """

    name: str
    drawn: bool
    plane: Plane | None


def sections(entry: Entry, shown: Shown, *, level: int) -> Markup:
    """Return all sections about a result.

    Parameters
    ----------
    entry : Entry
    shown : Shown
    level : int
        Of the headings.
    """
    parts: list[Markup] = []
    if entry.failure:
        parts.append(element("p", f"{entry.failure.capitalize()}: {entry.reason}", class_="failure"))
    if entry.warnings:
        parts.append(element("ul", *(element("li", text) for text in entry.warnings), class_="failure"))
    if entry.report is not None:
        parts += _summary(entry.report, entry, shown, level)
    titled: list[_Section] = []
    if entry.level:
        titled.append(("Smallest ε", [element("p", ranges.level(entry.level))]))
    if entry.frontier:
        titled.append(ranges.frontier(entry.name, entry.frontier, f"{shown.name}-frontier"))
    if entry.sweep is not None:
        titled.append(("Loss and leakage against ε", against_epsilon(entry.sweep, f"{shown.name}-sweep")))
    if entry.report is not None:
        titled += _of_report(entry.report, entry, shown)
    return joined([*parts, *(section(title, *content, level=level) for title, content in titled)])


def _summary(report: Report, entry: Entry, shown: Shown, rank: int) -> Iterator[Markup]:
    proof = report.certificate
    unit, level = report.problem.unit, per(report.problem.space.unit)
    first, others = plainly(report, shown.plane)
    yield first
    yield facts(
        [
            (report.problem.objective.title, number(proof.value, unit)),
            ("no mechanism can beat", number(proof.bound, unit)),
            ("gap", number(proof.gap)),
            ("ε proven", number(proof.epsilon, level) if report.problem.private else "none"),
            *([] if proof.belief_level is None else [("ε proven for beliefs", number(proof.belief_level))]),
            ("status", entry.status),
        ],
        "figures",
    )
    yield section("In plain words", others, level=rank)


def _of_report(report: Report, entry: Entry, shown: Shown) -> Iterator[_Section]:
    if shown.plane is not None:
        yield "Map", [locations(report, shown.plane, shown.name)]
    if curve := published(report, f"{shown.name}-published"):
        yield "Published against true", curve
    if report.comparison is not None:
        yield "Comparison", compared(report.comparison, report.problem.unit, f"{shown.name}-compared")
    if report.evaluation:
        yield "Measures", [problem.measures(report)]
    if report.held_out:
        yield "On other data", [facts(on_other_data(report.held_out))]
    yield "What was proven", [words.certificate(report)]
    yield "The problem", [problem.problem(report, entry.metric)]
    yield "Every probability", [heat_map(report, shown.name) if shown.drawn else element("p", _omitted(report))]
    yield "Details", [*_details(report, shown.drawn)]


def _details(report: Report, drawn: bool) -> Iterator[Markup]:
    if drawn and len(report.problem.space) <= MOST_ROWS:
        yield problem.secrets(report)
    yield folded("How it was found, with all digits", facts(everything(report)))


def _omitted(report: Report) -> str:
    secrets = len(report.mechanism.space)
    reports = len(report.mechanism.reports)
    return f"The channel of {secrets:,} secrets and {reports:,} reports is too large to be part of this page."
