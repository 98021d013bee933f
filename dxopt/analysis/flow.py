"""Quantitative information flow: hyper-distributions, and what reports leak by entropies and pointwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.arguments import channel_of, require_same_secrets
from dxopt.errors import SpecError, UnsupportedError
from dxopt.model.loss import Loss, LossLike
from dxopt.model.prior import Prior, PriorLike
from dxopt.model.sampling import Sampler, required_mechanism
from dxopt.numerics.coerce import as_numbers
from dxopt.runtime.display import Shown
from dxopt.spaces.space import MetricSpace

__all__ = [
    "Hyper",
    "guessing_leakage",
    "hyper",
    "kantorovich",
    "pointwise_maximal_leakage",
    "shannon_leakage",
]

Array = NDArray[np.float64]
_DIGITS = 10
"""Posteriors whose entries are the same to so many digits are one."""
MOST_FLOWS = 1_000_000
"""The most pairs of posteriors, times secrets where these have distances, of a distance of hypers."""


@dataclass(frozen=True, eq=False, repr=False)
class Hyper(Shown):
    """The hyper-distribution of a mechanism under a prior: the posteriors that reports lead to, and their weights.

    Reports that lead to the same posterior are one, and those that never come out are left out.

    Attributes
    ----------
    space : MetricSpace
        The n secrets.
    prior : (n,) array
    outer : (k,) array
        How likely each posterior is.
    inner : (k, n) array
        The posteriors.
    reports : tuple of k tuples of int
        The reports that lead to each.

    Examples
    --------
    >>> import dxopt as dx
    >>> found = dx.flow.hyper(dx.classic.randomised_response(dx.line(3), epsilon=1.0), [0.5, 0.25, 0.25])
    >>> print(found.outer.round(3).tolist(), found.inner[0].round(3).tolist())
    [0.394, 0.303, 0.303] [0.731, 0.134, 0.134]
    >>> print(round(found.entropy, 4), round(found.guesses, 4), round(found.vulnerability(), 4))
    1.3338 1.5828 0.5761
    """

    space: MetricSpace = field(repr=False)
    prior: Array
    outer: Array
    inner: Array
    reports: tuple[tuple[int, ...], ...] = field(repr=False)

    def _summary(self) -> str:
        return f"{len(self.outer):,} posteriors on {len(self.prior):,} secrets"

    @property
    def entropy(self) -> float:
        """Mean Shannon entropy of the posteriors, in bits."""
        return float(self.outer @ _entropies(self.inner))

    @property
    def guesses(self) -> float:
        """Mean guessing entropy of the posteriors: guesses that name the secret, likeliest first (Massey 1994)."""
        return float(self.outer @ _guesses(self.inner))

    def vulnerability(self, gain: LossLike | Loss = "binary") -> float:
        """Return the mean g-vulnerability of the posteriors: what the best answer to each gains.

        Parameters
        ----------
        gain : str, array `(n, a)`, callable or Loss
            What each of a answers gains; "binary" is 1 for the secret itself, whose mean is Bayes vulnerability.

        Raises
        ------
        SpecError
            If it does not fit the secrets, or is infinite.
        """
        gains = np.eye(len(self.prior)) if isinstance(gain, str) and gain == "binary" else self._gains(gain)
        return float(self.outer @ (self.inner @ gains).max(axis=1))

    def _gains(self, gain: LossLike | Loss) -> Array:
        gains = Loss.of(gain, self.space).matrix
        if len(gains) != len(self.prior) or not np.isfinite(gains).all():
            raise SpecError("gain", "is infinite, or not for these secrets", "give a finite row for each secret")
        return gains


def hyper(mechanism: Sampler, prior: PriorLike) -> Hyper:
    """Return the hyper-distribution of a mechanism under a prior (McIver, Meinicke and Morgan 2010).

    Parameters
    ----------
    mechanism : Mechanism or IntegerTable
        Of n secrets and m reports.
    prior : Prior, "uniform" or (n,) array

    Raises
    ------
    SpecError
        If the prior does not fit the mechanism.

    Examples
    --------
    >>> import dxopt as dx
    >>> constant = dx.classic.geometric(dx.line(3), epsilon=1.0).remap([0, 0, 0])
    >>> print(dx.flow.hyper(constant, "uniform").inner.round(3).tolist())
    [[0.333, 0.333, 0.333]]
    """
    required_mechanism(mechanism)
    probabilities = Prior.of(prior, mechanism.space).probabilities
    joint = probabilities[:, None] * channel_of(mechanism)
    likely = joint.sum(axis=0)
    reports = np.flatnonzero(likely > 0)
    posteriors = (joint[:, reports] / likely[reports]).T
    _, first, which = np.unique(np.round(posteriors, _DIGITS), axis=0, return_index=True, return_inverse=True)
    # in the order of their first reports
    order = np.argsort(np.argsort(first))[which.reshape(-1)]
    groups = [np.flatnonzero(order == place) for place in range(len(first))]
    weights = [likely[reports[group]] for group in groups]
    outer = np.array([weight.sum() for weight in weights])
    inner = np.array(
        [weight @ posteriors[group] / weight.sum() for weight, group in zip(weights, groups, strict=True)]
    )
    for array in (outer, inner):
        array.flags.writeable = False
    return Hyper(
        mechanism.space, probabilities, outer, inner, tuple(tuple(reports[group].tolist()) for group in groups)
    )


def shannon_leakage(mechanism: Sampler, prior: PriorLike) -> float:
    """Return the mutual information of secret and report in bits: how much the mean entropy falls.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.flow.shannon_leakage(dx.classic.randomised_response(dx.line(2), epsilon=2.0), "uniform"), 4))
    0.4729
    """
    found = hyper(mechanism, prior)
    return max(0.0, float(_entropies(found.prior[None])[0]) - found.entropy)


def guessing_leakage(mechanism: Sampler, prior: PriorLike) -> float:
    """Return by how many guesses fewer name the secret, on average, once a report is seen.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.flow.guessing_leakage(dx.classic.geometric(dx.line(5), epsilon=1.0), "uniform"), 4))
    1.2427
    """
    found = hyper(mechanism, prior)
    return max(0.0, float(_guesses(found.prior[None])[0]) - found.guesses)


def pointwise_maximal_leakage(mechanism: Sampler, prior: PriorLike) -> Array:
    """Return how much each report leaks at most, in bits: log2 max_x K[x, z] / Σ_x π_x K[x, z], over likely x.

    It bounds by how much the report raises the chance of any guess about any function of the secret, drawn or not
    (Saeidian, Cervia, Oechtering and Skoglund 2023). The mean of 2^leakage is 2^capacity of those that are likely.

    Parameters
    ----------
    mechanism : Mechanism or IntegerTable
        Of n secrets and m reports.
    prior : Prior, "uniform" or (n,) array

    Returns
    -------
    (m,) array
        0 for reports that never come out.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(dx.flow.pointwise_maximal_leakage(mechanism, [0.8, 0.1, 0.1]).round(3).tolist())
    [0.234, 1.214, 2.029]
    """
    required_mechanism(mechanism)
    probabilities, channel = Prior.of(prior, mechanism.space).probabilities, channel_of(mechanism)
    likely = probabilities @ channel
    most = channel[probabilities > 0].max(axis=0)
    made = likely > 0
    return np.log2(np.maximum(most, likely), where=made, out=np.zeros(len(made))) - np.log2(
        likely, where=made, out=np.zeros(len(made))
    )


def kantorovich(
    first: Hyper, second: Hyper, distance: str | ArrayLike | Callable[[Array, Array], float] = "total_variation"
) -> float:
    """Return the Kantorovich distance of two hypers: the least mean distance of posteriors that are matched.

    No gain of 1-Lipschitz mean differs by more between them, so that hypers that are close leak alike. For total
    variation these are the vulnerabilities of gains from 0 to 1.

    Parameters
    ----------
    first, second : Hyper
        Of the same secrets, k and l posteriors.
    distance : "total_variation", "kantorovich", (k, l) array or callable
        Between posteriors: half the sum of differences, the Kantorovich distance under the distances of the space, or
        any other.

    Raises
    ------
    SpecError
        If they are about different secrets, or distances are negative or not finite.
    UnsupportedError
        If there are more than a million pairs of posteriors, times pairs of secrets under "kantorovich".

    Examples
    --------
    >>> import dxopt as dx
    >>> line = dx.line(4)
    >>> strong, weak = (dx.flow.hyper(dx.classic.geometric(line, epsilon=level), "uniform") for level in (0.5, 1.0))
    >>> print(round(dx.flow.kantorovich(strong, weak), 4), round(dx.flow.kantorovich(strong, strong), 4))
    0.1871 0.0
    """
    for one in (first, second):
        if not isinstance(one, Hyper):
            raise SpecError("hyper", f"is of type {type(one).__name__}", "give those of dx.flow.hyper")
    require_same_secrets(first.space, second.space, "compare hypers of the same secrets")
    shape = len(first.outer), len(second.outer)
    deep = len(first.prior) ** 2 if isinstance(distance, str) and distance == "kantorovich" else 1
    if shape[0] * shape[1] * deep > MOST_FLOWS:
        wrong = f"have {shape[0] * shape[1]:,} pairs of posteriors on {len(first.prior):,} secrets"
        raise UnsupportedError("hypers", wrong, "take fewer reports, or give the distances")
    if callable(distance):
        apart = np.array([[distance(one, other) for other in second.inner] for one in first.inner], dtype=float)
    elif not isinstance(distance, str):
        apart = as_numbers(distance, "distance", "give a number for each pair of posteriors")
    elif distance == "total_variation":
        apart = np.abs(first.inner[:, None, :] - second.inner[None]).sum(axis=2) / 2
    elif distance == "kantorovich":
        ground = first.space.distances
        apart = np.array([[_transport(one, other, ground) for other in second.inner] for one in first.inner])
    else:
        raise SpecError("distance", f"is {distance!r}", 'give "total_variation", "kantorovich", or distances')
    if apart.shape != shape or not (np.isfinite(apart) & (apart >= 0)).all():
        raise SpecError("distance", "is negative, infinite or of another shape", f"give {shape} numbers of 0 or more")
    return _transport(first.outer, second.outer, apart)


def _transport(supply: Array, demand: Array, costs: Array) -> float:
    """Return the least cost Σ c p of a plan p whose rows sum to the supply and whose columns to the demand."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    rows, columns = costs.shape
    if not np.isfinite(costs).all():
        raise SpecError("distance", "is infinite between some secrets", 'give "total_variation"')
    sums = vstack([kron(eye_array(rows), np.ones((1, columns))), kron(np.ones((1, rows)), eye_array(columns))])
    wanted = np.concatenate([supply / supply.sum(), demand / demand.sum()])
    # one equation follows from the others
    found = linprog(costs.ravel(), A_eq=sums.tocsr()[:-1], b_eq=wanted[:-1], method="highs")
    if found.x is None:
        raise UnsupportedError("distance", f"was not found: {found.message}", "give other distances")
    return max(0.0, float(costs.ravel() @ found.x))


def _entropies(distributions: Array) -> Array:
    """Return the Shannon entropy of each row, in bits."""
    return -(distributions * np.log2(np.where(distributions > 0, distributions, 1.0))).sum(axis=1)


def _guesses(distributions: Array) -> Array:
    """Return how many guesses name what each row is the distribution of, likeliest first."""
    return -np.sort(-distributions, axis=1) @ np.arange(1.0, distributions.shape[1] + 1)
