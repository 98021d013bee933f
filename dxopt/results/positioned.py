"""What promises and losses between places mean for the positions that are moved to them, in plain words."""

from __future__ import annotations

from dxopt.numerics.digits import at_most, three_digits
from dxopt.results.amounts import factor, floor_of
from dxopt.results.explained import Explained
from dxopt.spaces.units import per, with_unit


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
    """What the promise means for positions."""
    text = (
        "The promise is about places, to which positions are moved first: within one place nothing can be told apart"
    )
    if found.cell is not None and found.epsilon is not None:
        return between_cells(found, found.cell, found.epsilon)
    if found.nearest is None or found.epsilon is None:
        return f"{text}, and two positions across a border are as far apart as their places."
    near = with_unit(three_digits(found.nearest), found.unit)
    times = factor(found.epsilon * found.nearest)
    return (
        f"{text}, but two positions on both sides of a border, however close, are as far apart as their places, "
        f"{near} or more: the odds between them may change by a factor of {times} or more."
    )


def between_cells(found: Explained, cell: float, epsilon: float) -> str:
    """What the promise means for positions in cells that are at most so far from their centres."""
    far = found.apart + 2 * cell
    near, apart = with_unit(three_digits(found.apart), found.unit), with_unit(at_most(far), found.unit)
    text = (
        "The promise is between places, to which positions are moved first, and within one place nothing can be told "
        f"apart: two positions {near} apart may lie in places up to {apart} apart: "
        f"a factor of {factor(epsilon * far)}, after {found.reports} reports {factor(found.reports * epsilon * far)}"
    )
    less = epsilon * found.apart / far
    if not less > 0:
        return f"{text}."
    promised, lower = factor(epsilon * found.apart), f"{three_digits(floor_of(less))} {per(found.unit)}"
    return f"{text}. If it is to be {promised} for positions as well, take ε = {lower}."
