"""Find the event, a set of reports, that most favours one of two explanations (CABP13 Thms 1 and 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ENUMERATED = 16
_UNREACHED = -1.0
_CELLS = 1_000_000
_ROUNDING = 1 - 1e-9


class Event(NamedTuple):
    """The event that moves some belief furthest.

    Attributes
    ----------
    gain : float
        By how much, as |ln σ₁(x)/σ₂(x)|.
    reports : tuple of int
        The event.
    limit : float
        No event moves one further, nor does one that is told by a coin which depends on the report.
    """

    gain: float
    reports: tuple[int, ...]
    limit: float


class _Odds(NamedTuple):
    """σ₁(x)/σ₂(x) after an event Z is above(Z) more(Z) / (below(Z) less(Z)), four measures of Z: `(m,)` each."""

    above: Array
    more: Array
    below: Array
    less: Array

    def of(self, events: Array) -> Array:
        """The ratio for weights of reports, `(..., m)`; negative where a posterior or the secret is missing."""
        above, more, below, less = (events @ measure for measure in self)
        defined = (more > 0) & (less > 0) & (below > 0)
        return np.where(
            defined, (above / np.where(defined, below, 1)) * (more / np.where(defined, less, 1)), _UNREACHED
        )


def most_telling(plain: Array, hidden: Array) -> Event:
    """The event whose posteriors are furthest apart for two joint distributions of secrets and reports.

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
        if (found := _certain(odds)) is not None:
            return Event(float("inf"), found, float("inf"))
    # secrets of which more could be said come first, so that most others need no look
    caps = [_cap(odds) for odds in everyone]
    best, event, limit = 1.0, (0,), 1.0
    for number in np.argsort(caps)[::-1]:
        odds = everyone[number]
        if caps[number] <= best:
            break
        ratio, chosen = _enumerated(odds) if len(odds.above) <= ENUMERATED else _improved(odds)
        if ratio > best:
            best, event = ratio, chosen
        limit = max(limit, best)
        if caps[number] > limit:
            limit = max(limit, _with_coins(odds, limit))
    return Event(float(np.log(best)), event, float(np.log(max(limit, best))))


def _all_odds(first: Array, second: Array) -> list[_Odds]:
    possible = first.any(axis=1)
    less, more = first.sum(axis=0), second.sum(axis=0)
    return [_Odds(a, more, b, less) for a, b in zip(first[possible], second[possible], strict=True)]


def _certain(odds: _Odds) -> tuple[int, ...] | None:
    """An event that rules the secret out under the second explanation alone."""
    silent = (odds.below == 0) & ((odds.above > 0) | (odds.more > 0))
    if (odds.above[silent] > 0).any() and (odds.more[silent] > 0).any():
        return tuple(map(int, np.flatnonzero(silent)))
    return None


def _cap(odds: _Odds) -> float:
    """Both ratios at their largest, each at a report of its own."""
    return _largest(odds.above, odds.below) * _largest(odds.more, odds.less)


def _largest(above: Array, below: Array) -> float:
    if (above[below == 0] > 0).any():
        return float("inf")
    return float((above[below > 0] / below[below > 0]).max(initial=0.0))


def _with_coins(odds: _Odds, least: float) -> float:
    """The largest ratio for weights of two reports, 1 and t, where that exceeds some other.

    It is a ratio of two quadratic polynomials in t, at most the larger A/C of the two reports times the larger B/D.
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
        found = _of_pairs([(measure[some, None], measure[seconds]) for measure in (above, more, below, less)])
        best = max(best, float(found.max()))
    return best


def _of_pairs(measures: list[tuple[Array, Array]]) -> Array:
    """The largest ratio of each of some reports, with a weight of 1, and each of others, with any weight."""
    above, more, below, less = measures
    constant, linear, square = _product(above, more)
    under, under_linear, under_square = _product(below, less)
    with np.errstate(divide="ignore", invalid="ignore"):
        # where the ratio is 0/0 at t = 0 or for large t, it tends to that of the terms between
        next_terms = np.where(linear > 0, linear / under_linear, 0.0)
        values = [np.where(under > 0, constant / under, next_terms)]
        values.append(np.where(under_square > 0, square / under_square, next_terms))
        # stationary points: N'D = ND'
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


def _product(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """The coefficients of (u_i + t u_j)(v_i + t v_j) for some i and some j."""
    (u, more_u), (v, more_v) = one, other
    mixed = u * more_v + more_u * v
    return np.broadcast_to(u * v, mixed.shape), mixed, np.broadcast_to(more_u * more_v, mixed.shape)


def _enumerated(odds: _Odds) -> tuple[float, tuple[int, ...]]:
    """The best of all events."""
    size = len(odds.above)
    events = (np.arange(1, 2**size)[:, None] >> np.arange(size)) & 1
    ratios = odds.of(events.astype(float))
    best = int(np.argmax(ratios))
    return float(ratios[best]), tuple(map(int, np.flatnonzero(events[best])))


def _improved(odds: _Odds) -> tuple[float, tuple[int, ...]]:
    """An event that no one report more or less improves, from the best report and from the best for each ratio."""
    above, more, below, less = odds
    with np.errstate(divide="ignore", invalid="ignore"):
        one, other = np.nan_to_num(above / below), np.nan_to_num(more / less)
        alone = np.argmax(np.nan_to_num(one * other))
    starts = np.zeros((2, len(above)))
    starts[0, alone] = starts[1, np.argmax(one)] = starts[1, np.argmax(other)] = 1
    ratio, event = max((_climbed(odds, start) for start in starts), key=lambda found: found[0])
    return ratio, tuple(map(int, np.flatnonzero(event)))


def _climbed(odds: _Odds, event: Array) -> tuple[float, Array]:
    ratio = float(odds.of(event))
    while True:
        # all events with one report more or less
        above, more, below, less = (event @ measure + (1 - 2 * event) * measure for measure in odds)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where((below > 0) & (less > 0), above / below * (more / less), _UNREACHED)
        changed = event.copy()
        best = int(np.argmax(ratios))
        changed[best] = 1 - changed[best]
        # the sums that are left after a subtraction are rounded
        improved = float(odds.of(changed))
        if not improved > ratio:
            return ratio, event
        ratio, event = improved, changed
