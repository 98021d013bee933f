"""Doubles as the rationals that they are, over one power of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_DIGITS = 53


def over_power_of_two(numbers: NDArray[np.float64]) -> tuple[list[int], int]:
    """Integers k and s of 0 or more with numbers = k / 2^s exactly, for finite numbers `(m,)`."""
    # Each number is an integer of 53 bits times a power of two; 0 has none, and asks for no shift.
    parts, exponents = np.frexp(numbers)
    exponents = np.where(parts == 0, 0, exponents - _DIGITS)
    shift = max(0, -int(exponents.min(initial=0)))
    whole = np.ldexp(parts, _DIGITS).astype(np.int64).tolist()
    return [part << shift + power for part, power in zip(whole, exponents.tolist(), strict=True)], shift
