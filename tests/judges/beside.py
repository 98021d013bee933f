"""A linear program beside a claimed bound: a better channel, made feasible exactly, proves the bound false.

The program is dense, rescaled to the claimed value, and its answer is only a hint: it is brought into the cone of
private columns by rationals, and what it attains is computed by rationals. So a doubtful answer of the solver never
is a false alarm. Imports nothing from the package it judges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import highspy
import numpy as np
from numpy.typing import NDArray

from tests.judges.claims import Asked, power, rational

Matrix = NDArray[np.float64]
Channel = list[list[Fraction]]
FAR = 40.0
"""Pairs of a larger budget are left to the exact repair."""
NEAR = 1e-9
"""Points of a smaller budget get the same row."""
LARGEST = 1e7
"""Costs above this, in units of the claimed value, count as this in the program."""
_FINE = 1e-10


@dataclass(frozen=True, eq=False)
class Cone:
    """What privacy asks for: distances `(n, n)`, a level, and δ for the pairs that are bound."""

    distances: Matrix
    epsilon: float
    delta: float
    bound: NDArray[np.bool_]

    @property
    def budgets(self) -> Matrix:
        """εd in doubles; infinite where nothing is asked for."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.where(self.bound, self.epsilon * self.distances, np.inf)


def solved(asked: Asked, cone: Cone, scale: float) -> Matrix | None:
    """A channel `(n, m)` near the optimum, or None where the solver found none. Rows sum to 1 only nearly."""
    n, m = asked.losses.shape
    entries = n * m
    costs = np.where(asked.prior[:, None] > 0, asked.prior[:, None] * _finite(asked), 0.0)
    budgets = cone.budgets
    pairs = np.argwhere((budgets <= FAR) & ~np.eye(n, dtype=bool))
    extra = {"expected_loss": 0, "worst_loss": 1, "adversary_error": m}[asked.objective]
    slacks = len(pairs) * m if cone.delta else 0
    rows = _Rows(entries + extra + slacks)
    # 1. privacy: e^{-b/2} K[x, z] - e^{b/2} K[x', z] ≤ 0, or ≤ e^{-b/2} s_z with Σ_z s_z ≤ δ
    columns = np.arange(m)
    for number, (x, other) in enumerate(pairs):
        half = math.exp(-budgets[x, other] / 2)
        given = [(x * m + columns, half), (other * m + columns, -1 / half)]
        if cone.delta:
            own = entries + extra + number * m + columns
            given.append((own, -half))
            rows.single(own, np.ones(m), cone.delta)
        rows.each(given, m)
    # 2. the objective
    cost = np.zeros(rows.width)
    if asked.objective == "expected_loss":
        cost[:entries] = np.clip(costs / scale, -LARGEST, LARGEST).ravel()
    elif asked.objective == "worst_loss":
        cost[entries] = 1.0
        scaled = np.clip(_finite(asked) / scale, -LARGEST, LARGEST)
        for x in range(n):
            rows.single(np.r_[x * m + columns, entries], np.r_[scaled[x], -1.0], 0.0)
    else:
        assert asked.guesses is not None
        cost[entries : entries + m] = -1.0
        missed = np.clip(asked.prior[:, None] * asked.guesses / scale, -LARGEST, LARGEST)
        for z in range(m):
            for g in range(missed.shape[1]):
                rows.single(np.r_[np.arange(n) * m + z, entries + z], np.r_[-missed[:, g], 1.0], 0.0)
        size = float(np.abs(costs).max()) or 1.0
        rows.single(np.arange(entries), (costs / size).ravel(), asked.max_loss / size - _FINE)
    # 3. rows of the channel sum to 1
    for x in range(n):
        rows.single(x * m + columns, np.ones(m), 1.0, equal=True)
    found = rows.solve(cost, np.r_[np.zeros(entries), np.full(extra, -np.inf), np.zeros(slacks)])
    return None if found is None else np.maximum(found[:entries].reshape(n, m), 0.0)


def counterexample(asked: Asked, cone: Cone, claimed: float, scale: float) -> Channel | None:
    """A channel of rationals, private and within the budget exactly, that proves a bound false; or None."""
    hint = solved(asked, cone, scale)
    if hint is None:
        return None
    value, error = asked.nearly(hint)
    if math.isfinite(error) and asked.sign * (value - claimed) > -_FINE * abs(claimed):
        return None
    for channel in feasible(asked, cone, hint):
        within = math.isinf(asked.max_loss) or asked.spent(channel) <= Fraction(asked.max_loss)
        if within and asked.sign * (asked.exactly(channel) - Fraction(claimed)) < 0:
            return channel
    return None


def feasible(asked: Asked, cone: Cone, hint: Matrix) -> list[Channel]:
    """Channels of rationals near a matrix, private exactly: without δ, and with δ by mixing as well."""
    found = [closed(asked, cone, hint)]
    if cone.delta:
        rows = [[entry / sum(row) for entry in row] for row in rational(hint)]
        worst = max((_excess(rows, cone, int(x), int(y)) for x, y in np.argwhere(cone.bound)), default=Fraction(0))
        part = max(Fraction(0), 1 - Fraction(cone.delta) / worst) if worst else Fraction(0)
        report = _cheapest(asked)
        mixed = [[(1 - part) * entry + (part if z == report else 0) for z, entry in enumerate(row)] for row in rows]
        found.append(mixed)
    return found


def closed(asked: Asked, cone: Cone, hint: Matrix) -> Channel:
    """A channel near a matrix, private without δ for all pairs of finite distance: closure, scale, slack."""
    n, m = hint.shape
    factors = _factors(cone)
    columns = rational(np.maximum(hint, 0.0).round(15))
    # 1. each column raised to the least member of the cone above it
    raised = [[max(factors[a][b] * columns[a][z] for a in range(n)) for z in range(m)] for b in range(n)]
    # 2. rows that some factor joins are scaled together, so that what they lack of 1 lies in the cone
    report = _cheapest(asked)
    for group in _groups(factors):
        sums = {x: sum(raised[x], Fraction(0)) for x in group}
        scale = min((1 / total for total in sums.values() if total > 0), default=Fraction(0))
        for a in group:
            for b in group:
                spread = sums[b] - factors[a][b] * sums[a]
                if spread > 0 and a != b:
                    scale = min(scale, (1 - factors[a][b]) / spread)
        for x in group:
            raised[x] = [scale * entry for entry in raised[x]]
            raised[x][report] += 1 - scale * sums[x]
    return raised


def _factors(cone: Cone) -> Channel:
    """Rationals above e^{-εd} by the best chain, `(n, n)`; 1 for points that are nearly the same."""
    n = len(cone.distances)
    factors = [[Fraction(int(a == b)) for b in range(n)] for a in range(n)]
    for a, b in np.argwhere(np.isfinite(cone.distances) & ~np.eye(n, dtype=bool)).tolist():
        length = float(cone.distances[a, b])
        near = cone.epsilon * length <= NEAR
        factors[a][b] = Fraction(1) if near else max(factors[a][b], _grid(1 / power(cone.epsilon, length)[0]))
        if near:
            factors[b][a] = Fraction(1)
    for via in range(n):
        for a in range(n):
            for b in range(n):
                factors[a][b] = max(factors[a][b], factors[a][via] * factors[via][b])
    return factors


def _grid(number: Fraction) -> Fraction:
    """A multiple of 2^-3300 above a number, so that chains do not grow without end."""
    return min(Fraction(1), Fraction(-((-number.numerator << 3300) // number.denominator), 1 << 3300))


def _groups(factors: Channel) -> list[list[int]]:
    left = set(range(len(factors)))
    groups = []
    while left:
        group = [left.pop()]
        for x in group:
            joined = [y for y in left if factors[x][y] or factors[y][x]]
            left.difference_update(joined)
            group += joined
        groups.append(sorted(group))
    return groups


def _cheapest(asked: Asked) -> int:
    weights = np.ones(len(asked.prior)) if asked.objective == "worst_loss" else asked.prior
    return int((weights @ np.where(weights[:, None] > 0, _finite(asked), 0.0)).argmin())


def _finite(asked: Asked) -> Matrix:
    return np.where(np.isfinite(asked.losses), asked.losses, 0.0)


def _excess(rows: Channel, cone: Cone, x: int, other: int) -> Fraction:
    low, _ = power(cone.epsilon, float(cone.distances[x, other]))
    return sum((max(Fraction(0), a - low * b) for a, b in zip(rows[x], rows[other], strict=True)), Fraction(0))


class _Rows:
    """Rows of a linear program, gathered one after another for HiGHS."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._starts = [0]
        self._index: list[NDArray[np.int64]] = []
        self._value: list[Matrix] = []
        self._lower: list[float] = []
        self._upper: list[float] = []

    def single(self, index: NDArray[np.int64], value: Matrix, upper: float, *, equal: bool = False) -> None:
        """One row: value·x at most `upper`, or equal to it."""
        self._index.append(index)
        self._value.append(value)
        self._starts.append(self._starts[-1] + len(index))
        self._lower.append(upper if equal else -math.inf)
        self._upper.append(upper)

    def each(self, given: list[tuple[NDArray[np.int64], float]], count: int) -> None:
        """`count` rows: of each pair one variable with the coefficient; all at most 0."""
        self._index.append(np.stack([index for index, _ in given], axis=1).ravel())
        self._value.append(np.tile([coefficient for _, coefficient in given], count))
        self._starts += [self._starts[-1] + len(given) * (k + 1) for k in range(count)]
        self._lower += [-math.inf] * count
        self._upper += [0.0] * count

    def solve(self, cost: Matrix, lower: Matrix) -> Matrix | None:
        """The point where the cost is least, or None."""
        highs = highspy.Highs()
        highs.silent()
        highs.setOptionValue("primal_feasibility_tolerance", _FINE)
        highs.setOptionValue("dual_feasibility_tolerance", _FINE)
        highs.setOptionValue("time_limit", 5.0)
        model = highspy.HighsLp()
        model.num_col_ = self.width
        model.num_row_ = len(self._upper)
        model.col_cost_ = cost
        model.col_lower_ = lower
        model.col_upper_ = np.full(self.width, highspy.kHighsInf)
        model.row_lower_ = np.array(self._lower)
        model.row_upper_ = np.array(self._upper)
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.array(self._starts)
        model.a_matrix_.index_ = np.concatenate(self._index)
        model.a_matrix_.value_ = np.concatenate(self._value)
        highs.passModel(model)
        highs.run()
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        return np.array(highs.getSolution().col_value)
