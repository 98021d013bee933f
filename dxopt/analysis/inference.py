"""Infer from reports: priors, the secret behind several reports, and rates in bits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.averaging_attack import Attack, Repeated, repeated
from dxopt.analysis.blahut_arimoto import RateCurve, reached
from dxopt.errors import SpecError
from dxopt.model.loss import Loss, LossLike, Reports
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import Prior, PriorLike
from dxopt.runtime.display import Shown, as_html_table
from dxopt.runtime.stopping import Status, Stop
from dxopt.spaces.space import MetricSpace

__all__ = [
    "Attack",
    "RateDistortion",
    "Recovered",
    "Repeated",
    "iterative_update",
    "rate_distortion",
    "repeated",
]

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

    def _said(self) -> str:
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
    start: Prior | None = None,
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

    Returns
    -------
    Recovered

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
    # Reports that nobody made do not enter the likelihood.
    shares = _shares(mechanism, counts)
    seen = shares > 0
    shares = shares[seen]
    channel = mechanism.matrix[:, seen]
    first = Prior.uniform(mechanism.space) if start is None else start
    if len(first) != len(mechanism.space):
        raise SpecError("start", f"has {len(first)} entries for {len(mechanism.space)} secrets", "match them")
    prior = first.probabilities
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
            gap = max(float(factors[first.probabilities > 0].max()) - 1, 0.0)
            if gap <= tolerance or rounds == limit or stop.requested:
                break
            prior = prior * factors
            prior /= prior.sum()
            rounds += 1
    status = reached(gap <= tolerance, stop)
    likelihood = float(shares @ np.log(prior @ channel))
    found = Prior.from_weights(mechanism.space, prior, name="recovered")
    return stop.delivered(Recovered(found, likelihood, gap, rounds, status))


def _shares(mechanism: Mechanism, counts: ArrayLike) -> Array:
    """Return the share of each report, `(m,)`."""
    try:
        seen = np.array(counts, dtype=float)
    except (TypeError, ValueError):
        raise SpecError("counts", "are not all numbers", "give how often each report was seen") from None
    if seen.shape != (len(mechanism.reports),):
        raise SpecError("counts", f"have shape {seen.shape}", f"the mechanism has {len(mechanism.reports)} reports")
    if not (np.isfinite(seen) & (seen >= 0)).all() or not seen.any():
        raise SpecError("counts", "are negative, not finite or all 0", "give how often each report was seen")
    return seen / seen.sum()


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

    def _said(self) -> str:
        return f"{self.rate:.3g} bits at a loss of {self.loss:.3g}: {self.status}, at least {self.bound:.3g} bits"


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

    Returns
    -------
    RateDistortion

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
    if slope is not None and not (math.isfinite(slope) and slope >= 0):
        raise SpecError("slope", f"is {slope:g}", "give a finite number of 0 or more")
    with Stop(partial=partial) as stop:
        curve = RateCurve(believed, losses.matrix, tolerance, limit, stop)
        point = curve.at(float(slope)) if slope is not None else curve.within(float(max_loss or 0.0))
        mechanism = Mechanism.from_matrix(space, point.channel, losses.reports, name="rate-distortion channel")
    return stop.delivered(
        RateDistortion(mechanism, point.rate, point.bound, point.loss, point.slope, point.iterations, point.status)
    )
