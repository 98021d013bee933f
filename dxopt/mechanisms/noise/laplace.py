"""Laplace noise: densities proportional to e^{-ε‖z - x‖} on the line, and on points under two norms."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.mechanisms.noise.base import LineNoise, Noise, checked_numbers, checked_probability
from dxopt.numerics.coerce import as_numbers, checked_count
from dxopt.numerics.draws import uniforms

Array = NDArray[np.float64]

_LEAST = 2.0**-60


@dataclass(frozen=True)
class Laplace(LineNoise):
    """Laplace noise on numbers: density ε/2 e^{-ε|z - x|} (CABP13 Def 6, Figure 2 (i)).

    εd-private for d = |x - x'| (CABP13 Fact 7). That is proven of real numbers: floating-point noise can reveal the
    secret (Mironov 2012). For real releases take `Geometric`, which is exact, or an integer table.

    Parameters
    ----------
    epsilon : float
        Privacy level per unit of distance.

    Raises
    ------
    SpecError
        If ε is not positive and finite.

    Examples
    --------
    >>> import dxopt as dx
    >>> noise = dx.noise.Laplace(epsilon=0.5)
    >>> print(noise.mean_error, round(float(noise.error_quantile(0.95)), 2))
    2.0 5.99
    """

    epsilon: float

    def density(self, offsets: ArrayLike) -> Array:
        return 0.5 * self.epsilon * np.exp(-self.epsilon * np.abs(as_numbers(offsets, "offsets", "give numbers")))

    @property
    def mean_error(self) -> float:
        return 1 / self.epsilon

    def _within(self, low: Array, high: Array) -> Array:
        return np.exp(-self.epsilon * low) * -np.expm1(-self.epsilon * (high - low))

    def _radius(self, exponent: Array) -> Array:
        return exponent / self.epsilon


class _PointNoise(Noise):
    """A density proportional to e^{-ε‖z - x‖} on points of k coordinates, ε‖z - x‖ gamma distributed of shape k."""

    dimensions: int

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_count("dimensions", self.dimensions)

    @property
    @abstractmethod
    def _scale(self) -> float:
        """Density at 0."""

    @abstractmethod
    def _norm(self, offsets: Array) -> Array:
        """Return ‖z - x‖ of offsets `(..., k)`."""

    @abstractmethod
    def _offsets(self, size: int, rng: np.random.Generator | None) -> Array:
        """Draw noise alone, `(size, k)`."""

    def density(self, offsets: ArrayLike) -> Array:
        """Return the density `(...)` at offsets z - x, `(..., k)`."""
        return self._scale * np.exp(-self.epsilon * self._norm(checked_numbers(offsets, self.dimensions)))

    def error_cdf(self, radius: ArrayLike) -> Array:
        from scipy.special import gammainc

        return gammainc(self.dimensions, self.epsilon * np.maximum(as_numbers(radius, "radius", "give numbers"), 0.0))

    def error_quantile(self, probability: ArrayLike) -> Array:
        from scipy.special import gammaincinv

        return gammaincinv(self.dimensions, checked_probability(probability)) / self.epsilon

    @property
    def mean_error(self) -> float:
        return self.dimensions / self.epsilon

    def sample(self, values: ArrayLike, rng: np.random.Generator | None = None) -> Array:
        """Add noise to points `(..., k)`.

        Raises
        ------
        SpecError
            If they are not all finite numbers, have another number of coordinates, or doubles near one are further
            apart than the mean error / 1,024.
        """
        points = self._fine(checked_numbers(values, self.dimensions))
        return points + self._offsets(points.size // self.dimensions, rng).reshape(points.shape)


@dataclass(frozen=True)
class ManhattanLaplace(_PointNoise):
    """Laplace noise on each of k coordinates: density (ε/2)^k e^{-ε‖z - x‖_1} (CABP13 Def 6, Figure 2 (iii)).

    εd-private for the Manhattan distance d (CABP13 Fact 7), the error. In doubles, see `Laplace`.

    Parameters
    ----------
    epsilon : float
        Privacy level per unit of distance.
    dimensions : int
        k; 2 in the plane, where the density is ε²/4 e^{-ε‖z - x‖_1}.

    Raises
    ------
    SpecError
        If ε is not positive and finite, or k is not 1 or more.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.noise.ManhattanLaplace(epsilon=1.0, dimensions=2).mean_error)
    2.0
    """

    epsilon: float
    dimensions: int = 2

    @property
    def _scale(self) -> float:
        return (self.epsilon / 2) ** self.dimensions

    def _norm(self, offsets: Array) -> Array:
        return np.abs(offsets).sum(axis=-1)

    def _offsets(self, size: int, rng: np.random.Generator | None) -> Array:
        return Laplace(self.epsilon).sample(np.zeros((size, self.dimensions)), rng)


@dataclass(frozen=True)
class PlanarLaplace(_PointNoise):
    """Laplace noise on points of the plane: density ε²/(2π) e^{-ε‖z - x‖_2} (CABP13 Def 6, Figure 2 (ii); Cha13).

    εd-private for the Euclidean distance d (CABP13 Fact 7). The radius r has the cdf 1 - (1 + εr) e^{-εr}, whose
    inverse is -(W_{-1}((p - 1)/e) + 1)/ε; it is computed as that of a gamma distribution, which stays accurate near
    p = 0, where W has a branch point. For real releases there is `classic.planar_laplace`, proven private in doubles.

    Parameters
    ----------
    epsilon : float
        Privacy level per unit of distance.

    Raises
    ------
    SpecError
        If ε is not positive and finite.

    Examples
    --------
    >>> import dxopt as dx
    >>> noise = dx.noise.PlanarLaplace(epsilon=1.0)
    >>> print(noise.mean_error, round(float(noise.error_quantile(0.95)), 2))
    2.0 4.74
    """

    epsilon: float
    dimensions = 2

    @property
    def _scale(self) -> float:
        return self.epsilon**2 / (2 * math.pi)

    def _norm(self, offsets: Array) -> Array:
        return np.hypot(offsets[..., 0], offsets[..., 1])

    def _offsets(self, size: int, rng: np.random.Generator | None) -> Array:
        # All directions alike, and the radius by inversion of its cdf.
        angle = 2 * math.pi * uniforms(size, rng)
        radius = self.error_quantile(uniforms(size, rng))
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)


@dataclass(frozen=True)
class MultivariateLaplace(_PointNoise):
    """Laplace noise on points of k coordinates: density Γ(k/2) ε^k / (2 π^{k/2} Γ(k)) e^{-ε‖z - x‖_2}.

    εd-private for the Euclidean distance d, as the density is; for word vectors, with the result moved to the
    nearest word, by Feyisetan, Balle, Drake and Diethe (2020). The radius is gamma distributed of shape k and the
    direction uniform, so that the error is k/ε on average. For real releases there is
    `classic.multivariate_laplace`, proven private in doubles.

    Parameters
    ----------
    epsilon : float
        Privacy level per unit of distance.
    dimensions : int
        k; for 1 and 2 it is the noise of `Laplace` and `PlanarLaplace`.

    Raises
    ------
    SpecError
        If ε is not positive and finite, or k is not 1 or more.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.noise.MultivariateLaplace(epsilon=2.0, dimensions=300).mean_error)
    150.0
    """

    epsilon: float
    dimensions: int = 3

    @property
    def _scale(self) -> float:
        return math.exp(self._log_scale)

    @property
    def _log_scale(self) -> float:
        """The logarithm of the density at 0, which may be no double in many dimensions."""
        k = self.dimensions
        sphere = math.log(2) + k / 2 * math.log(math.pi) - math.lgamma(k / 2)
        return k * math.log(self.epsilon) - math.lgamma(k) - sphere

    def density(self, offsets: ArrayLike) -> Array:
        norms = self._norm(checked_numbers(offsets, self.dimensions))
        with np.errstate(over="ignore"):
            return np.exp(self._log_scale - self.epsilon * norms)

    def _norm(self, offsets: Array) -> Array:
        return np.linalg.norm(offsets, axis=-1)

    def _offsets(self, size: int, rng: np.random.Generator | None) -> Array:
        from scipy.special import ndtri

        # All directions alike, as normal numbers on each coordinate have, and the radius by inversion of its cdf.
        # Draws are from [0, 1): 0 would be infinitely far out.
        normal = ndtri(np.maximum(uniforms(size * self.dimensions, rng), _LEAST)).reshape(size, self.dimensions)
        radius = self.error_quantile(uniforms(size, rng))
        return radius[:, None] * normal / np.linalg.norm(normal, axis=1, keepdims=True)
