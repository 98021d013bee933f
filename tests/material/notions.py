"""The notions of Des20 §2.2.3 that are a relation, or a distance, of their own, with distances by hand."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dxopt as dx


def levenshtein(first: tuple, second: tuple) -> int:
    above = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        row = [i]
        for j, b in enumerate(second, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]


FAR = math.inf


@dataclass(frozen=True)
class Notion:
    """Secrets, the space that a notion makes of them, and distances from one secret to others, by hand."""

    universe: dx.Universe
    make: Callable[[dx.Universe], dx.MetricSpace]
    expected: dict[tuple[Any, Any], float]
    symmetric: bool = True


def generic(holds: Callable[[Any, Any], bool], relation: str = "generic") -> Callable[[dx.Universe], dx.MetricSpace]:
    return lambda universe: dx.neighbours(universe, relation, holds=holds)


def named(relation: str, **parameters: Any) -> Callable[[dx.Universe], dx.MetricSpace]:
    return lambda universe: dx.neighbours(universe, relation, **parameters)


def given(distance: Callable[[Any, Any], float]) -> Callable[[dx.Universe], dx.MetricSpace]:
    return lambda one: dx.MetricSpace.from_distances([[distance(x, z) for z in one.secrets] for x in one.secrets])


def changed(x: tuple, other: tuple) -> list[int]:
    """Where two tuples differ."""
    return [place for place, (a, b) in enumerate(zip(x, other, strict=True)) if a != b]


def apart(x: tuple, other: tuple) -> float:
    return sum(abs(a - b) for a, b in zip(x, other, strict=True))


def within(limit: float, distance: Callable[[Any, Any], float]) -> Callable[[Any, Any], bool]:
    return lambda x, other: distance(x, other) <= limit


def one_element(x: tuple, other: tuple) -> bool:
    """All that one user has of one element is left out: 0 is nothing."""
    return any(
        other == tuple(tuple(0 if (u, e) == (user, element) else e for u, e in enumerate(now)) for now in x)
        for user in range(len(x[0]))
        for element in (1, 2)
    )


def sensitive(x: tuple, other: tuple) -> bool:
    """One record is replaced that has another within 1 of it."""
    return any(
        changed(x, other) == [place] and any(abs(x[place] - x[i]) <= 1 for i in range(len(x)) if i != place)
        for place in range(len(x))
    )


def but_the_outlier(x: tuple, other: tuple) -> bool:
    return len(changed(x, other)) == 1 and not any(9 in (x[place], other[place]) for place in changed(x, other))


def users(stream: tuple) -> int:
    """How many users were somewhere: "" is nowhere."""
    return sum(any(now[user] for now in stream) for user in range(len(stream[0])))


def whereabouts(stream: tuple) -> list[list[str]]:
    """Where somebody was, time by time."""
    return [sorted(filter(None, now)) for now in stream]


def one_or_two(x: tuple, other: tuple) -> bool:
    return {users(x), users(other)} == {1, 2}


def two_jumps(x: frozenset, other: frozenset) -> bool:
    """All edges that differ have an end at one node or at a friend of it."""
    edges = x | other
    reach = [{node, *itertools.chain(*(edge for edge in edges if node in edge))} for node in range(4)]
    return any(all(set(edge) & near for edge in x ^ other) for near in reach)


def in_view(x: frozenset, other: frozenset) -> bool:
    """One edge differs, and node 0 sees it: it has an end at node 0 or at a friend of it, in either graph."""
    near = {0, *itertools.chain(*(edge for edge in x | other if 0 in edge))}
    return len(x ^ other) == 1 and all(set(edge) & near for edge in x ^ other)


def influenced(size: int) -> Callable[[Any, Any], bool]:
    """One individual changes, and with it up to so many records in all, itself among them."""

    def holds(x: tuple, other: tuple) -> bool:
        return any(
            individual in kept and set(changed(x, other)) <= set(kept)
            for individual in range(len(x))
            for kept in itertools.combinations(range(len(x)), min(size, len(x)))
        )

    return holds


def turned(image: tuple) -> tuple:
    """Four pixels in a circle, a quarter further."""
    return (*image[1:], image[0])


def near(limit: float) -> list[tuple[Any, Any]]:
    """A policy: the places of `MAP` that are less than so far apart."""
    return [(a, b) for a, b in itertools.combinations(MAP, 2) if math.dist(a, b) < limit]


def one_phenotype(x: tuple, other: tuple) -> bool:
    """Everyone has the same genotype in both, and one person another phenotype: records are (genotype, phenotype)."""
    return len(changed(x, other)) == 1 and all(a[0] == b[0] for a, b in zip(x, other, strict=True))


def phenotype(genome: tuple) -> tuple[bool, bool]:
    """What shows: the first trait if either of two genes is there, the second with the third gene."""
    return bool(genome[0] or genome[1]), bool(genome[2])


def similar_items(x: tuple, other: tuple) -> bool:
    """One user's ratings of items at 0, 1 and 5 on a line differ, all within 1 of one item."""
    if len(changed(x, other)) != 1:
        return False
    (user,) = changed(x, other)
    places = [(0, 1, 5)[item] for item in changed(x[user], other[user])]
    return any(all(abs(place - item) <= 1 for place in places) for item in (0, 1, 5))


def nothing_between(allowed: dx.Universe) -> Callable[[Any, Any], bool]:
    """No third database that is allowed has each record from one of the two."""
    return lambda x, other: (
        not any(
            third not in (x, other) and all(c in (a, b) for a, b, c in zip(x, other, third, strict=True))  # pyright: ignore
            for third in allowed.secrets
        )
    )


def without(graph: tuple, node: int) -> tuple:
    """A graph, as a pair of nodes and edges, that a node has left with all its edges."""
    nodes, edges = graph
    return {*nodes} - {node}, {edge for edge in edges if node not in edge}


EMPTY = frozenset()
MAP = ((0, 0), (0, 3), (4, 0), (9, 9))
"""Places in the plane; only the first is less than 4.5 from the second and from the third."""
FRIENDS = dx.Universe.databases(
    (
        (nodes, frozenset(edges))
        for size in range(4)
        for nodes in itertools.combinations(range(3), size)
        for count in range(4)
        for edges in itertools.combinations(itertools.combinations(nodes, 2), count)
    ),
    1,
)
"""Graphs of which the nodes may differ, as pairs of nodes and edges."""
NOBODY, ALONE, PAIR = ((), EMPTY), ((0,), EMPTY), ((0, 1), frozenset({(0, 1)}))
TRIANGLE = ((0, 1, 2), frozenset({(0, 1), (0, 2), (1, 2)}))
ORDERS = dx.Universe.databases((0, 1, 2, 3), 4).where(lambda database: len({*database}) == 4)
BITS2, BITS3, BITS4 = (dx.Universe.databases((0, 1), records) for records in (2, 3, 4))
TWO, THREE = (dx.Universe.databases((0, 1, 2), records) for records in (2, 3))
GRAPHS = dx.Universe.graphs(4)
VISITS = dx.Universe.streams((0, 1, 2), 2)
PLACES = dx.Universe.streams(("", "a", "b"), 2, users=2)
CROWD = dx.Universe.streams(("", "a"), 2, users=3)
LINKS = dx.Universe.databases(((), (0,), (1,), (0, 1)), 2)
WEIGHTS = dx.Universe.databases((0.0, 0.25, 0.5), 3)
RATINGS = dx.Universe.databases(itertools.product((0, 1), repeat=3), 2)
OUTLIER = dx.Universe.databases((0, 1, 9), 3).where(lambda database: database.count(9) == 1)
HALF = BITS4.where(lambda database: sum(database) == 2)
FIXED = THREE.where(lambda database: sum(database) in (2, 4))
WORDS = dx.Universe.words("ab", 4, shortest=0)
AT_A, A_AND_B, SPLIT = (("a", ""), ("", "")), (("a", ""), ("b", "")), (("a", ""), ("", "b"))

NOTIONS = {
    "element level": Notion(
        VISITS,
        generic(one_element),
        {
            (((1,), (1,)), ((0,), (0,))): 1,
            (((1,), (1,)), ((1,), (0,))): 2,
            (((1,), (2,)), ((0,), (0,))): 2,
            (((1,), (1,)), ((2,), (2,))): 2,
        },
    ),
    "sensitive": Notion(
        dx.Universe.databases((0, 1, 5), 3),
        generic(sensitive, "generic_one_way"),
        {
            ((0, 0, 5), (0, 1, 5)): 1,
            ((0, 0, 0), (0, 0, 5)): 1,
            ((0, 0, 5), (0, 0, 0)): FAR,
            ((5, 0, 5), (0, 0, 5)): 1,
        },
        symmetric=False,
    ),
    "anomaly-restricted": Notion(
        OUTLIER,
        generic(but_the_outlier),
        {((0, 1, 9), (1, 1, 9)): 1, ((0, 1, 9), (1, 0, 9)): 2, ((0, 0, 9), (0, 9, 0)): FAR},
    ),
    "individual, one record": Notion(
        TWO,
        generic(lambda x, other: (1, 1) in (x, other) and changed(x, other) == [0]),
        {((1, 1), (0, 1)): 1, ((0, 1), (2, 1)): 2, ((1, 1), (1, 0)): FAR},
    ),
    "location": Notion(
        dx.Universe.databases([(0, 0), (0, 1), (0, 2), (9, 9)], 1),
        named("blowfish", policy=[((0, 0), (0, 1)), ((0, 1), (0, 2))]),
        {(((0, 0),), ((0, 1),)): 1, (((0, 0),), ((0, 2),)): 2, (((0, 0),), ((9, 9),)): FAR},
    ),
    "location, of one of two records": Notion(
        dx.Universe.databases(MAP, 2),
        named("blowfish", policy=near(4.5)),
        {
            (((0, 0), (9, 9)), ((0, 3), (9, 9))): 1,
            (((0, 3), (9, 9)), ((4, 0), (9, 9))): 2,
            (((0, 0), (0, 0)), ((0, 3), (4, 0))): 2,
            (((0, 0), (9, 9)), ((0, 0), (0, 0))): FAR,
        },
    ),
    "untrackability": Notion(
        PLACES,
        generic(lambda x, other: one_or_two(x, other) and whereabouts(x) == whereabouts(other)),
        {(A_AND_B, SPLIT): 1, (A_AND_B, tuple(now[::-1] for now in A_AND_B)): 2, (AT_A, A_AND_B): FAR},
    ),
    "undetectability": Notion(
        PLACES, generic(one_or_two), {(A_AND_B, SPLIT): 1, (AT_A, SPLIT): 1, (AT_A, A_AND_B): 2}
    ),
    "multi-user untrackability": Notion(
        CROWD,
        generic(lambda x, other: users(x) != users(other) and whereabouts(x) == whereabouts(other)),
        {
            ((("a", "a", ""), ("a", "", "")), (("a", "a", ""), ("", "", "a"))): 1,
            ((("a", "a", ""), ("a", "", "")), (("a", "a", ""), ("", "", ""))): FAR,
        },
    ),
    "k-edge": Notion(
        GRAPHS,
        generic(within(2, lambda x, other: len(x ^ other))),
        {(EMPTY, frozenset({(0, 1), (2, 3)})): 1, (EMPTY, frozenset({(0, 1), (1, 2), (2, 3)})): 2},
    ),
    "k-edge, nodes as well": Notion(
        FRIENDS,
        generic(within(2, lambda x, other: sum(len({*a} ^ {*b}) for a, b in zip(x[0], other[0], strict=True)))),
        {
            ((NOBODY,), (ALONE,)): 1,
            ((ALONE,), (PAIR,)): 1,
            ((NOBODY,), (PAIR,)): 2,
            ((PAIR,), (TRIANGLE,)): 2,
            ((NOBODY,), (TRIANGLE,)): 3,
        },
    ),
    "node, who may be absent": Notion(
        FRIENDS,
        generic(lambda x, other: any(without(x[0], node) == without(other[0], node) for node in range(3))),
        {
            ((NOBODY,), (ALONE,)): 1,
            ((ALONE,), (PAIR,)): 1,
            ((PAIR,), (TRIANGLE,)): 1,
            ((NOBODY,), (TRIANGLE,)): 3,
            ((TRIANGLE,), (((0, 1, 2), EMPTY),)): 2,
        },
    ),
    "out-link": Notion(LINKS, named("bounded"), {(((0, 1), ()), ((), ())): 1, (((0, 1), (0,)), ((), ())): 2}),
    "edge-labelled": Notion(
        LINKS,
        generic(
            lambda x, other: (
                len(changed(x, other)) == 1 and all({*a} ^ {*b} <= {1} for a, b in zip(x, other, strict=True))
            )
        ),
        {(((0, 1), ()), ((0,), ())): 1, (((0, 1), ()), ((0,), (1,))): 2, (((0,), ()), ((), ())): FAR},
    ),
    "weighted": Notion(
        WEIGHTS,
        generic(lambda x, other: apart(x, other) < 1),
        {((0.0, 0.0, 0.0), (0.5, 0.25, 0.0)): 1, ((0.0, 0.0, 0.0), (0.5, 0.5, 0.0)): 2},
    ),
    "decentralised": Notion(
        GRAPHS,
        generic(two_jumps),
        {(EMPTY, frozenset({(0, 1), (1, 2), (2, 3)})): 1, (EMPTY, frozenset({(0, 1), (2, 3)})): 2},
    ),
    "decentralised, one view": Notion(
        GRAPHS,
        generic(in_view),
        {
            (EMPTY, frozenset({(0, 1)})): 1,
            (frozenset({(0, 1)}), frozenset({(0, 1), (1, 2)})): 1,
            (frozenset({(0, 1)}), frozenset({(0, 1), (2, 3)})): 3,
        },
    ),
    "protected": Notion(
        GRAPHS,
        generic(lambda x, other: any(all(node in edge for edge in x ^ other) for node in (0, 1))),
        {
            (EMPTY, frozenset({(0, 1), (0, 2), (0, 3)})): 1,
            (EMPTY, frozenset({(0, 2), (1, 3)})): 2,
            (EMPTY, frozenset({(2, 3)})): FAR,
        },
    ),
    "seamless": Notion(
        dx.Universe.databases(("friends of 0", "friends of 1", "edges"), 1),
        generic(lambda x, other: {*x, *other} == {"friends of 0", "friends of 1"}),
        {(("friends of 0",), ("friends of 1",)): 1, (("friends of 0",), ("edges",)): FAR},
    ),
    "discounted": Notion(
        BITS3,
        given(lambda x, other: sum(0.5**t for t in changed(x, other))),
        {((0, 0, 0), (1, 1, 0)): 1.5, ((0, 1, 0), (0, 1, 1)): 0.25, ((1, 1, 1), (0, 0, 0)): 1.75},
    ),
    "word": Notion(
        WORDS,
        generic(within(2, levenshtein)),
        {((), ("a", "b")): 1, ((), ("a", "b", "a")): 2, (("a", "b", "a", "b"), ("b", "a", "b", "a")): 1},
    ),
    "substitution-word": Notion(
        BITS4,
        generic(within(3, lambda x, other: len(changed(x, other)))),
        {((0, 0, 0, 0), (1, 1, 1, 0)): 1, ((0, 0, 0, 0), (1, 1, 1, 1)): 2},
    ),
    "refinement": Notion(
        BITS4,
        generic(lambda x, other: turned(x) == other),
        {((1, 0, 0, 0), (0, 1, 0, 0)): 1, ((1, 0, 0, 0), (0, 0, 1, 0)): 2, ((1, 0, 0, 0), (1, 1, 0, 0)): FAR},
    ),
    "pixel": Notion(
        THREE,
        generic(within(1, lambda x, other: max(abs(a - b) for a, b in zip(x, other, strict=True)))),
        {((0, 0, 0), (1, 1, 1)): 1, ((0, 0, 0), (2, 1, 0)): 2},
    ),
    "phenotypic": Notion(
        dx.Universe.databases([("aa", "well"), ("aa", "ill"), ("ab", "well"), ("ab", "ill")], 2),
        generic(one_phenotype),
        {
            ((("aa", "well"), ("ab", "ill")), (("aa", "ill"), ("ab", "ill"))): 1,
            ((("aa", "well"), ("ab", "ill")), (("aa", "ill"), ("ab", "well"))): 2,
            ((("aa", "well"), ("ab", "ill")), (("ab", "well"), ("ab", "ill"))): FAR,
        },
    ),
    "phenotypic, one genome": Notion(
        BITS3,
        generic(lambda x, other: len(changed(phenotype(x), phenotype(other))) == 1),
        {((0, 0, 0), (1, 1, 0)): 1, ((0, 0, 0), (1, 0, 1)): 2, ((1, 0, 0), (0, 1, 0)): 2},
    ),
    "distance-based": Notion(
        RATINGS,
        generic(similar_items),
        {
            (((1, 1, 0), (0, 0, 0)), ((0, 0, 0), (0, 0, 0))): 1,
            (((1, 0, 1), (0, 0, 0)), ((0, 0, 0), (0, 0, 0))): 2,
            (((1, 0, 0), (1, 0, 0)), ((0, 0, 0), (0, 0, 0))): 2,
        },
    ),
    "under a neighbourhood, adjacent": Notion(
        THREE, generic(within(2, apart)), {((0, 0, 0), (1, 1, 0)): 1, ((0, 0, 0), (2, 1, 0)): 2}
    ),
    "constrained": Notion(
        TWO,
        generic(within(1, lambda x, other: abs(sum(x) - sum(other)))),
        {((2, 0), (0, 2)): 1, ((0, 0), (1, 1)): 2, ((0, 0), (2, 2)): 4},
    ),
    "distributional": Notion(
        FIXED,
        generic(lambda x, other: apart(x, other) <= 2 and bool({*x} & {*other})),
        {((0, 0, 2), (0, 1, 1)): 1, ((0, 0, 2), (2, 0, 2)): 1, ((0, 0, 2), (1, 1, 0)): 2},
    ),
    "sensitivity-induced": Notion(
        TWO, generic(within(1, lambda x, other: abs(max(x) - max(other)))), {((0, 2), (1, 1)): 1, ((0, 2), (0, 0)): 2}
    ),
    "induced": Notion(
        HALF, generic(nothing_between(HALF)), {((1, 1, 0, 0), (1, 0, 1, 0)): 1, ((1, 1, 0, 0), (0, 0, 1, 1)): 2}
    ),
    "induced, by orders": Notion(
        ORDERS,
        generic(nothing_between(ORDERS)),
        {
            ((0, 1, 2, 3), (1, 0, 2, 3)): 1,
            ((0, 1, 2, 3), (1, 2, 0, 3)): 1,
            ((0, 1, 2, 3), (1, 0, 3, 2)): 2,
            ((0, 1, 2, 3), (1, 2, 3, 0)): 1,
        },
    ),
    "set operation": Notion(
        TWO,
        lambda universe: dx.product(*[dx.neighbours(dx.Universe.databases((0, 1, 2), 1), "bounded")] * 2),
        {((0, 0), (0, 2)): 1, ((0, 0), (2, 2)): 2},
    ),
    "under correlation": Notion(
        BITS3, generic(influenced(2)), {((0, 0, 0), (1, 1, 0)): 1, ((0, 0, 0), (1, 1, 1)): 2}
    ),
    "correlated": Notion(
        BITS3,
        named("dependent", related=[[1], [0], []], size=2),
        {((0, 0, 0), (1, 1, 0)): 1, ((0, 0, 0), (1, 0, 1)): 2},
    ),
}
