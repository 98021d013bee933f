"""The tables in the file of a ledger."""

from __future__ import annotations

import sqlite3

FORMAT = 2
"""The version of ledgers."""
APPLICATION = 0x64786267
"""What the head of the database says of its program: "dxbg"."""
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
    PRIMARY KEY (run, row)) WITHOUT ROWID;
CREATE TABLE tags (
    person INTEGER NOT NULL, level INTEGER NOT NULL, tag BLOB NOT NULL,
    PRIMARY KEY (person, level, tag)) WITHOUT ROWID;
CREATE TABLE payments (
    person INTEGER NOT NULL REFERENCES persons, run INTEGER NOT NULL REFERENCES runs,
    level INTEGER NOT NULL REFERENCES levels, key TEXT NOT NULL, rows INTEGER NOT NULL, first TEXT NOT NULL,
    last TEXT NOT NULL, PRIMARY KEY (person, run, level, key)) WITHOUT ROWID
"""
TABLES = {"settings", "persons", "levels", "runs", "payments", "rows", "tags"}


def head(db: sqlite3.Connection, name: str) -> int:
    """A number in the head of the database."""
    return db.execute(f"PRAGMA {name}").fetchone()[0]


def make(db: sqlite3.Connection) -> None:
    """Make the tables, within a transaction that writes."""
    for statement in _SCHEMA.split(";\n"):
        db.execute(statement)
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {FORMAT}")
