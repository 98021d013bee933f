"""The matrix of the restricted master problem: columns, and the unit columns of the box."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
THREADS = min(8, os.cpu_count() or 1)
_PARALLEL_FROM = 200
"""Rows from which on several threads pay."""
_BLOCK = 1024
"""Columns that are multiplied at a time, so that a stop is noticed."""


class Stopped(Exception):
    """Raised between two blocks of a product."""


@dataclass(frozen=True, eq=False)
class Coupling:
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

    def gram(self, scaling: Array, ridge: float) -> Array:
        """W diag(scaling) W', with a ridge relative to its mean diagonal."""
        k = self.columns.shape[1]
        ups = len(self.above)
        gram = self._columns_gram(scaling[:k])
        diagonal = np.einsum("ii->i", gram)  # a view
        diagonal[self.above] += scaling[k : k + ups]
        diagonal[self.below] += scaling[k + ups :]
        diagonal += ridge * diagonal.mean()
        return gram

    def _columns_gram(self, scaling: Array) -> Array:
        """V diag(scaling) V', by several threads where that pays; each takes every so many-th block of columns."""
        n, k = self.columns.shape
        threads = THREADS if n >= _PARALLEL_FROM else 1

        def share(thread: int) -> Array:
            total = np.zeros((n, n))
            for start in range(thread * _BLOCK, k, threads * _BLOCK):
                if self.should_stop():
                    raise Stopped
                part = slice(start, min(start + _BLOCK, k))
                block = self.columns[:, part] * np.sqrt(scaling[part])  # NumPy takes B B' at half the price
                total += block @ block.T
            return total

        if threads == 1:
            return share(0)
        return functools.reduce(operator.iadd, self.threads.map(share, range(threads)))
