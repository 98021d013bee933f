"""Factors and losses as text for people."""

from __future__ import annotations

import math

from dxopt.numerics.digits import at_most, three_digits
from dxopt.spaces.units import with_unit

_MOST_FACTOR = 1e6
"""Larger factors are told as powers of ten: hardly anything is hidden there."""


def factor(exponent: float) -> str:
    """e^exponent in words, never less than it is."""
    if exponent <= math.log(_MOST_FACTOR):
        return at_most(math.exp(exponent))
    power, share = divmod(exponent / math.log(10), 1)
    return f"{at_most(10**share)}·10^{power:.0f} (hardly anything is hidden)"


def amount(value: float | None, unit: str) -> str:
    """A loss with its unit, to three digits."""
    if value is None:
        return "unknown"
    return with_unit(three_digits(value), unit) if math.isfinite(value) else three_digits(value)


def floor_of(value: float) -> float:
    """A number cut to three digits, so that what holds within it is not said of more."""
    place = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / place * (1 + 1e-12)) * place
