"""Numbers as text in messages, with as many digits as tell them apart."""

from __future__ import annotations

_FEWEST = 7
_EVERY = 17


def ordered(low: float, high: float) -> tuple[str, str]:
    """Two different numbers as text that shows which is lower: 7 digits, more where these are not enough.

    Parameters
    ----------
    low, high : float
        The first is below the second.
    """
    for digits in range(_FEWEST, _EVERY):
        texts = f"{low:.{digits}g}", f"{high:.{digits}g}"
        if float(texts[0]) < float(texts[1]):
            return texts
    return f"{low:.{_EVERY}g}", f"{high:.{_EVERY}g}"
