"""The figures of the pages: `python -m docs.website.figures`."""

from __future__ import annotations

from typing import Any

import h3
import numpy as np
import pandas as pd
import shapely
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import dxopt as dx
from docs.website.links import DOCS, ROOT
from dxopt.results.maps.located import KM_PER_DEGREE

PROBLEMS = ROOT / "problems"
BEFORE, AFTER, LAND, SHORE = "#D55E00", "#0072B2", "#f1f0ec", "#8a8f96"
_KEY = dx.Key(bytes(32))
"""No secret: with it the same people get the same reports each time."""
EPSILONS = np.geomspace(0.1, 3, 30)
_STYLE: dict[Any, Any] = {"svg.hashsalt": "dxopt", "font.size": 11}


def loss_and_odds() -> Figure:
    """Plot the loss of counts from 0 to 60 against ε, and the factor by which odds may change."""
    counts = dx.line(61)
    losses = [
        dx.solve(dx.Problem(counts, epsilon=float(epsilon), prior="uniform")).certificate.value
        for epsilon in EPSILONS
    ]
    figure = Figure(figsize=(7, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(EPSILONS, losses, color="#1f5fa8")
    left.set(xscale="log", xlabel="ε per person", ylabel="off by, on average (people)", ylim=(0, None))
    right.plot(EPSILONS, np.exp(EPSILONS), color="#b3541e", label="one report")
    right.plot(EPSILONS, np.exp(2 * EPSILONS), color="#b3541e", linestyle="--", label="two reports")
    right.set(xscale="log", yscale="log", xlabel="ε per person", ylabel="odds change by a factor of at most")
    right.set_yticks([1, 2, 4, 10, 100, 400], ["1", "2", "4", "10", "100", "400"])
    right.legend(frameon=False)
    for axes in (left, right):
        axes.set_xticks([0.1, 0.3, 1, 3], ["0.1", "0.3", "1", "3"])
        axes.minorticks_off()
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def before_and_after() -> Figure:
    """Map made-up people of Italy, and the reports in place of their positions, made as on the first page."""
    outline = PROBLEMS / "italy.geojson"
    italy = dx.geo.h3_cells(4, polygon=outline)
    epsilon = dx.geo.level("ln(4)", 15, space=italy)
    report = dx.solve(dx.Problem(italy, epsilon=epsilon, prior="uniform"), tolerance=1e-2)
    people = pd.read_csv(PROBLEMS / "italy-people.csv")
    public = dx.apply(report, people, lat="lat", lon="lon", person="person", key=_KEY, release="figure")
    before, after = (frame[["lat", "lon"]].to_numpy() for frame in (people, public))
    off = np.array([dx.geo.points(ends).distances[0, 1] for ends in np.stack([before, after], axis=1)])
    figure = Figure(figsize=(9, 5.3), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes in (left, right):
        for part in shapely.get_parts(shapely.from_geojson(outline.read_text(encoding="utf-8"))):
            axes.fill(*part.exterior.xy, facecolor=LAND, edgecolor=SHORE, linewidth=0.8)
        axes.set_aspect(1 / np.cos(np.radians(42)))
        axes.set_axis_off()
    corners = [np.array(h3.cell_to_boundary(cell))[:, ::-1] for cell in italy.labels]
    right.add_collection(PolyCollection(corners, facecolors="none", edgecolors="#c9c6bf", linewidths=0.5))
    left.scatter(*before[:, ::-1].T, s=9, color=BEFORE, alpha=0.7, linewidths=0)
    places, times = np.unique(after, axis=0, return_counts=True)
    right.scatter(*places[:, ::-1].T, s=9 * times, color=AFTER, alpha=0.8, linewidths=0, zorder=3)
    one = int(np.argmin(np.abs(off - np.mean(off))))
    for axes, at in ((left, before[one]), (right, after[one])):
        axes.plot(*at[::-1], "o", markersize=11, markerfacecolor="none", markeredgecolor="black", zorder=4)
    right.plot(*before[one, ::-1], "o", markersize=3.5, color=BEFORE, zorder=5)
    right.plot(*np.stack([before[one], after[one]])[:, ::-1].T, color="black", linewidth=1, zorder=4)
    left.set_title(f"Before: where {len(people)} people are")
    right.set_title(f"After: what is published, {np.mean(off):.0f} km off on average")
    left.plot([6.8, 6.8 + 200 / KM_PER_DEGREE / np.cos(np.radians(37.5))], [37.5, 37.5], color="black", linewidth=1.5)
    left.text(6.8, 37.65, "200 km")
    right.text(6.8, 37.65, f"the same person,\n{off[one]:.0f} km off", va="top")
    return figure


def main() -> None:
    """Draws all of them, byte for byte with the same versions of everything."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        loss_and_odds().savefig(DOCS / "choose" / "epsilon.svg", metadata={"Date": None})
        before_and_after().savefig(DOCS / "before-and-after.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
