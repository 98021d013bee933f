"""Curves as inline SVG that follows the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from dxopt.results.page.markup import Markup, element, joined

_WIDTH = 520.0
_HEIGHT = 320.0
_LEFT = 62.0
_RIGHT = 10.0
_TOP = 12.0
_BOTTOM = 44.0
_COLOURS = 7
_DASHES = ("", "7 4", "2 3")


@dataclass(frozen=True)
class Curve:
    """Values `(k,)` at k levels.

    Attributes
    ----------
    dashed : bool
        Whether it is a bound.
    colour : int
        Which colour; the position of the curve by default.
    plain : bool
        Whether it is a line without points.
    """

    name: str
    levels: Sequence[float]
    values: Sequence[float]
    dashed: bool = False
    colour: int | None = None
    plain: bool = False

    @property
    def finite(self) -> Curve:
        """The same where values are finite numbers."""
        kept = [(x, y) for x, y in zip(self.levels, self.values, strict=True) if y is not None and math.isfinite(y)]
        return replace(self, levels=[x for x, _ in kept], values=[y for _, y in kept])


@dataclass(frozen=True)
class Band:
    """What is between two curves at the same levels, shaded; of several, later ones lie over earlier ones."""

    name: str
    low: Curve
    high: Curve


@dataclass(frozen=True)
class _Scale:
    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)

    @property
    def ticks(self) -> list[float]:
        """Some 5 round numbers in the range."""
        # The smallest of 1, 2, 2.5, 5, 10 times a power of ten that gives at most six intervals.
        power = 10.0 ** math.floor(math.log10((self.high - self.low) / 4))
        step = next(part * power for part in (1, 2, 2.5, 5, 10) if (self.high - self.low) / (part * power) <= 6)
        first = math.ceil(self.low / step - 1e-9)
        return [tick * step for tick in range(first, math.floor(self.high / step + 1e-9) + 1)]


def chart(curves: Sequence[Curve], *, title: str, across: str, up: str, bands: Sequence[Band] = ()) -> Markup:
    """A figure with a legend, without what is not finite."""
    # The axes span all that is drawn, with a margin; bands are below the curves.
    curves = [kept for curve in curves if (kept := curve.finite).levels]
    if not curves:
        return element("p", f"{title}: nothing that is finite")
    every = [*curves, *(side for band in bands for side in (band.low, band.high))]
    levels, values = ([float(v) for c in every for v in getattr(c, key)] for key in ("levels", "values"))
    x = _scale(levels, _LEFT, _WIDTH - _RIGHT, 0.02)
    y = _scale(values, _HEIGHT - _BOTTOM, _TOP, 0.06)
    parts = [_axes(x, y, across, up)]
    for place, band in enumerate(bands):
        outline = [*_points(band.low, x, y), *_points(band.high, x, y)[::-1]]
        parts.append(element("polygon", points=_path(outline), class_=f"band band-{place}"))
    parts += [_drawn(curve, position, x, y) for position, curve in enumerate(curves)]
    label = _described(title, curves)
    drawn = element("svg", *parts, viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}", role="img", aria_label=label)
    legend = [
        *(element("li", _swatch(curve, position), curve.name) for position, curve in enumerate(curves)),
        *(element("li", _shade(place), band.name) for place, band in enumerate(bands)),
    ]
    return element(
        "figure", element("figcaption", title), drawn, element("ul", *legend, class_="legend"), class_="chart"
    )


def _scale(values: Sequence[float], start: float, end: float, margin: float) -> _Scale:
    low = min(values)
    high = max(values)
    room = margin * (high - low) or 0.05 * abs(high) or 1.0
    return _Scale(low - room, high + room, start, end)


def _axes(x: _Scale, y: _Scale, across: str, up: str) -> Markup:
    parts: list[Markup] = []
    for value, text in zip(y.ticks, _ticks(y.ticks), strict=True):
        parts.append(element("line", x1=x.start, x2=x.end, y1=y(value), y2=y(value), class_="grid"))
        parts.append(element("text", text, x=x.start - 7, y=y(value) + 4, text_anchor="end"))
    for value, text in zip(x.ticks, _ticks(x.ticks), strict=True):
        parts.append(element("line", x1=x(value), x2=x(value), y1=y.start, y2=y.start + 4, class_="tick"))
        parts.append(element("text", text, x=x(value), y=y.start + 18, text_anchor="middle"))
    parts.append(element("line", x1=x.start, x2=x.end, y1=y.start, y2=y.start, class_="tick"))
    middle = ((x.start + x.end) / 2, (y.start + y.end) / 2)
    parts.append(element("text", across, x=middle[0], y=_HEIGHT - 6, text_anchor="middle"))
    turned = f"translate(13 {middle[1]:g}) rotate(-90)"
    return joined([*parts, element("text", up, transform=turned, text_anchor="middle")])


def _ticks(values: Sequence[float]) -> list[str]:
    """Return numbers as text with the same number of digits, as few as tell them apart."""
    step = min((b - a for a, b in pairwise(values)), default=1.0)
    digits = max(0, 1 - math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
    texts = [f"{value:.{min(digits, 12)}f}" for value in values]
    while digits and all(text.endswith("0") for text in texts):
        texts = [text[:-1] for text in texts]
        digits -= 1
    return [text.rstrip(".") if "." in text else text for text in texts]


def _points(curve: Curve, x: _Scale, y: _Scale) -> list[tuple[float, float]]:
    return [(x(level), y(value)) for level, value in zip(curve.levels, curve.values, strict=True)]


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _drawn(curve: Curve, position: int, x: _Scale, y: _Scale) -> Markup:
    colour = _colour(curve, position)
    points = _points(curve, x, y)
    parts = [element("polyline", points=_path(points), stroke_dasharray=_dash(curve, position))]
    if not (curve.dashed or curve.plain):
        for (across, up), level, value in zip(points, curve.levels, curve.values, strict=True):
            value_shown = element("title", f"{curve.name}: {value:.7g} at {level:.6g}")
            parts.append(element("circle", value_shown, cx=across, cy=up, r=3.5))
    return element("g", *parts, class_=f"curve colour-{colour}")


def _swatch(curve: Curve, position: int) -> Markup:
    line = element("line", x1=1, x2=27, y1=6, y2=6, stroke_dasharray=_dash(curve, position))
    mark = [] if curve.dashed or curve.plain else [element("circle", cx=14, cy=6, r=3.5)]
    inside = element("g", line, *mark, class_=f"curve colour-{_colour(curve, position)}")
    return element("svg", inside, viewBox="0 0 28 12", class_="swatch", aria_hidden="true")


def _shade(place: int) -> Markup:
    # The bands before it are beneath it in the chart, and make it darker.
    layers = (element("rect", width=28, height=12, class_=f"band band-{below}") for below in range(place + 1))
    return element("svg", *layers, viewBox="0 0 28 12", class_="swatch", aria_hidden="true")


def _colour(curve: Curve, position: int) -> int:
    return position % _COLOURS if curve.colour is None else curve.colour


def _dash(curve: Curve, position: int) -> str | None:
    return "5 4" if curve.dashed else _DASHES[position // _COLOURS % len(_DASHES)] or None


def _described(title: str, curves: Sequence[Curve]) -> str:
    ranges = (
        f"{curve.name} goes from {curve.values[0]:.4g} at {curve.levels[0]:.4g} to {curve.values[-1]:.4g} "
        f"at {curve.levels[-1]:.4g}"
        for curve in curves
    )
    return f"{title}: {'; '.join(ranges)}"


def stairs(levels: Sequence[float], values: Sequence[float], *, ahead: bool) -> tuple[list[float], list[float]]:
    """Corners of a staircase: between two levels the value of the first, or, with `ahead`, of the second."""
    corners = np.repeat(np.asarray(levels, dtype=float), 2)[1:-1]
    held = np.repeat(np.asarray(values, dtype=float)[1:] if ahead else np.asarray(values, dtype=float)[:-1], 2)
    return corners.tolist(), held.tolist()
