"""Decide what persons can pay for, in all and within periods, and refuse what they cannot."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from dxopt.errors import BudgetExceeded, Option, SpecError
from dxopt.numerics.exact_rational import as_text
from dxopt.release.budgets.accounts import Account, amount_text, sufficient_text, texts_of_shortfall
from dxopt.release.budgets.balances import accounts_in, default_of, find, per_period, setting
from dxopt.release.budgets.periods import ALWAYS, PerPeriod
from dxopt.spaces.units import per


class Private(Protocol):
    """Proof of a level: that of a table, or the certificate of a report."""

    @property
    def epsilon(self) -> float:
        """Level per unit of distance."""
        ...

    @property
    def delta(self) -> float:
        """Probability with which that may not hold."""
        ...


@dataclass(frozen=True)
class Level:
    """Cost of one row: ε and δ, exactly, and their unit."""

    epsilon: Fraction
    delta: Fraction
    unit: str

    @classmethod
    def of(cls, private: Private, unit: str) -> Level:
        """Return the level of a table or certificate; `unit` is that of its space, which may have none."""
        return cls(Fraction(private.epsilon), Fraction(private.delta), per(unit) if unit else "per unit")


def spent_after(account: Account, rows: int, level: Level) -> tuple[Fraction, Fraction]:
    """Return what an account has spent, ε and δ, once it has paid for so many more rows."""
    return account.spent + rows * level.epsilon, account.spent_delta + rows * level.delta


Pair = tuple[str, str]
"""A person and a period."""


def require_unit(kept: str | None, unit: str) -> None:
    """Raise SpecError if the unit of a ledger, where it has one, is not that of a level."""
    if kept is not None and kept != unit:
        wrong = f"is {unit!r}, but the ledger is in {kept!r}"
        fix = f'keep a ledger for each unit: dxopt budget LEDGER --set AMOUNT --unit "{unit}"'
        raise SpecError("unit", wrong, fix)


def require_periods(limit: PerPeriod | None, given: Sequence[str] | None, field: str = "times") -> None:
    """Raise SpecError unless times or periods are given where the ledger has budgets by period, and nowhere else."""
    if limit is not None and given is None:
        fix = "give the time of each row" if field == "times" else "name the column that has the time of each row: "
        parts = () if field == "times" else (Option("time"),)
        raise SpecError(field, f"missing: the ledger has a budget for each {limit.period}", fix, *parts)
    if limit is None and given is not None:
        fix = "leave it out, or set one: dxopt budget LEDGER --set AMOUNT --per day"
        raise SpecError(field, "given, but the ledger has no budget by period", fix)


def refusal(
    person: str, short: Sequence[tuple[Account, int]], level: Level, within: tuple[PerPeriod, str] | None = None
) -> BudgetExceeded:
    """Return the error that refuses a charge: `short` has the accounts that cannot pay, and the rows asked of each.

    It says what the first, `person`, has left, but not who that is, and what budget would do; `within` which period
    of what budget, where accounts are those within periods.
    """
    account, count = short[0]
    asked, left, budget, kind = count * level.epsilon, account.left, account.budget, ""
    several = "persons" if within is None else f"persons and {within[0].period}s"
    who = f"{len(short):,} {several} have too little left; the first" if short[1:] else "the person"
    when = "" if within is None else f" for {within[1]}"
    if budget is None:
        fix = "set one, or a default: dxopt budget LEDGER --set AMOUNT"
        return BudgetExceeded(person, asked, left, f"{who} has no budget{when or ' in all'}", fix)
    needed, needed_delta = (max(totals) for totals in zip(*(spent_after(*one, level) for one in short), strict=True))
    if asked <= left:  # then δ is what is missing
        asked, left, kind, needed = count * level.delta, account.left_delta, "delta ", needed_delta
        budget = account.budget_delta or Fraction(0)
    has, more = texts_of_shortfall(left, asked)
    rows = f" for {count:,} rows" if count > 1 else ""
    unit = f" {level.unit}" if not kind else ""
    wrong = f"{who} has {kind}{has} left of {amount_text(budget)}{unit}{when}, but {more} is asked{rows}"
    whom = " for each of them" if len(short) > 1 else ""
    whom = whom if within is None else f" per {within[0].period}"
    return BudgetExceeded(
        person, asked, left, wrong, f"release nothing, or set {kind}{sufficient_text(needed)} or more{whom}"
    )


def _affordable_rows(account: Account, level: Level, most: int) -> int:
    """Return the number of rows that an account can afford with what is left of ε and of δ, `most` at most."""
    if account.budget is None:
        return 0
    pairs = ((account.left, level.epsilon), (account.left_delta, level.delta))
    return min([most, *(left // each for left, each in pairs if each)])


def affordable(
    accounts: Sequence[Account],
    needed: Mapping[Pair, int],
    paid: Mapping[Pair, int],
    level: Level,
    *,
    drop: bool,
    limit: PerPeriod | None = None,
) -> dict[Pair, int]:
    """Return the number of rows, of those `needed`, that each person can afford: in all, or within periods (`limit`).

    Accounts are those of the persons in `needed`, in that order; some rows are `paid` for already, and so affordable.
    BudgetExceeded if somebody cannot afford all of them, unless rows may be left out (`drop`).
    """
    found: dict[Pair, int] = {}
    short: dict[Pair, tuple[Account, int]] = {}
    for (pair, rows), account in zip(needed.items(), accounts, strict=True):
        found[pair] = min(rows, paid[pair] + _affordable_rows(account, level, rows))
        if found[pair] < rows:
            short[pair] = account, rows - paid[pair]
    if short and not drop:
        person, period = next(iter(short))
        raise refusal(person, list(short.values()), level, None if limit is None else (limit, period))
    return found


def count_affordable(
    db: sqlite3.Connection,
    needed: Mapping[Pair, int],
    stored_as: Mapping[str, str],
    paid: Mapping[Pair, int],
    level: Level,
    *,
    drop: bool,
) -> dict[Pair, int]:
    """Return the number of rows that each person can afford in all, with `ALWAYS` for the period, and in each period.

    `needed` are rows of persons in periods, `paid` those of a run that was stopped, by names as stored.
    BudgetExceeded as for `affordable`.
    """
    names = list(dict.fromkeys(stored_as.values()))
    known = {account.person: (number, account) for number, account in find(db, names)}
    limit = per_period(db)
    found: dict[Pair, int] = {}
    if limit is not None:
        pairs = [(known.get(name, (None,))[0], name, at) for (who, at) in needed for name in [stored_as[who]]]
        before = {(who, at): paid.get((stored_as[who], at), 0) for who, at in needed}
        found = affordable(list(accounts_in(db, limit, pairs)), needed, before, level, drop=drop, limit=limit)
    whole: Counter[Pair] = Counter()
    started: Counter[Pair] = Counter()
    for (who, at), rows in needed.items():
        whole[who, ALWAYS] += found.get((who, at), rows)
    for (name, _), rows in paid.items():
        started[name, ALWAYS] += rows
    default = default_of(db)
    accounts = [
        known[name][1] if name in known else Account(name, *default, own=False)
        for who, _ in whole
        for name in [stored_as[who]]
    ]
    before = {(who, ALWAYS): started[stored_as[who], ALWAYS] for who, _ in whole}
    in_all = affordable(accounts, whole, before, level, drop=drop)
    return found | in_all


def require_affordable(
    db: sqlite3.Connection, draws: Mapping[bytes, Pair], names: Sequence[str], level: Level
) -> None:
    """Raise BudgetExceeded if somebody has too little left for the draws that were not paid for before.

    Draws are persons and periods by their tags, and names `(k,)` those persons as stored. All is read at one moment.
    """
    require_unit(setting(db, "unit"), level.unit)
    texts = as_text(level.epsilon, "level"), as_text(level.delta, "delta")
    asked = (
        "SELECT 1 FROM tags JOIN persons ON persons.id = tags.person JOIN levels ON levels.id = tags.level "
        "WHERE persons.person = ? AND levels.epsilon = ? AND levels.delta = ? AND tags.tag = ?"
    )
    both = zip(draws, names, strict=True)
    new = [(draws[tag], name) for tag, name in both if db.execute(asked, (name, *texts, tag)).fetchone() is None]
    stored_as = {person: name for (person, _), name in new}
    count_affordable(db, Counter(pair for pair, _ in new), stored_as, {}, level, drop=False)
