"""The hiding functions and neighbourhoods of CABP13 §2, §5.1 and §6: what an adversary is compared with.

A hiding function is an array `(n,)`: the index of the secret that replaces each secret. A neighbourhood is an array
of the indices of its members. They are made one by one, as there are |V|^|V| substitutions of values.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator

import numpy as np
from numpy.typing import NDArray

from dxopt.errors import SpecError
from dxopt.spaces.universes import Universe

Indices = NDArray[np.int64]
Change = Callable[[Hashable], Hashable]


def fixed_values(universe: Universe) -> Iterator[Indices]:
    """Φ_h: one record's value is replaced by a fixed one (CABP13 §2)."""
    for record in range(_records(universe)):
        for value in universe.values:
            yield _hidden(universe, {record: lambda old, value=value: value})


def substitutions(universe: Universe) -> Iterator[Indices]:
    """Φ_1: one record's value is substituted in any way (CABP13 §5.1)."""
    for record in range(_records(universe)):
        for change in _changes(universe):
            yield _hidden(universe, {record: change})


def substitutions_everywhere(universe: Universe) -> Iterator[Indices]:
    """Φ_∞: every record's value is substituted, each in a way of its own (CABP13 §6.1)."""
    changes = list(_changes(universe))
    for chosen in itertools.product(changes, repeat=_records(universe)):
        yield _hidden(universe, dict(enumerate(chosen)))


def swaps(size: int) -> Iterator[Indices]:
    """Yield the functions that swap two secrets and keep all others: a part of Φ_2, all functions (CABP13 §6.2)."""
    for first, second in itertools.combinations(range(size), 2):
        hiding = np.arange(size)
        hiding[[first, second]] = second, first
        yield hiding


def one_record(universe: Universe) -> Iterator[Indices]:
    """𝒩_h: all records but one are known (CABP13 §2)."""
    yield from _known_but_one(universe, [universe.values])


def one_record_within(universe: Universe) -> Iterator[Indices]:
    """𝒩_1: all records but one are known, and of that one some values that it may have (CABP13 §5.1)."""
    yield from _known_but_one(universe, list(_subsets(universe)))


def boxes(universe: Universe) -> Iterator[Indices]:
    """𝒩_∞: of each record some values that it may have are known (CABP13 §6.1)."""
    for sides in itertools.product(list(_subsets(universe)), repeat=_records(universe)):
        yield _members(universe, itertools.product(*sides))


def pairs(size: int) -> Iterator[Indices]:
    """Yield the sets with two members: a part of 𝒩_2, all sets of secrets (CABP13 §6.2)."""
    for members in itertools.combinations(range(size), 2):
        yield np.array(members)


def _records(universe: Universe) -> int:
    """Return the number of records of a database; SpecError where the secrets are no databases."""
    if universe.kind != "databases":
        raise SpecError("universe", f"is of {universe.kind}, without records", "give databases")
    return len(universe.secrets[0])  # pyright: ignore[reportArgumentType]


def _changes(universe: Universe) -> Iterator[Change]:
    """Yield every function from the values of a record to these values."""
    for images in itertools.product(universe.values, repeat=len(universe.values)):
        yield dict(zip(universe.values, images, strict=True)).__getitem__


def _hidden(universe: Universe, changes: dict[int, Change]) -> Indices:
    """Return the hiding function that changes some records; a secret whose change is outside the universe stays."""
    found = []
    for index, secret in enumerate(universe.secrets):
        changed = list(secret)  # pyright: ignore[reportArgumentType]
        for record, change in changes.items():
            changed[record] = change(changed[record])
        found.append(universe.places.get(tuple(changed), index))
    return np.array(found)


def _subsets(universe: Universe) -> Iterator[tuple[Hashable, ...]]:
    """Yield every set of values but the empty one."""
    for size in range(1, len(universe.values) + 1):
        yield from itertools.combinations(universe.values, size)


def _known_but_one(universe: Universe, sides: list[tuple[Hashable, ...]]) -> Iterator[Indices]:
    """Yield the sets of databases that agree outside one record, whose value is in one of the `sides`; none empty."""
    for record in range(_records(universe)):
        # all that can be known of the other records, in the order of the universe
        rests = dict.fromkeys((secret[:record], secret[record + 1 :]) for secret in universe.secrets)  # pyright: ignore
        for (before, after), side in itertools.product(rests, sides):
            members = _members(universe, ((*before, value, *after) for value in side))
            if len(members):
                yield members


def _members(universe: Universe, secrets: Iterator[tuple]) -> Indices:
    """Return the indices of those secrets that are in the universe."""
    return np.array([universe.places[secret] for secret in secrets if secret in universe.places], dtype=np.int64)
