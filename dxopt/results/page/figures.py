"""The figures of a page as separate PNG and SVG files, for papers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dxopt.errors import SpecError
from dxopt.results.figures import plots
from dxopt.results.maps.map import draw_map
from dxopt.results.page import channels
from dxopt.results.page.channels import Plane
from dxopt.results.page.entries import Entry
from dxopt.results.page.overview import families, family_figure
from dxopt.results.report import Report
from dxopt.spaces.geo.points import known

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figures(
    answers: Sequence[Report | Entry], folder: Path, *, tell: Callable[[str], None] = lambda line: None
) -> list[Path]:
    """Write channels, maps, comparisons, sweeps and families of levels as `*.svg` and `*.png`.

    Maps are of locations on the Earth or in a plane.

    Parameters
    ----------
    answers : sequence of Report or Entry
        Channels of more than 640,000 entries are left out.
    folder : Path
        It is made where it is missing.
    tell : callable
        Given a line for each result.

    Raises
    ------
    SpecError
        If a file cannot be written.
    """
    entries = [Entry.of(answer) for answer in answers]
    written: list[Path] = []
    try:
        for name, figure in _figures(entries, tell):
            written += plots.save(figure, folder, name)
    except OSError as error:
        raise SpecError("output", f"{folder} cannot be written: {error.strerror}", "name another folder") from None
    return written


def _figures(entries: Sequence[Entry], tell: Callable[[str], None]) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of all entries, each with the name of its files."""
    for number, entry in enumerate(entries, 1):
        report = entry.report
        name = _as_file_name(entry.name) if len(entries) == 1 else f"{number}-{_as_file_name(entry.name)}"
        if entry.sweep is not None:
            yield f"{name}-sweep", entry.sweep.figure()
        if report is not None and report.comparison is not None:
            yield f"{name}-comparison", report.comparison.figure()
        if report is None or channels.count_entries(report) > channels.CELLS:
            continue
        tell(f"drawing {number} of {len(entries)}: {entry.name}")
        yield f"{name}-channel", channel_figure(report)
        if (drawn := map_figure(report)) is not None:
            yield f"{name}-map", drawn
    for number, group in enumerate(families(entries), 1):
        yield f"against-epsilon-{number}", family_figure(group)


def result_figure(report: Report) -> Figure:
    """Draw the map of a result, or its channel where it has none."""
    return map_figure(report) or channel_figure(report)


def map_figure(report: Report) -> Figure | None:
    """Draw the map of locations on the Earth or in a plane; None for other secrets."""
    if known(report.mechanism.space) is not None:
        return draw_map(report) if report.mechanism.reports.secrets else None
    plane = Plane.of(report)
    return None if plane is None else plane_figure(report, plane)


def channel_figure(report: Report) -> Figure:
    """Draw the probabilities K[x, z] as colours, on a logarithmic scale; white where they are 0."""
    matrix = report.mechanism.matrix
    positive = matrix[matrix > 0]
    with plots.style():
        from matplotlib.colors import LogNorm

        figure = plots.blank(5.4, 4.6)
        axes = figure.add_subplot()
        least = min(max(float(positive.min()), 1e-6), 0.5)
        masked = np.ma.masked_less_equal(matrix, 0.0)
        drawn = axes.imshow(masked, norm=LogNorm(least, 1.0), cmap="YlGnBu", aspect="auto", interpolation="nearest")
        axes.set(title=report.problem.name, xlabel="report", ylabel="secret")
        axes.grid(visible=False)
        extend = "min" if positive.min() < least else "neither"
        bar = figure.colorbar(drawn, ax=axes, label="probability", extend=extend)
        plots.logarithmic(bar.ax.yaxis)
    return figure


def plane_figure(report: Report, plane: Plane) -> Figure:
    """Draw the prior, and Σ_x π_x K[x, z] of each report z, at points of a plane, in the colours of `draw_map`."""
    reports = plane.secrets if plane.reports is None else plane.reports
    panels = [
        ("where secrets are: the prior", plane.secrets, report.problem.prior.probabilities),
        ("what is reported on average", reports, np.array(channels.report_probabilities(report))),
    ]
    every = np.vstack([points for _, points, _ in panels])
    across, up = np.maximum(np.ptp(every, axis=0), 1e-12)
    with plots.style():
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import PowerNorm

        figure = plots.blank(9.5, 0.9 + 3.9 * min(max(up / across, 1 / 3), 2.0))
        scale = PowerNorm(0.5, vmin=0.0, vmax=max(float(values.max()) for _, _, values in panels))
        both = figure.subplots(1, 2, sharex=True, sharey=True)
        for axes, (title, points, values) in zip(both, panels, strict=True):
            size = float(np.clip(9000 / len(values), 10, 160))
            x, y = points.T
            axes.scatter(
                x, y, s=size, c=values, cmap="YlGnBu", norm=scale, edgecolors="#8a8a8a", linewidths=0.4, zorder=3
            )
            never = values == 0
            axes.plot(x[never], y[never], "x", ms=3, mew=0.7, color="#8a8a8a", zorder=3.5)
            axes.set(title=title, xlabel="first coordinate", ylabel="second coordinate", aspect="equal")
            axes.label_outer()
            axes.margins(0.1)
        figure.colorbar(ScalarMappable(scale, "YlGnBu"), ax=both, label="probability; ×: never", shrink=0.9)
        figure.suptitle(report.problem.name, fontsize=11)
    return figure


def _as_file_name(name: str) -> str:
    """Return a name with everything but letters, digits and "_.=-" replaced, so that it is safe in a file name."""
    return re.sub(r"[^\w.=-]+", "-", name).strip("-.") or "result"
