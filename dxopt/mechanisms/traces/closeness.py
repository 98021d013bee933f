"""Private tests whether a prediction is close: noise on its distance, which is 1-Lipschitz in the secret."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.numerics.coerce import short_repr
from dxopt.numerics.draws import uniforms
from dxopt.numerics.exact_rational import positive

Probability = float | Fraction
_ON_GRID = 2.0**-44
"""Relative distance from a multiple of the step within which a number counts as one."""
_FURTHEST = 700.0
"""The largest exponent, so that no probability is 0."""
_WORD = 53
"""Random bits that are compared at a time."""


class ClosenessTest(Protocol):
    """A test whether distance + noise ≤ threshold.

    Examples
    --------
    >>> import dxopt as dx
    >>> test = dx.traces.LaplaceTest()
    >>> print(round(test.quantile(0.95, level=1.0), 3))
    2.303
    """

    def check(self, distances: NDArray[np.float64] | None) -> None:
        """Raise SpecError unless the test suits the distances of a space, None where they are any numbers.

        This is checked before any secret is known, so that no error reveals something about one.
        """
        ...

    def probabilities(self, distance: float, threshold: float, level: float) -> tuple[Probability, Probability]:
        """Return the probabilities of the answers "close" and "far", each to full relative accuracy."""
        ...

    def quantile(self, probability: float, level: float) -> float:
        """Return the least r with P[noise < -r] ≤ 1 - probability.

        A prediction further away than threshold + r is called close with at most the remaining probability.
        """
        ...


@dataclass(frozen=True)
class LaplaceTest:
    """Noise of density ε/2·e^{-ε|r|} on the distance: the answer is ε-private (Dwork et al. 2006).

    Exponents above 700 count as 700, which keeps that: no answer is impossible for some secrets only.

    Examples
    --------
    >>> import dxopt as dx
    >>> test = dx.traces.LaplaceTest()
    >>> print([round(float(part), 3) for part in test.probabilities(distance=2.0, threshold=1.0, level=1.0)])
    [0.184, 0.816]
    """

    def check(self, distances: NDArray[np.float64] | None) -> None:
        pass

    def probabilities(self, distance: float, threshold: float, level: float) -> tuple[float, float]:
        # P[noise ≤ threshold - distance]: the rarer of the two answers is a tail of the noise, accurate however rare.
        margin = level * (threshold - distance)
        tail = 0.5 * math.exp(-min(abs(margin), _FURTHEST))
        return (1 - tail, tail) if margin >= 0 else (tail, 1 - tail)

    def quantile(self, probability: float, level: float) -> float:
        # P[noise < -r] is e^{-εr}/2.
        return max(0.0, -math.log(2 * (1 - probability)) / level)


@dataclass(frozen=True)
class GeometricTest:
    """Two-sided geometric noise on distances that are multiples of a step q: the answer is ε-private.

    P[noise = kq] is a^{|k|}(1-a)/(1+a) with a = e^{-εq} (Ghosh, Roughgarden and Sundararajan 2009).

    Parameters
    ----------
    step : float
        q. Distances are its multiples to 13 digits, and the level is as much lower; under a base, exactly.
    base : Fraction, optional
        With it, levels count multiples of ln(base) and probabilities are rational: a = base^{-level·q}.

    Raises
    ------
    SpecError
        If the step is not positive and finite or the base not above 1; when asked, if a distance is no multiple of q,
        or level·q is not whole under a base (UnsupportedError),
        and with a mechanism, if any distance of the space is none, or there is no finite space.

    Examples
    --------
    >>> import dxopt as dx
    >>> test = dx.traces.GeometricTest(step=0.5)
    >>> print(test.quantile(0.95, level=1.0))
    2.5
    """

    step: float = 1.0
    base: Fraction | None = None

    def __post_init__(self) -> None:
        positive(self.step, "step")
        checked_base(self.base)

    def check(self, distances: NDArray[np.float64] | None) -> None:
        if distances is None:
            raise UnsupportedError("test", "needs a finite space", "use LaplaceTest")
        for distance in np.unique(distances[np.isfinite(distances)]).tolist():
            steps = round(distance / self.step)
            off = abs(Fraction(distance) - steps * Fraction(self.step))
            if off > (0 if self.base else Fraction(_ON_GRID) * Fraction(distance)):
                raise UnsupportedError("distance", f"{distance:g} is no multiple of {self.step:g}", "use LaplaceTest")

    def probabilities(self, distance: float, threshold: float, level: float) -> tuple[Probability, Probability]:
        if not math.isfinite(distance):
            return (0.0, 1.0) if self.base is None else (Fraction(0), Fraction(1))
        self.check(np.array([distance]))

        # In steps: the answer is "close" if the noise is at most `margin`. The rarer answer is a tail of the noise
        # that begins `tail_steps` away from 0, beyond the threshold or before it.
        steps = round(distance / self.step)
        margin = math.floor(threshold / self.step * (1 + _ON_GRID)) - steps
        tail_steps = margin + 1 if margin >= 0 else -margin

        # P[noise ≥ kq] = a^k / (1 + a), for k ≥ 1.
        if self.base is None:
            rate = self._rate(level)
            tail = math.exp(-min(rate * tail_steps, _FURTHEST))
            both = 1 + math.exp(-rate)
        else:
            factor = 1 / Fraction(self.base) ** checked_whole(Fraction(level) * Fraction(self.step))
            tail = factor**tail_steps
            both = 1 + factor
        least = tail / both
        return (1 - least, least) if margin >= 0 else (least, 1 - least)

    def quantile(self, probability: float, level: float) -> float:
        # P[noise < -kq] is a^{k+1} / (1 + a): `beyond` is the least k + 1, not yet a whole number.
        rate = self._rate(level) * (1.0 if self.base is None else math.log(self.base))
        beyond = -math.log((1 - probability) * (1 + math.exp(-rate))) / rate
        return self.step * max(0, math.ceil(beyond) - 1)

    def _rate(self, level: float) -> float:
        """Return εq, lowered by how far two distances may be from multiples of q."""
        return level * self.step * (1 - 2 * _ON_GRID)


def checked_base(base: Fraction | None) -> None:
    """Raise SpecError unless a base is a rational above 1, or None."""
    if base is not None and not (isinstance(base, Fraction | int) and base > 1):
        raise SpecError("base", f"is {short_repr(base)}", "give a Fraction above 1")


def checked_whole(count: float | Fraction) -> int:
    """Return a count of steps as an int; UnsupportedError unless it is whole, for else no probability is rational."""
    if count != int(count):
        raise UnsupportedError("level", f"{float(count):g} steps of the base", "give whole multiples, or no base")
    return int(count)


def happens(probability: Probability, rng: np.random.Generator | None) -> bool:
    """Draw True with exactly this probability, decided by as many binary digits of a uniform number as it takes."""
    # The digits of the probability are compared with random ones, 53 at a time; the first difference decides. Where
    # the probability has no digits left, the random number is not below it.
    left = Fraction(probability)
    while True:
        left *= 2**_WORD
        digits = math.floor(left)
        drawn = int(uniforms(1, rng)[0] * 2**_WORD)
        if drawn != digits:
            return drawn < digits
        left -= digits
        if not left:
            return False
