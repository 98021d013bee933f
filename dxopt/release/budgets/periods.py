"""Periods of time in each of which a person has a budget: days, weeks, months or years of a time zone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from dxopt.errors import SpecError, required, required_choice
from dxopt.runtime.identity import is_missing

ALWAYS = ""
"""Stored in place of a period for payments in a ledger without budgets by period."""


def _week(day: date) -> str:
    year, week, _ = day.isocalendar()
    return f"{year:04}-W{week:02}"


_NAMES: dict[str, Callable[[date], str]] = {
    "day": date.isoformat,
    "week": _week,
    "month": lambda day: f"{day:%Y-%m}".zfill(7),
    "year": lambda day: f"{day:%Y}".zfill(4),
}
Period = Literal["day", "week", "month", "year"]
PERIODS = tuple(_NAMES)
"""Kinds of periods; weeks are those of ISO 8601, from Monday to Sunday."""
_DAY = re.compile(r"\d{4}-?\d{2}-?\d{2}")
_FIX = "give dates, or text as 2026-01-31, 2026-01-31 12:00 or 2026-01-31T12:00:00+01:00"


@dataclass(frozen=True)
class PerPeriod:
    """A budget of each person in each period: ε and δ, exactly.

    Attributes
    ----------
    period : {"day", "week", "month", "year"}
    zone : str
        Time zone of the calendar, such as "Europe/Paris"; times without an offset are of it.
    epsilon, delta : Fraction

    Examples
    --------
    >>> import dxopt as dx
    >>> with dx.Budgets.open("budget.sqlite", create=True, default=10) as budgets:
    ...     budgets.set_per("day", 1, zone="Europe/Paris")
    ...     print(budgets.per.name("2026-03-28T23:30:00Z"), budgets.per.name("2026-03-28 23:30"))
    2026-03-29 2026-03-28
    """

    period: Period
    zone: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        required_choice("per", self.period, PERIODS)
        zone_of(self.zone)

    def name(self, time: Any) -> str:
        """Return the period of a time, such as "2026-01-31", "2026-W05", "2026-01" or "2026".

        Parameters
        ----------
        time : datetime, date, datetime64 or text
            Text as in ISO 8601: "2026-01-31", "2026-01-31 12:00" or "2026-01-31T12:00:00+01:00".

        Raises
        ------
        SpecError
            If it is missing, or no time.
        """
        return _NAMES[self.period](_local_day(time, zone_of(self.zone)))

    def names(self, times: Sequence[Any]) -> list[str]:
        """Return the periods of times `(k,)`, each as `name` has it."""
        known: dict[Any, str] = {}
        return [known[time] if time in known else known.setdefault(time, self.name(time)) for time in times]

    def now(self) -> str:
        """Return the period that it is now."""
        return self.name(datetime.now(UTC))


def zone_of(name: str) -> ZoneInfo:
    """Return a time zone by its name; SpecError if there is none."""
    fix = 'give a name such as "Europe/Paris" or "UTC"; where zones are not installed, pip install tzdata'
    required("zone", name, str, fix)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SpecError("zone", f"there is no {name[:40]!r}", fix) from None


def _local_day(time: Any, zone: ZoneInfo) -> date:
    """Return the day in a zone of a time; one without an offset is of that zone already."""
    if is_missing(time) or (isinstance(time, float) and math.isnan(time)):
        raise SpecError("time", "is missing", "name a time in each row, or leave the row out")
    found = time.item() if isinstance(time, np.datetime64) and time.dtype != np.dtype("<M8[ns]") else time
    if isinstance(found, np.datetime64):  # of nanoseconds, which datetime does not have
        found = found.astype("<M8[us]").item()
    if isinstance(found, str):
        found = _from_text(found)
    if isinstance(found, datetime):
        try:
            return (found if found.tzinfo is None else found.astimezone(zone)).date()
        except (OverflowError, NotImplementedError):  # the second of pandas
            raise SpecError("time", "is before the year 1 or after 9999 in the zone of the ledger", _FIX) from None
    if isinstance(found, date):
        return found
    # the column may be another than was meant, with persons or places
    raise SpecError("time", f"is no time, but of type {type(time).__name__}", _FIX)


def _from_text(text: str) -> datetime:
    """Return the time that a text of ISO 8601 names; SpecError if it is none."""
    try:
        if _DAY.match(text.strip()):
            return datetime.fromisoformat(text.strip())
    except ValueError:
        pass
    raise SpecError("time", "is no time", _FIX)
