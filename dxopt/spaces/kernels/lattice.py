"""Translation-invariant distances on lattices and tori: products with Φ by Fourier transforms.

Rounding of the transforms: each has a relative error in the 2-norm of at most 10 · 2^-53 for every factor of 2 of its
length, and each coefficient one of that times the sum of the input's absolute values (Higham 2002, §24.1). Lengths
with large prime factors are transformed by Bluestein's convolution: 16 times as much, and in the 2-norm only.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property, partial

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


def _forward(values: Array, shape: tuple[int, ...]) -> NDArray[np.complex128]:
    return np.asarray(scipy.fft.rfftn(values, s=shape, workers=_WORKERS))


def _back(transformed: NDArray[np.complex128], shape: tuple[int, ...]) -> Array:
    return np.asarray(scipy.fft.irfftn(transformed, s=shape, workers=_WORKERS, overwrite_x=True))


class _Invariant(System):
    """T[x, y] depends on the offset y - x alone; `table` holds the entries by offset, in the shape of the lattice."""

    order = 2.0

    def __init__(self, distances: Array, epsilon: float, distance_error: float, room: float = ROOM) -> None:
        self._describe(distances.size, distance_error, room)
        self.shape = distances.shape
        with np.errstate(over="ignore"):
            self.table = np.exp(-np.minimum(epsilon * distances, self.cap))
        self.norm = self._offsets_norm() * (1 + 64 * UNIT * math.log2(2 + self.size))

    @abstractmethod
    def _offsets_norm(self) -> float:
        """The sum of the kernel over all offsets."""

    @cached_property
    def _spectrum(self) -> Array:
        return self.spectrum_of(self.table)

    def convolve(self, spectrum: Array, vector: Array) -> Array:
        """The sums over y of f(y - x) v_y, where `spectrum` is the transform of f."""
        transformed = _forward(vector.reshape(self.shape), self._padded)
        transformed *= spectrum
        return _back(transformed, self._padded)[tuple(slice(size) for size in self.shape)].reshape(self.size)

    @abstractmethod
    def spectrum_of(self, table: Array) -> Array:
        """The transform of a function of the offset, given like `table`."""

    @property
    def _padded(self) -> tuple[int, ...]:
        return self.shape

    @cached_property
    def _plain(self) -> bool:
        """Whether no length has a large prime factor."""
        return all(scipy.fft.next_fast_len(size) == size for size in self._padded)

    @cached_property
    def _doublings(self) -> float:
        return (10 if self._plain else 160) * UNIT * (math.log2(math.prod(self._padded)) + 4)

    @cached_property
    def _spectrum_error(self) -> float:
        """Bounds the error of each coefficient of `_spectrum`."""
        size = self.norm if self._plain else math.sqrt(math.prod(self._padded)) * float(np.linalg.norm(self.table))
        return self._doublings * size * (1 + 1e-9)

    def apply(self, vector: Array) -> tuple[Array, float]:
        if vector.ndim == 2:
            columns = [self.apply(column) for column in vector.T]
            return np.stack([c for c, _ in columns], axis=1), max(error for _, error in columns)
        error = (3 * self._doublings * self.norm + self._spectrum_error) * float(np.linalg.norm(vector))
        return self.convolve(self._spectrum, vector), error

    def closure(self, vector: Array) -> Array:
        if vector.min() == vector.max():
            return vector.copy()
        sources = np.flatnonzero(vector)
        if len(sources) <= _FEW:
            return np.max([vector[place] * self.row(int(place)) for place in sources], axis=0, initial=0.0)
        tensor = vector.reshape(self.shape)
        closed, top = tensor.copy(), float(vector.max())
        for flat in np.argsort(self.table, axis=None, kind="stable")[::-1]:
            factor = float(self.table.flat[flat])
            if factor * top <= closed.min() or factor * self.size < _NEGLIGIBLE:
                break
            self._raise(closed, tensor, np.unravel_index(int(flat), self.shape), factor)
        return closed.reshape(-1)

    @abstractmethod
    def _raise(self, closed: Array, tensor: Array, offset: tuple[np.intp, ...], factor: float) -> None:
        """Raise every entry of `closed` to `factor` times the entries of `tensor` that far away."""

    def draw(self, weights: Array, places: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """Draw an offset by the kernel, and accept where it leads by its weight."""
        cumulative: Array = np.cumsum(self._frequencies())
        most = float(weights.max())
        drawn, waiting = np.empty(len(places), dtype=np.int64), np.arange(len(places))
        at, bounds = np.stack(np.unravel_index(places, self.shape)), np.array(self.shape)[:, None]
        while len(waiting):
            chosen = np.searchsorted(cumulative, uniforms(len(waiting), rng) * cumulative[-1], side="right")
            reached = self._reach(at[:, waiting], np.stack(np.unravel_index(chosen, self.shape)), rng)
            inside = ((reached >= 0) & (reached < bounds)).all(axis=0)
            goal = np.ravel_multi_index(tuple(np.where(inside, reached, 0)), self.shape)
            accepted = inside & (uniforms(len(waiting), rng) * most < weights[goal])
            drawn[waiting[accepted]] = goal[accepted]  # pyright: ignore[reportIndexIssue]
            waiting = waiting[~accepted]
        return drawn

    @abstractmethod
    def _frequencies(self) -> Array:
        """How often each entry of `table` is drawn, in proportion."""

    @abstractmethod
    def _reach(
        self, at: NDArray[np.int64], offset: NDArray[np.int64], rng: np.random.Generator | None
    ) -> NDArray[np.int64]:
        """Where offsets `(k, q)` lead from the points `at` `(k, q)`."""


class Toeplitz(_Invariant):
    """A box of a lattice, under distances that do not change when an axis is reversed.

    Parameters
    ----------
    distances : array in the shape of the box
        From its first point.
    epsilon : float
    least : float
        A lower bound on the eigenvalues of Φ; 0 where none is known.
    distance_error : float
        Bounds the relative error of the distances.
    """

    def __init__(
        self, distances: Array, epsilon: float, least: float, distance_error: float, room: float = ROOM
    ) -> None:
        super().__init__(distances, epsilon, distance_error, room)
        self._least = least

    @cached_property
    def inverse_norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """From what is known of the lattice, diagonal dominance, and the torus of twice the size around the box."""
        around = float(self._spectrum.min()) - self._spectrum_error
        return self._inverse(max(self._least, 2 - self.norm, around))

    def _offsets_norm(self) -> float:
        total = self.table
        for axis in range(total.ndim - 1, -1, -1):
            total = 2 * total.sum(axis=axis) - np.take(total, 0, axis=axis)
        return float(total)

    @property
    def _padded(self) -> tuple[int, ...]:
        return tuple(scipy.fft.next_fast_len(2 * size - 1, real=True) for size in self.shape)  # pyright: ignore[reportReturnType]

    def spectrum_of(self, table: Array) -> Array:
        mirrored = np.zeros(self._padded)
        mirrored[tuple(slice(size) for size in self.shape)] = table.reshape(self.shape)
        for axis, size in enumerate(self.shape):
            behind, ahead = [slice(None)] * len(self.shape), [slice(None)] * len(self.shape)
            behind[axis], ahead[axis] = slice(self._padded[axis] - size + 1, None), slice(size - 1, 0, -1)
            mirrored[tuple(behind)] = mirrored[tuple(ahead)]
        return np.ascontiguousarray(_forward(mirrored, self._padded).real)

    def row(self, place: int) -> Array:
        away = (
            np.abs(np.arange(n) - i) for n, i in zip(self.shape, np.unravel_index(place, self.shape), strict=True)
        )
        return self.table[np.ix_(*away)].reshape(-1)

    def approximate(self, right: Array) -> Array:
        if right.ndim == 2:
            return np.stack([self.approximate(column) for column in right.T], axis=1)
        solution, size = np.zeros(self.size), float(np.linalg.norm(right))
        square, product = (self.size, self.size), partial(self.convolve, self._spectrum)
        operator = scipy.sparse.linalg.LinearOperator(square, product, dtype=np.float64)  # pyright: ignore[reportCallIssue]
        guess = scipy.sparse.linalg.LinearOperator(square, self._guess, dtype=np.float64)  # pyright: ignore[reportCallIssue]
        if size > 0:
            solution, _ = scipy.sparse.linalg.cg(operator, right / size, rtol=1e-13, atol=0.0, maxiter=100, M=guess)
        return solution * size

    def _guess(self, vector: Array) -> Array:
        """The inverse of the kernel wrapped around the box."""
        transformed = _forward(vector.reshape(self.shape), self.shape)
        transformed /= self._wrapped
        return _back(transformed, self.shape).reshape(self.size)

    @cached_property
    def _wrapped(self) -> Array:
        around = self.table
        for axis, size in enumerate(self.shape):
            places = np.arange(size)
            around = np.take(around, np.minimum(places, size - places), axis=axis)
        eigenvalues = _forward(around, self.shape).real
        return np.maximum(eigenvalues, 1e-3 * float(np.median(eigenvalues)))

    def _raise(self, closed: Array, tensor: Array, offset: tuple[np.intp, ...], factor: float) -> None:
        for signs in np.ndindex(*(2 if away else 1 for away in offset)):
            here, there = [], []
            for away, back, size in zip(offset, signs, self.shape, strict=True):
                low, high = slice(0, size - int(away)), slice(int(away), size)
                here.append(low if back else high)
                there.append(high if back else low)
            target = closed[tuple(here)]
            np.maximum(target, factor * tensor[tuple(there)], out=target)

    def _frequencies(self) -> Array:
        """How often each offset occurs, up to its signs, by the kernel."""
        both = self.table
        for axis, size in enumerate(self.shape):
            twice = np.where(np.arange(size) > 0, 2.0, 1.0)
            both = both * twice.reshape([-1 if a == axis else 1 for a in range(both.ndim)])
        return both

    def _reach(
        self, at: NDArray[np.int64], offset: NDArray[np.int64], rng: np.random.Generator | None
    ) -> NDArray[np.int64]:
        signed = np.where(uniforms(offset.size, rng).reshape(offset.shape) < 0.5, offset, -offset)
        return at + signed


class Circulant(_Invariant):
    """A torus; the distances are from its first point."""

    def __init__(self, distances: Array, epsilon: float, distance_error: float, room: float = ROOM) -> None:
        super().__init__(distances, epsilon, distance_error, room)
        self.inverse_norm = self._inverse(float(np.abs(self._spectrum).min()) - self._spectrum_error)

    def _offsets_norm(self) -> float:
        return float(self.table.sum())

    def spectrum_of(self, table: Array) -> Array:
        return _forward(table.reshape(self.shape), self.shape).real

    def apply(self, vector: Array) -> tuple[Array, float]:
        """Every row has the same entries, so that constants need no transform."""
        if vector.ndim == 2 or vector.min() < vector.max():
            return super().apply(vector)
        total = float(vector[0]) * float(self.table.sum())
        return np.full(self.size, total), 64 * UNIT * math.log2(2 + self.size) * abs(total) * math.sqrt(self.size)

    def row(self, place: int) -> Array:
        return np.roll(self.table, np.unravel_index(place, self.shape), axis=range(self.table.ndim)).reshape(-1)

    def approximate(self, right: Array) -> Array:
        if right.ndim == 2:
            return np.stack([self.approximate(column) for column in right.T], axis=1)
        if right.min() == right.max():
            return right / self.table.sum()
        eigenvalues = np.where(self._spectrum == 0, np.inf, self._spectrum)
        return self.convolve(1 / eigenvalues, right)

    def _raise(self, closed: Array, tensor: Array, offset: tuple[np.intp, ...], factor: float) -> None:
        np.maximum(closed, factor * np.roll(tensor, offset, axis=range(tensor.ndim)), out=closed)

    def _frequencies(self) -> Array:
        return self.table

    def _reach(
        self, at: NDArray[np.int64], offset: NDArray[np.int64], rng: np.random.Generator | None
    ) -> NDArray[np.int64]:
        return (at + offset) % np.array(self.shape)[:, None]


def least_eigenvalue(metric: str, dimension: int, epsilon: float) -> float:
    """A lower bound on the eigenvalues of e^{-εd} on every finite part of the lattice Z^k; 0 where none is known.

    Euclidean: the symbol is a sum of values of the kernel's Fourier transform
    2^k π^{(k-1)/2} Γ((k+1)/2) ε / (ε² + |ω|²)^{(k+1)/2}, all positive (Poisson summation), and |ω|² ≤ kπ² in one.
    Chebyshev in the plane is Manhattan on the lattice of half steps turned by 45 degrees.
    """
    if metric == "euclidean":
        constant = 2.0**dimension * math.pi ** ((dimension - 1) / 2) * math.gamma((dimension + 1) / 2)
        return 0.999 * constant * epsilon / (epsilon**2 + dimension * math.pi**2) ** ((dimension + 1) / 2)
    if metric == "chebyshev" and dimension == 2:
        return 0.999 * math.tanh(epsilon / 4) ** 2
    return 0.0
