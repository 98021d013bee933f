"""Bounds on e^{-εd} in doubles that hold for the real product of the doubles ε and d.

The one assumption behind every proof in dxopt: NumPy's `exp` and `log` are accurate to 4 units in the last place.
Products and sums follow IEEE 754. The constants below leave room for a handful of further roundings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

UNIT = 2.0**-53
"""The largest relative error of one rounded product or sum, short of underflow."""
SAFETY = 32 * UNIT
"""The margin of a factor: the error of `exp`, of the budget under it, and the product that the factor is used in."""
SMALLEST = 2.0**-1022
"""The smallest normal double; below it products lose digits."""
ALIKE = 2.0**-26
"""Points whose budget is at most this are treated as one: keeping them apart would cost more than it gains."""


def factor_above(epsilon: float, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return doubles G with G ≥ e^{-εd} (1 + 16·2^-53), capped at 1; 0 exactly where d = ∞.

    The margin lets `fl(G·v) ≥ e^{-εd} v` hold for the rounded product, as long as it does not underflow.
    Finite budgets of more than 700 count as 700, so that no factor is subnormal.
    """
    # The rounded product is within half a unit in the last place of εd, so the double below it is at most εd.
    with np.errstate(over="ignore"):
        budget = np.nextafter(epsilon * distances, 0.0)
    # The margin pays for the error of `exp` and leaves 16·2^-53 for the product that the factor is used in.
    factor = np.minimum(np.exp(-np.minimum(budget, 700.0)) * (1 + SAFETY), 1.0)
    return np.where(np.isinf(distances), 0.0, factor)


def factor_below(epsilon: float, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return doubles G with 0 ≤ G ≤ e^{-εd}."""
    # As above, from the other side: this double is at least εd. For a subnormal factor 0 is a bound as well.
    with np.errstate(over="ignore"):
        budget = np.nextafter(epsilon * distances, np.inf)
    factor = np.exp(-budget) * (1 - SAFETY)
    return np.where(distances == 0, 1.0, np.where(factor < SMALLEST, 0.0, factor))


def deficit(row: NDArray[np.float64]) -> float:
    """Return 1 minus the sum of a row `(n,)`, with the accuracy of `row_sums`."""
    return float(row_sums(np.concatenate([[1.0], -row])[None, :])[0])


def row_sums(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of each row, `(k, n)` to `(k,)`, by NumPy alone: pairs are added, errors are kept.

    Off by at most 2^-53 of the sum and n log2(n)·2^-105 of the sum of sizes: each addition of two is exact but for
    what Knuth's two-sum finds that it lost (Ogita, Rump and Oishi 2005).
    """
    lost = np.zeros((len(rows), 1))
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        first, second, odd = rows[:, :half], rows[:, half : 2 * half], rows[:, 2 * half :]
        after = first + second
        added = after - first
        error = (first - (after - added)) + (second - added)
        lost = lost + error.sum(axis=1, keepdims=True)
        rows = np.concatenate([after, odd], axis=1)
    return (rows.sum(axis=1, keepdims=True) + lost)[:, 0]


AT_ONCE = 1 << 22
"""Amounts that are summed at once, as each takes some memory."""


def totals(
    indices: tuple[NDArray[np.int64], NDArray[np.int64]], amounts: NDArray[np.float64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    """Return the amounts `(t,)` summed at their indices, rows and columns, as a matrix of this shape.

    They are added one after another: k amounts of 0 or more are summed to k·2^-53 relative, to first order.
    """
    summed = np.zeros(shape)
    for start in range(0, len(amounts), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        add_at(summed, (indices[0][some], indices[1][some]), amounts[some])
    return summed


def add_at(
    summed: NDArray[np.float64], indices: tuple[NDArray[np.int64], NDArray[np.int64]], amounts: NDArray[np.float64]
) -> None:
    """Add amounts `(t,)` at their indices, rows and columns, to a matrix, one after another; what overflows is ∞."""
    with np.errstate(over="ignore"):
        np.add.at(summed.reshape(-1), np.ravel_multi_index(indices, summed.shape), amounts)
