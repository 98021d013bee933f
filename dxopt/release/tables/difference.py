"""How far a table of integers is from a channel in doubles: exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from numpy.typing import NDArray

from dxopt.release.tables.proof import Counts
from dxopt.release.tables.rationals import over_power_of_two

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """How much a table costs and moves against a channel K `(n, m)`, under a prior `(n,)` and losses `(n, m)`."""

    channel: Array
    prior: Array
    losses: Array | None

    @cached_property
    def expected(self) -> float:
        """Σ_x π_x Σ_z K[x, z] l(x, z) over finite losses; 0 without losses."""
        return (
            0.0 if self.losses is None else float((self.prior[:, None] * self.channel * _finite(self.losses)).sum())
        )

    def cost(self, counts: Counts, bits: int) -> float:
        """Σ_x π_x Σ_z (N[x, z] / T - K[x, z]) l(x, z), rounded once; NaN without losses.

        Infinite losses count where one of the two has none.
        """
        if self.losses is None:
            return math.nan
        losses = _finite(self.losses)
        total = Fraction(0)
        for x in np.flatnonzero(self.prior).tolist():
            endless = (losses[x] != self.losses[x]) & ((self.channel[x] > 0) != (counts[x] > 0))
            if endless.any():
                return math.inf
            # A sum of products of integers over a power of two, and one fraction for each secret.
            moved, shift = self._moved(x, counts, bits)
            paid, unit = over_power_of_two(losses[x])
            total += Fraction(float(self.prior[x])) * Fraction(sum(map(mul, moved, paid)), 1 << shift + unit)
        return float(total)

    def variation(self, counts: Counts, bits: int) -> float:
        """max_x ½ Σ_z |N[x, z] / T - K[x, z]|, rounded once."""
        worst = Fraction(0)
        for x in range(len(counts)):
            moved, shift = self._moved(x, counts, bits)
            worst = max(worst, Fraction(sum(map(abs, moved)), 1 << shift + 1))
        return float(worst)

    def _moved(self, x: int, counts: Counts, bits: int) -> tuple[list[int], int]:
        """N[x, z] / T - K[x, z] for all reports, as integers over a power of two."""
        row, shift = over_power_of_two(self.channel[x])
        moved = [(count << shift) - (entry << bits) for count, entry in zip(counts[x], row, strict=True)]
        return moved, shift + bits


def _finite(losses: Array) -> Array:
    return np.where(np.isfinite(losses), losses, 0.0)
