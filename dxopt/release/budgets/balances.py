"""Read settings, accounts, payments and totals of a ledger within one transaction, in SQL."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import Any, cast

from dxopt.errors import SpecError
from dxopt.release.budgets.accounts import Account, Payment, Totals
from dxopt.release.budgets.ledger_file import NEW, key_of_payment
from dxopt.release.budgets.periods import Period, PerPeriod

_AT_A_TIME = 500
"""Parameters of one statement; SQLite takes 999 everywhere."""


SETTINGS = ("unit", "epsilon", "delta", "key", "secret", "period", "zone", "period_epsilon", "period_delta")


_AMOUNT = re.compile(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")
"""An amount as `as_text` writes it: one of ten letters such as 1e99999999 would have as many digits."""


def stored_text(found: Any) -> str:
    """Return a text that a ledger stores; TypeError, of a damaged one, where it has something else."""
    if not isinstance(found, str):
        raise TypeError
    return found


@lru_cache(maxsize=1 << 16)
def rational(text: str) -> Fraction:
    """Return an amount from the text that is stored; kept, as many persons have the same ones."""
    if isinstance(text, str) and _AMOUNT.fullmatch(text):
        amount = Fraction(text)
        if amount <= sys.float_info.max and str(amount) == text:
            return amount
    raise SpecError("ledger", f"has the amount {str(text)[:40]!r}", "it was altered; take a copy from before")


def setting(db: sqlite3.Connection, name: str) -> str | None:
    """Return a setting of the ledger by its name; None if it is not set."""
    row = db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return None if row is None else stored_text(row[0])


def per_period(db: sqlite3.Connection) -> PerPeriod | None:
    """Return the budget by period of a ledger; None if it has none."""
    period, zone, epsilon, delta = (
        setting(db, name) for name in ("period", "zone", "period_epsilon", "period_delta")
    )
    if (period, zone, epsilon, delta) == (None, None, None, None):
        return None
    if period is None or zone is None or epsilon is None or delta is None:
        raise SpecError("ledger", "has a part of a budget by period", "it was altered; take a copy from before")
    try:
        return PerPeriod(cast("Period", period), zone, rational(epsilon), rational(delta))
    except SpecError as error:
        if error.field == "zone":
            fix = "install the zones of this machine: pip install tzdata"
            raise SpecError("ledger", f"has the time zone {zone[:40]!r}, which is not known here", fix) from None
        if error.field == "per":
            wrong = f"has a budget for each {period[:40]!r}"
            raise SpecError("ledger", wrong, "it was altered; take a copy from before") from None
        raise


def default_of(db: sqlite3.Connection) -> tuple[Fraction | None, Fraction | None]:
    """Return the default budget, ε and δ, for persons who have none of their own; None for one that is not set."""
    epsilon, delta = setting(db, "epsilon"), setting(db, "delta")
    return None if epsilon is None else rational(epsilon), None if delta is None else rational(delta)


def each_account(
    db: sqlite3.Connection, where: str = "", values: Sequence[str] = ()
) -> Iterator[tuple[int, Account]]:
    """Yield the id and the account of each person, or of those that a clause of SQL with its values selects."""
    default = default_of(db)
    columns = "id, person, epsilon, delta, spent_epsilon, spent_delta"
    for number, person, epsilon, delta, *spent in db.execute(f"SELECT {columns} FROM persons {where}", values):
        own = epsilon is not None
        budget = (rational(epsilon), rational(delta)) if own else default
        yield number, Account(stored_text(person), *budget, own, *map(rational, spent))


def find(db: sqlite3.Connection, names: Sequence[str]) -> Iterator[tuple[int, Account]]:
    """Yield the id and the account of each of the names that is in the ledger; no name may be there twice."""
    for start in range(0, len(names), _AT_A_TIME):
        some = names[start : start + _AT_A_TIME]
        yield from each_account(db, f"WHERE person IN ({', '.join('?' * len(some))})", some)


def spent_in(db: sqlite3.Connection, person: int) -> dict[str, tuple[Fraction, Fraction]]:
    """Return what a person, by id, has spent in each period: ε and δ."""
    spent: dict[str, tuple[Fraction, Fraction]] = {}
    asked = (
        "SELECT payments.period, levels.epsilon, levels.delta, sum(payments.rows) FROM payments "
        "JOIN levels ON levels.id = payments.level WHERE payments.person = ? GROUP BY payments.period, payments.level"
    )
    for period, epsilon, delta, rows in db.execute(asked, (person,)):
        before = spent.get(period, (Fraction(0), Fraction(0)))
        spent[stored_text(period)] = before[0] + rows * rational(epsilon), before[1] + rows * rational(delta)
    return spent


def accounts_in(
    db: sqlite3.Connection, limit: PerPeriod, pairs: Iterable[tuple[int | None, str, str]]
) -> Iterator[Account]:
    """Yield the account of a person within a period, for pairs given by id (None: has paid nothing), name, period."""
    known: dict[int, dict[str, tuple[Fraction, Fraction]]] = {}
    for person, name, period in pairs:
        if person is not None and person not in known:
            known[person] = spent_in(db, person)
        spent = () if person is None else known[person].get(period, ())
        yield Account(name, limit.epsilon, limit.delta, False, *spent)


UNFINISHED = "finished IS NULL AND token IS NOT NULL"
"""Clause for runs that go on or were killed; single draws are paid in runs without a token, which never end."""


def history(db: sqlite3.Connection, name: str) -> list[Payment]:
    """Return the payments of a person, by the name as stored, in the order of time."""
    rows = db.execute(
        "SELECT runs.release, payments.first, payments.last, levels.epsilon, levels.delta, payments.rows, "
        "runs.finished IS NOT NULL OR runs.token IS NULL, payments.key, payments.period "
        "FROM payments JOIN persons ON persons.id = payments.person JOIN runs ON runs.id = payments.run "
        "JOIN levels ON levels.id = payments.level WHERE persons.person = ? "
        "ORDER BY payments.first, runs.id, levels.id, payments.period, payments.key",
        (name,),
    )
    return [
        Payment(
            stored_text(release),
            stored_text(first),
            stored_text(last),
            rational(epsilon),
            rational(delta),
            index(count),
            bool(finished),
            *key_of_payment(stored_text(key)),
            stored_text(period),
        )
        for release, first, last, epsilon, delta, count, finished, key, period in rows
    ]


def totals(db: sqlite3.Connection) -> Totals:
    """Return a summary of the ledger; see `Budgets.totals`."""
    spent = max((account.spent for _, account in each_account(db)), default=Fraction(0))
    persons = db.execute("SELECT count(*) FROM persons").fetchone()[0]
    rows = {key: index(count) for key, count in db.execute("SELECT key, sum(rows) FROM payments GROUP BY key")}
    paid = sum(rows.values())
    unfinished = db.execute(f"SELECT name FROM runs WHERE {UNFINISHED} ORDER BY id")
    names = tuple(stored_text(name) for (name,) in unfinished)
    return Totals(persons, paid, spent, names, paid - rows.get(NEW, 0))
