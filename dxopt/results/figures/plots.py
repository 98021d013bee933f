"""Curves against the privacy level in one style, saved so that the same figure gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from dxopt.errors import SpecError
from dxopt.runtime.reading import as_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

BOTH = (".svg", ".png")
ENDINGS: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
"""Of files of figures, with the metadata that are left out, so that the same figure gives the same bytes."""
Line = Literal["solid", "dashed", "dotted", "points"]
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLE: dict[str, Any] = {
    "axes.formatter.useoffset": False,
    "axes.grid": True,
    "axes.labelsize": 10,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 11,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.alpha": 0.3,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "savefig.dpi": 150,
    "svg.hashsalt": "dxopt",  # else ids in an SVG are random
    "text.parse_math": False,  # names are not formulas
}
_FEW_POWERS = 20.0
"""Up to this ratio of its ends, an axis has one power of ten or two."""
_JOINED = 3
_SWATCH = 50.0
_LETTER = 4.8
"""Points across an entry of a legend: what stands before its name, and a letter of that."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Values `(k,)` of a quantity at privacy levels `(k,)`: a line in a colour of `COLOURS`, with a symbol or none.

    The symbols of `points` are not joined.
    """

    label: str
    levels: ArrayLike
    values: ArrayLike
    line: Line = "solid"
    colour: int = 0
    marker: str = ""


def style() -> AbstractContextManager[None]:
    """Return a context with the style of all figures, in which to draw, whatever the user's settings are."""
    import matplotlib

    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, **_STYLE}
    return matplotlib.rc_context(settings)


def unjoined(curve: Curve) -> Curve:
    """Return a curve whose values are symbols that nothing joins where there are fewer than three of them.

    Between two values alone, a line would look like a curve that nobody has computed.
    """
    if np.isfinite(np.asarray(curve.values, dtype=float)).sum() >= _JOINED:
        return curve
    return replace(curve, line="points", marker=curve.marker or ("_" if curve.line == "dashed" else ""))


def blank(width: float = 7.2, height: float = 4.6) -> Figure:
    """Return an empty figure of a size in inches, which lays itself out, needs no display and shows in notebooks."""
    from dxopt.results.figures.drawing import Figure

    return Figure(width, height)


def against_epsilon(curves: Sequence[Curve], *, title: str, quantity: str, level: str) -> Figure:
    """Return a figure of curves with a legend below; `quantity` and `level` label its two axes, up and across."""
    with style():
        figure = blank(7.2, 5.4)
        axes = figure.add_subplot()
        draw(axes, curves)
        axes.set(title=title, xlabel=level, ylabel=quantity)
        name_below(figure, *axes.get_legend_handles_labels())
    return figure


def name_below(figure: Figure, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Draw one legend below all panels of a figure, in as many columns as there is room for."""
    if handles:
        longest = _SWATCH + _LETTER * max(map(len, labels))
        columns = min(max(int(72 * figure.get_figwidth() / longest), 1), 3, len(handles))
        figure.legend(handles, labels, loc="outside lower center", ncols=columns)


def fit(figure: Figure, width: float) -> None:
    """Make a figure so many inches wide, with a new legend: bars keep their height, curves become less high."""
    wide, high = figure.get_size_inches()
    rows = any(axes.containers for axes in figure.axes)
    figure.set_size_inches(width, high if rows else high * (width / wide) ** 0.5)
    with style():
        for legend in list(figure.legends):
            handles, labels = legend.legend_handles, [text.get_text() for text in legend.get_texts()]
            legend.remove()
            name_below(figure, [handle for handle in handles if handle is not None], labels)


def draw(axes: Axes, curves: Iterable[Curve]) -> None:
    """Draw curves on axes of a larger figure, without titles and legend."""
    for curve in curves:
        joined = curve.line != "points"
        axes.plot(
            np.asarray(curve.levels),
            np.asarray(curve.values),
            linestyle=curve.line if joined else "none",
            marker=curve.marker or (None if joined else "o"),  # points alone need a symbol to be seen
            markersize=4 if joined else None,
            color=COLOURS[curve.colour],
            label=curve.label,
        )


def logarithmic(axis: Axis) -> None:
    """Label a logarithmic axis with plain numbers, as "0.01" and not as a formula; also between few powers of ten."""
    from matplotlib.ticker import FuncFormatter

    def minor(value: float, _: int | None) -> str:
        low, high = axis.get_view_interval()
        return f"{value:g}" if high < _FEW_POWERS * low else ""

    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(FuncFormatter(minor))


def figure_bytes(figure: Figure, ending: str, *, inline: bool = False) -> bytes:
    """Return the bytes of a figure as a file of one of the `ENDINGS`, without dates or versions.

    With `inline`, for SVG within a page, it has no background, and letters are text rather than shapes.
    """
    import matplotlib

    content = BytesIO()
    with style(), matplotlib.rc_context({"svg.fonttype": "none" if inline else "path"}):
        figure.savefig(content, format=ending[1:], metadata=ENDINGS[ending], transparent=inline)
    return content.getvalue()


def pictures(name: str, figure: Figure) -> dict[str, bytes]:
    """Return the files `name.svg` and `name.png` of a figure, as bytes by name, for a result folder."""
    return {f"{name}{ending}": figure_bytes(figure, ending) for ending in BOTH}


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write `name.svg` and `name.png` to a folder, which is made where it is missing."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for file, content in pictures(name, figure).items():
        (folder / file).write_bytes(content)
        written.append(folder / file)
    return written


def saved_if_asked(figure: Figure, file: str | Path | None) -> Figure:
    """Return the figure; if a file is given, write it there first, in the format of its extension.

    Without an extension both an SVG and a PNG are written.

    Raises
    ------
    SpecError
        If the extension is unknown or the file cannot be written; its field is "save", the argument of `plot`.
    """
    if file is None:
        return figure
    target = as_path(file, "save")
    if not target.name:
        raise SpecError("save", f"{target} names no file", "name a file *.svg, *.png or *.pdf")
    ending = target.suffix.lower()
    if ending and ending not in ENDINGS:
        raise SpecError("save", f"{target} ends with {ending}", f"end it with {', '.join(ENDINGS)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for one in (ending,) if ending else BOTH:
            target.with_suffix(target.suffix or one).write_bytes(figure_bytes(figure, one))
    except OSError as error:
        raise SpecError("save", f"{target} cannot be written: {error.strerror}", "name another file") from None
    return figure
