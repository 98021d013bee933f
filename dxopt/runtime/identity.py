"""Identity of a person, and of the label of a secret: one text, whatever file or frame it comes from.

Numbers and texts are the same person where a file writes one as the other: 7, 7.0, "7" and "7.0". All other text
stays as it is, such as "007" and "1e3", but for its encoding: it is composed (NFC), without blanks around it, blanks
within it are single spaces, and marks that nobody sees are removed. A time at midnight is the day.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, time
from decimal import Decimal
from numbers import Real
from typing import Any
from uuid import UUID

import numpy as np

from dxopt.errors import Option, SpecError
from dxopt.runtime.arrow import bare_array, values_of

_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.([0-9]*[1-9])?0*)?")
"""A number in digits, without leading zeros: its whole part, and the rest without the zeros at its end."""
_WITH_COMMA = re.compile(r"-?[0-9]+,[0-9]*([eE][-+]?[0-9]+)?")
_THOUSANDS = re.compile(r"-?[1-9][0-9]{0,2}([.,][0-9]{3})+([.,][0-9]*)?")
ROUNDED = r"-?([0-9]([.][0-9]+[eE][+]?|[eE][+])[0-9]+|(9(?!00[0-6])[0-9]{15}|[1-9][0-9]{16,})[.]0)"
"""A float from 2^53 or thereabouts on as programs write it, or any that has an exponent, as a regular expression."""
_ROUNDED = re.compile(ROUNDED)
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]*[1-9])?0*)?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
"""A day and a time, whose seconds are without the zeros at their end, and how far its time zone is from UTC."""
_DIGITS = 4300
"""Most digits of a number, as Python writes no more of an integer."""
NARROW: tuple[type, ...] = (np.float16, np.float32)
"""Floats that are not to become doubles, which write them otherwise and hide that they stand for several numbers."""
_TEXTS: tuple[type, ...] = (str, bytes)
UNSEEN = (
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)
"""Characters that are drawn as nothing (Default_Ignorable_Code_Point of Unicode), as a regular expression."""
_UNSEEN = re.compile(UNSEEN)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class CommaError(SpecError):
    """A number with a comma, where it was not said whether commas are decimal ones."""


class RoundedError(SpecError):
    """A float that may stand for several whole numbers."""


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, or not equal to itself, as NaN and NA are. Arrays are not."""
    try:
        return value is None or (not getattr(value, "ndim", 0) and bool(value != value))
    except (TypeError, ValueError, ArithmeticError):
        return True


def identity(value: Any, field: str = "person", decimal: str | None = ".") -> str:
    """Return the text that stands for a person or a label; empty for nobody.

    Parameters
    ----------
    value : str, int, float, Decimal, UUID, date, time or bytes
        As a file or frame has it; bytes are UTF-8. Empty, blank and missing values are nobody.
    field : str
        What errors are about.
    decimal : str or None
        The decimal mark of numbers in text: with a comma 7,0 is 7, and 1.000 is refused; with None 7,0 is.

    Raises
    ------
    SpecError
        If it is none of these, infinite, a float so large that it stands for several whole numbers, or no text.

    Examples
    --------
    >>> from dxopt.runtime.identity import identity
    >>> print([identity(one) for one in (7, 7.0, "7", " 7.0 ", "007", float("nan"))])
    ['7', '7', '7', '7', '007', '']
    """
    if is_missing(value):
        return ""
    if isinstance(value, bytes):
        value = _decoded(value, field)
    text = value if isinstance(value, str) else _written(value, field)
    encoded(text, field)
    text = composed(text)
    if decimal != "." and isinstance(value, str):
        one, many = _WITH_COMMA.fullmatch(text), _THOUSANDS.fullmatch(text)
        if decimal is None and "," in text and (one or many):
            mark, plain = Option("decimal", ","), Option("decimal", ".")
            fix = ("say what that is: ", mark, " for a decimal mark, ", plain, " for text")
            raise CommaError(field, "is a number with a comma", *fix)
        if decimal == "," and one:
            text = text.replace(",", ".")
        elif decimal == "," and many:
            raise SpecError(field, "is a number in groups of digits", "write its digits without marks between them")
    if isinstance(value, str) and _ROUNDED.fullmatch(text):
        raise _rounded(field)
    if moment := _MOMENT.fullmatch(text):
        day, at, part, zone = moment.groups("")
        if at == "00:00:00" and not part + zone:
            return day
        off = zone and zone.replace("Z", "+").replace(":", "").ljust(5, "0").replace("-0000", "+0000")
        return f"{day} {at}{part and '.'}{part}{off[:3]}{off and ':'}{off[3:]}"
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    whole, rest = number.groups()
    return f"{whole}.{rest}" if rest else "0" if whole == "-0" else whole


def encoded(text: str, field: str) -> bytes:
    """Return a text in UTF-8; SpecError where it has half of a surrogate pair."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SpecError(field, "has half of a surrogate pair, which is no character", "give Unicode text") from None


def composed(text: str) -> str:
    """Return a text composed (NFC), with single blanks within it, and without marks that nobody sees."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    plain = _CONTROLS.sub(" ", _UNSEEN.sub("", text))
    return " ".join(unicodedata.normalize("NFC", plain).split())


def _rounded(field: str) -> RoundedError:
    fix = "write all its digits, as an integer or as text"
    return RoundedError(field, "is a float too large, or with too few digits, to stand for one whole number", fix)


def identities(persons: Any, field: str = "persons") -> list[str]:
    """Return the texts that stand for persons in a list or a column of any library; SpecError if one is nobody."""
    names = [identity(person, field) for person in each(persons, field)]
    if "" in names:
        raise SpecError(field, f"number {names.index('')} is nobody", "name a person in each row")
    return names


def each(values: Any, field: str) -> list[Any]:
    """Return the values of a list, an array, a Series, an Index or a column of Arrow, as `identity` takes them.

    Floats of few bits keep their type, times all their digits, and categories are what they stand for. SpecError
    where it is one value, or several columns.
    """
    many = hasattr(values, "__iter__") and not isinstance(values, _TEXTS)
    if not many or len(getattr(values, "shape", "1")) != 1:
        raise SpecError(field, "are one value, or several columns", "give a list, or one column")
    library = type(values).__module__.partition(".")[0]
    if library == "polars":
        if not (values.dtype.is_float() or values.dtype.is_temporal()):
            return values.to_list()
        values = values.to_arrow()
    if library == "pandas":
        kind = values.dtype
        if hasattr(kind, "categories"):
            values = getattr(values, "array", values)
            known = [*each(values.categories, field), None]
            return [known[code] for code in values.codes.tolist()]  # -1 is a missing one
        if hasattr(kind, "pyarrow_dtype"):
            values = getattr(values, "array", values).__arrow_array__()
        elif isinstance(kind, np.dtype):
            values = values.to_numpy()
    if hasattr(values, "to_pylist"):
        values = values_of(bare_array(values))
    narrow = not isinstance(values, np.ndarray) or values.dtype in NARROW or values.dtype.kind in "mM"
    return list(values) if narrow else values.tolist()


def shortest(value: Any) -> Any:
    """Return a float of few bits as the double that is written so, and anything else as it is."""
    return float(str(value)) if isinstance(value, NARROW) else value


def _decoded(value: bytes, field: str) -> str:
    """Return the text of bytes in UTF-8; SpecError where they are none."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = "\0"
    if any(unicodedata.category(one) == "Cc" for one in text):
        raise SpecError(field, "is bytes that are no text in UTF-8", "give text or a number")
    return text


def _written(value: Any, field: str) -> str:
    """Return a number, a date or a UUID as text; SpecError where it names nobody beyond doubt."""
    if isinstance(value, date | np.datetime64):
        at = isinstance(value, np.datetime64)
        if not 1 <= (value.astype("M8[Y]").astype(int) + 1970 if at else value.year) <= 9999:
            raise SpecError(field, "is a time before the year 1 or after 9999", "give it as text")
        return str(value.astype(np.promote_types(value.dtype, "M8[s]")) if at else value)
    if isinstance(value, bool | np.bool_ | time | UUID):
        return str(value)
    if not isinstance(value, Real | Decimal) or isinstance(value, np.timedelta64):
        raise SpecError(field, f"is of type {type(value).__name__}", "give text or a number")
    if isinstance(value, float | np.floating):
        if abs(float(value)) >= 2.0 ** (np.finfo(type(value) if isinstance(value, np.floating) else float).nmant + 1):
            raise _rounded(field)
        return str(int(value) if value == int(value) else shortest(value))
    try:
        if not isinstance(value, Decimal):
            return str(value)
        if value.is_finite() and abs(value.adjusted()) <= _DIGITS:
            return format(value, "f")
    except ValueError:
        pass
    raise SpecError(field, "is infinite, or a number of too many digits", "give it as text")
