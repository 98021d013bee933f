"""The linear algebra of the restricted master problem: what is expensive in it, wherever it is computed.

The master holds its columns V `(n, k)` in a `Matrix` and asks it for products and factors. Vectors are NumPy's on
either side of this contract. NumPy on this machine is the algebra unless another one is put in its place with
`computing`, a context, so that the layers between the options of a solve and the master need not pass it on.
"""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from dxopt.solving.solvers.columns.local_product import LocalProduct

THREADS = min(8, os.cpu_count() or 1)
BLOCK = 1024
"""Columns that are multiplied at a time, so that a stop is noticed."""
_PARALLEL_FROM = 200
"""Rows from which on several threads pay."""
_LOCAL_FROM = 400
"""Rows from which on it pays to leave out what is small."""
_FAINT, _FEW = 1e-6, 0.25
"""Columns are local where less than this share of their entries is above the first."""
_NEGLECTED = 1e-8
"""Entries of local columns that are left out where solutions are refined."""
_REFINED, _MOST_REFINEMENTS = 1e-3, 30
"""Largest miss of a refined solution beside the right side, and most steps to it."""


class Stopped(Exception):
    """Raised between two blocks of a product."""


Array = NDArray[np.float64]
Solve = Callable[[Array], Array]
"""Returns the solution `(n,)` of a linear system for a right side `(n,)`."""


class Matrix(Protocol):
    """The columns V `(n, k)` of one master, where they are computed with; they raise `Stopped` where asked to stop.

    `times` is V θ `(n,)` for weights θ `(k,)`, and `priced` is V'y `(k,)` for prices y `(n,)`. `gram` is the matrix
    V diag(scaling) V' + diag(d_1) + diag(d_2) ..., with a ridge relative to the mean of its diagonal; `solver`
    factors it by Cholesky, and raises LinAlgError unless it is positive definite.
    """

    @property
    def shape(self) -> tuple[int, int]: ...
    def times(self, weights: Array) -> Array: ...
    def priced(self, y: Array) -> Array: ...
    def gram(self, scaling: Array, diagonals: tuple[Array, ...], ridge: float) -> Array: ...
    def solver(self, scaling: Array, diagonals: tuple[Array, ...], ridge: float) -> Solve: ...


class Algebra(Protocol):
    """A place to compute with matrices; while it holds columns, several threads ask whether to stop."""

    def holding(self, columns: Array, should_stop: Callable[[], bool]) -> AbstractContextManager[Matrix]: ...


@dataclass(frozen=True, eq=False)
class HostMatrix:
    """Columns `(n, k)` in NumPy."""

    columns: Array
    should_stop: Callable[[], bool]
    threads: ThreadPoolExecutor

    @property
    def shape(self) -> tuple[int, int]:
        return self.columns.shape

    def times(self, weights: Array) -> Array:
        return self.columns @ weights

    def priced(self, y: Array) -> Array:
        return self.columns.T @ y

    @functools.cached_property
    def local(self) -> LocalProduct:
        """The columns for products of local ones."""
        return LocalProduct(self.columns)

    @functools.cached_property
    def is_local(self) -> bool:
        """True where few entries are more than next to nothing."""
        return float((self.columns > _FAINT).mean()) < _FEW

    def gram(self, scaling: Array, diagonals: tuple[Array, ...], ridge: float) -> Array:
        return _with_diagonals(self._product(scaling), diagonals, ridge)

    def solver(self, scaling: Array, diagonals: tuple[Array, ...], ridge: float) -> Solve:
        """Factor the matrix of `gram` in place, so that no copy of it is needed.

        Where the diagonals bound what a step may change, entries that are small beside them are left out. Without
        them less is, where columns are local, and solutions are refined.
        """
        added = np.sum(diagonals, axis=0) if diagonals else np.zeros(len(self.columns))
        many = len(self.columns) >= _LOCAL_FROM
        if many and self.should_stop():
            raise Stopped
        if many and added.min() > 0:
            return _factored(self.local.upper(scaling, added, self.threads.map), diagonals, ridge)
        if many and self.is_local:
            with suppress(np.linalg.LinAlgError):
                whole = self.local.diagonal(scaling) + added
                near = self.local.upper(scaling, whole, self.threads.map, _NEGLECTED)
                solve = _factored(near, diagonals, ridge)
                added = added + ridge * whole.mean()
                return _refined(lambda x: self.times(scaling * self.priced(x)) + added * x, solve)
        return _factored(self._product(scaling), diagonals, ridge)

    def _product(self, scaling: Array) -> Array:
        """Return V diag(scaling) V', by several threads where that pays; each takes its share of the blocks."""
        n, k = self.columns.shape
        threads = THREADS if n >= _PARALLEL_FROM else 1

        def share(thread: int) -> Array:
            total = np.zeros((n, n))
            for start in range(thread * BLOCK, k, threads * BLOCK):
                if self.should_stop():
                    raise Stopped
                part = slice(start, min(start + BLOCK, k))
                block = self.columns[:, part] * np.sqrt(scaling[part])  # NumPy takes B B' at half the price
                total += block @ block.T
            return total

        if threads == 1:
            return share(0)
        return functools.reduce(operator.iadd, self.threads.map(share, range(threads)))


def _with_diagonals(product: Array, diagonals: tuple[Array, ...], ridge: float) -> Array:
    """Add diagonals to a matrix in place, then a ridge relative to the mean of its diagonal."""
    diagonal: Any = np.einsum("ii->i", product)  # a view
    for one in diagonals:
        diagonal += one
    diagonal += ridge * diagonal.mean()
    return product


def _factored(product: Array, diagonals: tuple[Array, ...], ridge: float) -> Solve:
    """Factor a product with diagonals and a ridge, in place; LinAlgError where it has no factor."""
    # the matrix is symmetric; its transpose has the order of Fortran, so that LAPACK works in place
    gram = _with_diagonals(product, diagonals, ridge)
    factor = sl.cho_factor(gram.T, lower=True, overwrite_a=True, check_finite=False)
    return functools.partial(sl.cho_solve, factor, check_finite=False)


def _refined(times: Callable[[Array], Array], near: Solve) -> Solve:
    """Return solutions of a linear system by conjugate gradients, preconditioned by solutions of one near to it."""

    def solve(right: Array) -> Array:
        found = near(right)
        left = right - times(found)
        enough = _REFINED * np.abs(right).max()
        along = step = near(left)
        size = left @ step
        for _ in range(_MOST_REFINEMENTS):
            if np.abs(left).max() <= enough or not size > 0:
                break
            image = times(along)
            length = size / (along @ image)
            found, left = found + length * along, left - length * image
            step = near(left)
            before, size = size, left @ step
            along = step + size / before * along
        return found

    return solve


class Host:
    """NumPy on this machine."""

    @contextmanager
    def holding(self, columns: Array, should_stop: Callable[[], bool]) -> Iterator[Matrix]:
        with ThreadPoolExecutor(THREADS) as threads:
            yield HostMatrix(columns, should_stop, threads)


HOST = Host()
_current: ContextVar[Algebra] = ContextVar("algebra", default=HOST)


@contextmanager
def computing(algebra: Algebra) -> Iterator[None]:
    """Enter a context in which masters are computed with this algebra."""
    token = _current.set(algebra)
    try:
        yield
    finally:
        _current.reset(token)


current: Callable[[], Algebra] = _current.get


@dataclass(frozen=True, eq=False)
class BoxMatrix:
    """W = (V, I, -I), with unit columns where prices are bounded above and below; it is never written out."""

    columns: Matrix
    above: NDArray[np.int64]
    below: NDArray[np.int64]

    def times(self, theta: Array) -> Array:
        """Return W θ, what weights θ give each row."""
        k = self.columns.shape[1]
        ups = len(self.above)
        total = self.columns.times(theta[:k])
        total[self.above] += theta[k : k + ups]
        total[self.below] -= theta[k + ups :]
        return total

    def priced(self, y: Array) -> Array:
        """Return W'y, what each column is worth at prices y."""
        return np.concatenate([self.columns.priced(y), y[self.above], -y[self.below]])

    def gram(self, scaling: Array, ridge: float) -> Array:
        """Return W diag(scaling) W', with a ridge relative to its mean diagonal."""
        return self.columns.gram(scaling[: self.columns.shape[1]], self._diagonals(scaling), ridge)

    def solver(self, scaling: Array, ridge: float) -> Solve:
        """Factor the matrix of `gram` by Cholesky; raise LinAlgError where it has no factor."""
        return self.columns.solver(scaling[: self.columns.shape[1]], self._diagonals(scaling), ridge)

    def _diagonals(self, scaling: Array) -> tuple[Array, Array]:
        """Return what the unit columns add to the diagonal."""
        n, k = self.columns.shape
        ups = k + len(self.above)
        up, down = np.zeros(n), np.zeros(n)
        up[self.above] = scaling[k:ups]
        down[self.below] = scaling[ups:]
        return up, down
