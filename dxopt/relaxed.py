"""Relaxed privacy: (ε, δ) for any metric (HLM14 Def 1; CABP13 §3), measured on channels and proven.

A channel is (εd, δ)-private where Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]) ≤ δ for the ordered pairs that are
bound: the sum is what the worst set of reports exceeds. δ does not add up along chains, so it matters which pairs
those are: all at finite distance, or only adjacent ones, which have no third point between them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.rounding import UNIT, factor_above
from dxopt.tropical import between

Array = NDArray[np.float64]
PAIRS = ("all", "adjacent")
_SLACK = 1e-12
_SHORTER = 1 - 1e-9
_BLOCK_CELLS = 4_000_000
_NUDGES = 40
_PASSES = 100
_SETTLED = 2.0**-50


def bound_pairs(distances: Array, pairs: str = "all") -> NDArray[np.bool_]:
    """Which ordered pairs `(n, n)` are bound, given their distances.

    Raises
    ------
    SpecError
        If `pairs` is neither "all" nor "adjacent".
    """
    if pairs not in PAIRS:
        raise SpecError("pairs", f"are {pairs!r}", f"choose one of {', '.join(PAIRS)}")
    bound = np.isfinite(distances)
    if pairs == "adjacent":
        bound &= ~between(distances, distances * (1 + _SLACK), distances * _SHORTER)
    np.fill_diagonal(bound, False)
    return bound


def excesses(channel: Array, distances: Array, epsilon: float, bound: NDArray[np.bool_]) -> Array:
    """Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]) for all bound pairs, rounded up, `(n, n)`; 0 for the others.

    e^{εd} counts as a little less than it is, and the sum of m terms as a little more.
    """
    n, m = channel.shape
    powers = 1 / factor_above(epsilon, np.where(bound, distances, 0.0)) * (1 - 8 * UNIT)
    found = np.zeros((n, n))
    step = max(1, _BLOCK_CELLS // m)
    for x in range(n):
        others = np.flatnonzero(bound[x])
        for some in np.split(others, range(step, len(others), step)):
            over = channel[x] - powers[x, some, None] * channel[some]
            found[x, some] = np.maximum(over, 0.0).sum(axis=1)
    return found * (1 + 2 * (m + 4) * UNIT)


def least_delta(channel: Array, distances: Array, epsilon: float, bound: NDArray[np.bool_]) -> float:
    """The smallest δ at ε, rounded up: the channel is proven (εd, δ)-private on the bound pairs."""
    return float(excesses(channel, distances, epsilon, bound).max(initial=0.0))


def least_epsilon(channel: Array, distances: Array, delta: float, bound: NDArray[np.bool_]) -> float:
    """The smallest ε at δ, up to rounding, with a proof: `least_delta` there is at most δ. May be infinite.

    In t = e^{εd}, the excess of a pair is convex, piecewise linear and falling, with corners at the ratios of its
    entries, so that the t where it meets δ is found exactly.
    """
    level = 0.0
    for x, other in np.argwhere(bound & (excesses(channel, distances, 0.0, bound) > delta)):
        level = max(level, _pair_level(channel[x], channel[other], float(distances[x, other]), delta))
        if np.isinf(level):
            return level
    for nudge in range(_NUDGES):
        if least_delta(channel, distances, level, bound) <= delta:
            return level
        level = level * (1 + 2.0 ** (nudge - 50)) or 2.0**-60
    return np.inf


def _pair_level(row: Array, other: Array, distance: float, delta: float) -> float:
    """The smallest ε that keeps Σ_z max(0, row - e^{ε·distance} other) at or below δ."""
    never = float(row[other == 0].sum())
    if never > delta or distance == 0:
        return np.inf
    some = (other > 0) & (row > 0)
    ratios = row[some] / other[some]
    order = np.argsort(-ratios)
    ahead, behind = np.cumsum(row[some][order]) + never, np.cumsum(other[some][order])
    with np.errstate(divide="ignore"):
        meets = (ahead - delta) / behind
    power = float(meets.max(initial=1.0))
    return max(0.0, np.log(power)) / distance


def relaxed_closure(rows: Array, factors: Array, delta: float) -> Array:
    """Columns above `rows` that keep what a pair lacks in all reports together within δ, up to rounding.

    A pair (a, b) lacks s_z = max(0, K[a, z] - e^{εd} K[b, z]) in report z. They are shrunk where they sum to over δ;
    then K[b, z] is raised to e^{-εd} (K[a, z] - s_z), again until nothing moves.

    Parameters
    ----------
    rows : (n, m) array
    factors : (n, n) array
        e^{-εd} for bound pairs, 0 for others.
    delta : float
    """
    closed = rows.copy()
    pairs = np.argwhere(factors > 0)
    allowed = {}
    for a, b in pairs:
        lack = np.maximum(rows[a] - rows[b] / factors[a, b], 0.0)
        total = lack.sum()
        if total > 0:
            allowed[a, b] = lack * min(1.0, delta / total)
    for _ in range(_PASSES):
        before = closed.copy()
        for a, b in pairs:
            least = factors[a, b] * (closed[a] - allowed.get((a, b), 0.0))
            np.maximum(closed[b], least, out=closed[b])
        if (closed <= before * (1 + _SETTLED)).all():
            break
    return closed
