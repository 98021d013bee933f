"""Names of columns in messages. Names that look like data are not shown: a file without a header has data there."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SHOWN = 12
"""A message lists so many names at most."""
_WORDS = re.compile(r"[^\W\d_]+")
_OF_DATES = re.compile(
    r"jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|january|february|march|april|august|september|october"
    r"|november|december|(mon|tue|wed|thu|fri|sat|sun)|(mon|tues|wednes|thurs|fri|satur|sun)day|am|pm|utc|gmt"
)
_OF_NUMBERS = re.compile(r"[tzenswoh]|km|nan|inf|infinity")
"""Letters in numbers, in degrees with a direction and in times."""


def is_data(name: str) -> bool:
    """Return True if the name of a column reads as a number, a date or a time: "45.5 N", "3 May", but not "x1"."""
    bare = name.strip().lower()
    words = _WORDS.findall(bare)
    if "_" in bare or not all(_OF_NUMBERS.fullmatch(word) or _OF_DATES.fullmatch(word) for word in words):
        return False
    if bare in ("nan", "inf", "-inf", "infinity", "-infinity"):
        return True
    dated = any(_OF_DATES.fullmatch(word) for word in words)
    return any(sign.isdigit() for sign in bare) and (dated or not bare[0].isalpha())  # "may 3", but not "n1"


def no_column(name: str, names: Sequence[str]) -> tuple[str, str]:
    """Return what is wrong, and the fix, for the error about a table with these columns that lacks one."""
    if looks_like_data(names):
        return f"there is no column {name!r}, and the first line looks like data", NAME_THEM
    return f"there is no column {name!r}", f"choose among {listed(names)}" if names else "add it"


def looks_like_data(names: Sequence[str]) -> bool:
    """Return True if some name of a column reads as a number or a date, as in a file without a header."""
    return any(map(is_data, names))


def listed(names: Sequence[str]) -> str:
    """Join the first names by commas; those that are empty, or begin or end with blanks, are quoted to be seen."""
    some = ", ".join(name if name and name == name.strip() else repr(name) for name in names[:_SHOWN])
    return some + (", …" if len(names) > _SHOWN else "")


NAME_THEM = "add a header line, which names the columns"
