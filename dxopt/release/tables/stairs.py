"""Random numbers to reports: the sums of counts of a secret are steps, and a report is how many a number reaches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.draws import alike, words
from dxopt.release.tables.proof import Counts

Indices = NDArray[np.int64]
WORD = 64


class Stairs:
    """The steps of a table of counts `(n, m)` out of 2^bits; those of a secret are made when it is drawn from."""

    def __init__(self, counts: Counts, bits: int) -> None:
        self.counts = counts
        self.bits = bits
        self._made: dict[int, tuple[list[int], NDArray[np.uint64]]] = {}

    def draw(self, secrets: Indices, rng: np.random.Generator | None) -> Indices:
        """One report for each of the secrets `(k,)`, from `rng` or the operating system's randomness."""
        first = words(len(secrets), rng)

        def number(i: int) -> int:
            found = int(first[i])
            for word in words(self.bits // WORD - 1, rng).tolist():
                found = found << WORD | word
            return found

        return self.reached(secrets, first, number)

    def repeat(self, secrets: Indices, digests: list[bytes]) -> Indices:
        """One report for each of the secrets `(k,)`: that of the first bits of its digest, the highest first."""
        first = np.frombuffer(b"".join(digest[: WORD // 8] for digest in digests), dtype=">u8").astype(np.uint64)
        return self.reached(secrets, first, lambda i: int.from_bytes(digests[i][: self.bits // 8], "big"))

    def reached(self, secrets: Indices, first: NDArray[np.uint64], number: Callable[[int], int]) -> Indices:
        """The number of steps that a random number is not below, `(k,)`.

        Its first word decides, unless it is equal to that of a step: then `number` is asked for all its bits.
        """
        found = np.empty(len(secrets), dtype=np.int64)
        for secret, which in alike(secrets):
            steps, tops = self._of(secret)
            word = first[which]
            below = np.searchsorted(tops, word, side="right")
            if self.bits > WORD and len(tops):
                for tied in np.flatnonzero(tops[below - 1] == word):
                    below[tied] = bisect_right(steps, number(int(which[tied])))
            found[which] = below
        return found

    def _of(self, secret: int) -> tuple[list[int], NDArray[np.uint64]]:
        """The sums Σ_{w ≤ z} N[x, w] below T, where z gives way to the next report, and their first words."""
        if secret not in self._made:
            steps = [step for step in accumulate(self.counts[secret]) if step < 1 << self.bits]
            tops = np.array([step >> self.bits - WORD for step in steps], dtype=np.uint64)
            self._made[secret] = steps, tops
        return self._made[secret]
