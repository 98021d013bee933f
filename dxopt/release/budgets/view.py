"""What may be read of an open ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from dxopt.errors import DxoptError
from dxopt.release.budgets import looking
from dxopt.release.budgets.accounts import Account, Payment, Totals
from dxopt.release.budgets.charging import find, setting
from dxopt.release.budgets.composing import composed
from dxopt.release.budgets.file import LedgerFile
from dxopt.release.budgets.persons import stored
from dxopt.release.keys import Key
from dxopt.runtime.shown import Lines, Shown

if TYPE_CHECKING:
    from dxopt.analysis.composition import Composition
    from dxopt.release.tables.table import IntegerTable


class LedgerView(Shown):
    """The half of `Budgets` that changes nothing."""

    def __init__(self, file: LedgerFile, key: Key | None) -> None:
        self._file = file
        self._key = key

    @property
    def file(self) -> Path:
        """Where the ledger is."""
        return self._file.file

    @property
    def unit(self) -> str | None:
        """What levels are per; None before the first charge."""
        with self._file.reading() as db:
            return setting(db, "unit")

    @property
    def hashed(self) -> bool:
        """Whether persons are stored as keyed hashes."""
        return self._key is not None

    @property
    def default(self) -> Fraction | None:
        """The budget of persons without their own."""
        with self._file.reading() as db:
            return looking.default_of(db)[0]

    @property
    def default_delta(self) -> Fraction | None:
        """The budget of persons without their own, of δ."""
        with self._file.reading() as db:
            return looking.default_of(db)[1]

    def left(self, persons: Sequence[str]) -> list[Fraction]:
        """What each person may still spend `(k,)`; 0 without a budget."""
        return [account.left for account in self._accounts(persons)]

    def account(self, person: str) -> Account:
        """The account of a person, also of one who is not in the ledger yet.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=2) as budgets:
        ...     paid = budgets.pay("ann", 0.5, unit="per km", release="Monday")
        ...     account = budgets.account("ann")
        ...     print(float(account.budget), float(account.spent), float(account.left))
        2.0 0.5 1.5
        """
        return self._accounts([person])[0]

    def accounts(self) -> list[Account]:
        """All accounts, those with the least left first.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=2) as budgets:
        ...     paid = [budgets.pay(person, 0.5, unit="per km", release="May") for person in ("ann", "bob", "ann")]
        ...     print([(account.person, float(account.left)) for account in budgets.accounts()])
        [('ann', 1.0), ('bob', 1.5)]
        """
        with self._file.reading() as db:
            return looking.accounts(db)

    def history(self, person: str) -> list[Payment]:
        """What a person paid for, in the order of time.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=2) as budgets:
        ...     paid = budgets.pay("ann", 0.5, unit="per km", release="Monday")
        ...     print([(payment.release, float(payment.cost)) for payment in budgets.history("ann")])
        [('Monday', 0.5)]
        """
        with self._file.reading() as db:
            return looking.history(db, stored([person], self._key)[0])

    def composed(self, person: str, tables: Mapping[str, IntegerTable], *, pairs: str = "all") -> Composition:
        """What a person has paid for, as (ε, δ): less than the sum of levels where there are many releases.

        It holds for draws about one secret that stays, as a home or a count does. For a person who moves, levels add
        up, as the ledger has it: budgets are always refused by sums. Who has paid twice under one key in a release
        has two secrets there, as one is paid for once, and is refused here (docs/theory/proofs.md).

        Parameters
        ----------
        person : str
        tables : mapping
            The integer table of each release, by its name.
        pairs : {"all", "adjacent"}
            See `dx.compose`.

        Raises
        ------
        SpecError
            If the person has paid for nothing, or for two secrets under one key; or a release has no table, or one of
            another level.

        Examples
        --------
        >>> import dxopt as dx
        >>> table = dx.integer_table(dx.classic.geometric(dx.line(3), epsilon=0.5))
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=2) as budgets:
        ...     paid = [budgets.pay("ann", table.epsilon, unit="per unit", release="May") for day in range(4)]
        ...     print(round(budgets.composed("ann", {"May": table}).epsilon(0.01).epsilon, 3))
        1.966
        """
        return composed(self.history(person), tables, pairs)

    def totals(self) -> Totals:
        """The ledger in a few numbers.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=2) as budgets:
        ...     paid = budgets.pay("ann", 0.5, unit="per km", release="Monday")
        ...     totals = budgets.totals()
        ...     print(totals.persons, totals.rows, float(totals.spent))
        1 1 0.5
        """
        with self._file.reading() as db:
            return looking.totals(db)

    def check(self) -> None:
        """Add up the whole ledger again.

        Raises
        ------
        SpecError
            If the file is damaged, or a person has not spent the sum of the payments, or more than the budget.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=2) as budgets:
        ...     budgets.check()  # says nothing where the sums are right
        """
        with self._file.reading() as db:
            looking.check(db, self._file.damaged)

    def close(self) -> None:
        """Close the file.

        Examples
        --------
        >>> import dxopt as dx
        >>> budgets = dx.Budgets.open("budget.sqlite", create=True)
        >>> budgets.close()  # a block `with` does that by itself
        """
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self.close()
        return False

    def _said(self) -> str:
        return str(self.file)

    def _lines(self) -> Lines:
        try:
            totals, default, unit = self.totals(), self.default, self.unit
        except DxoptError as error:
            # closed, of another process, or in use: whoever looks at it is told so
            return [("ledger", str(self.file)), ("not read", str(error))]
        return [
            ("ledger", str(self.file)),
            ("levels are", unit or "of no unit yet"),
            ("default budget", "none" if default is None else f"{float(default):.3g}"),
            ("persons", f"{totals.persons:,}"),
            ("rows paid", totals.rows_said),
            ("most spent by a person", f"{float(totals.spent):.3g}"),
        ]

    def __str__(self) -> str:
        return repr(self)

    def _accounts(self, persons: Sequence[str]) -> list[Account]:
        """The account of each person `(k,)`."""
        names = stored(persons, self._key)
        with self._file.reading() as db:
            known = {account.person: account for _, account in find(db, list(dict.fromkeys(names)))}
            default = looking.default_of(db)
        return [known.get(name) or Account(name, *default, own=False) for name in names]
