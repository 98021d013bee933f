"""An open ledger: what persons may spend and have spent, and what their payments compose to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dxopt.errors import DxoptError, SpecError
from dxopt.release.budgets import balances, charges
from dxopt.release.budgets.accounts import Account, Payment, Totals, amount_text, compose_payments
from dxopt.release.budgets.ledger_file import LedgerFile, mark, stored
from dxopt.release.budgets.periods import PerPeriod
from dxopt.release.keys import Key
from dxopt.runtime.display import Lines, Shown

if TYPE_CHECKING:
    from dxopt.analysis.composition.composing import Composition
    from dxopt.analysis.composition.odometer import Odometer
    from dxopt.release.tables.table import IntegerTable


class OpenLedger(Shown):
    """An open ledger that is looked at; `Budgets` changes it as well."""

    def __init__(self, file: LedgerFile, key: Key | None) -> None:
        self._file = file
        self._key = key

    @property
    def file(self) -> Path:
        """Path of the ledger."""
        return self._file.file

    @property
    def unit(self) -> str | None:
        """Unit of levels, such as "per km"; None before the first charge."""
        with self._file.reading() as db:
            return balances.setting(db, "unit")

    @property
    def hashed(self) -> bool:
        """True if persons are stored as keyed hashes."""
        return self._key is not None

    @property
    def default(self) -> Fraction | None:
        """Default ε budget, for persons who have none of their own; None if no default is set."""
        with self._file.reading() as db:
            return balances.default_of(db)[0]

    @property
    def default_delta(self) -> Fraction | None:
        """Default δ budget, for persons who have none of their own; None if no default is set."""
        with self._file.reading() as db:
            return balances.default_of(db)[1]

    @property
    def per(self) -> PerPeriod | None:
        """Budget of each person in each period, such as a day; None if there is none."""
        with self._file.reading() as db:
            return balances.per_period(db)

    def account_in(self, person: str, time: Any = None) -> Account:
        """Return the account of a person within the period of a time, that of now by default.

        Raises
        ------
        SpecError
            If the ledger has no budget by period, or the time is none.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=10) as budgets:
        ...     budgets.set_per("day", 1)
        ...     paid = budgets.pay("ann", 0.25, unit="per km", release="rides", time="2026-01-31 12:00")
        ...     print([float(budgets.account_in("ann", day).left) for day in ("2026-01-31", "2026-02-01")])
        [0.75, 1.0]
        """
        name = stored([person], self._key)[0]
        with self._file.reading() as db:
            limit = balances.per_period(db)
            if limit is None:
                raise SpecError("time", "is given, but the ledger has no budget by period", "set one with `set_per`")
            period = limit.now() if time is None else limit.name(time)
            known = next((number for number, _ in balances.find(db, [name])), None)
            return next(balances.accounts_in(db, limit, [(known, name, period)]))

    def left(self, persons: Sequence[str]) -> list[Fraction]:
        """Return the amount that each person may still spend `(k,)`; 0 without a budget."""
        return [account.left for account in self._accounts(persons)]

    def account(self, person: str) -> Account:
        """Return the account of a person, also of one who is not in the ledger yet.

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
        """Return all accounts, those with the least left first, and by name where that is equal.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=2) as budgets:
        ...     paid = [budgets.pay(person, 0.5, unit="per km", release="May") for person in ("ann", "bob", "ann")]
        ...     print([(account.person, float(account.left)) for account in budgets.accounts()])
        [('ann', 1.0), ('bob', 1.5)]
        """
        with self._file.reading() as db:
            found = [account for _, account in balances.each_account(db)]
        return sorted(found, key=lambda account: (account.left, account.person))

    def history(self, person: str) -> list[Payment]:
        """Return the payments of a person, in the order of time.

        Examples
        --------
        >>> import dxopt as dx
        >>> budgets = dx.Budgets.open("budget.sqlite", create=True, default=2)
        >>> paid = budgets.pay("ann", 0.5, unit="per km", release="Monday")
        >>> print([(payment.release, float(payment.cost)) for payment in budgets.history("ann")])
        [('Monday', 0.5)]
        >>> budgets.close()
        """
        with self._file.reading() as db:
            return balances.history(db, stored([person], self._key)[0])

    def composed(self, person: str, tables: Mapping[str, IntegerTable], *, pairs: str = "all") -> Composition:
        """Compose what a person has paid for as (ε, δ): less than the sum of levels for many releases.

        The δ of each ε is that of the tables' reports drawn together, as `dx.compose` computes it. It holds for draws
        about one secret that stays, as a home or a count does. For a person who moves, levels add up, as the ledger
        has it: budgets are always refused by sums. With a key a secret has one report, which is paid for once: who
        has paid twice in a release has two secrets there, and is refused here (docs/theory/proofs.md).

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
        return compose_payments(self.history(person), tables, pairs)

    def odometer(self, person: str, delta: float, *, distance: float = 1.0) -> Odometer:
        """Bound what a person has given away so far, as (ε, δ), where levels were chosen on the way.

        It holds for histories whose places are at most `distance` apart at each release, for a person who moves as
        well, at any time and by whatever rule the ledger is used. With a key draws are those of distinct secrets, as
        for the sum of levels.

        Parameters
        ----------
        person : str
        delta : float
            Probability with which the bound may fail at any time, above 0.
        distance : float
            In the unit of the space.

        Raises
        ------
        SpecError
            If δ or the distance is none.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=20) as budgets:
        ...     paid = [budgets.pay("ann", 0.05, unit="per km", release="May") for trip in range(200)]
        ...     print(round(budgets.odometer("ann", 1e-6).epsilon, 2), float(budgets.account("ann").spent))
        4.38 10.0
        """
        from dxopt.analysis.composition.odometer import Odometer

        found = Odometer(delta, distance)
        for payment in self.history(person):
            found.spend(float(payment.level), float(payment.level_delta), payment.rows)
        return found

    def totals(self) -> Totals:
        """Return the ledger in a few numbers.

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
            return balances.totals(db)

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
            charges.check(db, self._file.damaged)

    def close(self) -> None:
        """Close the file; a block `with` does that by itself."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _summary(self) -> str:
        return str(self.file)

    def _lines(self) -> Lines:
        try:
            totals, default, unit, per = self.totals(), self.default, self.unit, self.per
        except DxoptError as error:
            # closed, of another process, or in use: whoever looks at it is told so
            return [("ledger", str(self.file)), ("not read", str(error))]
        return [
            ("ledger", str(self.file)),
            ("levels are", unit or "of no unit yet"),
            ("default budget", "none" if default is None else amount_text(default)),
            *([] if per is None else [(f"budget per {per.period}", f"{amount_text(per.epsilon)}, in {per.zone}")]),
            *totals._lines(),
        ]

    def __str__(self) -> str:
        return repr(self)

    def _accounts(self, persons: Sequence[str]) -> list[Account]:
        """Return the account of each person `(k,)`; of those who are not in the ledger, one with nothing spent."""
        names = stored(persons, self._key)
        with self._file.reading() as db:
            known = {account.person: account for _, account in balances.find(db, list(dict.fromkeys(names)))}
            default = balances.default_of(db)
        return [known.get(name) or Account(name, *default, own=False) for name in names]

    def _require_key(self) -> None:
        """Raise SpecError unless the key given is that which the ledger was made with, or neither has one."""
        with self._file.reading() as db:
            kept = balances.setting(db, "key")
        if kept != mark(self._key):
            wrong = f"is not that of {self.file}" if kept else f"is given, but {self.file} stores persons as they are"
            fix = "open the ledger without a key"
            if kept and self._key is None:
                wrong = f"is missing: {self.file} stores persons as hashes"
            raise SpecError("key", wrong, "give the key that the ledger was made with" if kept else fix)
