"""The sections of a page about one result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dxopt.results.maps.underlay import MEANT
from dxopt.results.packing import named_loss
from dxopt.results.page import charts, words
from dxopt.results.page.channels import Plane
from dxopt.results.page.entries import Entry
from dxopt.results.page.markup import Markup, bullets, element, facts, folded, joined, level_number, number, section
from dxopt.results.report import Report, all_lines
from dxopt.spaces.units import per
from dxopt.words.report import held_out_lines


def interactive_map(report: Report, plane: Plane, name: str) -> Markup:
    """Return the element of the interactive map, which a script fills; `name` is that of the channel's data."""
    modes = element(
        "fieldset",
        element("legend", "Point at", class_="aside"),
        _mode_button(name, "reports", "a secret: where its reports go", checked=True),
        _mode_button(name, "posterior", "a report: what an adversary believes"),
        class_="modes",
    )
    choice = element("label", element("span", "Secret", class_="chosen"), " ", element("select"))
    label = f"Map of {report.problem.name}: arrow keys go to the next location in that direction"
    canvas = _canvas(label, f"{name}-told")
    return element(
        "figure",
        element("div", modes, choice, class_="controls"),
        element("div", canvas, class_="stage"),
        _colour_scale("probability"),
        _legend(plane),
        element("div", id=f"{name}-told", class_="told", aria_live="polite"),
        element(
            "figcaption",
            "Point at a location, tap it, or use the arrow keys. The adversary knows the prior and the mechanism. "
            f"Colours go with the square root of the probability; the loss is {named_loss(report.problem)}.",
        ),
        class_="map",
        data_channel=name,
    )


def _legend(plane: Plane) -> Markup:
    """Return the legend of a map: signs for the parts that it draws beside the colours of probabilities."""
    parts = [("ring", "what you point at"), ("never" if plane.areas is None else "never cell", "never")]
    parts += [("street", "roads of the space")] if plane.streets is not None else []
    parts += [] if plane.beneath is None else [(kind, MEANT[kind]) for kind in plane.beneath.kinds]
    swatches = (
        element("li", element("span", class_=f"swatch of-{kind}", aria_hidden="true"), text) for kind, text in parts
    )
    return element("ul", *swatches, class_="legend")


def heat_map(report: Report, name: str) -> Markup:
    """Return the element of the heat map of a channel, which a script fills; `name` is that of the data."""
    label = f"Heat map of the channel of {report.problem.name}: arrow keys go from entry to entry"
    canvas = _canvas(label, f"{name}-entry")
    return element(
        "figure",
        element(
            "div",
            element("p", "secrets ↓, reports →", class_="axis"),
            element("div", class_="names down", aria_hidden="true"),
            element("div", canvas, class_="stage"),
            element("div", class_="names across", aria_hidden="true"),
            class_="framed",
        ),
        _colour_scale("probability, logarithmic"),
        element("output", "Point at an entry, or use the arrow keys.", id=f"{name}-entry", class_="told"),
        element("figcaption", "A row for each secret, a column for each report; grey where a report never comes."),
        class_="heat",
        data_channel=name,
    )


def _canvas(label: str, told: str) -> Markup:
    """Return the canvas that scripts draw on; `told` is the id of the text that follows the selection."""
    return element("canvas", tabindex=0, role="application", aria_label=label, aria_describedby=told)


def _mode_button(name: str, value: str, text: str, *, checked: bool = False) -> Markup:
    radio = element("input", type="radio", name=f"{name}-mode", value=value, checked=checked)
    return element("label", radio, " ", text)


def _colour_scale(name: str) -> Markup:
    """Return the bar of colours below a figure, whose numbers a script fills in."""
    numbers = element(
        "span", *(element("span", class_=position) for position in ("low", "middle", "high")), class_="numbers"
    )
    bar = element("span", element("span", class_="ramp"), numbers, class_="bar")
    return element("p", element("span", f"{name} "), bar, class_="scale")


MOST_ROWS = 1000
_Section = tuple[str, Iterable[Markup]]


@dataclass(frozen=True, eq=False)
class Drawings:
    """Drawings of a result: the name of its channel in the page, whether that is part of it, and the map."""

    name: str
    drawn: bool
    plane: Plane | None


def sections(entry: Entry, shown: Drawings, *, level: int) -> Markup:
    """Return all sections about a result, with headings of a level."""
    parts: list[Markup] = []
    if entry.failure:
        parts.append(element("p", f"{entry.failure.capitalize()}: {entry.reason}", class_="failure"))
    if entry.warnings:
        parts.append(bullets(entry.warnings, "failure"))
    pictures = [] if entry.report is None else _pictures(entry.report, shown)
    if entry.report is not None:
        parts += _summary_parts(entry.report, entry, shown, level, pictures[:1])
    titled: list[_Section] = []
    if entry.level is not None:
        titled.append(("Smallest ε", charts.level_section(entry.level)))
    if entry.frontier is not None:
        titled.append(charts.frontier_section(entry.frontier, f"{shown.name}-frontier"))
    if entry.sweep is not None:
        titled.append(("Loss and leakage against ε", charts.sweep_section(entry.sweep, f"{shown.name}-sweep")))
    if entry.report is not None:
        titled += _report_sections(entry.report, shown, pictures[1:])
    return joined([*parts, *_with_headings(titled, level)])


def _with_headings(titled: Iterable[_Section], level: int) -> Iterator[Markup]:
    return (section(title, *content, level=level) for title, content in titled)


def _summary_parts(
    report: Report, entry: Entry, shown: Drawings, rank: int, pictures: Iterable[_Section]
) -> Iterator[Markup]:
    """Yield what stands first about a report: its promise, its picture, the main figures, and more in plain words."""
    proof = report.certificate
    unit, level = report.problem.unit, per(report.problem.space.unit)
    first, others = words.in_plain_words(report, shown.plane)
    yield first
    yield from _with_headings(pictures, rank)
    yield facts(
        [
            (report.problem.objective.title, number(proof.value, unit)),
            ("no mechanism can beat", number(proof.bound, unit)),
            ("gap", number(proof.gap)),
            ("ε proven", level_number(proof.epsilon, level) if report.problem.private else "none"),
            *([] if proof.belief_level is None else [("ε proven for beliefs", level_number(proof.belief_level))]),
            ("status", entry.status),
        ],
        "figures",
    )
    yield section("In plain words", others, level=rank)


def _pictures(report: Report, shown: Drawings) -> list[_Section]:
    """Return the titled sections with drawings of the channel, those that it has: map, curve, every probability."""
    found: list[_Section] = []
    if shown.plane is not None:
        found.append(("Map", [interactive_map(report, shown.plane, shown.name)]))
    if curve := charts.published_section(report, f"{shown.name}-published"):
        found.append(("Published against true", curve))
    if shown.drawn:
        found.append(("Every probability", [heat_map(report, shown.name)]))
    return found


def _report_sections(report: Report, shown: Drawings, pictures: Iterable[_Section]) -> Iterator[_Section]:
    """Yield the titled sections about a report after its first picture, with its other `pictures`."""
    if report.comparison is not None:
        yield "Comparison", charts.comparison_section(report.comparison, f"{shown.name}-compared")
    if report.evaluation:
        yield "Measures", [words.measures_table(report)]
    if report.held_out:
        yield "On other data", [facts(held_out_lines(report.held_out))]
    yield "What was proven", [words.certificate_section(report)]
    yield "The problem", [words.problem_section(report)]
    yield from pictures
    if not shown.drawn:
        secrets, reports = len(report.mechanism.space), len(report.mechanism.reports)
        omitted = f"The channel of {secrets:,} secrets and {reports:,} reports is too large to be part of this page."
        yield "Every probability", [element("p", omitted)]
    details = [folded("How it was found, with all digits", facts(all_lines(report)))]
    if shown.drawn and len(report.problem.space) <= MOST_ROWS:
        details.insert(0, words.secrets_table(report))
    yield "Details", details
