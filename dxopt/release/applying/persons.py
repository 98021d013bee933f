"""Persons of the rows: payments from a ledger, and repeatable draws with a key."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import BudgetExceeded, Option, SpecError
from dxopt.release.applying.column_mapping import is_missing
from dxopt.release.keys import Key
from dxopt.release.tables.table import IntegerTable
from dxopt.spaces import units

if TYPE_CHECKING:
    from dxopt.release.budgets.budgets import Budgets

_TAG = "dxopt tag 1"
OVER_BUDGET = ("refuse", "drop")
"""Policies for rows that a person cannot pay for."""


_LEDGER = Option("ledger", command="--ledger FILE")
_PAID = (
    *(
        "name the ledger that rows are paid from as ",
        _LEDGER,
        ", or a key as ",
        Option("key", command="--key-file FILE"),
    ),
    "; left out, reports of one person are not counted together",
)


@dataclass(frozen=True, eq=False)
class Persons:
    """The column of persons, and what is done by it.

    Attributes
    ----------
    column : str
    key : Key or None
        Of draws that a person gets again,
    release : str
        and the name under which.
    ledger : Budgets or None
        What each row is paid from.
    """

    column: str
    key: Key | None
    release: str
    ledger: Budgets | None

    @classmethod
    def of(
        cls, column: str | None, key: Key | None, release: str | None, ledger: Any, over_budget: str = "refuse"
    ) -> Persons | None:
        """Return the persons that are asked for, if any; SpecError where something is missing."""
        if key is not None and not isinstance(key, Key):
            raise SpecError("key", f"is of type {type(key).__name__}", "give a dx.Key")
        if ledger is not None and not hasattr(ledger, "charge"):
            fix = ", such as dx.Budgets.open(the name of the file)" if isinstance(ledger, str | os.PathLike) else ""
            raise SpecError("ledger", f"is of type {type(ledger).__name__}", f"give a dx.Budgets{fix}")
        _require_policy(over_budget, key, ledger)
        if key is None and ledger is None:
            for name, given in (("person", column), ("release", release)):
                if given is not None:
                    raise SpecError(name, "is named, but there is neither a key nor a ledger", *_PAID)
            return None
        if column is None:
            raise SpecError("person", "is not named", "name the column that says whose row it is")
        if key is not None and not release:
            raise SpecError("release", "has no name", "name what is published, such as 'autumn'")
        return cls(column, key, release or "", ledger)

    def drawn(self, table: IntegerTable, secrets: NDArray[np.int64], persons: Sequence[str]) -> NDArray[np.int64]:
        """Return the report of each person's secret `(k,)`: the same again where there is a key."""
        if self.key is None:
            return table.sample(index=secrets)[:, 0]
        return table.sample_for(persons, index=secrets, key=self.key, release=self.release)

    def charge(
        self, run: str, first: int, table: IntegerTable, secrets: NDArray[np.int64], persons: Sequence[str]
    ) -> None:
        """Pay for rows, all or none; a draw that a person has had before costs nothing."""
        if self.ledger is None or not len(persons):
            return
        tags = None if self.key is None else self._tags(self.key, table, secrets, persons)
        level = Fraction(table.epsilon)
        delta = Fraction(table.delta)
        self.ledger.charge(run, first, persons, level, delta=delta, unit=per(table), tags=tags, key=self.key)

    def affordable(self, table: IntegerTable, needed: Mapping[str, int], run: str, *, drop: bool) -> dict[str, int]:
        """Return the number of rows each person can afford; with a key all, as a charge tells that later.

        Raises
        ------
        SpecError
            If the ledger is in another unit, somebody has too little left and is not to lose rows, or nobody has
            enough for a single one.
        """
        if self.ledger is None:
            return dict(needed)
        level, delta = Fraction(table.epsilon), Fraction(table.delta)
        asked = needed if self.key is None else {}
        found = self.ledger.affordable(asked, level, delta=delta, unit=per(table), run=run, drop=drop)
        if asked and not any(found.values()):
            try:
                self.ledger.affordable(asked, level, delta=delta, unit=per(table), run=run)
            except BudgetExceeded as error:
                fix = (
                    "set larger budgets, or take a smaller epsilon: ",
                    Option("over_budget", "drop"),
                    " would leave no row",
                )
                raise BudgetExceeded(error.person, error.asked, error.left, error.wrong, *fix) from None
        return found

    def _tags(
        self, key: Key, table: IntegerTable, secrets: NDArray[np.int64], persons: Sequence[str]
    ) -> list[bytes | None]:
        """Return a tag for each draw, which hides the secret from everybody without the key."""
        labels = table.space.labels
        return [
            key.digest(_TAG, table.digest, self.release, person, str(labels[secret]))
            for person, secret in zip(persons, secrets.tolist(), strict=True)
        ]


def _require_policy(over_budget: str, key: Key | None, ledger: Any) -> None:
    """Raise SpecError unless rows that cannot be paid for may be treated so."""
    if over_budget not in OVER_BUDGET:
        raise SpecError("over_budget", f"is {over_budget!r}", f"choose one of {', '.join(OVER_BUDGET)}")
    if over_budget == "drop" and ledger is None:
        raise SpecError("over_budget", "is 'drop', but there is no ledger", "give ", _LEDGER, ", or leave it out")
    if over_budget == "drop" and key is not None:
        wrong = "is 'drop' with a key: what a row costs would then say whether the person was there before"
        raise SpecError("over_budget", wrong, "leave out the key, or set larger budgets")


def per(table: IntegerTable) -> str:
    """Return the unit of a table's levels, as ledgers have it."""
    return units.per(table.space.unit) if table.space.unit else "per unit"


def texts_of(column: Any) -> list[str]:
    """Return persons as text `(k,)`; empty where there is none."""
    listed = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [_text(value) for value in listed]


def _text(person: Any) -> str:
    """Return a person as text, the same whether numbers were read as 7 or, beside missing ones, as 7.0."""
    if is_missing(person):
        return ""
    return str(int(person)) if isinstance(person, float) and person.is_integer() else str(person)
