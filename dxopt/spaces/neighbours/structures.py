"""Graphs, streams, words and members of any universe that are neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from dxopt.errors import SpecError
from dxopt.spaces.neighbours.base import RELATIONS, Relation
from dxopt.spaces.neighbours.databases import replaced
from dxopt.spaces.universes import Universe


@RELATIONS.register("free_lunch")
@dataclass(frozen=True)
class FreeLunch(Relation):
    """Any two secrets are neighbours (Des20 Def 23)."""

    def steps(self, universe: Universe, secret: Hashable) -> Iterable[Hashable]:
        return universe.secrets


@RELATIONS.register("generic")
@dataclass(frozen=True)
class Generic(Relation):
    """Two secrets are neighbours where a function holds of them, both ways (Des20 Def 25).

    Parameters
    ----------
    holds : callable
        Of two secrets.
    """

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
    """Pairs of secrets that are written out, both ways (Des20 Def 25).

    Parameters
    ----------
    joined : iterable of pairs of secrets
    """

    joined: Iterable[tuple[Any, Any]]

    def steps(self, universe: Universe, secret: Hashable) -> Iterable[Hashable]:
        for pair in self.joined:
            for one in pair:
                if one not in universe.places:
                    raise SpecError("joined", f"has {one!r}, which is no secret", "write secrets of the universe")
        return [other for x, other in self.joined if x == secret]


@RELATIONS.register("listed_one_way")
@dataclass(frozen=True)
class ListedOneWay(Listed):
    """Pairs of secrets that are written out, from the first to the second (Des20 Def 25 made asymmetric)."""

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
    """All edges of one node are others; the set of nodes is known (Des20 §2.2.3)."""

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
    """One event of a stream is another (Des20 §2.2.3, event-level)."""

    kind: ClassVar[str] = "streams"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        return WEvent(1).steps(universe, secret)


@RELATIONS.register("user")
@dataclass(frozen=True)
class User(Relation):
    """All events of one user of a stream are others (Des20 §2.2.3, user-level)."""

    kind: ClassVar[str] = "streams"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        for user in range(len(secret[0])):
            for events in itertools.product(universe.values, repeat=len(secret)):
                pairs = zip(secret, events, strict=True)
                yield tuple(replaced(at_once, user, event) for at_once, event in pairs)


@RELATIONS.register("w_event")
@dataclass(frozen=True)
class WEvent(Relation):
    """Within a window of times, one event at each time is another (Des20 §2.2.3, w-event).

    Parameters
    ----------
    window : int
        w.
    """

    window: int
    kind: ClassVar[str] = "streams"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
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
    """One letter of a word is another: Hamming distance, infinite between lengths (Des20 §2.2.3)."""

    kind: ClassVar[str] = "words"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        for index in range(len(secret)):
            yield from (replaced(secret, index, letter) for letter in universe.values)


@RELATIONS.register("edit")
@dataclass(frozen=True)
class Edit(Relation):
    """One letter of a word is inserted, removed or another: Levenshtein distance (Des20 §2.2.3).

    On all words up to a length; among fewer, steps lead through these alone.
    """

    kind: ClassVar[str] = "words"

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        yield from Substitution().steps(universe, secret)
        yield from (secret[:index] + secret[index + 1 :] for index in range(len(secret)))
        for index in range(len(secret) + 1):
            yield from ((*secret[:index], letter, *secret[index:]) for letter in universe.values)
