"""From any matrix to a private channel near it.

Columns are raised to their Lipschitz closure, which puts each in the cone; scaled so that rows sum to nearly 1,
which keeps it there; and what is missing in each row goes to one report, which is safe because the scale is chosen
so that the missing amounts lie in the cone as well, with room for rounding.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import CertificateError
from dxopt.partition import Partition
from dxopt.problem import Problem
from dxopt.rounding import ALIKE, factor_above

NOTHING = 1e-150
ROOM = 2.0**-50
MOST_ROOM = 2.0**-30
_PASSES = 100


def repair(problem: Problem, raw: NDArray[np.float64]) -> NDArray[np.float64]:
    """A channel `(n, m)` that satisfies every privacy constraint in doubles, near `raw`.

    Parameters
    ----------
    problem : Problem
    raw : (n, m) array
        Any numbers; negative and non-finite ones count as 0, larger ones than 1 as 1.

    Raises
    ------
    CertificateError
        If no amount of room makes the result private (never seen; better loud than wrong).
    """
    factors = factor_above(problem.epsilon, problem.space.distances)
    partition = Partition.joining(problem.budgets <= ALIKE)
    factors = -partition.least(-factors)
    np.fill_diagonal(factors, 1.0)
    counts = np.bincount(partition.index)[:, None]
    rows = np.where(np.isfinite(raw) & (raw > NOTHING), np.minimum(raw, 1.0), 0.0)
    rows = close(partition.totals(rows) / counts, factors)
    costs = partition.totals(problem.costs)
    for group in _groups(factors):
        rows[group] = _normalised(rows[group], factors[np.ix_(group, group)], costs[group])
    return partition.expand(rows)


def close(rows: NDArray[np.float64], factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least columns above `rows` with v_b ≥ fl(factors[a, b] v_a) for all a, b, exactly in doubles."""
    closed, order = rows.copy(), range(len(factors))
    for _ in range(_PASSES):
        before = closed.copy()
        for point in order:
            np.maximum(closed, factors[point, :, None] * closed[None, point, :], out=closed)
        if np.array_equal(closed, before):
            return closed
        order = order[::-1]
    raise CertificateError("the closure of the columns did not settle; the distances are numerically degenerate")


def _groups(factors: NDArray[np.float64]) -> list[NDArray[np.int64]]:
    """Rows that some chain of finite budgets joins; different groups share no constraint."""
    islands = Partition.joining(factors > 0)
    return [islands.members(which) for which in range(islands.size)]


def _normalised(
    rows: NDArray[np.float64], factors: NDArray[np.float64], costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    if rows.sum(axis=1).min() < 0.5:
        rows = close(np.maximum(rows, _constant(costs)), factors)
    rows = close(_balanced(rows), factors)
    room = ROOM
    while room < MOST_ROOM:
        scaled = close(rows * _scale(rows, factors, room), factors)
        missing = np.array([math.fsum([1.0, *(-row)]) for row in scaled])
        if missing.min() >= 0:
            scaled[:, int((missing @ costs).argmin())] += missing
            if np.array_equal(close(scaled, factors), scaled):
                return scaled
        room *= 4
    raise CertificateError("no scale of the columns leaves room for the slack report")


def _constant(costs: NDArray[np.float64]) -> NDArray[np.float64]:
    channel = np.zeros_like(costs)
    channel[:, int(costs.sum(axis=0).argmin())] = 1.0
    return channel


def _balanced(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rescale the columns, which keeps each in the cone, so that rows sum to 1 as nearly as least squares can."""
    off = 1 - rows.sum(axis=1)
    weights = 1 + np.linalg.lstsq(rows, off, rcond=1e-12)[0]
    balanced = rows * np.maximum(weights, 0.0)
    better = np.abs(balanced.sum(axis=1) - 1).max() < np.abs(off).max()
    return np.where(balanced > NOTHING, balanced, 0.0) if better else rows


def _scale(rows: NDArray[np.float64], factors: NDArray[np.float64], room: float) -> float:
    """The largest t with 1 - t r_b ≥ factors[a, b] (1 - t r_a) + room for all a ≠ b, and t r ≤ 1 - room."""
    totals = rows.sum(axis=1)
    spread = totals[None, :] - factors * totals[:, None]
    allowed = (1 - factors) - room
    apart = (factors > 0) & ~np.eye(len(rows), dtype=bool) & (spread > 0)
    bound = (allowed[apart] / spread[apart]).min(initial=np.inf)
    return float(min(bound, (1 - room) / totals.max()))
