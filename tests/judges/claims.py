"""Claims about a channel in exact arithmetic: its value, its excess over e^{εd}, and bounds by weak duality.

Every function takes plain arrays of doubles, which are rationals, and imports nothing from the package it judges.
Where most cases are clear a first look in doubles settles them, with more room than its rounding can take; whatever
is near is decided by rationals.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tests.judges.exact import exp_enclosure, row_sum_errors

Matrix = NDArray[np.float64]
Indices = NDArray[np.int64]
HUGE = 2200
"""e^2200 exceeds the ratio of any two positive doubles."""
_UNIT = 2.0**-53


@lru_cache(maxsize=20_000)
def power(epsilon: float, distance: float) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^{εd}, for the real product of two doubles: of 160 bits, budgets of 2200 at most.

    Above them e^2200 stands for both, which is above the ratio of any two positive doubles.
    """
    exponent = min(Fraction(epsilon) * Fraction(distance), Fraction(HUGE))
    return (Fraction(1), Fraction(1)) if exponent == 0 else exp_enclosure(exponent, 160)


@lru_cache(maxsize=20_000)
def _shrunk(epsilon: float, distance: float) -> tuple[Fraction, float]:
    """A rational below e^{-εd}, 0 from a budget of 2200 on, and a double below that."""
    if Fraction(epsilon) * Fraction(distance) >= HUGE:
        return Fraction(0), 0.0
    low = 1 / power(epsilon, distance)[1]
    return low, max(0.0, float(np.nextafter(float(low), -1.0)))


@dataclass(frozen=True, eq=False)
class Asked:
    """What is wanted of a channel of n secrets and m reports.

    Attributes
    ----------
    objective : {"expected_loss", "worst_loss", "adversary_error"}
    prior : (n,) array
    losses : (n, m) array
        Infinite ones count only where the prior is positive.
    guesses : (n, g) array, or None
        What a guess costs the adversary.
    max_loss : float
    """

    objective: str
    prior: Matrix
    losses: Matrix
    guesses: Matrix | None = None
    max_loss: float = math.inf

    @property
    def sign(self) -> int:
        """1 where less is better, -1 where more is."""
        return -1 if self.objective == "adversary_error" else 1

    def exactly(self, channel: list[list[Fraction]]) -> Fraction:
        """What a channel of rationals attains."""
        rows = range(len(channel))
        if self.objective == "adversary_error":
            assert self.guesses is not None
            joint = [[Fraction(float(self.prior[x])) * entry for entry in channel[x]] for x in rows]
            costs = _rationals(self.guesses)
            total = Fraction(0)
            for z in range(len(channel[0])):
                total += min(
                    sum((joint[x][z] * costs[x][g] for x in rows), Fraction(0)) for g in range(len(costs[0]))
                )
            return total
        paid = [_dot(channel[x], self.losses[x]) if self._counts(x) else Fraction(0) for x in rows]
        if self.objective == "worst_loss":
            return max(paid)
        return sum((Fraction(float(self.prior[x])) * paid[x] for x in rows), Fraction(0))

    def spent(self, channel: list[list[Fraction]]) -> Fraction:
        """The expected loss of a channel of rationals."""
        return Asked("expected_loss", self.prior, self.losses).exactly(channel)

    def dearest(self) -> Fraction:
        """What a channel loses at most, in size."""
        costs = self.losses if self.guesses is None else self.guesses
        weights = np.ones(len(self.prior)) if self.objective == "worst_loss" else self.prior
        rows = [(weight, np.abs(row).max()) for weight, row in zip(weights, costs, strict=True) if weight > 0]
        each = [Fraction(float(weight)) * Fraction(float(most)) for weight, most in rows]
        return sum(each, Fraction(0))

    def nearly(self, channel: Matrix) -> tuple[float, float]:
        """What a channel attains in doubles, and how far rounding and underflow can have moved it."""
        with np.errstate(all="ignore"):
            losses = np.where(self.prior[:, None] > 0, self.losses, 0.0)
            if self.objective == "worst_loss":
                rows = [math.fsum(row) for row in self.losses * channel]
                sizes = float((np.abs(self.losses) * channel).sum(axis=1).max())
                value = max(rows)
            elif self.objective == "adversary_error":
                assert self.guesses is not None
                joint = self.prior[:, None] * channel
                value = math.fsum((self.guesses.T @ joint).min(axis=0))
                sizes = float((np.abs(self.guesses).T @ joint).sum(axis=0).max()) * channel.shape[1]
            else:
                joint = self.prior[:, None] * channel
                value = math.fsum((joint * losses).ravel())
                sizes = float((joint * np.abs(losses)).sum())
            largest = float(np.abs(losses if self.guesses is None else self.guesses).max())
        lost = channel.size * 2.0**-1070 * max(1.0, largest)
        return value, 4 * (channel.size + 8) * _UNIT * sizes + lost

    def _counts(self, x: int) -> bool:
        return self.objective == "worst_loss" or bool(self.prior[x] > 0)


def rational(channel: Matrix) -> list[list[Fraction]]:
    """The doubles of a matrix as rationals."""
    return _rationals(channel)


def value_is(asked: Asked, channel: Matrix, claimed: float) -> bool:
    """Whether a value is that of a channel, up to 2^-49 of the sizes of its terms and a few of the least doubles."""
    value, error = asked.nearly(channel)
    if math.isfinite(error) and abs(claimed - value) <= error / 8:
        return True
    exact = asked.exactly(_rationals(channel))
    sizes = Asked(
        asked.objective,
        asked.prior,
        np.abs(asked.losses),
        None if asked.guesses is None else np.abs(asked.guesses),
    ).exactly(_rationals(channel))
    largest = float(np.abs(asked.losses[np.isfinite(asked.losses)]).max(initial=1.0))
    room = channel.size * (sizes / 2**52 + Fraction(max(1.0, largest)) / 2**1074)
    return abs(Fraction(claimed) - exact) <= 4 * room


def better_than(asked: Asked, channel: Matrix, bound: float) -> bool:
    """Whether a channel of doubles attains more than a bound allows: then the bound is false, if it is feasible.

    By more than what its rows lack of 1, or have above it, can be worth.
    """
    value, error = asked.nearly(channel)
    if math.isfinite(error) and asked.sign * (value - bound) > error:
        return False
    rows = max(map(abs, row_sum_errors(channel)))
    beyond = asked.sign * (Fraction(bound) - asked.exactly(_rationals(channel)))
    return beyond > rows * asked.dearest()


def excess_above(
    channel: Matrix, distances: Matrix, epsilon: float, delta: float, bound: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """The bound pairs (x, x') with Σ_z max(0, K[x, z] - e^{εd} K[x', z]) > δ, decided by rationals."""
    found = []
    for x, other in np.argwhere(bound):
        with np.errstate(over="ignore"):
            grown = math.exp(min(epsilon * distances[x, other], 700.0))
        over = float(np.maximum(channel[x] - grown * channel[other], 0.0).sum())
        if over + 1e-12 < delta:
            continue
        low, high = power(epsilon, float(distances[x, other]))
        if _over(channel[x], channel[other], high) > Fraction(delta):
            found.append((int(x), int(other)))
        elif _over(channel[x], channel[other], low) > Fraction(delta):
            raise ArithmeticError("160 bits do not decide an excess")
    return found


@dataclass(frozen=True, eq=False)
class Multipliers:
    """λ ≥ 0 on constraints v_second ≥ e^{-εd(first, second)} v_first in column `report`."""

    report: Indices
    first: Indices
    second: Indices
    amount: Matrix

    @classmethod
    def none(cls) -> Multipliers:
        """No multipliers at all."""
        empty = np.zeros(0, np.int64)
        return cls(empty, empty, empty, np.zeros(0))


def least_cost(
    costs: list[list[Fraction]], dual: Multipliers, distances: Matrix, epsilon: float, delta: float = 0.0
) -> Fraction:
    """Σ_x min_z (c - A'λ)(x, z) - δ Σ_pairs max_z λ e^{-εd}, rounded down: no private channel costs less."""
    left = [row.copy() for row in costs]
    paid: dict[tuple[int, int, int], Fraction] = {}
    for z, a, b, amount in zip(
        dual.report.tolist(), dual.first.tolist(), dual.second.tolist(), dual.amount.tolist(), strict=True
    ):
        if not (math.isfinite(amount) and amount > 0 and math.isfinite(distances[a, b]) and a != b):
            continue
        left[b][z] -= Fraction(amount)
        left[a][z] += Fraction(amount) * _shrunk(epsilon, float(distances[a, b]))[0]
        if delta:
            above = Fraction(amount) / power(epsilon, float(distances[a, b]))[0]
            paid[a, b, z] = paid.get((a, b, z), Fraction(0)) + above
    total = sum((min(row) for row in left), Fraction(0))
    largest: dict[tuple[int, int], Fraction] = {}
    for (a, b, _), amount in paid.items():
        largest[a, b] = max(largest.get((a, b), Fraction(0)), amount)
    return total - Fraction(delta) * sum(largest.values(), Fraction(0))


def nearly_least_cost(costs: Matrix, dual: Multipliers, distances: Matrix, epsilon: float) -> float:
    """The same without δ in doubles, rounded down: a bound as well, unless numbers are so small that digits are lost.

    A sum of t doubles is off by less than t·2^-53 of the sum of their sizes, to first order; a little more is taken
    off. NaN where an entry is below 1e-250 and not 0.
    """
    good = np.isfinite(dual.amount) & (dual.amount > 0) & (dual.first != dual.second)
    good &= np.isfinite(distances[dual.first, dual.second])
    report, first, second = dual.report[good], dual.first[good], dual.second[good]
    amount = dual.amount[good]
    factors = np.array([_shrunk(epsilon, length)[1] for length in distances[first, second].tolist()])
    given = factors * amount
    tiny = 1e-250
    small = [np.abs(one[one != 0]).min(initial=1.0) for one in (costs, amount, given)]
    if min(small) < tiny:
        return math.nan
    left = costs.copy()
    size = np.abs(costs)
    terms = np.full(costs.shape, 6.0)
    for rows, sign, moved in ((second, -1.0, amount), (first, 1.0, given)):
        np.add.at(left, (rows, report), sign * moved)
        np.add.at(size, (rows, report), moved)
        np.add.at(terms, (rows, report), 1.0)
    least = (left - 1.001 * terms * _UNIT * size).min(axis=1)
    return math.fsum(least) - 4 * _UNIT * math.fsum(np.abs(least))


def along_line(
    costs: list[list[Fraction]], prices: Matrix, roots: Indices, lengths: Matrix, epsilon: float
) -> Fraction:
    """A bound on the cost of channels on a line, from row prices and a root for each report, rounded down.

    Of each report the reduced costs are moved from both ends towards the root, by multipliers between neighbours,
    the step lengths of which are given; whatever is left at a secret counts if it is below 0.
    """
    n = len(prices)
    left = [Fraction(0)] * n
    for z, root in enumerate(roots.tolist()):
        reduced = [costs[x][z] - Fraction(float(prices[x])) for x in range(n)]
        for order in (range(root), range(n - 1, root, -1)):
            for x in order:
                towards = 1 if x < root else -1
                length = float(lengths[min(x, x + towards)])
                amount = reduced[x]
                if amount > 0:
                    reduced[x + towards] += amount * _shrunk(epsilon, length)[0]
                elif amount < 0 and math.isfinite(length) and Fraction(epsilon) * Fraction(length) < HUGE:
                    reduced[x + towards] += amount * power(epsilon, length)[1]
                else:
                    left[x] = min(left[x], amount)
        left[root] = min(left[root], reduced[root])
    return sum((Fraction(float(price)) for price in prices), Fraction(0)) + sum(left, Fraction(0))


def _over(mine: Matrix, theirs: Matrix, factor: Fraction) -> Fraction:
    pairs: Iterator[tuple[float, float]] = zip(mine.tolist(), theirs.tolist(), strict=True)
    return sum((max(Fraction(0), Fraction(a) - factor * Fraction(b)) for a, b in pairs if a > b), Fraction(0))


def _rationals(matrix: Matrix) -> list[list[Fraction]]:
    return [list(map(Fraction, row)) for row in matrix.tolist()]


def _dot(entries: list[Fraction], losses: Matrix) -> Fraction:
    return sum((entry * Fraction(loss) for entry, loss in zip(entries, losses.tolist(), strict=True)), Fraction(0))
