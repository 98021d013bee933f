"""Privacy budgets of many persons or devices, in one file that several processes may use at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.numerics.coerce import checked_count, require_same_rows
from dxopt.numerics.exact_rational import Amount, amount_of
from dxopt.release.budgets import affording, balances, charges, runs
from dxopt.release.budgets.affording import Level, Pair
from dxopt.release.budgets.ledger_file import LedgerFile, Tags, mark, stored, text
from dxopt.release.budgets.open_ledger import OpenLedger
from dxopt.release.budgets.periods import ALWAYS, Period, PerPeriod
from dxopt.release.budgets.purse import Purse
from dxopt.release.keys import Key
from dxopt.runtime.identity import each
from dxopt.runtime.reading import as_path

if TYPE_CHECKING:
    pass


class Budgets(OpenLedger):
    """A ledger on disk: what each person or device may spend on releases, and has spent.

    Levels add up, ε and δ each (composition; Cha13 for metrics). Amounts are rationals, and their sums exact. A
    charge is one transaction: all of its rows are paid for, or none, whatever is killed when; several processes may
    charge at once. Charge before anything is shown; what was charged stays charged.

    The sum is what histories of a person are told apart by where each row is a draw of its own. Repeatable draws are
    paid for once for each distinct secret, and show which rows share one: docs/guides/budgets.md. The ledger says
    which payments were for these, and by the fingerprint of which key.

    One object may be used by several threads. `open` makes it; it is a context manager, which closes the file.

    Examples
    --------
    >>> import dxopt as dx
    >>> with dx.Budgets.open("budget.sqlite", create=True, unit="per km", default="2x0.5") as budgets:
    ...     paid = [budgets.pay("ann", 0.5, unit="per km", release=day) for day in ("Monday", "Tuesday")]
    ...     print(paid, [float(left) for left in budgets.left(["ann", "bob"])])
    [True, True] [0.0, 1.0]
    """

    @classmethod
    def open(
        cls,
        file: str | Path,
        *,
        create: bool = False,
        unit: str | None = None,
        default: Amount | str | None = None,
        key: Key | None = None,
        wait: float = 60.0,
    ) -> Budgets:
        """Open a ledger.

        Parameters
        ----------
        file : path
            One SQLite file; not on a network drive, where locks may not hold.
        create : bool
            Make the file where there is none.
        unit : str, optional
            Unit of levels, such as "per km". A ledger has one unit; where none is given, it takes that of the
            first charge.
        default : amount, optional
            Default budget, for persons who have none of their own; kept only where no default is set yet. See `set`.
        key : Key, optional
            When the ledger is made and whenever it is opened: persons are stored as keyed hashes alone (HMAC-SHA256).
        wait : float
            Seconds to wait for other processes that write.

        Raises
        ------
        SpecError
            If there is no such file, others may read it, or it is no ledger, damaged, of another version, unit, key.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, unit="per km", default=2) as budgets:
        ...     print(budgets.unit, float(budgets.default))
        per km 2.0
        """
        kept = {"key": mark(key)}
        opened = cls(LedgerFile(as_path(file, "file", text=True), create=create, kept=kept, wait=wait), key)
        try:
            opened._require_key()
            budget = None if default is None else amount_of(default, "default")
            if unit is not None or budget is not None:
                with opened._file.writing() as db:
                    if unit is not None:
                        charges.keep_unit(db, unit)
                    if budget is not None and balances.default_of(db)[0] is None:
                        charges.set_default(db, budget, Fraction(0))
        except BaseException:
            opened.close()
            raise
        return opened

    def set(self, budget: Amount | str, *, person: str | None = None, delta: Amount | str = 0) -> None:
        """Set, raise or lower a budget: the default one, or that of a person.

        Parameters
        ----------
        budget : float, int, Fraction or str
            ε in all; text may be "ln(4)", "1/2", or "10x0.1" for ten releases at 0.1.
        person : str, optional
        delta : float, int, Fraction or str
            δ in all.

        Raises
        ------
        SpecError
            If an amount is no finite number from 0, or less than what is spent.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True) as budgets:
        ...     budgets.set("10x0.1")
        ...     budgets.set(3, person="ann")
        ...     print([float(left) for left in budgets.left(["ann", "bob"])])
        ...     budgets.unset("ann")
        [3.0, 1.0]
        """
        amounts = amount_of(budget, "budget"), amount_of(delta, "delta")
        name = None if person is None else stored([person], self._key)[0]
        with self._file.writing() as db:
            if name is None or person is None:  # both or neither: type checkers need to see it
                charges.set_default(db, *amounts)
            else:
                charges.set_person(db, name, person, *amounts)

    def set_per(self, period: Period, budget: Amount | str, *, delta: Amount | str = 0, zone: str = "UTC") -> None:
        """Set, raise or lower what each person may spend in each period, beside the budget in all.

        Parameters
        ----------
        period : {"day", "week", "month", "year"}
            Weeks are those of ISO 8601, from Monday to Sunday. A ledger has one kind, from its first payment on.
        budget, delta : float, int, Fraction or str
            ε and δ in a period, as in `set`.
        zone : str
            Time zone of the calendar, such as "Europe/Paris"; times without an offset are of it.

        Raises
        ------
        SpecError
            If there is no such period or zone, an amount is none, somebody has spent more in a period, or there are
            payments by other periods.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=10) as budgets:
        ...     budgets.set_per("month", "4x0.5", zone="Europe/Paris")
        ...     print(budgets.per.period, float(budgets.per.epsilon))
        month 2.0
        """
        limit = PerPeriod(period, zone, amount_of(budget, "budget"), amount_of(delta, "delta"))
        with self._file.writing() as db:
            charges.set_per(db, limit)

    def unset(self, person: str) -> None:
        """Give a person the default budget again; SpecError if more than that is spent."""
        name = stored([person], self._key)[0]
        with self._file.writing() as db:
            charges.unset_person(db, name, person)

    def begin(self, name: str, *, release: str | None = None) -> str:
        """Begin a run, or go on with the one of this name that was killed.

        Parameters
        ----------
        name : str
            Name that tells the run from others: the same for the same data, mechanism and output.
        release : str, optional
            Name that persons read in their history; that of the run by default.

        Returns
        -------
        str
            Token that `charge` and `finish` take. From now on they refuse those of earlier `begin`s of the run,
            so that one process at most finishes a run and publishes what it has drawn.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=2) as budgets:
        ...     run = budgets.begin("taxis.csv to public.csv", release="taxis in May")
        ...     print(budgets.charge(run, 0, ["ann", "bob"], 0.5, unit="per km").tolist())
        ...     budgets.finish(run)  # now public.csv may be published
        ...     print(budgets.finished(run), budgets.close_runs())
        [True, True]
        True 0
        """
        called = text(name, "run")
        shown = called if release is None else text(release, "release")
        with self._file.writing() as db:
            return runs.begin(db, called, shown)

    def _digest(self, *fields: str) -> str:
        """Return the HMAC-SHA256 of texts, under the key of the ledger or a secret of its own, in hexadecimal."""
        with self._file.writing() as db:
            return (self._key or charges.secret(db)).digest(*fields).hex()

    def finish(self, run: str) -> None:
        """End a run before its output is published; the next `begin` of its name is another run, and pays anew.

        A process that is killed between `finish` and publishing has paid for what nobody sees, never the reverse.

        Raises
        ------
        SpecError
            If another process has taken over the run, so that nothing of this one may be published.
        """
        with self._file.writing() as db:
            number, finished = runs.run_of(db, run)
            if not finished:  # again is allowed
                runs.finish(db, number)

    def finished(self, run: str) -> bool:
        """Return whether a run is finished, so that its output may be published; SpecError if it was taken over."""
        with self._file.reading() as db:
            return runs.run_of(db, run)[1]

    def give_up(self, run: str, *, refund: bool, seen: bool = True) -> None:
        """End a run of which nothing was or will be published.

        With `refund` its payments are given back, as nothing of it was seen. Draws with tags stay paid: another run
        may have shown them, and they cost nothing later. SpecError if it is another's, or finished and may be `seen`.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=2) as budgets:
        ...     run = budgets.begin("taxis.csv to public.csv")
        ...     paid = budgets.charge(run, 0, ["ann"], 0.5, unit="per km")
        ...     budgets.give_up(run, refund=True)
        ...     print(float(budgets.account("ann").spent), budgets.totals().unfinished)
        0.0 ()
        """
        with self._file.writing() as db:
            runs.give_up(db, run, refund=refund, seen=seen)

    def affordable(
        self,
        needed: Mapping[str, int],
        level: Amount | str,
        *,
        delta: Amount | str = 0,
        unit: str,
        run: str | None = None,
        drop: bool = False,
        time: Any = None,
    ) -> dict[str, int]:
        """Return the number of rows each person can afford at one level; nothing is charged.

        Parameters
        ----------
        needed : mapping of str to int
            Number of rows of each person.
        level, delta, unit : amounts and str
            As in `charge`.
        run : str, optional
            The name of a run that may be unfinished: what it has paid for is paid for.
        drop : bool
            True if there may be rows that cannot be paid for.
        time : datetime, date or text, optional
            Of all the rows, now by default, in a ledger with budgets by period.

        Raises
        ------
        BudgetExceeded
            Without `drop`, where somebody has too little left for all rows, saying how many persons have.
        SpecError
            If the unit is another.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=1) as budgets:
        ...     print(budgets.affordable({"ann": 3, "bob": 1}, 0.5, unit="per km", drop=True))
        {'ann': 2, 'bob': 1}
        """
        cost = Level(amount_of(level, "level"), amount_of(delta, "delta"), unit)
        names = stored(list(needed), self._key)
        if len(set(names)) < len(names):
            raise SpecError("needed", "has one person under two names", "count the rows of each person once")
        period = self._periods(None if time is None else [time], now=True)
        pairs = {(person, ALWAYS if period is None else period[0]): rows for person, rows in needed.items()}
        found = self._affordable(pairs, cost, run, drop=drop)
        return {person: found[person, ALWAYS] for person in needed}

    def _affordable(self, needed: Mapping[Pair, int], cost: Level, run: str | None, *, drop: bool) -> dict[Pair, int]:
        """Return the rows that persons can afford in all and in each period, of those `needed` in periods."""
        persons = list(dict.fromkeys(person for person, _ in needed))
        names = dict(zip(persons, stored(persons, self._key), strict=True))
        with self._file.reading() as db:
            affording.require_unit(balances.setting(db, "unit"), cost.unit)
            paid = {} if run is None else runs.paid_in(db, run)
            return affording.count_affordable(db, needed, names, paid, cost, drop=drop)

    def _require_affordable(self, draws: Mapping[bytes, Pair], cost: Level) -> None:
        """Raise BudgetExceeded unless persons can pay for draws with tags, given as persons and periods."""
        with self._file.reading() as db:
            names = stored([person for person, _ in draws.values()], self._key)
            affording.require_affordable(db, draws, names, cost)

    def _periods(self, times: Sequence[Any] | None, *, now: bool = False) -> list[str] | None:
        """Return the periods of rows by their times, None in a ledger without budgets by period.

        SpecError where times are given and there are none, or where they are missing, unless `now` stands for them.
        """
        limit = self.per
        if limit is None or times is None:
            found = [limit.now()] if limit is not None and now else None
            affording.require_periods(limit, found if times is None else list(times))
            return found
        return limit.names(times)

    def close_runs(self, name: str | None = None) -> int:
        """End runs that were killed, of one name or all, and return how many. What they paid stays paid."""
        with self._file.writing() as db:
            return runs.close(db, name)

    def charge(
        self,
        run: str,
        first: int,
        persons: Sequence[str],
        level: Amount | str,
        *,
        delta: Amount | str = 0,
        unit: str,
        tags: Sequence[bytes | None] | None = None,
        key: Key | None = None,
        times: Sequence[Any] | None = None,
    ) -> NDArray[np.bool_]:
        """Charge rows of a run, all or none; those that it has paid for before it was killed not again.

        Parameters
        ----------
        run : str
            From `begin`.
        first : int
            The number of the first of these rows in the run.
        persons : (k,) sequence of str
            The person who pays for each row; one may be in several rows, and pays for each.
        level, delta, unit : amounts and str
            ε and δ of each row, and what they are per.
        tags : (k,) sequence of bytes or None, optional
            For repeatable draws: a fingerprint of what was drawn, never the secret itself. A person pays for a tag
            once at each level, so that what is spent, and a refusal, tell how many distinct secrets there were.
        key : Key, optional
            Of these draws. The ledger keeps its fingerprint, for `history` and `composed`, and never the key.
        times : (k,) sequence of datetime, date or text, optional
            Of the rows, in a ledger with budgets by period.

        Returns
        -------
        (k,) array of bool
            True for rows that were paid for now, False for those that were paid for before, and cost nothing.

        Raises
        ------
        BudgetExceeded
            If somebody has not that much left; its `person` is the first of them. Nothing is charged.
        SpecError
            If the unit is another, the run is not this process's or is finished, or has paid for other rows before.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=0.5) as budgets:
        ...     run = budgets.begin("taxis.csv")
        ...     try:
        ...         budgets.charge(run, 0, ["ann", "bob", "ann"], 0.5, unit="per km")
        ...     except dx.BudgetExceeded as error:
        ...         print(error.person, [float(left) for left in budgets.left(["ann", "bob"])])
        ann [0.5, 0.5]
        """
        first = checked_count("first", first, 0)
        require_same_rows(persons, times, "times")
        persons = each(persons, "persons")
        cost = Level(amount_of(level, "level"), amount_of(delta, "delta"), unit)
        drawn = Tags.of(tags, key, len(persons))
        moments = None if times is None else each(times, "times")
        if moments is not None and len(moments) != len(persons):
            raise SpecError("times", f"are {len(moments)} for {len(persons)} rows", "give one for each row")
        return self._charge(run, range(first, first + len(persons)), persons, cost, drawn, self._periods(moments))

    def _charge(
        self,
        run: str,
        numbers: Sequence[int],
        persons: list[Any],
        cost: Level,
        drawn: Tags | None,
        periods: Sequence[str] | None,
    ) -> NDArray[np.bool_]:
        """Charge rows of a run as `charge` does; `numbers` are theirs in it, rising."""
        names = stored(persons, self._key)
        with self._file.writing() as db:
            return charges.charge(db, runs.running(db, run), numbers, persons, names, cost, drawn, periods)

    def pay(
        self,
        person: str,
        level: Amount | str,
        *,
        delta: Amount | str = 0,
        unit: str,
        release: str,
        tag: bytes | None = None,
        key: Key | None = None,
        time: Any = None,
    ) -> bool:
        """Charge one person for one draw, such as one answer of a server; False if its tag was paid for before.

        Parameters
        ----------
        person : str
        level, delta, unit : amounts and str
            As in `charge`.
        release : str
            The name of the draw in the ledger, which persons read in their history; it needs no key. Of a repeatable
            draw give the one that it is made of.
        tag, key : bytes and Key, optional
            For repeatable draws, as in `charge`.
        time : datetime, date or text, optional
            Of the draw, now by default, in a ledger with budgets by period.

        Raises
        ------
        BudgetExceeded
            If the person has not that much left. Nothing is charged.
        SpecError
            If the unit is another.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=0.5) as budgets:
        ...     print(budgets.pay("ann", 0.5, unit="per km", release="Monday"), float(budgets.left(["ann"])[0]))
        True 0.0
        """
        cost = Level(amount_of(level, "level"), amount_of(delta, "delta"), unit)
        drawn = Tags.of(None if tag is None else [tag], key, 1)
        return bool(self._pay([person], cost, release, drawn, time)[0])

    def pay_each(
        self,
        persons: Sequence[str],
        level: Amount | str,
        *,
        delta: Amount | str = 0,
        unit: str,
        release: str,
        time: Any = None,
    ) -> None:
        """Charge several persons for one draw that is about all of them, such as a private prior: all, or nobody.

        Parameters
        ----------
        persons : (k,) sequence of str
            Each pays as often as named.
        level, delta, unit, release, time
            As in `pay`.

        Raises
        ------
        BudgetExceeded
            If somebody has not that much left; its `person` is the first of them. Nothing is charged.
        SpecError
            If the unit is another.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=1) as budgets:
        ...     budgets.pay_each(["ann", "bob"], 0.75, unit="per person", release="prior")
        ...     print([float(left) for left in budgets.left(["ann", "bob", "carl"])])
        [0.25, 0.25, 1.0]
        """
        cost = Level(amount_of(level, "level"), amount_of(delta, "delta"), unit)
        self._pay(each(persons, "persons"), cost, release, None, time)

    def _pay(self, persons: list[Any], cost: Level, release: str, drawn: Tags | None, time: Any) -> NDArray[np.bool_]:
        """Charge each of several persons for one draw at one time, and return a mask of those who pay now."""
        names = stored(persons, self._key)
        called = text(release, "release")
        period = self._periods(None if time is None else [time], now=True)
        periods = None if period is None else period * len(persons)
        with self._file.writing() as db:
            return charges.charge(db, runs.open_ended(db, called), None, persons, names, cost, drawn, periods)

    def purse(self, person: str, *, unit: str, release: str) -> Purse:
        """Return the purse of one person, from which a stream of `dx.traces` pays draw by draw.

        Examples
        --------
        >>> import dxopt as dx
        >>> mechanism = dx.traces.IndependentNoise(dx.traces.on_plane(), epsilon=0.5)
        >>> with dx.Budgets.open("budget.sqlite", create=True, default=1) as budgets:
        ...     stream = mechanism.stream(purse=budgets.purse("ann", unit="per km", release="ride"))
        ...     kinds = [stream.step(point).kind for point in [(0.0, 0.0), (0.1, 0.0)]]
        ...     print(kinds, float(budgets.left(["ann"])[0]))
        ['hard', 'hard'] 0.0
        """
        stored([person], self._key)  # refuses what is no name now, not at the first draw
        return Purse(self, person, unit, text(release, "release"))
