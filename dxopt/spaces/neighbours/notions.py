"""Predicates of the relations that Des20 §2.2.3 lists and that have no name of their own, for `dx.neighbours`.

Each function returns a predicate of two secrets: `dx.neighbours(universe, "generic", holds=dx.notions.k_edges(2))`.
Databases are tuples of records, graphs sets of edges, streams tuples of what users did at each time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any

from dxopt.errors import SpecError, required
from dxopt.numerics.coerce import NONNEGATIVE, as_list, as_number, checked_count
from dxopt.spaces.universes import Universe, required_universe

__all__ = [
    "anomaly_restricted",
    "decentralised",
    "distance_based",
    "edge_labelled",
    "element_level",
    "individual_record",
    "induced",
    "k_edges",
    "multi_user_untrackability",
    "phenotypic",
    "protected",
    "query_within",
    "refinement",
    "sensitive",
    "substitutions_within",
    "undetectability",
    "untrackability",
    "weighted",
    "within",
    "words_within",
]

Predicate = Callable[[Any, Any], bool]


def within(limit: float, distance: Callable[[Any, Any], float]) -> Predicate:
    """Relate secrets whose distance is at most a limit ("adjacent", "under a neighbourhood").

    Examples
    --------
    >>> import dxopt as dx
    >>> near = dx.notions.within(1, lambda x, other: max(abs(a - b) for a, b in zip(x, other)))
    >>> print(near((0, 3), (1, 2)), near((0, 3), (2, 3)))  # pixels
    True False
    """
    _require_function("distance", distance)
    most = _as_limit(limit)
    return lambda x, other: distance(x, other) <= most


def weighted(limit: float) -> Predicate:
    """Relate weighted graphs or vectors whose weights differ by less than a limit in all.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.notions.weighted(1)((0.0, 0.5), (0.25, 0.0)), dx.notions.weighted(1)((0.0, 0.5), (0.5, 0.0)))
    True False
    """
    most = _as_limit(limit)
    return lambda x, other: sum(abs(a - b) for a, b in zip(x, other, strict=True)) < most


def query_within(query: Callable[[Any], float], limit: float) -> Predicate:
    """Relate secrets whose answers to a query differ by at most a limit ("sensitivity-induced", "constrained").

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.notions.query_within(max, 1)((0, 2), (1, 1)), dx.notions.query_within(max, 1)((0, 2), (0, 0)))
    True False
    """
    _require_function("query", query)
    most = _as_limit(limit)
    return lambda x, other: abs(query(x) - query(other)) <= most


def substitutions_within(most: int) -> Predicate:
    """Relate tuples that differ in at most so many places ("substitution-word", "group", "under correlation").

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.notions.substitutions_within(2)("abba", "baba"), dx.notions.substitutions_within(2)("abba", "baab"))
    True False
    """
    most = checked_count("most", most)
    return lambda x, other: len(_changed(x, other)) <= most


def words_within(most: int) -> Predicate:
    """Relate words of at most so many insertions, deletions and substitutions apart ("word", after Levenshtein).

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.notions.words_within(2)("kitten", "sitting"), dx.notions.words_within(3)("kitten", "sitting"))
    False True
    """
    most = checked_count("most", most)
    return lambda x, other: _edits(x, other) <= most


def element_level(nothing: Any = 0) -> Predicate:
    """Relate streams of which one is the other without all that one user has of one element ("element-level").

    Examples
    --------
    >>> import dxopt as dx
    >>> never = dx.notions.element_level()
    >>> print(never(((1, 2), (1, 1)), ((0, 2), (0, 1))), never(((1, 2), (1, 1)), ((0, 2), (1, 1))))
    True False
    """

    def without(stream: Sequence[Sequence[Any]], user: int, element: Any) -> tuple[tuple[Any, ...], ...]:
        return tuple(tuple(nothing if (u, e) == (user, element) else e for u, e in enumerate(now)) for now in stream)

    def holds(x: Any, other: Any) -> bool:
        cases = {(user, element) for now in x for user, element in enumerate(now) if element != nothing}
        return any(tuple(map(tuple, other)) == without(x, *case) for case in cases)

    return holds


def sensitive(is_sensitive: Callable[[Any, int], bool]) -> Predicate:
    """Relate one way databases of which one record, sensitive in the first, is replaced ("sensitive").

    Parameters
    ----------
    is_sensitive : callable
        Given a database and the place of a record. Take the relation "generic_one_way".

    Examples
    --------
    >>> import dxopt as dx
    >>> crowded = dx.notions.sensitive(lambda x, i: any(abs(x[i] - one) <= 1 for j, one in enumerate(x) if j != i))
    >>> print(crowded((0, 0, 5), (0, 1, 5)), crowded((0, 0, 5), (0, 0, 0)))
    True False
    """
    _require_function("is_sensitive", is_sensitive)
    return lambda x, other: any(is_sensitive(x, place) for place in _only(_changed(x, other)))


def anomaly_restricted(is_outlier: Callable[[Any], bool]) -> Predicate:
    """Relate databases that differ in one record, which is no outlier in either ("anomaly-restricted").

    Examples
    --------
    >>> import dxopt as dx
    >>> but_nine = dx.notions.anomaly_restricted(lambda record: record == 9)
    >>> print(but_nine((0, 9), (1, 9)), but_nine((0, 9), (0, 1)))
    True False
    """
    _require_function("is_outlier", is_outlier)
    return lambda x, other: any(
        not is_outlier(x[place]) and not is_outlier(other[place]) for place in _only(_changed(x, other))
    )


def individual_record(database: Sequence[Any], record: int) -> Predicate:
    """Relate one database with those that differ from it in one given record ("individual", of one record).

    Examples
    --------
    >>> import dxopt as dx
    >>> mine = dx.notions.individual_record((1, 1), 0)
    >>> print(mine((1, 1), (0, 1)), mine((1, 1), (1, 0)), mine((0, 1), (2, 1)))
    True False False
    """
    real = tuple(as_list(database, "database", "give a tuple of records"))
    record = checked_count("record", record, 0, len(real) - 1)
    return lambda x, other: real in (tuple(x), tuple(other)) and _changed(x, other) == [record]


def untrackability(nowhere: Any = "") -> Predicate:
    """Relate streams with one user and with two who were, together, at the same places ("untrackability").

    Examples
    --------
    >>> import dxopt as dx
    >>> one, two = (("a", ""), ("b", "")), (("a", ""), ("", "b"))
    >>> print(dx.notions.untrackability()(one, two))
    True
    """
    several = multi_user_untrackability(nowhere)
    return lambda x, other: {_users(x, nowhere), _users(other, nowhere)} == {1, 2} and several(x, other)


def multi_user_untrackability(nowhere: Any = "") -> Predicate:
    """Relate streams with other numbers of users who were, together, at the same places.

    Examples
    --------
    >>> import dxopt as dx
    >>> two, three = (("a", "a", ""), ("a", "", "")), (("a", "a", ""), ("", "", "a"))
    >>> print(dx.notions.multi_user_untrackability()(two, three))
    True
    """

    def visited(stream: Sequence[Sequence[Any]]) -> list[list[Any]]:
        return [sorted((place for place in now if place != nowhere), key=repr) for now in stream]

    return lambda x, other: _users(x, nowhere) != _users(other, nowhere) and visited(x) == visited(other)


def undetectability(nowhere: Any = "") -> Predicate:
    """Relate streams with one user and with two, wherever they were ("undetectability", read as Des20 puts it).

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.notions.undetectability()((("a", ""),), (("a", "b"),)))
    True
    """
    return lambda x, other: {_users(x, nowhere), _users(other, nowhere)} == {1, 2}


def k_edges(most: int) -> Predicate:
    """Relate graphs that differ in at most so many edges ("k-edge").

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.notions.k_edges(2)(frozenset(), frozenset({(0, 1), (2, 3)})))
    True
    """
    most = checked_count("most", most)
    return lambda x, other: len(x ^ other) <= most


def protected(nodes: Iterable[int]) -> Predicate:
    """Relate graphs that differ in edges of one protected node alone ("protected").

    Examples
    --------
    >>> import dxopt as dx
    >>> some = dx.notions.protected([0, 1])
    >>> print(some(frozenset(), frozenset({(0, 2), (0, 3)})), some(frozenset(), frozenset({(2, 3)})))
    True False
    """
    some = tuple(as_list(nodes, "nodes", "give the protected nodes"))
    return lambda x, other: any(all(node in edge for edge in x ^ other) for node in some)


def decentralised(view: int | None = None) -> Predicate:
    """Relate graphs whose edges that differ are within two jumps of one node ("decentralised").

    Parameters
    ----------
    view : int, optional
        A node: then one edge differs, and it has an end at this node or at a friend of it, in either graph.

    Examples
    --------
    >>> import dxopt as dx
    >>> far = frozenset({(0, 1), (2, 3)})
    >>> print(dx.notions.decentralised()(frozenset(), far), dx.notions.decentralised(0)(far, far - {(2, 3)}))
    False False
    """

    if view is not None:
        view = checked_count("view", view, 0)

    def near(node: int, edges: Collection[tuple[int, int]]) -> set[int]:
        return {node, *itertools.chain(*(edge for edge in edges if node in edge))}

    def holds(x: Collection[Any], other: Collection[Any]) -> bool:
        edges, differ = {*x} | {*other}, {*x} ^ {*other}
        if view is not None:
            return len(differ) == 1 and all({*edge} & near(view, edges) for edge in differ)
        return any(all({*edge} & near(node, edges) for edge in differ) for node in {*itertools.chain(*edges)})

    return holds


def edge_labelled(labels: Collection[Hashable]) -> Predicate:
    """Relate databases of sets of links of which one record differs, in links of protected labels alone.

    Examples
    --------
    >>> import dxopt as dx
    >>> print(dx.notions.edge_labelled({1})(((0, 1), ()), ((0,), ())), dx.notions.edge_labelled({1})(((0,),), ((),)))
    True False
    """
    try:
        some = {*as_list(labels, "labels", "give the protected labels")}
    except TypeError:
        raise SpecError("labels", "cannot all be told apart", "give texts, numbers or tuples") from None
    return lambda x, other: any({*x[place]} ^ {*other[place]} <= some for place in _only(_changed(x, other)))


def refinement(transformation: Callable[[Any], Any]) -> Predicate:
    """Relate a secret with its image under a transformation ("refinement").

    Examples
    --------
    >>> import dxopt as dx
    >>> turned = dx.notions.refinement(lambda image: (*image[1:], image[0]))
    >>> print(turned((1, 0, 0), (0, 0, 1)), turned((1, 0, 0), (1, 1, 0)))
    True False
    """
    _require_function("transformation", transformation)
    return lambda x, other: transformation(x) == other


def phenotypic(phenotype: Callable[[Any], Any], genotype: Callable[[Any], Any]) -> Predicate:
    """Relate databases of which one person has another phenotype, and everybody the same genotype ("phenotypic").

    Examples
    --------
    >>> import dxopt as dx
    >>> ill = dx.notions.phenotypic(lambda one: one[1], lambda one: one[0])
    >>> print(ill((("aa", "well"),), (("aa", "ill"),)), ill((("aa", "well"),), (("ab", "ill"),)))
    True False
    """

    _require_function("phenotype", phenotype)
    _require_function("genotype", genotype)

    def holds(x: Any, other: Any) -> bool:
        same = all(genotype(a) == genotype(b) for a, b in zip(x, other, strict=True))
        return same and sum(phenotype(a) != phenotype(b) for a, b in zip(x, other, strict=True)) == 1

    return holds


def distance_based(distance: Callable[[int, int], float], limit: float) -> Predicate:
    """Relate databases of ratings of which one user's differ, for items all within a limit of some item.

    Parameters
    ----------
    distance : callable
        Given the places of two items in a record.
    limit : float

    Examples
    --------
    >>> import dxopt as dx
    >>> similar = dx.notions.distance_based(lambda i, j: abs((0, 1, 5)[i] - (0, 1, 5)[j]), 1)
    >>> print(similar(((1, 1, 0),), ((0, 0, 0),)), similar(((1, 0, 1),), ((0, 0, 0),)))
    True False
    """

    _require_function("distance", distance)
    most = _as_limit(limit)

    def holds(x: Any, other: Any) -> bool:
        return any(
            all(distance(item, similar) <= most for similar in _changed(x[user], other[user]))
            for user in _only(_changed(x, other))
            for item in range(len(x[user]))
        )

    return holds


def induced(universe: Universe) -> Predicate:
    """Relate databases between which no third of the universe is: none has each record from one of the two.

    Raises
    ------
    SpecError
        If it is no universe.

    Examples
    --------
    >>> import dxopt as dx
    >>> half = dx.Universe.databases([0, 1], 4).where(lambda database: sum(database) == 2)
    >>> beside = dx.notions.induced(half)
    >>> print(beside((1, 1, 0, 0), (1, 0, 1, 0)), beside((1, 1, 0, 0), (0, 0, 1, 1)))
    True False
    """
    required_universe(universe)

    def between(third: Any, x: Any, other: Any) -> bool:
        return third not in (x, other) and all(c in (a, b) for a, b, c in zip(x, other, third, strict=True))

    return lambda x, other: not any(between(third, x, other) for third in universe.secrets)


def _require_function(field: str, given: Any) -> None:
    required(field, given, Callable, "give a function")


def _as_limit(limit: Any) -> float:
    return as_number(limit, "limit", *NONNEGATIVE)


def _changed(x: Sequence[Any], other: Sequence[Any]) -> list[int]:
    """Return the places where two tuples of one length differ."""
    return [place for place, (a, b) in enumerate(zip(x, other, strict=True)) if a != b]


def _only(places: list[int]) -> list[int]:
    """Return the one place, or none where there are several."""
    return places if len(places) == 1 else []


def _users(stream: Sequence[Sequence[Any]], nowhere: Any) -> int:
    """Return how many users were somewhere."""
    return sum(any(place != nowhere for place in user) for user in zip(*stream, strict=True))


def _edits(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Return the edit distance of two words, row by row of the table of their beginnings."""
    above = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        row = [i]
        for j, b in enumerate(second, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
        above = row
    return above[-1]
