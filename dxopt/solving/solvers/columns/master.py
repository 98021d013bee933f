"""The restricted master problem, by Mehrotra's interior-point method, stopped while its prices are central.

The master mixes the columns known so far, those of V, with weights θ:

    min c·θ  over  V θ = b, θ ≥ 0;      its dual:  max b·y  over  V'y + s = c, s ≥ 0.

Here c_j is what column j costs in all, y_x the price of row x, s the slacks of the dual, and b the totals of the
rows: 1, but for shared rows (`shared`). The prices y tell what new columns are worth.

**Central prices.** A simplex method would return an extreme y, at which most new columns turn out useless. The
central path consists of the points with equal products θ_j s_j; y is central when it lies near the path, away from
its end. Every step aims at the path, and the method stops at the gap it is asked for, `accuracy`, which the caller
ties to the gap of the whole problem (`rounds`). Nothing measures how central the result is.

**The box.** Bounds low ≤ y ≤ high on the prices are more columns of the master, the unit columns: +e_x at cost
high_x and -e_x at cost -low_x, as their constraints in the dual are y_x ≤ high_x and -y_x ≤ -low_x. While one of
these has weight, V θ misses b, and the value is no value of a channel.

From here on W = (V, I, -I), with unit columns where bounds are finite, and θ, c and s have entries for all of W.
Every iteration solves W diag(θ/s) W' dy = ... by one Cholesky factorisation; forming the matrix takes nearly all the
time.
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
"""Rows that miss their totals, which are about 1, by less need no refinement."""
_START_RIDGE = 1e-10
_RIDGE = 1e-13
"""Added to the matrix, relative to its mean diagonal, so that dependent rows do no harm. The start may be rough."""
_NOTHING = 1e-24
"""At a mean product θ_j s_j below this share of the value, the gap, their sum, is lost in its rounding."""
_LEAST = 1e-100
"""Weights and slacks stay above this."""
_TO_BOUNDARY = 0.99
"""The share of the way to the boundary that a step goes."""


@dataclass(frozen=True, eq=False)
class Central:
    """A primal and dual point near the central path.

    It does not tell how the method ended; the caller asks `should_stop` itself. After a normal end W θ = b, nearly
    always up to rounding. Stopped or broken down, it is the point reached, whose rows may miss their totals. Ended
    before it began, its value is infinite, its prices and weights 0.

    Attributes
    ----------
    value : float
        c·θ over all of W: what the unit columns of the box cost is included.
    prices : (n,) array
        y, the prices of the rows.
    weights : (k,) array
        θ for the columns of V alone; where the box has weight they do not sum to b.
    """

    value: float
    prices: Array
    weights: Array


class _Stopped(Exception):
    """Raised between two blocks of a product."""


@dataclass(frozen=True, eq=False)
class _Coupling:
    """W = (V, I, -I), with unit columns for the rows of bounded prices only; it is never written out.

    Attributes
    ----------
    columns : (n, k) array
        V.
    above, below : arrays
        The rows whose prices are bounded from above, and from below.
    should_stop : callable
    threads : ThreadPoolExecutor
    """

    columns: Array
    above: NDArray[np.int64]
    below: NDArray[np.int64]
    should_stop: Callable[[], bool]
    threads: ThreadPoolExecutor

    def times(self, theta: Array) -> Array:
        """W θ."""
        k = self.columns.shape[1]
        ups = len(self.above)
        total = self.columns @ theta[:k]
        total[self.above] += theta[k : k + ups]
        total[self.below] -= theta[k + ups :]
        return total

    def priced(self, y: Array) -> Array:
        """W'y."""
        return np.concatenate([self.columns.T @ y, y[self.above], -y[self.below]])

    def factored(self, scaling: Array, ridge: float) -> tuple[Array, bool]:
        """The Cholesky factor of W diag(scaling) W', with a ridge relative to its mean diagonal."""
        k = self.columns.shape[1]
        ups = len(self.above)
        gram = self._gram(scaling[:k])
        diagonal = np.einsum("ii->i", gram)  # a view
        diagonal[self.above] += scaling[k : k + ups]
        diagonal[self.below] += scaling[k + ups :]
        diagonal += ridge * diagonal.mean()
        # the matrix is symmetric; its transpose has the order of Fortran, so that LAPACK works in place
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
                block = self.columns[:, part] * np.sqrt(scaling[part])  # NumPy takes B B' at half the price
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
        V; of each column the greatest entry is about 1.
    costs : (k,) array
        c, not all 0.
    totals : (n,) array
        b.
    accuracy : float
        That relative gap: the method stops below it.
    should_stop : callable
        Asked several times an iteration, by several threads.
    box : pair of (n,) arrays
        Keep prices between the first and the second: where these are finite, V θ may miss the totals, at a cost.
    offset : float
        A constant of the objective that is not in c: the gap is relative to value + offset. The value is without it.
    """
    low, high = box
    above = np.flatnonzero(np.isfinite(high))
    below = np.flatnonzero(np.isfinite(low))
    costs = np.concatenate([costs, high[above], -low[below]])
    with ThreadPoolExecutor(THREADS) as threads:
        return _mehrotra(_Coupling(columns, above, below, should_stop, threads), costs, totals, accuracy, offset)


@dataclass(frozen=True, eq=False)
class _Newton:
    """The Newton system at (θ, y, s): W dθ = short, W'dy + ds = unpriced, s dθ + θ ds = target.

    The residuals are short = b - W θ of the primal and unpriced = c - W'y - s of the dual. Eliminating ds, then dθ,
    leaves W diag(θ/s) W' dy = short - W (target - θ unpriced) / s, whose matrix is factored once for both directions
    of an iteration.
    """

    coupling: _Coupling
    factor: tuple[Array, bool]
    theta: Array
    s: Array
    short: Array
    unpriced: Array

    def direction(self, target: Array) -> tuple[Array, Array, Array]:
        """dθ, dy and ds for a target of the change of the products θ s."""
        needed = self.short - self.coupling.times((target - self.theta * self.unpriced) / self.s)
        dy = sl.cho_solve(self.factor, needed, check_finite=False)
        ds = self.unpriced - self.coupling.priced(dy)
        d_theta = (target - self.theta * ds) / self.s
        return d_theta, dy, ds


def _mehrotra(coupling: _Coupling, costs: Array, totals: Array, accuracy: float, offset: float) -> Central:
    """Mehrotra's predictor-corrector method; where it is stopped or breaks down, the point reached.

    θ and s stay positive. `factor` always belongs to `scaling`: 1 at first, then the last θ/s that was factored.
    """
    n, k = coupling.columns.shape
    scaling = np.ones(len(costs))
    theta = y = np.zeros(0)
    factor = np.zeros((n, n)), True
    try:
        factor = coupling.factored(scaling, _START_RIDGE)
        theta, y, s = _starting_point(coupling, factor, costs, totals)
        for _ in range(_ITERATIONS):
            # 1. residuals of both sides, and the mean product θ s, which is 0 at an optimum
            short = totals - coupling.times(theta)
            unpriced = costs - coupling.priced(y) - s
            mean = theta @ s / len(theta)
            value = costs @ theta

            # 2. enough? The gap is c·θ - b·y = θ·s + unpriced·θ - y·short, so residuals may hide some of it. The
            #    weights of V sum to n at most where V θ = 1, as the greatest entry of each column is 1
            apart = max(abs(value - y @ totals), np.abs(y) @ np.abs(short), n * np.abs(unpriced).max())
            if apart < accuracy * (1e-12 + abs(value + offset)) or mean < _NOTHING * abs(value + offset):
                break
            ratios = theta / np.maximum(s, _LEAST * theta)
            factor, scaling = coupling.factored(ratios, _RIDGE), ratios
            newton = _Newton(coupling, factor, theta, s, short, unpriced)

            # 3. predictor: how much of the mean product a full step to the optimum would leave
            d_theta, dy, ds = newton.direction(-theta * s)
            after = (theta + min(1.0, _step(theta, d_theta)) * d_theta) @ (s + min(1.0, _step(s, ds)) * ds)
            ahead = after / len(theta) / mean

            # 4. corrector: aim at the central path, the nearer the optimum the better that step went; the products
            #    dθ ds of the predictor make up for the linearisation
            d_theta, dy, ds = newton.direction(ahead**3 * mean - theta * s - d_theta * ds)
            forward = min(1.0, _TO_BOUNDARY * _step(theta, d_theta))
            back = min(1.0, _TO_BOUNDARY * _step(s, ds))
            theta = np.maximum(theta + forward * d_theta, _LEAST)
            y = y + back * dy
            s = np.maximum(s + back * ds, _LEAST)
        theta = _fitted(coupling, factor, scaling, theta, totals)
    except (_Stopped, np.linalg.LinAlgError) as end:
        if not len(theta):
            return Central(np.inf, np.zeros(n), np.zeros(k))
        if isinstance(end, _Stopped):
            theta = _fitted(coupling, factor, scaling, theta, totals)
    return Central(float(costs @ theta), y, theta[:k])


def _starting_point(
    coupling: _Coupling, factor: tuple[Array, bool], costs: Array, totals: Array
) -> tuple[Array, Array, Array]:
    """Mehrotra's start: least squares for θ and y, then θ and s shifted until they are positive, and not small.

    Neither sum is 0. θ is not 0, as b is not. s = 0 would say c = W'y, and with the ridge that y is 0 only for c = 0.
    """
    theta = coupling.priced(sl.cho_solve(factor, totals))
    y = sl.cho_solve(factor, coupling.times(costs))
    s = costs - coupling.priced(y)
    theta = theta + max(-1.5 * theta.min(), 0.0)
    s = s + max(-1.5 * s.min(), 0.0)
    product = theta @ s
    return theta + 0.5 * product / s.sum(), y, s + 0.5 * product / theta.sum()


def _fitted(coupling: _Coupling, factor: tuple[Array, bool], scaling: Array, theta: Array, totals: Array) -> Array:
    """Move θ so that W θ = b up to rounding, by least squares weighted by the last scaling: small weights move less.

    It takes several passes, as the ridge makes each one inexact, and weights stay positive.
    """
    for _ in range(_REFINEMENTS):
        short = totals - coupling.times(theta)
        if np.abs(short).max() < _FITTED:
            break
        change = scaling * coupling.priced(sl.cho_solve(factor, short, check_finite=False))
        theta = theta + min(1.0, _TO_BOUNDARY * _step(theta, change)) * change
    return theta


def _step(values: Array, change: Array) -> float:
    """The step along `change` at which the first value is 0; infinite where none falls."""
    falling = change < 0
    with np.errstate(over="ignore"):
        return float((-values[falling] / change[falling]).min(initial=np.inf))
