"""HTML elements that escape their text, and figures as inline SVG in the colours of the page."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.number_syntax import digits_up, level_text, three_digits
from dxopt.results.figures import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_VOID = ("br", "meta", "link", "input")
_LONG = 40  # letters of a cell whose text may wrap
Attribute = str | float | bool | None


class Markup(str):
    """Text that is HTML; any other text is escaped where it enters an element."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: Attribute) -> Markup:
    """Return an element with its children; `class_` stands for class, `aria_label` for aria-label."""
    written = "".join(
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{html.escape(str(value))}"')
        for key, value in attributes.items()
        if not (value is None or value is False)
    )
    if tag in _VOID:
        return Markup(f"<{tag}{written}>")
    return Markup(f"<{tag}{written}>{joined(children)}</{tag}>")


def joined(parts: Iterable[str]) -> Markup:
    """Join parts, escaped unless they are HTML."""
    return Markup("".join(part if isinstance(part, Markup) else html.escape(part) for part in parts))


def filled_in(template: str, **parts: str) -> Markup:
    """Return a sentence with parts in place of their names in braces, escaped unless they are HTML."""
    return Markup(html.escape(template).format_map({name: joined([part]) for name, part in parts.items()}))


def as_data(content: Any, identifier: str) -> Markup:
    """Return a JSON element for scripts; no text in it can end it."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return Markup(f'<script type="application/json" id="{html.escape(identifier)}">{text}</script>')


def number(value: float, unit: str = "", short: str = "") -> Markup:
    """Return a number and its unit, to three digits or as `short`; pointing at it, or a button, shows all digits."""
    short, full = short or three_digits(value), repr(float(value))
    whole = not math.isfinite(value) or value == int(value)
    shown = short if whole else element("data", short, value=full, title=full)
    return joined([shown, f" {unit}" if unit else ""])


def level_number(value: float, unit: str = "") -> Markup:
    """Return a level and its unit as `number` writes them, rounded up to its first three digits."""
    return number(value, unit, level_text(value))


@dataclass(frozen=True)
class Cell:
    """A cell of a table, perhaps a link; its column is sorted by finite keys, else by the text."""

    text: str
    key: float | None = None
    link: str = ""

    @classmethod
    def number(cls, value: float | None, unit: str = "", short: str = "") -> Cell:
        """Return a cell with a number as `number` writes it, blank for None; the column is sorted by the value."""
        return cls("") if value is None else cls(number(value, unit, short), float(value))

    @classmethod
    def level(cls, value: float | None) -> Cell:
        """Return a cell with a level as `level_number` writes it, blank for None."""
        return cls("") if value is None else cls(level_number(value), float(value))


def table(caption: str, header: Sequence[str], rows: Iterable[Iterable[Cell]]) -> Markup:
    """Return a table that is sorted by the buttons in its header; rows are cards where it is too wide."""
    heads = (
        element("th", element("button", name, type="button"), scope="col", aria_sort="none")
        if name
        else element("td")
        for name in header
    )
    lines = (element("tr", *(_cell_element(cell, not place) for place, cell in enumerate(cells))) for cells in rows)
    written = element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads)),
        element("tbody", *lines),
        class_="sortable",
    )
    return element("div", written, class_="wide")


def _cell_element(cell: Cell, first: bool) -> Markup:
    """Return a cell of a table; the first of a row is its header."""
    key = None if cell.key is None or not math.isfinite(cell.key) else repr(float(cell.key))
    text = element("a", cell.text, href=cell.link) if cell.link else cell.text
    kind = "number" if key is not None else "long" if len(cell.text) > _LONG else None
    return element("th" if first else "td", text, scope="row" if first else None, data_key=key, class_=kind)


def bullets(lines: Iterable[str], kind: str | None = None) -> Markup:
    """Return a list with a bullet for each line; `kind` is a class of the style sheet."""
    return element("ul", *(element("li", line) for line in lines), class_=kind)


def facts(pairs: Iterable[tuple[str, str]], kind: str = "facts") -> Markup:
    """Return a list of names, each with a text."""
    return element(
        "dl", *(element("div", element("dt", name), element("dd", text)) for name, text in pairs), class_=kind
    )


def section(title: str, *content: str, level: int) -> Markup:
    """Return a section under a heading of a level, 1 to 6."""
    return element("section", element(f"h{level}", title), *content)


def folded(title: str, *content: str) -> Markup:
    """Return a part of the page that opens on request."""
    return element("details", element("summary", title), *content)


_WIDTH = 4.9
"""Inches across: letters of 9 points are then legible on a telephone, and beside the text of a wide page."""
_VARIABLES = {
    "000000": "ink",
    "ffffff": "paper",
    "666666": "soft",
    "b0b0b0": "edge",
    **{colour.lower()[1:]: f"c{place}" for place, colour in enumerate(plots.COLOURS[:-1])},
}
"""Colours of figures, and the variables of the style sheet in place of them, so that they follow the theme."""
_HASH = re.compile(r"#([\w-]+)")  # a colour, or a reference to an id


def figure_element(figure: Figure, name: str, title: str = "") -> Markup:
    """Return a figure as an element of the page, captioned by `title` or its own, and described to screen readers.

    It changes the figure: its size becomes that of pages, and its title is removed. `name` must be its alone.
    """
    caption = title or figure.get_suptitle() or figure.axes[0].get_title()
    figure.suptitle("").set_in_layout(False)
    figure.axes[0].set_title("")
    plots.fit(figure, _WIDTH)
    tips = dict(_name_artists(figure))
    root = ElementTree.fromstring(plots.figure_bytes(figure, ".svg", inline=True))
    inline = _inline_svg(root, name, f"{caption}: {'; '.join(_described(figure))}", tips)
    return element("figure", element("figcaption", caption), inline, class_="chart")


def _inline_svg(root: ElementTree.Element, name: str, label: str, tips: dict[str, list[str]]) -> Markup:
    """Return the SVG of a figure for a page, with the colours of that, ids that begin with `name`, and tips by id."""
    # Its own style sheet would be that of the whole page.
    root[:] = [part for part in root if not part.tag.endswith("}metadata") and part.find("{*}style") is None]
    for part in list(root.iter()):
        _add_tips(part, tips.get(part.get("id", ""), []))
    owned = {part.get("id") for part in root.iter()}
    texts = [text for part in root.iter() for text in part.attrib.values()]
    used = {found for text in texts for found in _HASH.findall(text)}

    def own(found: re.Match[str]) -> str:
        colour = _VARIABLES.get(found[1])
        return f"#{name}-{found[1]}" if found[1] in owned else f"var(--{colour})" if colour else found[0]

    for part in root.iter():
        part.tag = part.tag.partition("}")[2] or part.tag  # HTML knows SVG without its namespace
        identifier = part.attrib.pop("id", "")
        # The fill of a pattern is an attribute, which takes no variable.
        style = [part.get("style", ""), *(f"fill: {fill}" for fill in [part.attrib.pop("fill", "")] if fill)]
        plain = {key.partition("}")[2] or key: text for key, text in part.attrib.items()}
        part.attrib = {key: _HASH.sub(own, text) for key, text in plain.items() if key != "style"}
        if any(style):
            part.set("style", _HASH.sub(own, "; ".join(filter(None, style))))
        if identifier in used:
            part.set("id", f"{name}-{identifier}")
        part.text, part.tail = (text.strip() if text else None for text in (part.text, part.tail))
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _add_tips(part: ElementTree.Element, tips: list[str]) -> None:
    """Add to the symbols of a line, or to a bar, the texts that appear when they are pointed at."""
    symbols = [*part.iter("{http://www.w3.org/2000/svg}use")] or [part]
    for symbol, tip in zip(symbols, tips, strict=False):
        title = ElementTree.Element("title")
        title.text = tip
        symbol.insert(0, title)


def _name_artists(figure: Figure) -> Iterator[tuple[str, list[str]]]:
    """Set ids on the lines and bars of a figure; yield each id, which its SVG has, with a text for each number."""
    for panel, axes in enumerate(figure.axes):
        for place, line in enumerate(axes.lines):
            if line.get_marker() != "None":
                line.set_gid(f"points-{panel}-{place}")
                named = line.get_label()
                tips = [f"{named}: {y:.7g} at {digits_up(x, 6):.6g}" for x, y in _points(line)]
                yield f"points-{panel}-{place}", tips
        for group, (container, label, each) in enumerate(_bars(axes)):
            for place, (bar, (name, length)) in enumerate(zip(container, each, strict=True)):
                bar.set_gid(f"bar-{panel}-{group}-{place}")
                yield f"bar-{panel}-{group}-{place}", [f"{name}, {label}: {length:.7g}"]


def _described(figure: Figure) -> Iterator[str]:
    """Yield the text that tells a screen reader what each line and each group of bars shows."""
    for axes in figure.axes:
        for line in axes.lines:
            points = _points(line)
            if len(points) and not str(line.get_label()).startswith("_"):
                (first, start), (last, end) = points[0], points[-1]
                upright = first == last and start != end  # a vertical line, such as a bound across bars
                low, high = (f"{digits_up(place, 4):.4g}" for place in (first, last))
                to = "" if first == last else f" to {end:.4g} at {high}"
                goes = f"is at {first:.4g}" if upright else f"goes from {start:.4g} at {low}{to}"
                yield f"{line.get_label()} {goes}"
        for _, label, each in _bars(axes):
            yield f"{label}: {', '.join(f'{name} {length:.4g}' for name, length in each)}"


def _points(line: Any) -> NDArray[np.float64]:
    """Return the points of a line that are finite, `(k, 2)`."""
    points = np.asarray(line.get_xydata(), dtype=float)
    return points[np.isfinite(points).all(axis=1)]


def _bars(axes: Axes) -> Iterator[tuple[Any, str, list[tuple[str, float]]]]:
    """Yield each group of bars with its label and the name and length of each bar."""
    first = axes.figure.axes[0]
    names = [" ".join(text.get_text().split()) for text in first.get_yticklabels()]  # shared by all panels
    for container in axes.containers:
        label = str(container.get_label())
        about = axes.get_xlabel() if label.startswith("_") else f"{axes.get_xlabel()}, {label}"
        lengths = [bar.get_width() for bar in container]  # pyright: ignore[reportAttributeAccessIssue]
        yield container, about, list(zip(names, lengths, strict=True))
