"""The ledger of a trace: exact sums of privacy levels, which never drift."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dxopt.errors import SpecError

Amount = float | int | Fraction


def exactly(amount: Amount, field: str) -> Fraction:
    """An amount as the rational that it is; SpecError unless it is a finite number from 0."""
    amount = amount.item() if isinstance(amount, np.generic) else amount
    if isinstance(amount, bool) or not isinstance(amount, float | int | Fraction):
        raise SpecError(field, f"is {amount!r}", "give a finite number")
    if not abs(amount) <= sys.float_info.max:
        raise SpecError(field, "is not a finite double", "give a finite number")
    if amount < 0:
        raise SpecError(field, f"is {float(amount):g}", "give a number from 0")
    return Fraction(amount)


def positive(amount: Amount, field: str) -> Fraction:
    """An amount as the rational that it is; SpecError unless it is positive and finite."""
    exact = exactly(amount, field)
    if not exact:
        raise SpecError(field, "is 0", "give a positive finite number")
    return exact


def level_of(amount: Amount, field: str) -> float:
    """A positive level as the largest double that is not above it."""
    level = float_below(positive(amount, field))
    positive(level, field)  # a positive rational below all positive doubles became 0
    return level


def float_above(exact: Fraction) -> float:
    """The least double that is not below a rational."""
    # The conversion rounds to the nearest double; comparisons of a double with a rational are exact.
    near = float(exact)
    return near if near >= exact else math.nextafter(near, math.inf)


def float_below(exact: Fraction) -> float:
    """The largest double that is not above a rational."""
    near = float(exact)
    return near if near <= exact else math.nextafter(near, -math.inf)


@dataclass(frozen=True)
class Ledger:
    """An account of privacy under d_∞: levels paid for one after another add up (Cha13), and never exceed the total.

    Attributes
    ----------
    total : Fraction
        The budget, per unit of distance; given as a number, kept as the rational that it is.
    paid : Fraction
        The part of it that is spent.

    Raises
    ------
    SpecError
        If the total is not positive and finite, or less than what was paid.
    """

    total: Fraction
    paid: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", positive(self.total, "total"))
        object.__setattr__(self, "paid", exactly(self.paid, "paid"))
        if self.paid > self.total:
            raise SpecError("paid", f"{float(self.paid):g} exceeds {float(self.total):g}", "spend within the total")

    def __str__(self) -> str:
        return f"spent {self.spent:.6g} of {float(self.total):.6g}"

    @property
    def spent(self) -> float:
        """What is paid, rounded up to a double."""
        return float_above(self.paid)

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.total - self.paid

    def affords(self, *levels: Amount) -> bool:
        """Whether all these levels together can still be paid."""
        return sum(exactly(level, "level") for level in levels) <= self.left

    def pay(self, *levels: Amount) -> Ledger:
        """The account after paying all these levels.

        Raises
        ------
        SpecError
            If a level is negative or not finite, or there is not that much left.
        """
        cost = sum((exactly(level, "level") for level in levels), Fraction(0))
        if cost > self.left:
            raise SpecError("level", f"{float(cost):g} exceeds the {float(self.left):g} left", "spend less, or stop")
        return Ledger(self.total, self.paid + cost)
