"""Levels of privacy as they are given: ε and δ, checked."""

from __future__ import annotations

import numpy as np

from dxopt.errors import SpecError
from dxopt.numerics.given import as_number
from dxopt.numerics.written import Written, number_of

LEAST = 1e-300
LARGEST = 1e306
"""Beyond these levels doubles lose digits, or twice a level overflows."""
_HAIR = 1e-6
"""Proofs look at levels that are beyond the one asked for by less than this part of it."""


def checked_level(epsilon: Written | None) -> float:
    """ε as a float, given as one or written as for `number_of`; SpecError unless it is from 1e-300 to 1e306."""
    if isinstance(epsilon, str):
        level = number_of(epsilon, "epsilon")
    else:
        level = as_number(epsilon, "epsilon", "give a positive number")
    if not (np.isfinite(level) and level > 0):
        raise SpecError("epsilon", f"is {level:g}", "give a positive finite number")
    if level < LEAST * (1 - _HAIR):
        raise SpecError("epsilon", f"is {level:g}, too small for doubles", f"give {LEAST:g} or more")
    if level > LARGEST * (1 + _HAIR):
        raise SpecError("epsilon", f"is {level:g}, too large for doubles", f"give {LARGEST:g} or less")
    return level


def checked_delta(delta: float) -> float:
    """δ as a float; SpecError unless it is from 0 to below 1."""
    relaxed = as_number(delta, "delta", "give a number from 0 to below 1")
    if not 0 <= relaxed < 1:
        raise SpecError("delta", f"is {relaxed:g}", "give a number from 0 to below 1")
    return relaxed
