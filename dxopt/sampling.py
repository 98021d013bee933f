"""Randomness: a generator that was passed, or the operating system's."""

from __future__ import annotations

import os

import numpy as np
from numpy.typing import NDArray


def uniforms(size: int, rng: np.random.Generator | None = None) -> NDArray[np.float64]:
    """Numbers in [0, 1), multiples of 2^-53, `(size,)`: from `rng`, or from the operating system without it."""
    if rng is not None:
        return rng.random(size)
    bits = np.frombuffer(os.urandom(8 * size), dtype=np.uint64) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-53
