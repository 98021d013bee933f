"""Whose rows they are: who pays for them, and draws that a person gets again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import BudgetExceeded, SpecError
from dxopt.release.applying.snapping import is_missing, unit_of
from dxopt.release.keys import Key
from dxopt.release.tables.table import IntegerTable

_BLOCK = 10_000
_TAG = "dxopt tag 1"


class Ledger(Protocol):
    """What is asked of `dx.Budgets`."""

    def left(self, persons: Sequence[str]) -> list[Fraction]:
        """What each person may still spend."""
        ...

    def begin(self, name: str, *, release: str | None = None) -> str:
        """Begin a run, or go on with one of this name that was killed."""
        ...

    def charge(
        self,
        run: str,
        first: int,
        persons: Sequence[str],
        level: Fraction,
        *,
        delta: Fraction = ...,
        unit: str,
        tags: Sequence[bytes | None] | None = None,
    ) -> NDArray[np.bool_]:
        """Charge rows of a run, all or none."""
        ...

    def finish(self, run: str) -> None:
        """End a run before its output is published."""
        ...

    def finished(self, run: str) -> bool:
        """Whether a run is finished, so that its output may be published."""
        ...


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
    ledger : Ledger or None
        What each row is paid from.
    """

    column: str
    key: Key | None
    release: str
    ledger: Ledger | None

    @classmethod
    def of(cls, column: str | None, key: Key | None, release: str | None, ledger: Any) -> Persons | None:
        """The persons that are asked for, if any; SpecError where something is missing."""
        if key is not None and not isinstance(key, Key):
            raise SpecError("key", f"is of type {type(key).__name__}", "give a dx.Key")
        if ledger is not None and not hasattr(ledger, "charge"):
            raise SpecError("budgets", f"is of type {type(ledger).__name__}", "give a dx.Budgets")
        if key is None and ledger is None:
            for name, given in (("person", column), ("release", release)):
                if given is not None:
                    raise SpecError(name, "is named, but there is neither a key nor a ledger", "leave it out")
            return None
        if column is None:
            raise SpecError("person", "is not named", "name the column that says whose row it is")
        if key is not None and not release:
            raise SpecError("release", "has no name", "name what is published, such as 'autumn'")
        return cls(column, key, release or "", ledger)

    def drawn(self, table: IntegerTable, secrets: NDArray[np.int64], persons: Sequence[str]) -> NDArray[np.int64]:
        """The report of each person's secret `(k,)`: the same again where there is a key."""
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
        self.ledger.charge(run, first, persons, level, delta=delta, unit=per(table), tags=tags)

    def require_left(self, table: IntegerTable, needed: Counter[str]) -> None:
        """Raise BudgetExceeded where a person has too little left for so many rows; keyed draws show that later."""
        if self.ledger is None or self.key is not None:
            return
        listed = list(needed)
        for start in range(0, len(listed), _BLOCK):
            some = listed[start : start + _BLOCK]
            for person, left in zip(some, self.ledger.left(some), strict=True):
                asked = needed[person] * Fraction(table.epsilon)
                if asked > left:
                    rows = f"{needed[person]:,} row{'s' if needed[person] > 1 else ''}"
                    shown = f"{float(left):.7g} left {per(table)}, but {float(asked):.7g} is asked for {rows}"
                    wrong = f"person {person!r} has {shown}"
                    raise BudgetExceeded(person, asked, left, wrong, "leave rows out, or set a larger budget")

    def _tags(
        self, key: Key, table: IntegerTable, secrets: NDArray[np.int64], persons: Sequence[str]
    ) -> list[bytes | None]:
        """What names a draw without saying the secret, to whoever has not the key."""
        labels = table.space.labels
        return [
            key.digest(_TAG, table.digest, self.release, person, str(labels[secret]))
            for person, secret in zip(persons, secrets.tolist(), strict=True)
        ]


def per(table: IntegerTable) -> str:
    """What levels of a table are per, as ledgers have it."""
    return f"per {unit_of(table.space) or 'unit'}"


def texts_of(column: Any) -> list[str]:
    """Persons as text `(k,)`; empty where there is none."""
    listed = column.tolist() if isinstance(column, np.ndarray) else list(column)
    return [_text(value) for value in listed]


def _text(person: Any) -> str:
    """A person as text, the same whether numbers were read as 7 or, beside missing ones, as 7.0."""
    if is_missing(person):
        return ""
    return str(int(person)) if isinstance(person, float) and person.is_integer() else str(person)
