"""Draw the regular priors of three secrets in the triangle of all priors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dxopt.analysis.regularity.regions import Region, region
from dxopt.errors import UnsupportedError
from dxopt.numerics.coerce import as_list
from dxopt.numerics.number_syntax import Written, level_text
from dxopt.results.figures import plots
from dxopt.results.figures.plots import saved_if_asked
from dxopt.spaces.space import MetricSpace, required_space

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = np.sqrt(3) / 2
_TRIANGLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, _HEIGHT]])
_NAMES = ((-0.07, -0.05), (0.07, -0.05), (0, 0.05))
"""Positions of the names of the secrets beside their corners."""
_SIDES = ((0, 1, 0.0, (0.0, -0.085)), (1, 2, -60.0, (0.095, 0.05)), (2, 0, 60.0, (-0.095, 0.05)))
"""The two ends of each side of the triangle, how its text is turned, and where it stands."""


def draw_region(
    space: MetricSpace, epsilons: Written | Sequence[Written], *, save: str | Path | None = None
) -> Figure:
    """Draw the regular priors of three secrets at one or several ε, in the triangle of all priors (ECP14, Fig 2).

    Parameters
    ----------
    space : MetricSpace
        Of three secrets.
    epsilons : float, str or sequence of these
    save : path, optional
        File to write, such as region.svg.

    Raises
    ------
    UnsupportedError
        If there are not three secrets.

    Examples
    --------
    >>> import dxopt as dx
    >>> axes = dx.draw_region(dx.line(3), [0.7, 1.6]).axes[0]
    >>> print(axes.get_legend_handles_labels()[1])
    ['ε = 0.7: 9.4% of all priors', 'ε = 1.6: 42.4% of all priors', 'uniform prior']
    """
    required_space(space)
    one = isinstance(epsilons, str | int | float)
    levels = [epsilons] if one else as_list(epsilons, "epsilons", "give a level, or a list of them")
    with plots.style():
        figure = plots.blank(5.6, 5.2)
        draw_regions_on(figure.subplots(), [region(space, level) for level in levels])
    return saved_if_asked(figure, save)


def draw_regions_on(axes: Axes, regions: Sequence[Region]) -> None:
    """Draw the triangle of all priors of three secrets, some regions in it, and the uniform prior."""
    if any(len(one.corners) != 3 for one in regions) or not regions:
        raise UnsupportedError(
            "space", "has not three secrets", "draw regions of three: the priors of more fill no plane"
        )
    _draw_triangle(axes, [str(label) for label in regions[0].space.labels])
    for one, colour in zip(regions, plots.COLOURS * len(regions), strict=False):
        points = one.corners @ _TRIANGLE
        named = f"ε = {level_text(one.epsilon)}: {one.volume:.1%} of all priors"
        axes.fill(*points.T, facecolor=colour, alpha=0.22, zorder=2)
        closed = np.vstack([points, points[:1]])
        axes.plot(*closed.T, color=colour, marker="o", markersize=4, zorder=3, label=named)
    uniform = np.full(3, 1 / 3) @ _TRIANGLE
    axes.plot(*uniform, marker="*", color="black", linestyle="none", markersize=9, label="uniform prior")
    axes.legend(loc="upper right", bbox_to_anchor=(1.09, 1.0))


def _draw_triangle(axes: Axes, labels: Sequence[str]) -> None:
    """Draw the triangle of priors, with a scale of probabilities along each side."""
    axes.plot(*np.vstack([_TRIANGLE, _TRIANGLE[:1]]).T, color="#444444", linewidth=1)
    for part in (0.2, 0.4, 0.6, 0.8):
        for first in range(3):
            second, third = (first + 1) % 3, (first + 2) % 3
            start = part * _TRIANGLE[first] + (1 - part) * _TRIANGLE[second]
            end = part * _TRIANGLE[first] + (1 - part) * _TRIANGLE[third]
            axes.plot(*np.array([start, end]).T, color="#dddddd", linewidth=0.6, zorder=0)
            outwards = start - end
            place = start + 0.035 * outwards / np.linalg.norm(outwards)
            axes.text(place[0], place[1], f"{part:.1f}", fontsize=7, color="#666666", ha="center", va="center")
    for first, second, turn, (right, up) in _SIDES:
        along, height = (_TRIANGLE[first] + _TRIANGLE[second]) / 2
        text = f"probability of {labels[first]}"
        axes.text(along + right, height + up, text, rotation=turn, fontsize=9, ha="center", va="center")
    for label, corner, (right, up) in zip(labels, _TRIANGLE, _NAMES, strict=True):
        axes.text(corner[0] + right, corner[1] + up, label, ha="center", fontsize=9, fontweight="bold")
    axes.set_aspect("equal")
    axes.axis("off")
