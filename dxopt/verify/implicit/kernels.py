"""Mechanisms on a line that follow from n weights: their rows, privacy and costs, without a matrix.

Assumed of whoever draws from it: at the level ε' of the file and distances d of its points p, an entry E[x, i] is
any number within (4 + 2t)·2^-53, relative, of e^{-t} w_i, t = min(ε'd, c), for a cap c from 60 to 80. That is
what doubles give where `exp` is right to a unit in the last place: two roundings in the exponent, and one in the
product. What the row of x lacks of 1, r_x = 1 - Σ_i E[x, i], goes to one place, and `table` says what to report
for each place.

Statement. If for every such E all r_x ≥ 0, rows are distributions; if (ε - ε')·d is at least 2·164·2^-53 for the
least distance d, and E[x, s] + r_x at most e^{εd} times that of x' at the place s of the rest, for all pairs and
both with room for 4 roundings, the channel is private at ε. Proof: min(d, c) obeys the triangle inequality, so
that E[x, i] / E[x', i] ≤ e^{ε'd(x, x')} but for the two errors, of 164·2^-53 at most; and reporting table[i]
instead of i only adds up. Distances in doubles are within 2^-53 of those here. All pairs at s are seen in one
pass from each side: what is largest so far, shrunk by e^{-εd} with every step, is at most the least that the
entry may be.

Σ_i e^{-ε'd} w_i is what comes from the left and from the right: A_{x+1} = e^{-ε'(p_{x+1} - p_x)} (A_x + w_x), and
so is Σ_i e^{-ε'd} ε'd w_i, of which the errors are made. They are enclosed in integers; the cap adds 2^-86 Σ w at
most. A cost Σ_x π_x Σ_i E[x, i] l(x, table[i]) is Σ_i w_i F_i(table[i]), where F_i(z) = Σ_x π_x e^{-ε'd} l(x, z)
comes from both sides likewise: in doubles, with a second sum for the errors. A step adds the factor's, and those
of a product, of a loss times a probability and of a sum: 8·2^-53 of the sum, as all its terms are 0 or more;
losses of both signs are the difference of two such.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.exact import BITS, Exact, power
from dxopt.verify.files import Arrays, number, numbers
from dxopt.verify.implicit.losses import Losses
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.values import Enclosed
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
UNIT = Fraction(1, 1 << 53)
_LARGEST_ERROR = 164 * UNIT
_CAPPED = 86
_PLACES = 200
_FAR = 200
MOST_CELLS = 10**10


@dataclass(frozen=True, eq=False)
class LineKernel:
    """E[x, i] ≈ e^{-ε'd} w_i and the rest of a row at one place, remapped.

    Attributes
    ----------
    space : Space
        A line of n points.
    weights : (n,) array
    level : float
        ε'.
    slack : int
    table : (n,) int64 array
    reports : int
        m.
    """

    space: Space
    weights: Array
    level: float
    slack: int
    table: NDArray[np.int64]
    reports: int

    @classmethod
    def read(cls, arrays: Arrays, base: Arrays, reports: int) -> LineKernel:
        """From the arrays of a remapped mechanism and of the one before the remap."""
        space = Space.read(base)
        if not space.same(Space.read(arrays)):
            raise Broken("mechanism.npz: the points before and after the remap are not the same")
        if space.line is None:
            raise Unproved("a remapped mechanism is proven again on lines alone")
        size = len(space)
        if size * reports > MOST_CELLS:
            raise Unproved(f"{size:,} secrets and {reports:,} reports are over the limit of {MOST_CELLS:,} pairs")
        weights, slack = numbers(base, "weights", size), number(base, "slack")
        table, level = numbers(arrays, "table", size), number(base, "level")
        wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0) & (weights <= 1)))
        if len(wrong):
            raise Broken(f"mechanism.npz: the weight of place {wrong[0]} is {weights[wrong[0]]}")
        wrong = np.flatnonzero((table < 0) | (table >= reports) | (table != np.floor(table)))
        if len(wrong):
            raise Broken(f"mechanism.npz: place {wrong[0]} is reported as {table[wrong[0]]:g}, of {reports}")
        if not (0 <= slack < size and slack == int(slack)):
            raise Broken(f"mechanism.npz: the rest goes to place {slack:g}, of {size}")
        if not (math.isfinite(level) and level > 0):
            raise Broken(f"mechanism.npz: the level is {level}")
        return cls(space, weights, level, int(slack), table.astype(np.int64), reports)

    @property
    def coordinate(self) -> Array:
        """p, `(n,)`."""
        return self.space.line  # pyright: ignore[reportReturnType]

    @cached_property
    def steps(self) -> list[Fraction]:
        """ε'd between neighbours, `(n - 1,)`."""
        level, places = Fraction(self.level), list(map(Fraction, self.coordinate.tolist()))
        return [level * abs(right - left) for left, right in pairwise(places)]

    @cached_property
    def factors(self) -> list[tuple[int, int]]:
        """Integers below and above 2^128 e^{-ε'd} between neighbours."""
        return [shrinking(step) for step in self.steps]

    @cached_property
    def rests(self) -> list[tuple[Fraction, Fraction]]:
        """Bounds on r, for every secret."""
        least = Exact.of(self.weights).scaled(_PLACES)[0]
        low, high, spread = list(least), [weight + 1 for weight in least], [0] * len(least)
        capped = (sum(high) >> _CAPPED) + 1
        for step in (1, -1):
            below = above = apart = 0
            places = range(len(least)) if step == 1 else range(len(least) - 1, -1, -1)
            for x in places:
                low[x] += below
                high[x] += above
                spread[x] += apart
                edge = x if step == 1 else x - 1
                if not 0 <= edge < len(self.factors):
                    continue
                (shrunk, most), length = self.factors[edge], self._lengths[edge]
                whole = above + least[x] + 1
                below = (below + least[x]) * shrunk >> BITS
                apart = ((apart + -(-(whole * length) >> BITS)) * most >> BITS) + 1
                above = (whole * most >> BITS) + 1
        found = []
        for least_sum, most_sum, far in zip(low, high, spread, strict=True):
            off = (4 * most_sum + 2 * far >> 53) + 1 + capped
            bounds = (Fraction((1 << _PLACES) - total, 1 << _PLACES) for total in (most_sum + off, least_sum - off))
            found.append(tuple(bounds))
        return found

    @cached_property
    def _lengths(self) -> list[int]:
        """At least 2^128 ε'd between neighbours."""
        near = (min(step, Fraction(_FAR)) for step in self.steps)
        return [-(-(step.numerator << BITS) // step.denominator) for step in near]

    def check_rows(self, name: str) -> tuple[Fraction, Fraction]:
        """Bounds on the row sums in doubles, once no rest is below 0."""
        for x, (least, _) in enumerate(self.rests):
            if least < 0:
                raise Broken(f"{name}: the row of secret {x} sums to up to 1 {float(-least):+.3g}, before the rest")
        return 1 - 4 * UNIT, 1 + 4 * UNIT

    def check_private(self, epsilon: Fraction, name: str) -> None:
        """Broken where it is not proven private at ε."""
        if len(self.space) < 2:
            return
        nearest = min(self.steps) / Fraction(self.level)
        room = epsilon * (1 - 2 * UNIT) * nearest
        if room - min(self.steps) < 2 * _LARGEST_ERROR * (1 + _LARGEST_ERROR * 2) + 8 * UNIT:
            raise Broken(
                f"{name}: its level {self.level:.17g} leaves no room for rounding below epsilon "
                f"{float(epsilon):.17g}, between points {float(nearest):.6g} apart"
            )
        low, high = self._rested
        for step in (1, -1):
            most, before = 0, 0
            for x in range(len(low))[::step]:
                if most + (most >> 50) > low[x]:
                    raise Broken(
                        f"{name}: secrets {before} and {x} are told apart at epsilon {float(epsilon):.17g} by report "
                        f"{self.slack}, which has what their rows lack of 1"
                    )
                if high[x] > most:
                    most, before = high[x], x
                edge = x if step == 1 else x - 1
                if 0 <= edge < len(self.steps):
                    length = epsilon * (1 - 2 * UNIT) / Fraction(self.level) * self.steps[edge]
                    most = (most * shrinking(length)[1] >> BITS) + 1

    @cached_property
    def _rested(self) -> tuple[list[int], list[int]]:
        """Bounds on E[x, slack] + r_x over 2^200, for every secret."""
        weight = Exact.of(self.weights).scaled(_PLACES)[0][self.slack]
        low, high = ([int(rest[side] * (1 << _PLACES)) for rest in self.rests] for side in (0, 1))
        for step in (1, -1):
            below, above = weight, weight + 1
            for x in range(self.slack, len(low) if step == 1 else -1, step):
                if step == 1 or x != self.slack:
                    low[x] += below - (below >> 45)
                    high[x] += above + (above >> 45) + (weight >> _CAPPED) + 1
                edge = x if step == 1 else x - 1
                if 0 <= edge < len(self.factors):
                    below = below * self.factors[edge][0] >> BITS
                    above = (above * self.factors[edge][1] >> BITS) + 1
        return low, high

    def cost(self, prior: Array, losses: Losses) -> Enclosed:
        """Σ_x π_x Σ_i K[x, i] l(x, table[i])."""
        over = self._cost(prior, losses, 1.0)
        if not losses.signed:
            return over
        under = self._cost(prior, losses, -1.0)
        return Enclosed(over.low - under.high, over.high - under.low, over.size + under.size)

    def _cost(self, prior: Array, losses: Losses, sign: float) -> Enclosed:
        """The cost under max(0, ± l)."""
        factors = [float(Fraction(low + high, 1 << BITS + 1)) for low, high in self.factors]
        found, size = np.zeros(len(prior)), len(prior)
        errors, largest, rest = np.zeros(size), 0.0, []
        for step in (1, -1):
            sums, doubt = np.zeros(losses.reports), np.zeros(losses.reports)
            for x in range(size)[::step]:
                z = self.table[x]
                if step == -1:
                    found[x], errors[x] = found[x] + sums[z], errors[x] + doubt[z]
                row = losses.row(x)
                if losses.signed:
                    row = np.maximum(sign * row, 0.0)
                sums += prior[x] * row
                doubt += 2.0**-50 * sums
                if step == 1:
                    found[x], errors[x] = sums[z], doubt[z]
                    largest = max(largest, float(row.max()))
                    rest.append(prior[x] * row[self.table[self.slack]])
                edge = x if step == 1 else x - 1
                if 0 <= edge < size - 1:
                    sums *= factors[edge]
                    doubt *= factors[edge]
        terms, off = math.fsum(self.weights * found), math.fsum(self.weights * errors)
        off = 1.01 * off + terms * 2.0**-45 + (largest * 2.0**-80 + 2.0**-900) * math.fsum(self.weights)
        rests = [(float(low), float(high)) for low, high in self.rests]
        more = [math.fsum(paid * rest[side] for paid, rest in zip(rest, rests, strict=True)) for side in (0, 1)]
        low, high = Fraction(terms) - Fraction(off), Fraction(terms) + Fraction(off)
        low, high = low + Fraction(more[0]) * (1 - 8 * UNIT), high + Fraction(more[1]) * (1 + 8 * UNIT)
        return Enclosed(low, high, high)

    @property
    def about(self) -> str:
        """What is assumed of it."""
        return f"entries within (4 + 2t) 2^-53 of e^-t times {len(self.weights):,} weights"


def shrinking(exponent: Fraction) -> tuple[int, int]:
    """Integers (low, high) with low ≤ 2^128 e^-exponent ≤ high, for an exponent from 0 on."""
    low, high = power(min(exponent, Fraction(_FAR)))
    return 0 if exponent > _FAR else (1 << 2 * BITS) // high, -(-(1 << 2 * BITS) // low)
