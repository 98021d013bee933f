"""The restricted master problem, by Mehrotra's interior-point method, stopped while its prices are central.

The master mixes the columns known so far with weights θ:

    min c·θ  over  V θ = b, θ ≥ 0;      its dual:  max b·y  over  V'y ≤ c.

The dual solution y, the row prices, tells what new columns are worth. A simplex method would return an extreme y, at
which most new columns turn out useless; an interior-point method stopped at a gap returns one near the central path.

Bounds low ≤ y ≤ high on the prices are more columns of the master: +e_x at cost high_x and -e_x at cost -low_x. While
one of these has weight, V θ misses b, and the value is no value of a channel.

Every iteration of the method solves A diag(θ/s) A' dy = ... with A = (V, I, -I) and s = c - A'y, by one Cholesky
factorisation; forming the matrix takes nearly all the time.
"""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

Array = NDArray[np.float64]
Box = tuple[Array, Array]
"""Lower and upper bounds on prices; infinite where there is none."""
THREADS = min(8, os.cpu_count() or 1)
_PARALLEL_FROM = 200
"""Rows from which on several threads pay."""
_BLOCK = 1024
"""Columns that are multiplied at a time, so that a stop is noticed."""
_ITERATIONS = 80
_REFINEMENTS = 10
_FITTED = 1e-14
"""Rows that miss their totals by less need no refinement."""
_NOTHING = 1e-24
"""A mean product below this share of the value is all that doubles can reach."""
_LEAST = 1e-100
"""Weights and slacks stay above this."""
_TO_BOUNDARY = 0.99
"""The share of the way to the boundary that a step goes."""


@dataclass(frozen=True, eq=False)
class Central:
    """A primal and dual point near the central path.

    Attributes
    ----------
    value : float
        c·θ, of the box included.
    prices : (n,) array
        y, the prices of the rows.
    weights : (k,) array
        θ.
    """

    value: float
    prices: Array
    weights: Array


class _Stopped(Exception):
    """Raised between two blocks of a product."""


@dataclass(frozen=True, eq=False)
class _Coupling:
    """A = (V, I, -I), with unit columns for the rows of bounded prices only; it is never written out."""

    columns: Array
    above: NDArray[np.int64]
    below: NDArray[np.int64]
    should_stop: Callable[[], bool]
    threads: ThreadPoolExecutor

    def times(self, x: Array) -> Array:
        """A x."""
        k = self.columns.shape[1]
        ups = len(self.above)
        total = self.columns @ x[:k]
        total[self.above] += x[k : k + ups]
        total[self.below] -= x[k + ups :]
        return total

    def priced(self, y: Array) -> Array:
        """A'y."""
        return np.concatenate([self.columns.T @ y, y[self.above], -y[self.below]])

    def factored(self, scaling: Array, ridge: float) -> tuple[Array, bool]:
        """The Cholesky factor of A diag(scaling) A', with a ridge relative to its mean diagonal."""
        k = self.columns.shape[1]
        ups = len(self.above)
        gram = self._gram(scaling[:k])
        diagonal = np.einsum("ii->i", gram)  # a view
        diagonal[self.above] += scaling[k : k + ups]
        diagonal[self.below] += scaling[k + ups :]
        diagonal += ridge * diagonal.mean()
        return sl.cho_factor(gram.T, lower=True, overwrite_a=True, check_finite=False)

    def _gram(self, scaling: Array) -> Array:
        """V diag(scaling) V', by several threads where that pays; each takes every so many-th block of columns."""
        n, k = self.columns.shape
        threads = THREADS if n >= _PARALLEL_FROM else 1

        def share(thread: int) -> Array:
            total = np.zeros((n, n))
            for start in range(thread * _BLOCK, k, threads * _BLOCK):
                if self.should_stop():
                    raise _Stopped
                part = slice(start, min(start + _BLOCK, k))
                block = self.columns[:, part] * np.sqrt(scaling[part])
                total += block @ block.T
            return total

        if threads == 1:
            return share(0)
        return functools.reduce(operator.iadd, self.threads.map(share, range(threads)))


def solve_master(
    columns: Array,
    costs: Array,
    totals: Array,
    accuracy: float,
    should_stop: Callable[[], bool],
    box: Box,
    offset: float = 0.0,
) -> Central:
    """Solve a restricted master problem to a gap relative to the value and the offset.

    Parameters
    ----------
    columns : (n, k) array
        V.
    costs : (k,) array
        c.
    totals : (n,) array
        b.
    accuracy : float
    should_stop : callable
        Asked several times an iteration, by several threads.
    box : pair of (n,) arrays
        Keep prices between the first and the second: where these are finite, θ may miss the rows, at a cost.
    offset : float
    """
    low, high = box
    above = np.flatnonzero(np.isfinite(high))
    below = np.flatnonzero(np.isfinite(low))
    costs = np.concatenate([costs, high[above], -low[below]])
    with ThreadPoolExecutor(THREADS) as threads:
        return _mehrotra(_Coupling(columns, above, below, should_stop, threads), costs, totals, accuracy, offset)


@dataclass(frozen=True, eq=False)
class _Newton:
    """The Newton system at (x, y, s): A dx = short, A'dy + ds = slack, s dx + x ds = target.

    Eliminating ds, then dx, leaves A diag(x/s) A' dy = short - A (target - x slack) / s, whose matrix is factored
    once for both directions of an iteration.
    """

    coupling: _Coupling
    factor: tuple[Array, bool]
    x: Array
    s: Array
    short: Array
    slack: Array

    def direction(self, target: Array) -> tuple[Array, Array, Array]:
        """dx, dy and ds for a target of the products."""
        needed = self.short - self.coupling.times((target - self.x * self.slack) / self.s)
        dy = sl.cho_solve(self.factor, needed, check_finite=False)
        ds = self.slack - self.coupling.priced(dy)
        dx = (target - self.x * ds) / self.s
        return dx, dy, ds


def _mehrotra(coupling: _Coupling, costs: Array, totals: Array, accuracy: float, offset: float) -> Central:
    """Mehrotra's predictor-corrector method; where it is stopped or breaks down, the point reached."""
    n, k = coupling.columns.shape
    scaling = np.ones(len(costs))
    x = y = np.zeros(0)
    try:
        factor = coupling.factored(scaling, 1e-10)
        x, y, s = _starting_point(coupling, factor, costs, totals)
        for _ in range(_ITERATIONS):
            # 1. residuals of both sides, and the mean product x s, which is 0 at an optimum
            short = totals - coupling.times(x)
            slack = costs - coupling.priced(y) - s
            mean = x @ s / len(x)
            value = costs @ x

            # 2. enough? The gap, and what the residuals may hide of it
            apart = max(abs(value - y @ totals), np.abs(y) @ np.abs(short), n * np.abs(slack).max())
            if apart < accuracy * (1e-12 + abs(value + offset)) or mean < _NOTHING * abs(value + offset):
                break
            scaling = x / np.maximum(s, _LEAST * x)
            factor = coupling.factored(scaling, 1e-13)
            newton = _Newton(coupling, factor, x, s, short, slack)

            # 3. predictor: how much of the mean product a full step to the optimum would leave
            dx, dy, ds = newton.direction(-x * s)
            ahead = (x + min(1.0, _step(x, dx)) * dx) @ (s + min(1.0, _step(s, ds)) * ds) / len(x) / mean

            # 4. corrector: aim at the central path, the nearer the optimum the better that step went; the products
            #    dx ds of the predictor make up for the linearisation
            dx, dy, ds = newton.direction(ahead**3 * mean - x * s - dx * ds)
            forward = min(1.0, _TO_BOUNDARY * _step(x, dx))
            back = min(1.0, _TO_BOUNDARY * _step(s, ds))
            x = np.maximum(x + forward * dx, _LEAST)
            y = y + back * dy
            s = np.maximum(s + back * ds, _LEAST)
        x = _fitted(coupling, factor, scaling, x, totals)
    except (_Stopped, np.linalg.LinAlgError):
        if not len(x):
            return Central(np.inf, np.zeros(n), np.zeros(k))
    return Central(float(costs @ x), y, x[:k])


def _starting_point(
    coupling: _Coupling, factor: tuple[Array, bool], costs: Array, totals: Array
) -> tuple[Array, Array, Array]:
    """Mehrotra's start: least squares for x and y, then x and s shifted until they are positive, and not small."""
    x = coupling.priced(sl.cho_solve(factor, totals))
    y = sl.cho_solve(factor, coupling.times(costs))
    s = costs - coupling.priced(y)
    x = x + max(-1.5 * x.min(), 0.0)
    s = s + max(-1.5 * s.min(), 0.0)
    product = x @ s
    return x + 0.5 * product / s.sum(), y, s + 0.5 * product / x.sum()


def _fitted(coupling: _Coupling, factor: tuple[Array, bool], scaling: Array, x: Array, totals: Array) -> Array:
    """Move θ so that the rows sum to their totals up to rounding, by least squares weighted by the last scaling."""
    for _ in range(_REFINEMENTS):
        short = totals - coupling.times(x)
        if np.abs(short).max() < _FITTED:
            break
        change = scaling * coupling.priced(sl.cho_solve(factor, short, check_finite=False))
        x = x + min(1.0, _TO_BOUNDARY * _step(x, change)) * change
    return x


def _step(values: Array, change: Array) -> float:
    """The step along `change` at which the first value is 0."""
    falling = change < 0
    return float((-values[falling] / change[falling]).min(initial=np.inf))
