"""Charges: one transaction, in which all rows are paid for, or none."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import BudgetExceeded, Fix, SpecError
from dxopt.numerics.amounts import as_text
from dxopt.release.budgets.accounts import Account, apart, enough
from dxopt.release.budgets.persons import encodable
from dxopt.release.budgets.repeated import NEW, Tags

_AT_A_TIME = 500
"""Parameters of one statement; SQLite takes 999 everywhere."""


@dataclass(frozen=True)
class Level:
    """What a row costs: ε and δ, exactly, and their unit."""

    epsilon: Fraction
    delta: Fraction
    unit: str


@dataclass
class Found:
    """A person's account as a transaction found it, and the rows that it pays for: all, and those with a key."""

    id: int
    account: Account
    rows: int = 0
    keyed: int = 0

    def after(self, level: Level) -> tuple[Fraction, Fraction]:
        """What is spent of ε and δ once the rows are paid."""
        spent = self.account.spent + self.rows * level.epsilon
        return spent, self.account.spent_delta + self.rows * level.delta if level.delta else self.account.spent_delta


def now() -> str:
    """The time in UTC, as "2026-01-31T12:00:00Z"."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def charge(
    db: sqlite3.Connection,
    run: int,
    first: int | None,
    persons: Sequence[str],
    names: Sequence[str],
    level: Level,
    tags: Tags | None,
) -> NDArray[np.bool_]:
    """Charge rows within a transaction.

    Parameters
    ----------
    db : Connection
        In a transaction that writes.
    run : int
    first : int or None
        The number of the first row in its run; None where rows are not numbered, and nothing goes on later.
    persons, names : (k,) sequences
        Who is charged for each row: as errors name them, and as stored.
    level : Level
        What each row costs.
    tags : Tags, optional
        What was drawn with a key: a person pays once for a tag at a level.

    Returns
    -------
    (k,) array of bool
        Which rows were paid for now.

    Raises
    ------
    BudgetExceeded
        Naming the first person who has not enough left.
    SpecError
        If a row of this run was charged to another person, or at another level.
    """
    keep_unit(db, level.unit)
    level_id = _level(db, level)
    found = _accounts(db, names)

    # Rows that this run has paid for before it was killed cost nothing.
    paid = np.zeros(len(names), dtype=bool)
    before = {} if first is None else _before(db, run, first, len(names))
    for at, name in enumerate(names):
        person = found[name]
        if first is not None and (known := before.get(first + at)) is not None:
            if known != (person.id, level_id):
                wrong = f"{first + at} was charged to another person or at another level, before the run was stopped"
                raise SpecError("row", wrong, "give the table as it was, or close the run to begin anew")
            continue

        # A tag is written once for a person and a level; where it was there, it was paid for.
        tag = None if tags is None else tags.fingerprints[at]
        if tag is not None:
            asked = db.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", (person.id, level_id, tag))
            if not asked.rowcount:
                continue
            person.keyed += 1
        paid[at] = True
        person.rows += 1

    payers = [payer for payer in found.values() if payer.rows]
    after = [payer.after(level) for payer in payers]
    broke = {
        payer.account.person for payer, spent in zip(payers, after, strict=True) if not payer.account.allows(*spent)
    }
    if broke:
        first_name = next(at for at, name in enumerate(names) if name in broke)
        payer = found[names[first_name]]
        short = [payer for payer in payers if payer.account.person in broke]
        needed = largest(lacking(payer.account, payer.rows, level) for payer in short)
        raise refusal(persons[first_name], payer.account, payer.rows, level, over=len(short), needed=needed)
    _write(db, run, level_id, payers, after, NEW if tags is None else tags.key)
    if first is not None:
        new = ((run, first + at, found[names[at]].id, level_id) for at in np.flatnonzero(paid).tolist())
        db.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", new)
    return paid


def keep_unit(db: sqlite3.Connection, unit: str) -> None:
    """Set the unit of the ledger where it has none; SpecError if it has another."""
    if not isinstance(unit, str) or not unit.strip():
        raise SpecError("unit", f"is {unit!r}", 'say what a level is per, such as "per km"')
    encodable(unit, "unit")
    kept = setting(db, "unit")
    if kept is None:
        db.execute("INSERT INTO settings VALUES ('unit', ?)", (unit,))
    else:
        require_unit(kept, unit)


def require_unit(kept: str | None, unit: str) -> None:
    """Raise SpecError where a ledger has another unit than a level."""
    if kept is not None and kept != unit:
        wrong = f"is {unit!r}, but the ledger is in {kept!r}"
        fix = f'keep a ledger for each unit: dxopt budget LEDGER --set AMOUNT --unit "{unit}"'
        raise SpecError("unit", wrong, fix)


def setting(db: sqlite3.Connection, name: str) -> str | None:
    """A setting of the ledger, or None."""
    row = db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return None if row is None else row[0]


def defaults(db: sqlite3.Connection) -> tuple[str | None, str | None]:
    """The budget of persons without their own, ε and δ, as text."""
    return setting(db, "epsilon"), setting(db, "delta")


@lru_cache(maxsize=1 << 16)
def rational(text: str) -> Fraction:
    """An amount from the text that is stored; many persons have the same."""
    try:
        return Fraction(text)
    except (ValueError, TypeError):
        raise SpecError("ledger", f"has the amount {text!r}", "it was altered; take a copy from before") from None


def account_of(
    person: str, own: tuple[str | None, str | None], default: tuple[str | None, str | None], spent: tuple[str, str]
) -> Account:
    """An account from the text that is stored."""
    budget, budget_delta = own if own[0] is not None else default
    return Account(
        person,
        None if budget is None else rational(budget),
        None if budget_delta is None else rational(budget_delta),
        own[0] is not None,
        rational(spent[0]),
        rational(spent[1]),
    )


def find(db: sqlite3.Connection, names: Sequence[str]) -> Iterator[tuple[int, Account]]:
    """The ids and accounts of those among different names who are in the ledger."""
    default = defaults(db)
    columns = "id, person, epsilon, delta, spent_epsilon, spent_delta"
    for start in range(0, len(names), _AT_A_TIME):
        some = names[start : start + _AT_A_TIME]
        marks = ", ".join("?" * len(some))
        for at, name, *own, spent, delta in db.execute(
            f"SELECT {columns} FROM persons WHERE person IN ({marks})", some
        ):
            yield at, account_of(name, (own[0], own[1]), default, (spent, delta))


def _accounts(db: sqlite3.Connection, names: Sequence[str]) -> dict[str, Found]:
    """The accounts of all persons by name; who is new gets one."""
    different = list(dict.fromkeys(names))
    db.executemany("INSERT OR IGNORE INTO persons (person) VALUES (?)", ((name,) for name in different))
    return {account.person: Found(at, account) for at, account in find(db, different)}


def _level(db: sqlite3.Connection, level: Level) -> int:
    """The id of a level."""
    texts = as_text(level.epsilon, "level"), as_text(level.delta, "delta")
    db.execute("INSERT OR IGNORE INTO levels (epsilon, delta) VALUES (?, ?)", texts)
    return db.execute("SELECT id FROM levels WHERE epsilon = ? AND delta = ?", texts).fetchone()[0]


def _before(db: sqlite3.Connection, run: int, first: int, count: int) -> dict[int, tuple[int, int]]:
    """The person and level of each of these rows that its run has paid for."""
    asked = "SELECT row, person, level FROM rows WHERE run = ? AND row >= ? AND row < ?"
    return {row: (person, level) for row, person, level in db.execute(asked, (run, first, first + count))}


def lacking(account: Account, count: int, level: Level) -> tuple[Fraction, Fraction]:
    """The budgets of ε and δ that would pay for so many rows more."""
    return account.spent + count * level.epsilon, account.spent_delta + count * level.delta


def largest(budgets: Iterable[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    """The ε and the δ that are enough for each of several persons."""
    epsilons, deltas = zip(*budgets, strict=True)
    return max(epsilons), max(deltas)


def refusal(
    person: str,
    account: Account,
    count: int,
    level: Level,
    *,
    over: int = 1,
    needed: tuple[Fraction, Fraction] | None = None,
    other: Fix = ("release nothing, or ",),
) -> BudgetExceeded:
    """The error about a person who cannot pay for the rows.

    Parameters
    ----------
    over : int
        How many persons cannot.
    needed : tuple of Fraction, optional
        The ε and δ that would pay for each of them; for this one by default.
    other : Fix
        What may be done instead of setting a larger budget.
    """
    asked, left, budget, kind = count * level.epsilon, account.left, account.budget, ""
    who = f"{over:,} persons have too little left; the first, {person!r}," if over > 1 else f"person {person!r}"
    if budget is None:
        fix = "set one, or a default: dxopt budget LEDGER --set AMOUNT"
        return BudgetExceeded(person, asked, left, f"{who} has no budget", fix)
    wanted = enough((needed or lacking(account, count, level))[0])
    if asked <= left:
        asked, left, kind = count * level.delta, account.left_delta, "delta "
        budget = account.budget_delta or Fraction(0)
        wanted = enough((needed or lacking(account, count, level))[1])
    has, more = apart(left, asked)
    rows = f" for {count:,} rows" if count > 1 else ""
    unit = f" {level.unit}" if not kind else ""
    wrong = f"{who} has {kind}{has} left of {float(budget):.3g}{unit}, but {more} is asked{rows}"
    whom = " for each of them" if over > 1 else ""
    return BudgetExceeded(person, asked, left, wrong, *other, f"set {kind}{wanted} or more{whom}")


def _write(
    db: sqlite3.Connection,
    run: int,
    level: int,
    payers: Sequence[Found],
    after: Sequence[tuple[Fraction, Fraction]],
    key: str,
) -> None:
    """Write what persons have spent afterwards, and their payments: for new draws, and for those with the key."""
    spent = (
        (as_text(epsilon, "spent"), as_text(delta, "spent"), payer.id)
        for payer, (epsilon, delta) in zip(payers, after, strict=True)
    )
    db.executemany("UPDATE persons SET spent_epsilon = ?, spent_delta = ? WHERE id = ?", spent)
    time = now()
    db.executemany(
        "INSERT INTO payments VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (person, run, level, key) "
        "DO UPDATE SET rows = rows + excluded.rows, last = excluded.last",
        (
            (payer.id, run, level, drawn, rows, time, time)
            for payer in payers
            for drawn, rows in ((NEW, payer.rows - payer.keyed), (key, payer.keyed))
            if rows
        ),
    )
