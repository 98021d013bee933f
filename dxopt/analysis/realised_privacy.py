"""Measure the privacy of a given mechanism: least ε, least δ, divergences between neighbours, pairs of beliefs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.arguments import channel_of
from dxopt.errors import SpecError, required_choice
from dxopt.model.beliefs.pairs import BeliefPairs
from dxopt.model.mechanism import Mechanism
from dxopt.model.privacy import ShownLevels, checked_delta
from dxopt.model.sampling import Sampler, required_mechanism
from dxopt.numerics.belief_mixtures import least_level
from dxopt.numerics.coerce import NONNEGATIVE, as_distributions, as_number, as_numbers, as_written
from dxopt.numerics.hockey_stick import bound_pairs, least_delta, least_epsilon
from dxopt.numerics.number_syntax import Written, level_text
from dxopt.numerics.rounding import UNIT


def smallest_delta(mechanism: Mechanism, epsilon: Written, *, pairs: str = "all") -> float:
    """Return the smallest δ for which the mechanism is (εd, δ)-private: proven, as it is rounded up (HLM14 Def 1).

    max over pairs of Σ_z max(0, K[x, z] - e^{εd(x, x')} K[x', z]), which the worst set of reports attains. Rounding
    adds about 1e-14, and budgets εd above 700 are counted as 700. It is 1 where no smaller one is proven, as
    where two secrets share no report: that holds of every mechanism, and is taken for no level of privacy.

    Parameters
    ----------
    mechanism : Mechanism
        Of n secrets and m reports; it takes n²·m operations.
    epsilon : float
        Per unit of distance, 0 or more; at 0 it is the largest distance of two rows in total variation.
    pairs : {"all", "adjacent"}
        Which ordered pairs of secrets are bound, as for `dx.Problem`.

    Raises
    ------
    SpecError
        If ε is negative or infinite, or pairs are of no such kind.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(round(dx.evaluate.smallest_delta(mechanism, 0.5), 3))
    0.462
    """
    required_mechanism(mechanism, Mechanism)
    epsilon = as_written(epsilon, "epsilon", *NONNEGATIVE)
    distances = mechanism.space.distances
    # rounding may leave more than 1, which holds of every mechanism
    return min(1.0, least_delta(mechanism.matrix, distances, epsilon, bound_pairs(distances, pairs)))


def smallest_epsilon(mechanism: Mechanism, delta: float = 0.0, *, pairs: str = "all") -> float:
    """Return the smallest ε for which the mechanism is (εd, δ)-private: proven, as it is rounded up (HLM14 Def 1).

    Of a given mechanism; to find the ε for a wanted loss see `dx.smallest_epsilon`, and for that of a matrix up to
    the dust of a solver `dx.certify(matrix, space, repair=True)`. Budgets εd above 700 are counted as 700, so that
    the answer is infinite where only larger ones would do.

    Parameters
    ----------
    mechanism, pairs
        As for `smallest_delta`; it takes a few times n²·m operations.
    delta : float
        From 0 to 1, at which every mechanism is private at 0.

    Raises
    ------
    SpecError
        If δ is out of range, or pairs are of no such kind.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.Mechanism.from_matrix(dx.line(2), [[0.75, 0.25], [0.25, 0.75]])
    >>> print(round(dx.evaluate.smallest_epsilon(mechanism), 4), dx.evaluate.smallest_epsilon(mechanism, 1))
    1.0986 0.0
    """
    required_mechanism(mechanism, Mechanism)
    distances, allowed = mechanism.space.distances, checked_delta(delta, one=True)
    bound = bound_pairs(distances, pairs)
    return 0.0 if allowed == 1 else least_epsilon(mechanism.matrix, distances, allowed, bound)


def privacy_profile(mechanism: Mechanism, epsilons: ArrayLike, *, pairs: str = "all") -> NDArray[np.float64]:
    """Compute `smallest_delta` at each of k values ε, `(k,)`: the whole trade between ε and δ.

    Parameters
    ----------
    mechanism, pairs
        As for `smallest_delta`, with its errors.
    epsilons : (k,) array
        Per unit of distance, 0 or more.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(dx.evaluate.privacy_profile(mechanism, [0, 0.5, 1]).round(3).tolist())
    [0.632, 0.462, 0.0]
    """
    levels = as_numbers(epsilons, "epsilons", "give numbers").ravel()
    return np.array([smallest_delta(mechanism, one, pairs=pairs) for one in levels])


Array = NDArray[np.float64]
Divergence = Callable[[Array, Array], float]


def _chi_squared(p: Array, q: Array) -> float:
    """Return Σ (p - q)²/q; infinite where only p has a report."""
    if ((q == 0) & (p > 0)).any():
        return math.inf
    return math.fsum((p - q)[q > 0] ** 2 / q[q > 0])


DIVERGENCES: dict[str, Divergence] = {
    "max": lambda p, q: max(float(_log_ratio(p, q)[p > 0].max(initial=0.0)), 0.0),
    "kullback_leibler": lambda p, q: max(math.fsum(p[p > 0] * _log_ratio(p, q)[p > 0]), 0.0),
    "total_variation": lambda p, q: 0.5 * math.fsum(np.abs(p - q)),
    "chi_squared": _chi_squared,
    "hellinger": lambda p, q: math.sqrt(0.5 * math.fsum((np.sqrt(p) - np.sqrt(q)) ** 2)),
}
RENYI = "renyi"


def divergence(
    mechanism: Mechanism, kind: str | Divergence, *, order: float | None = None, pairs: str = "adjacent"
) -> float:
    """Return the largest divergence of the reports of one secret from those of another, over all that are related.

    Any relation goes with any divergence (Des20, adjacency relation divergence): the relation is that of the space of
    the mechanism, such as one of `dx.neighbours`. Computed in doubles, and not proven.

    Parameters
    ----------
    mechanism : Mechanism
    kind : str or callable
        "max" (what ε bounds), "kullback_leibler", "renyi", "total_variation", "chi_squared", "hellinger"; or a
        function of two distributions p, q `(m,)`. In nats; infinite where p has a report that q has not, if the
        divergence is.
    order : float, optional
        α of "renyi", positive and not 1.
    pairs : {"adjacent", "all"}
        Which ordered pairs of secrets are related, as for `dx.Problem`.

    Raises
    ------
    SpecError
        If there is no such divergence, or its order is wrong.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> for kind in ("max", "kullback_leibler", "total_variation"):
    ...     print(kind, round(dx.evaluate.divergence(mechanism, kind), 3))
    max 1.0
    kullback_leibler 0.462
    total_variation 0.462
    """
    required_mechanism(mechanism, Mechanism)
    chosen = _divergence_of(kind, order)
    channel = mechanism.matrix
    related = np.argwhere(bound_pairs(mechanism.space.distances, pairs))
    return max((float(chosen(channel[x], channel[other])) for x, other in related), default=0.0)


def _divergence_of(kind: str | Divergence, order: float | None) -> Divergence:
    """Return the divergence of a name, or the function given; SpecError where there is none of that name or order."""
    if not callable(kind):
        required_choice("kind", kind, (*DIVERGENCES, RENYI))
    if kind == RENYI:
        of = as_number(
            order, "order", "give a positive number other than 1", lambda one: 0 < one < 1e300 and one != 1
        )
        return lambda p, q: _renyi(p, q, of)
    if order is not None:
        raise SpecError("order", f"is {order} for {kind}", "leave it out, or ask for renyi")
    if callable(kind):
        return kind
    return DIVERGENCES[kind]


def _renyi(p: Array, q: Array, order: float) -> float:
    """Return ln Σ p^α q^{1-α} / (α - 1), over the reports that p has, from logarithms so that no power overflows."""
    there = p > 0
    if order > 1 and (q[there] == 0).any():
        return math.inf
    both = there & (q > 0)
    if not both.any():
        return math.inf
    logs = order * np.log(p[both]) + (1 - order) * np.log(q[both])
    highest = float(logs.max())
    return max((highest + math.log(math.fsum(np.exp(logs - highest)))) / (order - 1), 0.0)


def _log_ratio(p: Array, q: Array) -> Array:
    """Return ln p/q, infinite where one of them is 0 and NaN where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(p) - np.log(q)


@dataclass(frozen=True, repr=False)
class BeliefLevel(ShownLevels):
    """Smallest ε that bounds how far reports tell the beliefs of a pair apart, with the pair and report that need it.

    Attributes
    ----------
    epsilon : float
        Rounded up: proven. Infinite where a report is possible under one belief of a pair alone.
    pair : int or None
        The pair that needs it; None where all beliefs expect the same reports.
    name : str
        What that pair is about.
    report : str
        The label of the report that shows it, or its number.
    expected : (float, float)
        How probable that report is under the first and under the second belief of the pair.

    Examples
    --------
    >>> import dxopt as dx
    >>> rain = dx.BeliefPairs([[0.8, 0.2]], [[0.4, 0.6]], names=["rain or not"])
    >>> found = dx.evaluate.belief_level([[0.7, 0.3], [0.3, 0.7]], rain)
    >>> print(found.name, round(found.epsilon, 3))
    rain or not 0.298
    """

    epsilon: float
    pair: int | None = None
    name: str = ""
    report: str = ""
    expected: tuple[float, float] = (0.0, 0.0)

    def __float__(self) -> float:
        return self.epsilon

    def __str__(self) -> str:
        level = f"epsilon {level_text(self.epsilon, 6)}"
        if self.pair is None:
            return f"{level}: no report tells any beliefs apart"
        one, other = self.expected
        return f"{level}: report {self.report} has {one:.6g} and {other:.6g} for {self.name}"


def belief_level(mechanism: Sampler | ArrayLike, pairs: BeliefPairs) -> BeliefLevel:
    """Return the smallest ε with θK ≤ e^{εd} θ'K for all pairs in every report, rounded up, and its witness.

    Parameters
    ----------
    mechanism : Mechanism, IntegerTable or (n, m) array
        Of any kind, with or without a proof; its matrix is computed.
    pairs : BeliefPairs
        Over its n secrets; their own level does not matter.

    Raises
    ------
    SpecError
        If it is no channel, or the pairs are about other secrets.
    UnsupportedError
        If its matrix would be too large.

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(3)
    >>> pairs = dx.BeliefPairs.of(space, [([0.8, 0.2, 0], [0, 0.2, 0.8])])
    >>> print(round(dx.evaluate.belief_level(dx.classic.geometric(space, epsilon=1.0), pairs).epsilon, 3))
    1.569
    """
    if not isinstance(pairs, BeliefPairs):
        raise SpecError("pairs", f"are of type {type(pairs).__name__}", "give dx.BeliefPairs")
    rounded = 0.0
    if isinstance(mechanism, Sampler):
        if pairs.labels is not None and tuple(pairs.labels) != tuple(mechanism.space.labels):
            raise SpecError("pairs", "are about other secrets than the mechanism", "make them for its space")
        channel, labels = channel_of(mechanism), mechanism.reports.labels
        # doubles are within 2^-53 of the entries of a table, so that a ratio of mixtures is within twice that
        rounded = 0.0 if isinstance(mechanism, Mechanism) else 4 * UNIT
    else:
        fix = "give a mechanism, or a row of probabilities for each secret"
        channel = as_distributions(mechanism, "mechanism", fix, None, None)
        labels = [str(report) for report in range(channel.shape[1])]
    if len(channel) != pairs.secrets:
        wrong = f"are about {pairs.secrets} secrets, the mechanism about {len(channel)}"
        raise SpecError("pairs", wrong, "make them for its space")
    epsilon, worst = least_level(pairs.first, pairs.second, pairs.distances, channel)
    epsilon = (epsilon + rounded / float(pairs.distances.min())) * (1 + rounded)
    if worst is None:
        return BeliefLevel(epsilon)
    pair, report = worst
    one, other = (float(side[pair] @ channel[:, report]) for side in (pairs.first, pairs.second))
    return BeliefLevel(epsilon, pair, pairs.names[pair], str(labels[report]), (one, other))
