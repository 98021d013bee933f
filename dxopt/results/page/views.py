"""What scripts fill: the map of a channel and its heat map, with the controls that a keyboard reaches."""

from __future__ import annotations

from dxopt.results.maps.underlay import MEANT
from dxopt.results.page.markup import Markup, element
from dxopt.results.page.plane import Plane
from dxopt.results.report import Report
from dxopt.results.units import named_loss


def locations(report: Report, plane: Plane, name: str) -> Markup:
    """The map, to be pointed at."""
    modes = element(
        "fieldset",
        element("legend", "Point at", class_="aside"),
        _mode(name, "reports", "a secret: where its reports go", checked=True),
        _mode(name, "posterior", "a report: what an adversary believes"),
        class_="modes",
    )
    choice = element("label", element("span", "Secret", class_="chosen"), " ", element("select"))
    label = f"Map of {report.problem.name}: arrow keys go to the next location in that direction"
    canvas = _canvas(label, f"{name}-told")
    return element(
        "figure",
        element("div", modes, choice, class_="controls"),
        element("div", canvas, class_="stage"),
        _scale("probability"),
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
    """What is drawn beside the colours; scripts show what is there."""
    parts = [("ring", "what you point at"), ("never" if plane.areas is None else "never cell", "never")]
    parts += [("street", "roads of the space")] if plane.streets is not None else []
    parts += [] if plane.beneath is None else [(kind, MEANT[kind]) for kind in plane.beneath.kinds]
    swatches = (
        element("li", element("span", class_=f"swatch of-{kind}", aria_hidden="true"), text) for kind, text in parts
    )
    return element("ul", *swatches, class_="legend")


def heat_map(report: Report, name: str) -> Markup:
    """The channel as colours."""
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
        _scale("probability, logarithmic"),
        element("output", "Point at an entry, or use the arrow keys.", id=f"{name}-entry", class_="told"),
        element("figcaption", "A row for each secret, a column for each report; grey where a report never comes."),
        class_="heat",
        data_channel=name,
    )


def _canvas(label: str, told: str) -> Markup:
    """What scripts draw on, and go about in by arrow keys; `told` is the id of what says where they are."""
    return element("canvas", tabindex=0, role="application", aria_label=label, aria_describedby=told)


def _mode(name: str, value: str, text: str, *, checked: bool = False) -> Markup:
    radio = element("input", type="radio", name=f"{name}-mode", value=value, checked=checked)
    return element("label", radio, " ", text)


def _scale(name: str) -> Markup:
    numbers = element(
        "span", *(element("span", class_=position) for position in ("low", "middle", "high")), class_="numbers"
    )
    bar = element("span", element("span", class_="ramp"), numbers, class_="bar")
    return element("p", element("span", f"{name} "), bar, class_="scale")
