"""The rate-distortion function by the algorithm of Blahut and Arimoto, with proven bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.numerics.number_syntax import ordered
from dxopt.runtime.stopping import Status, Stop

Array = NDArray[np.float64]

_STEEPEST = 2.0**60
_HALVINGS = 200
_SELDOM = 1e-100
"""Reports that are less likely count as impossible, so that no weight underflows in some rows only."""


@dataclass(frozen=True, eq=False)
class Point:
    """One point of the curve: a channel `(n, m)` and what is known of it, in the words of `RateDistortion`."""

    channel: Array
    rate: float
    bound: float
    loss: float
    slope: float
    iterations: int
    status: Status


@dataclass(frozen=True, eq=False)
class RateCurve:
    """The rate against the loss, a point for each slope, for a prior `(n,)` and losses `(n, m)`."""

    weights: Array
    losses: Array
    tolerance: float
    limit: int
    stop: Stop

    def within(self, most: float) -> Point:
        """Return the point of the flattest slope whose expected loss is at most that, up to 1e-9 of it."""
        weights = self.weights
        losses = self.losses
        least = float(weights @ losses.min(axis=1))
        if not least <= most:
            low, high = ordered(most, least)
            raise SpecError("max_loss", f"is {low}", f"no channel has a loss below {high}")
        if most >= float((weights @ losses).min()):
            return self.at(0.0)
        # The loss falls as the slope rises: double it until the loss is small enough, then bisect. `best` is the
        # point of `high`, which keeps to the bound.
        low = 0.0
        high = 1.0
        best = self.at(high)
        while best.loss > most and high < _STEEPEST and not self.stop.requested:
            low = high
            high = 2 * high
            best = self.at(high)
        for _ in range(_HALVINGS):
            if best.loss >= most * (1 - 1e-9) or high - low <= 1e-12 * high or self.stop.requested:
                break
            middle = 0.5 * (low + high)
            tried = self.at(middle)
            if tried.loss > most:
                low = middle
            else:
                high = middle
                best = tried
        return best

    def at(self, slope: float) -> Point:
        """Return the channel of one slope, with the bounds of Blahut (1972, Theorem 6) on its rate.

        For the distribution q of the reports, K[x, z] = q_z e^{-s l(x, z)} / Z_x is the best channel; for the
        channel, its own reports are the best q. With c_z = Σ_x π_x e^{-s l(x, z)} / Z_x one round of both replaces
        q_z by q_z c_z.
        """
        weights = self.weights
        losses = self.losses
        likely = weights > 0
        # Losses count from the least of each row, which cancels in K and leaves an exponential of 1 in each.
        shift = losses.min(axis=1, keepdims=True)
        kernel = np.exp(-slope * (losses - shift))
        # Without a slope one report is enough: the best of all on average.
        if slope == 0:
            chances = np.zeros(losses.shape[1])
            chances[(weights @ losses).argmin()] = 1.0
        else:
            chances = np.full(losses.shape[1], 1 / losses.shape[1])
        rounds = 0
        while True:
            sums = kernel @ chances
            factors = (weights[likely] / sums[likely]) @ kernel[likely]
            # With q_z c_z for the reports the rate is ln max c - Σ q_z c_z ln c_z above the bound below, and at most
            # this gap, as Σ q_z (c_z - 1) ln c_z is never negative. At the fixed point both are 0.
            with np.errstate(divide="ignore"):  # a report that no secret is near to never comes back
                mean = float(chances[chances > 0] @ np.log(factors[chances > 0]))
            open_gap = (math.log(factors.max()) - mean) / math.log(2)
            if slope == 0 or open_gap <= self.tolerance or rounds == self.limit or self.stop.requested:
                break
            chances = chances * factors
            chances /= chances.sum()
            rounds += 1
        chances = np.where(chances < _SELDOM, 0.0, chances)
        channel = _boltzmann(chances, slope * (losses - shift))
        loss = float((weights @ (channel * losses)).sum())
        # No channel of this loss D has a rate below -s D - Σ_x π_x ln Z_x - ln max c: any c gives a bound by duality.
        constant = -slope * loss - float(weights[likely] @ (np.log(sums[likely]) - slope * shift[likely, 0]))
        bound = 0.0 if slope == 0 else max(0.0, (constant - math.log(factors.max())) / math.log(2))
        status = reached(slope == 0 or open_gap <= self.tolerance, self.stop)
        return Point(channel, _information(weights, channel), bound, loss, slope, rounds, status)


def _boltzmann(chances: Array, energies: Array) -> Array:
    """Return rows in proportion to q_z e^{-E[x, z]}, by logarithms, so that no row underflows altogether."""
    with np.errstate(divide="ignore"):
        exponents = np.log(chances) - energies
    channel = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    channel /= channel.sum(axis=1, keepdims=True)
    return channel


def _information(weights: Array, channel: Array) -> float:
    """Return Σ_x π_x Σ_z K[x, z] log2(K[x, z] / (πK)[z])."""
    chances = weights @ channel
    ratios = np.divide(channel, chances, out=np.ones_like(channel), where=(channel > 0) & (chances > 0))
    return float((weights[:, None] * channel * np.log2(ratios)).sum())


def reached(closed: bool, stop: Stop) -> Status:
    """Return True if a fixed point was reached, or the reason why the iteration ended before."""
    if closed:
        return Status.OPTIMAL
    return Status.INTERRUPTED if stop.requested else Status.FEASIBLE
