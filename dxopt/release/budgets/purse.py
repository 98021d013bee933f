"""The purse of one person, from which a stream pays draw by draw."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dxopt.numerics.exact_rational import Amount, exactly
from dxopt.release.budgets.accounts import Account
from dxopt.release.budgets.affording import Level, refusal, spent_after


class Payee(Protocol):
    """Methods that a purse needs of a ledger; `Budgets` has them."""

    def account(self, person: str) -> Account: ...

    def pay(self, person: str, level: Amount | str, *, unit: str, release: str) -> bool: ...


@dataclass(frozen=True)
class Purse:
    """One person's part of a ledger, from which a stream pays draw by draw; made by `Budgets.purse`.

    Attributes
    ----------
    budgets : Budgets
    person, unit, release : str
        As for `Budgets.pay`.
    """

    budgets: Payee
    person: str
    unit: str
    release: str

    @property
    def left(self) -> Fraction:
        """Amount of ε that may still be spent."""
        return self.budgets.account(self.person).left

    def require(self, level: Amount) -> None:
        """Require that a draw could be paid for now, and pay nothing.

        Raises
        ------
        BudgetExceeded
            If there is not that much left.
        """
        cost = Level(exactly(level, "level"), Fraction(0), self.unit)
        account = self.budgets.account(self.person)
        if not account.allows(*spent_after(account, 1, cost)):
            raise refusal(self.person, [(account, 1)], cost)

    def pay(self, level: Amount) -> None:
        """Pay for one draw before it is made.

        Raises
        ------
        BudgetExceeded
            If there is not that much left. Nothing is charged.
        """
        self.budgets.pay(self.person, level, unit=self.unit, release=self.release)
