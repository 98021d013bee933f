"""Odometers: what releases have given away so far, where each level may be chosen after what came before."""

from __future__ import annotations

import math

import numpy as np

from dxopt.errors import SpecError
from dxopt.model.privacy import checked_delta, checked_level
from dxopt.numerics.coerce import POSITIVE, as_number, checked_count
from dxopt.numerics.number_syntax import Written, level_text
from dxopt.runtime.display import Lines, Shown

_TILTS = 2.0 ** np.arange(-12.0, 8.5, 0.5)
"""The λ of the moments that are bounded; a total between two of them loses 2 % of what grows with its root."""
_UP = 1 + 2.0**-40
"""More than all roundings of a sum of 10,000 terms; each sum is raised by it."""


class Odometer(Shown):
    """The privacy loss of releases so far, at any time, where levels may depend on all earlier reports.

    For two histories of a secret that are at most `distance` d apart at each release, the loss L_n after n releases,
    the logarithm of the ratio of the probabilities of all reports, is bounded at all times together: with probability
    1 - δ no L_n is above `epsilon` of that time. So releases that end at any time, by any rule, are
    (epsilon, δ)-private. `dx.compose` is closer where all levels are known beforehand.

    Of a release of ε, E[e^{λL}] is at most p e^{λεd} + (1 - p) e^{-λεd} with p = 1 / (1 + e^{-εd}), whatever came
    before, so that e^{λL_n} over the product of these is a supermartingale, and so is its mean over some λ. Ville's
    inequality bounds it at all times (Whitehouse, Ramdas, Rogers and Wu 2023). A δ_i of a release adds to δ.

    Parameters
    ----------
    delta : float
        Probability with which the bound may fail at any time, above 0.
    distance : float
        In the unit of the distances of the space.

    Raises
    ------
    SpecError
        If δ is not above 0 and below 1, or the distance is not positive.

    Examples
    --------
    >>> import dxopt as dx
    >>> odometer = dx.Odometer(1e-6)
    >>> for _ in range(400):
    ...     odometer.spend(0.05 if odometer.epsilon < 4 else 0.02)
    >>> print(round(odometer.pure, 2), round(odometer.epsilon, 2))
    13.07 4.45
    """

    def __init__(self, delta: float, distance: float = 1.0) -> None:
        self._failure = checked_delta(delta)
        if not self._failure:
            raise SpecError("delta", "is 0", "give a number above 0; at 0 levels add up")
        self.distance = as_number(distance, "distance", *POSITIVE)
        self.releases = 0
        self._moments = np.zeros(len(_TILTS))
        self._pure = self._deltas = 0.0

    def spend(self, epsilon: Written, delta: float = 0.0, count: int = 1) -> None:
        """Count releases that are proven at a level per unit of distance, and δ.

        Raises
        ------
        SpecError
            If the level is no level, or the count is below 1.
        """
        loss, times = checked_level(epsilon) * self.distance * _UP, checked_count("count", count)
        share = checked_delta(delta)
        # of p e^{λε} + (1 - p) e^{-λε}, without overflow
        top, bottom = -math.log1p(math.exp(-loss)), -loss - math.log1p(math.exp(-loss))
        moments = np.logaddexp(top + _TILTS * loss, bottom - _TILTS * loss)
        self.releases += times
        self._moments += times * np.maximum(moments, 0.0) * _UP
        self._pure += times * loss
        self._deltas += times * share * _UP

    @property
    def pure(self) -> float:
        """Σ ε_i d, which holds with the δ_i of the releases alone."""
        return self._pure * _UP

    @property
    def delta(self) -> float:
        """Probability with which `epsilon` may not hold: the one given, and the δ_i of the releases."""
        return min(self._failure + self._deltas, 1.0) if self._deltas else self._failure

    @property
    def epsilon(self) -> float:
        """Bound on the loss for two histories at most `distance` apart at each release; `pure` at most."""
        needed = math.log(len(_TILTS) / self._failure) * _UP
        return float(min(self.pure, ((needed + self._moments * _UP) / _TILTS).min() * _UP))

    def _summary(self) -> str:
        return f"{self.releases:,} releases: epsilon {level_text(self.epsilon, 6)}, delta {level_text(self.delta, 6)}"

    def _lines(self) -> Lines:
        return [
            ("releases", f"{self.releases:,}"),
            ("epsilon", f"{level_text(self.epsilon, 6)} at distance {self.distance:g}, at any time"),
            ("delta", level_text(self.delta, 6)),
            ("sum of levels", level_text(self.pure, 6)),
        ]
