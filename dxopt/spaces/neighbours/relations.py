"""Relations of neighbours by name: between databases, graphs, streams, words, and secrets of any kind."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from dxopt.errors import SpecError
from dxopt.numerics.coerce import short_repr
from dxopt.spaces.neighbours.base import RELATIONS, Relation, require_known
from dxopt.spaces.universes import Universe


@dataclass(frozen=True)
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
    """Return a copy of a tuple with another value at one index."""
    return (*secret[:index], value, *secret[index + 1 :])


@RELATIONS.register("bounded")
class Bounded(_OneRecord):
    """One record has another value (Des20 Def 20)."""

    def changes(self, old: Any, new: Any) -> bool:
        return old is not None and new is not None


@RELATIONS.register("unbounded")
class Unbounded(_OneRecord):
    """One record is added or removed: `d_r` (Des20 Def 20, CABP13 §3)."""

    def changes(self, old: Any, new: Any) -> bool:
        return (old is None) != (new is None)


@RELATIONS.register("both")
class Both(_OneRecord):
    """One record is added, removed or changed: the Hamming graph, d_h (CABP13 §2; Des20 §2.2.3)."""

    def changes(self, old: Any, new: Any) -> bool:
        return True


@RELATIONS.register("attribute")
class Attribute(_OneRecord):
    """One attribute of one record has another value; records are tuples of attributes (Des20 Def 20)."""

    def changes(self, old: Any, new: Any) -> bool:
        if old is None or new is None:
            return False
        attributes = (record if isinstance(record, tuple) else (record,) for record in (old, new))
        return sum(self.apart(a, b) for a, b in zip(*attributes, strict=True)) == 1

    def apart(self, old: Any, new: Any) -> int:
        """Count in how many parts two values of an attribute differ."""
        return old != new


@RELATIONS.register("bit")
class Bit(Attribute):
    """One bit of one attribute of one record is flipped; attributes are whole numbers (Des20 Def 20)."""

    def apart(self, old: int, new: int) -> int:
        return (old ^ new).bit_count()


@RELATIONS.register("one_sided")
@dataclass(frozen=True)
class OneSided(_OneRecord):
    """One record with a sensitive value is replaced by any other; the converse is no step (Des20 Def 21)."""

    sensitive: Collection[Hashable]
    one_way: ClassVar[bool] = True

    def check(self, universe: Universe) -> None:
        require_known("sensitive", self.sensitive, universe.values)

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

    def check(self, universe: Universe) -> None:
        require_known("policy", self.policy, universe.values, pairs=True)

    def changes(self, old: Any, new: Any) -> bool:
        return any((old, new) in ((a, b), (b, a)) for a, b in self.policy)


@RELATIONS.register("group")
@dataclass(frozen=True)
class Group(Relation):
    """Up to `size` records are added, removed or changed: group privacy, DP under correlation (Des20 §2.2.3)."""

    size: int
    kind: ClassVar[str] = "databases"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        """Yield the neighbours of a database, each once: some of its records have other values."""
        others = [[value for value in universe.values if value != old] for old in secret]
        for number in range(1, min(self.size, len(secret)) + 1):
            for records in itertools.combinations(range(len(secret)), number):
                for values in itertools.product(*(others[record] for record in records)):
                    changed = list(secret)
                    for record, value in zip(records, values, strict=True):
                        changed[record] = value
                    yield tuple(changed)


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
        """Yield the neighbours of a database: each record changes with up to `size` - 1 of those related to it."""
        known = range(len(secret))
        listed = itertools.chain.from_iterable(self.related)
        if len(self.related) != len(secret) or any(record not in known for record in listed):
            wrong = f"is not about {len(secret)} records"
            raise SpecError("related", wrong, "give the positions for each, from 0 on")
        for record, dependent in enumerate(self.related):
            others = [other for other in dependent if other != record]
            for more in itertools.combinations(others, min(self.size - 1, len(others))):
                for other in _rewritten(universe, secret, (record, *more)):
                    pairs = zip(secret, other, strict=True)
                    if other[record] != secret[record] and all((a is None) == (b is None) for a, b in pairs):
                        yield other


@RELATIONS.register("individual")
@dataclass(frozen=True)
class Individual(Relation):
    """One record of the database `at` is added, removed or changed (Des20 Def 24)."""

    at: tuple
    kind: ClassVar[str] = "databases"

    def check(self, universe: Universe) -> None:
        require_known("at", self.at, universe.values)
        if tuple(self.at) not in universe.places:
            raise SpecError("at", f"is {short_repr(self.at)}, which is no secret", "give a database of the universe")

    def steps(self, universe: Universe, secret: tuple) -> Iterable[Hashable]:
        return Both().steps(universe, secret) if secret == tuple(self.at) else ()


def _rewritten(universe: Universe, secret: tuple, records: tuple[int, ...]) -> Iterator[tuple]:
    """Yield a database with all combinations of values in some records, its own among them."""
    for values in itertools.product(universe.values, repeat=len(records)):
        changed = dict(enumerate(secret)) | dict(zip(records, values, strict=True))
        yield tuple(changed.values())


@RELATIONS.register("free_lunch")
@dataclass(frozen=True)
class FreeLunch(Relation):
    """Any two secrets are neighbours (Des20 Def 23)."""

    def steps(self, universe: Universe, secret: Hashable) -> Iterable[Hashable]:
        return universe.secrets


@RELATIONS.register("generic")
@dataclass(frozen=True)
class Generic(Relation):
    """Two secrets are neighbours where a function of both holds, both ways (Des20 Def 25)."""

    holds: Callable[[Any, Any], bool]

    def steps(self, universe: Universe, secret: Hashable) -> Iterable[Hashable]:
        return (other for other in universe.secrets if self.holds(secret, other))


@RELATIONS.register("generic_one_way")
@dataclass(frozen=True)
class GenericOneWay(Generic):
    """Two secrets are neighbours where a function holds, from the first to the second (Des20 Def 25, one way)."""

    one_way: ClassVar[bool] = True


@RELATIONS.register("listed")
@dataclass(frozen=True)
class Listed(Relation):
    """Two secrets are neighbours where they are a pair in a list, both ways (Des20 Def 25)."""

    joined: Collection[tuple[Any, Any]]

    def check(self, universe: Universe) -> None:
        require_known("joined", self.joined, universe.places, "is no secret", pairs=True)

    def steps(self, universe: Universe, secret: Hashable) -> Iterable[Hashable]:
        return [other for x, other in self.joined if x == secret]


@RELATIONS.register("listed_one_way")
@dataclass(frozen=True)
class ListedOneWay(Listed):
    """A step leads from the first to the second secret of each pair in a list (Des20 Def 25 made asymmetric)."""

    one_way: ClassVar[bool] = True


@RELATIONS.register("edge")
@dataclass(frozen=True)
class Edge(Relation):
    """One edge of a graph is added or removed (Des20 §2.2.3)."""

    kind: ClassVar[str] = "graphs"

    def steps(self, universe: Universe, secret: frozenset) -> Iterator[Hashable]:
        return (secret ^ {pair} for pair in itertools.combinations(universe.values, 2))


@RELATIONS.register("node")
@dataclass(frozen=True)
class Node(Relation):
    """The edges of one node are replaced by any others; the set of nodes is known (Des20 §2.2.3)."""

    kind: ClassVar[str] = "graphs"

    def steps(self, universe: Universe, secret: frozenset) -> Iterator[Hashable]:
        for node in universe.values:
            pairs = [pair for pair in itertools.combinations(universe.values, 2) if node in pair]
            rest = secret - set(pairs)
            for count in range(len(pairs) + 1):
                for chosen in itertools.combinations(pairs, count):
                    yield rest | set(chosen)


@RELATIONS.register("event")
@dataclass(frozen=True)
class Event(Relation):
    """One event of a stream is replaced by another (Des20 §2.2.3, event-level)."""

    kind: ClassVar[str] = "streams"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        return WEvent(1).steps(universe, secret)


@RELATIONS.register("user")
@dataclass(frozen=True)
class User(Relation):
    """The events of one user of a stream are replaced by any others (Des20 §2.2.3, user-level)."""

    kind: ClassVar[str] = "streams"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        """Yield a stream with all sequences of events in place of those of one user; among them itself."""
        for user in range(len(secret[0])):
            for events in itertools.product(universe.values, repeat=len(secret)):
                pairs = zip(secret, events, strict=True)
                yield tuple(replaced(at_once, user, event) for at_once, event in pairs)


@RELATIONS.register("w_event")
@dataclass(frozen=True)
class WEvent(Relation):
    """Within a window of w times, one event at each time is replaced by another (Des20 §2.2.3, w-event)."""

    window: int
    kind: ClassVar[str] = "streams"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        """Yield the neighbours of a stream, window by window, some several times; among them itself."""
        width = min(self.window, len(secret))
        for start in range(len(secret) - width + 1):
            window = secret[start : start + width]
            choices = [
                [replaced(events, user, value) for user in range(len(events)) for value in universe.values]
                for events in window
            ]
            for events in itertools.product(*choices):
                yield (*secret[:start], *events, *secret[start + width :])


@RELATIONS.register("substitution")
@dataclass(frozen=True)
class Substitution(Relation):
    """One letter of a word is replaced: Hamming distance, infinite between words of two lengths (Des20 §2.2.3)."""

    kind: ClassVar[str] = "words"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        for index in range(len(secret)):
            yield from (replaced(secret, index, letter) for letter in universe.values)


@RELATIONS.register("edit")
@dataclass(frozen=True)
class Edit(Relation):
    """One letter of a word is inserted, removed or replaced: Levenshtein distance (Des20 §2.2.3).

    That is the distance on all words up to a length. A universe of fewer words may have larger distances, as steps
    lead through its words only.
    """

    kind: ClassVar[str] = "words"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        yield from Substitution().steps(universe, secret)
        yield from (secret[:index] + secret[index + 1 :] for index in range(len(secret)))
        for index in range(len(secret) + 1):
            yield from ((*secret[:index], letter, *secret[index:]) for letter in universe.values)
