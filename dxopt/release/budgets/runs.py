"""Runs: releases of many rows, which go on after a kill, and draws one by one."""

from __future__ import annotations

import secrets
import sqlite3

from dxopt.errors import SpecError
from dxopt.numerics.amounts import as_text
from dxopt.release.budgets.charging import now, rational
from dxopt.release.budgets.repeated import NEW

_UNFINISHED = "finished IS NULL AND token IS NOT NULL"


def begin(db: sqlite3.Connection, name: str, release: str) -> str:
    """A new token for the unfinished run of a name, or for a new run. Tokens that it had before are worth nothing."""
    token = secrets.token_hex(16)
    again = db.execute(f"UPDATE runs SET token = ? WHERE name = ? AND {_UNFINISHED}", (token, name))
    if not again.rowcount:
        new = "INSERT INTO runs (name, release, token, begun) VALUES (?, ?, ?, ?)"
        db.execute(new, (name, release, token, now()))
    return token


def open_ended(db: sqlite3.Connection, release: str) -> int:
    """The run of all draws of a release one by one: without an end, and without a token, so no `begin` finds it."""
    found = db.execute("SELECT id FROM runs WHERE name = ? AND token IS NULL", (release,)).fetchone()
    if found:
        return found[0]
    made = db.execute("INSERT INTO runs (name, release, begun) VALUES (?, ?, ?)", (release, release, now()))
    return int(made.lastrowid or 0)


def run_of(db: sqlite3.Connection, token: str) -> tuple[int, bool]:
    """The run of a token, and whether it is finished."""
    found = db.execute("SELECT id, finished FROM runs WHERE token = ?", (token,)).fetchone()
    if found is None:
        wrong = "is another process's now, or was closed, or never begun"
        raise SpecError("run", wrong, "publish nothing of it, and begin again")
    return found[0], found[1] is not None


def finish(db: sqlite3.Connection, run: int) -> None:
    """End a run. Which rows it paid for is known by person from now on, no longer one by one."""
    db.execute("UPDATE runs SET finished = ? WHERE id = ?", (now(), run))
    db.execute("DELETE FROM rows WHERE run = ?", (run,))


def paid_in(db: sqlite3.Connection, name: str) -> dict[str, int]:
    """How many rows the unfinished run of a name has paid for, by persons as stored."""
    asked = (
        "SELECT persons.person, sum(payments.rows) FROM payments JOIN persons ON persons.id = payments.person "
        f"WHERE payments.run IN (SELECT id FROM runs WHERE name = ? AND {_UNFINISHED}) GROUP BY payments.person"
    )
    return dict(db.execute(asked, (name,)))


def give_up(db: sqlite3.Connection, run: int, *, refund: bool) -> None:
    """End a run of which nothing was published, and leave no trace of one that nobody has paid in.

    Draws with a key stay paid, as another run may have shown them without paying again.
    """
    if refund:
        paid = db.execute(
            "SELECT payments.person, payments.rows, levels.epsilon, levels.delta FROM payments "
            "JOIN levels ON levels.id = payments.level WHERE payments.run = ? AND payments.key = ?",
            (run, NEW),
        ).fetchall()
        for person, rows, epsilon, delta in paid:
            spent = db.execute("SELECT spent_epsilon, spent_delta FROM persons WHERE id = ?", (person,)).fetchone()
            left = (
                as_text(rational(text) - rows * rational(each), "spent")
                for text, each in zip(spent, (epsilon, delta), strict=True)
            )
            db.execute("UPDATE persons SET spent_epsilon = ?, spent_delta = ? WHERE id = ?", (*left, person))
        db.execute("DELETE FROM payments WHERE run = ? AND key = ?", (run, NEW))
    finish(db, run)
    db.execute("DELETE FROM runs WHERE id = ? AND id NOT IN (SELECT run FROM payments)", (run,))


def close(db: sqlite3.Connection, name: str | None) -> int:
    """End all unfinished runs, or those of one name, and take their tokens away: their output is not whole."""
    unfinished = db.execute(f"SELECT id, name FROM runs WHERE {_UNFINISHED}").fetchall()
    closed = [run for run, its_name in unfinished if name in (None, its_name)]
    for run in closed:
        finish(db, run)
        db.execute("UPDATE runs SET token = ? WHERE id = ?", (secrets.token_hex(16), run))
    return len(closed)
