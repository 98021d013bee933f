"""Units of distances and losses: checked, and as words.

A unit is the text after an amount, such as "km", "EUR" or "people": words in the plural. It converts nothing, but for
distances on the Earth, whose metric knows its unit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dxopt.errors import SpecError

LONGEST = 24
"""Letters of a unit."""
_IRREGULAR = {"people": "person", "feet": "foot", "inches": "inch", "children": "child", "movies": "movie"}
_ENDINGS = ((r"ies$", "y"), (r"(ss|sh|ch|x)es$", r"\1"), (r"([^s])s$", r"\1"))


def checked_unit(unit: Any, field: str = "unit") -> str:
    """Strip a unit of blanks; SpecError unless it is short text that can stand after a number."""
    if not isinstance(unit, str):
        raise SpecError(field, f"is of type {type(unit).__name__}", 'give text, such as "km" or "people"')
    text = unit.strip()
    fix = f'give a word of at most {LONGEST} letters in one line, such as "km" or "people"'
    if len(text) > LONGEST:
        raise SpecError(field, f"has {len(text)} letters", fix)
    if not text.isprintable() or text[:1].isdecimal():
        raise SpecError(field, f"is {unit!r}, which is no word to stand after a number", fix)
    if text.startswith("per "):
        wrong = f"is {unit!r}, which is the unit of a level"
        raise SpecError(field, wrong, 'give that of distances, such as "km" or "people"')
    return text


def in_unit(unit: str) -> str:
    """Return the suffix of a distance: " in km", or nothing without a unit."""
    return f" in {unit}" if unit else ""


def unit_of(unit: Any, metric: object, parts: Sequence[str] = ()) -> str:
    """Return the unit that the metric of a space knows, or the one that is given.

    SpecError where they differ, or the one given is none of those of its `parts`, where these have some.
    """
    given = checked_unit(unit)
    if given and any(parts) and set(parts) - {given, ""}:
        raise SpecError(
            "unit", f"is {given!r}, but the parts are in {' and '.join(sorted(set(parts)))}", "leave it out"
        )
    # metrics from elsewhere may use the name for something else
    known = found if isinstance(found := getattr(metric, "unit", ""), str) else ""
    if given and known and given != known:
        raise SpecError("unit", f"is {given!r}, but the metric is in {known}", f"give {known!r}, or leave it out")
    return known or given


def common_unit(units: list[str]) -> str:
    """Return the unit of a sum of distances: that of its parts, or none where they differ."""
    return units[0] if len(set(units)) == 1 else ""


def squared_unit(unit: str) -> str:
    """Write the unit of a squared distance, such as "km²"; "" without one."""
    if not unit:
        return ""
    return f"{unit}²" if re.fullmatch(r"[^\W\d_]+", unit) else f"({unit})²"


def singular(unit: str) -> str:
    """Return the singular of a unit: "person" of "people", "visit" of "visits"; abbreviations as they are."""
    if unit in _IRREGULAR:
        return _IRREGULAR[unit]
    # abbreviations have capitals or few letters
    if len(unit) > 3 and unit == unit.lower():
        for ending, one in _ENDINGS:
            if re.search(ending, unit):
                return re.sub(ending, one, unit)
    return unit


def per(unit: str) -> str:
    """Return the unit of ε: "per km", "per person", or "per unit of distance" where no unit is known."""
    return f"per {singular(unit) or 'unit of distance'}"


def with_unit(amount: str, unit: str) -> str:
    """Write an amount with its unit: "0.84 km", "1 person", "3 people"; the amount alone without one."""
    return f"{amount} {singular(unit) if amount == '1' else unit}".rstrip()
