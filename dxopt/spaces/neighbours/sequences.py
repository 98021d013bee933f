"""Streams and words that are neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from dxopt.spaces.neighbours.contract import RELATIONS, Relation
from dxopt.spaces.neighbours.records import replaced
from dxopt.spaces.universes import Universe


@RELATIONS.register("event")
@dataclass(frozen=True)
class Event:
    """One event of a stream is another (Des20 §2.2.3, event-level)."""

    kind: ClassVar[str] = "streams"
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        return WEvent(1).steps(universe, secret)

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.streams(range(2), 3), Event())]


@RELATIONS.register("user")
@dataclass(frozen=True)
class User:
    """All events of one user of a stream are others (Des20 §2.2.3, user-level)."""

    kind: ClassVar[str] = "streams"
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        for user in range(len(secret[0])):
            for events in itertools.product(universe.values, repeat=len(secret)):
                pairs = zip(secret, events, strict=True)
                yield tuple(replaced(at_once, user, event) for at_once, event in pairs)

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.streams(range(2), 2, users=2), User())]


@RELATIONS.register("w_event")
@dataclass(frozen=True)
class WEvent:
    """Within a window of times, one event at each time is another (Des20 §2.2.3, w-event).

    Parameters
    ----------
    window : int
        w.
    """

    window: int
    kind: ClassVar[str] = "streams"
    one_way: ClassVar[bool] = False

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

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.streams(range(2), 3), WEvent(2))]


@RELATIONS.register("substitution")
@dataclass(frozen=True)
class Substitution:
    """One letter of a word is another: Hamming distance, infinite between lengths (Des20 §2.2.3)."""

    kind: ClassVar[str] = "words"
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        for index in range(len(secret)):
            yield from (replaced(secret, index, letter) for letter in universe.values)

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.words("ab", 3, shortest=2), Substitution())]


@RELATIONS.register("edit")
@dataclass(frozen=True)
class Edit:
    """One letter of a word is inserted, removed or another: Levenshtein distance (Des20 §2.2.3).

    On all words up to a length; among fewer, steps lead through these alone.
    """

    kind: ClassVar[str] = "words"
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: tuple) -> Iterator[Hashable]:
        yield from Substitution().steps(universe, secret)
        yield from (secret[:index] + secret[index + 1 :] for index in range(len(secret)))
        for index in range(len(secret) + 1):
            yield from ((*secret[:index], letter, *secret[index:]) for letter in universe.values)

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.words("ab", 3, shortest=0), Edit())]
