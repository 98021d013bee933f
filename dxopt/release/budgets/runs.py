"""Begin, go on with, finish and give up the runs of a ledger within one transaction, in SQL."""

from __future__ import annotations

import secrets
import sqlite3
from datetime import UTC, datetime
from operator import index

from dxopt.errors import SpecError
from dxopt.numerics.exact_rational import as_text
from dxopt.release.budgets.affording import Pair
from dxopt.release.budgets.balances import UNFINISHED, rational
from dxopt.release.budgets.ledger_file import NEW


def now() -> str:
    """Return the time in UTC, as "2026-01-31T12:00:00Z"."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def begin(db: sqlite3.Connection, name: str, release: str) -> str:
    """Return a new token for the unfinished run of a name, or for a new run; earlier tokens become invalid."""
    token = secrets.token_hex(16)
    again = db.execute(f"UPDATE runs SET token = ? WHERE name = ? AND {UNFINISHED}", (token, name))
    if not again.rowcount:
        new = "INSERT INTO runs (name, release, token, begun) VALUES (?, ?, ?, ?)"
        db.execute(new, (name, release, token, now()))
    return token


def open_ended(db: sqlite3.Connection, release: str) -> int:
    """Return the id of the run in which single draws of a release are paid for; it is made at the first one.

    It never ends, and has no token, so that no `begin` goes on with it.
    """
    found = db.execute("SELECT id FROM runs WHERE name = ? AND token IS NULL", (release,)).fetchone()
    if found:
        return found[0]
    made = db.execute("INSERT INTO runs (name, release, begun) VALUES (?, ?, ?)", (release, release, now()))
    return int(made.lastrowid or 0)


def run_of(db: sqlite3.Connection, token: str) -> tuple[int, bool]:
    """Return the id of the run that a token is for, and True if it is finished; SpecError if the token is invalid."""
    found = db.execute("SELECT id, finished FROM runs WHERE token = ?", (token,)).fetchone()
    if found is None:
        wrong = "is another process's now, or was closed, or never begun"
        raise SpecError("run", wrong, "publish nothing of it, and begin again")
    return found[0], found[1] is not None


def running(db: sqlite3.Connection, token: str) -> int:
    """Return the id of the run that a token is for; SpecError if the token is invalid, or the run finished."""
    run, finished = run_of(db, token)
    if finished:
        raise SpecError("run", "is finished", "begin another one")
    return run


def finish(db: sqlite3.Connection, run: int) -> None:
    """End a run. Its rows are no longer kept one by one, nor its name, as nothing goes on from it; payments stay."""
    db.execute("UPDATE runs SET finished = ?, name = release WHERE id = ?", (now(), run))
    db.execute("DELETE FROM rows WHERE run = ?", (run,))


def paid_in(db: sqlite3.Connection, name: str) -> dict[Pair, int]:
    """Return the number of rows that the unfinished run of a name has paid for, by persons as stored and periods."""
    asked = (
        "SELECT persons.person, payments.period, sum(payments.rows) FROM payments "
        "JOIN persons ON persons.id = payments.person WHERE payments.run IN "
        f"(SELECT id FROM runs WHERE name = ? AND {UNFINISHED}) GROUP BY payments.person, payments.period"
    )
    return {(person, period): index(rows) for person, period, rows in db.execute(asked, (name,))}


def give_up(db: sqlite3.Connection, token: str, *, refund: bool, seen: bool) -> None:
    """End a run of which nothing was published, and leave no trace of one that nobody has paid in.

    Draws with a key stay paid, as another run may have shown them without paying again. SpecError if it is finished,
    where something of it may be `seen`.
    """
    run, finished = run_of(db, token)
    if finished and seen:
        raise SpecError("run", "is finished", "its output may be published; what it paid stays paid")
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
    """End all unfinished runs, or those of one name, and return how many.

    Their tokens become invalid, so that a process that still runs publishes nothing that is not whole.
    """
    unfinished = db.execute(f"SELECT id, name FROM runs WHERE {UNFINISHED}").fetchall()
    closed = [run for run, its_name in unfinished if name in (None, its_name)]
    for run in closed:
        finish(db, run)
        db.execute("UPDATE runs SET token = ? WHERE id = ?", (secrets.token_hex(16), run))
    return len(closed)
