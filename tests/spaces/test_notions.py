"""Predicates of the relations of Des20, beside those that tests write by hand, on every pair of a universe."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

import dxopt as dx
from tests.material import notions as by_hand

ITEMS = (0, 1, 5)


def _crowded(x: tuple, place: int) -> bool:
    return any(abs(x[place] - other) <= 1 for i, other in enumerate(x) if i != place)


CASES: dict[str, tuple[dx.Universe, Callable[[Any, Any], bool], Callable[[Any, Any], bool]]] = {
    "element level": (by_hand.VISITS, dx.notions.element_level(), by_hand.one_element),
    "sensitive": (dx.Universe.databases((0, 1, 5), 3), dx.notions.sensitive(_crowded), by_hand.sensitive),
    "anomaly-restricted": (
        by_hand.OUTLIER, dx.notions.anomaly_restricted(lambda one: one == 9), by_hand.but_the_outlier
    ),
    "individual": (
        by_hand.TWO,
        dx.notions.individual_record((1, 1), 0),
        lambda x, other: (1, 1) in (x, other) and by_hand.changed(x, other) == [0],
    ),
    "untrackability": (
        by_hand.PLACES,
        dx.notions.untrackability(),
        lambda x, other: by_hand.one_or_two(x, other) and by_hand.whereabouts(x) == by_hand.whereabouts(other),
    ),
    "undetectability": (by_hand.PLACES, dx.notions.undetectability(), by_hand.one_or_two),
    "multi-user": (
        by_hand.CROWD,
        dx.notions.multi_user_untrackability(),
        lambda x, other: (
            by_hand.users(x) != by_hand.users(other) and by_hand.whereabouts(x) == by_hand.whereabouts(other)
        ),
    ),
    "k-edge": (by_hand.GRAPHS, dx.notions.k_edges(2), lambda x, other: len((x | other) - (x & other)) <= 2),
    "two jumps": (by_hand.GRAPHS, dx.notions.decentralised(), by_hand.two_jumps),
    "one view": (by_hand.GRAPHS, dx.notions.decentralised(0), by_hand.in_view),
    "protected": (
        by_hand.GRAPHS,
        dx.notions.protected((0, 1)),
        lambda x, other: any(all(node in edge for edge in x ^ other) for node in (0, 1)),
    ),
    "edge-labelled": (
        by_hand.LINKS,
        dx.notions.edge_labelled({1}),
        lambda x, other: (
            len(by_hand.changed(x, other)) == 1
            and all({*a} ^ {*b} <= {1} for a, b in zip(x, other, strict=True))
        ),
    ),
    "weighted": (by_hand.WEIGHTS, dx.notions.weighted(1), lambda x, other: by_hand.apart(x, other) < 1),
    "word": (by_hand.WORDS, dx.notions.words_within(2), lambda x, other: by_hand.levenshtein(x, other) <= 2),
    "substitution-word": (by_hand.BITS4, dx.notions.substitutions_within(3), by_hand.influenced(3)),
    "refinement": (
        by_hand.BITS4,
        dx.notions.refinement(lambda one: (*one[1:], one[0])),
        lambda x, other: by_hand.turned(x) == other,
    ),
    "pixel": (
        by_hand.THREE,
        dx.notions.within(1, lambda x, other: max(abs(a - b) for a, b in zip(x, other, strict=True))),
        lambda x, other: all(abs(a - b) <= 1 for a, b in zip(x, other, strict=True)),
    ),
    "phenotypic": (
        dx.Universe.databases([*itertools.product(("aa", "ab"), ("well", "ill"))], 2),
        dx.notions.phenotypic(lambda one: one[1], lambda one: one[0]),
        by_hand.one_phenotype,
    ),
    "distance-based": (
        by_hand.RATINGS, dx.notions.distance_based(lambda i, j: abs(ITEMS[i] - ITEMS[j]), 1), by_hand.similar_items
    ),
    "constrained": (
        by_hand.TWO, dx.notions.query_within(sum, 1), lambda x, other: -1 <= sum(x) - sum(other) <= 1
    ),
    "induced": (by_hand.HALF, dx.notions.induced(by_hand.HALF), by_hand.nothing_between(by_hand.HALF)),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_predicate_is_the_one_by_hand(name: str) -> None:
    universe, made, expected = CASES[name]
    held = 0
    for x, other in itertools.permutations(universe.secrets, 2):
        assert made(x, other) == expected(x, other), (x, other)
        held += made(x, other)
    assert 0 < held < len(universe.secrets) * (len(universe.secrets) - 1)
    # a space is made of it, with distance 1 exactly where it holds
    one_way = name in ("sensitive", "refinement", "element level")
    space = dx.neighbours(universe, "generic_one_way" if name == "sensitive" else "generic", holds=made)
    for (i, x), (j, other) in itertools.permutations(list(enumerate(universe.secrets))[:40], 2):
        near = made(x, other) or (one_way and name != "sensitive" and made(other, x))
        assert (space.distances[i, j] == 1) == near


def test_every_notion_has_a_case() -> None:
    assert len(CASES) == len(dx.notions.__all__) + 1  # two readings of "decentralised"
    with pytest.raises(dx.SpecError):
        dx.notions.induced("x")  # pyright: ignore[reportArgumentType]
