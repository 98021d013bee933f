"""Leakage to an adversary with any gain, and what it can be at most: capacities (Alvim et al. 2012, 2014)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.mechanism import MatrixMechanism, Mechanism
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.coerce import short_repr
from dxopt.numerics.rounding import SMALLEST, UNIT
from dxopt.runtime.display import Shown

Array = NDArray[np.float64]
Gains = Literal["bounded", "spanning"]


@dataclass(frozen=True, repr=False)
class Leakage(Shown):
    """Gain of an adversary by a report: the best expected gain before it and after it.

    Attributes
    ----------
    before : float
        The prior g-vulnerability max_w Σ_x π_x g(x, w).
    after : float
        The posterior one, Σ_z max_w Σ_x π_x K[x, z] g(x, w).
    """

    before: float
    after: float

    @property
    def additive(self) -> float:
        """After minus before, in units of the gain."""
        return self.after - self.before

    @property
    def bits(self) -> float:
        """The multiplicative leakage log2(after / before); infinite where only after is positive.

        Raises
        ------
        SpecError
            If the best gain before is negative, for which no quotient has a meaning.
        """
        if self.before < 0:
            raise SpecError(
                "gain", f"is {self.before:.6g} before any report", "look at .additive, or raise all gains"
            )
        if self.before == 0:
            return math.inf if self.after > 0 else 0.0
        return math.log2(self.after / self.before)


def g_leakage(mechanism: Mechanism, prior: PriorLike, gain: LossLike | Loss = "binary") -> Leakage:
    """Compute the leakage to an adversary who knows the prior and gains g(x, w) by guessing w (Alvim et al. 2012).

    Parameters
    ----------
    mechanism : Mechanism
        n secrets, m reports.
    prior : Prior
    gain : "binary", (n, w) array or callable
        g(x, w): what guessing w is worth if the secret is x, of either sign. `"binary"` is 1 for the secret itself
        and 0 otherwise, for which the leakage is that of min-entropy. A callable is given a secret and a guess, which
        is a secret.

    Raises
    ------
    SpecError
        If a gain is infinite, or prior or gain do not fit.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(round(dx.evaluate.g_leakage(mechanism, "uniform").bits, 3))
    0.944
    """
    required_mechanism(mechanism, Mechanism)
    believed = Prior.of(prior, mechanism.space).probabilities
    if isinstance(gain, str):
        if gain != "binary":
            raise SpecError("gain", f"there is no {gain!r}", "use binary, a matrix or a function of secret and guess")
        return Leakage(float(believed.max()), min(1.0, mechanism.correct(believed)))
    try:
        gains = Loss.of(gain, mechanism.space).matrix
    except SpecError as error:
        raise error.at("gain") from None
    if not np.isfinite(gains).all():
        raise SpecError("gain", "is infinite for some guess", "give finite gains")
    after = math.fsum((gains.T @ (believed[:, None] * mechanism.matrix)).max(axis=0))
    # rounding may leave more than there is to gain
    return Leakage(float((believed @ gains).max()), min(after, float(gains.max())))


def capacity(mechanism: Mechanism, prior: PriorLike | None = None) -> float:
    """Return the min-capacity log2 Σ_z max_x K[x, z], in bits, rounded up: no leakage is larger.

    The multiplicative leakage is at most that for every prior and every gain of 0 or more; the uniform prior with the
    binary gain attains it (Braun, Chatzikokolakis and Palamidessi 2009; the "miracle" of Alvim et al. 2012, Thm 5.1).

    Parameters
    ----------
    mechanism : Mechanism
    prior : Prior, optional
        For the largest leakage under this prior, over all gains of 0 or more: the maximum is over secrets of positive
        probability alone. The gain 1 / π_x of guessing x right attains it.

    Raises
    ------
    SpecError
        If the prior does not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(round(dx.evaluate.capacity(mechanism), 3), "bits, under any prior")
    0.944 bits, under any prior
    """
    support = _support(mechanism, prior)
    # The largest entries of a matrix are exact; those found by structure are products along ways of up to n steps.
    # Their sum is off by a unit in the last place at most, and the logarithm by up to four.
    roundings = 8 if isinstance(mechanism, MatrixMechanism) else 2 * len(mechanism.space) + 64
    largest = mechanism.correct(support) * (1 + roundings * UNIT)
    bits = math.log2(largest)
    most = math.log2(min(np.count_nonzero(support), len(mechanism.reports)))
    return min(max(0.0, bits + 16 * UNIT * (1 + abs(bits))), most)


def additive_capacity(mechanism: Mechanism, prior: PriorLike | None = None, *, gains: Gains = "bounded") -> float:
    """Return the largest additive leakage over a class of gains, rounded up: no leakage is larger.

    - "bounded": gains of either sign with a vulnerability between 0 and 1 under every belief, which is 1 - Σ_z min_x
      K[x, z]. It is the same for every prior that excludes no secret, hence over all of them (Chatzikokolakis 2017).
    - "spanning": what a guess gains in two secrets differs by at most 1. Under a prior π that is
      Σ_x π_x Σ_z max(0, K[x, z] - Σ_x' π_x' K[x', z]).

    Over all priors for one fixed gain it is NP-hard (Alvim et al. 2014): look at `g_leakage` under the priors that
    matter.

    Parameters
    ----------
    mechanism : Mechanism
    prior : Prior, optional
        Secrets that it excludes do not count; needed for "spanning".
    gains : {"bounded", "spanning"}

    Raises
    ------
    SpecError
        If there are no such gains.
    UnsupportedError
        If the prior is missing for "spanning".

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(round(dx.evaluate.additive_capacity(mechanism), 3))
    0.632
    """
    if not isinstance(gains, str) or gains not in ("bounded", "spanning"):
        fix = "use bounded or spanning; for one gain, g_leakage under each prior that matters"
        raise SpecError("gains", f"are {short_repr(gains)}; for one gain over all priors that is NP-hard", fix)
    believed = _support(mechanism, prior)
    if gains == "bounded":
        least = np.full(len(mechanism.reports), np.inf)
        for secrets, rows in mechanism.blocks():
            counted = believed[secrets] > 0
            if counted.any():
                np.minimum(least, rows[counted].min(axis=0), out=least)
        # The least entries are exact, and their sum and the difference are rounded once each.
        return min(1.0, max(0.0, 1.0 - math.fsum(least) + 4 * UNIT))
    if prior is None:
        raise UnsupportedError("prior", "is missing", "give one: over all priors no closed form is known")
    weights = Prior.of(prior, mechanism.space).probabilities
    matrix = mechanism.matrix
    # Each average is a sum of n products: off by n + 1 roundings of itself, to first order; twice that is counted.
    average = weights @ matrix
    low = np.maximum(average * (1 - 2 * (len(weights) + 2) * UNIT) - len(weights) * SMALLEST, 0.0)
    above = np.maximum(matrix - low, 0.0)
    found = math.fsum(weights * above.sum(axis=1))
    # The sums over m reports and the product round by (m + 8) units at most, to first order; twice that is counted.
    return min(1.0, found * (1 + 2 * (matrix.shape[1] + 8) * UNIT))


def _support(mechanism: Mechanism, prior: PriorLike | None) -> Array:
    """Return 1 for each secret of positive prior, or for all without a prior, and 0 for the others, `(n,)`."""
    required_mechanism(mechanism, Mechanism)
    if prior is None:
        return np.ones(len(mechanism.space))
    return (Prior.of(prior, mechanism.space).probabilities > 0).astype(float)
