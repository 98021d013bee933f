"""Bars as inline SVG that follows the colours of the page: a row for each name, with its bars below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dxopt.numerics.digits import three_digits
from dxopt.results.page.markup import Markup, element

_WIDTH = 440.0
_NAME = 20.0
_BAR = 9.0
_ROOM = 9.0
_EDGE = 4.0
_SWATCH = {"viewBox": "0 0 28 12", "class_": "swatch", "aria_hidden": "true"}


@dataclass(frozen=True)
class Bar:
    """What is shown of a name: a length for each of several quantities, None or infinite where there is none.

    Attributes
    ----------
    outlined : bool
        Whether its bars are outlined, and not filled.
    """

    name: str
    lengths: Sequence[float | None]
    outlined: bool = False


def bars(
    rows: Sequence[Bar],
    *,
    title: str,
    quantities: Sequence[tuple[str, int]],
    mark: tuple[str, float | None] = ("", None),
) -> Markup:
    """Return a figure, with a legend where there are several quantities or a mark.

    Parameters
    ----------
    rows : sequence of Bar
    title : str
    quantities : sequence of (name, colour)
        Of the lengths.
    mark : (name, value)
        A line across the bars of every row, where the value is a finite number.
    """
    meaning = mark[0]
    at = _finite(mark[1])
    # Bars start at 0, so that 0 is within the range; the mark has to be as well.
    numbers = [0.0, *(number for row in rows for number in map(_finite, row.lengths) if number is not None)]
    low = min(*numbers, at or 0.0)
    high = max(*numbers, at or 0.0)
    wide = (_WIDTH - 2 * _EDGE) / ((high - low) or 1.0)

    def across(number: float) -> float:
        return round(_EDGE + (number - low) * wide, 2)

    step = _NAME + _BAR * len(quantities) + _ROOM
    parts: list[Markup] = []
    for count, row in enumerate(rows):
        top = count * step
        lengths = ", ".join(_figure(number) for number in row.lengths)
        parts.append(element("text", row.name, x=_EDGE, y=top + 14))
        parts.append(element("text", lengths, x=_WIDTH - _EDGE, y=top + 14, text_anchor="end"))
        for index, (number, (_, colour)) in enumerate(zip(map(_finite, row.lengths), quantities, strict=True)):
            if number is not None:
                start, end = sorted((across(0.0), across(number)))
                parts.append(_bar(start, top + _NAME + index * _BAR, end - start, colour, outlined=row.outlined))
        if at is not None:
            parts.append(_line(across(at), top + _NAME - 2, top + step - _ROOM))
    height = step * len(rows)
    legend = [element("li", _swatch(colour), name) for name, colour in quantities] if len(quantities) > 1 else []
    if any(row.outlined for row in rows):
        swatch = element("svg", _bar(1, 2, 26, quantities[0][1], outlined=True), **_SWATCH)
        legend.append(element("li", swatch, "not private"))
    if at is not None:
        upright = element("svg", _line(14, 0, 12), **_SWATCH)
        legend.append(element("li", upright, meaning))
    label = f"{title}: {'; '.join(_described(row, quantities) for row in rows)}"
    drawn = element("svg", *parts, viewBox=f"0 0 {_WIDTH:g} {height:g}", role="img", aria_label=label)
    listed = [element("ul", *legend, class_="legend")] if legend else []
    return element("figure", element("figcaption", title), drawn, *listed, class_="chart", style="max-width: 30rem")


def _line(x: float, y1: float, y2: float) -> Markup:
    return element("line", x1=x, x2=x, y1=y1, y2=y2, class_="colour-6", stroke="currentColor", stroke_width=2)


def _bar(x: float, y: float, width: float, colour: int, *, outlined: bool) -> Markup:
    paint = (
        {"fill": "none", "stroke": "currentColor", "stroke_dasharray": "4 3"}
        if outlined
        else {"fill": "currentColor"}
    )
    return element("rect", x=x, y=y, width=round(width, 2), height=_BAR - 1.5, class_=f"colour-{colour}", **paint)


def _swatch(colour: int) -> Markup:
    return element("svg", _bar(1, 2, 26, colour, outlined=False), **_SWATCH)


def _described(row: Bar, quantities: Sequence[tuple[str, int]]) -> str:
    each = (f"{name} {_figure(number)}" for number, (name, _) in zip(row.lengths, quantities, strict=True))
    return f"{row.name}, {', '.join(each)}"


def _figure(number: float | None) -> str:
    return "none" if number is None else three_digits(number)


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None
