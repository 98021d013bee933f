"""What report.json tells of beliefs, of databases of many records, and of the error that privacy costs at least."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dxopt.verify.comparison.realised import check_least_level
from dxopt.verify.exact import BITS, is_exponential, power
from dxopt.verify.folder import Result
from dxopt.verify.privacy import bound_pairs
from dxopt.verify.values import Enclosed
from dxopt.verify.verdict import Broken, Unproved

_AGREEMENT = Fraction(1, 10**12)
_LEAST = 1e-11
_AT_MOST = ", at most"
_SMALLEST = 2.0**-1022
_RECORDS = re.compile(r"expected loss of (\d+) records|(epsilon|delta) of one record")


def check_learned(result: Result, name: str, claimed: float) -> None:
    """A measure of this kind; Unproved where it is none.

    Raises
    ------
    Broken
        If it is another number.
    """
    if name == "error_bound":
        _check_error_bound(result, claimed)
    elif found := _RECORDS.fullmatch(name):
        _check_records(result, found[1], found[2], name, claimed)
    else:
        _check_beliefs(result, name, claimed)


def _check_beliefs(result: Result, name: str, claimed: float) -> None:
    """How far a report moves beliefs at most, or what privacy promises of that (CABP13 Thms 1 to 4)."""
    asked = {entry["name"]: entry for entry in result.summary.get("beliefs", ())}.get(name.removesuffix(_AT_MOST))
    if asked is None:
        raise Unproved(f"{claimed:.12g}: report.json does not say what it is about")
    places, hiding = _places(result, asked["places"]), bool(asked["hiding"])
    if hiding and len(places) != result.size:
        raise Broken(f"report.json: {asked['name']} names {len(places)} secrets, not {result.size}")
    if name.endswith(_AT_MOST):
        reach = _hidden(result, places) if hiding else _diameter(result, places)
        _check_product(name, claimed, (2 if hiding else 1) * result.claimed("epsilon"), reach)
        return
    ratios = list(_hiding_ratios(result, places) if hiding else _within_ratios(result, places))
    if None in ratios:
        if math.isfinite(claimed):
            raise Broken(f"report.json: {name} is infinite, not {claimed:.17g}")
        return
    largest = max((ratio for ratio in ratios if ratio is not None), default=Fraction(1))
    slack = _AGREEMENT * max(1, Fraction(claimed)) if 0 <= claimed < math.inf else None
    if slack is None or not is_exponential(largest, claimed, slack):
        raise Broken(f"report.json: {name} is {math.log(largest):.17g}, not {claimed:.17g}")


def _places(result: Result, named: Any) -> list[int]:
    for place in named:
        if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < result.size:
            raise Broken(f"report.json: beliefs are about a secret {place!r}, of {result.size}")
    return list(named)


def _within_ratios(result: Result, members: Sequence[int]) -> Iterator[Fraction | None]:
    """For each report, how far the probability of a member is moved, as a factor from 1 on; None where to 0."""
    weights = [Fraction(float(result.prior[x])) for x in members]
    total = sum(weights)
    if not total:
        raise Broken("report.json: beliefs are about secrets of probability 0")
    for column in zip(*(result.channel.rows[x] for x in members), strict=True):
        likely = [entry for entry, weight in zip(column, weights, strict=True) if weight]
        mean = sum(map(Fraction.__mul__, weights, map(Fraction, column)), Fraction(0)) / total
        if mean:
            yield max(mean / min(likely), max(likely) / mean) if min(likely) else None


def _hiding_ratios(result: Result, instead: Sequence[int]) -> Iterator[Fraction | None]:
    """The same for beliefs where each secret was replaced or not."""
    weights, rows = [Fraction(weight) for weight in result.prior.tolist()], result.channel.rows
    plain, hidden = zip(*rows, strict=True), zip(*(rows[x] for x in instead), strict=True)
    for before, after in zip(plain, hidden, strict=True):
        sums = [sum(map(Fraction.__mul__, weights, map(Fraction, column)), Fraction(0)) for column in (before, after)]
        if not all(sums):
            continue
        seen = [pair for weight, *pair in zip(weights, before, after, strict=True) if weight and any(pair)]
        if not all(map(all, seen)):
            yield None
            continue
        shares = [Fraction(mine, theirs) for mine, theirs in seen]
        scale = sums[1] / sums[0]
        yield max(max(shares) * scale, 1 / (min(shares) * scale))


def _diameter(result: Result, members: Sequence[int]) -> float:
    return float(result.distances[np.ix_(members, members)].max())


def _hidden(result: Result, instead: Sequence[int]) -> float:
    return float(result.distances[np.arange(result.size), instead].max())


def _check_product(name: str, claimed: float, level: float, reach: float) -> None:
    """Whether a number is level·reach."""
    if math.isinf(level) or math.isinf(reach):
        if claimed != level * reach:
            raise Broken(f"report.json: {name} is infinite, not {claimed:.17g}")
        return
    product = Fraction(level) * Fraction(reach)
    if not Enclosed(product, product, product).agrees(claimed):
        raise Broken(f"report.json: {name} is {float(product):.17g}, not {claimed:.17g}")


def _check_records(result: Result, count: str | None, which: str, name: str, claimed: float) -> None:
    delta = result.claimed("delta") if result.private else 0.0
    if count is not None:
        one, records = result.worth.expected_loss(result.losses), int(count)
        scaled = Enclosed(records * one.low, records * one.high, records * one.size)
        if not scaled.agrees(claimed):
            raise Broken(f"report.json: {name} is {float(scaled.low):.17g}, not {claimed:.17g}")
    elif which == "delta":
        if claimed != delta:
            raise Broken(f"report.json: {name} is {delta:.17g}, not {claimed:.17g}")
    elif result.private and (not result.delta or result.summary.get("pairs") == "all"):
        _check_product(name, claimed, result.claimed("epsilon"), float(result.distances.max()))
    else:
        reach = float(result.distances.max())
        if not 0 < reach < math.inf:
            raise Unproved(f"{claimed:.12g}: it is of a distance {reach:g}")
        bound = bound_pairs(result.distances, "all")
        check_least_level(result, bound, claimed / reach, Fraction(delta), f"report.json: {name}")


def _check_error_bound(result: Result, claimed: float) -> None:
    """HLM14, Thms 6 and 7: the best pair, or the best secret with its k nearest; exactly for the one found best.

    What is largest is found in doubles: a number is no proven bound above what is shown exactly, and 1e-11 below it
    is not the best.
    """
    distances, level = result.distances, Fraction(result.epsilon)
    if not np.array_equal(distances, distances.T):
        raise Unproved(f"{claimed:.12g}: the bounds are about symmetric distances")
    rest, found = 1 - Fraction(result.delta), Fraction(0)
    with np.errstate(invalid="ignore", over="ignore"):
        alike = np.exp(-result.epsilon * distances)
    np.fill_diagonal(alike, 0.0)
    alike[alike < _SMALLEST] = 0.0
    pairs = np.where(alike > 0, distances * alike / (1 + alike), 0.0)
    x, other = np.unravel_index(int(pairs.argmax()), pairs.shape)
    if pairs[x, other] > 0:
        apart = Fraction(float(distances[x, other]))
        found = rest * apart / (1 + _exponential(level * apart))
    nearest = distances[~np.eye(len(distances), dtype=bool)].min(initial=np.inf)
    if result.summary.get("secrets_are_reports") and 0 < nearest < np.inf:
        counts = np.arange(1, len(distances))
        sorted_alike = -np.sort(-alike, axis=1)[:, :-1]
        shares = counts * sorted_alike / (1 + counts * sorted_alike)
        x, place = np.unravel_index(int(shares.argmax()), shares.shape)
        if shares[x, place] > 0:
            apart, count = Fraction(float(np.sort(np.delete(distances[x], x))[place])), int(counts[place])
            packed = rest * Fraction(float(nearest)) * count / (count + _exponential(level * apart))
            found = max(found, packed)
    if not found * (1 - Fraction(_LEAST)) <= Fraction(claimed) <= found * (1 + _AGREEMENT):
        raise Broken(f"report.json: error_bound is {float(found):.17g}, not {claimed:.17g}")


def _exponential(exponent: Fraction) -> Fraction:
    """A number above e^exponent, relatively by 2^-100 or so."""
    return Fraction(power(exponent)[1], 1 << BITS)
