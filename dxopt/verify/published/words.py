"""Numbers as the sentences of a sidecar have them, written here again."""

from __future__ import annotations

import math
import re

_GROUPED, _LARGE, _MOST_FACTOR = 1000, 1e9, 1e6
_ROUNDING, _WHOLE = 1e-9, 1e-4
_IRREGULAR = {"people": "person", "feet": "foot", "inches": "inch", "children": "child", "movies": "movie"}
_ENDINGS = ((r"ies$", "y"), (r"(ss|sh|ch|x)es$", r"\1"), (r"([^s])s$", r"\1"))


def three_digits(value: float) -> str:
    """A positive number to three digits; places before the point are never cut, and whole numbers stay whole."""
    if value >= _LARGE:
        return f"{value:.2e}"
    short = f"{value:.3g}"
    return f"{value:,.0f}" if float(short) >= _GROUPED or value == int(value) else short


def factor(exponent: float) -> str:
    """e^exponent to three digits, rounded up."""
    if exponent > math.log(_MOST_FACTOR):
        power, share = divmod(exponent / math.log(10), 1)
        return f"{_up(10**share)}·10^{power:.0f} (hardly anything is hidden)"
    value = math.exp(exponent)
    told = _up(value)
    rounded = float(told.replace(",", ""))
    return f"{rounded:#.3g}".rstrip(".") if rounded < _GROUPED and rounded > value * (1 + _WHOLE) else told


def with_unit(amount: str, unit: str) -> str:
    """An amount with its unit: "0.84 km", "1 person"."""
    return f"{amount} {singular(unit) if amount == '1' else unit}".rstrip()


def singular(unit: str) -> str:
    """One of a unit: "person" of "people"; abbreviations as they are."""
    if unit in _IRREGULAR:
        return _IRREGULAR[unit]
    if len(unit) > 3 and unit == unit.lower():
        for ending, one in _ENDINGS:
            if re.search(ending, unit):
                return re.sub(ending, one, unit)
    return unit


def _up(value: float) -> str:
    """A number of 1 or more to three digits, rounded up; what is above by rounding alone is not."""
    if value >= _GROUPED:
        return three_digits(float(math.ceil(value * (1 - _ROUNDING))))
    place = 10.0 ** (math.floor(math.log10(value)) - 2)
    return three_digits(float(f"{math.ceil(value / place * (1 - _ROUNDING)) * place:.3g}"))
