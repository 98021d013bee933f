"""Neighbours in any universe."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from dxopt.errors import SpecError
from dxopt.spaces.neighbours.contract import RELATIONS, Relation
from dxopt.spaces.universes import Universe


@RELATIONS.register("free_lunch")
@dataclass(frozen=True)
class FreeLunch:
    """Any two secrets are neighbours (Des20 Def 23)."""

    kind: ClassVar[str] = ""
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: Hashable) -> Iterable[Hashable]:
        return universe.secrets

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.databases(range(3), 2), FreeLunch()), (Universe.graphs(3), FreeLunch())]


@RELATIONS.register("generic")
@dataclass(frozen=True)
class Generic:
    """Two secrets are neighbours where a function holds of them, both ways (Des20 Def 25).

    Parameters
    ----------
    holds : callable
        Of two secrets.
    """

    holds: Callable[[Any, Any], bool]
    kind: ClassVar[str] = ""
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: Hashable) -> Iterable[Hashable]:
        return (other for other in universe.secrets if self.holds(secret, other))

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.databases(range(3), 2), Generic(lambda x, other: abs(sum(x) - sum(other)) <= 1))]


@RELATIONS.register("generic_one_way")
@dataclass(frozen=True)
class GenericOneWay(Generic):
    """Two secrets are neighbours where a function holds, from the first to the second (Des20 Def 25, one way)."""

    one_way: ClassVar[bool] = True

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.databases(range(3), 2), GenericOneWay(lambda x, other: sum(x) == sum(other) + 1))]


@RELATIONS.register("listed")
@dataclass(frozen=True)
class Listed:
    """Pairs of secrets that are written out, both ways (Des20 Def 25).

    Parameters
    ----------
    joined : iterable of pairs of secrets
    """

    joined: Iterable[tuple[Any, Any]]
    kind: ClassVar[str] = ""
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: Hashable) -> Iterable[Hashable]:
        for pair in self.joined:
            for one in pair:
                if one not in universe.places:
                    raise SpecError("joined", f"has {one!r}, which is no secret", "write secrets of the universe")
        return [other for x, other in self.joined if x == secret]

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.databases(range(2), 2), Listed([((0, 0), (0, 1)), ((0, 1), (1, 1))]))]


@RELATIONS.register("listed_one_way")
@dataclass(frozen=True)
class ListedOneWay(Listed):
    """Pairs of secrets that are written out, from the first to the second (Des20 Def 25 made asymmetric)."""

    one_way: ClassVar[bool] = True

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.databases(range(2), 2), ListedOneWay([((0, 0), (0, 1)), ((1, 1), (0, 1))]))]
