"""The measures in claims.json, computed again: losses, leakage, beliefs, records, error bounds and least levels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxopt.verify.claims import violation_text
from dxopt.verify.exact import BITS, MULTIPLES, Exact, exp_bounds, exponential, is_power
from dxopt.verify.folder import Result, as_number
from dxopt.verify.implicit import claims as implicit
from dxopt.verify.prior_sets import everyone
from dxopt.verify.privacy import LEAST_DELTA, Levels, Triple, bound_pairs, excess, is_least, violation
from dxopt.verify.values import AGREEMENT, LEAST, Enclosed
from dxopt.verify.verdict import Broken, Unproved

Array = NDArray[np.float64]
Polynomial = tuple[int, int, int]
_RECORDS = re.compile(r"expected loss of (\d+) records|(epsilon|delta) of one record")


def check_measure(result: Result, name: str, claimed: object) -> str:
    """Check a measure of the channel by its name in `evaluation`, to 1e-12 of the size of its terms."""
    number = as_number(claimed, f"claims.json: {name}")
    if name == "expected_loss" and not result.written:
        _require_exact(name, implicit.expected_loss(result), number)
        return f"{number:.12g}"
    result.require_written()
    if name in _EXACT:
        _require_exact(name, _EXACT[name](result), number)
    elif name in _RATIOS:
        ratio = _RATIOS[name](result)
        if not is_power(ratio, number, AGREEMENT, of_two=True):
            raise Broken(f"claims.json: {name} is {math.log2(ratio):.17g}, not {number:.17g}")
    elif name == "smallest_delta":
        bound = bound_pairs(result.distances, str(result.named.get("pairs")))
        levels = Levels.of(result.distances, bound, Fraction(result.epsilon))
        largest, violated = excess(result.channel, levels, Fraction(number))
        if violated is not None or largest < Fraction(number) - LEAST_DELTA:
            raise Broken(f"claims.json: {name} is not {number:.17g}, but at least {float(largest):.17g}")
    elif name == "error_bound":
        check_error_bound(result, number)
    elif found := _RECORDS.fullmatch(name):
        _check_records(result, name, number, found[1])
    else:
        _check_beliefs(result, name, number)
    return f"{number:.12g}"


def _require_exact(name: str, exact: Enclosed, claimed: float) -> None:
    """Broken unless a number is the exact one to 1e-12 of the size of its terms."""
    if not exact.agrees(claimed):
        raise Broken(f"claims.json: {name} is {float(exact.low):.17g}, not {claimed:.17g}")


def _require_product(name: str, claimed: float, level: float, distance: float) -> None:
    """Broken unless a number is level·distance; where that is infinite, it is no Fraction and compared in doubles."""
    if math.isinf(level) or math.isinf(distance):
        if claimed != level * distance:
            raise Broken(f"claims.json: {name} is infinite, not {claimed:.17g}")
        return
    _require_exact(name, _exactly(Fraction(level) * Fraction(distance)), claimed)


def _exactly(number: Fraction) -> Enclosed:
    """Return an exact number as an enclosure of no width."""
    return Enclosed(number, number, number)


def _additive_capacity(result: Result) -> Enclosed:
    """Return 1 - Σ_z min_x K[x, z]."""
    least = sum(map(Fraction, result.matrix.min(axis=0).tolist()), Fraction(0))
    exact = max(Fraction(0), 1 - least)
    return Enclosed(exact, exact, Fraction(1))


def _min_capacity(result: Result) -> Fraction:
    """Return Σ_z max_x K[x, z], at least 1."""
    return max(sum(map(Fraction, result.matrix.max(axis=0).tolist()), Fraction(0)), Fraction(1))


_EXACT: dict[str, Callable[[Result], Enclosed]] = {
    "expected_loss": lambda result: result.worth.expected_loss(result.counted_losses),
    "worst_loss": lambda result: result.worth.largest_loss(result.all_losses, everyone(result.size)),
    "adversary_error": lambda result: result.worth.adversary_error(result.distances),
    "utility": lambda result: _exactly(result.worth.correct()),
    "additive_capacity": _additive_capacity,
}
_RATIOS: dict[str, Callable[[Result], Fraction]] = {
    "min_entropy_leakage": lambda result: result.worth.correct() / Fraction(float(result.prior.max())),
    "min_capacity": _min_capacity,
}
"""Measures in bits: the logarithms of these."""

_MARGIN = 1e-9
_LARGEST = Fraction(10**308)


class _Case(NamedTuple):
    """Factor A B / (C D) between two beliefs in one secret after an event Z, by what each report adds to the four.

    - A: the probability of Z given the secret, and D: that of Z under the prior; the first belief goes with A / D.
    - C and B: the same two for the other belief. One of the two is formed with hiding, the other without.
    """

    reports: list[tuple[int, int, int, int]]

    def over(self, first: int, second: int) -> Polynomial:
        """Return A B for a weight of 1 for one report and t for another, as a polynomial in t."""
        return _product(self.reports[first][:2], self.reports[second][:2])

    def under(self, first: int, second: int) -> Polynomial:
        """Return C D, likewise a polynomial in t."""
        return _product(self.reports[first][2:], self.reports[second][2:])

    def silent_pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs of reports whose first one adds nothing to C or D, so that the factor may be infinite."""
        for first, (_, _, c, d) in enumerate(self.reports):
            if c == 0 or d == 0:
                yield from ((first, second) for second in range(len(self.reports)))

    def pairs_above(self, factor: Fraction) -> Iterator[tuple[int, int]]:
        """Yield pairs of reports that may exceed a factor: the larger A/C of the two times the larger B/D does."""
        # in doubles, to a relative 1e-15; infinite over 0, and 0 for 0/0
        one, other = (np.array([_ratio(four[part], four[part + 2]) for four in self.reports]) for part in (0, 1))
        if float(one.max() * other.max()) * (1 + _MARGIN) <= factor:
            return
        least = float(min(factor, _LARGEST))
        for first in range(len(self.reports)):
            with np.errstate(invalid="ignore"):  # where all of one ratio are 0, nothing exceeds anything
                most = np.maximum(one[first], one[first:]) * np.maximum(other[first], other[first:])
            yield from ((first, first + int(later)) for later in np.flatnonzero(most * (1 + _MARGIN) > least))


def is_largest(
    weights: Sequence[int], rows: Sequence[Sequence[int]], instead: Sequence[int], exponent: float, slack: Fraction
) -> bool:
    """Return whether e^exponent, up to e^±slack, is the largest factor between beliefs with hiding and without.

    Hiding reports secret `instead[x]` in place of x; `weights` are the prior and `rows` the channel, as integers.
    For any weights of reports: those from 0 to 1 are events that a coin tells, and their scale cancels.
    If some weights exceed a factor f, two reports do, as two linear conditions have a solution with two. Whether
    A B > f C D for a pair of reports and some t is decided by the signs of a quadratic.
    """
    cases = list(_cases(weights, rows, instead))
    endless = any(_is_unbounded(case, *pair) for case in cases for pair in case.silent_pairs())
    if endless or not 0 <= exponent <= MULTIPLES:
        return endless and math.isinf(exponent)
    low, high = exponential(Fraction(exponent) - slack)[0], exponential(Fraction(exponent) + slack)[1]
    return (low <= 1 or is_exceeded(cases, low)) and not is_exceeded(cases, high)


def is_exceeded(cases: Sequence[_Case], factor: Fraction) -> bool:
    """Return whether some weights of two reports exceed a factor in one of the cases."""
    return any(
        _exceeds(case.over(*pair), case.under(*pair), factor) for case in cases for pair in case.pairs_above(factor)
    )


def _cases(weights: Sequence[int], rows: Sequence[Sequence[int]], instead: Sequence[int]) -> Iterator[_Case]:
    """Yield the factor and its inverse for each possible secret, without reports that are never given."""
    plain = [sum(map(int.__mul__, weights, column)) for column in zip(*rows, strict=True)]
    hidden = [sum(map(int.__mul__, weights, column)) for column in zip(*(rows[x] for x in instead), strict=True)]
    for secret, weight in enumerate(weights):
        if weight:
            mine, other = rows[secret], rows[instead[secret]]
            for four in ((mine, hidden, other, plain), (other, plain, mine, hidden)):
                yield _Case([report for report in zip(*four, strict=True) if report[1] or report[3]])


def _ratio(one: int, other: int) -> float:
    """Return a ratio as a double: infinite over 0 or where it is too large, 0 for 0/0."""
    try:
        return one / other if other else math.inf if one else 0.0
    except OverflowError:
        return math.inf


def _product(one: tuple[int, ...], other: tuple[int, ...]) -> Polynomial:
    """Return (u + t u')(v + t v') as a polynomial in t, given (u, v) and (u', v')."""
    (u, v), (more_u, more_v) = one, other
    return u * v, u * more_v + more_u * v, more_u * more_v


def _is_unbounded(case: _Case, first: int, second: int) -> bool:
    """Return whether the factor of two reports is infinite, or has no bound, as the weight of one vanishes."""
    for one, other in ((first, second), (second, first)):
        over, under = case.over(one, other), case.under(one, other)
        if under[0] == 0 and (over[0] > 0 or (under[1] == 0 and over[1] > 0)):
            return True
    return False


def _exceeds(over: Polynomial, under: Polynomial, factor: Fraction) -> bool:
    """Return whether over(t) > factor·under(t) for some t ≥ 0."""
    up, down = factor.numerator, factor.denominator
    constant, linear, square = (down * more - up * less for more, less in zip(over, under, strict=True))
    if constant > 0 or square > 0:
        return True
    return linear > 0 and linear * linear > 4 * constant * square


_AT_MOST = ", at most"


def _check_beliefs(result: Result, name: str, claimed: float) -> None:
    """Check the most that reports reveal about some beliefs; of a name with "at most", what privacy promises."""
    asked = {entry["name"]: entry for entry in result.claims.get("beliefs", ())}.get(name.removesuffix(_AT_MOST))
    if asked is None:
        raise Unproved(f"{claimed:.12g}: claims.json does not say what it is about")
    # with hiding, the secret that is reported in place of each; otherwise the secrets of which it is known to be one
    members = asked["places"]
    for index in members:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < result.size:
            raise Broken(f"claims.json: beliefs are about a secret {index!r}, of {result.size}")
    hiding = bool(asked["hiding"])
    if hiding and len(members) != result.size:
        raise Broken(f"claims.json: {asked['name']} names {len(members)} secrets, not {result.size}")
    if name.endswith(_AT_MOST):
        # twice the largest distance of a secret to the one that it was replaced by, or that of two members
        rows = np.arange(result.size) if hiding else np.array(members)[:, None]
        distance = float(result.distances[rows, members].max())
        _require_product(name, claimed, (2 if hiding else 1) * result.claimed("epsilon"), distance)
        return
    # The claim is the logarithm of the largest factor of all events: ln f = claimed is checked as f = e^claimed.
    slack = AGREEMENT * max(1, Fraction(min(claimed, MULTIPLES)))
    if hiding:
        weights = Exact.of(result.prior).rows[0]
        found = is_largest(weights, result.channel.rows, members, claimed, slack)
    else:
        largest = _largest_move(result, members)
        found = math.isinf(claimed) if largest is None else claimed >= 0 and is_power(largest, claimed, slack)
    if not found:
        raise Broken(f"claims.json: {name} is not {claimed:.17g}")


def _largest_move(result: Result, members: Sequence[int]) -> Fraction | None:
    """Return the largest factor, from 1 on, by which a report changes the belief in a member; None where to 0.

    The secret is known to be one of these members. Report z changes the probability of x by K[x, z] over the mean of
    K[·, z] under the prior on the members; the scale of the integers cancels. No event changes it more than a report.
    """
    weights = [Fraction(float(result.prior[x])) for x in members]
    total = sum(weights)
    if not total:
        raise Broken("claims.json: beliefs are about secrets of probability 0")
    largest = Fraction(1)
    for column in zip(*(result.channel.rows[x] for x in members), strict=True):
        likely = [entry for entry, weight in zip(column, weights, strict=True) if weight]
        mean = sum(map(Fraction.__mul__, weights, map(Fraction, column)), Fraction(0)) / total
        if mean and not min(likely):
            return None
        if mean:
            largest = max(largest, mean / min(likely), max(likely) / mean)
    return largest


_LEAST = 1e-11
_SMALLEST = 2.0**-1022


def check_error_bound(result: Result, claimed: float) -> None:
    """Check the lower bound on any mechanism's error by the best pair, or the best secret with its k nearest (HLM14).

    That one is found in doubles, and the bound is then exact. Above it the claimed number is not proven; more than
    1e-11 below it, it is not the best.
    """
    distances = result.distances
    level = Fraction(result.epsilon)
    if not np.array_equal(distances, distances.T):
        raise Unproved(f"{claimed:.12g}: the bounds are about symmetric distances")
    rest = 1 - Fraction(result.delta)
    found = Fraction(0)
    # How alike any two secrets are at least, e^{-εd}, in doubles.
    with np.errstate(invalid="ignore", over="ignore"):
        alike = np.exp(-result.epsilon * distances)
    np.fill_diagonal(alike, 0.0)
    alike[alike < _SMALLEST] = 0.0
    # A pair at distance d: each report costs the two d in total, so that one of them errs by (1 - δ) d / (1 + e^{εd})
    # at least (Thm 6, without its factor of 2). With e^{εd} rounded up, what is computed is below it.
    pairs = np.where(alike > 0, distances * alike / (1 + alike), 0.0)
    x, other = np.unravel_index(int(pairs.argmax()), pairs.shape)
    if pairs[x, other] > 0:
        apart = Fraction(float(distances[x, other]))
        found = rest * apart / (1 + _exp_above(level * apart))
    # Thm 7: with k others within d of a secret, and all secrets at least r apart, some secret errs by
    # (1 - δ) r k / (k + e^{εd}) at least.
    nearest = distances[~np.eye(len(distances), dtype=bool)].min(initial=np.inf)
    if result.secrets and 0 < nearest < np.inf:
        counts = np.arange(1, len(distances))
        sorted_alike = -np.sort(-alike, axis=1)[:, :-1]
        shares = counts * sorted_alike / (1 + counts * sorted_alike)
        x, rank = np.unravel_index(int(shares.argmax()), shares.shape)
        if shares[x, rank] > 0:
            apart = Fraction(float(np.sort(np.delete(distances[x], x))[rank]))
            count = int(counts[rank])
            packed = rest * Fraction(float(nearest)) * count / (count + _exp_above(level * apart))
            found = max(found, packed)
    if not found * (1 - Fraction(_LEAST)) - 4 * LEAST <= Fraction(claimed) <= found * (1 + AGREEMENT) + 4 * LEAST:
        raise Broken(f"claims.json: error_bound is {float(found):.17g}, not {claimed:.17g}")


def _exp_above(exponent: Fraction) -> Fraction:
    """Return a number at least e^exponent, by a relative 2^-100 or so."""
    return Fraction(exp_bounds(exponent)[1], 1 << BITS)


_LESS = Fraction(10**9 - 1, 10**9)
_BUDGET = 699


def _check_records(result: Result, name: str, claimed: float, count: str | None) -> None:
    """Check what `count` records lose, `count` times what one does; or the δ or the level of one record (no count).

    That level is εd for the largest distance d, as replacing one record may change it to any other.
    """
    delta = result.claimed("delta") if result.private else 0.0
    largest = float(result.distances.max())
    if count is not None:
        one = result.worth.expected_loss(result.counted_losses)
        _require_exact(name, Enclosed(int(count) * one.low, int(count) * one.high, int(count) * one.size), claimed)
    elif name.startswith("delta"):
        if claimed != delta:
            raise Broken(f"claims.json: {name} is {delta:.17g}, not {claimed:.17g}")
    elif result.private and (not result.delta or result.named.get("pairs") == "all"):
        _require_product(name, claimed, result.claimed("epsilon"), largest)
    elif not 0 < largest < math.inf:
        raise Unproved(f"{claimed:.12g}: it is of a distance {largest:g}")
    else:
        # Where not all pairs are bound, εd is the least at which all of them are private.
        _check_least_level(result, claimed / largest, Fraction(delta), f"claims.json: {name}")


def _check_least_level(result: Result, epsilon: float, delta: Fraction, claim: str) -> None:
    """Broken unless ε is the least at which all pairs are (εd, δ)-private, to 1e-9 with δ and to 1e-12 without.

    Infinite is right where even budgets of 699 for all pairs at a distance do not make them private.
    """
    bound = bound_pairs(result.distances, "all")

    def broken(distances: Array, level: Fraction) -> Triple | None:
        """Return the first pair and report that break privacy at a level; None where none do."""
        levels = Levels.of(distances, bound, level)
        return excess(result.channel, levels, delta)[1] if delta else violation(result.channel, levels)

    if math.isinf(epsilon):
        if broken(np.where(result.distances > 0, 1.0, 0.0), Fraction(_BUDGET)) is None:
            raise Broken(f"{claim}: epsilon is finite")
        return
    if epsilon < 0:
        raise Broken(f"{claim}: epsilon is {epsilon:.17g}")
    found = broken(result.distances, Fraction(epsilon))
    if found is not None:
        raise Broken(f"{claim}: {violation_text(result, found)} at epsilon {epsilon:.17g}")
    if delta:
        least = not epsilon or broken(result.distances, Fraction(epsilon) * _LESS) is not None
    else:
        least = is_least(result.channel, Levels.of(result.distances, bound, Fraction(epsilon)))
    if not least:
        raise Broken(f"{claim}: epsilon {epsilon:.17g} is not the least")
