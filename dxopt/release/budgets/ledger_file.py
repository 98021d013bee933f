"""Open, make and check the SQLite file of a ledger, and write texts, persons and keys as it stores them."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shlex import quote as quoted
from typing import Any
from urllib.parse import quote

from dxopt.errors import DxoptError, SpecError, required
from dxopt.numerics.exact_rational import exactly
from dxopt.release.keys import Key
from dxopt.runtime.atomic_write import open_private
from dxopt.runtime.identity import encoded, identities
from dxopt.runtime.reading import require_private

FORMAT = 4
"""The version of ledgers."""
APPLICATION = 0x64786267
"""Application id in the head of the database: "dxbg"."""
_MAKE_IT = "make it: dxopt budget LEDGER --set AMOUNT --unit UNIT"
_SCHEMA = """
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE persons (
    id INTEGER PRIMARY KEY, person TEXT NOT NULL UNIQUE, epsilon TEXT, delta TEXT,
    spent_epsilon TEXT NOT NULL DEFAULT '0', spent_delta TEXT NOT NULL DEFAULT '0');
CREATE TABLE levels (
    id INTEGER PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, UNIQUE (epsilon, delta));
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, release TEXT NOT NULL, token TEXT UNIQUE, begun TEXT NOT NULL,
    finished TEXT);
CREATE INDEX runs_name ON runs (name, finished);
CREATE TABLE rows (
    run INTEGER NOT NULL REFERENCES runs, row INTEGER NOT NULL, person INTEGER NOT NULL, level INTEGER NOT NULL,
    tag BLOB, period TEXT NOT NULL, PRIMARY KEY (run, row)) WITHOUT ROWID;
CREATE TABLE tags (
    person INTEGER NOT NULL, level INTEGER NOT NULL, tag BLOB NOT NULL,
    PRIMARY KEY (person, level, tag)) WITHOUT ROWID;
CREATE TABLE payments (
    person INTEGER NOT NULL REFERENCES persons, run INTEGER NOT NULL REFERENCES runs,
    level INTEGER NOT NULL REFERENCES levels, key TEXT NOT NULL, period TEXT NOT NULL, rows INTEGER NOT NULL,
    first TEXT NOT NULL, last TEXT NOT NULL, PRIMARY KEY (person, run, level, key, period)) WITHOUT ROWID
"""
TABLES = {("table", name) for name in ("settings", "persons", "levels", "runs", "payments", "rows", "tags")}


def head(db: sqlite3.Connection, name: str) -> int:
    """Return a number in the head of the database by the name of its pragma: `application_id` or `user_version`."""
    return db.execute(f"PRAGMA {name}").fetchone()[0]


_CHECK = "dxopt ledger 1: key"
_PERSON = "dxopt ledger 1: person"


def mark(key: Key | None) -> str:
    """Return the text by which a ledger recognises its key; empty without one. SpecError if it is no key."""
    if key is None:
        return ""
    required("key", key, Key, "give a dx.Key")
    return key.digest(_CHECK).hex()


def stored(persons: Sequence[Any], key: Key | None) -> list[str]:
    """Return the names under which a ledger stores persons: their identities, or HMAC-SHA256 of these in hexadecimal.

    SpecError if one is nobody.
    """
    names = identities(persons)
    return names if key is None else [key.digest(_PERSON, name).hex() for name in names]


def is_stored(name: str, *, hashed: bool) -> bool:
    """Return whether a name is one under which a ledger stores a person: no other spelling of one."""
    try:
        return re.fullmatch("[0-9a-f]{64}", name) is not None if hashed else stored([name], None) == [name]
    except SpecError:
        return False


def text(given: str, field: str, fix: str = "give it a name") -> str:
    """Return a text that names something (a run, a release, a unit); SpecError if it is empty or no text."""
    required(field, given, str, fix)
    if not given.strip():
        raise SpecError(field, f"is {given!r}", fix)
    encoded(given, field)
    return given


NEW = "none"
"""Stored in place of the fingerprint of a key for draws without a key."""
UNNAMED = "unnamed"
"""Stored for draws with tags whose key the ledger was not told."""


@dataclass(frozen=True)
class Tags:
    """Fingerprints of draws `(k,)`, None for draws without a key, and the text that is stored for their key."""

    fingerprints: Sequence[bytes | None]
    key: str

    @classmethod
    def of(cls, tags: Sequence[bytes | None] | None, key: Key | None, rows: int) -> Tags | None:
        """Return the tags of so many rows, None without tags; SpecError where they do not fit the rows or the key."""
        required("key", key, Key | None, "give a dx.Key")
        if tags is None:
            if key is not None:
                raise SpecError("key", "is given without tags", "give the tags of draws with a key, or leave it out")
            return None
        if len(tags) != rows:
            raise SpecError("tags", f"are {len(tags)} for {rows} rows", "give one for each row, or None")
        if not all(tag is None or isinstance(tag, bytes) for tag in tags):
            raise SpecError("tags", "are not all bytes or None", "give fingerprints, such as Key.digest")
        return cls(tags, UNNAMED if key is None else key.fingerprint)


def key_of_payment(stored: str) -> tuple[bool, str | None]:
    """Return what a payment has stored of its key: if there was one, and its fingerprint, None if not known."""
    if stored == NEW:
        return False, None
    return True, None if stored == UNNAMED else stored


# Errors of SQLite in plain words, by its result code, extended or primary: what is wrong, and what to do.
_WORDS = {
    sqlite3.SQLITE_BUSY: ("is locked by another process", "wait until it ends, and try again"),
    sqlite3.SQLITE_LOCKED: ("is locked by another process", "wait until it ends, and try again"),
    sqlite3.SQLITE_READONLY: ("cannot be written", "allow writing to it and to its folder"),
    sqlite3.SQLITE_READONLY_DBMOVED: ("was moved or deleted since it was opened", "open it where it is now"),
    sqlite3.SQLITE_PERM: ("cannot be written", "allow writing to it and to its folder"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "allow reading and writing it and its folder"),
    sqlite3.SQLITE_FULL: ("cannot be written, as the disk is full", "make room"),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "look at the disk"),
    sqlite3.SQLITE_CORRUPT: ("is damaged", "take a copy from before, and charge again what was released since"),
    sqlite3.SQLITE_NOTADB: ("is no ledger", "name a file that `dxopt budget` made"),
}


def _require_own_journal(file: Path) -> None:
    """Raise SpecError where SQLite would write to a file beside the ledger, or read it, that somebody else put there.

    A journal is left by a program that was killed. Ledgers have no write-ahead log. The fix loses no payment that may
    be in such a file.
    """
    file = Path(os.path.realpath(file))  # as SQLite does
    for ending in ("-journal", "-wal", "-shm"):
        beside = Path(f"{file}{ending}")
        try:
            found = beside.lstat()
        except OSError:  # it is not there, or the ledger cannot be either
            continue
        wrong = f"{beside} is there, which dxopt has not made: SQLite would read payments there, or write them"
        own = file.stat() if file.exists() else None
        if own is None or not stat.S_ISREG(found.st_mode) or (found.st_uid, found.st_nlink) != (own.st_uid, 1):
            raise SpecError("ledger", wrong, "end the program that uses it, or move it elsewhere, and keep it")
        if ending == "-journal" and found.st_mode & ~own.st_mode & 0o077:
            raise SpecError("ledger", wrong, f"run chmod 600 {quoted(str(beside))}")
        if ending == "-wal" and found.st_size:
            merge = f'sqlite3 {quoted(str(file))} "PRAGMA journal_mode=DELETE"'
            fix = f"end the program that uses it, and run {merge}, which writes to the ledger what is in it"
            raise SpecError("ledger", wrong, fix)
        if ending != "-journal":  # there are no payments in it
            raise SpecError("ledger", wrong, "end the program that uses it, or remove it")


def _make_empty(file: Path) -> bool:
    """Make an empty file that its owner alone may read, as it says who was where how often; False if it is there now.

    SpecError where there is a link that leads nowhere, or the drive keeps no file to its owner; nothing is left then.
    """
    try:
        with open_private(file) as stream:
            mode = os.fstat(stream.fileno()).st_mode
    except FileExistsError:
        if file.exists():
            return False
        raise SpecError("ledger", f"{file} is a link that leads nowhere", "remove it, or give another name") from None
    except OSError as error:
        raise _unopened(file, error) from None
    try:
        require_private(file, mode, "ledger")
    except SpecError:
        file.unlink()
        wrong = f"{file} could be read by others, as its drive keeps no file to its owner"
        raise SpecError("ledger", wrong, "name a file on another drive") from None
    return True


def _unopened(file: Path, error: OSError) -> SpecError:
    return SpecError("ledger", f"{file} cannot be opened: {error.strerror}", "give another name")


class LedgerFile:
    """An open ledger. One object may be used by several threads, but not by a forked copy of the process.

    With `create` a missing file is made, with the settings that are `kept` in it. It waits for `wait` seconds while
    another process writes.
    """

    def __init__(self, file: Path, *, create: bool, kept: Mapping[str, str], wait: float) -> None:
        exactly(wait, "wait")
        required("create", create, bool, "give True or False")
        self.file = file
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._closed = False

        try:
            new = not file.exists()
        except OSError as error:
            raise _unopened(file, error) from None
        if new and not create:
            raise SpecError("ledger", f"{file} is not there", _MAKE_IT)
        if not new and not file.is_file():
            raise SpecError("ledger", f"{file} is no file", "name the file of a ledger")
        if not new and file.stat().st_nlink > 1:  # SQLite undoes what a killed program began by the name of the file
            wrong = f"{file} has another name (a hard link), under which payments may be lost"
            raise SpecError("ledger", wrong, "remove the other name; take copies for backups")
        _require_own_journal(file)
        made = new and _make_empty(file)
        with self._plainly():
            # By name, and never read with Python's own `open`: to close a file that SQLite has open in the same
            # process drops its locks.
            uri = f"file:{quote(file.absolute().as_posix())}?mode=rw"
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
            if create:
                self._make(kept)
            self._check()
            require_private(file, file.stat().st_mode, "ledger")
        except BaseException:
            if made:
                self._remove_empty()
            self._db.close()
            raise

    def close(self) -> None:
        """Close the file; it may be closed already."""
        self._closed = True
        self._db.close()

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open a transaction, one at a time over all processes, for the context: all of it is written, or nothing."""
        return self._transaction("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Open a transaction for the context that sees a single state of the ledger, and is to change nothing."""
        return self._transaction("BEGIN")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock, self._plainly():
            self._same_process()
            if self._db.in_transaction:  # an interrupt came as the context was entered or left
                self._db.rollback()
            with self._db:  # commits, or rolls back after any exception
                self._db.execute(begin)
                yield self._db

    def _same_process(self) -> None:
        """Raise SpecError in a forked copy of the process: connections of SQLite must not be used in one."""
        if os.getpid() != self._process:
            raise SpecError("ledger", f"{self.file} was opened by another process", "open it anew in each process")

    def _make(self, kept: Mapping[str, str]) -> None:
        """Make the tables, unless another process has made them in the meantime, or the file is another program's."""
        with self.writing() as db:
            empty = not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if empty and not head(db, "application_id"):
                require_private(self.file, self.file.stat().st_mode, "ledger")
                for statement in _SCHEMA.split(";\n"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION}")
                db.execute(f"PRAGMA user_version = {FORMAT}")
                db.executemany("INSERT INTO settings VALUES (?, ?)", kept.items())

    def _remove_empty(self) -> None:
        """Remove a file that was made for this ledger, unless there is something in it.

        While it is read nobody writes to it; whoever waits for that is told by SQLite that the file was removed.
        """
        with suppress(DxoptError, OSError), self.reading() as db:
            db.execute("SELECT count(*) FROM sqlite_master")
            if not self.file.stat().st_size:
                self.file.unlink()

    def _check(self) -> None:
        """Raise SpecError unless the file is a ledger that this dxopt knows."""
        with self.reading() as db:
            found = {entry for entry in db.execute("SELECT type, name FROM sqlite_master") if entry[0] != "index"}
            if not found:
                raise SpecError("ledger", f"{self.file} is empty", _MAKE_IT)
            if head(db, "application_id") != APPLICATION:
                raise SpecError("ledger", f"{self.file} is the database of another program", "name another file")
            version = head(db, "user_version")
            if version > FORMAT:
                raise SpecError("ledger", f"{self.file} was made by a later dxopt (format {version})", "update dxopt")
            if version != FORMAT or found != TABLES:
                raise self.damaged()

    def damaged(self) -> SpecError:
        """Return the error to raise where the contents are those of no ledger that dxopt has written."""
        wrong, fix = _WORDS[sqlite3.SQLITE_CORRUPT]
        return SpecError("ledger", f"{self.file} {wrong}", fix)

    @contextmanager
    def _plainly(self) -> Iterator[None]:
        """Turn errors of SQLite, and of contents that are none, into SpecError in plain words with what to do."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0)
            if isinstance(error, sqlite3.ProgrammingError) and self._closed:
                raise SpecError("ledger", f"{self.file} is closed", "open it again") from None
            unknown = f"cannot be used: {error}", "look at the file"
            wrong, fix = _WORDS.get(code) or _WORDS.get(code & 0xFF) or unknown  # extended, then primary code
            raise SpecError("ledger", f"{self.file} {wrong}", fix) from error
        except DxoptError:
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
            # what is read has other types than what is written, or is no text
            raise self.damaged() from error
