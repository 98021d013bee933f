"""The master program: min c·θ over V θ = 1, θ ≥ 0, by Mehrotra's method, stopped while its row prices are central."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Central:
    """A primal and dual point near the central path.

    Attributes
    ----------
    value : float
        c·θ.
    rows : (n,) array
        y.
    weights : (k,) array
        θ.
    """

    value: float
    rows: Array
    weights: Array


def solve_master(columns: Array, costs: Array, accuracy: float, should_stop: Callable[[], bool]) -> Central:
    """Solve to a relative gap.

    Parameters
    ----------
    columns : (n, k) array
        V.
    costs : (k,) array
    accuracy : float
    should_stop : callable
        Asked once an iteration.
    """
    n, k = columns.shape
    ones, diagonal = np.ones(n), np.arange(n)

    def factored(weights: Array | None) -> tuple[Array, bool]:
        scaled = columns if weights is None else columns * np.sqrt(weights)
        gram = scaled @ scaled.T
        gram[diagonal, diagonal] += (1e-10 if weights is None else 1e-13) * np.trace(gram) / n
        return sl.cho_factor(gram, overwrite_a=True, check_finite=False)

    factor, scaling = factored(None), np.ones(k)
    x, y = columns.T @ sl.cho_solve(factor, ones), sl.cho_solve(factor, columns @ costs)
    s = costs - columns.T @ y
    x, s = x + max(-1.5 * x.min(), 0.0), s + max(-1.5 * s.min(), 0.0)
    product = x @ s
    x, s = x + 0.5 * product / s.sum(), s + 0.5 * product / x.sum()
    scale = max(1.0, float(np.abs(costs).max()))
    for _ in range(80):
        short, slack, mean = ones - columns @ x, costs - columns.T @ y - s, x @ s / k
        done = np.abs(short).max() < 1e-8 and np.abs(slack).max() < 1e-9 * scale
        if (done and abs(costs @ x - y.sum()) < accuracy * (1e-12 + abs(costs @ x))) or should_stop():
            break
        try:
            factor, scaling = factored(x / s), x / s
        except np.linalg.LinAlgError:
            break

        def direction(target: Array) -> tuple[Array, Array, Array]:
            dy = sl.cho_solve(factor, short - columns @ ((target - x * slack) / s), check_finite=False)  # noqa: B023
            ds = slack - columns.T @ dy  # noqa: B023
            return (target - x * ds) / s, dy, ds  # noqa: B023

        dx, dy, ds = direction(-x * s)
        ahead = (x + min(1.0, _step(x, dx)) * dx) @ (s + min(1.0, _step(s, ds)) * ds) / k / mean
        dx, dy, ds = direction(ahead**3 * mean - x * s - dx * ds)
        forward, back = min(1.0, 0.99 * _step(x, dx)), min(1.0, 0.99 * _step(s, ds))
        x, y, s = x + forward * dx, y + back * dy, s + back * ds
    for _ in range(2):
        change = scaling * (columns.T @ sl.cho_solve(factor, ones - columns @ x, check_finite=False))
        x = x + min(1.0, 0.99 * _step(x, change)) * change
    return Central(float(costs @ x), y, x)


def _step(values: Array, change: Array) -> float:
    """How far one can go until a value is 0."""
    falling = change < 0
    return float((-values[falling] / change[falling]).min(initial=np.inf))
