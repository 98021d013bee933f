"""Randomness: a generator that was passed, or the operating system's."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def uniforms(size: int, rng: np.random.Generator | None = None) -> NDArray[np.float64]:
    """Numbers in [0, 1), multiples of 2^-53, `(size,)`: from `rng`, or from the operating system without it."""
    if rng is not None:
        return rng.random(size)
    bits = np.frombuffer(os.urandom(8 * size), dtype=np.uint64) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-53


def by_rows(
    places: NDArray[np.int64], row: Callable[[int], NDArray[np.float64]], rng: np.random.Generator | None
) -> NDArray[np.int64]:
    """For each of the places `(k,)` one index in proportion to its row; a row is asked for once."""
    drawn = np.empty(len(places), dtype=np.int64)
    uniform, order = uniforms(len(places), rng), np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    for which in np.split(order, starts[1:]):
        if len(which):
            cumulative = np.cumsum(row(int(places[which[0]])))
            drawn[which] = np.searchsorted(cumulative, uniform[which] * cumulative[-1], side="right")
    return drawn
