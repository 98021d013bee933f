"""Figures of matplotlib as part of a page: SVG in the colours of the page, with its text as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from dxopt.results.figures import plots
from dxopt.results.page.markup import Markup, element

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 4.9
"""Inches across: letters of 9 points are then legible on a telephone, and beside the text of a wide page."""
_VARIABLES = {
    "000000": "ink",
    "ffffff": "paper",
    "666666": "soft",
    "b0b0b0": "edge",
    **{colour.lower()[1:]: f"c{place}" for place, colour in enumerate(plots.COLOURS[:-1])},
}
"""Those of the style sheet that stand for the colours of figures."""
_HASH = re.compile(r"#([\w-]+)")


def drawn(figure: Figure, name: str, title: str = "") -> Markup:
    """Return a figure of a page, with its title as caption and the numbers that it shows as its description.

    Parameters
    ----------
    figure : Figure
        It is changed: it gets the size of figures in pages, and its title leaves it.
    name : str
        No other figure of the page has it.
    title : str
        That of the figure by default.
    """
    caption = title or figure.get_suptitle() or figure.axes[0].get_title()
    figure.suptitle("").set_in_layout(False)
    figure.axes[0].set_title("")
    plots.fit(figure, _WIDTH)
    tips = dict(_tips(figure))
    root = ElementTree.fromstring(plots.painted(figure, ".svg", inline=True))
    inline = _inline(root, name, f"{caption}: {'; '.join(_described(figure))}", tips)
    return element("figure", element("figcaption", caption), inline, class_="chart")


def _inline(root: ElementTree.Element, name: str, label: str, tips: dict[str, list[str]]) -> Markup:
    """Return a file of SVG as an element of HTML that refers to nothing but itself."""
    # Its own style sheet would be that of the whole page.
    root[:] = [part for part in root if not part.tag.endswith("}metadata") and part.find("{*}style") is None]
    for part in list(root.iter()):
        _titled(part, tips.get(part.get("id", ""), []))
    owned = {part.get("id") for part in root.iter()}
    texts = [text for part in root.iter() for text in part.attrib.values()]
    used = {found for text in texts for found in _HASH.findall(text)}

    def own(found: re.Match[str]) -> str:
        colour = _VARIABLES.get(found[1])
        return f"#{name}-{found[1]}" if found[1] in owned else f"var(--{colour})" if colour else found[0]

    for part in root.iter():
        part.tag = part.tag.partition("}")[2] or part.tag
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


def _titled(part: ElementTree.Element, tips: list[str]) -> None:
    """Give symbols, or a bar, the texts that appear where they are pointed at."""
    symbols = [*part.iter("{http://www.w3.org/2000/svg}use")] or [part]
    for symbol, tip in zip(symbols, tips, strict=False):
        title = ElementTree.Element("title")
        title.text = tip
        symbol.insert(0, title)


def _tips(figure: Figure) -> Iterator[tuple[str, list[str]]]:
    """Name the artists that show single numbers; yield the names, each with a text for each number."""
    for panel, axes in enumerate(figure.axes):
        for place, line in enumerate(axes.lines):
            if line.get_marker() != "None":
                line.set_gid(f"points-{panel}-{place}")
                yield f"points-{panel}-{place}", [f"{line.get_label()}: {y:.7g} at {x:.6g}" for x, y in _points(line)]
        for group, (container, label, each) in enumerate(_bars(axes)):
            for place, (bar, (name, length)) in enumerate(zip(container, each, strict=True)):
                bar.set_gid(f"bar-{panel}-{group}-{place}")
                yield f"bar-{panel}-{group}-{place}", [f"{name}, {label}: {length:.7g}"]


def _described(figure: Figure) -> Iterator[str]:
    """Yield the numbers that each line and each group of bars shows, in a few words."""
    for axes in figure.axes:
        for line in axes.lines:
            points = _points(line)
            if len(points) and not str(line.get_label()).startswith("_"):
                (first, start), (last, end) = points[0], points[-1]
                upright = first == last and start != end
                to = "" if first == last else f" to {end:.4g} at {last:.4g}"
                goes = f"is at {first:.4g}" if upright else f"goes from {start:.4g} at {first:.4g}{to}"
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
    names = [" ".join(text.get_text().split()) for text in first.get_yticklabels()]
    for container in axes.containers:
        label = str(container.get_label())
        about = axes.get_xlabel() if label.startswith("_") else f"{axes.get_xlabel()}, {label}"
        lengths = [bar.get_width() for bar in container]  # pyright: ignore[reportAttributeAccessIssue]
        yield container, about, list(zip(names, lengths, strict=True))
