"""Proofs for and against refinement, and the small linear programs that suggest them.

For channels A `(n, a)`, `better`, and B `(n, b)`, `worse`, of the same n secrets the shortfall of A is

    t = min over channels R of max_x Σ_w max(0, B[x, w] - Σ_z A[x, z] R[z, w]),

which is 0 exactly where B = A·R: Le Cam's deficiency of A relative to B. Any R bounds it from above. Any gains Y ≥ 0
`(n, k)`, which are priors times gains, bound it from below (Torgersen 1991, ch. 6): as Σ_w max_y is convex and
homogeneous, Σ_w max_y (Y'B)[y, w] ≤ Σ_z max_y (Y'A)[y, z] + t Σ_x max_y Y[x, y].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import optional
from dxopt.numerics.highs import highs_model
from dxopt.numerics.rounding import SMALLEST, UNIT

Array = NDArray[np.float64]
_WHOLE = 2.0**52


def exact_channel(rough: Array) -> Array:
    """Return a channel `(m, k)` near a matrix, whose entries are multiples of 2^-52 and whose rows sum to 1 exactly.

    So its product with the rows of another channel is a post-processing of these, not only nearly one.
    """
    entries = np.where(np.isfinite(rough), np.maximum(rough, 0.0), 0.0)
    totals = entries.sum(axis=1, keepdims=True)
    entries = np.where(totals > 0, entries / np.where(totals > 0, totals, 1.0), 1.0 / entries.shape[1])
    # Whole numbers of 2^-52, exact in 64 bits; what a row is short of or over 1 goes to its largest entry.
    counts = np.rint(entries * _WHOLE).astype(np.int64)
    rows = np.arange(len(counts))
    counts[rows, counts.argmax(axis=1)] += int(_WHOLE) - counts.sum(axis=1)
    return counts / _WHOLE


def shortfall_above(better: Array, worse: Array, remap: Array) -> float:
    """Return max_x Σ_w max(0, B[x, w] - Σ_z A[x, z] R[z, w]), rounded up: the shortfall of A is at most that."""
    # A sum of a products of numbers of 0 or more is off by a roundings of itself to first order, of which twice is
    # counted; what underflow may have taken is below a times the smallest normal double.
    terms = better.shape[1]
    low = (better @ remap) * (1 - 2 * (terms + 2) * UNIT) - terms * SMALLEST
    missing = np.maximum(worse - low, 0.0)
    columns = worse.shape[1]
    return float(min(1.0, missing.sum(axis=1).max() * (1 + 2 * (columns + 4) * UNIT)))


def shortfall_below(better: Array, worse: Array, gains: Array) -> float:
    """Return (Σ_w max_y (Y'B)[y, w] - Σ_z max_y (Y'A)[y, z]) / Σ_x max_y Y[x, y], rounded down, or 0.

    The shortfall of A is at least that, whatever the gains Y are.
    """
    secrets = len(gains)
    size = math.fsum(gains.max(axis=1)) * (1 + 4 * UNIT)
    if not (size > 0 and math.isfinite(size)):
        return 0.0
    off = 2 * (secrets + 3) * UNIT
    lost = secrets * SMALLEST
    of_worse = math.fsum((gains.T @ worse).max(axis=0) * (1 - off) - lost)
    of_better = math.fsum((gains.T @ better).max(axis=0) * (1 + off) + lost)
    return max(0.0, (of_worse - of_better) * (1 - 4 * UNIT) / size - SMALLEST)


_SIMPLEX_TO = 4_000
"""Up to so many entries by the simplex method, which ends at a vertex; above, where it stalls, by interior points."""
_SECONDS = 60.0


@dataclass(frozen=True, eq=False)
class Found:
    """Values of the variables, and a multiplier of 0 or more for each row."""

    variables: Array
    multipliers: Array


def minimised(cost: Array, matrix: Any, most: Array) -> Found | None:
    """Minimise cost·v over v ≥ 0 with matrix·v ≤ most; None where the solver has no answer within a minute."""
    highspy = optional("highspy")
    columns = optional("scipy.sparse").csc_array(matrix)
    highs = highspy.Highs()
    highs.silent()
    if columns.nnz > _SIMPLEX_TO:
        highs.setOptionValue("solver", "ipx")
        highs.setOptionValue("run_crossover", "off")
        highs.setOptionValue("ipm_optimality_tolerance", 1e-10)
    highs.setOptionValue("time_limit", _SECONDS)
    highs.setOptionValue("primal_feasibility_tolerance", 1e-10)
    highs.setOptionValue("dual_feasibility_tolerance", 1e-10)
    highs.passModel(highs_model(cost, columns, np.full(len(most), -np.inf), most))
    highs.run()
    found = highs.getSolution()
    # HiGHS gives duals of 0 or less for rows with an upper bound.
    variables, multipliers = np.array(found.col_value), -np.array(found.row_dual)
    usable = found.value_valid and found.dual_valid and len(variables) == len(cost)
    if not (usable and np.isfinite(variables).all() and np.isfinite(multipliers).all()):
        return None
    return Found(np.maximum(variables, 0.0), np.maximum(multipliers, 0.0))
