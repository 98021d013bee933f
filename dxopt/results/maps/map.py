"""Maps of a mechanism: how probable each report is, for chosen secrets or under the prior."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import PriorLike
from dxopt.results.figures.plots import COLOURS, blank, figure_bytes, style
from dxopt.results.maps.geojson import geojson
from dxopt.results.maps.located import KM_PER_DEGREE, Located, Window
from dxopt.results.maps.underlay import Underlay
from dxopt.results.report import Report
from dxopt.spaces.geo.areas import Area
from dxopt.spaces.positions import Positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".geojson")
MOST_PANELS = 9
_MAP = "YlGnBu"
_MARK = COLOURS[1]
_GREY = "#8a8a8a"
_NEVER = "#ededed"
_STREET = "#b5b5b5"
_PANEL = 3.5
"""Inches across a panel, where there are several."""


@dataclass(frozen=True, eq=False)
class _Panel:
    """One map of a figure: probabilities of locations, and the index of the secret if they are given one."""

    title: str
    values: NDArray[np.float64]
    found: Positions
    secret: int | None = None


def draw_map(
    answer: Mechanism | Report, *, secret: Any = None, prior: PriorLike | None = None, underlay: Area | None = None
) -> Figure:
    """Draw a map of the probabilities of the reports of a mechanism.

    Parameters
    ----------
    answer : Mechanism or Report
        On locations with positions on the Earth: haversine or geodesic distances, or a space that `dx.geo` makes.
        Cells are filled, roads drawn beneath.
    secret : label or mapping, or sequence of them, optional
        A mapping with `label`, `index` or `point` says what is given.
        A panel for each, at most 9, with K[x, z] for each report z; the secret x is marked. Without any, one panel
        shows the prior, and another the probability Σ_x π_x K[x, z] of each report.
    prior : Prior, optional
        That of the report, or uniform, by default.
    underlay : file name, GeoJSON as a mapping, geometry of Shapely, or GeoDataFrame or GeoSeries, optional
        Coasts, borders, rivers, roads and names that are drawn under the locations: lines, polygons, named points.

    Raises
    ------
    SpecError
        If there is no such secret, there are too many, the prior is of another size, or the underlay is none.
    UnsupportedError
        If the locations have no positions on the Earth.

    Examples
    --------
    >>> import dxopt as dx
    >>> places = dx.geo.points([[45.50, -73.60], [45.52, -73.58], [45.54, -73.60]], labels=["A", "B", "C"])
    >>> figure = dx.draw_map(dx.classic.exponential(places, epsilon=1.0), secret="A")
    >>> figure.savefig("map.png")
    """
    located = Located.of(answer, prior)
    panels = _panels(located, secret)
    # Up to three panels in a row, and four as two by two. All show the same window and scale of colours,
    # which goes with the square root, so that small probabilities differ as well.
    across = min(len(panels), 2 if len(panels) == 4 else 3)
    down = math.ceil(len(panels) / across)
    window = Window.around(located)
    beneath = None if underlay is None else Underlay.of(underlay, window)
    with style():
        from matplotlib.colors import PowerNorm
        from matplotlib.lines import Line2D

        wide = 5.6 if across == 1 else _PANEL
        figure = blank((wide + 0.8) * across + 0.9, down * (wide * window.steepness + 0.65) + 0.3)
        scale = PowerNorm(0.5, vmin=0.0, vmax=max(float(panel.values.max()) for panel in panels))
        every = np.ravel(figure.subplots(down, across, squeeze=False))
        drawn = [_draw_panel(axes, panel, window, scale, located) for axes, panel in zip(every, panels, strict=False)]
        if beneath is not None:
            for axes in every[: len(panels)]:
                beneath.draw(axes)
        for axes in every[len(panels) :]:
            axes.set_axis_off()
        streets = any(found.streets is not None for found in (located.secrets, located.reports))
        handles = [Line2D([], [], color=_STREET, linewidth=0.8, label="roads of the space")] if streets else []
        handles += [] if beneath is None else beneath.legend()
        if handles:
            figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8)
        bar = figure.colorbar(drawn[0], ax=every, shrink=0.8, pad=0.02, aspect=30)
        never = any((panel.values == 0).any() for panel in panels)
        bar.set_label("probability; ×: never" if never else "probability")
        bar.outline.set_visible(False)
        figure.suptitle(answer.problem.name if isinstance(answer, Report) else answer.name, fontsize=11)
    return figure


def save_map(
    answer: Mechanism | Report, file: Path, *, secret: Sequence[Any] = (), underlay: Path | None = None
) -> Path:
    """Write a map to `*.png` or `*.svg`, or the locations to `*.geojson`, which takes one secret at most.

    Raises
    ------
    SpecError
        If the ending is none of these, the file cannot be written, or as `draw_map`.
    """
    ending = require_ending(file)
    try:
        if ending == ".geojson":
            if underlay is not None:
                raise SpecError("underlay", "is given for GeoJSON", "leave it out, or draw *.png or *.svg")
            if len(secret) > 1:
                raise SpecError("secret", f"{len(secret)} are given for GeoJSON", "give one")
            content = geojson(answer, secret=secret[0] if secret else None)
            text = json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"
            file.write_bytes(text.encode())
        else:
            file.write_bytes(figure_bytes(draw_map(answer, secret=list(secret) or None, underlay=underlay), ending))
    except OSError as error:
        raise SpecError("output", f"{file} cannot be written: {error.strerror}", "name another file") from None
    return file


def require_ending(file: Path) -> str:
    """Return the ending of a file that `save_map` can write; raise SpecError at any other."""
    ending = file.suffix.lower()
    if ending not in ENDINGS:
        raise SpecError("output", f"{file} has no known ending", f"end it with {', '.join(ENDINGS)}")
    return ending


def _panels(located: Located, secret: Any) -> list[_Panel]:
    """Return a panel for each secret that is asked for; without any, one of the prior and one of all reports."""
    if secret is None:
        before = _Panel("where people are: the prior", located.prior, located.secrets)
        return [before, _Panel("what is reported on average", located.expected(), located.reports)]
    several = isinstance(secret, list | range | np.ndarray)  # a tuple is the label of one secret
    asked = secret if several else [secret]
    if not 1 <= len(asked) <= MOST_PANELS:
        raise SpecError("secret", f"{len(asked)} secrets", f"give 1 to {MOST_PANELS} of them")
    panels = []
    for index in map(located.index, asked):
        title = f"what is reported from {located.mechanism.space.labels[index]}"
        panels.append(_Panel(title, located.mechanism.row(index=index), located.reports, index))
    return panels


def _draw_panel(axes: Axes, panel: _Panel, window: Window, scale: Normalize, located: Located) -> Collection:
    """Draw one panel; return its coloured locations, from which the bar of colours is made."""
    from matplotlib import colormaps
    from matplotlib.collections import LineCollection

    found = panel.found
    if found.streets is not None:
        streets = window.on_map(found.streets)
        axes.add_collection(LineCollection(list(streets), colors=_STREET, linewidths=0.8, zorder=1))
    # pale to dark, and grey for what never happens
    colours = colormaps[_MAP].with_extremes(bad=_NEVER)
    draw = _draw_dots if found.outlines is None else _draw_areas
    drawn = draw(axes, panel, window, {"cmap": colours, "norm": scale, "linewidths": 0.4})
    if panel.secret is not None:
        x, y = window.on_map(located.secrets.degrees[panel.secret])
        axes.plot([x], [y], "o", ms=11, mfc="none", mec="white", mew=3.2, zorder=4)
        axes.plot([x], [y], "o", ms=11, mfc="none", mec=_MARK, mew=1.8, zorder=5, label="the secret")
        axes.legend(loc="lower right", handletextpad=0.2, borderaxespad=0.1)
    # What is never reported is crossed out: pale it would look like what is rarely reported.
    never = panel.values == 0
    if never.any():
        x, y = window.on_map(found.degrees[never]).T
        size = float(np.clip(60 / math.sqrt(len(panel.values)), 1, 3.5))
        axes.plot(x, y, "x", ms=size, mew=0.7, color=_GREY, zorder=3.5)
    axes.set(xlim=(window.west, window.east), ylim=(window.south, window.north), aspect=1 / window.shrinking)
    axes.set_title(panel.title, fontsize=9.5)
    axes.grid(visible=False)
    _label_degrees(axes)
    _scale_bar(axes, window)
    return drawn


def _draw_areas(axes: Axes, panel: _Panel, window: Window, style: dict[str, Any]) -> Collection:
    from matplotlib.collections import PolyCollection

    shapes = list(window.on_map(np.asarray(panel.found.outlines)))
    areas = PolyCollection(shapes, edgecolors="white", zorder=2, **style)
    areas.set_array(_nan_where_never(panel.values))
    return axes.add_collection(areas)


def _draw_dots(axes: Axes, panel: _Panel, window: Window, style: dict[str, Any]) -> Collection:
    x, y = window.on_map(panel.found.degrees).T
    size = _dot_sizes(x, y, window)
    order = np.argsort(panel.values, kind="stable")
    colours = _nan_where_never(panel.values[order])
    return axes.scatter(
        x[order], y[order], s=size[order], c=colours, plotnonfinite=True, edgecolors=_GREY, zorder=3, **style
    )


def _nan_where_never(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities with nan, which has a colour of its own, for what never happens."""
    return np.where(values > 0, values, np.nan)


def _dot_sizes(x: NDArray[np.float64], y: NDArray[np.float64], window: Window) -> NDArray[np.float64]:
    """Return the area of each dot in square points: small enough to hide no neighbour, but 8 at least to be seen."""
    from scipy.spatial import KDTree

    most = np.clip(9000 / len(x), 10, 90)
    if len(x) < 2:
        return np.full(len(x), most)
    places = np.column_stack([x * window.shrinking, y])
    near = KDTree(places).query(places, k=2)[0][:, 1]
    points = 72 * _PANEL / ((window.east - window.west) * window.shrinking)
    return np.clip((near * points) ** 2, 8, most)


def _label_degrees(axes: Axes) -> None:
    """Label both axes with few ticks in degrees, with the letter of the hemisphere."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    def east(value: float, _: int | None) -> str:
        turned = round((value + 180) % 360 - 180, 9)
        return f"{abs(turned):.10g}°" + (" E" if 0 < turned < 180 else " W" if -180 < turned < 0 else "")

    def north(value: float, _: int | None) -> str:
        return f"{abs(value):.10g}°" + (" N" if value > 0 else " S" if value < 0 else "")

    for axis, text in ((axes.xaxis, east), (axes.yaxis, north)):
        axis.set_major_locator(MaxNLocator(4))
        axis.set_major_formatter(FuncFormatter(text))
    axes.tick_params(labelsize=7.5, colors="#555555", length=2.5)


def _scale_bar(axes: Axes, window: Window) -> None:
    """Draw a round number of kilometres, or metres, in the lower left."""
    across = (window.east - window.west) * window.shrinking * KM_PER_DEGREE
    power = 10.0 ** math.floor(math.log10(across / 4))
    length = max(step * power for step in (1, 2, 5) if step * power <= across / 4)
    start = window.west + 0.03 * (window.east - window.west)
    end = start + length / (KM_PER_DEGREE * window.shrinking)
    height = window.south + 0.035 * (window.north - window.south)
    axes.plot([start, end], [height, height], color="#222222", linewidth=2.2, solid_capstyle="butt", zorder=6)
    text = f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"
    axes.annotate(text, ((start + end) / 2, height), (0, 3), textcoords="offset points", ha="center", fontsize=8)
