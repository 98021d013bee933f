"""Masters whose linear algebra is done by a device, such as a GPU; where that fails, by this machine.

The columns travel to the device once for each master, 8nk bytes; after that only vectors travel, and with blocks the
matrix `(n, n)` back. There are 8(nk + 3n²) bytes on the device at most, and a block of columns: V, the factor before,
and either a matrix and a product that is added to it, or a matrix and its factor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dxopt.runtime.devices import Device
from dxopt.solving.solvers.columns.matrices import BLOCK, HOST, Matrix, Solve, Stopped

Array = NDArray[np.float64]
LEAST_ROWS = 200
"""With fewer, what travels there and back takes longer than the master takes here."""
_T = TypeVar("_T")


class OnDevice:
    """A device as an algebra; this machine takes the masters that are small, or that the device had no room for.

    `tell` is given a line when the device is first used, and when it fails.
    """

    def __init__(self, device: Device, tell: Callable[[str], None] = lambda line: None) -> None:
        self.device = device
        self.tell = tell
        self.room = np.inf
        """Masters whose columns have so many entries or more are not tried."""
        self._told = False

    @contextmanager
    def holding(self, columns: Array, should_stop: Callable[[], bool]) -> Iterator[Matrix]:
        """Hold the columns on the device where that pays and they have room, else in NumPy."""
        with HOST.holding(columns, should_stop) as here:
            if len(columns) < LEAST_ROWS or columns.size >= self.room:
                yield here
                return
            if not self._told:
                self.tell(f"the master problem is solved on {self.device.name}")
                self._told = True
            held = Guarded(self, here, lambda: DeviceMatrix(self.device, columns, should_stop))
            try:
                yield held
            finally:
                held.let_go()

    def failed(self, error: Exception, entries: int) -> None:
        """Note a failure: take no more masters of so many entries if memory ran out, else none at all."""
        if isinstance(error, MemoryError):
            self.room = min(self.room, entries)
            room = f"no room on {self.device.name} for {entries:,} entries"
            self.tell(f"{room}; such master problems are solved on the CPU")
            return
        self.room = 0
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        self.tell(f"{self.device.name} is lost ({reason}); master problems are solved on the CPU")


class DeviceMatrix:
    """Columns `(n, k)` on a device, to which they are sent in blocks."""

    def __init__(self, device: Device, columns: Array, should_stop: Callable[[], bool]) -> None:
        self.device = device
        self.should_stop = should_stop
        self.shape: tuple[int, int] = columns.shape
        self.columns = device.arrays.empty(columns.shape, order="F")
        for part in self._parts():
            self.columns[:, part] = device.arrays.asarray(columns[:, part])

    def _parts(self) -> Iterator[slice]:
        """Yield blocks of columns; wait for the last one before each, so that a stop is noticed."""
        k = self.shape[1]
        for start in range(0, k, BLOCK):
            self.device.wait()
            if self.should_stop():
                raise Stopped
            yield slice(start, min(start + BLOCK, k))

    def times(self, weights: Array) -> Array:
        return self.device.fetched(self.columns @ self.device.arrays.asarray(weights))

    def priced(self, y: Array) -> Array:
        return self.device.fetched(self.columns.T @ self.device.arrays.asarray(y))

    def gram(self, scaling: Array, diagonals: tuple[Array, ...], ridge: float) -> Array:
        return self.device.fetched(self._gram(scaling, diagonals, ridge))

    def solver(self, scaling: Array, diagonals: tuple[Array, ...], ridge: float) -> Solve:
        """Factor on the device, and solve by two triangular systems there."""
        # the lower factor lies row by row; its transpose lies as BLAS has it, so that no solution copies it
        device = self.device
        upper = device.cholesky(self._gram(scaling, diagonals, ridge)).T

        def solve(right: Array) -> Array:
            there = device.arrays.asarray(right)
            for transposed in (1, 0):
                there = device.solve_triangular(upper, there, trans=transposed, lower=False)
            return device.fetched(there)

        return solve

    def _gram(self, scaling: Array, diagonals: tuple[Array, ...], ridge: float) -> Any:
        """Return the matrix of `gram`, left on the device."""
        arrays = self.device.arrays
        n = self.shape[0]

        # 1. the product, block by block
        roots = arrays.asarray(np.sqrt(scaling))
        gram = arrays.zeros((n, n))
        for part in self._parts():
            block = self.columns[:, part] * roots[part]
            gram += block @ block.T

        # 2. its diagonal
        diagonal = gram.reshape(-1)[:: n + 1]  # a view
        for one in diagonals:
            diagonal += arrays.asarray(one)
        diagonal += ridge * diagonal.mean()
        return gram


class Guarded:
    """The columns of a master on a device, and on this machine from the first failure of the device on.

    A stop, and a matrix that is not positive definite, are no failures.
    """

    def __init__(self, algebra: OnDevice, here: Matrix, send: Callable[[], Matrix]) -> None:
        self.algebra = algebra
        self.here = here
        self.shape = here.shape
        self.send = send
        self.there: Matrix | None = None
        self.lost = False

    def on_device_or_here(self, compute: Callable[[Matrix], _T]) -> _T:
        """Compute on the device, or else here; the columns are sent when they are first needed."""
        if not self.lost:
            try:
                if self.there is None:
                    self.there = self.send()
                return compute(self.there)
            except (Stopped, np.linalg.LinAlgError):
                raise
            except Exception as error:  # whatever a device, its driver and its libraries may raise
                self.lost = True
                self.algebra.failed(error, self.shape[0] * self.shape[1])
            self.let_go()
        return compute(self.here)

    def let_go(self) -> None:
        """Give back the memory of the device."""
        self.there = None
        try:
            self.algebra.device.let_go()
        except Exception:  # a device that is lost
            self.lost = True

    def times(self, weights: Array) -> Array:
        return self.on_device_or_here(lambda matrix: matrix.times(weights))

    def priced(self, y: Array) -> Array:
        return self.on_device_or_here(lambda matrix: matrix.priced(y))

    def gram(self, scaling: Array, diagonals: tuple[Array, ...], ridge: float) -> Array:
        return self.on_device_or_here(lambda matrix: matrix.gram(scaling, diagonals, ridge))

    def solver(self, scaling: Array, diagonals: tuple[Array, ...], ridge: float) -> Solve:
        """Factor on the device, and again here where the device fails later."""
        solvers: dict[bool, Solve] = {}  # by place: False on the device, True on this machine

        def factored(matrix: Matrix) -> Solve:
            here = matrix is self.here
            if here and solvers.pop(False, None) is not None:
                self.let_go()  # the device failed during a solve: give back the memory of its factor too
            if here not in solvers:
                solvers[here] = matrix.solver(scaling, diagonals, ridge)
            return solvers[here]

        self.on_device_or_here(factored)  # now, so that a matrix that is not positive definite is found here
        return lambda right: self.on_device_or_here(lambda matrix: factored(matrix)(right))
