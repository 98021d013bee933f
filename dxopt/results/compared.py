"""What a comparison comes to, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dxopt.numerics.digits import three_digits
from dxopt.results.figures.tables import cell
from dxopt.spaces.units import with_unit

_ALIKE = 1e-6
"""Up to this relative difference a mechanism is told to lose as much as another."""
_SMALL = 1e-4
LARGE = 10.0
"""Above this relative difference percentages say little: the least loss is near 0, or another one is far off."""


def losses_of(rows: Sequence[tuple[str, float | None, float | None]], unit: str) -> list[str]:
    """How much more than the first the others lose, a sentence for each: name, mean loss, relative difference."""
    first, best, _ = rows[0] if rows else ("", None, None)
    if best is None:
        return []
    told = []
    for name, value, excess in rows[1:]:
        if value is None or excess is None or not math.isfinite(value):
            continue
        loses = f"{name} loses {with_unit(three_digits(value), unit)} on average"
        if abs(excess) < _ALIKE:
            told.append(f"{loses}, as much as {first}")
            continue
        told.append(f"{loses}, {_apart(value, best, excess)} than {first}")
    return told


def _apart(value: float, best: float, excess: float) -> str:
    """A difference, in percent as well where that can be read."""
    more = "more" if value > best else "less"
    if abs(excess) < _SMALL:
        return f"less than 0.01 % {more}"
    apart = f"{three_digits(abs(value - best))} {more}"
    return apart if excess > LARGE else f"{apart} ({100 * excess:+.3g} %)"


def excess_cell(excess: float | None) -> str:
    """A relative difference as a cell of a table, blank where there is none."""
    if excess is None or excess <= LARGE:
        return cell(excess, "+z.1%")
    return f"over +{LARGE:.0%}"


def told_verdict(verdict: str) -> str:
    """Whether a prior is regular, as a sentence, and what follows for binary loss (ECP14, Thm 4)."""
    status, _, reason = verdict.partition(": ")
    if status == "undecided":
        return f"whether the prior is regular is not decided, it may lie on the border of the regular ones: {reason}"
    follows = "is the best where it exists" if status == "regular" else "need not be the best"
    return f"the prior is {status}, so the tight-constraints mechanism {follows}: {reason}"
