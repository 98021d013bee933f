"""Integers drawn exactly, by random bits and rational arithmetic (Canonne, Kamath and Steinke 2020)."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from dxopt.numerics.draws import generator

_STOCK = 4096
"""Bytes that are fetched ahead."""


class Coins:
    """Exact draws from a source of random bytes: a function from a number of bytes to that many."""

    def __init__(self, source: Callable[[int], bytes]) -> None:
        self._source = source
        self._stock = b""
        self._used = 0

    @classmethod
    def of(cls, rng: np.random.Generator | None) -> Coins:
        """Coins from a generator, or from the operating system without one."""
        return cls(os.urandom if rng is None else generator(rng).bytes)

    def _bytes(self, size: int) -> bytes:
        """Bytes that were not given before, fetched many at a time."""
        if self._used + size > len(self._stock):
            self._stock = self._source(size + _STOCK)
            self._used = 0
        self._used += size
        return self._stock[self._used - size : self._used]

    def below(self, bound: int) -> int:
        """A whole number from 0 to bound - 1, each as likely."""
        # As many random bits as bound - 1 has, again and again until they are a number below bound.
        bits = (bound - 1).bit_length()
        size = (bits + 7) // 8
        spare = -bits % 8
        while True:
            drawn = int.from_bytes(self._bytes(size), "little") >> spare
            if drawn < bound:
                return drawn

    def falls(self, numerator: int, denominator: int) -> bool:
        """True with probability e^{-numerator/denominator}, for a ratio from 0 to 1 (their Algorithm 1)."""
        # With γ the ratio, trials succeed with γ, γ/2, γ/3, …; the first k succeed with γ^k/k!. The first failure is
        # at an odd order with probability 1 - γ + γ²/2! - γ³/3! + … = e^{-γ}.
        order = 1
        while self.below(denominator * order) < numerator:
            order += 1
        return order % 2 == 1

    def laplace(self, exponent: Fraction) -> int:
        """A whole number i with probability proportional to e^{-exponent·|i|}, exponent > 0 (their Algorithm 2)."""
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
