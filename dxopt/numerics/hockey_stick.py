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

from dxopt.errors import required_choice
from dxopt.numerics.rounding import SMALLEST, UNIT, factor_above
from dxopt.numerics.tropical import implied

Array = NDArray[np.float64]
PAIRS = ("all", "adjacent")
"""Choices of ordered pairs that may be bound."""
_BLOCK_CELLS = 1 << 15  # differences that are computed at a time, so that they stay in cache
_SCALE = 2.0**60  # entries are multiplied by this, so that their products are not subnormal
_MOST_POWER = math.exp(700.0)  # the largest e^{εd} of which an ε is looked for
_FIRST_STEP = 2.0**-60  # the first relative step by which ε is raised where Newton's method is lost in rounding
_PASSES = 100  # passes after which a relaxed closure ends in any case
_SETTLED = 2.0**-50  # it ends when no entry rises by more than this, relative


def bound_pairs(distances: Array, pairs: str = "all") -> NDArray[np.bool_]:
    """Return the mask `(n, n)` of the ordered pairs that are bound, given their distances.

    Raises
    ------
    SpecError
        If `pairs` is neither "all" nor "adjacent".
    """
    required_choice("pairs", pairs, PAIRS)
    bound = np.isfinite(distances)
    if pairs == "adjacent":
        bound &= ~implied(distances)
    np.fill_diagonal(bound, False)
    return bound


def excesses(channel: Array, distances: Array, epsilon: float, bound: NDArray[np.bool_]) -> Array:
    """Return Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]) for bound pairs, rounded up, `(n, n)`; 0 for others.

    e^{εd} counts as a little less than it is, though never as less than 1, and the sum of m terms as a little more.
    Budgets of more than 700 count as 700. Entries are scaled, so that no product is subnormal.
    """
    n, m = channel.shape
    found = np.zeros((n, n))
    for x, others, over in _differences(channel * _SCALE, distances, epsilon, bound):
        found[x, others] = np.maximum(over, 0.0, out=over).sum(axis=1)
    # m differences of one rounding each and their sum: (m + 4)·2^-53 relative covers them, twice that is on the safe
    # side. Scaling back may underflow, so that what is positive counts as the smallest normal double at least.
    rounded = found * ((1 + 2 * (m + 4) * UNIT) / _SCALE)
    return np.where(found > 0, np.maximum(rounded, SMALLEST), 0.0)


def least_delta(channel: Array, distances: Array, epsilon: float, bound: NDArray[np.bool_]) -> float:
    """Return the smallest δ at ε, rounded up: the channel is proven (εd, δ)-private on the bound pairs."""
    return float(excesses(channel, distances, epsilon, bound).max(initial=0.0))


def least_epsilon(channel: Array, distances: Array, delta: float, bound: NDArray[np.bool_]) -> float:
    """Return the smallest ε at δ, up to rounding, with a proof: `least_delta` there is at most δ. May be infinite.

    In t = e^{εd}, the excess of a pair is convex, piecewise linear and falling, so that Newton's method from below
    never passes the t where it meets δ, and gets there in a few steps. All pairs share the largest ε so far.
    What rounding still leaves over δ goes with steps that double.
    """
    epsilon = 0.0
    step = _FIRST_STEP
    while np.isfinite(epsilon):
        # The proof: no excess, rounded up, is over δ.
        over = excesses(channel, distances, epsilon, bound) > delta
        if not over.any():
            return epsilon
        # Near the answer Newton's step may be lost in rounding; the relative one, 2^-60 at first, ends that soon.
        epsilon = max(_newton_step(channel, distances, epsilon, delta, over), epsilon * (1 + step))
        step *= 2
    return np.inf


def _newton_step(channel: Array, distances: Array, epsilon: float, delta: float, pairs: NDArray[np.bool_]) -> float:
    """Return the largest ε that Newton's method moves to for one of the pairs; up to rounding not above the answer.

    With a = K[x, z] and b = K[x', z], the line Σ (a - tb) over the reports now in excess is never above the excess,
    for any t, and is δ at t = (Σ a - δ) / Σ b, which is therefore not above the answer. The same holds of one report.
    """
    # Reports that δ alone covers ask for nothing: their quotient is negative.
    single = np.where(channel > delta, channel - delta, -1.0)
    # A little less than δ, so that the excess after the step, rounded up, is not over it.
    allowed = delta * (1 - 8 * (channel.shape[1] + 4) * UNIT)
    highest = epsilon
    for x, others, over in _differences(channel, distances, epsilon, pairs):
        behind = channel[others]
        counted = over > 0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            whole = (counted @ channel[x] - allowed) / np.einsum("kz,kz->k", counted, behind)
            alone = (single[x] / behind).max(axis=1)
            powers = np.fmax(np.fmax(whole, alone), 1.0)
            # From t back to ε = ln t / d, rounded up; beyond e^700 no ε will do.
            budgets = np.where(powers < _MOST_POWER, np.log(powers) + 64 * UNIT, np.inf)
            highest = max(highest, float((budgets / distances[x, others]).max()) * (1 + 16 * UNIT))
    return highest


def _differences(
    channel: Array, distances: Array, epsilon: float, pairs: NDArray[np.bool_]
) -> Iterator[tuple[int, NDArray[np.int64], Array]]:
    """Yield x, k of the x' in its pairs, and K[x, z] - e^{εd(x, x')} K[x', z], rounded up, `(k, m)`, in blocks."""
    n, m = channel.shape
    # The inverse of an upper bound on e^{-εd} is a lower bound on e^{εd}, with room for the products; never below 1.
    powers = np.maximum(1 / factor_above(epsilon, np.where(pairs, distances, 0.0)) * (1 - 8 * UNIT), 1.0)
    step = max(1, _BLOCK_CELLS // m)
    for x in range(n):
        others = np.flatnonzero(pairs[x])
        for some in np.split(others, range(step, len(others), step)) if len(others) else ():
            with np.errstate(over="ignore"):
                over = powers[x, some, None] * channel[some]
            yield x, some, np.subtract(channel[x], over, out=over)


def relaxed_closure(rows: Array, factors: Array, delta: float) -> Array:
    """Return columns above `rows` in which no pair exceeds its bound by more than δ over all reports, up to rounding.

    A pair (a, b) exceeds it by s_z = max(0, K[a, z] - e^{εd} K[b, z]) in report z. Where these sum to over δ they are
    shrunk in proportion; then K[b, z] is raised to e^{-εd} (K[a, z] - s_z), again until nothing moves. The factors
    `(n, n)` are e^{-εd} for bound pairs, 0 for others.
    """
    closed = rows.copy()
    pairs = np.argwhere(factors > 0)
    # What each pair may exceed in each report: as much as it does now, shrunk to sum to δ.
    allowed = {}
    for a, b in pairs:
        excess = np.maximum(rows[a] - rows[b] / factors[a, b], 0.0)
        total = excess.sum()
        if total > 0:
            allowed[a, b] = excess * min(1.0, delta / total)
    # With these fixed, each pair asks for b to rise with a: a closure, reached by passes over all pairs.
    for _ in range(_PASSES):
        before = closed.copy()
        for a, b in pairs:
            least = factors[a, b] * (closed[a] - allowed.get((a, b), 0.0))
            np.maximum(closed[b], least, out=closed[b])
        if (closed <= before * (1 + _SETTLED)).all():
            break
    return closed
