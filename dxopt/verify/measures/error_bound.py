"""The error that privacy costs at least, whatever the mechanism is (HLM14, Thms 6 and 7)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from dxopt.verify.exact import BITS, exp_bounds
from dxopt.verify.folder import Result
from dxopt.verify.values import AGREEMENT, LEAST
from dxopt.verify.verdict import Broken, Unproved

_LEAST = 1e-11
_SMALLEST = 2.0**-1022


def check_error_bound(result: Result, claimed: float) -> None:
    """The best pair, or the best secret with its k nearest: found in doubles, then exactly for the one found best.

    A number is no proven bound above what is shown exactly, and 1e-11 below it is not the best.
    """
    distances = result.distances
    level = Fraction(result.epsilon)
    if not np.array_equal(distances, distances.T):
        raise Unproved(f"{claimed:.12g}: the bounds are about symmetric distances")
    rest = 1 - Fraction(result.delta)
    found = Fraction(0)
    # How alike any two secrets are at least, e^{-εd}, in doubles.
    with np.errstate(invalid="ignore", over="ignore"):
        alike = np.exp(-result.epsilon * distances)
    np.fill_diagonal(alike, 0.0)
    alike[alike < _SMALLEST] = 0.0
    # A pair at distance d: each report costs the two d in total, so that one of them errs by (1 - δ) d / (1 + e^{εd})
    # at least (Thm 6, without its factor of 2). With e^{εd} rounded up, what is computed is below it.
    pairs = np.where(alike > 0, distances * alike / (1 + alike), 0.0)
    x, other = np.unravel_index(int(pairs.argmax()), pairs.shape)
    if pairs[x, other] > 0:
        apart = Fraction(float(distances[x, other]))
        found = rest * apart / (1 + _exponential(level * apart))
    # Thm 7: with k others within d of a secret, and all secrets at least r apart, some secret errs by
    # (1 - δ) r k / (k + e^{εd}) at least.
    nearest = distances[~np.eye(len(distances), dtype=bool)].min(initial=np.inf)
    if result.secrets and 0 < nearest < np.inf:
        counts = np.arange(1, len(distances))
        sorted_alike = -np.sort(-alike, axis=1)[:, :-1]
        shares = counts * sorted_alike / (1 + counts * sorted_alike)
        x, rank = np.unravel_index(int(shares.argmax()), shares.shape)
        if shares[x, rank] > 0:
            apart = Fraction(float(np.sort(np.delete(distances[x], x))[rank]))
            count = int(counts[rank])
            packed = rest * Fraction(float(nearest)) * count / (count + _exponential(level * apart))
            found = max(found, packed)
    if not found * (1 - Fraction(_LEAST)) - 4 * LEAST <= Fraction(claimed) <= found * (1 + AGREEMENT) + 4 * LEAST:
        raise Broken(f"claims.json: error_bound is {float(found):.17g}, not {claimed:.17g}")


def _exponential(exponent: Fraction) -> Fraction:
    """A number above e^exponent, relatively by 2^-100 or so."""
    return Fraction(exp_bounds(exponent)[1], 1 << BITS)
