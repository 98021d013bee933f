"""Kernels that depend on the offset of two points alone: products with Φ by Fourier transforms.

A function of the offset is given by its table, in the shape of the lattice. Its transform on a torus that holds all
offsets is called its spectrum: for f = e^{-εd} these are the eigenvalues of Φ on that torus.

Rounding of the transforms: each has a relative error in the 2-norm of at most 10 · 2^-53 for every factor of 2 of its
length, and each coefficient one of that times the sum of the input's absolute values (Higham 2002, §24.1). Lengths
with large prime factors are transformed by Bluestein's convolution: 16 times as much, and in the 2-norm only.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from dxopt.numerics.draws import uniforms
from dxopt.numerics.rounding import UNIT
from dxopt.spaces.kernels.contract import ROOM, System

Array = NDArray[np.float64]

_WORKERS = -1
_NEGLIGIBLE = 1e-18
_FEW = 30


def forward(values: Array, shape: tuple[int, ...]) -> NDArray[np.complex128]:
    """The Fourier transform of real values, filled up with zeros to this shape."""
    return np.asarray(scipy.fft.rfftn(values, s=shape, workers=_WORKERS))


def back(transformed: NDArray[np.complex128], shape: tuple[int, ...]) -> Array:
    """The real values of this shape with that transform, which is overwritten."""
    return np.asarray(scipy.fft.irfftn(transformed, s=shape, workers=_WORKERS, overwrite_x=True))


class Invariant(System):
    """T[x, y] depends on the offset y - x alone.

    `table` is the first row of T in the shape of the lattice: the entry for each offset of 0 or more along all axes.
    `norm` is the sum over all offsets, which bounds the row sums, hence the 2-norm, as T is symmetric.
    """

    # Norms are 2-norms.
    order = 2.0

    def __init__(self, distances: Array, epsilon: float, distance_error: float, room: float = ROOM) -> None:
        self._describe(distances.size, distance_error, room)
        self.shape = distances.shape
        with np.errstate(over="ignore"):
            self.table = np.exp(-np.minimum(epsilon * distances, self.cap))
        self.norm = self._offsets_norm() * (1 + 64 * UNIT * math.log2(2 + self.size))

    @abstractmethod
    def _offsets_norm(self) -> float:
        """The sum of the kernel over all offsets, of all signs."""

    @cached_property
    def _spectrum(self) -> Array:
        return self.spectrum_of(self.table)

    def convolve(self, spectrum: Array, vector: Array) -> Array:
        """The sums over y of f(y - x) v_y, where `spectrum` is the transform of f."""
        transformed = forward(vector.reshape(self.shape), self._padded)
        transformed *= spectrum
        return back(transformed, self._padded)[tuple(slice(size) for size in self.shape)].reshape(self.size)

    @abstractmethod
    def spectrum_of(self, table: Array) -> Array:
        """The transform of a function of the offset, the kernel or another, given like `table`; it is real."""

    @property
    def _padded(self) -> tuple[int, ...]:
        return self.shape

    @cached_property
    def _plain(self) -> bool:
        """Return True if no length has a large prime factor."""
        return all(scipy.fft.next_fast_len(size) == size for size in self._padded)

    @cached_property
    def _doublings(self) -> float:
        """Bounds the relative error of one transform in the 2-norm."""
        return (10 if self._plain else 160) * UNIT * (math.log2(math.prod(self._padded)) + 4)

    @cached_property
    def _spectrum_error(self) -> float:
        """Bounds the error of each coefficient of `_spectrum`."""
        # Against the sum of the absolute values of the input; after Bluestein against the 2-norm of all coefficients
        # together, which is √N times that of the input.
        size = self.norm if self._plain else math.sqrt(math.prod(self._padded)) * float(np.linalg.norm(self.table))
        return self._doublings * size * (1 + 1e-9)

    def apply(self, vector: Array) -> tuple[Array, float]:
        if vector.ndim == 2:
            columns = [self.apply(column) for column in vector.T]
            return np.stack([c for c, _ in columns], axis=1), max(error for _, error in columns)
        # The transform of v, the product and the transform back, and the error of the spectrum itself. In the 2-norm
        # no coefficient of the spectrum is above the norm.
        error = (3 * self._doublings * self.norm + self._spectrum_error) * float(np.linalg.norm(vector))
        return self.convolve(self._spectrum, vector), error

    def closure(self, vector: Array) -> Array:
        # Entries are at most 1, and 1 on the diagonal.
        if vector.min() == vector.max():
            return vector.copy()
        # Few points that are not 0: a row for each.
        sources = np.flatnonzero(vector)
        if len(sources) <= _FEW:
            return np.max([vector[source] * self.row(int(source)) for source in sources], axis=0, initial=0.0)
        # Otherwise offset by offset, from the largest entry of the kernel down, until the largest value times that
        # entry raises nothing any more.
        tensor = vector.reshape(self.shape)
        closed = tensor.copy()
        top = float(vector.max())
        for flat in np.argsort(self.table, axis=None, kind="stable")[::-1]:
            factor = float(self.table.flat[flat])
            if factor * top <= closed.min() or factor * self.size < _NEGLIGIBLE:
                break
            self._raise_by_offset(closed, tensor, np.unravel_index(int(flat), self.shape), factor)
        return closed.reshape(-1)

    @abstractmethod
    def _raise_by_offset(self, closed: Array, tensor: Array, offset: tuple[np.intp, ...], factor: float) -> None:
        """closed[x] ← max(closed[x], factor · tensor[y]) for all x and y that this offset is between, in place."""

    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """Draw an offset by the kernel, and accept where it leads by its weight: rejection sampling.

        What is accepted has a probability in proportion to the kernel times the weight, whatever the chance of that.
        """
        cumulative: Array = np.cumsum(self._frequencies())
        most = float(weights.max())
        drawn = np.empty(len(points), dtype=np.int64)
        waiting = np.arange(len(points))
        at = np.stack(np.unravel_index(points, self.shape))
        bounds = np.array(self.shape)[:, None]
        while len(waiting):
            # An offset for each, by inversion of the kernel's distribution over all offsets.
            chosen = np.searchsorted(cumulative, uniforms(len(waiting), rng) * cumulative[-1], side="right")
            reached = self._reach(at[:, waiting], np.stack(np.unravel_index(chosen, self.shape)), rng)
            # Outside of the box the weight is 0. The others wait for another round.
            inside = ((reached >= 0) & (reached < bounds)).all(axis=0)
            goal = np.ravel_multi_index(tuple(np.where(inside, reached, 0)), self.shape)
            accepted = inside & (uniforms(len(waiting), rng) * most < weights[goal])
            drawn[waiting[accepted]] = goal[accepted]  # pyright: ignore[reportIndexIssue]
            waiting = waiting[~accepted]
        return drawn

    @abstractmethod
    def _frequencies(self) -> Array:
        """Return how often `draw` takes each entry of `table`, relative: times the number of offsets that have it."""

    @abstractmethod
    def _reach(
        self, at: NDArray[np.int64], offset: NDArray[np.int64], rng: np.random.Generator | None
    ) -> NDArray[np.int64]:
        """Return the ends of q offsets from q points, `(k, q)` a row per axis, perhaps outside of the lattice."""
