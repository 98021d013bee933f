"""Figures 2 and 3: the regions of regular priors of three and of four answers."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from dxopt.results.figures import plots
from dxopt.results.figures.regions import draw_regions_on
from problems.ecp14.settings import record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (0.7, 1.6)
"""The levels of Figure 2 (Example 1)."""
DISTANCES = (0.5, 1.0, 2.0, 4.0)
"""Of Figure 3; the paper does not say in its text which it draws."""


def three_answers() -> dict[str, dx.MetricSpace]:
    """Three answers as a line and as a circle (Example 1)."""
    return {
        "line": dx.MetricSpace.from_graph(nx.Graph([(1, 2), (2, 3)])),
        "circle": dx.MetricSpace.from_graph(nx.Graph([(1, 2), (2, 3), (3, 1)])),
    }


def figure_2() -> Figure:
    """Regions of regular priors of three answers, in the triangle of all priors."""
    with plots.style():
        figure = plots.blank(10.4, 5.2)
        for axes, (name, space) in zip(figure.subplots(1, 2), three_answers().items(), strict=True):
            draw_regions_on(axes, [dx.regularity.region(space, level) for level in LEVELS])
            axes.set_title(f"{name}: 1 – 2 – 3" + (" – 1" if name == "circle" else ""), pad=16)
        figure.suptitle("Regular priors of three answers, ε per edge (ECP14, Example 1, Fig. 2)")
    return figure


def figure_3() -> Figure:
    """Regions of regular priors of four answers at mutual distance D, as seen in their first three probabilities."""
    space = record()
    with plots.style():
        figure = plots.blank(10.4, 9.6)
        for place, (distance, colour) in enumerate(zip(DISTANCES, plots.COLOURS, strict=False), start=1):
            axes: Any = figure.add_subplot(2, 2, place, projection="3d")
            _wires(axes, np.vstack([np.zeros(3), np.eye(3)]), "#888888", "all priors")
            found = dx.regularity.region(space, distance)
            _polytope(axes, found.corners[:, :3], colour, f"regular: {found.volume:.1%} of all")
            axes.plot(*[[0.25]] * 3, marker="*", color="black", linestyle="none", label="uniform prior", zorder=9)
            axes.set(
                xlabel="probability of answer 1", ylabel="probability of answer 2", zlabel="probability of answer 3"
            )
            axes.set(xlim=(0, 1), ylim=(0, 1), zlim=(0, 1), title=f"D = {distance}")
            axes.computed_zorder = False
            axes.view_init(elev=24, azim=28)
            axes.set_box_aspect(None, zoom=0.86)
            axes.legend(loc="upper right")
        figure.suptitle("Regular priors of four answers at distance D from each other (ECP14, Example 2, Fig. 3)")
    return figure


def _wires(axes: Any, points: NDArray[np.float64], colour: str, name: str | None) -> None:
    for start, end in combinations(points, 2):
        axes.plot(*np.array([start, end]).T, color=colour, linewidth=1, label=name)
        name = None


def _polytope(axes: Any, points: NDArray[np.float64], colour: str, name: str) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    axes.add_collection3d(Poly3DCollection(list(combinations(points, 3)), facecolor=colour, alpha=0.22))
    _wires(axes, points, colour, name)
    axes.scatter(*points.T, color=colour, s=18, depthshade=False, zorder=5)
    sides = (("left", "top"), ("left", "top"), ("right", "center"), ("right", "bottom"))
    for name, point, (side, height) in zip("¹²³⁴", points, sides, strict=True):
        axes.text(*point, f"  c{name}  ", color=colour, ha=side, va=height, zorder=10)
