"""Beliefs about the record of one person, while the other records follow from correlations."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError, UnsupportedError, required
from dxopt.model.beliefs.conditionals import Conditional, given_event
from dxopt.model.prior import Prior
from dxopt.numerics.given import as_number
from dxopt.spaces.universes import Universe

EVENTS = 200_000
"""The most events that are gone through."""


def by_records(
    universe: Universe, beliefs: Iterable[Prior], known: int | None
) -> tuple[list[Conditional], list[str]]:
    """For each person and each two values of the record, the databases given either; and what is left out.

    Given as well are the records of up to `known` other persons, any of them with any values (Yang et al. 2015).
    """
    codes = _codes(universe)
    records = codes.shape[1]
    most = records - 1 if known is None else known
    fix = f"give how many other records are known, from 0 to {records - 1}"
    required("known", most, Integral, fix)
    if not 0 <= most < records:
        raise SpecError("known", f"is {known}", fix)
    values = len(universe.values)
    subsets = sum(math.comb(records - 1, size) * values**size for size in range(most + 1))
    if records * subsets * values**2 > EVENTS:
        raise UnsupportedError("known", f"makes over {EVENTS:,} events", "give a smaller number, or fewer records")
    found: list[Conditional] = []
    missing: list[str] = []
    for belief in beliefs:
        for person in range(records):
            others = [other for other in range(records) if other != person]
            sets = itertools.chain.from_iterable(itertools.combinations(others, size) for size in range(most + 1))
            for given in sets:
                for values_given in itertools.product(range(values), repeat=len(given)):
                    inside = (codes[:, list(given)] == values_given).all(axis=1)
                    _between_values(universe, codes, belief, person, (given, values_given), inside, found, missing)
    return found, missing


def _between_values(
    universe: Universe,
    codes: NDArray[np.int64],
    belief: Prior,
    person: int,
    known: tuple[Sequence[int], Sequence[int]],
    inside: NDArray[np.bool_],
    found: list[Conditional],
    missing: list[str],
) -> None:
    """Add the pairs of one person's values, given what is known of others; those known to be impossible are none."""
    if not belief.probabilities[inside].any():
        return
    written = _written(universe)
    also = "".join(f", record {other} = {written[value]}" for other, value in zip(*known, strict=True))
    each = [given_event(belief.probabilities, inside & (codes[:, person] == v)) for v in range(len(written))]
    for one, other in itertools.combinations(range(len(written)), 2):
        first, second = each[one], each[other]
        names = (f"record {person} = {written[one]}", f"record {person} = {written[other]}")
        under = f", under {belief.name}{also}"
        if first is None or second is None:
            impossible = names[0] if first is None else names[1]
            missing.append(f"{names[0]} against {names[1]}{under}: {impossible} has probability 0")
        else:
            found.append(Conditional(*names, under, first, second))


def removals(universe: Universe) -> list[tuple[str, NDArray[np.bool_], NDArray[np.int64]]]:
    """For each person and value: its name, the databases with that value, and each database without that record.

    Raises
    ------
    SpecError
        If no record may be absent.
    """
    codes = _codes(universe)
    written = _written(universe)
    if None not in universe.values:
        raise SpecError("universe", "has no absent records", "make it with absent=True")
    found = []
    for person in range(codes.shape[1]):
        without = [(*one[:person], None, *one[person + 1 :]) for one in _databases(universe)]
        gone = [universe.places.get(one, -1) for one in without]
        if min(gone) < 0:
            wrong = f"lacks {without[gone.index(-1)]}, a database without record {person}"
            raise SpecError("universe", wrong, "keep the databases that are left when a record is taken out")
        to = np.array(gone, dtype=np.int64)
        for value, name in enumerate(written):
            if universe.values[value] is not None:
                inside = codes[:, person] == value
                found.append((f"record {person} = {name}", inside, to))
    return found


def observed_prior(universe: Universe, observed: Iterable[Any], smoothing: float) -> Prior:
    """Count the observations of each database; SpecError where one is none of the universe."""
    required("observed", observed, Iterable, "give a list of databases")
    if not 0 <= as_number(smoothing, "smoothing", fix := "give a number of 0 or more") < math.inf:
        raise SpecError("smoothing", f"is {smoothing}", fix)
    counts = np.full(len(universe), float(smoothing))
    seen = 0
    for one in observed:
        try:
            index = universe.places.get(tuple(one), -1)
        except TypeError:
            index = -1
        if index < 0:
            raise SpecError("observed", f"{one!r} is no database of the universe", "leave it out, or widen that")
        counts[index] += 1
        seen += 1
    if not counts.any():
        raise SpecError("observed", "are no databases", "give at least one, or smoothing")
    return Prior(counts / math.fsum(counts), f"{seen:,} observed databases")


def _databases(universe: Universe) -> list[tuple[Any, ...]]:
    if universe.kind != "databases":
        raise SpecError("universe", f"has {universe.kind}, no databases", "use pufferfish, with predicates")
    return [tuple(one) for one in universe.secrets]  # pyright: ignore[reportArgumentType]


def _codes(universe: Universe) -> NDArray[np.int64]:
    """The values of all databases by their index, `(n, records)`."""
    number = {value: index for index, value in enumerate(universe.values)}
    return np.array([[number[value] for value in one] for one in _databases(universe)])


def _written(universe: Universe) -> list[str]:
    return ["absent" if value is None else str(value) for value in universe.values]
