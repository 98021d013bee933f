"""Graphs that are neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from dxopt.spaces.neighbours.contract import RELATIONS, Relation
from dxopt.spaces.universes import Universe


@RELATIONS.register("edge")
@dataclass(frozen=True)
class Edge:
    """One edge of a graph is added or removed (Des20 §2.2.3)."""

    kind: ClassVar[str] = "graphs"
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: frozenset) -> Iterator[Hashable]:
        return (secret ^ {pair} for pair in itertools.combinations(universe.values, 2))

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.graphs(3), Edge())]


@RELATIONS.register("node")
@dataclass(frozen=True)
class Node:
    """All edges of one node are others; the set of nodes is known (Des20 §2.2.3)."""

    kind: ClassVar[str] = "graphs"
    one_way: ClassVar[bool] = False

    def steps(self, universe: Universe, secret: frozenset) -> Iterator[Hashable]:
        for node in universe.values:
            pairs = [pair for pair in itertools.combinations(universe.values, 2) if node in pair]
            rest = secret - set(pairs)
            for count in range(len(pairs) + 1):
                for chosen in itertools.combinations(pairs, count):
                    yield rest | set(chosen)

    @staticmethod
    def examples() -> list[tuple[Universe, Relation]]:
        return [(Universe.graphs(4), Node())]
