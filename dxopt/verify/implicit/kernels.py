"""Mechanisms on a line that follow from n weights, without a matrix, and losses by name.

- p: the points of the line, d: their distances
- ε': the level of the file, a little below the level ε that is proven
- w_i: the weight of index i
- t = min(ε'd, c): the exponent of an entry, with a cap c from 60 to 80
- E[x, i]: the entry of secret x and index i, about e^{-t} w_i
- r_x = 1 - Σ_i E[x, i]: the rest, what the row of x is short of 1
- s: the slack, the one index to which all rests go
- table[i]: the report that is given for index i

Assumed of whoever draws from it: an entry E[x, i] is any number within (4 + 2t)·2^-53, relative, of e^{-t} w_i. That
is what doubles give where `exp` is right to a unit in the last place: two roundings in the exponent, and one in the
product.

Statement. If for every such E all r_x ≥ 0, rows are distributions. The channel is private at ε if besides
(ε - ε')·d is at least 2·164·2^-53 for the least distance d, and E[x, s] + r_x is at most e^{εd} times that of x' for
all pairs, with room for 4 roundings on both sides. Proof: min(d, c) obeys the triangle inequality, so that
E[x, i] / E[x', i] ≤ e^{ε'd(x, x')} but for the two errors, of 164·2^-53 at most; and reporting table[i] instead of i
only adds up. Distances in doubles are within 2^-53 of those here.

Everything is a sum over points on a line, where factors multiply along the way: Σ_i e^{-ε'd} w_i is what comes from
the left and from the right, A_{x+1} = e^{-ε'(p_{x+1} - p_x)} (A_x + w_x), in one pass from each side. So n weights
take n steps, not n².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.bounds.multipliers import outer_sum, summands
from dxopt.verify.exact import BITS, Exact, decay_bounds
from dxopt.verify.files import Arrays, indices, number, numbers
from dxopt.verify.implicit.spaces import Space
from dxopt.verify.metrics import Measured
from dxopt.verify.values import Enclosed
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
NAMED = ("distance", "squared", "binary")


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses l, `(n, m)`: by a name in `NAMED` where there is no matrix.

    `answers` `(m, k)` are the places of the reports; None where they are the secrets.
    """

    space: Space
    name: str = "distance"
    answers: Array | None = None
    matrix: Array | None = None

    def __post_init__(self) -> None:
        if self.matrix is None and self.name not in NAMED:
            raise Unproved(f"{self.name} losses are neither in the files nor derived from distances")
        if self.matrix is not None and not np.isfinite(self.matrix).all():
            x, z = np.argwhere(~np.isfinite(self.matrix))[0].tolist()
            kind = Unproved if self.matrix[x, z] > 0 else Broken
            raise kind(f"the loss of secret {x} and report {z} is {self.matrix[x, z]}")
        if self.matrix is None and self.name == "binary" and self.answers is not None:
            raise Broken("the loss is binary, but the reports are not the secrets")

    @property
    def reports(self) -> int:
        """Number of reports, m."""
        if self.matrix is not None:
            return self.matrix.shape[1]
        return len(self.space if self.answers is None else self.answers)

    @property
    def signed(self) -> bool:
        """True if some may be below 0."""
        return self.matrix is not None and bool((self.matrix < 0).any())

    @cached_property
    def _measured(self) -> Measured:
        """Distances from the secrets to `answers`, reports in other places than the secrets."""
        return self.space.measured(self.answers)

    def row(self, x: int) -> Array:
        """Return l(x, ·), `(m,)`."""
        if self.matrix is not None:
            return self.matrix[x]
        if self.name == "binary":
            return (np.arange(len(self.space)) != x).astype(np.float64)
        if self.answers is not None:
            apart = self._measured.row(x)
        else:
            line = self.space.line
            apart = self.space.distances[x] if line is None else np.abs(line - line[x])
        return apart**2 if self.name == "squared" else apart

    @cached_property
    def dense(self) -> Array:
        """All of them, `(n, m)`."""
        return self.matrix if self.matrix is not None else np.stack([self.row(x) for x in range(len(self.space))])

    @cached_property
    def largest(self) -> Array:
        """max_z |l(x, z)|, `(n,)`."""
        return np.array([float(np.abs(self.row(x)).max()) for x in range(len(self.space))])

    def by_axes(self) -> tuple[list[Losses], Array]:
        """Return losses l_i of the axes, and a bound on max_z |l - Σ_i l_i| for each secret, `(n,)`.

        So a product is proven axis by axis. Unproved where the losses are no such sum.
        """
        axes = self.space.axes
        shape = tuple(map(len, axes))
        if self.matrix is not None and self.matrix.shape == (len(self.space),) * 2:
            parts, missed = summands(self.matrix, shape)
            return [Losses(axis, matrix=part) for axis, part in zip(axes, parts, strict=True)], missed
        if self.matrix is not None or self.name != "distance" or self.answers is not None:
            raise Unproved(f"{self.name} losses are no sum over the axes of a product")
        # distances of the space are the sums of those of its axes, up to the roundings of these sums
        inner = [Losses(axis) for axis in axes]
        return inner, (len(shape) + 2) * 2.0**-53 * outer_sum([loss.largest for loss in inner])


UNIT = Fraction(1, 1 << 53)
_LARGEST_ERROR = 164 * UNIT
"""Of an entry, relative: 4 + 2t with t at most 80."""
_CAPPED = 86
"""e^-60 < 2^-86."""
_BITS = 200
_FAR = 200
MOST_CELLS = 10**10


@dataclass(frozen=True, eq=False)
class LineKernel:
    """E[x, i] ≈ e^{-ε'd} w_i on a line of n points, the rest of a row at index `slack`, remapped to m reports.

    `level` is ε', and `table` `(n,)` has the report for each index.
    """

    space: Space
    weights: Array
    level: float
    slack: int
    table: NDArray[np.int64]
    reports: int

    @classmethod
    def read(cls, arrays: Arrays, base: Arrays, reports: int) -> LineKernel:
        """Read the arrays of a remapped mechanism and of the one before the remap."""
        space = Space.read(base)
        if not space.same(Space.read(arrays)):
            raise Broken("mechanism.npz: the points before and after the remap are not the same")
        if space.line is None:
            raise Unproved("a remapped mechanism is proven again on lines alone")
        size = len(space)
        if size * reports > MOST_CELLS:
            raise Unproved(f"{size:,} secrets and {reports:,} reports are over the limit of {MOST_CELLS:,} pairs")
        weights = numbers(base, "weights", size)
        level = number(base, "level")
        wrong = np.flatnonzero(~((weights >= 0) & (weights <= 1)))
        if len(wrong):
            raise Broken(f"mechanism.npz: the weight of index {wrong[0]} is {weights[wrong[0]]}")
        if not (math.isfinite(level) and level > 0):
            raise Broken(f"mechanism.npz: the level is {level}")
        slack, table = int(indices(base, "slack", size)), indices(arrays, "table", reports, size)
        return cls(space, weights, level, slack, table, reports)

    @cached_property
    def steps(self) -> list[Fraction]:
        """ε'd between neighbours, `(n - 1,)`."""
        level = Fraction(self.level)
        points = list(map(Fraction, self.space.line.tolist()))  # pyright: ignore[reportOptionalMemberAccess]
        return [level * abs(right - left) for left, right in pairwise(points)]

    @cached_property
    def factors(self) -> list[tuple[int, int]]:
        """Integers at most and at least 2^128·e^{-ε'd} for the distance d between neighbours, `(n - 1,)`."""
        return [decay_bounds(1 << BITS, step) for step in self.steps]

    @cached_property
    def rests(self) -> list[tuple[Fraction, Fraction]]:
        """A lower and an upper bound on r_x, what the row of x is short of 1, for every secret x."""
        # In units of 2^-200: w_i lies between least[i] and least[i] + 1. For every x, low and high enclose
        # Σ_i e^{-ε'd} w_i, and spread is at least Σ_i ε'd e^{-ε'd} w_i, of which the errors of entries are made. All
        # three begin with i = x, and get what comes from the left and from the right.
        least = Exact.of(self.weights).scaled(_BITS)[0]
        low = list(least)
        high = [weight + 1 for weight in least]
        spread = [0] * len(least)
        # The cap raises entries from below e^-60 to at most that: 2^-86 Σ w at most.
        capped = (sum(high) >> _CAPPED) + 1
        for step in (1, -1):
            # Sums over the points on one side of x alone: lower and upper bound of the weights, and spread.
            below = above = apart = 0
            for x in range(len(least))[::step]:
                low[x] += below
                high[x] += above
                spread[x] += apart
                edge = x if step == 1 else x - 1
                if not 0 <= edge < len(self.factors):
                    continue
                (shrunk, most), length = self.factors[edge], self._lengths[edge]
                # On to the next point, at t = ε'd from x: sums take in x and shrink by e^{-t}. The sum of ε'd
                # e^{-ε'd} w grows by t times all weights on the way, and shrinks likewise. Lower bounds are rounded
                # down, upper ones up.
                whole = above + least[x] + 1
                below = (below + least[x]) * shrunk >> BITS
                apart = ((apart + -(-(whole * length) >> BITS)) * most >> BITS) + 1
                above = (whole * most >> BITS) + 1
        # An entry is off by (4 + 2t)·2^-53 of itself, so that a row sum is by (4 Σ + 2 spread)·2^-53, and by the cap.
        one = 1 << _BITS
        found = []
        for least_sum, most_sum, far in zip(low, high, spread, strict=True):
            off = (4 * most_sum + 2 * far >> 53) + 1 + capped
            found.append((Fraction(one - (most_sum + off), one), Fraction(one - (least_sum - off), one)))
        return found

    @cached_property
    def _lengths(self) -> list[int]:
        """Upper bounds on 2^128·min(ε'd, 200) for neighbours, as integers; the cap of t is 80, so 200 will do."""
        near = (min(step, Fraction(_FAR)) for step in self.steps)
        return [-(-(step.numerator << BITS) // step.denominator) for step in near]

    def check_rows(self, name: str) -> tuple[Fraction, Fraction]:
        """Return a lower and an upper bound on row sums as drawn in doubles; Broken where a rest may be below 0."""
        for x, (least, _) in enumerate(self.rests):
            if least < 0:
                raise Broken(f"{name}: the row of secret {x} sums to up to 1 {float(-least):+.3g}, before the rest")
        return 1 - 4 * UNIT, 1 + 4 * UNIT

    def check_private(self, epsilon: Fraction, name: str) -> None:
        """Broken unless the kernel is proven private at ε, by the statement of the module."""
        if len(self.space) < 2:
            return
        # All indices but the slack: ε' is so much below ε that the errors of two entries fit in between, at the least
        # distance and thus at all.
        nearest = min(self.steps) / Fraction(self.level)
        room = epsilon * (1 - 2 * UNIT) * nearest
        if room - min(self.steps) < 2 * _LARGEST_ERROR * (1 + _LARGEST_ERROR * 2) + 8 * UNIT:
            raise Broken(f"{name}: level {self.level:.17g} leaves no room for rounding below {float(epsilon):.17g}")
        # The slack: all pairs are seen in one pass from each side. The largest probability that it may have at any
        # point so far, shrunk by e^{-εd} with every step, is at most the least that it may have at the next one.
        # 2^-50 is room for 4 roundings on both sides.
        low, high = self._at_slack
        for step in (1, -1):
            most = before = 0  # that largest one, shrunk, and the secret that has it
            for x in range(len(low))[::step]:
                if most + (most >> 50) > low[x]:
                    apart = f"secrets {before} and {x} are told apart at epsilon {float(epsilon):.17g}"
                    raise Broken(f"{name}: {apart} by report {self.slack}, which gets the rests of rows")
                if high[x] > most:
                    most = high[x]
                    before = x
                edge = x if step == 1 else x - 1
                if 0 <= edge < len(self.steps):
                    length = epsilon * (1 - 2 * UNIT) / Fraction(self.level) * self.steps[edge]
                    most = decay_bounds(most, length)[1]

    @cached_property
    def _at_slack(self) -> tuple[list[int], list[int]]:
        """Lower and upper bounds on 2^200·(E[x, s] + r_x), as integers, for every secret x.

        That is the probability of the slack s, which gets its own entry and the rest of the row.
        """
        weight = Exact.of(self.weights).scaled(_BITS)[0][self.slack]
        low, high = ([int(rest[side] * (1 << _BITS)) for rest in self.rests] for side in (0, 1))
        # e^{-ε'd} w_s is followed from s upwards and then downwards. An entry is within (4 + 160)·2^-53 < 2^-45 of
        # it, relative, and the cap adds 2^-86 w_s at most.
        for step in (1, -1):
            least = weight
            most = weight + 1
            for x in range(self.slack, len(low) if step == 1 else -1, step):
                if step == 1 or x != self.slack:  # the slack itself is counted in the first pass only
                    low[x] += least - (least >> 45)
                    high[x] += most + (most >> 45) + (weight >> _CAPPED) + 1
                edge = x if step == 1 else x - 1
                if 0 <= edge < len(self.factors):
                    least = least * self.factors[edge][0] >> BITS
                    most = (most * self.factors[edge][1] >> BITS) + 1
        return low, high

    def cost(self, prior: Array, losses: Losses) -> Enclosed:
        """Enclose the expected loss Σ_x π_x Σ_i K[x, i] l(x, table[i]), K being E with the rests added at s."""
        # Where losses have both signs, the cost of those above 0 less that of those below, so that sums have one
        # sign.
        over = self._cost_of_sign(prior, losses, 1.0)
        if not losses.signed:
            return over
        under = self._cost_of_sign(prior, losses, -1.0)
        return Enclosed(over.low - under.high, over.high - under.low, over.size + under.size)

    def _cost_of_sign(self, prior: Array, losses: Losses, sign: float) -> Enclosed:
        """Return the cost under the losses max(0, sign·l), enclosed by doubles.

        Σ_x π_x Σ_i E[x, i] l(x, table[i]) is Σ_i w_i F_i(table[i]) with F_i(z) = Σ_x π_x e^{-ε'd} l(x, z), a sum of
        what comes from the left of i and from its right.
        """
        factors = [float(Fraction(low + high, 1 << BITS + 1)) for low, high in self.factors]
        size = len(prior)
        # For every i, F_i(table[i]) and a bound on how far the double is off; the largest loss; and for every x the
        # loss of the slack's report, times π_x.
        found = np.zeros(size)
        errors = np.zeros(size)
        largest = 0.0
        paid_at_slack = []
        for step in (1, -1):
            # What comes from one side, for all reports z at once, and how far these sums are off at most. A step has
            # the roundings of the factor, of its product, of a loss times a probability and of a sum: 8·2^-53 of the
            # sum, as all its terms are 0 or more.
            sums = np.zeros(losses.reports)
            error = np.zeros(losses.reports)
            for x in range(size)[::step]:
                z = self.table[x]
                # The first pass counts x itself, the second only what lies beyond.
                if step == -1:
                    found[x] = found[x] + sums[z]
                    errors[x] = errors[x] + error[z]
                row = losses.row(x)
                if losses.signed:
                    row = np.maximum(sign * row, 0.0)
                sums += prior[x] * row
                error += 2.0**-50 * sums
                if step == 1:
                    found[x] = sums[z]
                    errors[x] = error[z]
                    largest = max(largest, float(row.max()))
                    paid_at_slack.append(prior[x] * row[self.table[self.slack]])
                edge = x if step == 1 else x - 1
                if 0 <= edge < size - 1:
                    sums *= factors[edge]
                    error *= factors[edge]
        # Σ_i w_i F_i, with the errors of F, those of the entries E and of this sum, (4 + 160 + a few)·2^-53, and what
        # the cap and subnormal numbers add.
        terms = math.fsum(self.weights * found)
        off = math.fsum(self.weights * errors)
        off = 1.01 * off + terms * 2.0**-45 + (largest * 2.0**-80 + 2.0**-900) * math.fsum(self.weights)
        low, high = Fraction(terms) - Fraction(off), Fraction(terms) + Fraction(off)
        # The rests pay for the report of the slack, Σ_x π_x r_x l(x, table[s]).
        rests = [(float(least), float(most)) for least, most in self.rests]
        more = [
            math.fsum(paid * rest[side] for paid, rest in zip(paid_at_slack, rests, strict=True)) for side in (0, 1)
        ]
        low += Fraction(more[0]) * (1 - 8 * UNIT)
        high += Fraction(more[1]) * (1 + 8 * UNIT)
        return Enclosed(low, high, high)

    @property
    def about(self) -> str:
        """The assumption of the proof on entries, as text for the verdict."""
        return f"entries within (4 + 2t) 2^-53 of e^-t times {len(self.weights):,} weights"
