"""What a ledger says: accounts, histories, totals, and whether it all adds up."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction

from dxopt.errors import SpecError
from dxopt.release.budgets.accounts import Account, Payment, Totals, shown
from dxopt.release.budgets.charging import account_of, defaults, rational
from dxopt.release.budgets.repeated import NEW, read

_TAGS = "SELECT person, level, count(*) FROM tags GROUP BY person, level"
_KEYED = "SELECT person, level, sum(rows) FROM payments WHERE key <> ? GROUP BY person, level"


def default_of(db: sqlite3.Connection) -> tuple[Fraction | None, Fraction | None]:
    """The budget of persons without their own, ε and δ."""
    epsilon, delta = defaults(db)
    return None if epsilon is None else rational(epsilon), None if delta is None else rational(delta)


def each_account(db: sqlite3.Connection) -> Iterator[tuple[int, Account]]:
    """All accounts with their ids."""
    default = defaults(db)
    columns = "id, person, epsilon, delta, spent_epsilon, spent_delta"
    for number, person, epsilon, delta, spent, spent_delta in db.execute(f"SELECT {columns} FROM persons"):
        yield number, account_of(person, (epsilon, delta), default, (spent, spent_delta))


def accounts(db: sqlite3.Connection) -> list[Account]:
    """All accounts, those with the least left first, and by name where that is equal."""
    found = [account for _, account in each_account(db)]
    return sorted(found, key=lambda account: (account.left, account.person))


def history(db: sqlite3.Connection, name: str) -> list[Payment]:
    """The payments of a person, stored under a name, in the order of time."""
    rows = db.execute(
        "SELECT runs.release, payments.first, payments.last, levels.epsilon, levels.delta, payments.rows, "
        "runs.finished IS NOT NULL OR runs.token IS NULL, payments.key "
        "FROM payments JOIN persons ON persons.id = payments.person JOIN runs ON runs.id = payments.run "
        "JOIN levels ON levels.id = payments.level WHERE persons.person = ? "
        "ORDER BY payments.first, runs.id, levels.id, payments.key",
        (name,),
    )
    return [
        Payment(release, first, last, rational(epsilon), rational(delta), count, bool(finished), *read(key))
        for release, first, last, epsilon, delta, count, finished, key in rows
    ]


def totals(db: sqlite3.Connection) -> Totals:
    """The ledger in a few numbers."""
    spent = max((account.spent for _, account in each_account(db)), default=Fraction(0))
    persons = db.execute("SELECT count(*) FROM persons").fetchone()[0]
    rows = dict(db.execute("SELECT key, sum(rows) FROM payments GROUP BY key"))
    paid = sum(rows.values())
    unfinished = "SELECT name FROM runs WHERE finished IS NULL AND token IS NOT NULL ORDER BY id"
    names = tuple(name for (name,) in db.execute(unfinished))
    return Totals(persons, paid, spent, names, paid - rows.get(NEW, 0))


def check(db: sqlite3.Connection, damaged: Callable[[], SpecError]) -> None:
    """SpecError unless the database is whole, and accounts, payments, rows and tags agree, within the budgets."""
    if [row[0] for row in db.execute("PRAGMA integrity_check")] != ["ok"]:
        raise damaged()

    # Add up all payments by person.
    paid: dict[int, list[Fraction]] = defaultdict(lambda: [Fraction(0), Fraction(0)])
    asked = (
        "SELECT payments.person, levels.epsilon, levels.delta, sum(payments.rows) FROM payments "
        "JOIN levels ON levels.id = payments.level GROUP BY payments.person, payments.level"
    )
    for number, epsilon, delta, rows in db.execute(asked):
        paid[number][0] += rows * rational(epsilon)
        paid[number][1] += rows * rational(delta)

    for number, account in each_account(db):
        if [account.spent, account.spent_delta] != paid.pop(number, [0, 0]):
            wrong = f"says that {account.person!r} has spent {shown(account.spent)}, but the payments say otherwise"
            raise SpecError("ledger", wrong, "it was altered; take a copy from before")
        if account.budget is not None and not account.allows(account.spent, account.spent_delta):
            raise SpecError("ledger", f"says that {account.person!r} has overspent", "it was altered")
    if paid:
        raise damaged()

    # A run that is not finished knows its rows one by one.
    numbered = "SELECT run, person, level, count(*) FROM rows GROUP BY run, person, level"
    running = (
        "SELECT run, person, level, sum(rows) FROM payments WHERE run IN "
        "(SELECT id FROM runs WHERE finished IS NULL AND token IS NOT NULL) GROUP BY run, person, level"
    )
    if sorted(db.execute(numbered).fetchall()) != sorted(db.execute(running).fetchall()):
        raise SpecError("ledger", "has rows of a run that do not match its payments", "it was altered")

    # A draw with a key left a tag when it was paid for.
    if sorted(db.execute(_TAGS)) != sorted(db.execute(_KEYED, (NEW,))):
        raise SpecError("ledger", "has draws with a key that do not match their tags", "it was altered")
