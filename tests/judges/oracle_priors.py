"""Optima over sets of priors: the vertices of a set, all of them, and a dense linear program with a row for each.

An independent judge for small problems: it imports nothing from the package.
"""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Matrix = NDArray[np.float64]


def vertices(above: Matrix, sides: Matrix) -> Matrix:
    """All π ≥ 0 of sum 1 with `above` π ≤ `sides` at which n - 1 of the inequalities are tight, `(k, n)`."""
    n = above.shape[1]
    rows = np.vstack([above, -np.eye(n)])
    ends = np.append(sides, np.zeros(n))
    tight = np.array(list(combinations(range(len(rows)), n - 1)))
    systems = np.concatenate([rows[tight], np.ones((len(tight), 1, n))], axis=1)
    right = np.concatenate([ends[tight], np.ones((len(tight), 1))], axis=1)
    solvable = np.abs(np.linalg.det(systems)) > 1e-9
    found = np.linalg.solve(systems[solvable], right[solvable][:, :, None])[:, :, 0]
    inside = found[(found @ rows.T <= ends + 1e-9).all(axis=1)]
    return np.unique(inside.round(12), axis=0).astype(np.float64)


def ball(centre: Matrix, radius: float) -> Matrix:
    """The vertices of all π with π(S) - centre(S) ≤ radius for every set S of points."""
    n = len(centre)
    sets = chain.from_iterable(combinations(range(n), size) for size in range(1, n))
    above = np.array([[float(x in some) for x in range(n)] for some in map(set, sets)])
    return vertices(above, above @ centre + radius)


def box(lower: Matrix, upper: Matrix) -> Matrix:
    """The vertices of all π between two bounds."""
    identity = np.eye(len(lower))
    return vertices(np.vstack([identity, -identity]), np.append(upper, -lower))


def fitting(forms: Matrix, low: Matrix, high: Matrix) -> Matrix:
    """The vertices of all π with totals between two bounds."""
    return vertices(np.vstack([forms, -forms]), np.append(high, -low))


def best(loss: Matrix, budgets: Matrix, members: Matrix, *, given: Matrix | None = None, delta: float = 0.0) -> float:
    """The least t over channels K `(n, m)` with t ≥ Σ_x π_x Σ_z K[x, z] l(x, z) - given for every member π.

    Variables: K, t, and with δ a slack for each pair and report.
    """
    n, m = loss.shape
    pairs = [(x, y) for x in range(n) for y in range(n) if x != y and np.isfinite(budgets[x, y])]
    slack = len(pairs) * m if delta else 0
    total = n * m + 1 + slack
    rows, sides = [], []
    for number, (x, y) in enumerate(pairs):
        half = np.exp(-budgets[x, y] / 2)
        for z in range(m):
            row = np.zeros(total)
            row[[x * m + z, y * m + z]] = half, -1 / half
            if delta:
                row[n * m + 1 + number * m + z] = -half
            rows.append(row)
            sides.append(0.0)
        if delta:
            row = np.zeros(total)
            row[n * m + 1 + number * m : n * m + 1 + (number + 1) * m] = 1.0
            rows.append(row)
            sides.append(delta)
    for place, member in enumerate(members):
        row = np.zeros(total)
        row[: n * m] = (member[:, None] * loss).ravel()
        row[n * m] = -1.0
        rows.append(row)
        sides.append(0.0 if given is None else given[place])
    sums = np.zeros((n, total))
    for x in range(n):
        sums[x, x * m : (x + 1) * m] = 1.0
    cost = np.zeros(total)
    cost[n * m] = 1.0
    ends = [(0, None)] * (n * m) + [(None, None)] + [(0, None)] * slack
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, np.array(rows), np.array(sides), sums, np.ones(n), ends, method="highs", options=options)
    assert found.status == 0, found.message
    return float(found.fun)
