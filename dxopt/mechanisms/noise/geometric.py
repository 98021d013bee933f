"""Two-sided geometric noise on the multiples of a step, drawn exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.mechanisms.noise.base import Noise, checked_probability, exponents
from dxopt.numerics.coerce import POSITIVE, as_numbers, keep_number, require_values
from dxopt.numerics.draws import Coins

Array = NDArray[np.float64]

_LEAST = 2.0**-50
_FURTHEST = 2**62
"""Numbers up to that, with noise at the least εq, fit 64 bits."""


@dataclass(frozen=True)
class Geometric(Noise):
    """Multiples of q, given as whole numbers: i becomes j with probability tanh(εq/2) e^{-εq|j - i|}.

    εd-private for d = q|i - i'|, as a Laplace mechanism on the multiples of q (CABP13 Def 6, Fact 7); cut off at the
    ends of q[0..k] it is the truncated geometric mechanism (CABP13, Figure 2 (iv)), `classic.geometric`.

    The draws are exact: the exponent is the rational number that the product of the doubles ε and q is, and random
    bits are compared with whole numbers only (Canonne, Kamath and Steinke 2020). How long a draw takes depends on
    what is drawn.

    Parameters
    ----------
    epsilon : float
        Privacy level per unit of distance.
    step : float
        q.

    Raises
    ------
    SpecError
        If ε or q is not positive and finite, or εq is not finite or below 2^-50, where whole numbers would not
        fit 64 bits.

    Examples
    --------
    >>> import dxopt as dx
    >>> import numpy as np
    >>> noise = dx.noise.Geometric(epsilon=1.0)
    >>> print(noise.sample([10, 10, 10], np.random.default_rng(1)).tolist(), round(noise.mean_error, 3))
    [9, 13, 10] 0.851
    """

    epsilon: float
    step: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_number(self, "step", *POSITIVE)
        if not _LEAST <= self._exponent < math.inf:
            raise SpecError("step", f"times epsilon is {self._exponent:.3g}", "give a step with 2^-50 ≤ εq < ∞")

    @property
    def exponent(self) -> Fraction:
        """εq, exactly."""
        return Fraction(self.epsilon) * Fraction(self.step)

    @property
    def _exponent(self) -> float:
        return self.epsilon * self.step

    def mass(self, indices: ArrayLike) -> Array:
        """Return the probability of whole numbers j - i, of the same shape."""
        return math.tanh(self._exponent / 2) * np.exp(
            -self._exponent * np.abs(as_numbers(indices, "indices", "give numbers"))
        )

    def cdf(self, indices: ArrayLike) -> Array:
        """Return the probability of a whole number j - i of at most `indices`, of the same shape."""
        at = np.floor(as_numbers(indices, "indices", "give numbers"))
        beyond = np.exp(-self._exponent * np.where(at < 0, -at, at + 1)) / (1 + math.exp(-self._exponent))
        return np.where(at < 0, beyond, 1 - beyond)

    def quantile(self, probability: ArrayLike) -> Array:
        """Return the least number at which `cdf` is at least `probability`; SpecError unless that is from 0 to 1."""
        # P[noise ≤ j] is a^{-j}/(1 + a) for j < 0 and 1 - a^{j+1}/(1 + a) for j ≥ 0, each solved for j. Rounding may
        # put that one off, which `_correct_by_one` mends.
        probable = checked_probability(probability)
        both = 1 + math.exp(-self._exponent)
        with np.errstate(divide="ignore"):
            below = np.ceil(np.log(probable * both) / self._exponent)
            above = np.ceil(-np.log((1 - probable) * both) / self._exponent) - 1
        return _correct_by_one(np.where(probable * both <= 1, np.minimum(below, 0), above), self.cdf, probable)

    def sample(self, values: ArrayLike, rng: np.random.Generator | None = None) -> NDArray[np.int64]:
        """Add noise to whole numbers i, standing for qi: int64 of the same shape, 100,000 in a few seconds.

        Raises
        ------
        SpecError
            If they are not all whole numbers from -2^62 to 2^62.
        """
        require_values(values, "values")
        try:
            indices = np.asarray(values)
        except ValueError:
            raise SpecError("values", "are no array", "give whole numbers, the multiples of the step") from None
        if not np.issubdtype(indices.dtype, np.integer):
            raise SpecError("values", f"are {indices.dtype}", "give whole numbers, the multiples of the step")
        if indices.size and max(abs(int(indices.min())), abs(int(indices.max()))) > _FURTHEST:
            raise SpecError("values", "are above 2^62", "give whole numbers from -2^62 to 2^62")
        coins = Coins.of(rng)
        exponent = self.exponent
        drawn = np.array([coins.laplace(exponent) for _ in range(indices.size)], dtype=np.int64)
        return indices.astype(np.int64) + drawn.reshape(indices.shape)

    def error_cdf(self, radius: ArrayLike) -> Array:
        # The number of whole steps within the radius; the quotient may have been rounded below a whole number.
        reach = as_numbers(radius, "radius", "give numbers")
        steps = np.floor(reach / self.step)
        steps += (steps + 1) * self.step <= reach
        return np.where(steps < 0, 0.0, self._within(np.maximum(steps, 0.0)))

    def error_quantile(self, probability: ArrayLike) -> Array:
        # The least k at which the probability that `_aside` states is at most 1 - p.
        needed = np.ceil((exponents(probability) - self._aside) / self._exponent) - 1
        steps = _correct_by_one(np.maximum(needed, 0.0), self._within, checked_probability(probability))
        return np.maximum(steps, 0.0) * self.step

    @property
    def mean_error(self) -> float:
        # Above 700 sinh overflows, and the mean underflows.
        return self.step / math.sinh(self._exponent) if self._exponent < 700 else 0.0

    @property
    def _aside(self) -> float:
        """-log(2 / (1 + e^{-εq})): an error exceeds kq with probability e^{-εq(k + 1) - this}, for k ≥ 0."""
        return math.log1p(math.expm1(-self._exponent) / 2)

    def _within(self, steps: Array) -> Array:
        """Return the probability of an error of at most a number of steps, which may be -1."""
        return -np.expm1(-self._exponent * (steps + 1) - self._aside * (steps >= 0))


def _correct_by_one(guess: Array, cdf: Callable[[Array], Array], probability: Array) -> Array:
    """Return the least number at which the cdf is at least the probability, from a guess that is at most one off."""
    guess = np.where(cdf(guess - 1) >= probability, guess - 1, guess)
    return np.where(cdf(guess) < probability, guess + 1, guess)
