"""Bound what an adversary learns from a report (CABP13 §3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxopt.analysis.evaluate import joint, matching
from dxopt.errors import SpecError
from dxopt.model.mechanism import Mechanism
from dxopt.model.prior import PriorLike
from dxopt.model.privacy import checked_level
from dxopt.model.sampling import required_mechanism
from dxopt.numerics.coerce import as_list, as_weights, require_values
from dxopt.numerics.number_syntax import Written
from dxopt.runtime.display import Shown
from dxopt.spaces.chains import EQUAL, TightChains
from dxopt.spaces.naming import Naming
from dxopt.spaces.space import MetricSpace, required_space

__all__ = [
    "Learned",
    "Tightness",
    "after_hiding",
    "diameter",
    "hiding_distance",
    "hiding_tightness",
    "multiplicative_distance",
    "neighbourhood_tightness",
    "posterior",
    "within",
]

Array = NDArray[np.float64]
ENUMERATED = 16
"""Up to so many reports all events are tried."""
_UNREACHED = -1.0
_CELLS = 1_000_000
_ROUNDING = 1 - 1e-9


class Event(NamedTuple):
    """The event that moves some belief furthest, by `gain` = |ln σ₁(x)/σ₂(x)|.

    `limit` bounds the gain of events with coins, in which each report counts with a probability of its own.
    """

    gain: float
    reports: tuple[int, ...]
    limit: float


class _Odds(NamedTuple):
    """σ₁(x)/σ₂(x) after an event Z is above(Z) more(Z) / (below(Z) less(Z)), four measures of Z: `(m,)` each.

    `above` and `below` are the probabilities of x and a report under the first and under the second distribution;
    `less` and `more` are those of the report alone, under the first and the second, by which posteriors divide.
    """

    above: Array
    more: Array
    below: Array
    less: Array

    def of(self, events: Array) -> Array:
        """Return the ratio for weights of reports, `(..., m)`; negative where a posterior is missing."""
        above, more, below, less = (events @ measure for measure in self)
        defined = (more > 0) & (less > 0) & (below > 0)
        return np.where(
            defined, (above / np.where(defined, below, 1)) * (more / np.where(defined, less, 1)), _UNREACHED
        )


def most_telling(plain: Array, hidden: Array) -> Event:
    """Return the event whose posteriors are furthest apart for two joint distributions of secrets and reports.

    The ratio of the two posteriors of a secret is a product of two ratios of measures of the event. It may be larger
    for an event than for each of its reports, and the best event is as hard to find as a subset of a given sum, so:

    1. where only one posterior of a secret can be 0, the distance is infinite;
    2. for at most 16 reports all events are tried, and otherwise events are improved report by report;
    3. the limit is exact for events with coins: their weights form a cone, where two linear conditions on the two
       ratios are met by two reports if they are met at all (Carathéodory).

    Parameters
    ----------
    plain, hidden : (n, m) array
        Probabilities of a secret and a report, without and with hiding: their secrets have the same prior.
    """
    everyone = [*_all_odds(plain, hidden), *_all_odds(hidden, plain)]
    for odds in everyone:
        # the reports that are impossible for this secret under the second distribution: an event of them rules the
        # secret out under the second alone, if it is possible under the first
        silent = (odds.below == 0) & ((odds.above > 0) | (odds.more > 0))
        if (odds.above[silent] > 0).any() and (odds.more[silent] > 0).any():
            return Event(float("inf"), tuple(np.flatnonzero(silent).tolist()), float("inf"))
    # no event has a larger ratio for a secret than its cap: the largest caps come first, and the loop ends early
    caps = [_largest_quotient(odds.above, odds.below) * _largest_quotient(odds.more, odds.less) for odds in everyone]
    best, event, limit = 1.0, (0,), 1.0
    for number in np.argsort(caps)[::-1]:
        odds = everyone[number]
        if caps[number] <= best:
            break
        ratio, chosen = _best_event(odds) if len(odds.above) <= ENUMERATED else _search_event(odds)
        if ratio > best:
            best, event = ratio, chosen
        limit = max(limit, best)
        if caps[number] > limit:
            limit = max(limit, _with_coins(odds, limit))
    return Event(float(np.log(best)), event, float(np.log(max(limit, best))))


def _all_odds(first: Array, second: Array) -> list[_Odds]:
    """Return the odds of each secret that is possible under the first of two joint distributions."""
    possible = first.any(axis=1)
    less, more = first.sum(axis=0), second.sum(axis=0)
    return [_Odds(a, more, b, less) for a, b in zip(first[possible], second[possible], strict=True)]


def _largest_quotient(above: Array, below: Array) -> float:
    """Return the largest above/below of a single report, which that of no event exceeds; infinite over 0."""
    if (above[below == 0] > 0).any():
        return float("inf")
    return float((above[below > 0] / below[below > 0]).max(initial=0.0))


def _with_coins(odds: _Odds, least: float) -> float:
    """Return the largest ratio for weights of two reports, 1 and t, leaving out pairs that cannot exceed `least`.

    It is a ratio of two quadratic polynomials in t, at most the larger above/below of the two reports times the
    larger more/less.
    """
    # reports may be scaled one by one, as all weights are allowed
    scale = odds.more + odds.less
    names = np.flatnonzero(scale > 0)
    above, more, below, less = (measure[names] / scale[names] for measure in odds)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = above / below, more / less
        firsts = np.flatnonzero(~(one * np.nanmax(other) < least * _ROUNDING))
        seconds = np.flatnonzero(~(other * np.nanmax(one) < least * _ROUNDING))
    rows = max(1, _CELLS // max(len(seconds), 1))
    best = _UNREACHED
    for at in range(0, len(firsts) if len(seconds) else 0, rows):
        some = firsts[at : at + rows]
        found = _best_of_pairs([(measure[some, None], measure[seconds]) for measure in (above, more, below, less)])
        best = max(best, float(found.max()))
    return best


def _best_of_pairs(measures: list[tuple[Array, Array]]) -> Array:
    """Return the largest ratio for each report i of some, of weight 1, and each j of others, of any weight t."""
    above, more, below, less = measures
    constant, linear, square = _coefficients(above, more)
    under, under_linear, under_square = _coefficients(below, less)
    with np.errstate(divide="ignore", invalid="ignore"):
        # where the ratio is 0/0 at t = 0 or for large t, it tends to that of the terms between
        next_terms = np.where(linear > 0, linear / under_linear, 0.0)
        values = [np.where(under > 0, constant / under, next_terms)]
        values.append(np.where(under_square > 0, square / under_square, next_terms))
        # stationary points of N/D: N'D = ND', which is c0 + 2 c1 t + c2 t² = 0
        c0 = linear * under - constant * under_linear
        c1 = square * under - constant * under_square
        c2 = square * under_linear - linear * under_square
        root = np.sqrt(np.maximum(c1**2 - c0 * c2, 0.0))
        far = -(c1 + np.where(c1 >= 0, root, -root))
        for t in (far / c2, c0 / far):
            inside = np.isfinite(t) & (t > 0)
            at = np.where(inside, t, 1.0)
            top, bottom = constant + at * (linear + at * square), under + at * (under_linear + at * under_square)
            values.append(np.where(inside & (bottom > 0), top / np.where(bottom > 0, bottom, 1), 0.0))
    return np.maximum.reduce(values)


def _coefficients(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Return the coefficients of (u_i + t u_j)(v_i + t v_j) for some i and some j."""
    (u, more_u), (v, more_v) = one, other
    mixed = u * more_v + more_u * v
    return np.broadcast_to(u * v, mixed.shape), mixed, np.broadcast_to(more_u * more_v, mixed.shape)


def _best_event(odds: _Odds) -> tuple[float, tuple[int, ...]]:
    """Return the largest ratio of all events and the reports of that event, by trying each subset."""
    size = len(odds.above)
    events = (np.arange(1, 2**size)[:, None] >> np.arange(size)) & 1
    ratios = odds.of(events.astype(float))
    best = int(np.argmax(ratios))
    return float(ratios[best]), tuple(map(int, np.flatnonzero(events[best])))


def _search_event(odds: _Odds) -> tuple[float, tuple[int, ...]]:
    """Search for an event of large ratio that no one report more or less improves; return both.

    It starts from the best single report, and from the two reports that are best for one of the two ratios each.
    """
    above, more, below, less = odds
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = np.nan_to_num(above / below), np.nan_to_num(more / less)
        alone = np.argmax(np.nan_to_num(one * other))
    starts = np.zeros((2, len(above)))
    starts[0, alone] = starts[1, np.argmax(one)] = starts[1, np.argmax(other)] = 1
    ratio, event = max((_climb(odds, start) for start in starts), key=lambda found: found[0])
    return ratio, tuple(map(int, np.flatnonzero(event)))


def _climb(odds: _Odds, event: Array) -> tuple[float, Array]:
    """Add or remove the report that seems to raise the ratio most, until it does not; return ratio and event."""
    ratio = float(odds.of(event))
    while True:
        # all events with one report more or less
        above, more, below, less = (event @ measure + (1 - 2 * event) * measure for measure in odds)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where((below > 0) & (less > 0), above / below * (more / less), _UNREACHED)
        changed = event.copy()
        best = int(np.argmax(ratios))
        changed[best] = 1 - changed[best]
        # `ratios` come from subtractions, whose rounding may feign a rise: the new ratio is summed afresh
        improved = float(odds.of(changed))
        if not improved > ratio:
            return ratio, event
        ratio, event = improved, changed


def posterior(mechanism: Mechanism, prior: PriorLike, reports: ArrayLike) -> Array:
    """Return Bayes(π, K, Z), `(n,)`: beliefs about the secret after a report among some (CABP13 §2).

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
    required_mechanism(mechanism, Mechanism)
    found = _found(reports, Naming(mechanism.reports.labels, None, "report"), "reports")
    likely = joint(mechanism, prior)[:, found].sum(axis=1)
    if not likely.any():
        raise SpecError("reports", "never occur under this prior", "give some that do")
    return likely / likely.sum()


def _found(given: ArrayLike, naming: Naming, field: str) -> NDArray[np.int64]:
    """Return indices `(k,)` from positions or labels, one or several; SpecError where one is wrong, or none there."""
    try:
        several = np.atleast_1d(given)
        # strings are labels, and numbers positions
        found = naming.find(label=several.tolist()) if several.dtype.kind == "U" else naming.find(index=several)
    except ValueError as error:
        wrong = error.wrong if isinstance(error, SpecError) else "are no list"
        raise SpecError(field, wrong, f"give positions or labels of {naming.noun}s") from None
    if not found.size:
        raise SpecError(field, "are none", "give at least one")
    return found.reshape(-1)


def multiplicative_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Return d_P, the largest |ln p(x)/q(x)|; 0/0 counts 0, and one 0 alone is infinite (CABP13 §2).

    SpecError unless both are weights of 0 or more, and equally many.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(round(dx.characterise.multiplicative_distance([0.5, 0.5], [0.25, 0.75]), 3))
    0.693
    """
    p = as_weights(first, "first", "give a list of probabilities")
    q = as_weights(second, "second", "give as many probabilities", len(p))
    both = (p > 0) & (q > 0)
    if ((p > 0) != (q > 0)).any():
        return float("inf")
    return float(np.abs(np.log(p[both]) - np.log(q[both])).max(initial=0.0))


@dataclass(frozen=True, repr=False)
class Learned(Shown):
    """Bounds on the change of beliefs by any event, a set of reports.

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
    required_mechanism(mechanism, Mechanism)
    images = _checked_hiding(mechanism.space, hiding)
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
        N, by position or by label; some must have a positive prior.
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
    required_mechanism(mechanism, Mechanism)
    inside = _found(members, mechanism.space.naming, "members")
    weights = matching(mechanism, prior)[inside]
    if not weights.any():
        raise SpecError("members", "have prior 0", "give some that are possible")
    gains = [_belief_distance(weights, weights * likely) for likely in mechanism.matrix[inside].T]
    report = int(np.argmax(gains))
    bound = _epsilon(mechanism, epsilon) * diameter(mechanism.space, inside)
    return Learned(gains[report], (report,), gains[report], bound)


def hiding_distance(space: MetricSpace, hiding: ArrayLike) -> float:
    """Return d(φ): how far a secret is from what replaces it, at most (CABP13 §3).

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.characterise.hiding_distance(dx.line(4), [0, 0, 0, 0]))
    3.0
    """
    required_space(space)
    return float(space.distances[np.arange(len(space)), _checked_hiding(space, hiding)].max())


def diameter(space: MetricSpace, members: ArrayLike) -> float:
    """Return d(N): how far two members, by position or by label, are apart, at most (CABP13 §2).

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.characterise.diameter(dx.line(10), [2, 3, 7]))
    5.0
    """
    required_space(space)
    inside = _found(members, space.naming, "members")
    return float(space.distances[np.ix_(inside, inside)].max())


@dataclass(frozen=True, eq=False, repr=False)
class Tightness(Shown):
    """Verdict whether hiding functions or neighbourhoods are maximally tight, so that their theorem has a converse.

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
        """Return the secrets of a tight chain of maximal steps, by position; empty where there is none."""
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
    required_space(space)
    steps = np.zeros((len(space), len(space)), dtype=bool)
    everything = np.arange(len(space))
    # A step is maximal where φ swaps two secrets and moves them as far as it moves any.
    for one in as_list(hidings, "hidings", "give a list of arrays"):
        hiding = _checked_hiding(space, one)
        farthest = hiding_distance(space, hiding)
        maximal = (hiding[hiding] == everything) & (space.distances[everything, hiding] >= farthest * (1 - EQUAL))
        steps[everything[maximal], hiding[maximal]] = True
    return _tightness(space, steps)


def neighbourhood_tightness(space: MetricSpace, neighbourhoods: Iterable[ArrayLike]) -> Tightness:
    """Check whether neighbourhoods are maximally tight (CABP13 Def 3): a step is within some N, as long as d(N).

    Members are given by position or by label.

    Examples
    --------
    >>> import dxopt as dx
    >>> tightness = dx.characterise.neighbourhood_tightness(dx.line(3), [[0, 1], [1, 2]])
    >>> print(tightness.broken)
    None
    """
    required_space(space)
    steps = np.zeros((len(space), len(space)), dtype=bool)
    for members in as_list(neighbourhoods, "neighbourhoods", "give a list of arrays"):
        found = _found(members, space.naming, "members")
        inside = np.ix_(found, found)
        steps[inside] |= space.distances[inside] >= diameter(space, found) * (1 - EQUAL)
    return _tightness(space, steps)


def _tightness(space: MetricSpace, steps: NDArray[np.bool_]) -> Tightness:
    """Return the verdict whether tight chains of the steps allowed, `(n, n)`, join every two secrets."""
    if not space.symmetric:
        raise SpecError("space", "has distances that are not symmetric", "maximal tightness is about symmetric ones")
    chains = TightChains.of(space.distances, steps)
    broken = None if chains.everywhere else (int(chains.missing[0, 0]), int(chains.missing[0, 1]))
    return Tightness(broken, chains)


def _belief_distance(first: Array, second: Array) -> float:
    """Return d_P of two beliefs up to scale; 0 where one of them is of a report that never occurs."""
    if not (first.any() and second.any()):
        return 0.0
    return multiplicative_distance(first / first.sum(), second / second.sum())


def _epsilon(mechanism: Mechanism, epsilon: Written | None) -> float:
    """Return the ε given, or else the one proven of the mechanism; SpecError where that bounds nothing here."""
    if epsilon is not None:
        return checked_level(epsilon)
    if mechanism.privacy is None:
        fix = "give epsilon, or dx.certify(mechanism, space, epsilon) for the mechanism"
        raise SpecError("mechanism", "has no proof of privacy", fix)
    if mechanism.privacy.delta:
        raise SpecError("mechanism", "is private only up to delta, which bounds no beliefs", "make one without delta")
    return mechanism.privacy.epsilon


def _checked_hiding(space: MetricSpace, hiding: ArrayLike) -> NDArray[np.int64]:
    """Return a hiding function φ as indices `(n,)`; SpecError unless each secret has one to replace it."""
    require_values(hiding, "hiding")
    try:
        images = np.asarray(hiding)
    except ValueError:
        images = np.empty(0, dtype=np.int64)
    if (
        images.shape != (len(space),)
        or images.dtype.kind not in "iu"
        or not np.isin(images, np.arange(len(space))).all()
    ):
        raise SpecError("hiding", "is no function of the secrets", "give the index of what replaces each of them")
    return images
