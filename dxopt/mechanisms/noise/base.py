"""Base class of noise, and what noises on the real line share."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.numerics.coerce import POSITIVE, as_numbers, as_written
from dxopt.numerics.draws import uniforms

Array = NDArray[np.float64]

_FINEST = 2.0**-10
"""Doubles next to a value may be so many mean errors apart."""


class Noise(ABC):
    """Noise whose distribution does not depend on what it is added to.

    The error is the distance between the value with noise and the value without.

    Attributes
    ----------
    epsilon : float
        Privacy level per unit of distance.

    Examples
    --------
    >>> import dxopt as dx
    >>> noise = dx.noise.PlanarLaplace(epsilon=2.0)
    >>> print(isinstance(noise, dx.noise.Noise), noise.mean_error)
    True 1.0
    """

    epsilon: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_written(self.epsilon, "epsilon", *POSITIVE))

    @abstractmethod
    def sample(self, values: ArrayLike, rng: np.random.Generator | None = None) -> NDArray:
        """Add noise to each value; without `rng` from the operating system's randomness."""

    @abstractmethod
    def error_cdf(self, radius: ArrayLike) -> Array:
        """Return the probability of an error of at most `radius`, of the same shape."""

    @abstractmethod
    def error_quantile(self, probability: ArrayLike) -> Array:
        """Return the least radius that the error exceeds with probability 1 - `probability` at most.

        Raises
        ------
        SpecError
            Unless probabilities are from 0 to 1.
        """

    @property
    @abstractmethod
    def mean_error(self) -> float:
        """The expected error."""

    def _fine(self, values: Array) -> Array:
        """Return values; SpecError where doubles next to one are too far apart to hide it under the noise."""
        if values.size and np.spacing(np.abs(values).max()) > _FINEST * self.mean_error:
            wrong = "are too large for this noise, which doubles of their size would round away"
            raise SpecError("values", wrong, "subtract a constant that is public, or take dx.noise.Geometric")
        return values


class LineNoise(Noise):
    """Continuous noise on the real line, symmetric around 0, with |z - x| for its error.

    Examples
    --------
    >>> import dxopt as dx
    >>> noise = dx.noise.Laplace(epsilon=1.0)
    >>> print(isinstance(noise, dx.noise.LineNoise), round(float(noise.mass_between(-1, 1)), 3))
    True 0.632
    """

    @abstractmethod
    def density(self, offsets: ArrayLike) -> Array:
        """Return the density at offsets z - x, of the same shape."""

    @abstractmethod
    def _within(self, low: Array, high: Array) -> Array:
        """Return the probability of an error between 0 ≤ low ≤ high, low finite, without cancellation."""

    @abstractmethod
    def _radius(self, exponent: Array) -> Array:
        """Return the radius that the error exceeds with probability e^{-exponent}."""

    def mass_between(self, low: ArrayLike, high: ArrayLike) -> Array:
        """Return the probability of an offset between low ≤ high, which may be infinite; accurate also far from 0."""
        lowest = as_numbers(low, "low", "give numbers")
        highest = as_numbers(high, "high", "give numbers")
        # Half of the errors are on either side of 0: what the interval covers above 0, and what it covers below.
        above = self._errors(np.maximum(lowest, 0.0), np.maximum(highest, 0.0))
        return 0.5 * (above + self._errors(np.maximum(-highest, 0.0), np.maximum(-lowest, 0.0)))

    def cdf(self, offsets: ArrayLike) -> Array:
        """Return the probability of an offset of at most `offsets`, of the same shape."""
        # The tail beyond |offset| is accurate however far it is; above 0 it is taken from 1.
        at = as_numbers(offsets, "offsets", "give numbers")
        beyond = 0.5 * self._errors(np.abs(at), np.full(at.shape, np.inf))
        return np.where(at < 0, beyond, 1 - beyond)

    def quantile(self, probability: ArrayLike) -> Array:
        """Return the offset at which `cdf` is `probability`; SpecError unless that is from 0 to 1."""
        # By symmetry: the error that is exceeded with twice the smaller of p and 1 - p, on the side of p.
        probable = checked_probability(probability)
        with np.errstate(divide="ignore"):
            exponent = np.maximum(-np.log(2 * np.minimum(probable, 1 - probable)), 0.0)
        return np.copysign(self._radius(exponent), probable - 0.5)

    def error_cdf(self, radius: ArrayLike) -> Array:
        reach = np.maximum(as_numbers(radius, "radius", "give numbers"), 0.0)
        return self._errors(np.zeros(reach.shape), reach)

    def error_quantile(self, probability: ArrayLike) -> Array:
        return self._radius(exponents(probability))

    def sample(self, values: ArrayLike, rng: np.random.Generator | None = None) -> Array:
        """Add noise to numbers.

        Raises
        ------
        SpecError
            If they are not all finite numbers, or doubles near one are further apart than the mean error / 1,024.
        """
        return self._fine(checked_numbers(values)) + self._offsets(np.shape(values), rng)

    def _offsets(self, shape: tuple[int, ...], rng: np.random.Generator | None) -> Array:
        """Draw noise alone: the error by inversion, and a fair sign."""
        size = int(np.prod(shape))
        sign = np.where(uniforms(size, rng) < 0.5, -1.0, 1.0)
        return (sign * self.error_quantile(uniforms(size, rng))).reshape(shape)

    def _errors(self, low: Array, high: Array) -> Array:
        """Return the probability of an error between 0 ≤ low ≤ high."""
        never = np.isinf(low)
        with np.errstate(over="ignore"):
            return np.where(never, 0.0, self._within(np.where(never, 0.0, low), high))


def exponents(probability: ArrayLike) -> Array:
    """Return -log(1 - p); SpecError unless all p are from 0 to 1."""
    with np.errstate(divide="ignore"):
        return -np.log1p(-checked_probability(probability))


def checked_probability(probability: ArrayLike) -> Array:
    """Return probabilities as an array; SpecError unless they are from 0 to 1."""
    probable = as_numbers(probability, "probability", "give numbers from 0 to 1")
    if not ((probable >= 0) & (probable <= 1)).all():
        raise SpecError("probability", "is not from 0 to 1", "give numbers from 0 to 1")
    return probable


def checked_numbers(values: ArrayLike, dimensions: int | None = None) -> Array:
    """Return finite numbers as an array, `(..., dimensions)` where that is given; SpecError otherwise."""
    numbers = as_numbers(values, "values", "give finite numbers")
    if not np.isfinite(numbers).all():
        raise SpecError("values", "are not all finite", "give finite numbers")
    if dimensions is not None and numbers.shape[-1:] != (dimensions,):
        raise SpecError("values", f"have shape {numbers.shape}", f"give points with {dimensions} coordinates")
    return numbers
