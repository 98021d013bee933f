"""The least level at which a channel is private, as claimed of baselines, which were made for no level."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.claims import distinguished
from dxopt.verify.folder import Result
from dxopt.verify.privacy import Levels, Triple, excess, is_least, violation
from dxopt.verify.verdict import Broken

_LESS = Fraction(10**9 - 1, 10**9)
_LARGEST = 699


def check_least_level(result: Result, bound: NDArray[np.bool_], epsilon: float, delta: Fraction, claim: str) -> None:
    """Broken unless ε is the least at which a channel is (εd, δ)-private, up to 1e-9 with δ and to 1e-12 without.

    Infinite is right where no level gives all pairs apart a budget of 700 or less.

    Parameters
    ----------
    result : Result
    bound : (n, n) array of bool
        The ordered pairs that are to be private.
    epsilon : float
    delta : Fraction
    claim : str
        What claims it, for errors.
    """
    if math.isinf(epsilon):
        budgets = np.where(result.distances > 0, 1.0, 0.0)
        if _broken(result, Levels.of(budgets, bound, Fraction(_LARGEST)), delta) is None:
            raise Broken(f"{claim}: epsilon is finite")
        return
    if epsilon < 0:
        raise Broken(f"{claim}: epsilon is {epsilon:.17g}")
    levels = Levels.of(result.distances, bound, Fraction(epsilon))
    found = _broken(result, levels, delta)
    if found is not None:
        raise Broken(f"{claim}: {distinguished(result, found)} at epsilon {epsilon:.17g}")
    if not delta:
        least = is_least(result.channel, levels)
    else:
        lower = Levels.of(result.distances, bound, Fraction(epsilon) * _LESS)
        least = not epsilon or _broken(result, lower, delta) is not None
    if not least:
        raise Broken(f"{claim}: epsilon {epsilon:.17g} is not the least")


def _broken(result: Result, levels: Levels, delta: Fraction) -> Triple | None:
    """A triple that tells secrets apart by more than δ."""
    return excess(result.channel, levels, delta)[1] if delta else violation(result.channel, levels)
