"""Figures 2 and 3: the regions of regular priors of three and of four answers."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from dxopt.results.figures import plots
from problems.ecp14.settings import record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEVELS = (0.7, 1.6)
"""The levels of Figure 2 (Example 1)."""
DISTANCES = (0.5, 1.0, 2.0, 4.0)
"""Of Figure 3; the paper does not say in its text which it draws."""
HEIGHT = np.sqrt(3) / 2
TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, HEIGHT]])


def three_answers() -> dict[str, dx.MetricSpace]:
    """Three answers as a line and as a circle (Example 1)."""
    return {
        "line": dx.MetricSpace.from_graph(nx.Graph([(1, 2), (2, 3)])),
        "circle": dx.MetricSpace.from_graph(nx.Graph([(1, 2), (2, 3), (3, 1)])),
    }


def corners(space: dx.MetricSpace, epsilon: float) -> NDArray[np.float64]:
    """Return the corner priors, one in each row `(n, n)`."""
    return np.array([corner.probabilities for corner in dx.regularity.corner_priors(space, epsilon)])


def share(space: dx.MetricSpace, epsilon: float) -> float:
    """Return the volume of the regular priors as a share of that of all priors."""
    return float(abs(np.linalg.det(corners(space, epsilon))))


def figure_2() -> Figure:
    """Regions of regular priors of three answers, in the triangle of all priors."""
    with plots.style():
        figure = plots.blank(10.4, 5.2)
        for axes, (name, space) in zip(figure.subplots(1, 2), three_answers().items(), strict=True):
            _triangle(axes)
            for level, colour in zip(LEVELS, plots.COLOURS, strict=False):
                _region(axes, space, level, colour)
            uniform = np.full(3, 1 / 3) @ TRIANGLE
            axes.plot(*uniform, marker="*", color="black", linestyle="none", markersize=9, label="uniform prior")
            axes.set_title(f"{name}: 1 – 2 – 3" + (" – 1" if name == "circle" else ""), pad=16)
            axes.legend(loc="upper right", bbox_to_anchor=(1.09, 1.0))
        figure.suptitle("Regular priors of three answers, ε per edge (ECP14, Example 1, Fig. 2)")
    return figure


def _region(axes: Axes, space: dx.MetricSpace, level: float, colour: str) -> None:
    points = corners(space, level) @ TRIANGLE
    axes.fill(*points.T, facecolor=colour, alpha=0.22, zorder=2)
    axes.plot(
        *np.vstack([points, points[:1]]).T,
        color=colour,
        marker="o",
        markersize=4,
        zorder=3,
        label=f"ε = {level}: {share(space, level):.1%} of all priors",
    )
    for name, point, (right, up) in zip(
        "¹²³", points, ((-0.035, 0.012), (0.035, -0.012), (-0.03, 0.02)), strict=True
    ):
        axes.text(point[0] + right, point[1] + up, f"c{name}", color=colour, ha="center", va="center", zorder=4)


def _triangle(axes: Axes) -> None:
    """Return the triangle of priors with a scale of probabilities along each side."""
    axes.plot(*np.vstack([TRIANGLE, TRIANGLE[:1]]).T, color="#444444", linewidth=1)
    for tenth in (2, 4, 6, 8):
        part = tenth / 10
        for first in range(3):
            second, third = (first + 1) % 3, (first + 2) % 3
            start = part * TRIANGLE[first] + (1 - part) * TRIANGLE[second]
            end = part * TRIANGLE[first] + (1 - part) * TRIANGLE[third]
            axes.plot(*np.array([start, end]).T, color="#dddddd", linewidth=0.6, zorder=0)
            outwards = start - end
            place = start + 0.035 * outwards / np.linalg.norm(outwards)
            axes.text(place[0], place[1], f"{part:.1f}", fontsize=7, color="#666666", ha="center", va="center")
    sides = ((0, 1, 0.0, (0.0, -0.085)), (1, 2, -60.0, (0.095, 0.05)), (2, 0, 60.0, (-0.095, 0.05)))
    for first, second, turn, (right, up) in sides:
        along, height = (TRIANGLE[first] + TRIANGLE[second]) / 2
        text = f"probability of answer {first + 1}"
        axes.text(along + right, height + up, text, rotation=turn, fontsize=9, ha="center", va="center")
    for place, (corner, (right, up)) in enumerate(
        zip(TRIANGLE, ((-0.07, -0.05), (0.07, -0.05), (0, 0.05)), strict=True)
    ):
        axes.text(
            corner[0] + right, corner[1] + up, f"answer {place + 1}", ha="center", fontsize=9, fontweight="bold"
        )
    axes.set_aspect("equal")
    axes.axis("off")


def figure_3() -> Figure:
    """Regions of regular priors of four answers at mutual distance D, as seen in their first three probabilities."""
    space = record()
    with plots.style():
        figure = plots.blank(10.4, 9.6)
        for place, (distance, colour) in enumerate(zip(DISTANCES, plots.COLOURS, strict=False), start=1):
            axes: Any = figure.add_subplot(2, 2, place, projection="3d")
            _wires(axes, np.vstack([np.zeros(3), np.eye(3)]), "#888888", "all priors")
            _polytope(axes, corners(space, distance)[:, :3], colour, f"regular: {share(space, distance):.1%} of all")
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
