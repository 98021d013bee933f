"""The least expected loss of a private channel as one dense linear program: every pair, every report, no tricks.

An independent judge for small problems: it imports nothing from the package.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Matrix = NDArray[np.float64]


def optimum(distances: Matrix, epsilon: float, prior: Matrix, loss: Matrix) -> float:
    """min Σ_x π_x Σ_z K[x, z] l(x, z) over channels with K[x, z] ≤ e^{εd(x, x')} K[x', z].

    Each constraint is divided by e^{εd/2}, so that its two coefficients are each other's inverse. Losses where the
    prior is 0 count as 0, even infinite ones.
    """
    return best_channel(distances, epsilon, prior, loss)[0]


def best_channel(distances: Matrix, epsilon: float, prior: Matrix, loss: Matrix) -> tuple[float, Matrix]:
    """The optimum and a channel `(n, m)` that attains it, as the solver returned them."""
    size, reports = loss.shape
    weights = prior[:, None]
    costs = np.where(weights > 0, weights * np.where(weights > 0, loss, 0.0), 0.0)
    rows = []
    sums = []
    for x in range(size):
        for other in range(size):
            if x != other and np.isfinite(distances[x, other]):
                half = np.exp(-epsilon * distances[x, other] / 2)
                for z in range(reports):
                    row = np.zeros((size, reports))
                    row[x, z], row[other, z] = half, -1 / half
                    rows.append(row.ravel())
    for x in range(size):
        total = np.zeros((size, reports))
        total[x] = 1.0
        sums.append(total.ravel())
    scale = float(np.abs(costs).max()) or 1.0
    for method in ("highs-ds", "highs-ipm"):  # the first one may end without an answer where coefficients are e^±18
        found = linprog(
            costs.ravel() / scale,
            A_ub=np.array(rows) if rows else None,
            b_ub=np.zeros(len(rows)) if rows else None,
            A_eq=np.array(sums),
            b_eq=np.ones(size),
            bounds=(0, None),
            method=method,
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.success:
            return float(found.fun) * scale, found.x.reshape(size, reports)
    raise RuntimeError(found.message)
