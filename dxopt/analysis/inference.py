"""What reports say about the prior, and how few bits a report can carry: two fixed points with proven distances."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior
from dxopt.runtime.stopping import Status, Stop
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]

_STEEPEST = 2.0**60
_HALVINGS = 200
_SELDOM = 1e-100
"""Reports said less often are never said, so that no weight underflows in some rows only."""


@dataclass(frozen=True, eq=False)
class Recovered:
    """A prior recovered from reports.

    Attributes
    ----------
    prior : Prior
    log_likelihood : float
        Of the reports, each on average, in nats.
    gap : float
        No prior has an average log-likelihood that is larger by more than this: proven.
    iterations : int
    status : Status
        `optimal` where the gap is within the tolerance.
    """

    prior: Prior
    log_likelihood: float
    gap: float
    iterations: int
    status: Status


def iterative_update(
    mechanism: Mechanism,
    counts: ArrayLike,
    *,
    start: Prior | None = None,
    tolerance: float = 1e-6,
    limit: int = 100_000,
) -> Recovered:
    """Recover the prior of a population from its reports: the iterative Bayesian update (Agrawal and Aggarwal 2001).

    Each round replaces the prior by the average posterior, π_x ← Σ_z q_z π_x K[x, z] / Σ_x' π_x' K[x', z] with q the
    shares of the reports. The likelihood rises to its maximum. As it is concave, no prior is better on average by
    more than max_x Σ_z q_z K[x, z] / Σ_x' π_x' K[x', z] - 1, which is the gap.

    Parameters
    ----------
    mechanism : Mechanism
        n secrets, m reports.
    counts : (m,) array
        How often each report was seen: `numpy.bincount(reports, minlength=m)`.
    start : Prior, optional
        Uniform by default; secrets where it is 0 are ruled out.
    tolerance : float
        On the gap.
    limit : int
        Rounds.

    Returns
    -------
    Recovered
        After Ctrl-C the prior reached by then.

    Raises
    ------
    SpecError
        If the counts do not fit, are negative or all 0, or a report was seen that no secret explains.
    """
    shares = _shares(mechanism, counts)
    seen = shares > 0
    shares, channel = shares[seen], mechanism.matrix[:, seen]
    first = Prior.uniform(mechanism.space) if start is None else start
    if len(first) != len(mechanism.space):
        raise SpecError("start", f"has {len(first)} entries for {len(mechanism.space)} secrets", "match them")
    prior = first.probabilities
    if not (prior @ channel > 0).all():
        report = mechanism.reports.labels[int(np.flatnonzero(seen)[int((prior @ channel).argmin())])]
        raise SpecError("counts", f"report {report} was seen, which no secret explains", "check mechanism and start")
    rounds, gap = 0, math.inf
    with Stop() as stop:
        while True:
            factors = channel @ (shares / (prior @ channel))
            gap = max(float(factors[first.probabilities > 0].max()) - 1, 0.0)
            if gap <= tolerance or rounds == limit or stop.requested:
                break
            prior = prior * factors
            prior /= prior.sum()
            rounds += 1
    status = _status(gap <= tolerance, stop)
    likelihood = float(shares @ np.log(prior @ channel))
    return Recovered(Prior.from_weights(mechanism.space, prior, name="recovered"), likelihood, gap, rounds, status)


def _status(closed: bool, stop: Stop) -> Status:
    return Status.OPTIMAL if closed else Status.INTERRUPTED if stop.requested else Status.FEASIBLE


def _shares(mechanism: Mechanism, counts: ArrayLike) -> Array:
    try:
        seen = np.array(counts, dtype=float)
    except (TypeError, ValueError):
        raise SpecError("counts", "are not all numbers", "give how often each report was seen") from None
    if seen.shape != (len(mechanism.reports),):
        raise SpecError("counts", f"have shape {seen.shape}", f"the mechanism has {len(mechanism.reports)} reports")
    if not (np.isfinite(seen) & (seen >= 0)).all() or not seen.any():
        raise SpecError("counts", "are negative, not finite or all 0", "give how often each report was seen")
    return seen / seen.sum()


@dataclass(frozen=True, eq=False)
class RateDistortion:
    """The channel that says least at its expected loss.

    Attributes
    ----------
    mechanism : Mechanism
        Nothing is proven of its privacy; see `rate_distortion`.
    rate : float
        Mutual information between secret and report, in bits.
    bound : float
        No channel of at most that expected loss has a smaller rate: proven up to rounding.
    loss : float
        Its expected loss.
    slope : float
        How many nats a unit of loss is worth.
    iterations : int
    status : Status
        `optimal` where rate and bound are within the tolerance.
    """

    mechanism: Mechanism
    rate: float
    bound: float
    loss: float
    slope: float
    iterations: int
    status: Status


def rate_distortion(
    space: MetricSpace,
    prior: Prior,
    loss: LossLike | Loss = "distance",
    *,
    slope: float | None = None,
    max_loss: float | None = None,
    reports: Reports | None = None,
    tolerance: float = 1e-6,
    limit: int = 20_000,
) -> RateDistortion:
    """The channel with the least mutual information at its expected loss (Blahut 1972; Arimoto 1972).

    K[x, z] ∝ q_z e^{-s l(x, z)} for the slope s, with q the distribution of its reports. A baseline, not a private
    mechanism: with the distance as loss it happens to be 2s·d-private, as the weights of two secrets differ by
    e^{s d(x, x')} at most and so do their sums, but other losses bound nothing.

    Parameters
    ----------
    space : MetricSpace
        n secrets.
    prior : Prior
    loss : str, array `(n, m)`, callable or Loss
        Finite, see `Loss.of`.
    slope : float
        s, per unit of loss.
    max_loss : float
        Instead of the slope: the slope is searched for until the expected loss is this, or just below.
    reports : Reports, optional
        For a named loss, what may be said; the secrets by default.
    tolerance : float
        On rate and bound, in bits.
    limit : int
        Rounds for one slope.

    Returns
    -------
    RateDistortion
        After Ctrl-C the channel reached by then, whose loss may be above `max_loss`.

    Raises
    ------
    SpecError
        If not exactly one of slope and max_loss is given, one is out of range, or the loss is infinite somewhere.
    """
    losses = Loss.of(loss, space, reports)
    if len(prior) != len(space):
        raise SpecError("prior", f"has {len(prior)} entries for {len(space)} points", "match them")
    if not np.isfinite(losses.matrix).all():
        raise SpecError("loss", "is infinite for some secret and report", "give finite losses")
    if (slope is None) == (max_loss is None):
        raise SpecError("slope", "and max_loss are given together, or neither is", "give one of the two")
    if slope is not None and not (math.isfinite(slope) and slope >= 0):
        raise SpecError("slope", f"is {slope:g}", "give a finite number of 0 or more")
    with Stop() as stop:
        asked = _Asked(space, prior, losses, tolerance, limit, stop)
        return asked.at(float(slope)) if slope is not None else asked.within(float(max_loss or 0.0))


@dataclass(frozen=True, eq=False)
class _Asked:
    space: MetricSpace
    prior: Prior
    losses: Loss
    tolerance: float
    limit: int
    stop: Stop

    def within(self, most: float) -> RateDistortion:
        """The flattest slope whose expected loss is at most that, up to a hair."""
        weights, losses = self.prior.probabilities, self.losses.matrix
        least = float(weights @ losses.min(axis=1))
        if not least <= most:
            raise SpecError("max_loss", f"is {most:g}", f"no channel has a loss below {least:g}")
        if most >= float((weights @ losses).min()):
            return self.at(0.0)
        low, high = 0.0, 1.0
        best = self.at(high)
        while best.loss > most and high < _STEEPEST and not self.stop.requested:
            low, high = high, 2 * high
            best = self.at(high)
        for _ in range(_HALVINGS):
            if best.loss >= most * (1 - 1e-9) or high - low <= 1e-12 * high or self.stop.requested:
                break
            middle = 0.5 * (low + high)
            tried = self.at(middle)
            low, high, best = (middle, high, best) if tried.loss > most else (low, middle, tried)
        return best

    def at(self, slope: float) -> RateDistortion:
        """The channel of one slope, with the bounds of Blahut (1972, Theorem 6) on its rate."""
        weights, losses = self.prior.probabilities, self.losses.matrix
        likely, shift = weights > 0, losses.min(axis=1, keepdims=True)
        kernel = np.exp(-slope * (losses - shift))
        if slope == 0:
            said = np.zeros(losses.shape[1])
            said[(weights @ losses).argmin()] = 1.0
        else:
            said = np.full(losses.shape[1], 1 / losses.shape[1])
        rounds = 0
        while True:
            sums = kernel @ said
            factors = (weights[likely] / sums[likely]) @ kernel[likely]
            with np.errstate(divide="ignore"):  # a report that no secret is near to is never said again
                mean = float(said[said > 0] @ np.log(factors[said > 0]))
            open_gap = (math.log(factors.max()) - mean) / math.log(2)
            if slope == 0 or open_gap <= self.tolerance or rounds == self.limit or self.stop.requested:
                break
            said = said * factors
            said /= said.sum()
            rounds += 1
        said = np.where(said < _SELDOM, 0.0, said)
        with np.errstate(divide="ignore"):
            exponents = np.log(said) - slope * (losses - shift)
        channel = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        channel /= channel.sum(axis=1, keepdims=True)
        loss = float((weights @ (channel * losses)).sum())
        constant = -slope * loss - float(weights[likely] @ (np.log(sums[likely]) - slope * shift[likely, 0]))
        bound = 0.0 if slope == 0 else max(0.0, (constant - math.log(factors.max())) / math.log(2))
        mechanism = Mechanism.from_matrix(self.space, channel, self.losses.reports, name="rate-distortion channel")
        status = _status(slope == 0 or open_gap <= self.tolerance, self.stop)
        return RateDistortion(mechanism, _information(weights, channel), bound, loss, slope, rounds, status)


def _information(weights: Array, channel: Array) -> float:
    """Σ_x π_x Σ_z K[x, z] log2(K[x, z] / (πK)[z])."""
    said = weights @ channel
    ratios = np.divide(channel, said, out=np.ones_like(channel), where=(channel > 0) & (said > 0))
    return float((weights[:, None] * channel * np.log2(ratios)).sum())
