"""Change a ledger within one transaction, in SQL: charges and budgets; and add it up again."""

from __future__ import annotations

import secrets
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.numerics.exact_rational import as_text, float_above
from dxopt.release.budgets.accounts import Account, amount_text
from dxopt.release.budgets.affording import (
    Level,
    affordable,
    refusal,
    require_periods,
    require_unit,
    spent_after,
)
from dxopt.release.budgets.balances import (
    SETTINGS,
    UNFINISHED,
    accounts_in,
    default_of,
    each_account,
    find,
    per_period,
    rational,
    setting,
    spent_in,
)
from dxopt.release.budgets.ledger_file import NEW, Tags, is_stored, text
from dxopt.release.budgets.periods import ALWAYS, PerPeriod
from dxopt.release.budgets.runs import now
from dxopt.release.keys import Key


@dataclass
class Found:
    """An account as it was before a charge, its id, and how many rows it now pays for by period and key."""

    id: int
    account: Account
    paying: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def rows(self) -> int:
        """Number of rows that it now pays for."""
        return self.paying.total()

    def by_period(self) -> Counter[str]:
        """Return the number of rows in each period."""
        found: Counter[str] = Counter()
        for (period, _), rows in self.paying.items():
            found[period] += rows
        return found


def charge(
    db: sqlite3.Connection,
    run: int,
    numbers: Sequence[int] | None,
    persons: Sequence[str],
    names: Sequence[str],
    level: Level,
    tags: Tags | None,
    periods: Sequence[str] | None,
) -> NDArray[np.bool_]:
    """Charge rows within a transaction that writes, and return a mask `(k,)` of those that were paid for now.

    `numbers` are those of the rows in the run, rising, by which a run that was killed goes on without paying twice;
    None where rows are single draws. Persons `(k,)` are as errors name them, names `(k,)` as stored. `periods` `(k,)`
    are those of the rows, None in a ledger without budgets by period. See `Budgets.charge`.
    """
    keep_unit(db, level.unit)
    limit = per_period(db)
    require_periods(limit, periods)
    labels = [ALWAYS] * len(names) if periods is None else periods
    texts = as_text(level.epsilon, "level"), as_text(level.delta, "delta")
    db.execute("INSERT OR IGNORE INTO levels (epsilon, delta) VALUES (?, ?)", texts)
    level_id = db.execute("SELECT id FROM levels WHERE epsilon = ? AND delta = ?", texts).fetchone()[0]
    found = _accounts(db, names)

    # Rows that this run has paid for before it was killed cost nothing.
    paid = np.zeros(len(names), dtype=bool)
    asked = "SELECT row, person, level, tag, period FROM rows WHERE run = ? AND row >= ? AND row <= ?"
    numbered = db.execute(asked, (run, numbers[0], numbers[-1])) if numbers else []
    before = {row: known for row, *known in numbered}
    for at, name in enumerate(names):
        person = found[name]
        tag = None if tags is None else tags.fingerprints[at]
        if numbers is not None and (known := before.get(numbers[at])) is not None:
            if known != [person.id, level_id, tag, labels[at]]:
                wrong = f"{numbers[at]} was charged to another person, at another level or for another draw before"
                raise SpecError("row", wrong, "give the table as it was, or close the run to begin anew")
            continue

        # A tag is written once for a person and a level; where it was there, it was paid for.
        tagged = "INSERT OR IGNORE INTO tags VALUES (?, ?, ?)"
        if tag is not None and not db.execute(tagged, (person.id, level_id, tag)).rowcount:
            continue
        paid[at] = True
        person.paying[labels[at], NEW if tags is None or tag is None else tags.key] += 1

    payers = [payer for payer in found.values() if payer.rows]
    short = [payer for payer in payers if not payer.account.allows(*spent_after(payer.account, payer.rows, level))]
    if short:
        row_of = {name: at for at, name in reversed(list(enumerate(names)))}  # the first row of each
        short.sort(key=lambda payer: row_of[payer.account.person])
        person = persons[row_of[short[0].account.person]]
        raise refusal(person, [(payer.account, payer.rows) for payer in short], level)
    if limit is not None:
        asked_for = {
            (persons[at], labels[at]): (found[name].id, found[name].by_period()[labels[at]])
            for at, name in reversed(list(enumerate(names)))
            if paid[at]
        }
        _require_in_periods(db, dict(reversed(asked_for.items())), level, limit)
    _write(db, run, level_id, payers, level)
    if numbers is not None:
        drawn = [None] * len(names) if tags is None else tags.fingerprints
        new = (
            (run, numbers[at], found[names[at]].id, level_id, drawn[at], labels[at])
            for at in np.flatnonzero(paid).tolist()
        )
        db.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)", new)
    return paid


def _require_in_periods(
    db: sqlite3.Connection, needed: Mapping[tuple[str, str], tuple[int, int]], level: Level, limit: PerPeriod
) -> None:
    """Raise BudgetExceeded unless persons can pay for rows within periods; `needed` has their ids, and how many."""
    accounts = list(accounts_in(db, limit, ((number, name, at) for (name, at), (number, _) in needed.items())))
    rows = {pair: count for pair, (_, count) in needed.items()}
    affordable(accounts, rows, dict.fromkeys(rows, 0), level, drop=False, limit=limit)


def keep_unit(db: sqlite3.Connection, unit: str) -> None:
    """Make a unit that of the ledger if it has none yet; SpecError if it has another, as levels would not add up."""
    text(unit, "unit", 'say what a level is per, such as "per km"')
    kept = setting(db, "unit")
    if kept is None:
        if db.execute("SELECT 1 FROM payments").fetchone():
            raise SpecError("ledger", "has payments, but no unit", "it was altered; take a copy from before")
        db.execute("INSERT INTO settings VALUES ('unit', ?)", (unit,))
    else:
        require_unit(kept, unit)


def secret(db: sqlite3.Connection) -> Key:
    """Return the secret of a ledger, made at its first use; it leaves the ledger in no form but digests."""
    db.execute("INSERT OR IGNORE INTO settings VALUES ('secret', ?)", (secrets.token_hex(32),))
    return Key(bytes.fromhex(setting(db, "secret") or ""))


def _accounts(db: sqlite3.Connection, names: Sequence[str]) -> dict[str, Found]:
    """Return the accounts of persons by name as stored; a person who has none yet is given one."""
    different = list(dict.fromkeys(names))
    db.executemany("INSERT OR IGNORE INTO persons (person) VALUES (?)", ((name,) for name in different))
    return {account.person: Found(at, account) for at, account in find(db, different)}


def _write(db: sqlite3.Connection, run: int, level_id: int, payers: Sequence[Found], level: Level) -> None:
    """Write what payers have spent now, and add to their payments: one for each period and key of their draws."""
    spent = (
        (as_text(epsilon, "spent"), as_text(delta, "spent"), payer.id)
        for payer in payers
        for epsilon, delta in [spent_after(payer.account, payer.rows, level)]
    )
    db.executemany("UPDATE persons SET spent_epsilon = ?, spent_delta = ? WHERE id = ?", spent)
    time = now()
    db.executemany(
        "INSERT INTO payments VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (person, run, level, key, period) "
        "DO UPDATE SET rows = rows + excluded.rows, last = excluded.last",
        (
            (payer.id, run, level_id, key, period, rows, time, time)
            for payer in payers
            for (period, key), rows in payer.paying.items()
        ),
    )


def check(db: sqlite3.Connection, damaged: Callable[[], SpecError]) -> None:
    """Raise SpecError (`damaged()` if it is not whole) unless accounts, payments, rows, tags and budgets agree."""
    others = f"SELECT 1 FROM settings WHERE name NOT IN ({', '.join(map(repr, SETTINGS))})"
    if [row[0] for row in db.execute("PRAGMA integrity_check")] != ["ok"] or db.execute(others).fetchone():
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

    hashed = bool(setting(db, "key"))
    for number, account in each_account(db):
        if not is_stored(account.person, hashed=hashed):
            wrong = f"has {account.person!r}, which is no person as they are stored"
            raise SpecError("ledger", wrong, "it was altered; take a copy from before")
        if [account.spent, account.spent_delta] != paid.pop(number, [0, 0]):
            said = amount_text(account.spent)
            wrong = f"says that {account.person!r} has spent {said}, but the payments say otherwise"
            raise SpecError("ledger", wrong, "it was altered; take a copy from before")
        if account.budget is not None and not account.allows(account.spent, account.spent_delta):
            raise SpecError("ledger", f"says that {account.person!r} has overspent", "it was altered")
    if paid:
        raise damaged()

    # Within each period nobody spends more than the budget of a period.
    limit = per_period(db)
    periods = "SELECT DISTINCT person FROM payments WHERE period <> ?"
    for (number,) in db.execute(periods, (ALWAYS,)).fetchall():
        if limit is None:
            raise damaged()
        for epsilon, delta in (spent for period, spent in spent_in(db, number).items() if period != ALWAYS):
            if epsilon > limit.epsilon or delta > limit.delta:
                raise SpecError("ledger", f"says that somebody has overspent in a {limit.period}", "it was altered")

    # A run that is not finished knows its rows one by one.
    numbered = "SELECT run, person, level, period, count(*) FROM rows GROUP BY run, person, level, period"
    running = (
        "SELECT run, person, level, period, sum(rows) FROM payments WHERE run IN "
        f"(SELECT id FROM runs WHERE {UNFINISHED}) GROUP BY run, person, level, period"
    )
    if sorted(db.execute(numbered).fetchall()) != sorted(db.execute(running).fetchall()):
        raise SpecError("ledger", "has rows of a run that do not match its payments", "it was altered")

    # A draw with a key left a tag when it was paid for.
    tagged = "SELECT person, level, count(*) FROM tags GROUP BY person, level"
    keyed = "SELECT person, level, sum(rows) FROM payments WHERE key <> ? GROUP BY person, level"
    if sorted(db.execute(tagged)) != sorted(db.execute(keyed, (NEW,))):
        raise SpecError("ledger", "has draws with a key that do not match their tags", "it was altered")


def set_default(db: sqlite3.Connection, budget: Fraction, delta: Fraction) -> None:
    """Set the default budget; SpecError if somebody with no budget of their own has spent more already."""
    for _, account in each_account(db, "WHERE epsilon IS NULL"):
        _require_not_below(budget, delta, account, account.person)
    amounts = ("epsilon", as_text(budget, "budget")), ("delta", as_text(delta, "delta"))
    db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", amounts)


def set_per(db: sqlite3.Connection, limit: PerPeriod) -> None:
    """Set the budget by period.

    SpecError if somebody has spent more in one, or has paid without periods, or in others, so that nobody knows what
    belongs to a period.
    """
    before = per_period(db)
    same = before is not None and (before.period, before.zone) == (limit.period, limit.zone)
    if not same and db.execute("SELECT 1 FROM payments").fetchone():
        wrong = "cannot be set, as the ledger has payments " + (
            "without periods" if before is None else f"by {before.period} in {before.zone}"
        )
        raise SpecError("per", wrong, "make a new ledger for it")
    for (number,) in db.execute("SELECT DISTINCT person FROM payments").fetchall():
        for epsilon, delta in spent_in(db, number).values():
            account = Account("", limit.epsilon, limit.delta, False, epsilon, delta)
            _require_not_below(limit.epsilon, limit.delta, account, f"in a {limit.period}")
    settings = {
        "period": limit.period,
        "zone": limit.zone,
        "period_epsilon": as_text(limit.epsilon, "budget"),
        "period_delta": as_text(limit.delta, "delta"),
    }
    db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", settings.items())


def set_person(db: sqlite3.Connection, name: str, person: str, budget: Fraction, delta: Fraction) -> None:
    """Set a person's own budget; `name` is as stored, `person` as errors say. SpecError if more is spent."""
    found = _accounts(db, [name])[name]
    _require_not_below(budget, delta, found.account, person)
    texts = as_text(budget, "budget"), as_text(delta, "delta")
    db.execute("UPDATE persons SET epsilon = ?, delta = ? WHERE id = ?", (*texts, found.id))


def unset_person(db: sqlite3.Connection, name: str, person: str) -> None:
    """Give a person the default budget again; SpecError if more than that is spent."""
    budget, delta = default_of(db)
    for number, account in find(db, [name]):
        if budget is not None:
            _require_not_below(budget, delta or Fraction(0), account, person)
        db.execute("UPDATE persons SET epsilon = NULL, delta = NULL WHERE id = ?", (number,))


def _require_not_below(budget: Fraction, delta: Fraction, account: Account, person: str) -> None:
    """Raise SpecError if a budget is below what the account has spent, which `check` would refuse as overspent."""
    for name, wanted, least in (("budget", budget, account.spent), ("delta", delta, account.spent_delta)):
        if wanted < least:
            said = f"is {float(wanted)!r}, but person {person!r} has spent {amount_text(least)}"
            raise SpecError(name, said, f"set {float_above(least)!r} or more")
