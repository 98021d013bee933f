"""Runs of an open ledger: begun, and finished before what they drew is published."""

from __future__ import annotations

from collections.abc import Mapping

from dxopt.errors import SpecError
from dxopt.numerics.amounts import Amount, amount_of
from dxopt.release.budgets import runs
from dxopt.release.budgets.affording import affordable
from dxopt.release.budgets.charging import Level, require_unit
from dxopt.release.budgets.persons import stored, text
from dxopt.release.budgets.view import LedgerView


class LedgerRuns(LedgerView):
    """The part of `Budgets` that begins and ends runs."""

    def begin(self, name: str, *, release: str | None = None) -> str:
        """Begin a run, or go on with the one of this name that was killed.

        Parameters
        ----------
        name : str
            What tells the run from others: the same for the same data, mechanism and output.
        release : str, optional
            What persons read in their history; the name by default.

        Returns
        -------
        str
            What `charge` and `finish` take. From now on they refuse what an earlier `begin` of the same run gave, so
            that one process at most finishes a run and publishes what it has drawn.

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
            if not finished:
                runs.finish(db, number)

    def finished(self, run: str) -> bool:
        """Whether a run is finished, so that its output may be published; SpecError if it is not this process's."""
        with self._file.reading() as db:
            return runs.run_of(db, run)[1]

    def give_up(self, run: str, *, refund: bool) -> None:
        """End a run of which nothing was or will be published.

        Parameters
        ----------
        run : str
            From `begin`.
        refund : bool
            Whether its payments are given back, as nothing of it was seen. Draws with tags stay paid: another run
            may have shown them, and they cost nothing later.

        Raises
        ------
        SpecError
            If the run is not this process's, or is finished.

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
            number, finished = runs.run_of(db, run)
            if finished:
                raise SpecError("run", "is finished", "its output may be published; what it paid stays paid")
            runs.give_up(db, number, refund=refund)

    def affordable(
        self,
        needed: Mapping[str, int],
        level: Amount | str,
        *,
        delta: Amount | str = 0,
        unit: str,
        run: str | None = None,
        drop: bool = False,
    ) -> dict[str, int]:
        """How many of their rows persons can pay for, at one level; nothing is charged.

        Parameters
        ----------
        needed : mapping of str to int
            How many rows each person has.
        level, delta : amount
            ε and δ of each row.
        unit : str
            What the level is per.
        run : str, optional
            The name of a run that may be unfinished: what it has paid for is paid for.
        drop : bool
            Whether a person may have rows that cannot be paid for.

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
        require_unit(self.unit, unit)
        with self._file.reading() as db:
            paid = {} if run is None else runs.paid_in(db, run)
        names = stored(list(needed), self._key)
        started = {person: paid.get(name, 0) for person, name in zip(needed, names, strict=True)}
        return affordable(self._accounts(list(needed)), needed, started, cost, drop=drop)

    def close_runs(self, name: str | None = None) -> int:
        """End runs that were killed, of one name or all, and return how many. What they paid stays paid."""
        with self._file.writing() as db:
            return runs.close(db, name)
