"""Costs of kernel mechanisms on a line without all pairs of secrets, before the deficits of rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dxopt.model.loss import Loss
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels import Path

Array = NDArray[np.float64]
POWERS = {"distance": 1, "squared": 2}
"""The losses that are powers of the distance."""
_FEW_CELLS = 10_000_000
_CLOSE = 1e-9


def costs_of_reports(kernel: Path, weights: Array, prior: Array, loss: Loss, reports: NDArray[np.int64]) -> Array:
    """w_z Σ_x π_x T[x, z] l(x, r), what it costs to report r instead of z: `(n, k)` for k reports, in O(nk) time."""
    with np.errstate(invalid="ignore"):
        costs = prior[:, None] * loss.columns(reports)
    costs[prior == 0] = 0.0
    return kernel.products(costs) * weights[:, None]


def cost_of_power(
    kernel: Path, weights: Array, prior: Array, loss: Loss, table: NDArray[np.int64] | None = None
) -> float | None:
    """The cost of a power of the distance, also where the point `table[z]` is reported instead of z.

    In O(n) time, and as much again for each point between z and `table[z]`; None where these are many, or doubles
    leave it in doubt.
    """
    if table is not None and np.abs(table - np.arange(len(table))).sum() > _FEW_CELLS:
        return None
    power = POWERS[loss.name]
    cost = math.fsum(weights * kernel.moments(prior, power, table))
    return cost if _is_sure(kernel, weights, cost, float(np.ptp(kernel.positions)) ** power) else None


def cost_of_table(
    kernel: Path, weights: Array, prior: Array, loss: Loss, table: NDArray[np.int64], *, points: bool
) -> float | None:
    """The cost where `table[z]` is reported instead of z; None where many reports are in use, or it is in doubt.

    Where what is reported are `points` of the line, powers of the distance may have many of them.
    """
    if points and loss.name in POWERS and (found := cost_of_power(kernel, weights, prior, loss, table)) is not None:
        return found
    used, which = np.unique(table, return_inverse=True)
    if len(used) * len(table) > _FEW_CELLS:
        return None
    costs = costs_of_reports(kernel, weights, prior, loss, used)
    cost = math.fsum(costs[np.arange(len(which)), which])
    largest = float(np.abs(loss.columns(used)[prior > 0]).max())
    return cost if _is_sure(kernel, weights, cost, largest) else None


def _is_sure(kernel: Path, weights: Array, cost: float, largest: float) -> bool:
    """Return True if the cap and the rounding of deficits change a cost by little, for losses up to the largest."""
    doubt = math.exp(-kernel.cap) * float(weights.sum()) + 8 * UNIT
    return math.isfinite(cost) and doubt * largest <= _CLOSE * abs(cost)
