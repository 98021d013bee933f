"""Accounts of persons, their payments, what these compose to, and amounts as text for people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING

from dxopt.errors import SpecError
from dxopt.numerics.exact_rational import float_above, float_below
from dxopt.numerics.number_syntax import SUMS, excluded_text, level_text, texts_apart
from dxopt.runtime.display import Lines, Shown

if TYPE_CHECKING:
    from dxopt.analysis.composition.composing import Composition
    from dxopt.release.tables.table import IntegerTable


KEYED = (
    "With a key, two different reports of a person in one release prove two different secrets, and what is spent "
    "covers only histories that have equal secrets in the same rows."
)
"""Limit of the guarantee for rows that were drawn with a key (docs/theory/proofs.md), which histories show."""


class _Amounts(Shown):
    """An object whose exact amounts are shown as `amount_text` writes them."""

    def _text_of(self, name: str) -> str:
        value = getattr(self, name)
        return amount_text(value) if isinstance(value, Fraction) else super()._text_of(name)


@dataclass(frozen=True, repr=False)
class Account(_Amounts):
    """The budget of one person, and what is spent of it, exactly.

    Attributes
    ----------
    person : str
        As stored: as given, or hashed.
    budget, budget_delta : Fraction or None
        Most that may be spent in all; None where neither the person nor the ledger has a budget.
    own : bool
        True if the budget is the person's own, and not the default.
    spent, spent_delta : Fraction
        Exactly; `float(account.spent)` is the nearest double.
    """

    person: str
    budget: Fraction | None
    budget_delta: Fraction | None
    own: bool
    spent: Fraction = Fraction(0)
    spent_delta: Fraction = Fraction(0)

    @property
    def left(self) -> Fraction:
        """Amount that may still be spent; 0 without a budget."""
        return max(Fraction(0), (self.budget or Fraction(0)) - self.spent)

    @property
    def left_delta(self) -> Fraction:
        """Amount of δ that may still be spent; 0 without a budget."""
        return max(Fraction(0), (self.budget_delta or Fraction(0)) - self.spent_delta)

    def allows(self, spent: Fraction, spent_delta: Fraction) -> bool:
        """Return whether the budget covers these totals of ε and δ; without a budget nothing is covered."""
        return self.budget is not None and spent <= self.budget and spent_delta <= (self.budget_delta or 0)

    def __str__(self) -> str:
        left = amount_text(self.left, up=False)
        budget = "no budget" if self.budget is None else f"{left} left of {amount_text(self.budget)}"
        delta = f", delta {amount_text(self.spent_delta)}" if self.spent_delta else ""
        return f"{printable(self.person)}: spent {amount_text(self.spent)}{delta}, {budget}"


@dataclass(frozen=True, repr=False)
class Payment(_Amounts):
    """Payment of one person for one release, or for one part of it at one level.

    Attributes
    ----------
    release : str
        Name of what was released.
    first, last : str
        When the first and the last row of it was paid: UTC, as "2026-01-31T12:00:00Z".
    level, level_delta : Fraction
        ε and δ of each row.
    rows : int
        Number of rows that were paid.
    finished : bool
        False for a run that is under way or was killed, which goes on or is closed.
    keyed : bool
        True if the rows were drawn with a key.
    key : str or None
        The fingerprint of that key, where it is known.
    period : str
        Period that the rows are of, such as "2026-01-31", in a ledger that has budgets by period; else "".
    """

    release: str
    first: str
    last: str
    level: Fraction
    level_delta: Fraction
    rows: int
    finished: bool
    keyed: bool = False
    key: str | None = None
    period: str = ""

    @property
    def draws(self) -> str:
        """Kind of the draws, in words."""
        return f"key {self.key or 'not named'}" if self.keyed else "new"

    @property
    def cost(self) -> Fraction:
        """Cost of all rows together."""
        return self.rows * self.level

    @property
    def cost_delta(self) -> Fraction:
        """Cost of all rows together, in δ."""
        return self.rows * self.level_delta


@dataclass(frozen=True, repr=False)
class Totals(Shown):
    """Summary of a ledger in a few numbers.

    Attributes
    ----------
    persons : int
        Persons who have a budget of their own, or have had one, or have paid.
    rows : int
        Rows that were paid.
    spent : Fraction
        The most that any person has spent.
    unfinished : tuple of str
        Names of runs that are under way, or were killed.
    keyed : int
        Rows that were drawn with a key.
    """

    persons: int
    rows: int
    spent: Fraction
    unfinished: tuple[str, ...]
    keyed: int = 0

    @property
    def rows_said(self) -> str:
        """Number of rows that were paid, and of those with a key, in words."""
        return f"{self.rows:,}" + (f" ({self.keyed:,} drawn with a key)" if self.keyed else "")

    def _lines(self) -> Lines:
        return [
            ("persons", f"{self.persons:,}"),
            ("rows paid", self.rows_said),
            ("most spent by one person", amount_text(self.spent)),
            ("unfinished runs", ", ".join(self.unfinished) or "none"),
        ]


def amount_text(amount: Fraction, *, up: bool = True) -> str:
    """Return an amount for people, rounded up to seven digits, or down, but not for what rounding of a sum left."""
    return level_text(float_above(amount), 7, SUMS) if up else excluded_text(float_below(amount) * (1 + SUMS), 7)


def texts_of_shortfall(left: Fraction, asked: Fraction) -> tuple[str, str]:
    """Return the amounts left and asked as text, with enough digits to show that too little is left."""
    if float(left) < float(asked) * (1 - SUMS):
        return texts_apart(float_below(left), float_above(asked))
    return amount_text(left, up=False), "a little more"


def sufficient_text(amount: Fraction) -> str:
    """Return a budget that covers an amount, for people to set: the amount rounded up to four digits."""
    up = Context(prec=4, rounding=ROUND_CEILING)
    return f"{float(up.divide(Decimal(amount.numerator), Decimal(amount.denominator))):.4g}"


def printable(text: str) -> str:
    """Return a name for a terminal, without control characters, by which names from outside could change it."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def compose_payments(payments: Sequence[Payment], tables: Mapping[str, IntegerTable], pairs: str) -> Composition:
    """Compose what payments were for, each release as often as it has rows; see `Budgets.composed`."""
    from dxopt.analysis.composition.composing import compose

    counts: Counter[str] = Counter()
    keyed: dict[str, Counter[str | None]] = defaultdict(Counter)
    for payment in payments:
        table = tables.get(payment.release)
        if table is None:
            raise SpecError("tables", f"lack the one of release {payment.release!r}", "give one for each release")
        if (Fraction(table.epsilon), Fraction(table.delta)) != (payment.level, payment.level_delta):
            level, paid = amount_text(Fraction(table.epsilon)), amount_text(payment.level)
            wrong = f"have one at {level} for release {payment.release!r}, which was paid for at {paid}"
            raise SpecError("tables", wrong, "give the table that was drawn from")
        counts[payment.release] += payment.rows
        if payment.keyed:
            keyed[payment.release][payment.key] += payment.rows
    if not counts:
        raise SpecError("person", "has paid for nothing", "there is nothing to compose")
    for release, rows in keyed.items():
        # a repeated draw is not paid again: two rows of one key are two secrets, and those of None, a key that was
        # not given, may be of any key
        surely = max((count for key, count in rows.items() if key is not None), default=0)
        if surely + rows[None] > 1:
            has = "has" if surely > 1 else "may have"
            wrong = f"{has} paid for {max(surely, 2)} secrets in release {release!r}, which was drawn with a key"
            fix = "take the sum of levels, account(person).spent: what is composed is of one"
            raise SpecError("person", wrong, fix)
    return compose([tables[release] for release in counts], list(counts.values()), pairs=pairs)
