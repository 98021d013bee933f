"""Read and change a ledger within one transaction: charges, runs, budgets, totals and histories, in SQL."""

from __future__ import annotations

import re
import secrets
import sqlite3
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import BudgetExceeded, SpecError
from dxopt.numerics.exact_rational import Amount, as_text, exactly, float_above
from dxopt.release.budgets.accounts import Account, Payment, Totals, amount_text, sufficient_text, texts_of_shortfall
from dxopt.release.budgets.ledger_file import NEW, Tags, is_stored, key_of_payment, text
from dxopt.release.keys import Key

_AT_A_TIME = 500
"""Parameters of one statement; SQLite takes 999 everywhere."""


@dataclass(frozen=True)
class Level:
    """Cost of one row: ε and δ, exactly, and their unit."""

    epsilon: Fraction
    delta: Fraction
    unit: str


@dataclass
class Found:
    """An account as it was before a charge, its id, and how many rows it now pays for: in all, and with a key."""

    id: int
    account: Account
    rows: int = 0
    keyed: int = 0


def now() -> str:
    """Return the time in UTC, as "2026-01-31T12:00:00Z"."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def charge(
    db: sqlite3.Connection,
    run: int,
    numbers: Sequence[int] | None,
    persons: Sequence[str],
    names: Sequence[str],
    level: Level,
    tags: Tags | None,
) -> NDArray[np.bool_]:
    """Charge rows within a transaction that writes, and return a mask `(k,)` of those that were paid for now.

    `numbers` are those of the rows in the run, rising, by which a run that was killed goes on without paying twice;
    None where rows are single draws. Persons `(k,)` are as errors name them, names `(k,)` as stored.
    See `Budgets.charge`.
    """
    keep_unit(db, level.unit)
    texts = as_text(level.epsilon, "level"), as_text(level.delta, "delta")
    db.execute("INSERT OR IGNORE INTO levels (epsilon, delta) VALUES (?, ?)", texts)
    level_id = db.execute("SELECT id FROM levels WHERE epsilon = ? AND delta = ?", texts).fetchone()[0]
    found = _accounts(db, names)

    # Rows that this run has paid for before it was killed cost nothing.
    paid = np.zeros(len(names), dtype=bool)
    asked = "SELECT row, person, level, tag FROM rows WHERE run = ? AND row >= ? AND row <= ?"
    numbered = db.execute(asked, (run, numbers[0], numbers[-1])) if numbers else []
    before = {row: known for row, *known in numbered}
    for at, name in enumerate(names):
        person = found[name]
        tag = None if tags is None else tags.fingerprints[at]
        if numbers is not None and (known := before.get(numbers[at])) is not None:
            if known != [person.id, level_id, tag]:
                wrong = f"{numbers[at]} was charged to another person, at another level or for another draw before"
                raise SpecError("row", wrong, "give the table as it was, or close the run to begin anew")
            continue

        # A tag is written once for a person and a level; where it was there, it was paid for.
        if tag is not None:
            if not db.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", (person.id, level_id, tag)).rowcount:
                continue
            person.keyed += 1
        paid[at] = True
        person.rows += 1

    payers = [payer for payer in found.values() if payer.rows]
    short = [payer for payer in payers if not payer.account.allows(*spent_after(payer.account, payer.rows, level))]
    if short:
        row_of = {name: at for at, name in reversed(list(enumerate(names)))}  # the first row of each
        short.sort(key=lambda payer: row_of[payer.account.person])
        person = persons[row_of[short[0].account.person]]
        raise refusal(person, [(payer.account, payer.rows) for payer in short], level)
    _write(db, run, level_id, payers, level, NEW if tags is None else tags.key)
    if numbers is not None:
        drawn = [None] * len(names) if tags is None else tags.fingerprints
        new = ((run, numbers[at], found[names[at]].id, level_id, drawn[at]) for at in np.flatnonzero(paid).tolist())
        db.executemany("INSERT INTO rows VALUES (?, ?, ?, ?, ?)", new)
    return paid


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


def require_unit(kept: str | None, unit: str) -> None:
    """Raise SpecError if the unit of a ledger, where it has one, is not that of a level."""
    if kept is not None and kept != unit:
        wrong = f"is {unit!r}, but the ledger is in {kept!r}"
        fix = f'keep a ledger for each unit: dxopt budget LEDGER --set AMOUNT --unit "{unit}"'
        raise SpecError("unit", wrong, fix)


def setting(db: sqlite3.Connection, name: str) -> str | None:
    """Return a setting of the ledger by its name; None if it is not set."""
    row = db.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return None if row is None else _as_text(row[0])


def secret(db: sqlite3.Connection) -> Key:
    """Return the secret of a ledger, made at its first use; it leaves the ledger in no form but digests."""
    db.execute("INSERT OR IGNORE INTO settings VALUES ('secret', ?)", (secrets.token_hex(32),))
    return Key(bytes.fromhex(setting(db, "secret") or ""))


def _as_text(found: Any) -> str:
    """Return a text that a ledger stores; TypeError, of a damaged one, where it has something else."""
    if not isinstance(found, str):
        raise TypeError
    return found


_AMOUNT = re.compile(r"[0-9]{1,4000}(/[1-9][0-9]{0,3999})?")
"""An amount as `as_text` writes it: one of ten letters such as 1e99999999 would have as many digits."""


@lru_cache(maxsize=1 << 16)
def rational(text: str) -> Fraction:
    """Return an amount from the text that is stored; kept, as many persons have the same ones."""
    if isinstance(text, str) and _AMOUNT.fullmatch(text):
        amount = Fraction(text)
        if amount <= sys.float_info.max and str(amount) == text:
            return amount
    raise SpecError("ledger", f"has the amount {str(text)[:40]!r}", "it was altered; take a copy from before")


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
        yield number, Account(_as_text(person), *budget, own, *map(rational, spent))


def find(db: sqlite3.Connection, names: Sequence[str]) -> Iterator[tuple[int, Account]]:
    """Yield the id and the account of each of the names that is in the ledger; no name may be there twice."""
    for start in range(0, len(names), _AT_A_TIME):
        some = names[start : start + _AT_A_TIME]
        yield from each_account(db, f"WHERE person IN ({', '.join('?' * len(some))})", some)


def _accounts(db: sqlite3.Connection, names: Sequence[str]) -> dict[str, Found]:
    """Return the accounts of persons by name as stored; a person who has none yet is given one."""
    different = list(dict.fromkeys(names))
    db.executemany("INSERT OR IGNORE INTO persons (person) VALUES (?)", ((name,) for name in different))
    return {account.person: Found(at, account) for at, account in find(db, different)}


def spent_after(account: Account, rows: int, level: Level) -> tuple[Fraction, Fraction]:
    """Return what an account has spent, ε and δ, once it has paid for so many more rows."""
    return account.spent + rows * level.epsilon, account.spent_delta + rows * level.delta


def refusal(person: str, short: Sequence[tuple[Account, int]], level: Level) -> BudgetExceeded:
    """Return the error that refuses a charge: `short` has the accounts that cannot pay, and the rows asked of each.

    It says what the first, `person`, has left, but not who that is, and what budget would do.
    """
    account, count = short[0]
    asked, left, budget, kind = count * level.epsilon, account.left, account.budget, ""
    who = f"{len(short):,} persons have too little left; the first" if short[1:] else "the person"
    if budget is None:
        fix = "set one, or a default: dxopt budget LEDGER --set AMOUNT"
        return BudgetExceeded(person, asked, left, f"{who} has no budget", fix)
    needed, needed_delta = (max(totals) for totals in zip(*(spent_after(*one, level) for one in short), strict=True))
    if asked <= left:  # then δ is what is missing
        asked, left, kind, needed = count * level.delta, account.left_delta, "delta ", needed_delta
        budget = account.budget_delta or Fraction(0)
    has, more = texts_of_shortfall(left, asked)
    rows = f" for {count:,} rows" if count > 1 else ""
    unit = f" {level.unit}" if not kind else ""
    wrong = f"{who} has {kind}{has} left of {float(budget):.3g}{unit}, but {more} is asked{rows}"
    whom = " for each of them" if len(short) > 1 else ""
    return BudgetExceeded(
        person, asked, left, wrong, f"release nothing, or set {kind}{sufficient_text(needed)} or more{whom}"
    )


def _write(db: sqlite3.Connection, run: int, level_id: int, payers: Sequence[Found], level: Level, key: str) -> None:
    """Write what payers have spent now, and add to their payments: one for new draws, one for those with `key`."""
    spent = (
        (as_text(epsilon, "spent"), as_text(delta, "spent"), payer.id)
        for payer in payers
        for epsilon, delta in [spent_after(payer.account, payer.rows, level)]
    )
    db.executemany("UPDATE persons SET spent_epsilon = ?, spent_delta = ? WHERE id = ?", spent)
    time = now()
    db.executemany(
        "INSERT INTO payments VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (person, run, level, key) "
        "DO UPDATE SET rows = rows + excluded.rows, last = excluded.last",
        (
            (payer.id, run, level_id, drawn, rows, time, time)
            for payer in payers
            for drawn, rows in ((NEW, payer.rows - payer.keyed), (key, payer.keyed))
            if rows
        ),
    )


_UNFINISHED = "finished IS NULL AND token IS NOT NULL"
"""Clause for runs that go on or were killed; single draws are paid in runs without a token, which never end."""


def history(db: sqlite3.Connection, name: str) -> list[Payment]:
    """Return the payments of a person, by the name as stored, in the order of time."""
    rows = db.execute(
        "SELECT runs.release, payments.first, payments.last, levels.epsilon, levels.delta, payments.rows, "
        "runs.finished IS NOT NULL OR runs.token IS NULL, payments.key "
        "FROM payments JOIN persons ON persons.id = payments.person JOIN runs ON runs.id = payments.run "
        "JOIN levels ON levels.id = payments.level WHERE persons.person = ? "
        "ORDER BY payments.first, runs.id, levels.id, payments.key",
        (name,),
    )
    return [
        Payment(
            _as_text(release),
            _as_text(first),
            _as_text(last),
            rational(epsilon),
            rational(delta),
            index(count),
            bool(finished),
            *key_of_payment(_as_text(key)),
        )
        for release, first, last, epsilon, delta, count, finished, key in rows
    ]


def totals(db: sqlite3.Connection) -> Totals:
    """Return a summary of the ledger; see `Budgets.totals`."""
    spent = max((account.spent for _, account in each_account(db)), default=Fraction(0))
    persons = db.execute("SELECT count(*) FROM persons").fetchone()[0]
    rows = {key: index(count) for key, count in db.execute("SELECT key, sum(rows) FROM payments GROUP BY key")}
    paid = sum(rows.values())
    unfinished = db.execute(f"SELECT name FROM runs WHERE {_UNFINISHED} ORDER BY id")
    names = tuple(_as_text(name) for (name,) in unfinished)
    return Totals(persons, paid, spent, names, paid - rows.get(NEW, 0))


def check(db: sqlite3.Connection, damaged: Callable[[], SpecError]) -> None:
    """Raise SpecError (`damaged()` if it is not whole) unless accounts, payments, rows, tags and budgets agree."""
    others = "SELECT 1 FROM settings WHERE name NOT IN ('unit', 'epsilon', 'delta', 'key', 'secret')"
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

    # A run that is not finished knows its rows one by one.
    numbered = "SELECT run, person, level, count(*) FROM rows GROUP BY run, person, level"
    running = (
        "SELECT run, person, level, sum(rows) FROM payments WHERE run IN "
        f"(SELECT id FROM runs WHERE {_UNFINISHED}) GROUP BY run, person, level"
    )
    if sorted(db.execute(numbered).fetchall()) != sorted(db.execute(running).fetchall()):
        raise SpecError("ledger", "has rows of a run that do not match its payments", "it was altered")

    # A draw with a key left a tag when it was paid for.
    tagged = "SELECT person, level, count(*) FROM tags GROUP BY person, level"
    keyed = "SELECT person, level, sum(rows) FROM payments WHERE key <> ? GROUP BY person, level"
    if sorted(db.execute(tagged)) != sorted(db.execute(keyed, (NEW,))):
        raise SpecError("ledger", "has draws with a key that do not match their tags", "it was altered")


def affordable(
    accounts: Sequence[Account], needed: Mapping[str, int], paid: Mapping[str, int], level: Level, *, drop: bool
) -> dict[str, int]:
    """Return the number of rows, of those `needed`, that each person can afford.

    Accounts are those of the persons in `needed`, in that order; some rows are `paid` for already, and so affordable.
    BudgetExceeded if somebody cannot afford all of them, unless rows may be left out (`drop`).
    """
    found: dict[str, int] = {}
    short: dict[str, tuple[Account, int]] = {}
    for (person, rows), account in zip(needed.items(), accounts, strict=True):
        found[person] = min(rows, paid[person] + _affordable_rows(account, level, rows))
        if found[person] < rows:
            short[person] = account, rows - paid[person]
    if short and not drop:
        raise refusal(next(iter(short)), list(short.values()), level)
    return found


def require_affordable(
    db: sqlite3.Connection, draws: Mapping[bytes, str], names: Sequence[str], level: Level
) -> None:
    """Raise BudgetExceeded if somebody has too little left for the draws that were not paid for before.

    Draws are persons by their tags, and names `(k,)` those persons as stored. All is read at one moment.
    """
    require_unit(setting(db, "unit"), level.unit)
    texts = as_text(level.epsilon, "level"), as_text(level.delta, "delta")
    asked = (
        "SELECT 1 FROM tags JOIN persons ON persons.id = tags.person JOIN levels ON levels.id = tags.level "
        "WHERE persons.person = ? AND levels.epsilon = ? AND levels.delta = ? AND tags.tag = ?"
    )
    both = zip(draws, names, strict=True)
    new = [(draws[tag], name) for tag, name in both if db.execute(asked, (name, *texts, tag)).fetchone() is None]
    needed, persons = Counter(person for person, _ in new), dict(new)
    known = {account.person: account for _, account in find(db, list(persons.values()))}
    default = default_of(db)
    accounts = [known.get(persons[who]) or Account(persons[who], *default, own=False) for who in needed]
    affordable(accounts, needed, dict.fromkeys(needed, 0), level, drop=False)


def _affordable_rows(account: Account, level: Level, most: int) -> int:
    """Return the number of rows that an account can afford with what is left of ε and of δ, `most` at most."""
    if account.budget is None:
        return 0
    pairs = ((account.left, level.epsilon), (account.left_delta, level.delta))
    return min([most, *(left // each for left, each in pairs if each)])


def set_default(db: sqlite3.Connection, budget: Fraction, delta: Fraction) -> None:
    """Set the default budget; SpecError if somebody with no budget of their own has spent more already."""
    for _, account in each_account(db, "WHERE epsilon IS NULL"):
        _require_not_below(budget, delta, account, account.person)
    amounts = ("epsilon", as_text(budget, "budget")), ("delta", as_text(delta, "delta"))
    db.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", amounts)


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
    for field, wanted, least in (("budget", budget, account.spent), ("delta", delta, account.spent_delta)):
        if wanted < least:
            said = f"is {float(wanted)!r}, but person {person!r} has spent {amount_text(least)}"
            raise SpecError(field, said, f"set {float_above(least)!r} or more")


def begin(db: sqlite3.Connection, name: str, release: str) -> str:
    """Return a new token for the unfinished run of a name, or for a new run; earlier tokens become invalid."""
    token = secrets.token_hex(16)
    again = db.execute(f"UPDATE runs SET token = ? WHERE name = ? AND {_UNFINISHED}", (token, name))
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


def paid_in(db: sqlite3.Connection, name: str) -> dict[str, int]:
    """Return the number of rows that the unfinished run of a name has paid for, by the names of persons as stored."""
    asked = (
        "SELECT persons.person, sum(payments.rows) FROM payments JOIN persons ON persons.id = payments.person "
        f"WHERE payments.run IN (SELECT id FROM runs WHERE name = ? AND {_UNFINISHED}) GROUP BY payments.person"
    )
    return {person: index(rows) for person, rows in db.execute(asked, (name,))}


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
    unfinished = db.execute(f"SELECT id, name FROM runs WHERE {_UNFINISHED}").fetchall()
    closed = [run for run, its_name in unfinished if name in (None, its_name)]
    for run in closed:
        finish(db, run)
        db.execute("UPDATE runs SET token = ? WHERE id = ?", (secrets.token_hex(16), run))
    return len(closed)


class Payee(Protocol):
    """Methods that a purse needs of a ledger; `Budgets` has them."""

    def account(self, person: str) -> Account: ...

    def pay(self, person: str, level: Amount | str, *, unit: str, release: str) -> bool: ...


@dataclass(frozen=True)
class Purse:
    """One person's part of a ledger, from which a stream pays draw by draw; made by `Budgets.purse`.

    Attributes
    ----------
    budgets : Budgets
    person, unit, release : str
        As for `Budgets.pay`.
    """

    budgets: Payee
    person: str
    unit: str
    release: str

    @property
    def left(self) -> Fraction:
        """Amount of ε that may still be spent."""
        return self.budgets.account(self.person).left

    def require(self, level: Amount) -> None:
        """Require that a draw could be paid for now, and pay nothing.

        Raises
        ------
        BudgetExceeded
            If there is not that much left.
        """
        cost = Level(exactly(level, "level"), Fraction(0), self.unit)
        account = self.budgets.account(self.person)
        if not account.allows(*spent_after(account, 1, cost)):
            raise refusal(self.person, [(account, 1)], cost)

    def pay(self, level: Amount) -> None:
        """Pay for one draw before it is made.

        Raises
        ------
        BudgetExceeded
            If there is not that much left. Nothing is charged.
        """
        self.budgets.pay(self.person, level, unit=self.unit, release=self.release)
