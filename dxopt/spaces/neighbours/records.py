"""Databases that differ in one record."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from dxopt.spaces.neighbours.contract import RELATIONS, Relation
from dxopt.spaces.universes import Universe


class _OneRecord(ABC):
    """A step changes the value of one record into another, where `changes` allows."""

    kind: ClassVar[str] = "databases"
    one_way: ClassVar[bool] = False

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


def _two_records(absent: bool = False) -> Universe:
    return Universe.databases(range(3), 2, absent=absent)


@RELATIONS.register("bounded")
@dataclass(frozen=True)
class Bounded(_OneRecord):
    """One record has another value (Des20 Def 20)."""

    def changes(self, old: Any, new: Any) -> bool:
        return old is not None and new is not None

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(_two_records(), Bounded()), (_two_records(absent=True), Bounded())]


@RELATIONS.register("unbounded")
@dataclass(frozen=True)
class Unbounded(_OneRecord):
    """One record is added or removed: `d_r` (Des20 Def 20, CABP13 §3)."""

    def changes(self, old: Any, new: Any) -> bool:
        return (old is None) != (new is None)

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(_two_records(absent=True), Unbounded())]


@RELATIONS.register("both")
@dataclass(frozen=True)
class Both(_OneRecord):
    """One record is added, removed or changed: the Hamming graph, d_h (CABP13 §2; Des20 §2.2.3)."""

    def changes(self, old: Any, new: Any) -> bool:
        return True

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(_two_records(absent=True), Both())]


@RELATIONS.register("attribute")
@dataclass(frozen=True)
class Attribute(_OneRecord):
    """One attribute of one record has another value; records are tuples of attributes (Des20 Def 20)."""

    def changes(self, old: Any, new: Any) -> bool:
        return old is not None and new is not None and _differing(old, new) == 1

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        records = itertools.product(range(2), range(3))
        return [(Universe.databases(records, 2), Attribute())]


@RELATIONS.register("bit")
@dataclass(frozen=True)
class Bit(_OneRecord):
    """One bit of one attribute of one record is flipped; attributes are whole numbers (Des20 Def 20)."""

    def changes(self, old: Any, new: Any) -> bool:
        if old is None or new is None:
            return False
        pairs = zip(_attributes(old), _attributes(new), strict=True)
        return sum((a ^ b).bit_count() for a, b in pairs) == 1

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.databases(range(4), 2), Bit())]


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

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(_two_records(), OneSided((2,)))]


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

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(_two_records().where(lambda x: sum(x) < 4), Blowfish(((0, 1), (1, 2))))]


def _attributes(record: Any) -> tuple:
    return record if isinstance(record, tuple) else (record,)


def _differing(first: Any, second: Any) -> int:
    return sum(a != b for a, b in zip(_attributes(first), _attributes(second), strict=True))
