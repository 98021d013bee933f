"""Options about who pays for rows: persons or one account, a ledger, when, and a key for repeatable draws."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import Option, SpecError, required, required_choice
from dxopt.release.budgets.affording import require_periods
from dxopt.release.budgets.periods import PERIODS, PerPeriod
from dxopt.release.keys import Key, require_release
from dxopt.release.tables.table import IntegerTable
from dxopt.runtime.identity import identity

if TYPE_CHECKING:
    from dxopt.release.budgets.budgets import Budgets

_TAG = "dxopt tag 1"
OVER_BUDGET = ("refuse", "drop")
"""Policies for rows that a person cannot pay for."""


_DATE = re.compile(r"[0-9]{4}[-/.](?:0[1-9]|1[0-2]|W[0-5][0-9])(?:[-/.][0-3]?[0-9])?(?![0-9])")
"""A day, week or month as a part of a name."""
_LEDGER = Option("ledger", command="--ledger FILE")
_ACCOUNT = Option("account", "everybody")
_PAID = (
    "name the ledger that rows are paid from as ",
    _LEDGER,
    ", or a key as ",
    Option("key", command="--key-file FILE"),
    "; left out, reports of one person are not counted together",
)


@dataclass(frozen=True, eq=False)
class Persons:
    """The column of persons, the key and the release of repeatable draws, and the ledger that rows are paid from.

    Instead of a column there may be one `account`, which all rows are paid from as if they were those of one person.
    In a ledger with budgets by period, `limit`, rows have their times in the column `time`.
    """

    column: str | None
    account: str | None
    key: Key | None
    release: str
    ledger: Budgets | None
    time: str | None = None
    limit: PerPeriod | None = None

    @classmethod
    def of(
        cls,
        column: str | None,
        account: str | None,
        key: Key | None,
        release: str | None,
        ledger: Any,
        over_budget: str = "refuse",
        time: str | None = None,
        per: str | None = None,
    ) -> Persons | None:
        """Return these options, None without key and ledger; SpecError if they do not fit together."""
        required("key", key, Key | None, "give a dx.Key")
        if ledger is not None and not hasattr(ledger, "charge"):
            fix = ", such as dx.Budgets.open(the name of the file)" if isinstance(ledger, str | os.PathLike) else ""
            raise SpecError("ledger", f"is of type {type(ledger).__name__}", f"give a dx.Budgets{fix}")
        required_choice("over_budget", over_budget, OVER_BUDGET)
        if over_budget == "drop" and ledger is None:
            raise SpecError("over_budget", "is 'drop', but there is no ledger", "give ", _LEDGER, ", or leave it out")
        if over_budget == "drop" and key is not None:
            wrong = "is 'drop' with a key: what a row costs would then say whether the person was there before"
            raise SpecError("over_budget", wrong, "leave out the key, or set larger budgets")
        if key is None and ledger is None:
            for name, given in (
                ("person", column),
                ("account", account),
                ("release", release),
                ("time", time),
                ("per", per),
            ):
                if given is not None:
                    raise SpecError(name, "is named, but there is neither a key nor a ledger", *_PAID)
            return None
        if account is not None:
            if column is not None:
                wrong = "is named beside a column of persons"
                raise SpecError(
                    "account", wrong, "leave one out: rows are those of persons, or all pay from one account"
                )
            if key is not None:
                wrong = "does not go with a key, with which all rows of one secret would have one report"
                raise SpecError("account", wrong, "leave out the key, or name a column: ", Option("person"))
            account = identity(account, "account")
            if not account:
                raise SpecError("account", "is empty", "give it a name, such as everybody")
        elif column is None:
            fix = ("name the column that says whose row it is, or, where rows are of no persons, ", _ACCOUNT)
            raise SpecError("person", "is not named", *fix, ", which all of them pay from")
        if key is not None:
            require_release(release)
        return cls(column, account, key, release or "", ledger, time, _limit_of(ledger, time, per))

    @property
    def columns(self) -> list[str]:
        """Names of the columns of persons and times, those that there are."""
        return [name for name in (self.column, self.time) if name is not None]

    def require_names(self, persons: Collection[str]) -> None:
        """Raise SpecError where names are those of persons on days, which have no budget in all."""
        without = {_DATE.sub("", person) for person in persons}
        if len(without) * 2 <= len(persons) and all(map(_DATE.search, persons)):
            wrong = "holds a date in every row: a budget for each would promise a person nothing in all"
            fix = "name the person alone, and the column of times as ", Option("time"), ", with a budget per day"
            raise SpecError("person", wrong, *fix)

    def tags(self, table: IntegerTable, secrets: NDArray[np.int64], persons: Sequence[str]) -> list[bytes] | None:
        """Return a tag for each draw, by which a ledger knows it again, and nobody its secret; None without a key."""
        if self.key is None:
            return None
        labels = table.space.labels
        return [
            self.key.digest(_TAG, table.digest, self.release, person, str(labels[secret]))
            for person, secret in zip(persons, secrets.tolist(), strict=True)
        ]


def _limit_of(ledger: Budgets | None, time: str | None, per: str | None) -> PerPeriod | None:
    """Return the budget by period of a ledger; SpecError unless it is the one asked for, with times where it is."""
    limit = None if ledger is None else ledger.per
    if per is not None:
        required_choice("per", per, PERIODS)
        if limit is None or limit.period != per:
            has = "no budget by period" if limit is None else f"a budget for each {limit.period}"
            fix = f"set one: dxopt budget LEDGER --set AMOUNT --per {per}"
            raise SpecError("per", f"is {per!r}, but the ledger has {has}", fix)
    require_periods(limit, None if time is None else [time], "time")
    return limit
