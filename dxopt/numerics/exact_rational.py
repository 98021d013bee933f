"""Amounts of privacy as the rationals that they are: their sums are exact and never drift."""

from __future__ import annotations

import math
import re
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np

from dxopt.errors import SpecError
from dxopt.numerics.coerce import NONNEGATIVE, as_number
from dxopt.numerics.number_syntax import number_of

Amount = float | int | Fraction | Decimal
_TIMES = re.compile(r"([0-9]+) *x *(.+)")
_SEVERAL = ", or N times one of these, as 10x0.1 or 365xln(4)/5"
_LONGEST = 4_000
"""Decimal digits of an amount as text; Python reads 4,300 at most."""


def exactly(amount: Amount, field: str) -> Fraction:
    """Return an amount as the rational that it is; SpecError unless it is a finite number from 0."""
    near = as_number(amount, field, *NONNEGATIVE)
    amount = amount.item() if isinstance(amount, np.generic | np.ndarray) else amount
    exact = Fraction(amount if isinstance(amount, int | Fraction | Decimal) else near)
    if exact < 0:
        raise SpecError(field, "is negative", NONNEGATIVE[0])
    return exact


def positive(amount: Amount, field: str) -> Fraction:
    """Return an amount as the rational that it is; SpecError unless it is positive and finite."""
    exact = exactly(amount, field)
    if not exact:
        raise SpecError(field, "is 0", "give a positive finite number")
    return exact


def level_of(amount: Amount, field: str) -> float:
    """Return a positive level as the largest double that is not above it."""
    level = float_below(positive(amount, field))
    positive(level, field)  # refuses 0, which a positive rational below all positive doubles becomes
    return level


def float_above(exact: Fraction) -> float:
    """Return the least double that is not below a rational."""
    # The conversion rounds to the nearest double; comparisons of a double with a rational are exact.
    if exact > sys.float_info.max:
        return math.inf
    near = float(exact)
    return near if near >= exact else math.nextafter(near, math.inf)


def float_below(exact: Fraction) -> float:
    """Return the largest double that is not above a rational."""
    near = float(min(exact, Fraction(sys.float_info.max)))
    return near if near <= exact else math.nextafter(near, -math.inf)


def amount_of(given: Amount | str, field: str) -> Fraction:
    """Return an amount as a person writes it: a number from 0, or text.

    Text such as "0.5", "ln(4)", "1/2", "10x0.1" or "365xln(4)/5" means the double that it means as a level in
    a problem file, so that a budget of "0.1" pays for one release at 0.1 exactly, and "10x0.1" for ten.
    """
    if not isinstance(given, str):
        return exactly(given, field)
    count, each = times_of(given, field)
    return count * exactly(number_of(each, field, _SEVERAL), field)


def times_of(text: str, field: str) -> tuple[int, str]:
    """Return the number of releases and what each costs, as text, of "10x0.1"; one release without an x."""
    times = _TIMES.fullmatch(text.strip())
    if times and len(times[1]) > len(str(sys.maxsize)):
        raise SpecError(field, "counts too many releases", "give a smaller number before the x")
    return (int(times[1]), times[2]) if times else (1, text.strip())


def as_text(exact: Fraction, field: str) -> str:
    """Return a rational as text that `Fraction` reads back; SpecError where that is too long."""
    # 10^d has more than 3.3·d bits
    if max(abs(exact.numerator).bit_length(), exact.denominator.bit_length()) > 3.3 * _LONGEST:
        raise SpecError(field, f"has more than {_LONGEST:,} digits", "give doubles, or fractions alike")
    return str(exact)
