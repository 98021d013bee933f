"""Staircase noise: the density falls in steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.mechanisms.noise.base import LineNoise
from dxopt.numerics.coerce import POSITIVE, as_numbers, keep_number

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Staircase(LineNoise):
    """Noise of the density a e^{-εi} for |z - x| from iΔ to (i + γ)Δ, and a e^{-ε(i + 1)} from there to (i + 1)Δ.

    εd-private for d = ⌈|x - x'|/Δ⌉, as is asked of the answers to a query that one record changes by Δ at most. Of
    all such noise, it has the least expected |z - x| at γ = 1/(1 + e^{ε/2}) (Geng and Viswanath 2014). It is no
    Laplace mechanism in the sense of CABP13 Def 6. For real releases there is `classic.staircase`, proven private in
    doubles.

    Parameters
    ----------
    epsilon : float
        Privacy level per Δ.
    sensitivity : float
        Δ.
    share : float, optional
        γ, from 0 to 1.

    Raises
    ------
    SpecError
        If ε or Δ is not positive and finite, or γ is not from 0 to 1.

    Examples
    --------
    >>> import dxopt as dx
    >>> noise = dx.noise.Staircase(epsilon=3.0, sensitivity=1.0)
    >>> print(round(noise.mean_error, 3), "against", round(dx.noise.Laplace(epsilon=3.0).mean_error, 3))
    0.235 against 0.333
    """

    epsilon: float
    sensitivity: float = 1.0
    share: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        keep_number(self, "sensitivity", *POSITIVE)
        if self.share is not None:
            keep_number(self, "share", "give a number from 0 to 1", lambda number: 0 <= number <= 1)

    def density(self, offsets: ArrayLike) -> Array:
        # Beyond the share γ of a step, the density is that of the next one.
        steps, part = np.divmod(np.abs(as_numbers(offsets, "offsets", "give numbers")) / self.sensitivity, 1.0)
        peak = -math.expm1(-self.epsilon) / (2 * self.sensitivity * self._total)
        return peak * np.exp(-self.epsilon * (steps + (part >= self._share)))

    @property
    def mean_error(self) -> float:
        # Whole steps passed on average, 1/(e^ε - 1), and the place within a step, whose higher part has mass `high`.
        high = self._share / self._total
        steps = 1 / math.expm1(self.epsilon) if self.epsilon < 700 else 0.0
        return self.sensitivity * (steps + 0.5 * (high * self._share + (1 - high) * (1 + self._share)))

    @property
    def _share(self) -> float:
        """γ."""
        return 1 / (1 + math.exp(min(self.epsilon / 2, 700.0))) if self.share is None else self.share

    @property
    def _fall(self) -> float:
        """The ratio of the densities of a step and the one before."""
        return math.exp(-self.epsilon)

    @property
    def _total(self) -> float:
        """The mass of one step where its higher part has density 1 per Δ."""
        return self._share + self._fall * (1 - self._share)

    def _within(self, low: Array, high: Array) -> Array:
        # The steps that low and high fall in, and the parts of them that are passed. Step i has the mass
        # e^{-εi} (1 - e^{-ε}), of which `unit` is for each unit of the mass that `_before` and `_after` count.
        first, start = self._step(low)
        last, end = self._step(high)
        unit = -math.expm1(-self.epsilon) / self._total

        # Either both are in one step, or there are the rest of the first, whole steps, and a part of the last.
        one = np.exp(-self.epsilon * first) * unit * (self._before(end) - self._before(start))
        steps = np.exp(-self.epsilon * (first + 1)) * -np.expm1(-self.epsilon * np.maximum(last - first - 1, 0.0))
        opening = np.exp(-self.epsilon * first) * unit * self._after(start)
        closing = np.exp(-self.epsilon * last) * unit * self._before(end)
        return np.where(first == last, one, opening + steps + closing)

    def _step(self, radius: Array) -> tuple[Array, Array]:
        """Return the step that a radius falls in, and the part of it that is passed."""
        scaled = radius / self.sensitivity
        steps = np.floor(scaled)
        return steps, np.subtract(scaled, steps, out=np.zeros(scaled.shape), where=np.isfinite(scaled))

    def _before(self, part: Array) -> Array:
        """Return the mass of a step up to some part of it, where its higher part has density 1 per Δ."""
        return np.minimum(part, self._share) + self._fall * np.maximum(part - self._share, 0.0)

    def _after(self, part: Array) -> Array:
        """Return the mass of a step from some part of it on, likewise."""
        return np.maximum(self._share - part, 0.0) + self._fall * np.minimum(1 - self._share, 1 - part)

    def _radius(self, exponent: Array) -> Array:
        # e^{-exponent} = e^{-ε·steps} e^{-left}: after that many whole steps, the part 1 - e^{-left} of all that is
        # left has to be passed.
        never = np.isinf(exponent)
        steps, left = np.divmod(np.where(never, 0.0, exponent), self.epsilon)
        unit = self._total / -math.expm1(-self.epsilon)

        # Within the higher part of the step it is passed at density 1; beyond, it is counted back from the end of the
        # step, at the density of the lower part.
        high = -np.expm1(-left) * unit
        with np.errstate(over="ignore"):
            low = np.clip(1 - np.expm1(self.epsilon - left) * unit, self._share, 1.0)
        return np.where(never, np.inf, self.sensitivity * (steps + np.where(high <= self._share, high, low)))
