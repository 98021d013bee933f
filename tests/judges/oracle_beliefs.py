"""Optima under pairs of beliefs as one dense linear program, and what they ask for in rationals.

An independent judge for small problems: it imports nothing from the package.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Matrix = NDArray[np.float64]


def best_for_beliefs(
    loss: Matrix,
    prior: Matrix,
    first: Matrix,
    second: Matrix,
    budgets: Sequence[float],
    *,
    between: Matrix | None = None,
    objective: str = "expected_loss",
) -> float:
    """The optimum over channels K `(n, m)` with θK ≤ e^{budget} θ'K, and K[x, z] ≤ e^{between[x, y]} K[y, z]."""
    n, m = loss.shape
    worst = objective == "worst_loss"
    rows: list[Matrix] = []
    for theta, other, budget in zip(first, second, budgets, strict=True):
        rows += _rows(theta, other, budget, m)
    if between is not None:
        for x in range(n):
            for y in range(n):
                if x != y and np.isfinite(between[x, y]):
                    rows += _rows(np.eye(n)[x], np.eye(n)[y], between[x, y], m)
    table = np.array([np.append(row, 0.0) for row in rows])
    if worst:
        for x in range(n):
            paid = np.zeros((n, m))
            paid[x] = loss[x]
            table = np.vstack([table, np.append(paid.ravel(), -1.0)])
    costs = np.append(np.zeros(n * m), 1.0) if worst else np.append((prior[:, None] * loss).ravel(), 0.0)
    sums = np.hstack([np.kron(np.eye(n), np.ones((1, m))), np.zeros((n, 1))])
    found = linprog(
        costs,
        A_ub=table,
        b_ub=np.zeros(len(table)),
        A_eq=sums,
        b_eq=np.ones(n),
        bounds=[(0, None)] * (n * m) + [(None, None) if worst else (0, 0)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not found.success:
        raise RuntimeError(found.message)
    return float(found.fun)


def _rows(theta: Matrix, other: Matrix, budget: float, reports: int) -> list[Matrix]:
    """e^{-budget/2} θ v - e^{budget/2} θ' v ≤ 0 for each report."""
    one = np.exp(-budget / 2) * theta - np.exp(budget / 2) * other
    found = []
    for z in range(reports):
        row = np.zeros((len(theta), reports))
        row[:, z] = one
        found.append(row.ravel())
    return found


def expected(theta: Sequence[float], channel: Matrix) -> list[Fraction]:
    """Σ_x θ_x K[x, z] in rationals, for each report."""
    rows = [[Fraction(float(entry)) for entry in row] for row in channel]
    weights = [Fraction(float(one)) for one in theta]
    return [sum((w * row[z] for w, row in zip(weights, rows, strict=True)), Fraction(0)) for z in range(len(rows[0]))]


def largest_ratio(first: Matrix, second: Matrix, channel: Matrix) -> list[Fraction | None]:
    """max_z θK / θ'K of each pair, in rationals; None where a report is possible under θ alone."""
    found: list[Fraction | None] = []
    for theta, other in zip(first, second, strict=True):
        pairs = list(zip(expected(theta, channel), expected(other, channel), strict=True))
        if any(ours and not theirs for ours, theirs in pairs):
            found.append(None)
        else:
            found.append(max(ours / theirs for ours, theirs in pairs if theirs))
    return found


def keeps(first: Matrix, second: Matrix, budgets: Sequence[Fraction], channel: Matrix) -> bool:
    """Whether θK ≤ e^{budget} θ'K in every report, where e^{budget} is taken from below to 60 terms of its series."""
    for theta, other, budget in zip(first, second, budgets, strict=True):
        power = sum((budget**k / math.factorial(k) for k in range(60)), Fraction(0))
        for ours, theirs in zip(expected(theta, channel), expected(other, channel), strict=True):
            if ours > power * theirs:
                return False
    return True


def given(joint: Sequence[Fraction], inside: Sequence[bool]) -> list[Fraction] | None:
    """A distribution given an event, in rationals; None where that has probability 0."""
    total = sum((p for p, there in zip(joint, inside, strict=True) if there), Fraction(0))
    if not total:
        return None
    return [p / total if there else Fraction(0) for p, there in zip(joint, inside, strict=True)]
