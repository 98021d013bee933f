"""Runs of an open ledger: begun, and finished before what they drew is published."""

from __future__ import annotations

from dxopt.release.budgets import runs
from dxopt.release.budgets.persons import text
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

    def close_runs(self, name: str | None = None) -> int:
        """End runs that were killed, of one name or all, and return how many. What they paid stays paid."""
        with self._file.writing() as db:
            return runs.close(db, name)
