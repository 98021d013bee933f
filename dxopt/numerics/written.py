"""Numbers as people write them: plain, or ln(a), log2(a), sqrt(a), or one of these divided by a plain one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from dxopt.errors import SpecError

Written = float | str
"""A number, or how it is written."""
DECIMAL = r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_PLAIN = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
CALL = rf"(?:ln|log2|sqrt)\( *{DECIMAL} *\)"
EXPRESSION = rf"{CALL}|(?:{CALL}|{DECIMAL}) */ *{DECIMAL}"
"""A function of a plain number; and one, or a plain number, divided by a plain one."""
_TERMS = re.compile(rf"(?:(ln|log2|sqrt)\( *)?({DECIMAL})(?: *\))?(?: */ *({DECIMAL}))?")
_EXPRESSION = re.compile(EXPRESSION)
_FUNCTIONS: dict[str, Callable[[float], float]] = {"ln": math.log, "log2": math.log2, "sqrt": math.sqrt}
_LONGEST = 60


def shortened(text: str) -> str:
    """A text as a message quotes it: cut where it is long."""
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def is_plain(text: str) -> bool:
    """Return True if a text is a plain decimal number."""
    return _PLAIN.fullmatch(text) is not None


def is_expression(text: str) -> bool:
    """Return True if a text is a function of a number, or a quotient."""
    return _EXPRESSION.fullmatch(text) is not None


def number_of(text: str, field: str) -> float:
    """The double that a text means: a plain number, or ln(a), log2(a), sqrt(a), a/b or ln(a)/b with a and b plain.

    Raises
    ------
    SpecError
        About the field, if it is no such text, or no finite real number.
    """
    terms = _TERMS.fullmatch(text) if is_expression(text) else None
    try:
        if terms:
            called, argument, divisor = terms.groups()
            value = _FUNCTIONS.get(called, float)(float(argument))
            value /= 1.0 if divisor is None else float(divisor)
        else:
            value = math.nan if text.lower().lstrip("+-.") in ("nan", "inf") else float(text)
    except ZeroDivisionError:
        raise SpecError(field, f"{text} divides by 0", "give another divisor") from None
    except ValueError:
        if terms:
            raise SpecError(field, f"{text} is not a real number", "give another argument") from None
        fix = "give a number, plain or written ln(a), log2(a), sqrt(a), a/b or ln(a)/b with a and b plain"
        raise SpecError(field, f"is the text {shortened(text)}", fix) from None
    if not math.isfinite(value):
        raise SpecError(field, f"is {text}, which is not a finite number", "give a finite number")
    return value
