"""What a comparison comes to, in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dxopt.numerics.digits import three_digits
from dxopt.spaces.units import with_unit

_ALIKE = 1e-6
"""Up to this relative difference a mechanism is told to lose as much as another."""


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
        apart = f"{three_digits(abs(value - best))} {'more' if value > best else 'less'}"
        told.append(f"{loses}, {apart} ({100 * excess:+.3g} %) than {first}")
    return told


def told_verdict(verdict: str) -> str:
    """Whether a prior is regular, as a sentence."""
    status, _, reason = verdict.partition(": ")
    if status == "undecided":
        return f"whether the prior is regular is not decided, it may lie on the border of the regular ones: {reason}"
    return f"the prior is {verdict}"
