"""Figures 6 and 7: the tight-constraints mechanism beside the geometric and the planar Laplace mechanism."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import dxopt as dx
from dxopt.results.figures import plots
from problems.ecp14.marked import Mark, against_epsilon
from problems.ecp14.settings import PRINTED, locations, sum_query, two_counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Tell = Callable[[str], None]
Levels = NDArray[np.float64]


@cache
def sum_threshold() -> dx.regularity.Threshold:
    """From which level on the sum query has a tight-constraints mechanism: proven."""
    return dx.regularity.threshold(sum_query())


@cache
def counts_threshold() -> dx.regularity.Threshold:
    """Return the same for the two counts."""
    return dx.regularity.threshold(two_counts())


@cache
def locations_threshold(side: int = 16) -> dx.regularity.Threshold:
    """Return the same for a square of places; its first five digits are those of any side from 16 on."""
    return dx.regularity.threshold(locations(side))


def tight_utility(space: dx.MetricSpace, epsilon: float) -> float:
    """Return the binary utility of the tight-constraints mechanism for the uniform prior."""
    return dx.evaluate.utility(dx.tight_constraints(space, epsilon), dx.Prior.uniform(space))


def geometric_sum(epsilon: float, individuals: int = 150, largest: int = 5) -> float:
    """Return the binary utility of the truncated geometric mechanism on sums, with optimal remap.

    At ε/v per unit, as (ε/v)|i - j| ≤ ε⌈|i - j|/v⌉. On a line it is the tight-constraints mechanism (§6.1).
    """
    return tight_utility(dx.line(individuals * largest + 1), epsilon / largest)


def geometric_counts(epsilon: float, individuals: int = 30) -> float:
    """Return the binary utility of two independent truncated geometric mechanisms at ε/2 each, with optimal remap.

    As (ε/2)d₁ ≤ εd∞. Under d₁ the product of the two is the tight-constraints mechanism.
    """
    return tight_utility(dx.grid((individuals + 1, individuals + 1), metric="manhattan"), epsilon / 2)


def planar_laplace(epsilon: float, side: int = 100) -> float:
    """Return the binary utility of planar Laplace noise on a square of places, with optimal remap."""
    space = locations(side)
    return dx.evaluate.utility(dx.classic.planar_laplace(space, epsilon=epsilon), dx.Prior.uniform(space))


def figure_6a(tell: Tell) -> Figure:
    """Return the sum of 150 values from 0 to 5."""
    space = sum_query()
    tell("Fig. 6a: the exact threshold")
    threshold, printed = sum_threshold().value, PRINTED.sum_threshold
    levels = _levels(printed, 0.02)
    tell("Fig. 6a: mechanisms and bounds")
    above = _from(threshold, levels)
    return _figure(
        [
            plots.Curve("tight-constraints", above, [tight_utility(space, e) for e in above], colour=0),
            plots.Curve(
                "no private mechanism does better (proven)", *_bounds(space, levels, threshold), "dashed", colour=2
            ),
            plots.Curve(
                "geometric, ε/5 per unit, on 0, …, 750", levels, [geometric_sum(e) for e in levels], colour=1
            ),
        ],
        "Sum of 150 values from 0 to 5, uniform prior, optimal remap (ECP14 §7.1, Fig. 6a)",
        "privacy level ε per person",
        threshold,
        printed,
    )


def figure_6b(tell: Tell) -> Figure:
    """Two counts of 30 people."""
    space = two_counts()
    tell("Fig. 6b")
    threshold, printed = counts_threshold().value, PRINTED.counts_threshold
    levels = _levels(printed, 0.02)
    above = _from(threshold, levels)
    return _figure(
        [
            plots.Curve("tight-constraints", above, [tight_utility(space, e) for e in above], colour=0),
            plots.Curve(
                "no private mechanism does better (proven)", *_bounds(space, levels, threshold), "dashed", colour=2
            ),
            plots.Curve("geometric, ε/2 per count", levels, [geometric_counts(e) for e in levels], colour=1),
        ],
        "Two counts of 30 people, uniform prior, optimal remap (ECP14 §7.1, Fig. 6b)",
        "privacy level ε per person",
        threshold,
        printed,
    )


def figure_7(tell: Tell) -> Figure:
    """Places on a square of 100 by 100 kilometres."""
    space = locations()
    threshold, printed = locations_threshold().value, PRINTED.locations_from
    levels = _levels(printed, 0.05)
    above = _from(threshold, _levels(printed, 0.025))
    laplace = []
    for level in levels:
        tell(f"Fig. 7: planar Laplace at ε = {level:.2f}")
        laplace.append(planar_laplace(level))
    return _figure(
        [
            plots.Curve("tight-constraints", above, [tight_utility(space, e) for e in above], colour=0),
            plots.Curve("planar Laplace, truncated to the grid", levels, laplace, colour=1),
        ],
        "100 × 100 places 1 km apart, uniform prior, optimal remap (ECP14 §7.2, Fig. 7)",
        "privacy level ε per kilometre",
        threshold,
        printed,
    )


def _levels(start: float, step: float) -> Levels:
    """From the printed threshold to where the paper's figures end."""
    return np.linspace(start, PRINTED.figures_end, round((PRINTED.figures_end - start) / step) + 1)


def _from(threshold: float, levels: Levels) -> Levels:
    """Return the levels above a threshold, and one a hair above it."""
    return np.concatenate([[threshold * (1 + 1e-5)], levels[levels > threshold * (1 + 1e-5)]])


def _bounds(space: dx.MetricSpace, levels: Levels, threshold: float) -> tuple[Levels, list[float]]:
    """Up to a threshold, what the binary utility cannot exceed."""
    below, prior = np.append(levels[levels < threshold], threshold), dx.Prior.uniform(space)
    return below, [dx.regularity.binary_utility_bound(prior, space, level) for level in below]


def _figure(curves: list[plots.Curve], title: str, level: str, threshold: float, printed: float) -> Figure:
    return against_epsilon(
        curves,
        title=title,
        quantity="utility: probability of a right guess",
        level=level,
        marks=[
            Mark(threshold, f"tight-constraints exists from ε = {threshold:.4f} (exact)"),
            Mark(printed, f"printed: from ε = {printed}", "dotted"),
        ],
    )
