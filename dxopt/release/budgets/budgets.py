"""Privacy budgets of many persons or devices, in one file that several processes may use at once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.numerics.amounts import Amount, amount_of
from dxopt.release.budgets import looking, runs
from dxopt.release.budgets.charging import Level, charge, keep_unit, setting
from dxopt.release.budgets.file import LedgerFile
from dxopt.release.budgets.persons import mark, stored, text
from dxopt.release.budgets.purse import Purse
from dxopt.release.budgets.repeated import Tags
from dxopt.release.budgets.running import LedgerRuns
from dxopt.release.budgets.setting import set_default, set_person, unset_person
from dxopt.release.keys import Key
from dxopt.runtime.reading import as_path


class Budgets(LedgerRuns):
    """A ledger on disk: what each person or device may spend on releases, and has spent.

    Levels add up, ε and δ each (composition; Cha13 for metrics). Amounts are rationals, and their sums exact. A
    charge is one transaction: all of its rows are paid for, or none, whatever is killed when; several processes may
    charge at once. Charge before anything is shown, so that a release is never paid for too late. What was charged
    stays charged.

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
            What levels are per, such as "per km". A ledger has one unit: that of the first charge where none is
            given.
        default : amount, optional
            Budget of persons without their own, where none is set yet; see `set`.
        key : Key, optional
            When the ledger is made and whenever it is opened: persons are stored as keyed hashes alone (HMAC-SHA256).
        wait : float
            Seconds to wait for other processes that write.

        Raises
        ------
        SpecError
            If there is no such file, or it is no ledger, damaged, of a later version, with another unit or key.

        Examples
        --------
        >>> import dxopt as dx
        >>> with dx.Budgets.open("budget.sqlite", create=True, unit="per km", default=2) as budgets:
        ...     print(budgets.unit, float(budgets.default))
        per km 2.0
        """
        kept = {"key": mark(key)}
        opened = cls(LedgerFile(as_path(file, "file"), create=create, kept=kept, wait=wait), key)
        try:
            opened._know_key()
            if unit is not None or default is not None:
                opened._prepare(unit, default)
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
            if name is None or person is None:
                set_default(db, *amounts)
            else:
                set_person(db, name, person, *amounts)

    def unset(self, person: str) -> None:
        """Give a person the default budget again; SpecError if more than that is spent."""
        name = stored([person], self._key)[0]
        with self._file.writing() as db:
            unset_person(db, name, person, looking.default_of(db))

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
    ) -> NDArray[np.bool_]:
        """Charge rows of a run, all or none.

        Rows that the run has paid for before it was killed are not charged again.

        Parameters
        ----------
        run : str
            From `begin`.
        first : int
            The number of the first of these rows in the run.
        persons : (k,) sequence of str
            Who pays for each row; a person may be in several rows, and pays for each.
        level, delta : amount
            ε and δ of each row.
        unit : str
            What the level is per.
        tags : (k,) sequence of bytes or None, optional
            For repeatable draws: a fingerprint of what was drawn, never the secret itself. A person pays for a tag
            once at each level, so that what is spent, and a refusal, tell how many distinct secrets there were.
        key : Key, optional
            Of these draws. The ledger keeps its fingerprint, for `history` and `composed`, and never the key.

        Returns
        -------
        (k,) array of bool
            Which rows were paid for now.

        Raises
        ------
        BudgetExceeded
            Naming the first person who has not that much left. Nothing is charged.
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
        if isinstance(first, bool) or not isinstance(first, int | np.integer) or first < 0:
            raise SpecError("first", f"is {first!r}", "give the number of the first row, from 0")
        persons = list(persons) if not isinstance(persons, str) else persons
        cost, names = self._cost(persons, level, delta, unit)
        drawn = Tags.of(tags, key, len(names))
        with self._file.writing() as db:
            number, finished = runs.run_of(db, run)
            if finished:
                raise SpecError("run", "is finished", "begin another one")
            return charge(db, number, int(first), persons, names, cost, drawn)

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
    ) -> bool:
        """Charge one person for one draw, such as one answer of a server; False if its tag was paid for before.

        Parameters
        ----------
        person : str
        level, delta : amount
            ε and δ of the draw.
        unit : str
            What the level is per.
        release : str
            The name of the draw in the ledger, which persons read in their history; it needs no key. Of a repeatable
            draw give the one that it is made of.
        tag, key : bytes and Key, optional
            For repeatable draws, as in `charge`.

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
        cost, names = self._cost([person], level, delta, unit)
        drawn = Tags.of(None if tag is None else [tag], key, 1)
        called = text(release, "release")
        with self._file.writing() as db:
            return bool(charge(db, runs.open_ended(db, called), None, [person], names, cost, drawn)[0])

    def purse(self, person: str, *, unit: str, release: str) -> Purse:
        """What one person pays from, draw by draw, as a stream of `dx.traces` does.

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
        stored([person], self._key)
        return Purse(self, person, unit, text(release, "release"))

    def _know_key(self) -> None:
        """SpecError unless the ledger was made with this key, or without one."""
        with self._file.reading() as db:
            kept = setting(db, "key")
        if kept != mark(self._key):
            wrong = f"is not that of {self.file}" if kept else f"is given, but {self.file} stores persons as they are"
            fix = "open the ledger without a key"
            if kept and self._key is None:
                wrong = f"is missing: {self.file} stores persons as hashes"
            raise SpecError("key", wrong, "give the key that the ledger was made with" if kept else fix)

    def _prepare(self, unit: str | None, default: Amount | str | None) -> None:
        """Set unit and default budget where there is none yet."""
        budget = None if default is None else amount_of(default, "default")
        with self._file.writing() as db:
            if unit is not None:
                keep_unit(db, unit)
            if budget is not None and looking.default_of(db)[0] is None:
                set_default(db, budget, Fraction(0))

    def _cost(
        self, persons: Sequence[str], level: Amount | str, delta: Amount | str, unit: str
    ) -> tuple[Level, list[str]]:
        """What each row costs, and who pays, as stored."""
        cost = Level(amount_of(level, "level"), amount_of(delta, "delta"), unit)
        return cost, stored(persons, self._key)
