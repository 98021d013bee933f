"""The sections of a page about levels that were searched for, and about frontiers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dxopt.model.objective import OBJECTIVES
from dxopt.numerics.digits import apart, three_digits
from dxopt.results.figures import plots
from dxopt.results.frontier import staircases
from dxopt.results.page.inline import drawn
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


def frontier(name: str, found: Mapping[str, Any], key: str) -> tuple[str, list[Markup]]:
    """What frontier.json says: a title, and a chart with its numbers."""
    by_level = "epsilons" in found
    levels, values, bounds = found["epsilons" if by_level else "budgets"], found["values"], found["bounds"]
    across = "ε per unit of distance" if by_level else "loss budget"
    title = OBJECTIVES[found["objective"]].title
    caption = f"{name}: {found['status']}"
    caption += "" if found["resolution"] is None else f", resolution {found['resolution']:.2g}"
    if by_level and None not in (*values, *bounds):
        figure = staircases(levels, values, bounds, "", title, across)
        caption += "; at every level the best value lies within the shaded band: proven"
    else:
        lines = [
            plots.Curve("possible", levels, _numbers(values), marker="o"),
            plots.Curve("bound: proven", levels, _numbers(bounds), "points", colour=1, marker="_"),
        ]
        figure = plots.against_epsilon(lines, title="", quantity=title, level=across)
    rows = [[Cell.number(value) for value in row] for row in zip(levels, values, bounds, strict=True)]
    listed = table("What is possible and what is proven", [across, "possible", "bound"], rows)
    return f"{title} against {across}".capitalize(), [drawn(figure, key, caption), folded("The numbers", listed)]


def _numbers(found: Sequence[float | None]) -> list[float]:
    """Numbers with nan for None."""
    return [math.nan if one is None else one for one in found]
