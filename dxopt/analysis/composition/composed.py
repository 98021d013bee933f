"""The answer to a question about a composition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from dxopt.runtime.shown import Shown

_DIGITS = 6
_ROUNDING = 1e-9


@dataclass(frozen=True, repr=False)
class Composed(Shown):
    """The privacy of independent releases together: a proven bound, and another one that shows how loose it is.

    Attributes
    ----------
    asked : {"epsilon", "delta"}
        Which of the two was given: δ at that ε, or the least ε at that δ.
    epsilon : float
        Per unit of distance. The releases together are proven (εd, δ)-private with `delta`.
    delta : float
    least : float
        What was not given, ε or δ, is at least this: proven as well, so that `epsilon` or `delta` is too large by at
        most the difference.
    pure : float
        Σ k_j ε_j, at which the releases are private with δ = 0; infinite where one of them is so at no ε.
    releases : int
        k, all of them.
    worst : tuple of two str, or None
        The labels of the pair of secrets that is told apart best, as far as the bounds say; None where no pair is.
    pairs : {"all", "adjacent"}
        Which pairs of secrets it is about: all, or neighbours alone.

    Examples
    --------
    >>> import dxopt as dx
    >>> answer = dx.compose(dx.classic.geometric(dx.line(3), epsilon=0.5), 4).epsilon(0.01)
    >>> print(round(answer.least, 2), round(answer.epsilon, 2), round(answer.pure, 2), answer.worst)
    1.97 1.97 2.0 ('0', '2')
    """

    asked: Literal["epsilon", "delta"]
    epsilon: float
    delta: float
    least: float
    pure: float
    releases: int
    worst: tuple[str, str] | None
    pairs: str

    def __str__(self) -> str:
        several = f"{self.releases} releases" if self.releases > 1 else "1 release"
        among = "for all pairs of secrets" if self.pairs == "all" else "for neighbours alone"
        pure = "at no epsilon" if math.isinf(self.pure) else f"at epsilon {_above(self.pure)}"
        if self.asked == "epsilon":
            said = f"epsilon {self.epsilon:.6g}, delta at most {_above(self.delta)}"
        elif math.isinf(self.epsilon):
            said = f"no epsilon at delta {self.delta:.6g}"
        else:
            said = f"epsilon at most {_above(self.epsilon)} at delta {self.delta:.6g}"
        pair = "" if self.worst is None else f"; worst pair {self.worst[0]} and {self.worst[1]}"
        return f"{several} together, {among}: {said} (and at least {self.least:.6g}){pair}; delta 0 {pure}"


def _above(number: float) -> str:
    """A positive number rounded up to some digits; what is above such a number by 1e-9 of it counts as rounding."""
    if number == 0 or math.isinf(number):
        return f"{number:g}"
    digits, _, exponent = f"{number:.{_DIGITS - 1}e}".partition("e")
    if float(f"{digits}e{exponent}") < number * (1 - _ROUNDING):
        digits = f"{float(digits) + 10.0 ** (1 - _DIGITS):.{_DIGITS - 1}f}"
    return f"{float(f'{digits}e{exponent}'):.{_DIGITS}g}"
