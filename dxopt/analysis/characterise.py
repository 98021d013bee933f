"""Bound what an adversary learns from a report (CABP13 §3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.evaluate import joint, matching
from dxopt.analysis.events import most_telling
from dxopt.errors import SpecError
from dxopt.model.levels import checked_level
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import PriorLike
from dxopt.numerics.written import Written
from dxopt.runtime.shown import Shown
from dxopt.spaces.chains import EQUAL, TightChains
from dxopt.spaces.naming import Naming
from dxopt.spaces.space import MetricSpace

Array = NDArray[np.float64]


def posterior(mechanism: Mechanism, prior: PriorLike, reports: ArrayLike) -> Array:
    """Bayes(π, K, Z), `(n,)`: beliefs about the secret after a report among some (CABP13 §2).

    Parameters
    ----------
    reports : int, str or array of these
        Z, by position or by label.

    Raises
    ------
    SpecError
        If there is no such report, or none of them ever occurs.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> print(dx.characterise.posterior(mechanism, "uniform", 0).round(3).tolist())
    [0.665, 0.245, 0.09]
    """
    likely = joint(mechanism, prior)[:, _found(mechanism, reports)].sum(axis=1)
    if not likely.any():
        raise SpecError("reports", "never occur under this prior", "give some that do")
    return likely / likely.sum()


def _found(mechanism: Mechanism, reports: ArrayLike) -> NDArray[np.int64]:
    given, naming = np.atleast_1d(reports), Naming.of(mechanism.reports.labels, None, "report")
    try:
        return naming.find(label=given.tolist()) if given.dtype.kind == "U" else naming.find(index=given)
    except SpecError as error:
        raise SpecError("reports", error.wrong, "give positions or labels of reports") from None


def multiplicative_distance(first: ArrayLike, second: ArrayLike) -> float:
    """d_P: the largest |ln p(x)/q(x)| of two distributions; 0/0 counts 0, and one 0 alone is infinite (CABP13 §2).

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.characterise.multiplicative_distance([0.5, 0.5], [0.25, 0.75]), 3))
    0.693
    """
    p = np.asarray(first, dtype=float)
    q = np.asarray(second, dtype=float)
    both = (p > 0) & (q > 0)
    if ((p > 0) != (q > 0)).any():
        return float("inf")
    return float(np.abs(np.log(p[both]) - np.log(q[both])).max(initial=0.0))


@dataclass(frozen=True, repr=False)
class Learned(Shown):
    """Bound the change of beliefs by any event, a set of reports.

    Attributes
    ----------
    gain : float
        The largest d_P over all events.
    event : tuple of int
        Where it is attained: positions of reports.
    limit : float
        No event moves beliefs further, nor does one that is told by a coin which depends on the report.
    bound : float
        What privacy promises; never below the limit.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> learned = dx.characterise.within(mechanism, "uniform", [0, 1])
    >>> print(round(learned.gain, 3), learned.event, round(learned.bound, 3))
    0.62 (1,) 1.0
    """

    gain: float
    event: tuple[int, ...]
    limit: float
    bound: float


def after_hiding(
    mechanism: Mechanism, prior: PriorLike, hiding: ArrayLike, *, epsilon: Written | None = None
) -> Learned:
    """Bound the change of the adversary's conclusions if φ is applied to the secret first (CABP13 Thms 1, 3).

    Some events may change them more than each of their reports. With more than 16 reports the gain is that of the
    best event found, which may be below that of the best of all; the limit holds for all of them.

    Parameters
    ----------
    hiding : (n,) array of int
        φ: the position of what replaces each secret; SpecError where it has not one for each.
    epsilon : float, optional
        For the bound 2ε·d(φ); the realised one of the mechanism without it.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(3), epsilon=1.0)
    >>> learned = dx.characterise.after_hiding(mechanism, "uniform", [0, 0, 2])
    >>> print(round(learned.gain, 3), round(learned.limit, 3), round(learned.bound, 3))
    0.832 0.832 2.0
    """
    images = _images(mechanism.space, hiding)
    hidden = matching(mechanism, prior)[:, None] * mechanism.matrix[images]
    found = most_telling(joint(mechanism, prior), hidden)
    bound = 2 * _epsilon(mechanism, epsilon) * hiding_distance(mechanism.space, images)
    return Learned(found.gain, found.reports, found.limit, bound)


def within(mechanism: Mechanism, prior: PriorLike, members: ArrayLike, *, epsilon: Written | None = None) -> Learned:
    """Bound the knowledge gained by an adversary who knows that the secret is in a given set (CABP13 Thms 2, 4).

    A single report moves these beliefs as far as any event: π(x)/σ(x) is a ratio of two sums over the event.

    Parameters
    ----------
    members : array of int
        N, by position; some must have a positive prior.
    epsilon : float, optional
        For the bound ε·d(N); the realised one of the mechanism without it.

    Examples
    --------
    >>> import dxopt as dx
    >>> mechanism = dx.classic.geometric(dx.line(5), epsilon=1.0)
    >>> near = dx.characterise.within(mechanism, "uniform", [2, 3])
    >>> print(round(near.gain, 3), "at most", round(near.bound, 3))
    0.62 at most 1.0
    """
    inside = np.asarray(members)
    weights = matching(mechanism, prior)[inside]
    if not weights.any():
        raise SpecError("members", "have prior 0", "give some that are possible")
    gains = [_apart(weights, weights * likely) for likely in mechanism.matrix[inside].T]
    report = int(np.argmax(gains))
    bound = _epsilon(mechanism, epsilon) * diameter(mechanism.space, inside)
    return Learned(gains[report], (report,), gains[report], bound)


def hiding_distance(space: MetricSpace, hiding: ArrayLike) -> float:
    """d(φ): how far a secret is from what replaces it, at most (CABP13 §3).

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.characterise.hiding_distance(dx.line(4), [0, 0, 0, 0]))
    3.0
    """
    return float(space.distances[np.arange(len(space)), _images(space, hiding)].max())


def diameter(space: MetricSpace, members: ArrayLike) -> float:
    """d(N): how far two members are apart, at most (CABP13 §2).

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.characterise.diameter(dx.line(10), [2, 3, 7]))
    5.0
    """
    inside = np.asarray(members)
    return float(space.distances[np.ix_(inside, inside)].max())


@dataclass(frozen=True, eq=False, repr=False)
class Tightness(Shown):
    """Check whether a family of hiding functions or neighbourhoods is maximally tight, so that its theorem has a
    converse.

    Attributes
    ----------
    broken : tuple of int or None
        Two secrets that no tight chain of maximal steps joins.

    Examples
    --------
    >>> import dxopt as dx
    >>> space = dx.line(3)
    >>> steps = [[1, 1, 2], [0, 2, 2]]
    >>> print(bool(dx.characterise.hiding_tightness(space, steps)))
    True
    """

    broken: tuple[int, int] | None
    _chains: TightChains

    @property
    def holds(self) -> bool:
        """True if every two secrets are joined by a chain."""
        return self.broken is None

    def chain(self, first: int, last: int) -> list[int]:
        """The secrets of a tight chain of maximal steps, by position; empty where there is none."""
        return self._chains.chain(first, last)


def hiding_tightness(space: MetricSpace, hidings: Iterable[ArrayLike]) -> Tightness:
    """Check whether hiding functions are maximally tight (CABP13 Def 2): a step is a swap by some φ, as long as d(φ).

    Examples
    --------
    >>> import dxopt as dx
    >>> tightness = dx.characterise.hiding_tightness(dx.line(3), [[0, 0, 2]])
    >>> print(tightness.broken)
    (0, 1)
    """
    _require_symmetric(space)
    steps = np.zeros((len(space), len(space)), dtype=bool)
    everything = np.arange(len(space))
    # A step is maximal where φ swaps two secrets and moves them as far as it moves any.
    for one in hidings:
        hiding = np.asarray(one)
        farthest = hiding_distance(space, hiding)
        maximal = (hiding[hiding] == everything) & (space.distances[everything, hiding] >= farthest * (1 - EQUAL))
        steps[everything[maximal], hiding[maximal]] = True
    return _tightness(space, steps)


def neighbourhood_tightness(space: MetricSpace, neighbourhoods: Iterable[ArrayLike]) -> Tightness:
    """Check whether neighbourhoods are maximally tight (CABP13 Def 3): a step is within some N, as long as d(N).

    Examples
    --------
    >>> import dxopt as dx
    >>> tightness = dx.characterise.neighbourhood_tightness(dx.line(3), [[0, 1], [1, 2]])
    >>> print(tightness.broken)
    None
    """
    _require_symmetric(space)
    steps = np.zeros((len(space), len(space)), dtype=bool)
    for members in neighbourhoods:
        inside = np.ix_(np.asarray(members), np.asarray(members))
        steps[inside] |= space.distances[inside] >= diameter(space, members) * (1 - EQUAL)
    return _tightness(space, steps)


def _tightness(space: MetricSpace, steps: NDArray[np.bool_]) -> Tightness:
    chains = TightChains.of(space.distances, steps)
    broken = None if chains.everywhere else (int(chains.missing[0, 0]), int(chains.missing[0, 1]))
    return Tightness(broken, chains)


def _apart(first: Array, second: Array) -> float:
    """d_P of two beliefs up to scale; 0 where one of them is of a report that never occurs."""
    if not (first.any() and second.any()):
        return 0.0
    return multiplicative_distance(first / first.sum(), second / second.sum())


def _epsilon(mechanism: Mechanism, epsilon: Written | None) -> float:
    """The ε given, or else the one proven of the mechanism; SpecError where that bounds nothing here."""
    if epsilon is not None:
        return checked_level(epsilon)
    if mechanism.privacy is None:
        fix = "give epsilon, or dx.certify(mechanism, space, epsilon) for the mechanism"
        raise SpecError("mechanism", "has no proof of privacy", fix)
    if mechanism.privacy.delta:
        raise SpecError("mechanism", "is private only up to delta, which bounds no beliefs", "make one without delta")
    return mechanism.privacy.epsilon


def _require_symmetric(space: MetricSpace) -> None:
    if not space.symmetric:
        raise SpecError("space", "has distances that are not symmetric", "maximal tightness is about symmetric ones")


def _images(space: MetricSpace, hiding: ArrayLike) -> NDArray[np.int64]:
    """A hiding function as indices `(n,)`; SpecError where it is none."""
    images = np.asarray(hiding)
    if images.shape != (len(space),) or not np.isin(images, np.arange(len(space))).all():
        raise SpecError("hiding", "is no function of the secrets", "give the index of what replaces each of them")
    return images
