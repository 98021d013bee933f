"""The proof of privacy: every pair of secrets in every report, in doubles with each rounding counted."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.model.problem import Problem
from dxopt.numerics.number_syntax import digits_up
from dxopt.numerics.rounding import UNIT, factor_above
from dxopt.proofs.on_workers import product

Array = NDArray[np.float64]

ROW_SUM_ERROR = 2.0**-50
"""Largest distance from 1 of the row sums of any proven mechanism; `require_channel` proves it."""

_ROUNDING = 8 * UNIT


def prove_private(problem: Problem, channel: Array) -> float:
    """Prove that a channel `(n, m)` is private, and return its realised ε.

    With W ≥ (1 - 3·2^-53) max_z K[x, z] / K[x', z] and G ≥ e^{-εd} (1 + 16·2^-53), the pair (x, x') is private
    where fl(W·G) ≤ 1 + 8·2^-53. A pair with K[x', z] ≥ fl(G·K[x, z]) in every report z is within that, also where
    both sides were rounded once more, as the repair leaves it. Where G is capped at 1, rows are compared themselves.

    CertificateError names a pair and a report for which that is not proven, or a row that does not sum to 1.
    """
    require_channel(channel)
    distances = problem.space.distances
    worst = _worst_ratios(channel)
    broken = broken_pairs(channel, factor_above(problem.epsilon, distances), worst)
    if broken.any():
        x, other = (int(index) for index in np.unravel_index(int(broken.argmax()), broken.shape))
        report, _ = worst_report(channel, x, other)
        labels = problem.space.labels
        raise CertificateError(
            f"secrets {labels[x]} and {labels[other]} are told apart by report "
            f"{problem.reports.labels[report]}: {channel[x, report]:.17g} against "
            f"{channel[other, report]:.17g} with a budget of {problem.budgets[x, other]:.6g}"
        )
    return min(_level_of(worst, distances), problem.epsilon)


def broken_pairs(channel: Array, factors: Array, worst: Array | None = None) -> NDArray[np.bool_]:
    """Return the pairs of secrets `(n, n)` whose privacy is not proven, as a mask.

    Parameters
    ----------
    channel : (n, m) array
    factors : (n, n) array
        G ≥ e^{-εd}; 0 where nothing is asked for.
    worst : (n, n) array, optional
        The W of `prove_private`, where it is known.
    """
    # 1. the largest ratio of two rows in any report against e^{-εd}, both rounded up
    worst = _worst_ratios(channel) if worst is None else worst
    broken = np.multiply(worst, factors, out=np.zeros(factors.shape), where=factors > 0) > 1 + _ROUNDING
    # 2. pairs whose budget is (nearly) 0 must have equal rows, which ratios cannot tell
    broken |= _unequal_rows(channel, factors == 1)
    np.fill_diagonal(broken, False)
    return broken


def require_channel(channel: Array) -> None:
    """Raise CertificateError unless entries are probabilities and rows sum to 1 up to 2^-50."""
    if not np.isfinite(channel).all() or (channel < 0).any():
        raise CertificateError("the channel has entries that are no probabilities")
    off = [abs(math.fsum([-1.0, *row])) for row in channel]
    if max(off) > ROW_SUM_ERROR:
        raise CertificateError(
            f"row {int(np.argmax(off))} of the channel sums to 1 only within {digits_up(max(off), 2):.1e}"
        )


def _worst_ratios(channel: Array) -> Array:
    """Return max_z K[x, z] / K[x', z] of all pairs, `(n, n)`, to 3·2^-53 relative; ∞ where 1 / K[x', z] overflows.

    Entries of 0 ask for nothing, whatever they are divided by: -1 keeps their products out of the maximum.
    """
    inverse = np.full(channel.shape[::-1], np.inf)
    with np.errstate(over="ignore"):
        np.divide(1.0, channel.T, out=inverse, where=channel.T > 0)
    return product(np.where(channel > 0, channel, -1.0), inverse)


def _unequal_rows(channel: Array, alike: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return those of the pairs `alike` `(n, n)` where K[x, z] > K[x', z] for some z, compared exactly."""
    # rows of the same bytes are equal: only others are compared
    kinds: dict[bytes, int] = {}
    kind = np.array([kinds.setdefault(row.tobytes(), len(kinds)) for row in channel])
    doubtful = alike & (kind[:, None] != kind)
    for x, other in np.argwhere(doubtful):
        doubtful[x, other] = (channel[x] > channel[other]).any()
    return doubtful


def provable_level(channel: Array, distances: Array) -> float:
    """Return the least ε that `prove_private` proves, rounded up; rows at distance 0, to be equal, do not count."""
    return _level_of(_worst_ratios(channel), distances)


def _level_of(worst: Array, distances: Array) -> float:
    """Return the least ε that allows the largest ratios `worst` of all pairs, rounded up."""
    counted = np.isfinite(distances) & (distances > 0)
    with np.errstate(over="ignore"):
        levels = (np.log(worst[counted]) + 64 * UNIT) / distances[counted]
    return float(levels.max(initial=0.0)) * (1 + 16 * UNIT)


def realised_levels(channel: Array, distances: Array) -> Array:
    """Return the least ε that allows the ratios of each ordered pair, `(n, n)`, as near as doubles tell.

    Infinite where no ε does, as for different rows at distance 0; 0 where nothing is asked for.
    """
    worst = _worst_ratios(channel)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        levels = np.log(np.maximum(worst, 1.0)) / distances
    levels[np.isinf(distances)] = 0.0
    levels[distances == 0] = np.where(_unequal_rows(channel, distances == 0)[distances == 0], np.inf, 0.0)
    return levels


def worst_report(channel: Array, x: int, other: int) -> tuple[int, float]:
    """Return the report that tells one row most from another, and the ratio of their entries there."""
    with np.errstate(divide="ignore", over="ignore"):
        ratios = np.divide(channel[x], channel[other], out=np.zeros(channel.shape[1]), where=channel[x] > 0)
    report = int(ratios.argmax())
    return report, float(ratios[report])
