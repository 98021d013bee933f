"""The ledger of a trace: exact sums of privacy levels, which never drift."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dxopt.errors import SpecError
from dxopt.numerics.amounts import Amount, exactly, float_above, positive
from dxopt.runtime.shown import Shown


@dataclass(frozen=True, repr=False)
class Ledger(Shown):
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

    Examples
    --------
    >>> import dxopt as dx
    >>> ledger = dx.traces.Ledger(2).pay(0.5, 1)
    >>> print(ledger.spent, float(ledger.left), ledger.affords(1))
    1.5 0.5 False
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
        """Amount paid, rounded up to a double."""
        return float_above(self.paid)

    @property
    def left(self) -> Fraction:
        """Amount that may still be spent."""
        return self.total - self.paid

    def affords(self, *levels: Amount) -> bool:
        """Return True if all these levels together can still be paid."""
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
