"""What is told of the errors of values, one alone and several together, and of values that never come out."""

from __future__ import annotations

import math

from dxopt.numerics.digits import at_most, floor_of, three_digits
from dxopt.results.explained import Explained
from dxopt.spaces.units import with_unit

_LEAST_PERCENT, _RARE = 1e-4, 1e-6
"""Below the first a share is told as one of many, below the second as one in a million."""


def within(distance: float, unit: str) -> str:
    """A distance from the truth, rounded up."""
    if math.isinf(distance):
        return "beyond any distance"
    return f"within {with_unit(at_most(distance), unit)}"


def largest(found: Explained) -> str:
    """How far off a single report may be."""
    most = with_unit(three_digits(found.most_off or 0.0), found.unit)
    chance = _share(found.most_off_chance or 0.0)
    ever = f"whatever the {found.noun.removesuffix('s')}"
    if not found.rare_chance or found.rare is None:
        return f"No report is more than {most} off; so far off are at most {chance}, {ever}."
    rare = with_unit(three_digits(found.rare), found.unit)
    return (
        f"More than {rare} off are at most {_share(found.rare_chance)}, {ever}; {most} off, the most "
        f"that is possible, at most {chance}."
    )


def _share(probability: float) -> str:
    """A share of reports, never less than it is: in percent, or one of many where that is below 0.01 %."""
    if probability >= _LEAST_PERCENT:
        return f"{at_most(100 * probability)} % of reports"
    if probability <= _RARE:
        return "one in a million reports"
    return f"one in {three_digits(math.floor(floor_of(1 / probability)))} reports"


def together(found: Explained) -> str:
    """How far off several published values are, all of them and their total."""
    count, truth = f"{found.values:,}", found.noun
    text = (
        f"{count} published {truth}, each drawn by itself, all lie {within(found.all_within or 0.0, found.unit)} of "
        f"the true {truth} with at least 95 %."
    )
    if found.total_off is not None:
        ever, usual = (with_unit(at_most(off or 0.0), found.unit) for off in (found.total_off, found.total_off_prior))
        drawn = f"{usual} if they are as likely as the prior says, each by itself, and at most "
        if found.total_off_prior is None:
            drawn = ""
        text += f" On average their total is off by at most {drawn}{ever} whatever they are."
    return f"{text} A person costs ε once for each of these {truth} that counts that person."


def never(found: Explained) -> str:
    """Which outputs never come out, and what that means for the ends of a line."""
    count = found.never or 0
    more = count - len(found.never_labels)
    named = ", ".join(found.never_labels) + (f" and {more:,} more" if more else "")
    hardly = f", {found.hardly:,} of them with a probability below one in a million" if found.hardly else ""
    always = "practically always" if found.hardly else "always"
    ends = [
        f"{end[0]} is {always} reported as {end[1]} or {which}"
        for end, which in ((found.lowest, "more"), (found.highest, "less"))
        if end is not None
    ]
    so = f" So {', and '.join(ends)}." if ends else ""
    rarely = "practically never" if found.hardly else "never"
    comes = "comes" if count == 1 else "come"
    return f"{count:,} of {found.outputs:,} outputs {rarely} {comes} out{hardly}: {named}.{so}"
