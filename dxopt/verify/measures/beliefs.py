"""How far a report moves the beliefs that claims.json asks about, and how far it can (CABP13, Thms 1 to 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dxopt.verify.exact import Exact, is_exponential
from dxopt.verify.folder import Result
from dxopt.verify.measures.agreement import agree_product
from dxopt.verify.measures.hiding import largest_factor
from dxopt.verify.values import AGREEMENT
from dxopt.verify.verdict import Broken, Unproved

_AT_MOST = ", at most"


def check_beliefs(result: Result, name: str, claimed: float) -> None:
    """What reports reveal at most about some beliefs, or, by the end of its name, what privacy promises of that.

    Raises
    ------
    Broken
        If it is another number.
    Unproved
        If claims.json has no such beliefs.
    """
    asked = {entry["name"]: entry for entry in result.claims.get("beliefs", ())}.get(name.removesuffix(_AT_MOST))
    if asked is None:
        raise Unproved(f"{claimed:.12g}: claims.json does not say what it is about")
    members = _secrets(result, asked["places"])
    hiding = bool(asked["hiding"])
    if hiding and len(members) != result.size:
        raise Broken(f"claims.json: {asked['name']} names {len(members)} secrets, not {result.size}")
    if name.endswith(_AT_MOST):
        distance = _hidden(result, members) if hiding else _diameter(result, members)
        agree_product(name, claimed, (2 if hiding else 1) * result.claimed("epsilon"), distance)
        return
    # The claim is the logarithm of the largest factor of all events: ln f = claimed is checked as f = e^claimed.
    largest = _of_hiding(result, members) if hiding else _of_knowing(result, members)
    if largest is None:
        if math.isfinite(claimed):
            raise Broken(f"claims.json: {name} is infinite, not {claimed:.17g}")
        return
    slack = AGREEMENT * max(1, Fraction(claimed)) if 0 <= claimed < math.inf else None
    if slack is None or not is_exponential(largest, claimed, slack):
        raise Broken(f"claims.json: {name} is {math.log(largest):.17g}, not {claimed:.17g}")


def _secrets(result: Result, named: Any) -> list[int]:
    """Indices of secrets in claims.json; Broken where one is none."""
    for index in named:
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < result.size:
            raise Broken(f"claims.json: beliefs are about a secret {index!r}, of {result.size}")
    return list(named)


def _of_knowing(result: Result, members: Sequence[int]) -> Fraction | None:
    """How far the probability of a member is moved at most, as a factor from 1 on; None where to 0.

    The secret is known to be a member. After report z, the probability of x changes by K[x, z] over the mean of K[·,
    z] under the prior on the members; the scale of the integers cancels. No event moves it further than its reports.
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


def _of_hiding(result: Result, instead: Sequence[int]) -> Fraction | None:
    """The same for beliefs where each secret x was replaced by instead[x] or not."""
    weights = Exact.of(result.prior).rows[0]
    return largest_factor(weights, result.channel.rows, instead)


def _diameter(result: Result, members: Sequence[int]) -> float:
    """The largest distance of two members."""
    return float(result.distances[np.ix_(members, members)].max())


def _hidden(result: Result, instead: Sequence[int]) -> float:
    """The largest distance of a secret to the one that it was replaced by."""
    return float(result.distances[np.arange(result.size), instead].max())
