"""Weights on linear forms of what secrets lose: how a set of priors is written for programs and proofs.

A prior is Fᵀp for weights p ≥ 0 on the rows of F, where the weights of each group of rows have a given mass, and some
rows a cap: 0 ≤ p ≤ caps, Σ_group p = mass. With one group of mass 1 and no caps it is the convex hull of the rows of
F: all priors where F is the identity. The largest of F r·p for losses r is found row by row, the largest first. By
duality it is also the least Σ_g mass_g t_g + Σ_i caps_i a_i over t, a ≥ 0 with t_g + a_i ≥ (F r)_i for every row i of
a group g, as long as no loss is negative: this is what linear programs have as rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.numerics.rounding import UNIT

Array = NDArray[np.float64]
_LEAST = 1e-15
"""Weights are raised to this share of their mass before they are scaled to it."""


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Weights `(r,)` on r forms F over n secrets: each a single secret `(r,)`, or numbers of 0 or more `(r, n)`.

    Row i is in the group `group[i]`. The masses of groups are positive and sum to 1 up to rounding. The caps `(r,)`
    are positive, infinite where there is none, and those of a group sum to its mass or more.
    """

    size: int
    forms: NDArray[Any]
    group: NDArray[np.int64]
    masses: Array
    caps: Array

    @classmethod
    def everyone(cls, size: int) -> Mixtures:
        """Return all priors on so many secrets."""
        return cls(size, np.arange(size), np.zeros(size, dtype=np.int64), np.ones(1), np.full(size, np.inf))

    @classmethod
    def hull(cls, members: Array) -> Mixtures:
        """Return all mixtures of the rows of a matrix."""
        count, size = members.shape
        return cls(size, members, np.zeros(count, dtype=np.int64), np.ones(1), np.full(count, np.inf))

    @classmethod
    def joined(cls, size: int, parts: list[tuple[float, Array]]) -> Mixtures:
        """Return all sums of one vector from each part, of the mass of the part and below its caps, one for a secret.

        Parts of mass 0 are left out, and secrets of cap 0 have no row in that part.
        """
        kept = [(mass, caps) for mass, caps in parts if mass > 0]
        secrets = [np.flatnonzero(caps > 0) for _, caps in kept]
        group = np.repeat(np.arange(len(kept)), [len(one) for one in secrets])
        caps = np.concatenate([caps[one] for (_, caps), one in zip(kept, secrets, strict=True)])
        return cls(size, np.concatenate(secrets), group, np.array([mass for mass, _ in kept]), caps)

    @cached_property
    def is_everyone(self) -> bool:
        """True if these forms describe all priors: any mixture of single secrets, in their order."""
        plain = self.forms.shape == (self.size,) and not len(self.capped)
        return bool(plain and len(self.masses) == 1 and (self.forms == np.arange(self.size)).all())

    @property
    def rows(self) -> int:
        """The number of forms."""
        return len(self.group)

    @cached_property
    def capped(self) -> NDArray[np.int64]:
        """The rows that have a cap."""
        return np.flatnonzero(np.isfinite(self.caps))

    def of(self, secrets: Array) -> Array:
        """Return F x, what each form loses if x is what each secret loses, `(n,)` or `(n, k)`."""
        return secrets[self.forms] if self.forms.ndim == 1 else self.forms @ secrets

    def prior(self, weights: Array) -> Array:
        """Return the prior Fᵀp that weights p make, `(n,)`."""
        if self.forms.ndim == 1:
            return np.bincount(self.forms, weights, minlength=self.size).astype(float)
        return weights @ self.forms

    @property
    def terms(self) -> int:
        """The most rows that one secret may be in."""
        return len(self.masses) if self.forms.ndim == 1 else self.rows

    @cached_property
    def begin(self) -> Array:
        """Weights to begin a search from: positive on every row, as all rows may have some."""
        return self.tidied(np.where(np.isfinite(self.caps), self.caps, self.masses[self.group]))

    @cached_property
    def reach(self) -> NDArray[np.bool_]:
        """The mask `(n,)` of the secrets that have a positive probability in some prior of the set."""
        return self.prior(np.ones(self.rows)) > 0

    def extremes(self, losses: Array) -> Array:
        """Return weights of the prior that loses most, given what each secret loses `(n,)`."""
        return _greedily(self.of(losses), self.group, self.masses, self.caps)

    def largest(self, losses: Array) -> float:
        """Return the largest expected loss, given what each secret loses `(n,)`."""
        return self.largest_of(self.of(losses))

    def largest_of(self, worth: Array) -> float:
        """Return the largest expected loss, given what each form loses `(r,)`."""
        return math.fsum(_greedily(worth, self.group, self.masses, self.caps) * worth)

    def tidied(self, weights: Array) -> Array:
        """Return weights of the set near any given ones: within the caps, and of the masses up to rounding."""
        found = np.where(np.isfinite(weights), np.maximum(weights, 0.0), 0.0)
        for group, mass in enumerate(self.masses):
            rows = np.flatnonzero(self.group == group)
            found[rows] = _scaled(found[rows], mass, self.caps[rows])
        return found

    def within(self, weights: Array) -> tuple[Array, float]:
        """Return weights cut to the caps, and a divisor, rounded up, after which no group exceeds its mass.

        The divisor is at least 1 where there are caps, which a division by less would exceed again.
        """
        kept = np.minimum(np.where(np.isfinite(weights), np.maximum(weights, 0.0), 0.0), self.caps)
        sums = [math.fsum(kept[self.group == group]) for group in range(len(self.masses))]
        scale = max(total / mass for total, mass in zip(sums, self.masses.tolist(), strict=True))
        return kept, (max(scale, 1.0) if len(self.capped) else scale) * (1 + 8 * UNIT)


def _greedily(worth: Array, group: NDArray[np.int64], masses: Array, caps: Array) -> Array:
    """Return weights of the given masses on the rows that are worth most: each is filled up to its cap in turn."""
    weights = np.zeros(len(worth))
    for which, mass in enumerate(masses.tolist()):
        rows = np.flatnonzero(group == which)
        if not np.isfinite(caps[rows]).any():
            weights[rows[int(worth[rows].argmax())]] = mass
            continue
        order = rows[np.argsort(-worth[rows], kind="stable")]
        before = np.concatenate([[0.0], np.cumsum(np.minimum(caps[order], mass))[:-1]])
        weights[order] = np.minimum(caps[order], np.maximum(mass - before, 0.0))
    return weights


def _scaled(weights: Array, mass: float, caps: Array) -> Array:
    """Return weights of one group, raised or lowered to its mass within the caps."""
    # rows of weight 0 would stay there, as rows are raised in proportion
    kept = np.minimum(np.maximum(weights, _LEAST * mass), caps)
    # each step fills at least one row up to its cap, or ends
    for _ in range(len(kept)):
        free = kept < caps
        missing = mass - kept.sum()
        if missing <= 0 or not free.any():
            break
        kept[free] = np.minimum(kept[free] * (1 + missing / kept[free].sum()), caps[free])
        if missing <= UNIT:
            break
    total = kept.sum()
    return kept * (mass / total) if total > mass else kept
