"""All priors that fit totals: the largest loss over them, and whether members of a dual are such priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.verdict import Broken

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Totals:
    """Rows A `(q, n)`, from low to high, and numbers y `(q,)` that bound the largest loss.

    Σ_x π_x r_x ≤ Σ_i max(y_i low_i, y_i high_i) + max_x (r_x - Σ_i y_i A_ix) Σ_x π_x, of which the last is the row of
    the sum again.
    """

    forms: Array
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    multipliers: Array
    slack: Fraction

    @property
    def reach(self) -> NDArray[np.bool_]:
        """Secrets that count in no row that leaves nothing to them."""
        empty = np.array([high <= self.slack for high in self.high]) & (self.forms.min(axis=1) >= 0)
        return np.asarray(~(self.forms[empty] > 0).any(axis=0))

    def largest(self, losses: Sequence[Fraction]) -> Fraction:
        """An upper bound on the largest loss, which y prove."""
        numbers = [Fraction(one) for one in self.multipliers.tolist()]
        rows = [[Fraction(one) for one in row] for row in self.forms.tolist()]
        left = [
            losses[x] - sum((y * row[x] for y, row in zip(numbers, rows, strict=True) if row[x]), Fraction(0))
            for x in np.flatnonzero(self.reach).tolist()
        ]
        numbers[-1] += max(left)
        sides = zip(numbers, self.low, self.high, strict=True)
        return sum((max(y * low, y * high) for y, low, high in sides), Fraction(0))

    def require(self, members: Array) -> None:
        """Broken unless these are priors of the set."""
        if not (np.isfinite(members) & (members >= 0)).all() or (members[:, ~self.reach] > 0).any():
            raise Broken("dual.npz: a member of the set of priors is no distribution of it")
        for place, member in enumerate(members):
            shares = [Fraction(one) for one in member.tolist()]
            for form, low, high in zip(self.forms.tolist(), self.low, self.high, strict=True):
                total = sum((Fraction(one) * p for one, p in zip(form, shares, strict=True) if one), Fraction(0))
                if not low <= total <= high:
                    raise Broken(f"dual.npz: member {place} does not fit a total: {float(total):.17g}")
