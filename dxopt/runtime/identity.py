"""Identity of a person, and of the label of a secret: one text, whatever file or frame it comes from.

Numbers and texts are the same person where a file writes one as the other: 7, 7.0, "7" and "7.0". All other text
stays as it is, such as "007" and "1e3", but for its encoding: it is composed (NFC), without blanks around it, blanks
within it are single spaces, and marks that nobody sees are removed.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date, time
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from uuid import UUID

import numpy as np

from dxopt.errors import SpecError

_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.([0-9]*[1-9])?0*)?")
"""A number in digits, without leading zeros: its whole part, and the rest without the zeros at its end."""
_EXACT = 2**53
"""Whole numbers up to this one have doubles of their own."""
UNSEEN = (
    r"[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
"""Characters that are drawn as nothing (Default_Ignorable_Code_Point of Unicode), as a regular expression."""
_UNSEEN = re.compile(UNSEEN)


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, or not equal to itself, as NaN and NA are."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return True


def identity(value: Any, field: str = "person") -> str:
    """Return the text that stands for a person or a label; empty for nobody.

    Parameters
    ----------
    value : str, int, float, Decimal, UUID, date or bytes
        As a file or frame has it; bytes are UTF-8. Empty, blank and missing values are nobody.
    field : str
        What errors are about.

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
    text = value if isinstance(value, str) else _written(value, field)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SpecError(field, "has half of a surrogate pair, which is no character", "give Unicode text") from None
    plain = "".join(" " if unicodedata.category(one) == "Cc" else one for one in _UNSEEN.sub("", text))
    text = " ".join(unicodedata.normalize("NFC", plain).split())
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    whole, rest = number.groups()
    return f"{whole}.{rest}" if rest else "0" if whole == "-0" else whole


def _written(value: Any, field: str) -> str:
    """Return a number, a date, bytes or a UUID as text; SpecError where it names nobody beyond doubt."""
    if isinstance(value, bool | np.bool_ | date | time | UUID):
        return str(value)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise SpecError(field, "is bytes that are no text in UTF-8", "give text or a number") from None
    if not isinstance(value, Real | Decimal):
        raise SpecError(field, f"is of type {type(value).__name__}", "give text or a number")
    if isinstance(value, Real) and not isinstance(value, Integral) and abs(float(value)) > _EXACT:
        fix = "read the column as integers or as text"
        raise SpecError(field, "is a float too large to stand for one whole number", fix)
    try:
        return format(value, "f") if isinstance(value, Decimal) else str(value)
    except ValueError:
        raise SpecError(field, "is a number of too many digits", "give it as text") from None
