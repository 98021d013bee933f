"""Randomness: a generator that was passed, or the operating system's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, required
from dxopt.numerics.coerce import checked_count

Indices = NDArray[np.int64]
_BLOCK = 1 << 22  # reports that are drawn at a time


def uniforms(size: int, rng: np.random.Generator | None = None) -> NDArray[np.float64]:
    """Draw multiples of 2^-53 in [0, 1), `(size,)`: from `rng`, or from the operating system without it."""
    if rng is not None:
        return generator(rng).random(size)
    return (words(size) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def words(size: int, rng: np.random.Generator | None = None) -> NDArray[np.uint64]:
    """Return words of 64 random bits, `(size,)`: from `rng`, or from the operating system without it."""
    if rng is not None:
        return generator(rng).integers(0, 2**64, size, dtype=np.uint64)
    return np.frombuffer(os.urandom(8 * size), dtype=np.uint64)


def generator(rng: np.random.Generator) -> np.random.Generator:
    """Return the generator that was given; SpecError where it is none, as where it is a number."""
    required("rng", rng, np.random.Generator, "give np.random.default_rng(...), or leave it out")
    return rng


def by_rows(secrets: Indices, row: Callable[[int], NDArray[np.float64]], rng: np.random.Generator | None) -> Indices:
    """Draw one index for each of the secrets `(k,)`, in proportion to the weights in its row, `row(secret)`.

    The row of a secret is asked for once, however often it is among them.
    """
    drawn = np.empty(len(secrets), dtype=np.int64)
    uniform = uniforms(len(secrets), rng)
    for secret, which in places_of_each(secrets):
        cumulative = np.cumsum(row(secret))
        drawn[which] = np.searchsorted(cumulative, uniform[which] * cumulative[-1], side="right")
    return drawn


def places_of_each(indices: Indices) -> Iterator[tuple[int, Indices]]:
    """Yield each of the different indices, with the positions in `indices` `(k,)` where it is found."""
    if not len(indices):
        return
    # NumPy sorts integers of 16 bits by radix, in linear time.
    small = indices.astype(np.uint16) if indices.max() < 2**16 else indices
    order = np.argsort(small, kind="stable")
    ordered = indices[order]
    starts = np.flatnonzero(np.diff(ordered)) + 1
    for which in np.split(order, starts):
        yield int(indices[which[0]]), which


def draws(secrets: Indices, size: int, draw: Callable[[Indices], Indices]) -> Indices:
    """Draw reports of one secret `(size,)` or of several `(k, size)`, given by index; SpecError for a wrong size.

    `draw` gives one report for each of many secrets, `(j,)` to `(j,)`.
    """
    count = checked_count("size", size, 0)
    try:
        drawn = np.empty(secrets.size * count, dtype=np.int64)
    except (MemoryError, ValueError, OverflowError):
        raise SpecError("size", f"is {count}, more than memory holds", "draw fewer at a time") from None
    # In blocks, so that what `draw` needs for each report does not add up; draw number i is of secret i // count.
    for start in range(0, len(drawn), _BLOCK):
        which = np.arange(start, min(start + _BLOCK, len(drawn))) // count
        drawn[start : start + len(which)] = draw(secrets.ravel()[which])
    return drawn.reshape(*secrets.shape, count)
