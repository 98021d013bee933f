"""Numbers as text: read from ln(a), log2(a), sqrt(a), a/b, and written with the digits that matter."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context

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
    """Return a text as a message quotes it: cut where it is long."""
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")


def is_plain(text: str) -> bool:
    """Return True if a text is a plain decimal number."""
    return _PLAIN.fullmatch(text) is not None


def is_expression(text: str) -> bool:
    """Return True if a text is a function of a number, or a quotient."""
    return _EXPRESSION.fullmatch(text) is not None


def number_of(text: str, field: str, also: str = "") -> float:
    """Parse a text: a plain number, or ln(a), log2(a), sqrt(a), a/b or ln(a)/b with a and b plain.

    SpecError about the field, if it is no such text, or no finite real number; `also` is what else its fix offers.
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
        fix = "give a number, plain or written ln(a), log2(a), sqrt(a), a/b or ln(a)/b with a and b plain" + also
        raise SpecError(field, f"is the text {shortened(text)}", fix) from None
    if not math.isfinite(value):
        raise SpecError(field, f"is {text}, which is not a finite number", "give a finite number")
    return value


_FEWEST = 7  # digits in which two numbers are written first
_EVERY = 17  # digits that tell all doubles apart
_GROUPED = 1000  # from here on all places before the point are written, with commas; below, three digits
_LARGE = 1e9  # from here on numbers are written with an exponent
_MOST_FACTOR = 1e6
"""Larger factors are told as powers of ten: hardly anything is hidden there."""
_LEAST = 1e-300
"""Smaller numbers have not three digits to spare."""
SUMS = 1e-12
"""Sums of levels are not rounded up for an excess below this share, which is from rounding."""
_WHOLE = 1e-4
"""Up to this relative difference a factor is told as a whole number, and not as one that was rounded."""


def ordered_texts(low: float, high: float) -> tuple[str, str]:
    """Return two numbers as text that shows that the first is lower: 7 digits, more where these are not enough.

    The second is rounded up, so that it can be given as a limit.
    """
    for digits in range(_FEWEST, _EVERY):
        if float(f"{low:.{digits}g}") < float(f"{high:.{digits}g}"):
            return f"{low:.{digits}g}", f"{digits_up(high, digits):.{digits}g}"
    return f"{low:.{_EVERY}g}", f"{high:.{_EVERY}g}"


def three_digits(value: float) -> str:
    """Format a number to three digits; places before the point are never cut, and whole numbers stay whole."""
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else f"{'-' if value < 0 else ''}infinite"
    if abs(value) >= _LARGE:
        return f"{value:.2e}"
    short = f"{value:.3g}"
    return f"{value:,.0f}" if abs(float(short)) >= _GROUPED or value == int(value) else short


def at_most(value: float) -> str:
    """Format a positive number to three digits, rounded up."""
    return three_digits(_rounded_up(value) if math.isfinite(value) and value > 0 else value)


def _rounded_up(value: float) -> float:
    """Round a positive number up to three digits, or to a whole number from 1,000."""
    value = max(value, _LEAST)
    place = 10.0 ** (math.floor(math.log10(value)) - 2)
    # what is above three digits by the rounding of doubles alone is not rounded up
    steps = math.ceil(value / place * (1 - 1e-9)) if value < _GROUPED else math.ceil(value * (1 - 1e-9))
    return float(f"{steps * place:.3g}") if value < _GROUPED else float(steps)


def digits_up(number: float, digits: int) -> float:
    """Round up to a few decimal digits, so that an upper bound is one as it is printed."""
    return float(Context(digits, ROUND_CEILING).create_decimal(repr(float(number))))


def digits_down(number: float, digits: int) -> float:
    """Round down to a few decimal digits, so that a lower bound is one as it is printed."""
    return float(Context(digits, ROUND_FLOOR).create_decimal(repr(float(number))))


def level_text(level: float, digits: int = 3, slack: float = 0.0) -> str:
    """Format a level rounded up to its first digits: whoever types the text into a budget pays for that level.

    It is not rounded up for an excess of less than the share `slack` of it.
    """
    if not 0 < level < math.inf:
        return three_digits(level)
    digits = _digits_of(level, digits)
    return f"{digits_up(level * (1 - slack), digits):.{digits}g}"


def excluded_text(level: float, digits: int = 6) -> str:
    """Format a level that is not enough, rounded down to its first digits: no level up to the text is either."""
    digits = _digits_of(level, digits)
    return f"{digits_down(level, digits):.{digits}g}"


def _digits_of(level: float, digits: int) -> int:
    """Return how many digits of a level are shown: places before the point are never cut."""
    return max(digits, len(f"{level:.0f}"))


def texts_apart(low: float, high: float) -> tuple[str, str]:
    """Return two numbers from 0 as text, the lower one first and rounded down, the second rounded up.

    They have three digits, or more where the second one would not be above the first if it were just rounded.
    """
    for digits in range(3, _EVERY):
        below = digits_down(low, digits)
        if float(f"{high:.{digits}g}") > below:
            return level_text(below, digits), level_text(high, digits)
    return f"{low:.{_EVERY}g}", f"{high:.{_EVERY}g}"


def floor_of(value: float) -> float:
    """Round a positive number down to three digits, so that what holds up to it is not said of a larger one."""
    if value < _LEAST:
        return value
    place = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / place * (1 + 1e-12)) * place


def factor(exponent: float) -> str:
    """Return e^exponent in words, rounded up.

    What was rounded shows its three digits: 26.96 is told as 27.0, as its square is 727 and not 729.
    """
    if exponent > math.log(_MOST_FACTOR):
        power, share = divmod(exponent / math.log(10), 1)
        return f"{at_most(10**share)}·10^{power:.0f} (hardly anything is hidden)"
    value = math.exp(exponent)
    rounded = _rounded_up(value)
    up = rounded < _GROUPED and rounded > value * (1 + _WHOLE)
    return f"{rounded:#.3g}".rstrip(".") if up else at_most(value)
