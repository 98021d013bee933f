"""Looks for a remap that makes one channel from another, or for gains that show that there is none.

What is found is judged by `order.evidence`, so that nothing here needs to be exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.analysis.order.programs import minimised

Array = NDArray[np.float64]
_RARE = 1e-12
"""Reports that no secret makes more often are left out."""
_NEGATIVE = -1e-7
_DIGITS = 2.0**40
_ROUNDS = 200


def pairs_told_apart(better: Array, worse: Array) -> Iterator[Array]:
    """Yield gains `(n, 2)` about two secrets alone, which B tells apart more than A in some sense.

    (x, x') is told apart by Σ_z max(0, K[x, z] - c K[x', z]): for c = 1 that is total variation; for the largest
    ratio of A in that pair it is 0 for A; the square root of that is between them.
    """
    size = len(better)
    for power in (0.0, 0.5, 1.0):
        levels = _largest_ratios(better) ** power
        ahead = (_told(worse, levels) - _told(better, levels)) / (1 + levels)
        x, other = np.unravel_index(int(ahead.argmax()), ahead.shape)
        if ahead[x, other] > 0:
            found = np.zeros((size, 2))
            found[x, 0] = 1.0
            found[other, 1] = levels[x, other]
            yield found


def _largest_ratios(channel: Array) -> Array:
    """max_z K[x, z] / K[x', z], `(n, n)`, where 0 / 0 does not count; 1 where it is infinite."""
    found = np.ones((len(channel), len(channel)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for x, row in enumerate(channel):
            found[x] = np.where(row > 0, row / channel, 0.0).max(axis=1)
    return np.where(np.isfinite(found), found, 1.0)


def _told(channel: Array, level: Array) -> Array:
    """Σ_z max(0, K[x, z] - c[x, x'] K[x', z]), `(n, n)`."""
    return np.stack([np.maximum(row - level[x][:, None] * channel, 0.0).sum(axis=1) for x, row in enumerate(channel)])


def by_algebra(better: Array, worse: Array) -> tuple[Array | None, Array | None]:
    """The remap `(a, b)` that A·R = B leaves, where the columns of A are independent; or gains `(n, 2)` against any.

    Where that remap has a negative entry, the column of B is outside of the cone of the columns of A: what is left of
    it after a projection on the cone (Lawson and Hanson 1974) has no positive product with any column of A, and a
    positive one with the column of B.
    """
    # 1. Reports that are multiples of each other say the same, and count as one; hardly any use of a report is none.
    kinds, columns = _kinds(better)
    # 2. the only solution
    solved, _, rank, _ = np.linalg.lstsq(columns, worse)
    if rank < columns.shape[1]:
        return None, None
    if solved.min() > _NEGATIVE:
        remap = np.zeros((better.shape[1], worse.shape[1]))
        remap[kinds >= 0] = np.maximum(solved, 0.0)[kinds[kinds >= 0]]
        return remap, None
    return None, outside_of_cone(columns, worse[:, solved.min(axis=0).argmin()])


def _kinds(channel: Array) -> tuple[NDArray[np.int64], Array]:
    """Group reports that are multiples of each other, `(m,)`, and sum them, `(n, k)`; -1 where hardly used."""
    used = np.flatnonzero(channel.max(axis=0) > _RARE)
    columns = channel[:, used]
    profiles = np.round(columns / columns.sum(axis=0), 10)
    which = np.unique(profiles, axis=1, return_inverse=True)[1].reshape(-1)
    kinds = np.full(channel.shape[1], -1, dtype=np.int64)
    kinds[used] = which
    sums = np.zeros((len(channel), int(which.max()) + 1))
    np.add.at(sums.T, which, columns.T)
    return kinds, sums


def outside_of_cone(columns: Array, column: Array) -> Array | None:
    """Gains `(n, 2)` by which a column `(n,)` is outside of the cone of others `(n, a)`, or None."""
    from scipy.optimize import nnls

    try:
        nearest, distance = nnls(columns, column)
    except RuntimeError:
        return None
    left = column - columns @ nearest
    if not distance > 0:
        return None
    left /= np.abs(left).max()
    # guess 1 gains `left`, guess 2 nothing; both raised by as much as makes them 0 or more
    return np.stack([np.maximum(left, 0.0), np.maximum(-left, 0.0)], axis=1)


def columns_outside(better: Array, worse: Array) -> Iterator[Array]:
    """Yield gains for the columns of B that are outside of the cone of those of A, one after another."""
    used = better[:, better.max(axis=0) > _RARE]
    for column in worse.T:
        if column.max() > _RARE:
            found = outside_of_cone(used, column)
            if found is not None:
                yield found


def by_program(better: Array, worse: Array) -> tuple[Array | None, Array | None]:
    """The remap `(a, b)` of the least shortfall, and the gains `(n, k)` that bound it: a linear program and its dual.

    min t over R ≥ 0, s ≥ 0 with A·R + s ≥ B, Σ_w s[x, w] ≤ t for every secret and Σ_w R[z, w] ≤ 1 for every report;
    the dual of the first rows is Y.
    """
    from scipy import sparse as sp

    secrets, reports = better.shape
    columns = worse.shape[1]
    ones: Any = np.ones((1, columns))
    remapped = sp.kron(sp.eye_array(columns), sp.csr_array(better))
    cells = secrets * columns
    matrix = sp.block_array(
        [
            [-remapped, -sp.eye_array(cells), None],
            [None, sp.kron(ones, sp.eye_array(secrets)), -np.ones((secrets, 1))],
            [sp.kron(ones, sp.eye_array(reports)), None, None],
        ]
    )
    cost = np.zeros(columns * reports + cells + 1)
    cost[-1] = 1.0
    most = np.concatenate([-worse.T.ravel(), np.zeros(secrets), np.ones(reports)])
    found = minimised(cost, matrix, most)
    if found is None:
        return None, None
    remap = found.variables[: columns * reports].reshape(columns, reports).T
    gains = found.multipliers[:cells].reshape(columns, secrets).T
    return remap, gains


def polished(better: Array, worse: Array, remap: Array) -> Array:
    """A remap `(a, b)` nearer to A·R = B: projections on that, on rows that sum to 1, and on R ≥ 0, in turn."""
    inverse = np.linalg.pinv(better, rcond=_RARE)
    for _ in range(_ROUNDS):
        remap = remap + inverse @ (worse - better @ remap)
        # what rows lack is no combination of reports that anybody sees, as A·R and B have the same row sums
        remap = np.maximum(remap + (1 - remap.sum(axis=1, keepdims=True)) / remap.shape[1], 0.0)
    return remap


def written_short(gains: Array) -> Array:
    """Gains `(n, k)` from 0 to 1 with 40 binary digits, each guess once; `(n, 0)` if all are 0."""
    largest = gains.max(initial=0.0)
    if not largest > 0:
        return np.zeros((len(gains), 0))
    short = np.rint(np.maximum(gains, 0.0) / largest * _DIGITS) / _DIGITS
    distinct = np.unique(short, axis=1)
    return distinct[:, distinct.max(axis=0) > 0]
