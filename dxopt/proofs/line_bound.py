"""A proven lower bound for problems on a line."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.model.problem import Problem
from dxopt.numerics.rounding import SMALLEST, UNIT, factor_below
from dxopt.proofs.duals import LineDual
from dxopt.spaces.lattices import line_steps

Array = NDArray[np.float64]

_NOISE = 32 * UNIT
_NOTHING = 64 * SMALLEST


def line_bound(problem: Problem, dual: LineDual) -> float:
    """Bound the expected loss of all private channels on a line from below, given prices of any quality.

    Weak duality (see `proofs.bounds`) with the constraints between neighbours alone. In the column of report z
    the reduced costs r = π·l(·, z) - y are eliminated one by one from both ends towards the root of z: what has
    gathered at x moves on along the step of length d as λ = ρ on v_x ≥ e^{-εd} v_next where ρ > 0, and as
    λ = |ρ|e^{εd} on v_next ≥ e^{-εd} v_x where ρ < 0, which is the best that multipliers can do. Instead of ρ a
    double L below it is moved, with every rounding counted against it; moving less leaves a residual of 0 or more
    behind. Where L < 0 is but rounding, or e^{εd} overflows, L stays at x. The bound is Σ y plus, for each x, the
    least of 0, what stays there, and what gathers at roots there: what arrives grows with what is moved, so that
    lower bounds stay lower bounds.
    """
    # For every report z (all arrays of length m): what has gathered at the current point, and at the root of z.
    # For every secret x: the least residual left behind there in any report, at most 0.
    at_root = np.zeros(len(dual.roots))
    left = np.zeros(len(problem.space))
    shrink = factor_below(problem.epsilon, line_steps(problem.space))
    with np.errstate(divide="ignore"):
        grow = np.where(shrink > 0, (1 + 4 * UNIT) / shrink, np.inf)
    # One pass from each end. A report takes part in a pass as long as its root is still ahead.
    for backwards in (False, True):
        gathered = np.zeros(len(dual.roots))
        for rows, costs in problem.cost_blocks(backwards=backwards):
            for row in range(len(rows))[:: -1 if backwards else 1]:
                x = int(rows[row])
                # 1. what arrives at a root in the second pass is added to what the first one left there
                here = dual.roots == x
                if backwards:
                    at_root[here] = _below(at_root[here], gathered[here], np.abs(at_root[here]))
                    active = dual.roots < x
                    step = x - 1
                else:
                    active = dual.roots >= x
                    step = x
                # 2. a lower bound on the reduced cost at x with what has gathered on the way
                price = dual.prices[x]
                size = np.abs(costs[row]) + abs(price)
                low = _below(costs[row] - price, gathered, size)
                if not backwards:
                    at_root[here] = low[here]
                    active = active & ~here
                if not active.any():
                    continue
                # 3. negative amounts no larger than their rounding stay at x; the rest moves on to the next point
                least = _NOISE * (size + np.abs(gathered)) + _NOTHING if grow[step] < np.inf else np.inf
                noise = (low < 0) & (low > -least)
                left[x] = min(left[x], float(np.min(low, where=active & noise, initial=0.0)))
                moved = np.where(active & ~noise, low, 0.0)
                with np.errstate(over="ignore"):
                    gathered = moved * np.where(moved < 0, grow[step] if grow[step] < np.inf else 0.0, shrink[step])
    # Each secret pays at least its price and the least that is left at it.
    np.minimum.at(left, dual.roots, at_root)
    if not np.isfinite(left).all():
        return -math.inf
    total = math.fsum([*dual.prices.tolist(), *left.tolist()])
    return total - 4 * UNIT * abs(total)


def _below(number: Array, other: Array, size: Array) -> Array:
    """Bound the sum of two numbers from below: the first rounded up to three times from terms of a total `size`."""
    return number + other - (8 * UNIT * (size + np.abs(other)) + SMALLEST)
