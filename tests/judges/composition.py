"""What independent releases exceed, by enumeration of all tuples of reports, in exact rationals."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from math import prod

Rows = Sequence[Sequence[Fraction]]
_DIGITS = 60


def exceeded(channels: Sequence[Rows], x: int, other: int, epsilon: float, distance: float) -> Fraction:
    """Σ_z max(0, P[z | x] - e^{εd} P[z | x']) over tuples z, one report of each channel; e^{εd} to 50 digits."""
    power = exponential(Fraction(epsilon) * Fraction(distance))
    total = Fraction(0)
    for reports in product(*(range(len(rows[0])) for rows in channels)):
        mine = prod((rows[x][z] for rows, z in zip(channels, reports, strict=True)), start=Fraction(1))
        theirs = prod((rows[other][z] for rows, z in zip(channels, reports, strict=True)), start=Fraction(1))
        total += max(Fraction(0), mine - power * theirs)
    return total


def exponential(level: Fraction) -> Fraction:
    """e^t to 50 digits."""
    with localcontext() as context:
        context.prec = _DIGITS
        return Fraction((Decimal(level.numerator) / Decimal(level.denominator)).exp())
