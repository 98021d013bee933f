"""Every objective and δ as one dense linear program: every pair, every report, a slack for each, no tricks.

An independent judge for small problems: it imports nothing from the package.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Matrix = NDArray[np.float64]


def best(
    loss: Matrix,
    *,
    budgets: Matrix,
    prior: Matrix,
    objective: str = "expected_loss",
    guesses: Matrix | None = None,
    max_loss: float = np.inf,
    delta: float = 0.0,
    bound: NDArray[np.bool_] | None = None,
) -> float:
    """The optimum over channels K `(n, m)`, of which the pairs (x, x') of finite budget, or `bound`, obey privacy.

    Variables: K, one number t per column (the error) or one (the worst loss), and s_z ≥ 0 for each pair with δ > 0.
    """
    n, m = loss.shape
    pairs = [(x, y) for x in range(n) for y in range(n) if x != y and np.isfinite(budgets[x, y])]
    pairs = [pair for pair in pairs if bound is None or bound[pair]]
    extra = {"expected_loss": 0, "worst_loss": 1, "adversary_error": m}[objective]
    slack = len(pairs) * m if delta else 0
    total = n * m + extra + slack
    rows: list[Matrix] = []
    sides: list[float] = []

    def add(entries: dict[int, float], side: float = 0.0) -> None:
        row = np.zeros(total)
        for variable, value in entries.items():
            row[variable] += value
        rows.append(row)
        sides.append(side)

    for number, (x, y) in enumerate(pairs):
        half = np.exp(-budgets[x, y] / 2)
        slacks = [n * m + extra + number * m + z for z in range(m)]
        for z in range(m):
            entries = {x * m + z: half, y * m + z: -1 / half}
            add({**entries, slacks[z]: -half} if delta else entries)
        if delta:
            add(dict.fromkeys(slacks, 1.0), delta)
    costs = np.zeros(total)
    paid = np.where(prior[:, None] > 0, prior[:, None] * np.where(prior[:, None] > 0, loss, 0.0), 0.0)
    if objective == "expected_loss":
        costs[: n * m] = paid.ravel()
    elif objective == "worst_loss":
        costs[n * m] = 1.0
        for x in range(n):
            add({**{x * m + z: loss[x, z] for z in range(m)}, n * m: -1.0})
    else:
        assert guesses is not None
        costs[n * m : n * m + m] = -1.0
        for z in range(m):
            for guess in range(guesses.shape[1]):
                add({**{x * m + z: -prior[x] * guesses[x, guess] for x in range(n)}, n * m + z: 1.0})
        add(dict(enumerate(paid.ravel())), max_loss)
    sums = np.zeros((n, total))
    for x in range(n):
        sums[x, x * m : (x + 1) * m] = 1.0
    free = [(None, None) if n * m <= variable < n * m + extra else (0, None) for variable in range(total)]
    found = linprog(
        costs,
        A_ub=np.array(rows) if rows else None,
        b_ub=np.array(sides) if rows else None,
        A_eq=sums,
        b_eq=np.ones(n),
        bounds=free,
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not found.success:
        raise RuntimeError(found.message)
    return -float(found.fun) if objective == "adversary_error" else float(found.fun)
