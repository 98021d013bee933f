"""The kernel mechanism with equilibrium weights: private at the level that it realises, on any symmetric space.

K[x, z] = e^{-s·b(x, z)} w_z / R_x for the budgets b = εd, a share s of them, weights w ≥ 0 and the row sums R of
e^{-s·b} diag(w). It is private at ε exactly if ln R_x' - ln R_x ≤ (1 - s) b(x, x') for all pairs, so that the flatter
R is, the nearer s may be to 1. The weights are the equilibrium of the kernel Φ = e^{-s·b}, the one w with

    w ≥ 0,   Φw ≥ 1,   and (Φw)_x = 1 wherever w_x > 0,

the minimum of w'Φw/2 - Σw over w ≥ 0 where Φ is positive definite, as for Euclidean distances and those of trees.
Where Φw = 1 has a solution w ≥ 0 for s = 1, that is the tight-constraints mechanism. For many points there are
weights near these, by multiplicative updates: they need no systems, and give a share that is some per cent less.
"""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

from dxopt.numerics.partition import Partition
from dxopt.numerics.rounding import ALIKE

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_LEAST_SHARE = 0.5
"""Private with any weights, as R_x' ≤ e^{s·b(x, x')} R_x."""
_CLOSE = 0.98
"""A realised level from this part of ε on is near enough."""
_BELOW = 0.999
"""What the next share aims at, in parts of ε: the level is nearly proportional to it."""
_ROUNDING = 1e-12
"""The level may exceed ε by this part of it, as rounding is left to the proof."""
_MOST_SHARES = 6
_MOST_PIVOTS = 40
_NEGATIVE = 1e-10
_BROKEN = 1e-9
"""Weights below 0 by less than the first, in parts of the largest, and sums below 1 by less than the second, count as
right: R comes from the weights as they are."""
_BLOCK = 2_000_000
UPDATES = 30
"""Passes for each share that is tried."""


def equilibrium_kernel(budgets: Array, *, roughly: bool = False) -> Array:
    """Return the channel `(n, n)` of the largest share s, within some per cent, at which it is private.

    Parameters
    ----------
    budgets : (n, n) array
        b, symmetric and obeying the triangle inequality; infinite ones bind nothing.
    roughly : bool
        Take weights by updates, in time O(n²), as is done where the kernel is not positive definite.
    """
    # 1. of points that cannot be told apart one has the weight of all
    first = Partition.joining(budgets <= ALIKE).representatives
    among = budgets[np.ix_(first, first)]

    # 2. lower the share in proportion to the level that it realises
    share = 1.0
    held = np.ones(len(first), dtype=bool)
    weights = np.ones(len(first))
    found: tuple[float, Array] | None = None
    for attempt in range(_MOST_SHARES):
        kernel = np.exp(-share * among)
        try:
            weights, held = (updated_weights(kernel, weights), held) if roughly else equilibrium_weights(kernel, held)
        except np.linalg.LinAlgError:
            roughly = True
            weights = updated_weights(kernel, weights)
        sums = kernel @ weights
        level = share + _steepest(np.log(sums), among) if sums.min() > 0 else np.inf
        if level <= 1 + _ROUNDING and (found is None or share > found[0]):
            found = share, weights
        if share == _LEAST_SHARE or _CLOSE <= level <= 1 + _ROUNDING or attempt == _MOST_SHARES - 1:
            break
        share = min(1.0, max(_LEAST_SHARE, _BELOW * share / level))
    share, weights = found or (_LEAST_SHARE, weights)

    # 3. the channel for all points
    channel = np.zeros(budgets.shape)
    channel[:, first] = np.exp(-share * budgets[:, first]) * weights
    channel /= channel.sum(axis=1, keepdims=True)
    return channel


def equilibrium_weights(kernel: Array, held: Mask) -> tuple[Array, Mask]:
    """Return the equilibrium weights of a kernel `(k, k)`, and the points that have some, from a guess of these.

    By block pivoting: all points on the wrong side change it, or just the last of them where their number does not
    fall for some time (Júdice and Pires 1994). LinAlgError where the kernel is not positive definite.
    """
    fewest, patience = len(kernel) + 1, 3
    weights = np.zeros(len(kernel))
    for _ in range(_MOST_PIVOTS):
        # 1. the weights for which sums over the points that are held are 1
        some = np.flatnonzero(held)
        factor = scipy.linalg.cho_factor(kernel[np.ix_(some, some)], lower=True, check_finite=False)
        weights = np.zeros(len(kernel))
        weights[some] = scipy.linalg.cho_solve(factor, np.ones(len(some)), check_finite=False)

        # 2. the points on the wrong side: held ones of negative weight, others of a sum below 1
        negative = held & (weights < -_NEGATIVE * np.abs(weights).max())
        wrong = negative | (~held & (kernel @ weights < 1 - _BROKEN))
        count = int(wrong.sum())
        if not count:
            break
        patience = 3 if count < fewest else patience - 1
        fewest = min(fewest, count)
        if patience < 0:
            wrong[: np.flatnonzero(wrong).max()] = False
        held = held ^ wrong
    return np.maximum(weights, 0.0), held


def updated_weights(kernel: Array, weights: Array) -> Array:
    """Return weights of a kernel `(k, k)` after some passes of w ← w / Φw, under which Σw - w'Φw/2 grows."""
    short = kernel.astype(np.float32)
    for _ in range(UPDATES):
        weights = weights / (short @ weights.astype(np.float32))
    return weights


def _steepest(heights: Array, budgets: Array) -> float:
    """Return the largest (h_b - h_a) / b(a, b) over all pairs, 0 or more, for heights `(n,)`."""
    steepest = 0.0
    step = max(1, _BLOCK // len(heights))
    for start in range(0, len(heights), step):
        rows = slice(start, start + step)
        apart = budgets[rows]
        rise = np.divide(np.abs(heights[rows, None] - heights), apart, out=np.zeros(apart.shape), where=apart > ALIKE)
        steepest = max(steepest, float(rise.max()))
    return steepest
