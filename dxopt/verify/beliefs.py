"""Pairs of beliefs: whether a channel tells them apart, and what their multipliers do to a bound; exactly.

A pair (θ, θ') holds in report z where Σ_x θ_x K[x, z] ≤ e^{εd} Σ_x θ'_x K[x, z]. With doubles as integers over powers
of two both sums are integers, and e^{εd} is enclosed as narrowly as the comparison asks for.

For multipliers λ ≥ 0 of these inequalities, Σ c K ≥ Σ (c - Σ_j λ_j (θ'_j - e^{-εd_j} θ_j)) K: what is taken from
costs is exact, and what is given back is rounded down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.bounds.multipliers import Costs
from dxopt.verify.exact import Exact, at_most, decay_bounds, dot, total
from dxopt.verify.files import Arrays, indices, number, numbers
from dxopt.verify.privacy import Channel
from dxopt.verify.verdict import Broken

Array = NDArray[np.float64]
Sums = tuple[list[list[int]], list[list[int]]]
"""θK and θ'K of all pairs, `(p, m)` each, as integers in one unit."""
PREFIX = "belief_"
_KEYS = ("first", "second", "distances", "epsilon", "names", "left_out")
_SUM = Fraction(1, 10**9)
_AGREEMENT = Fraction(1, 10**11)
_GUARD_BITS = 64
_FARTHEST = 710


@dataclass(frozen=True)
class Beliefs:
    """Ordered pairs of beliefs over n secrets, `(p, n)` each, their distances, and the level that was asked for."""

    first: Array
    second: Array
    distances: list[Fraction]
    epsilon: Fraction
    names: list[str]

    @classmethod
    def read(cls, arrays: Arrays, size: int) -> Beliefs | None:
        """Read the pairs in problem.npz; None where there are none, Broken where they are no distributions."""
        there = {key for key in arrays if key.startswith(PREFIX)}
        if not there:
            return None
        if there != {PREFIX + key for key in _KEYS}:
            raise Broken(f"problem.npz: pairs of beliefs have the arrays {', '.join(sorted(there))}")
        first, second = (numbers(arrays, f"{PREFIX}{key}", None, size) for key in ("first", "second"))
        distances = numbers(arrays, f"{PREFIX}distances", len(first))
        names = [str(name) for name in arrays[f"{PREFIX}names"].ravel()]
        if not len(first) or first.shape != second.shape or len(names) != len(first):
            raise Broken(f"problem.npz: {len(first)}, {len(second)} and {len(names)} sides and names are no pairs")
        for side in (first, second):
            for pair, row in enumerate(side):
                if not (np.isfinite(row) & (row >= 0)).all() or abs(total(row) - 1) > _SUM:
                    raise Broken(f"problem.npz: a belief of pair {pair}, {names[pair]}, is no distribution")
        epsilon = number(arrays, f"{PREFIX}epsilon")
        if not all(np.isfinite(one) and one > 0 for one in (epsilon, *distances)):
            raise Broken("problem.npz: a level or distance of beliefs is not positive and finite")
        return cls(first, second, [Fraction(one) for one in distances.tolist()], Fraction(epsilon), names)

    def expected(self, channel: Channel) -> Sums:
        """Return θK and θ'K, `(p, m)`: the probabilities of reports under both beliefs of each pair, in one unit."""
        # both sides as rows of one array, so that they are over the same power of two
        exact = Exact.of(np.concatenate([self.first, self.second]))
        columns = list(zip(*channel.rows, strict=True))
        sums = [[dot(belief, column) for column in columns] for belief in exact.rows]
        return sums[: len(self.first)], sums[len(self.first) :]


def first_violation(sums: Sums, budgets: Sequence[Fraction]) -> tuple[int, int] | None:
    """Return the first pair and report that break their budget, None if none do.

    Negative budgets, as those that `is_least` lowers may be, are skipped.
    """
    for pair, (ours, theirs, budget) in enumerate(zip(*sums, budgets, strict=True)):
        for report, (left, right) in enumerate(zip(ours, theirs, strict=True)):
            if budget >= 0 and left and not at_most(left, budget, right):
                return pair, report
    return None


def is_least(sums: Sums, budgets: Sequence[Fraction]) -> bool:
    """Return whether no smaller level would do: a pair breaks t - (1 + t)·1e-11 for budgets t, or all are below 0."""
    reduced = [budget - (1 + budget) * _AGREEMENT for budget in budgets]
    return max(reduced) < 0 or first_violation(sums, reduced) is not None


def less_beliefs(costs: Costs, beliefs: Beliefs, dual: Arrays) -> Costs:
    """Return costs less what the multipliers of a dual of beliefs take from them, rounded down (see the module)."""
    count, reports = len(beliefs.first), len(costs.rows[0])
    multiplier = numbers(dual, "multiplier", None)
    belief, report = (
        indices(dual, key, size, len(multiplier)) for key, size in (("belief", count), ("report", reports))
    )
    good = np.isfinite(multiplier) & (multiplier > 0)
    # Of a pair and report that are listed twice the larger multiplier counts, which is one as well.
    largest: dict[tuple[int, int], float] = {}
    for pair, z, amount in zip(*(one[good].tolist() for one in (belief, report, multiplier)), strict=True):
        largest[pair, z] = max(amount, largest.get((pair, z), 0.0))
    amounts = Exact.of(np.array([*largest.values(), 0.0]))  # with a 0, as there may be none
    likely = Exact.of(np.concatenate([beliefs.first, beliefs.second]))
    farthest = min(beliefs.epsilon * max(beliefs.distances), Fraction(_FARTHEST))
    # a unit in which costs and λ θ' are exact, and the least λ e^{-εd} nearly so
    exact = amounts.bits + likely.bits
    bits = max(costs.bits, exact + 2 * int(farthest) + _GUARD_BITS)
    rows = [[cost << bits - costs.bits for cost in row] for row in costs.rows]
    for (pair, z), amount in zip(largest, amounts.rows[0], strict=False):
        # λ θ' is taken from the costs of the report, and λ e^{-εd} θ, rounded down, is given
        taken = amount << bits - exact
        given, _ = decay_bounds(taken, beliefs.epsilon * beliefs.distances[pair])
        for row, one, other in zip(rows, likely.rows[pair], likely.rows[count + pair], strict=True):
            row[z] += given * one - taken * other
    return Costs(rows, bits)
