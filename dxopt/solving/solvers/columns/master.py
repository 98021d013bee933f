"""The master program: min c·θ over V θ = b, θ ≥ 0, by Mehrotra's method, stopped while its row prices are central."""

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
THREADS = min(8, os.cpu_count() or 1)
_PARALLEL_FROM = 200
_BLOCK = 1024
_ITERATIONS = 80
_REFINEMENTS = 10
_FITTED = 1e-14
_NOTHING = 1e-24
_LEAST = 1e-100


@dataclass(frozen=True, eq=False)
class Central:
    """A primal and dual point near the central path.

    Attributes
    ----------
    value : float
        c·θ, of the box included.
    rows : (n,) array
        y, the prices of the rows.
    weights : (k,) array
        θ.
    """

    value: float
    rows: Array
    weights: Array


class _Stopped(Exception):
    """Between two blocks of a product."""


@dataclass(frozen=True, eq=False)
class _Coupling:
    """A = (V, I, -I), with unit columns for the rows of bounded prices only; none is ever written."""

    columns: Array
    above: NDArray[np.int64]
    below: NDArray[np.int64]
    should_stop: Callable[[], bool]
    threads: ThreadPoolExecutor

    def times(self, x: Array) -> Array:
        k, ups = self.columns.shape[1], len(self.above)
        total = self.columns @ x[:k]
        total[self.above] += x[k : k + ups]
        total[self.below] -= x[k + ups :]
        return total

    def priced(self, y: Array) -> Array:
        return np.concatenate([self.columns.T @ y, y[self.above], -y[self.below]])

    def factored(self, scaling: Array, ridge: float) -> tuple[Array, bool]:
        """The Cholesky factor of A diag(scaling) A', with a ridge relative to its mean diagonal."""
        k, ups = self.columns.shape[1], len(self.above)
        gram = self._gram(scaling[:k])
        diagonal = np.einsum("ii->i", gram)
        diagonal[self.above] += scaling[k : k + ups]
        diagonal[self.below] += scaling[k + ups :]
        diagonal += ridge * diagonal.mean()
        return sl.cho_factor(gram.T, lower=True, overwrite_a=True, check_finite=False)

    def _gram(self, scaling: Array) -> Array:
        """V diag(scaling) V', by several threads where that pays."""
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
    """Solve to a gap relative to the value and the offset.

    Parameters
    ----------
    columns : (n, k) array
        V.
    costs : (k,) array
    totals : (n,) array
        b.
    accuracy : float
    should_stop : callable
        Asked several times an iteration, by several threads.
    box : pair of (n,) arrays
        Keep prices between the first and the second: where these are finite, θ may miss the rows, at a cost.
    offset : float
    """
    above, below = np.flatnonzero(np.isfinite(box[1])), np.flatnonzero(np.isfinite(box[0]))
    costs = np.concatenate([costs, box[1][above], -box[0][below]])
    with ThreadPoolExecutor(THREADS) as threads:
        return _mehrotra(_Coupling(columns, above, below, should_stop, threads), costs, totals, accuracy, offset)


def _mehrotra(coupling: _Coupling, costs: Array, totals: Array, accuracy: float, offset: float) -> Central:
    n, k = coupling.columns.shape
    scaling = np.ones(len(costs))
    x = y = np.zeros(0)
    try:
        factor = coupling.factored(scaling, 1e-10)
        x = coupling.priced(sl.cho_solve(factor, totals))
        y = sl.cho_solve(factor, coupling.times(costs))
        s = costs - coupling.priced(y)
        x, s = x + max(-1.5 * x.min(), 0.0), s + max(-1.5 * s.min(), 0.0)
        product = x @ s
        x, s = x + 0.5 * product / s.sum(), s + 0.5 * product / x.sum()
        for _ in range(_ITERATIONS):
            short, slack, mean = totals - coupling.times(x), costs - coupling.priced(y) - s, x @ s / len(x)
            value = costs @ x
            apart = max(abs(value - y @ totals), np.abs(y) @ np.abs(short), n * np.abs(slack).max())
            if apart < accuracy * (1e-12 + abs(value + offset)) or mean < _NOTHING * abs(value + offset):
                break
            scaling = x / np.maximum(s, _LEAST * x)
            factor = coupling.factored(scaling, 1e-13)

            def direction(target: Array) -> tuple[Array, Array, Array]:
                needed = short - coupling.times((target - x * slack) / s)  # noqa: B023
                dy = sl.cho_solve(factor, needed, check_finite=False)  # noqa: B023
                ds = slack - coupling.priced(dy)  # noqa: B023
                return (target - x * ds) / s, dy, ds  # noqa: B023

            dx, dy, ds = direction(-x * s)
            ahead = (x + min(1.0, _step(x, dx)) * dx) @ (s + min(1.0, _step(s, ds)) * ds) / len(x) / mean
            dx, dy, ds = direction(ahead**3 * mean - x * s - dx * ds)
            forward, back = min(1.0, 0.99 * _step(x, dx)), min(1.0, 0.99 * _step(s, ds))
            x, y, s = np.maximum(x + forward * dx, _LEAST), y + back * dy, np.maximum(s + back * ds, _LEAST)
        x = _fitted(coupling, factor, scaling, x, totals)
    except (_Stopped, np.linalg.LinAlgError):
        if not len(x):
            return Central(np.inf, np.zeros(n), np.zeros(k))
    return Central(float(costs @ x), y, x[:k])


def _fitted(coupling: _Coupling, factor: tuple[Array, bool], scaling: Array, x: Array, totals: Array) -> Array:
    """Move θ so that the rows sum to their totals up to rounding."""
    for _ in range(_REFINEMENTS):
        short = totals - coupling.times(x)
        if np.abs(short).max() < _FITTED:
            break
        change = scaling * coupling.priced(sl.cho_solve(factor, short, check_finite=False))
        x = x + min(1.0, 0.99 * _step(x, change)) * change
    return x


def _step(values: Array, change: Array) -> float:
    """How far one can go until a value is 0."""
    falling = change < 0
    return float((-values[falling] / change[falling]).min(initial=np.inf))
