"""Levels of privacy as they are given: ε and δ, checked."""

from __future__ import annotations

import numpy as np

from dxopt.errors import SpecError
from dxopt.numerics.written import Written, number_of


def checked_level(epsilon: Written | None) -> float:
    """ε as a float, given as one or written as for `number_of`; SpecError unless it is positive and finite."""
    if isinstance(epsilon, str):
        level = number_of(epsilon, "epsilon")
    else:
        try:
            level = float(epsilon)  # pyright: ignore[reportArgumentType]
        except (TypeError, ValueError):
            raise SpecError("epsilon", f"{epsilon!r} is not a number", "give a positive number") from None
    if not (np.isfinite(level) and level > 0):
        raise SpecError("epsilon", f"is {level:g}", "give a positive finite number")
    return level


def checked_delta(delta: float) -> float:
    """δ as a float; SpecError unless it is from 0 to below 1."""
    try:
        relaxed = float(delta)
    except (TypeError, ValueError):
        raise SpecError("delta", f"{delta!r} is not a number", "give a number from 0 to below 1") from None
    if not 0 <= relaxed < 1:
        raise SpecError("delta", f"is {relaxed:g}", "give a number from 0 to below 1")
    return relaxed
