"""Phrases that several texts share: each is made in one place, with its units and digits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dxopt.errors import one_line
from dxopt.numerics.number_syntax import at_most, factor, floor_of, level_text, texts_apart, three_digits
from dxopt.spaces.units import per, with_unit

_LEAST_PERCENT, _RARE = 1e-4, 1e-6
"""Below the first a share is given as one of many, below the second as one in a million."""


def amount(value: float | None, unit: str) -> str:
    """Return a loss or a distance with its unit, to three digits."""
    if value is None:
        return "unknown"
    return with_unit(three_digits(value), unit) if math.isfinite(value) else three_digits(value)


def amount_at_most(value: float, unit: str) -> str:
    """Return an amount with its unit, rounded up."""
    return with_unit(at_most(value), unit)


def exact(value: float, unit: str = "") -> str:
    """Return an amount with its unit and ten digits."""
    return with_unit(f"{value:.10g}", unit)


def within(distance: float, unit: str) -> str:
    """Return a distance from the truth, rounded up: "within 0.84 km"."""
    return "beyond any distance" if math.isinf(distance) else f"within {amount_at_most(distance, unit)}"


def singular_of(noun: str) -> str:
    """Return the singular of a plural noun, such as "places"."""
    return noun.removesuffix("s")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, given in the plural: "1 place", "1,200 places"."""
    return f"{number:,} {singular_of(noun) if number == 1 else noun}"


def listed(
    names: Sequence[str], most: int, *, total: int | None = None, mark: str = ", ", last: str = " and "
) -> str:
    """Return the first `most` names and how many more there are: "a, b and 3 more", also of a larger `total`."""
    rest = (len(names) if total is None else total) - len(names[:most])
    return mark.join(names[:most]) + (f"{last}{rest:,} more" if rest else "")


def share(probability: float) -> str:
    """Return a share of reports, rounded up: in percent, or one of many where that is below 0.01 %."""
    if probability >= _LEAST_PERCENT:
        return f"{at_most(100 * probability)} % of reports"
    if probability <= _RARE:
        return "one in a million reports"
    return f"one in {three_digits(math.floor(floor_of(1 / probability)))} reports"


def two_positions(radius: float, unit: str) -> str:
    """Return "two positions within 1 km of each other"."""
    return f"two positions within {with_unit(three_digits(radius), unit)} of each other"


def two_secrets(noun: str, distance: float, unit: str) -> str:
    """Return "two places 1 km apart", with the plural noun of secrets."""
    apart = three_digits(distance)
    return f"two {noun} {with_unit(apart, unit)} apart" if unit else f"two {noun} at distance {apart}"


def one_report(exponent: float, between: str, unless: str = "") -> str:
    """Return the promise about one report: by which factor it changes the odds between two secrets at most."""
    return (
        f"Seeing one report, nobody can change the odds between {between} by more than a factor of "
        f"{factor(exponent)}{unless}"
    )


def histories(count: str, radius: float, unit: str) -> str:
    """Return words for two histories of positions or secrets that are near to each other in each row."""
    near = with_unit(three_digits(radius), unit) if unit else f"distance {three_digits(radius)}"
    return f"two histories of {count}, each within {near} of the other's,"


def replaced_text(noun: str, level: str) -> str:
    """Return what was done to secrets of a noun in the plural, at a level as text, and against whom."""
    return (
        f"{noun.capitalize()} were replaced at random, against everybody who sees a report, whatever else they know "
        f"(metric differential privacy, {level})."
    )


def held_by(singular: str, radius: str, truth: str) -> str:
    """Return within what radius, as text, 95 % of the reports of every secret lie."""
    return f"Whatever the {singular}, 95 % of reports lie {radius} of {truth}."


def level(epsilon: float, unit: str, delta: float = 0.0) -> str:
    """Return a level for a file: "epsilon 1.2 per km, delta 1e-06"."""
    return f"epsilon {level_text(epsilon, 10)} {per(unit)}" + (f", delta {level_text(delta, 6)}" if delta else "")


def level_found(
    max_loss: float, below: float, epsilon: float | None, status: str, *, loss_unit: str = "", unit: str = ""
) -> str:
    """Tell that a loss is possible at `epsilon` (None: no level found) and not at `below` (0: no level refuted)."""
    wanted = f"a loss of at most {exact(max_loss, loss_unit)}"
    if epsilon is None:
        over = f", which takes over ε {three_digits(floor_of(below))}" if below > 0 else ""
        return f"{status}: no level found for {wanted}{over}"
    lower, upper = texts_apart(below, epsilon)
    refuted = f"not at {lower}" if below > 0 else "no lower level is excluded"
    return f"{wanted} is possible at ε {upper} {per(unit)}, {refuted}; both proven ({status})"


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of plain text with aligned columns, whose cells are never cut."""
    # a name from a file could begin a line of its own
    table = [[one_line(cell) for cell in row] for row in table]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
