"""Databases that differ in several records, or around one of them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from dxopt.errors import SpecError
from dxopt.spaces.neighbours.contract import RELATIONS, Relation
from dxopt.spaces.neighbours.records import Both
from dxopt.spaces.universes import Universe


@RELATIONS.register("group")
@dataclass(frozen=True)
class Group:
    """Up to `size` records are added, removed or changed: group privacy, DP under correlation (Des20 §2.2.3).

    Parameters
    ----------
    size : int
        1 is `both`.
    """

    size: int
    kind: ClassVar[str] = "databases"
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        for records in itertools.combinations(range(len(secret)), min(self.size, len(secret))):
            yield from _rewritten(universe, secret, records)

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.databases(range(2), 3), Group(2))]


@RELATIONS.register("dependent")
@dataclass(frozen=True)
class Dependent:
    """One record changes, and with it others that depend on it; `size` at most in all (Des20 Def 22).

    Who is there stays known: values change into values, and an absent record stays absent.

    Parameters
    ----------
    related : sequence of collections
        For each record the indices of those that depend on it.
    size : int
        1 is `bounded`, as where no record depends on another.
    """

    related: Sequence[Collection[int]]
    size: int
    kind: ClassVar[str] = "databases"
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        known = range(len(secret))
        listed = itertools.chain.from_iterable(self.related)
        if len(self.related) != len(secret) or any(record not in known for record in listed):
            raise SpecError(
                "related", f"is not about {len(secret)} records", "give the positions for each, from 0 on"
            )
        for record, dependent in enumerate(self.related):
            others = [other for other in dependent if other != record]
            for more in itertools.combinations(others, min(self.size - 1, len(others))):
                for other in _rewritten(universe, secret, (record, *more)):
                    if other[record] != secret[record] and _same_records(secret, other):
                        yield other

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.databases(range(2), 3), Dependent(((1,), (2,), ()), 2))]


@RELATIONS.register("individual")
@dataclass(frozen=True)
class Individual:
    """One record of one given database is added, removed or changed (Des20 Def 24).

    Parameters
    ----------
    at : tuple
        The database that is there.
    """

    at: tuple
    kind: ClassVar[str] = "databases"
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: tuple) -> Iterable[Hashable]:
        return Both().steps(universe, secret) if secret == tuple(self.at) else ()

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.databases(range(3), 2), Individual((0, 1)))]


def _same_records(first: tuple, second: tuple) -> bool:
    return all((a is None) == (b is None) for a, b in zip(first, second, strict=True))


def _rewritten(universe: Universe, secret: tuple, records: tuple[int, ...]) -> Iterator[tuple]:
    """A database with any values in some records."""
    for values in itertools.product(universe.values, repeat=len(records)):
        changed = list(secret)
        for record, value in zip(records, values, strict=True):
            changed[record] = value
        yield tuple(changed)
