"""What is in the file of a ledger, and how one of format 1 is read and made one of format 2."""

from __future__ import annotations

import sqlite3

from dxopt.release.budgets.repeated import NEW, UNRECORDED

FORMAT = 2
"""The version of ledgers."""
APPLICATION = 0x64786267
"""What the head of the database says of its program: "dxbg"."""
_PAYMENTS = """
CREATE TABLE payments (
    person INTEGER NOT NULL REFERENCES persons, run INTEGER NOT NULL REFERENCES runs,
    level INTEGER NOT NULL REFERENCES levels, key TEXT NOT NULL, rows INTEGER NOT NULL, first TEXT NOT NULL,
    last TEXT NOT NULL, PRIMARY KEY (person, run, level, key)) WITHOUT ROWID"""
_SCHEMA = f"""
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
    PRIMARY KEY (run, row)) WITHOUT ROWID;
CREATE TABLE tags (
    person INTEGER NOT NULL, level INTEGER NOT NULL, tag BLOB NOT NULL,
    PRIMARY KEY (person, level, tag)) WITHOUT ROWID;
{_PAYMENTS}
"""
TABLES = {"settings", "persons", "levels", "runs", "payments", "rows", "tags"}
# Where a person has no tag at a level, nothing was drawn with a key.
_READ_1 = f"""
SELECT person, run, level, CASE WHEN EXISTS (
    SELECT 1 FROM tags WHERE tags.person = paid.person AND tags.level = paid.level
    ) THEN '{UNRECORDED}' ELSE '{NEW}' END AS key, rows, first, last
FROM main.payments AS paid"""


def head(db: sqlite3.Connection, name: str) -> int:
    """A number in the head of the database."""
    return db.execute(f"PRAGMA {name}").fetchone()[0]


def make(db: sqlite3.Connection) -> None:
    """Make the tables, within a transaction that writes."""
    for statement in _SCHEMA.split(";\n"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {FORMAT}")


def read_as_new(db: sqlite3.Connection) -> None:
    """Show this connection the payments of a ledger of format 1 as format 2 has them; the file stays as it is."""
    db.execute(f"CREATE TEMP VIEW payments AS {_READ_1}")


def bring_up(db: sqlite3.Connection) -> None:
    """Make a ledger that was read by `read_as_new` one of format 2, within a transaction that writes."""
    db.execute("DROP VIEW temp.payments")
    if head(db, "user_version") == FORMAT:
        return  # another process was as quick
    db.execute("ALTER TABLE payments RENAME TO payments_1")
    db.execute(_PAYMENTS)
    db.execute(f"INSERT INTO payments {_READ_1.replace('main.payments', 'payments_1')}")
    db.execute("DROP TABLE payments_1")
    db.execute(f"PRAGMA user_version = {FORMAT}")
