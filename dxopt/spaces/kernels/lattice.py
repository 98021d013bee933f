"""Boxes and tori of a lattice, under distances that translations do not change.

A function of the offset is given by its table, in the shape of the lattice. Its transform on a torus that holds all
offsets is called its spectrum: for f = e^{-εd} these are the eigenvalues of Φ on that torus.

Rounding of the transforms: each has a relative error in the 2-norm of at most 10 · 2^-53 for every factor of 2 of its
length, and each coefficient one of that times the sum of the input's absolute values (Higham 2002, §24.1). Lengths
with large prime factors are transformed by Bluestein's convolution: 16 times as much, and in the 2-norm only.

On a torus Φ is circulant: Fourier transforms make it diagonal, so that equations are solved by division. On a box it
is a Toeplitz matrix in several dimensions: the rows and columns of the points of the box in a circulant matrix on a
torus of about twice the size, which is how vectors are multiplied by it. Equations are solved by conjugate gradients;
a circulant matrix of the size of the box is the preconditioner.
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
from dxopt.spaces.kernels.base import ROOM, System

Array = NDArray[np.float64]

_WORKERS = -1  # threads of a transform: one for each core
_NEGLIGIBLE = 1e-18  # entries of T below this over n are left out of closures that go offset by offset
_FEW = 30  # up to so many points that are not 0, a closure takes a row of T for each


def forward(values: Array, shape: tuple[int, ...]) -> NDArray[np.complex128]:
    """Transform real values (Fourier), filled up with zeros to this shape."""
    return np.asarray(scipy.fft.rfftn(values, s=shape, workers=_WORKERS))


def back(transformed: NDArray[np.complex128], shape: tuple[int, ...]) -> Array:
    """Return the real values of this shape whose transform is given; the transform is overwritten."""
    return np.asarray(scipy.fft.irfftn(transformed, s=shape, workers=_WORKERS, overwrite_x=True))


class Invariant(System):
    """T[x, y] depends on the offset y - x alone; T is Φ = e^{-εd} with exponents capped (see `System`).

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
        self.norm = float(self._frequencies().sum()) * (1 + 64 * UNIT * math.log2(2 + self.size))

    @cached_property
    def _spectrum(self) -> Array:
        """The transform of the kernel: the eigenvalues of Φ on the torus of shape `_padded`."""
        return self.spectrum_of(self.table)

    def convolve(self, spectrum: Array, vector: Array) -> Array:
        """Return Σ_y f(y - x) v_y for every x, `(n,)`, where `spectrum` is the transform of f, an even function."""
        transformed = forward(vector.reshape(self.shape), self._padded)
        transformed *= spectrum
        return back(transformed, self._padded)[tuple(slice(size) for size in self.shape)].reshape(self.size)

    @abstractmethod
    def spectrum_of(self, table: Array) -> Array:
        """Transform a function of the offset, the kernel or another, given like `table`; the result is real."""

    @property
    def _padded(self) -> tuple[int, ...]:
        """The shape of the torus on which vectors are multiplied."""
        return self.shape

    @cached_property
    def _has_small_factors(self) -> bool:
        """True if no length has a large prime factor, so that Bluestein's convolution is not needed."""
        return all(scipy.fft.next_fast_len(size) == size for size in self._padded)

    @cached_property
    def _transform_error(self) -> float:
        """Bounds the relative error of one transform in the 2-norm, see the top of this file."""
        return (10 if self._has_small_factors else 160) * UNIT * (math.log2(math.prod(self._padded)) + 4)

    @cached_property
    def _spectrum_error(self) -> float:
        """Bounds the error of each coefficient of `_spectrum`."""
        # The error is relative to the sum of the absolute values of the input, which is `norm`; after Bluestein, to
        # the 2-norm of all coefficients, which is √N times that of the input.
        bluestein = math.sqrt(math.prod(self._padded)) * float(np.linalg.norm(self.table))
        size = self.norm if self._has_small_factors else bluestein
        return self._transform_error * size * (1 + 1e-9)

    def apply(self, vector: Array) -> tuple[Array, float]:
        """Return T v by Fourier transforms, and a bound on its rounding error in the 2-norm; v `(n,)` or `(n, k)`."""
        if vector.ndim == 2:
            columns = [self.apply(column) for column in vector.T]
            return np.stack([c for c, _ in columns], axis=1), max(error for _, error in columns)
        # Three steps have a relative error of `_transform_error` at most: the transform of v, the product with the
        # spectrum, the transform back. Each leaves an error of at most that share of norm·‖v‖ in T v, as no
        # eigenvalue exceeds `norm`. The error of the spectrum itself is multiplied by ‖v‖.
        error = (3 * self._transform_error * self.norm + self._spectrum_error) * float(np.linalg.norm(vector))
        return self.convolve(self._spectrum, vector), error

    def closure(self, vector: Array) -> Array:
        """Return max_x T[x, z] v_x for every z, where entries of T below 1e-18 / n may be left out; v ≥ 0.

        For a prior v, w_z times this is the joint probability of report z and its most probable secret, where the
        mechanism is T·diag(w); except at its slack report, which gets the rest of each row too.
        """
        # Entries are at most 1, and 1 on the diagonal: a constant is its own closure.
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
        """Raise closed[x] to factor · tensor[y] at least, in place, for all points x and y that are `offset` apart.

        In a box offsets have no signs, so that y may be on either side along each axis; on a torus they go one way
        round. Both arrays have the shape of the lattice.
        """

    def draw(self, weights: Array, points: NDArray[np.int64], rng: np.random.Generator | None) -> NDArray[np.int64]:
        """Draw for each point x one z in proportion to T[x, z] w_z, by rejection sampling.

        An offset is drawn in proportion to the kernel, and the point that it leads to is accepted with a probability
        in proportion to its weight. Rejected draws are repeated, which leaves the proportions as they are.
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
        """Return each entry of `table` times the number of offsets that have it, of all signs."""

    @abstractmethod
    def _reach(
        self, at: NDArray[np.int64], offset: NDArray[np.int64], rng: np.random.Generator | None
    ) -> NDArray[np.int64]:
        """Return where q offsets lead from q points, `(k, q)`, a row for each axis, perhaps outside of the lattice.

        Offsets come without signs where `_frequencies` counted all signs: these are drawn here.
        """


_ACCURACY = 1e-13
"""Conjugate gradients stop where the residual is below this part of the right side."""
_MOST_STEPS = 100
"""After so many steps they stop in any case."""
_LEAST_PART = 1e-3
"""The least eigenvalue of a preconditioner, as a part of the median one. By experience; no proof depends on it."""


class Toeplitz(Invariant):
    """A box of a lattice, under distances that do not change when an axis is reversed.

    Parameters
    ----------
    distances : array in the shape of the box
        From its first point, with relative errors of at most `distance_error`.
    least : float
        A lower bound on the eigenvalues of Φ; 0 where none is known.
    """

    def __init__(
        self, distances: Array, epsilon: float, least: float, distance_error: float, room: float = ROOM
    ) -> None:
        super().__init__(distances, epsilon, distance_error, room)
        self._least = least

    @cached_property
    def inverse_norm(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """A bound by what is known of the lattice, diagonal dominance, and the torus of twice the size around it.

        Each bounds the least eigenvalue of Φ from below. The box is part of the lattice. By Gershgorin's circles the
        eigenvalue is at least the diagonal less the rest of a row, 1 - (norm - 1) = 2 - norm. And Φ is a principal
        submatrix of the symmetric matrix of the torus, whose eigenvalues are the spectrum: by Cauchy's interlacing
        Φ has none below the least of those. Where none of the three is positive, nothing is known: ∞.
        """
        around = float(self._spectrum.min()) - self._spectrum_error
        return self._bound_inverse(max(self._least, 2 - self.norm, around))

    @property
    def _padded(self) -> tuple[int, ...]:
        # Offsets in a box of n go from -(n - 1) to n - 1; a torus a little larger may have a faster transform.
        return tuple(scipy.fft.next_fast_len(2 * size - 1, real=True) for size in self.shape)  # pyright: ignore[reportReturnType]

    def spectrum_of(self, table: Array) -> Array:
        # Around a torus of N ≥ 2n - 1 points an offset of -k is one of N - k, and no two points of the box meet the
        # other way round: each axis is filled from behind with its mirror image; 0 between the two is as good as any
        # number. As the function is even, its transform is real.
        mirrored = table.reshape(self.shape)
        for axis, (size, around) in enumerate(zip(self.shape, self._padded, strict=True)):
            behind = np.take(mirrored, np.arange(size - 1, 0, -1), axis=axis)
            zeros = [(0, around - 2 * size + 1 if a == axis else 0) for a in range(mirrored.ndim)]
            mirrored = np.concatenate([np.pad(mirrored, zeros), behind], axis=axis)
        return np.ascontiguousarray(forward(mirrored, self._padded).real)

    def row(self, point: int) -> Array:
        away = (
            np.abs(np.arange(n) - i) for n, i in zip(self.shape, np.unravel_index(point, self.shape), strict=True)
        )
        return self.table[np.ix_(*away)].reshape(-1)

    def approximate(self, right: Array) -> Array:
        """Solve Tw = b by conjugate gradients, without proof; b is `(n,)` or `(n, k)`."""
        if right.ndim == 2:
            return np.stack([self.approximate(column) for column in right.T], axis=1)
        # Conjugate gradients on a right side of norm 1, so that its tolerance is relative. Nothing here is trusted:
        # `solve` bounds the error afterwards, from the residual. So where Φ is not positive definite, or too many
        # steps are needed, whatever was found is returned.
        solution = np.zeros(self.size)
        size = float(np.linalg.norm(right))
        square = (self.size, self.size)
        product = partial(self.convolve, self._spectrum)
        operator = scipy.sparse.linalg.LinearOperator(square, product, dtype=np.float64)  # pyright: ignore[reportCallIssue]
        preconditioner = scipy.sparse.linalg.LinearOperator(square, self._precondition, dtype=np.float64)  # pyright: ignore[reportCallIssue]
        if size > 0:
            solution, _ = scipy.sparse.linalg.cg(
                operator, right / size, rtol=_ACCURACY, atol=0.0, maxiter=_MOST_STEPS, M=preconditioner
            )
        return solution * size

    def _precondition(self, vector: Array) -> Array:
        """Multiply a vector by the inverse of the kernel on the torus of the size of the box."""
        transformed = forward(vector.reshape(self.shape), self.shape)
        transformed /= self._wrapped
        return back(transformed, self.shape).reshape(self.size)

    @cached_property
    def _wrapped(self) -> Array:
        """The eigenvalues of the kernel on the torus of the size of the box.

        There the distance of two points is the shorter way around each axis, which differs from that of the box only
        between points near opposite sides. Eigenvalues near 0 or below are raised, as conjugate gradients need a
        positive definite preconditioner; were the median itself not positive, they would find nothing of use, and
        `solve` would say so.
        """
        around = self.table
        for axis, size in enumerate(self.shape):
            offsets = np.arange(size)
            around = np.take(around, np.minimum(offsets, size - offsets), axis=axis)
        eigenvalues = forward(around, self.shape).real
        return np.maximum(eigenvalues, _LEAST_PART * float(np.median(eigenvalues)))

    def _raise_by_offset(self, closed: Array, tensor: Array, offset: tuple[np.intp, ...], factor: float) -> None:
        # Each combination of signs of the offset moves one part of the box onto another.
        for signs in np.ndindex(*(2 if away else 1 for away in offset)):
            here = []
            there = []
            for away, sign, size in zip(offset, signs, self.shape, strict=True):
                low = slice(0, size - int(away))
                high = slice(int(away), size)
                here.append(low if sign else high)
                there.append(high if sign else low)
            target = closed[tuple(here)]
            np.maximum(target, factor * tensor[tuple(there)], out=target)

    def _frequencies(self) -> Array:
        """Multiply the kernel by 2 for every axis along which the offset is not 0: the choices of its signs."""
        return self.table * 2.0 ** np.count_nonzero(np.indices(self.shape), axis=0)

    def _reach(
        self, at: NDArray[np.int64], offset: NDArray[np.int64], rng: np.random.Generator | None
    ) -> NDArray[np.int64]:
        # A sign for each coordinate, as `_frequencies` counted both. What leaves the box, `draw` rejects.
        signed = np.where(uniforms(offset.size, rng).reshape(offset.shape) < 0.5, offset, -offset)
        return at + signed


class Circulant(Invariant):
    """A torus; the distances, in its shape, are from its first point, and the same to k and -k, so Φ is symmetric."""

    def __init__(self, distances: Array, epsilon: float, distance_error: float, room: float = ROOM) -> None:
        super().__init__(distances, epsilon, distance_error, room)
        # for a symmetric T, 1 / ‖T⁻¹‖ in the 2-norm is the least size of an eigenvalue
        self.inverse_norm = self._bound_inverse(float(np.abs(self._spectrum).min()) - self._spectrum_error)

    def spectrum_of(self, table: Array) -> Array:
        return forward(table.reshape(self.shape), self.shape).real

    def apply(self, vector: Array) -> tuple[Array, float]:
        """Multiply; every row has the same entries in another order, so that constants need no transform."""
        if vector.ndim == 2 or vector.min() < vector.max():
            return super().apply(vector)
        # The rounding of one sum, by pairs, is the error of each entry; √n makes it one in the 2-norm.
        total = float(vector[0]) * float(self.table.sum())
        return np.full(self.size, total), 64 * UNIT * math.log2(2 + self.size) * abs(total) * math.sqrt(self.size)

    def row(self, point: int) -> Array:
        return np.roll(self.table, np.unravel_index(point, self.shape), axis=range(self.table.ndim)).reshape(-1)

    def approximate(self, right: Array) -> Array:
        """Solve Tw = b by Fourier transforms, without proof; b is `(n,)` or `(n, k)`."""
        if right.ndim == 2:
            return np.stack([self.approximate(column) for column in right.T], axis=1)
        if right.min() == right.max():  # T multiplies a constant by its row sum, the same in all rows
            return right / self.table.sum()
        # Φ is diagonal after the transform. A zero eigenvalue leaves its part of the right side out.
        eigenvalues = np.where(self._spectrum == 0, np.inf, self._spectrum)
        return self.convolve(1 / eigenvalues, right)

    def weighting(self) -> tuple[Array, Array]:
        """Return w with Φw = 1, and a bound on the error of each entry: 1 over the row sum, the same for all rows.

        Row sums are at least 1, so that n e^{-cap}, the most that the cap changes, bounds the relative change too.
        """
        values = self.approximate(np.ones(self.size))
        unsure = self.entry_error + 64 * UNIT * math.log2(2 + self.size) + math.exp(-self.cap) * self.size
        return values, values * unsure

    def _raise_by_offset(self, closed: Array, tensor: Array, offset: tuple[np.intp, ...], factor: float) -> None:
        np.maximum(closed, factor * np.roll(tensor, offset, axis=range(tensor.ndim)), out=closed)

    def _frequencies(self) -> Array:
        return self.table

    def _reach(
        self, at: NDArray[np.int64], offset: NDArray[np.int64], rng: np.random.Generator | None
    ) -> NDArray[np.int64]:
        return (at + offset) % np.array(self.shape)[:, None]


def least_eigenvalue(metric: str, dimension: int, epsilon: float) -> float:
    """Bound the eigenvalues of e^{-εd} on every finite part of the lattice Z^k from below; 0 where nothing is known.

    Neighbours are at distance 1: for another spacing, give ε times that. No eigenvalue is below the least value of
    the symbol Σ_z e^{-εd(0, z)} e^{iωz} over the ω in [-π, π]^k.

    Euclidean: the symbol is the sum over all ω + 2πj, j in Z^k, of the kernel's Fourier transform
    2^k π^{(k-1)/2} Γ((k+1)/2) ε / (ε² + |ω|²)^{(k+1)/2} (Poisson summation). All terms are positive, and in the one
    with j = 0 |ω|² ≤ kπ².
    Chebyshev in the plane: max(|x|, |y|) = |u| + |v| with u = (x + y)/2 and v = (x - y)/2, both on the line of half
    steps. So the kernel is part of the product of two of lines of steps 1/2, whose symbols are at least
    (1 - ρ)/(1 + ρ) = tanh(ε/4), ρ = e^{-ε/2}.
    Manhattan is not here, as Φ is then a product of lines and treated as one.
    """
    # The factors 0.999 are far more than the rounding.
    if metric == "euclidean":
        constant = 2.0**dimension * math.pi ** ((dimension - 1) / 2) * math.gamma((dimension + 1) / 2)
        radius = math.hypot(epsilon, math.sqrt(dimension) * math.pi)
        return 0.999 * constant * (epsilon / radius) * radius**-dimension if math.isfinite(radius) else 0.0
    if metric == "chebyshev" and dimension == 2:
        return 0.999 * math.tanh(epsilon / 4) ** 2
    return 0.0
