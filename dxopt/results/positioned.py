"""What promises and losses between places mean for the positions that are moved to them, in plain words."""

from __future__ import annotations

import math

from dxopt.numerics.digits import at_most, factor, floor_of, three_digits
from dxopt.results.explained import Explained
from dxopt.spaces.units import per, with_unit


def by_distance(found: Explained) -> bool:
    """Whether the value is a mean distance between the centres of cells."""
    known = found.cell is not None and found.mean_way is not None and math.isfinite(found.value or 0.0)
    return known and found.title == "expected loss" and found.kind == "distance"


def from_positions(found: Explained) -> str:
    """What positions lose, whose way to the centre of their cell is not in the value."""
    value, mean, most = found.value or 0.0, found.mean_way or 0.0, found.cell or 0.0
    spread, furthest = (with_unit(at_most(value + way), found.value_unit) for way in (mean, most))
    ways = [with_unit(at_most(way), found.unit) for way in (mean, most)]
    return (
        f"The way from a position to the centre of its place comes on top: {ways[0]} on average where positions lie "
        f"evenly over their places, {ways[1]} at most. So a report is at most {spread} from the position on average "
        f"in the first case, {furthest} in any."
    )


def border(found: Explained) -> str:
    """What the promise means for positions where it is not known how far they are from their places."""
    text = (
        "The promise is about places, to which positions are moved first: within one place nothing can be told apart"
    )
    if found.nearest is None or found.epsilon is None:
        return f"{text}, and two positions across a border are as far apart as their places."
    near = with_unit(three_digits(found.nearest), found.unit)
    times = factor(found.epsilon * found.nearest)
    return (
        f"{text}, but two positions on both sides of a border, however close, are as far apart as their places, "
        f"{near} or more: the odds between them may change by a factor of {times} or more."
    )


def between_places(found: Explained, across: float, epsilon: float) -> str:
    """What is promised between the centres of cells, and why that is less between positions."""
    near, apart = with_unit(three_digits(found.apart), found.unit), with_unit(at_most(across), found.unit)
    promised = factor(epsilon * found.apart)
    text = (
        f"Positions are first moved to the centre of their cell, and between two such places {near} apart the factor "
        f"is {promised}. Within one cell nothing can be told apart, but two positions {near} apart may lie in "
        f"different ones, whose centres are at most {apart} apart"
    )
    less = epsilon * found.apart / across
    if not found.for_positions and across > found.apart and less > 0:
        lower = f"{three_digits(floor_of(less))} {per(found.unit)}"
        text += f"; for a factor of {promised} between positions as well, take ε = {lower}"
    if found.cell is None:
        return f"{text}."
    return (
        f"{text}. That is so up to {with_unit(at_most(found.cell), found.unit)} from the centre of a cell: for "
        "positions that are taken for the nearest cell from further away, nothing is promised."
    )
