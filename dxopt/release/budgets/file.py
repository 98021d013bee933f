"""The file of a ledger: an SQLite database that is opened, made and written in whole transactions."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from dxopt.errors import SpecError
from dxopt.numerics.amounts import exactly
from dxopt.release.budgets.formats import APPLICATION, FORMAT, TABLES, head, make

# What SQLite says, by its result code, extended or primary, in plain words.
_WORDS = {
    sqlite3.SQLITE_BUSY: ("is locked by another process", "wait until it ends, and try again"),
    sqlite3.SQLITE_LOCKED: ("is locked by another process", "wait until it ends, and try again"),
    sqlite3.SQLITE_READONLY: ("cannot be written", "allow writing to it and to its folder"),
    sqlite3.SQLITE_READONLY_DBMOVED: ("was moved or deleted since it was opened", "open it where it is now"),
    sqlite3.SQLITE_PERM: ("cannot be written", "allow writing to it and to its folder"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "allow reading and writing it and its folder"),
    sqlite3.SQLITE_FULL: ("cannot be written, as the disk is full", "make room; nothing of this was charged"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "look at the disk; nothing of this was charged"),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "take a copy from before, and charge again what was released since"),
    sqlite3.SQLITE_NOTADB: ("is no ledger", "name a file that `dxopt budget` made"),
}


class LedgerFile:
    """An open ledger. One object may be used by several threads, but not by a forked copy of the process.

    Parameters
    ----------
    file : Path
    create : bool
        Whether to make the file where there is none.
    kept : mapping
        Settings of a ledger that is made.
    wait : float
        How long to wait for other processes, in seconds.
    """

    def __init__(self, file: Path, *, create: bool, kept: Mapping[str, str], wait: float) -> None:
        exactly(wait, "wait")
        self.file = file
        self._lock = threading.RLock()
        self._process = os.getpid()

        new = not file.exists()
        if new and not create:
            raise SpecError("ledger", f"{file} is not there", "make it: dxopt budget LEDGER --set AMOUNT --unit UNIT")
        if not new and not file.is_file():
            raise SpecError("ledger", f"{file} is no file", "name the file of a ledger")
        with self._plainly():
            # By name, and never read with Python's own `open`: to close a file that SQLite has open in the same
            # process drops its locks.
            uri = f"file:{quote(file.absolute().as_posix())}?mode={'rwc' if create else 'rw'}"
            self._db = sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None, check_same_thread=False)
        try:
            with self._plainly():
                # A rollback journal, deleted at each commit, with the file, the journal and their folder flushed to
                # disk (EXTRA): a commit that was reported survives kill -9 and a power cut, and one that was not is
                # undone by whoever opens the file next. A write-ahead log would do as well, but part of the ledger
                # would then lie in a second file, and a copy that leaves it behind has spent less than was spent.
                self._db.execute("PRAGMA synchronous = EXTRA")
                self._db.execute("PRAGMA trusted_schema = OFF")
                self._db.execute("PRAGMA cache_size = -65536")  # 64 MiB: few charges touch more than that
                if new:
                    file.chmod(0o600)  # it says who was where how often
            if create:
                self._make(kept)
            self._check()
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        """Close the file; again is allowed."""
        self._db.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that no other process is in: all of it is written, or nothing."""
        with self._lock, self._plainly():
            self._same_process()
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                # SQLite may have rolled back by itself, as where the disk is full.
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One transaction that sees a single state of the ledger, and changes nothing."""
        with self._lock, self._plainly():
            self._same_process()
            self._db.execute("BEGIN")
            try:
                yield self._db
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _same_process(self) -> None:
        if os.getpid() != self._process:
            raise SpecError("ledger", f"{self.file} was opened by another process", "open it anew in each process")

    def _make(self, kept: Mapping[str, str]) -> None:
        """Make the tables, unless there are some: another process may be as quick."""
        with self.writing() as db:
            empty = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if empty and not head(db, "application_id"):
                make(db)
                db.executemany("INSERT INTO settings VALUES (?, ?)", kept.items())

    def _check(self) -> None:
        """Raise SpecError unless the file is a ledger that this dxopt knows."""
        with self.reading() as db:
            tables = {name for kind, name in db.execute("SELECT type, name FROM sqlite_master") if kind != "index"}
            if not tables:
                raise SpecError(
                    "ledger", f"{self.file} is empty", "make it: dxopt budget LEDGER --set AMOUNT --unit UNIT"
                )
            if head(db, "application_id") != APPLICATION:
                raise SpecError("ledger", f"{self.file} is the database of another program", "name another file")
            version = head(db, "user_version")
            if version > FORMAT:
                raise SpecError("ledger", f"{self.file} was made by a later dxopt (format {version})", "update dxopt")
            if version != FORMAT or tables != TABLES:
                raise self.damaged()

    def damaged(self) -> SpecError:
        """The error about contents that no ledger has."""
        return SpecError(
            "ledger", f"{self.file} {_WORDS[sqlite3.SQLITE_CORRUPT][0]}", _WORDS[sqlite3.SQLITE_CORRUPT][1]
        )

    def _is_closed(self) -> bool:
        try:
            return self._db.total_changes < 0
        except sqlite3.ProgrammingError:
            return True

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """A context in which errors of SQLite become one line in plain words."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0)
            if isinstance(error, sqlite3.ProgrammingError) and self._is_closed():
                raise SpecError("ledger", f"{self.file} is closed", "open it again") from None
            unknown = f"cannot be used: {error}", "look at the file"
            wrong, fix = _WORDS.get(code) or _WORDS.get(code & 0xFF) or unknown
            raise SpecError("ledger", f"{self.file} {wrong}", fix) from error
