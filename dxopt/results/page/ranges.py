"""The sections of a page about levels that were searched for, and about frontiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dxopt.model.objective import OBJECTIVES
from dxopt.numerics.digits import apart, three_digits
from dxopt.results.page.curves import Band, Curve, chart, stairs
from dxopt.results.page.markup import Cell, Markup, folded, number, table, told


def level(found: Mapping[str, Any]) -> Markup:
    """What level.json says, in a sentence."""
    below, epsilon = found["below"], found["epsilon"]
    lower, upper = (three_digits(below), "") if epsilon is None else apart(below, epsilon)
    parts = {"loss": number(found["max_loss"]), "below": number(below, short=lower)}
    if epsilon is None:
        template = "No level was found with a loss of at most {loss}; it is above {below}"
    else:
        parts["level"] = number(epsilon, short=upper)
        template = "At ε = {level} a loss of at most {loss} is possible, "
        template += "at ε = {below} it is not" if below > 0 else "no lower level is excluded"
        template += ": both proven"
    return told(f"{template} ({found['status']}).", **parts)


def frontier(name: str, found: Mapping[str, Any]) -> tuple[str, list[Markup]]:
    """What frontier.json says: a title, and a chart with its numbers."""
    by_level = "epsilons" in found
    levels = found["epsilons" if by_level else "budgets"]
    values = found["values"]
    bounds = found["bounds"]
    across = "ε per unit of distance" if by_level else "loss budget"
    title = OBJECTIVES[found["objective"]].title
    possible = Curve("possible", levels, values)
    bound = Curve("bound: proven", levels, bounds, True, 1)
    resolution = "" if found["resolution"] is None else f", resolution {found['resolution']:.2g}"
    bands = []
    if by_level and None not in (*values, *bounds):
        upper, lower = (stairs(levels, side, ahead=ahead) for side, ahead in ((values, False), (bounds, True)))
        bands = [Band("where the best value lies: proven", Curve("bound", *lower), Curve("possible", *upper))]
        resolution += "; at every level the best value lies within the shaded band: proven"
    drawn = chart(
        [possible, bound], title=f"{name}: {found['status']}{resolution}", across=across, up=title, bands=bands
    )
    rows = [[Cell.number(value) for value in row] for row in zip(levels, values, bounds, strict=True)]
    listed = table("What is possible and what is proven", [across, "possible", "bound"], rows)
    return f"{title} against {across}".capitalize(), [drawn, folded("The numbers", listed)]
