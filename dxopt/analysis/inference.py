"""Infer from reports: priors, the secret behind several reports, and rates in bits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.averaging_attack import Attack, Repeated, repeated
from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.coerce import FROM_0, NONNEGATIVE, as_number, as_weights, checked_count
from dxopt.numerics.number_syntax import digits_down, ordered_texts
from dxopt.runtime.display import Shown, as_html_table
from dxopt.runtime.stopping import Status, Stop
from dxopt.spaces.space import MetricSpace

__all__ = ["Attack", "RateDistortion", "Recovered", "Repeated", "iterative_update", "rate_distortion", "repeated"]

Array = NDArray[np.float64]
_LIKELIEST = 8
"""That many secrets are shown in notebooks."""


@dataclass(frozen=True, eq=False, repr=False)
class Recovered(Shown):
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

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=2.0)
    >>> found = dx.inference.iterative_update(mechanism, [70, 20, 10])
    >>> print(found.status.value, found.gap <= 1e-6)
    optimal True
    """

    prior: Prior
    log_likelihood: float
    gap: float
    iterations: int
    status: Status

    def _summary(self) -> str:
        return f"prior on {len(self.prior):,} points: {self.status}, gap {self.gap:.1e}, {self.iterations:,} rounds"

    def _repr_html_(self) -> str:
        likely = (-self.prior.probabilities).argsort(kind="stable")[:_LIKELIEST].tolist()
        labels = self.prior.space.labels if self.prior.space is not None else [str(x) for x in range(len(self.prior))]
        rows = [[labels[x], f"{self.prior.probabilities[x]:.3g}"] for x in likely]
        return super()._repr_html_() + as_html_table([["likeliest", "probability"], *rows])


def iterative_update(
    mechanism: Mechanism,
    counts: ArrayLike,
    *,
    start: PriorLike | None = None,
    tolerance: float = 1e-6,
    limit: int = 100_000,
    partial: bool = False,
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
    partial : bool
        Whether the prior reached by then is returned at Ctrl-C; else it is the `answer` of an Interrupted.

    Raises
    ------
    SpecError
        If the counts do not fit, are negative or all 0, or a report was seen that no secret explains.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=2.0)
    >>> found = dx.inference.iterative_update(mechanism, [70, 20, 10])
    >>> print(found.prior.probabilities.round(2).tolist())
    [0.77, 0.15, 0.08]
    """
    required_mechanism(mechanism, Mechanism)
    tolerance, limit = as_number(tolerance, "tolerance", *FROM_0), checked_count("limit", limit, 0)
    # Reports that nobody made do not enter the likelihood.
    made = as_weights(counts, "counts", "give how often each report was seen", len(mechanism.reports))
    if not made.any():
        raise SpecError("counts", "are all 0", "give how often each report was seen")
    seen = made > 0
    shares = (made / made.sum())[seen]
    channel = mechanism.matrix[:, seen]
    try:
        at_start = Prior.of("uniform" if start is None else start, mechanism.space).probabilities
    except SpecError as error:
        raise error.at("start") from None
    prior = at_start
    if not (prior @ channel > 0).all():
        report = mechanism.reports.labels[int(np.flatnonzero(seen)[int((prior @ channel).argmin())])]
        raise SpecError("counts", f"report {report} was seen, which no secret explains", "check mechanism and start")
    rounds = 0
    gap = math.inf
    with Stop(partial=partial) as stop:
        while True:
            # The factor of each secret is the derivative of the likelihood in its probability. A concave function is
            # below its tangent, and the best prior puts everything on the largest factor: the gap. Secrets that were
            # ruled out at the start count for nothing.
            factors = channel @ (shares / (prior @ channel))
            gap = max(float(factors[at_start > 0].max()) - 1, 0.0)
            if gap <= tolerance or rounds == limit or stop.requested:
                break
            prior = prior * factors
            prior /= prior.sum()
            rounds += 1
    status = _status_of(gap <= tolerance, stop)
    likelihood = float(shares @ np.log(prior @ channel))
    found = Prior.from_weights(mechanism.space, prior, name="recovered")
    return stop.delivered(Recovered(found, likelihood, gap, rounds, status))


@dataclass(frozen=True, eq=False, repr=False)
class RateDistortion(Shown):
    """The channel that reveals least at its expected loss.

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

    Examples
    --------
    >>> import dxopt as dx
    >>> found = dx.inference.rate_distortion(dx.line(3), "uniform", max_loss=0.5)
    >>> print(round(found.rate, 3), "bits at a loss of", round(found.loss, 3))
    0.193 bits at a loss of 0.5
    """

    mechanism: Mechanism
    rate: float
    bound: float
    loss: float
    slope: float
    iterations: int
    status: Status

    def _summary(self) -> str:
        bound = digits_down(self.bound, 3)
        return f"{self.rate:.3g} bits at a loss of {self.loss:.3g}: {self.status}, at least {bound:.3g} bits"


def rate_distortion(
    space: MetricSpace,
    prior: PriorLike,
    loss: LossLike | Loss = "distance",
    *,
    slope: float | None = None,
    max_loss: float | None = None,
    reports: Reports | None = None,
    tolerance: float = 1e-6,
    limit: int = 20_000,
    partial: bool = False,
) -> RateDistortion:
    """Return the channel with the least mutual information at its expected loss (Blahut 1972; Arimoto 1972).

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
        For a named loss, what may be reported; the secrets by default.
    tolerance : float
        On rate and bound, in bits.
    limit : int
        Rounds for one slope.
    partial : bool
        Whether the channel reached by then, whose loss may be above `max_loss`, is returned at Ctrl-C; else it is the
        `answer` of an Interrupted.

    Raises
    ------
    SpecError
        If not exactly one of slope and max_loss is given, one is out of range, or the loss is infinite somewhere.

    Examples
    --------
    >>> import dxopt as dx
    >>> found = dx.inference.rate_distortion(dx.line(3), "uniform", slope=1.0)
    >>> print(round(found.rate, 3), round(found.loss, 3))
    0.245 0.463
    """
    losses = Loss.of(loss, space, reports)
    believed = Prior.of(prior, space).probabilities
    if not np.isfinite(losses.matrix).all():
        raise SpecError("loss", "is infinite for some secret and report", "give finite losses")
    if (slope is None) == (max_loss is None):
        raise SpecError("slope", "and max_loss are given together, or neither is", "give one of the two")
    value = as_number(max_loss, "max_loss") if slope is None else as_number(slope, "slope", *NONNEGATIVE)
    tolerance, limit = as_number(tolerance, "tolerance", *FROM_0), checked_count("limit", limit, 0)
    if slope is not None and not value * float(np.abs(losses.matrix).max()) <= _MOST_EXPONENT:
        raise SpecError("slope", f"is {value:g}, too steep for doubles with these losses", "give a smaller one")
    with Stop(partial=partial) as stop:
        curve = RateCurve(space, losses.reports, believed, losses.matrix, tolerance, limit, stop)
        found = curve.at(value) if slope is not None else curve.within(value)
    return stop.delivered(found)


_STEEPEST = 2.0**60
_HALVINGS = 200
_MOST_EXPONENT = 1e300
_SELDOM = 1e-100
"""Reports that are less likely count as impossible, so that no weight underflows in some rows only."""


@dataclass(frozen=True, eq=False)
class RateCurve:
    """The rate against the loss, a channel for each slope, for a prior `(n,)` and losses `(n, m)`.

    By the algorithm of Blahut and Arimoto, with proven bounds.
    """

    space: MetricSpace
    reports: Reports
    weights: Array
    losses: Array
    tolerance: float
    limit: int
    stop: Stop

    def within(self, most: float) -> RateDistortion:
        """Return the channel of the flattest slope whose expected loss is at most `most`, and nearly that."""
        weights = self.weights
        losses = self.losses
        least = float(weights @ losses.min(axis=1))
        if not least <= most:
            low, high = ordered_texts(most, least)
            raise SpecError("max_loss", f"is {low}", f"no channel has a loss below {high}")
        # The best report for all secrets, which reveals nothing, may be good enough.
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

    def at(self, slope: float) -> RateDistortion:
        """Return the channel of one slope, with the bounds of Blahut (1972, Theorem 6) on its rate.

        For the distribution q of the reports, K[x, z] = q_z e^{-s l(x, z)} / Z_x is the best channel; for the
        channel, its own reports are the best q. With c_z = Σ_x π_x e^{-s l(x, z)} / Z_x one round of both replaces
        q_z by q_z c_z. In the code, q is `chances`, c is `factors`, and Z is `sums`, but for the shift of the losses.
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
        # Rows in proportion to q_z e^{-s l(x, z)}, by logarithms, so that no row underflows altogether.
        with np.errstate(divide="ignore"):
            exponents = np.log(chances) - slope * (losses - shift)
        channel = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        channel /= channel.sum(axis=1, keepdims=True)
        loss = float((weights @ (channel * losses)).sum())
        # No channel of this loss D has a rate below -s D - Σ_x π_x ln Z_x - ln max c: any c gives a bound by duality.
        constant = -slope * loss - float(weights[likely] @ (np.log(sums[likely]) - slope * shift[likely, 0]))
        bound = 0.0 if slope == 0 else max(0.0, (constant - math.log(factors.max())) / math.log(2))
        status = _status_of(slope == 0 or open_gap <= self.tolerance, self.stop)
        # Σ_x π_x Σ_z K[x, z] log2(K[x, z] / (πK)[z])
        chances = weights @ channel
        ratios = np.divide(channel, chances, out=np.ones_like(channel), where=(channel > 0) & (chances > 0))
        rate = float((weights[:, None] * channel * np.log2(ratios)).sum())
        mechanism = Mechanism.from_matrix(self.space, channel, self.reports, name="rate-distortion channel")
        return RateDistortion(mechanism, rate, bound, loss, slope, rounds, status)


def _status_of(closed: bool, stop: Stop) -> Status:
    """Return the status of an iteration: optimal if its gap is `closed`, else interrupted or out of rounds."""
    if closed:
        return Status.OPTIMAL
    return Status.INTERRUPTED if stop.requested else Status.FEASIBLE
