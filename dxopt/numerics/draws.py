"""Randomness: a generator that was passed, or the operating system's."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, required
from dxopt.numerics.coerce import checked_count

Indices = NDArray[np.int64]
_BLOCK = 1 << 22  # reports that are drawn at a time
_STOCK = 4096
"""Bytes that are fetched ahead."""


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


class Coins:
    """Exact draws (Canonne, Kamath and Steinke 2020) from a source, which returns as many random bytes as asked."""

    def __init__(self, source: Callable[[int], bytes]) -> None:
        self._source = source
        self._stock = b""
        self._used = 0

    @classmethod
    def of(cls, rng: np.random.Generator | None) -> Coins:
        """Make coins from a generator, or from the operating system without one."""
        return cls(os.urandom if rng is None else generator(rng).bytes)

    def _bytes(self, size: int) -> bytes:
        """Return bytes that were not given before, fetched many at a time."""
        if self._used + size > len(self._stock):
            self._stock = self._source(size + _STOCK)
            self._used = 0
        self._used += size
        return self._stock[self._used - size : self._used]

    def below(self, bound: int) -> int:
        """Draw a whole number from 0 to bound - 1, each as likely."""
        # As many random bits as bound - 1 has, again and again until they are a number below bound.
        bits = (bound - 1).bit_length()
        size = (bits + 7) // 8
        spare = -bits % 8
        while True:
            drawn = int.from_bytes(self._bytes(size), "little") >> spare
            if drawn < bound:
                return drawn

    def falls(self, numerator: int, denominator: int) -> bool:
        """Draw True with probability e^{-numerator/denominator}, for a ratio from 0 to 1 (Algorithm 1)."""
        # With γ the ratio, trials succeed with γ, γ/2, γ/3, …; the first k succeed with γ^k/k!. The first failure is
        # at an odd order with probability 1 - γ + γ²/2! - γ³/3! + … = e^{-γ}.
        order = 1
        while self.below(denominator * order) < numerator:
            order += 1
        return order % 2 == 1

    def laplace(self, exponent: Fraction) -> int:
        """Draw a whole number i with probability ∝ e^{-exponent·|i|}, exponent > 0 (Algorithm 2)."""
        numerator, denominator = exponent.as_integer_ratio()
        while True:
            # x = part + denominator · whole is geometric: its probability is proportional to e^{-x/denominator}, by
            # rejection for the part and by counting successes of probability 1/e for the whole.
            part = self.below(denominator)
            if not self.falls(part, denominator):
                continue
            whole = 0
            while self.falls(1, 1):
                whole += 1
            # ⌊x/numerator⌋ is geometric as well, with the ratio e^{-numerator/denominator}. With a fair sign it is
            # what is wanted, if -0 is drawn again: otherwise 0 would come up twice as often.
            size = (part + denominator * whole) // numerator
            negative = self.below(2)
            if size or not negative:
                return -size if negative else size


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
