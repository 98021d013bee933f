"""An independent reader of ledgers: plain sqlite3 and Fractions, nothing of dxopt."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

Paid = dict[tuple[str, str], int]
"""Rows that were paid for, by run and person."""


def overspent(file: Path) -> list[str]:
    """What is wrong in a ledger, added up from its payments; nothing where it is sound."""
    db = sqlite3.connect(file, isolation_level=None, timeout=60)
    db.execute("BEGIN")  # one state of the ledger: others write meanwhile
    wrong = [row[0] for row in db.execute("PRAGMA integrity_check") if row[0] != "ok"]
    if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        return wrong  # killed before it was made
    settings = dict(db.execute("SELECT name, value FROM settings").fetchall())
    sums: dict[int, Fraction] = defaultdict(Fraction)
    query = "SELECT p.person, l.epsilon, p.rows FROM payments p JOIN levels l ON l.id = p.level"
    for person, epsilon, rows in db.execute(query):
        sums[person] += Fraction(epsilon) * rows
    for number, person, epsilon, spent in db.execute("SELECT id, person, epsilon, spent_epsilon FROM persons"):
        budget = Fraction(epsilon or settings["epsilon"])
        if Fraction(spent) != sums[number]:
            wrong.append(f"{person} has spent {spent} but paid {sums[number]}")
        if sums[number] > budget:
            wrong.append(f"{person} paid {sums[number]} of {budget}")
    db.close()
    return wrong


def paid(file: Path) -> Paid:
    """How many rows each person paid for in each run, named by its number and name."""
    db = sqlite3.connect(file)
    query = (
        "SELECT r.token, q.person, sum(p.rows) FROM payments p JOIN runs r ON r.id = p.run "
        "JOIN persons q ON q.id = p.person GROUP BY r.token, q.person"
    )
    found = {(token, person): rows for token, person, rows in db.execute(query)}
    db.close()
    return found
