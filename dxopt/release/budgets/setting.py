"""Budgets are set, raised and lowered; never below what is spent."""

from __future__ import annotations

import sqlite3
from fractions import Fraction

from dxopt.errors import SpecError
from dxopt.numerics.amounts import as_text, float_above
from dxopt.release.budgets.accounts import shown
from dxopt.release.budgets.charging import rational


def put(db: sqlite3.Connection, name: str, value: str) -> None:
    """Write a setting of the ledger."""
    db.execute(
        "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (name, value)
    )


def set_default(db: sqlite3.Connection, budget: Fraction, delta: Fraction) -> None:
    """Set the budget of persons without their own."""
    spending = db.execute("SELECT person, spent_epsilon, spent_delta FROM persons WHERE epsilon IS NULL")
    for person, spent, spent_delta in spending:
        _not_below(budget, delta, rational(spent), rational(spent_delta), person)
    put(db, "epsilon", as_text(budget, "budget"))
    put(db, "delta", as_text(delta, "delta"))


def set_person(db: sqlite3.Connection, name: str, person: str, budget: Fraction, delta: Fraction) -> None:
    """Set the budget of a person, stored under a name."""
    db.execute("INSERT OR IGNORE INTO persons (person) VALUES (?)", (name,))
    asked = "SELECT spent_epsilon, spent_delta FROM persons WHERE person = ?"
    spent, spent_delta = db.execute(asked, (name,)).fetchone()
    _not_below(budget, delta, rational(spent), rational(spent_delta), person)
    texts = as_text(budget, "budget"), as_text(delta, "delta")
    db.execute("UPDATE persons SET epsilon = ?, delta = ? WHERE person = ?", (*texts, name))


def unset_person(
    db: sqlite3.Connection, name: str, person: str, default: tuple[Fraction | None, Fraction | None]
) -> None:
    """Give a person the default budget again."""
    asked = "SELECT spent_epsilon, spent_delta FROM persons WHERE person = ?"
    spent = db.execute(asked, (name,)).fetchone()
    if spent is None:
        return
    if default[0] is not None:
        _not_below(default[0], default[1] or Fraction(0), rational(spent[0]), rational(spent[1]), person)
    db.execute("UPDATE persons SET epsilon = NULL, delta = NULL WHERE person = ?", (name,))


def _not_below(budget: Fraction, delta: Fraction, spent: Fraction, spent_delta: Fraction, person: str) -> None:
    for field, wanted, least in (("budget", budget, spent), ("delta", delta, spent_delta)):
        if wanted < least:
            said = f"is {float(wanted)!r}, but person {person!r} has spent {shown(least)}"
            raise SpecError(field, said, f"set {float_above(least)!r} or more")
