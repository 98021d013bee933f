"""Relaxed privacy: (ε, δ) for any metric (HLM14 Def 1; CABP13 §3), measured on channels and proven.

A channel is (εd, δ)-private where Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]) ≤ δ for the ordered pairs that are
bound: the sum is what the worst set of reports exceeds. δ does not add up along chains, so it matters which pairs
those are: all at finite distance, or only adjacent ones, which have no third point between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.numerics.rounding import SMALLEST, UNIT, factor_above
from dxopt.numerics.tropical import implied

Array = NDArray[np.float64]
PAIRS = ("all", "adjacent")
_BLOCK_CELLS = 1 << 15
_SCALE = 2.0**60
_MOST_POWER = math.exp(700.0)
_FIRST_STEP = 2.0**-60
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
        bound &= ~implied(distances)
    np.fill_diagonal(bound, False)
    return bound


def excesses(channel: Array, distances: Array, epsilon: float, bound: NDArray[np.bool_]) -> Array:
    """Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]) for all bound pairs, rounded up, `(n, n)`; 0 for the others.

    e^{εd} counts as a little less than it is, though never as less than 1, and the sum of m terms as a little more.
    Budgets of more than 700 count as 700. Entries are scaled, so that no product is subnormal.
    """
    n, m = channel.shape
    found = np.zeros((n, n))
    for x, others, over in _overs(channel * _SCALE, distances, epsilon, bound):
        found[x, others] = np.maximum(over, 0.0, out=over).sum(axis=1)
    rounded = found * ((1 + 2 * (m + 4) * UNIT) / _SCALE)
    return np.where(found > 0, np.maximum(rounded, SMALLEST), 0.0)


def least_delta(channel: Array, distances: Array, epsilon: float, bound: NDArray[np.bool_]) -> float:
    """The smallest δ at ε, rounded up: the channel is proven (εd, δ)-private on the bound pairs."""
    return float(excesses(channel, distances, epsilon, bound).max(initial=0.0))


def least_epsilon(channel: Array, distances: Array, delta: float, bound: NDArray[np.bool_]) -> float:
    """The smallest ε at δ, up to rounding, with a proof: `least_delta` there is at most δ. May be infinite.

    In t = e^{εd}, the excess of a pair is convex, piecewise linear and falling, so that Newton's method from below
    never passes the t where it meets δ, and gets there in a few steps. All pairs share the highest level so far.
    What rounding still leaves over δ goes with steps that double.
    """
    level, step = 0.0, _FIRST_STEP
    while np.isfinite(level):
        over = excesses(channel, distances, level, bound) > delta
        if not over.any():
            return level
        level = max(_asked(channel, distances, level, delta, over), level * (1 + step))
        step *= 2
    return np.inf


def _asked(channel: Array, distances: Array, level: float, delta: float, pairs: NDArray[np.bool_]) -> float:
    """The level that (Σ a - δ) / Σ b asks of some pair, summed over the reports now in excess, or over one alone."""
    single = np.where(channel > delta, channel - delta, -1.0)
    allowed = delta * (1 - 8 * (channel.shape[1] + 4) * UNIT)
    highest = level
    for x, others, over in _overs(channel, distances, level, pairs):
        behind = channel[others]
        counted = over > 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            together = (counted @ channel[x] - allowed) / np.einsum("kz,kz->k", counted, behind)
            alone = (single[x] / behind).max(axis=1)
            powers = np.fmax(np.fmax(together, alone), 1.0)
            budgets = np.where(powers < _MOST_POWER, np.log(powers) + 64 * UNIT, np.inf)
            highest = max(highest, float((budgets / distances[x, others]).max()) * (1 + 16 * UNIT))
    return highest


def _overs(
    channel: Array, distances: Array, epsilon: float, pairs: NDArray[np.bool_]
) -> Iterator[tuple[int, NDArray[np.int64], Array]]:
    """K[x, z] - e^{εd(x, x')} K[x', z], rounded up, `(k, m)`, for each x and k of the x' in its pairs at a time."""
    n, m = channel.shape
    powers = np.maximum(1 / factor_above(epsilon, np.where(pairs, distances, 0.0)) * (1 - 8 * UNIT), 1.0)
    step = max(1, _BLOCK_CELLS // m)
    for x in range(n):
        others = np.flatnonzero(pairs[x])
        for some in np.split(others, range(step, len(others), step)) if len(others) else ():
            with np.errstate(over="ignore"):
                over = powers[x, some, None] * channel[some]
            yield x, some, np.subtract(channel[x], over, out=over)


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
