"""Losses as text for people."""

from __future__ import annotations

import math

from dxopt.numerics.digits import three_digits
from dxopt.spaces.units import with_unit


def amount(value: float | None, unit: str) -> str:
    """A loss with its unit, to three digits."""
    if value is None:
        return "unknown"
    return with_unit(three_digits(value), unit) if math.isfinite(value) else three_digits(value)
