"""Databases that are neighbours: by one record, by several, or around one."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dxopt.errors import SpecError
from dxopt.spaces.neighbours.base import RELATIONS, Relation
from dxopt.spaces.universes import Universe


class _OneRecord(Relation, ABC):
    """A step changes the value of one record into another, where `changes` allows."""

    kind: ClassVar[str] = "databases"

    @abstractmethod
    def changes(self, old: Any, new: Any) -> bool:
        """Return True if one step leads from a value to another."""

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        for record, old in enumerate(secret):
            for new in universe.values:
                if new != old and self.changes(old, new):
                    yield replaced(secret, record, new)


def replaced(secret: tuple, index: int, value: Any) -> tuple:
    """A tuple with another value at one index."""
    return (*secret[:index], value, *secret[index + 1 :])


@RELATIONS.register("bounded")
@dataclass(frozen=True)
class Bounded(_OneRecord):
    """One record has another value (Des20 Def 20)."""

    def changes(self, old: Any, new: Any) -> bool:
        return old is not None and new is not None


@RELATIONS.register("unbounded")
@dataclass(frozen=True)
class Unbounded(_OneRecord):
    """One record is added or removed: `d_r` (Des20 Def 20, CABP13 §3)."""

    def changes(self, old: Any, new: Any) -> bool:
        return (old is None) != (new is None)


@RELATIONS.register("both")
@dataclass(frozen=True)
class Both(_OneRecord):
    """One record is added, removed or changed: the Hamming graph, d_h (CABP13 §2; Des20 §2.2.3)."""

    def changes(self, old: Any, new: Any) -> bool:
        return True


@RELATIONS.register("attribute")
@dataclass(frozen=True)
class Attribute(_OneRecord):
    """One attribute of one record has another value; records are tuples of attributes (Des20 Def 20)."""

    def changes(self, old: Any, new: Any) -> bool:
        return old is not None and new is not None and _differing(old, new) == 1


@RELATIONS.register("bit")
@dataclass(frozen=True)
class Bit(_OneRecord):
    """One bit of one attribute of one record is flipped; attributes are whole numbers (Des20 Def 20)."""

    def changes(self, old: Any, new: Any) -> bool:
        if old is None or new is None:
            return False
        pairs = zip(_attributes(old), _attributes(new), strict=True)
        return sum((a ^ b).bit_count() for a, b in pairs) == 1


@RELATIONS.register("one_sided")
@dataclass(frozen=True)
class OneSided(_OneRecord):
    """One record with a sensitive value is replaced by any other; the converse is no step (Des20 Def 21).

    Parameters
    ----------
    sensitive : collection
        The values that the policy protects.
    """

    sensitive: Collection[Hashable]
    one_way: ClassVar[bool] = True

    def changes(self, old: Any, new: Any) -> bool:
        return old in self.sensitive and new is not None


@RELATIONS.register("blowfish")
@dataclass(frozen=True)
class Blowfish(_OneRecord):
    """One record has another value that the policy graph joins to its own (Des20 Def 26).

    The constraints on databases are those of the universe: `universe.where(predicate)`.

    Parameters
    ----------
    policy : collection of pairs
        Values that must not be distinguished, either way.
    """

    policy: Collection[tuple[Hashable, Hashable]]

    def changes(self, old: Any, new: Any) -> bool:
        return any((old, new) in ((a, b), (b, a)) for a, b in self.policy)


def _attributes(record: Any) -> tuple:
    return record if isinstance(record, tuple) else (record,)


def _differing(first: Any, second: Any) -> int:
    return sum(a != b for a, b in zip(_attributes(first), _attributes(second), strict=True))


@RELATIONS.register("group")
@dataclass(frozen=True)
class Group(Relation):
    """Up to `size` records are added, removed or changed: group privacy, DP under correlation (Des20 §2.2.3).

    Parameters
    ----------
    size : int
        1 is `both`.
    """

    size: int
    kind: ClassVar[str] = "databases"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        for records in itertools.combinations(range(len(secret)), min(self.size, len(secret))):
            yield from _rewritten(universe, secret, records)


@RELATIONS.register("dependent")
@dataclass(frozen=True)
class Dependent(Relation):
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


@RELATIONS.register("individual")
@dataclass(frozen=True)
class Individual(Relation):
    """One record of one given database is added, removed or changed (Des20 Def 24).

    Parameters
    ----------
    at : tuple
        The database that is there.
    """

    at: tuple
    kind: ClassVar[str] = "databases"

    def steps(self, universe: Universe, secret: tuple) -> Iterable[Hashable]:
        return Both().steps(universe, secret) if secret == tuple(self.at) else ()


def _same_records(first: tuple, second: tuple) -> bool:
    return all((a is None) == (b is None) for a, b in zip(first, second, strict=True))


def _rewritten(universe: Universe, secret: tuple, records: tuple[int, ...]) -> Iterator[tuple]:
    """A database with any values in some records."""
    for values in itertools.product(universe.values, repeat=len(records)):
        changed = list(secret)
        for record, value in zip(records, values, strict=True):
            changed[record] = value
        yield tuple(changed)
