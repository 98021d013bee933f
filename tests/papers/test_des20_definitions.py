"""Des20 §2.2.3, single notions: every pair of secrets, drawn dependence, beliefs and mechanisms, and what follows."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.judges.oracle_beliefs import best_for_beliefs, given
from tests.material.notions import BITS2, BITS3, BITS4, CROWD, FRIENDS, GRAPHS, LINKS, MAP, THREE, TWO, changed, near

ABSENT = dx.Universe.databases((0, 1, 2), 2, absent=True)


def assert_level(space: dx.MetricSpace, pairs: np.ndarray, seed: int = 0) -> None:
    """The neighbours are those of the pairs, and the level of a drawn mechanism is its largest ratio on them."""
    assert pairs.any()
    assert np.array_equal(space.distances == 1, pairs)
    rows, (x, other) = np.random.default_rng(seed).dirichlet(np.full(3, 4.0), len(space)), np.nonzero(pairs)
    found = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, rows, dx.Reports(tuple("abc"))))
    assert found == pytest.approx(np.log(rows[x] / rows[other]).max(), rel=1e-12)


def test_twice_the_level_of_unbounded_is_needed() -> None:
    """Des20 after Def 20: to change is to delete and add, and a mechanism may lose ε by each."""
    one = dx.Universe.databases((0, 1), 1, absent=True)
    way: Any = {(0,): 0, (None,): 1, (1,): 2}
    for epsilon in (0.3, 1.0, 2.0):
        matrix = dx.classic.geometric(dx.line(3), epsilon=epsilon).matrix[[way[secret] for secret in one.secrets]]
        unbounded, bounded = (
            dx.evaluate.smallest_epsilon(
                dx.Mechanism.from_matrix(dx.neighbours(one, name), matrix, dx.Reports(tuple("abc")))
            )
            for name in ("unbounded", "bounded")
        )
        assert unbounded == pytest.approx(epsilon, rel=1e-9)
        assert bounded == pytest.approx(2 * epsilon, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_private_in_the_original_sense_is_private_in_both(seed: int) -> None:
    """Des20 after Def 20: the level of the original is the larger of the bounded and the unbounded one."""
    rows = np.random.default_rng(seed).dirichlet(np.full(3, 4.0), len(ABSENT))
    reports = dx.Reports(tuple("abc"))
    levels = {
        name: dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(dx.neighbours(ABSENT, name), rows, reports))
        for name in ("both", "bounded", "unbounded")
    }
    assert levels["both"] == pytest.approx(max(levels["bounded"], levels["unbounded"]), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_what_users_randomise_is_as_private_as_the_least_private_of_them(seed: int) -> None:
    """Des20 §2.2.3, local: each of three users randomises their own record, in a way of their own."""
    own = np.random.default_rng(seed).dirichlet(np.full(3, 2.0), (3, 3))
    collected = np.kron(np.kron(own[0], own[1]), own[2])
    level = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(dx.neighbours(THREE, "bounded"), collected))
    assert level == pytest.approx(max(np.log(a / b).max() for user in own for a in user for b in user), rel=1e-9)


@pytest.mark.parametrize("clusters", [(0, 1, 2), (0, 1, 1, 3)], ids=["deduplicated", "clustered"])
def test_one_element_of_one_of_two_users(clusters: tuple[int, ...]) -> None:
    """Des20 §2.2.3, element-level: what differs is all that one user has of one element, there in one of the two."""
    visits = dx.Universe.streams(range(len(clusters)), 2, users=2)
    never = dx.notions.element_level()

    def left_out(x: Any, other: Any) -> bool:
        cells = [(user, now[user], then[user]) for now, then in zip(x, other, strict=True) for user in (0, 1)]
        differ = [(clusters[a], b, user) for user, a, b in cells if a != b]
        if len({(a, user) for a, _, user in differ}) != 1 or any(b for _, b, _ in differ):
            return False
        ((element, user),) = {(a, user) for a, _, user in differ}
        return element != 0 and element not in [clusters[now[user]] for now in other]

    def clustered(x: Any, other: Any) -> bool:
        kept = all(b in (0, a) for now, then in zip(x, other, strict=True) for a, b in zip(now, then, strict=True))
        return kept and never(*([[clusters[one] for one in now] for now in stream] for stream in (x, other)))

    expected = np.array([[left_out(x, other) for other in visits.secrets] for x in visits.secrets])
    space = dx.neighbours(visits, "generic", holds=never if clusters == (0, 1, 2) else clustered)
    assert_level(space, expected | expected.T)


@pytest.mark.parametrize("sensitive", [some for k in (1, 2, 3) for some in itertools.combinations((0, 1, 2), k)])
def test_definition_21(sensitive: tuple[int, ...]) -> None:
    """One-sided, for every policy: a sensitive record is replaced by any other, one way; whoever is absent stays."""
    for seed, universe in enumerate((THREE, ABSENT)):
        databases: Any = universe.secrets
        steps = [[(x, z, changed(x, z)) for z in databases] for x in databases]
        expected = [
            [len(at) == 1 and x[at[0]] in sensitive and z[at[0]] is not None for x, z, at in row] for row in steps
        ]
        assert_level(dx.neighbours(universe, "one_sided", sensitive=sensitive), np.array(expected), seed)


@pytest.mark.parametrize("universe", [THREE, ABSENT], ids=["present", "absent"])
def test_one_sided_where_all_is_sensitive(universe: dx.Universe) -> None:
    """Des20 after Def 21: is bounded, whoever is absent; where less is sensitive it is not."""
    bounded = dx.neighbours(universe, "bounded").distances
    assert np.array_equal(dx.neighbours(universe, "one_sided", sensitive=(0, 1, 2)).distances, bounded)
    assert not np.array_equal(dx.neighbours(universe, "one_sided", sensitive=(0, 1)).distances, bounded)


def test_the_outlier_is_not_protected() -> None:
    """Des20 §2.2.3, anomaly-restricted: of databases with one outlier, 8 or 9, all stay near but those of another."""
    universe = dx.Universe.databases((0, 1, 8, 9), 3).where(lambda database: sum(one > 5 for one in database) == 1)
    space = dx.neighbours(universe, "generic", holds=dx.notions.anomaly_restricted(lambda one: one > 5))
    outliers = [[(place, one) for place, one in enumerate(x) if one > 5] for x in universe.secrets]  # pyright: ignore
    apart = np.array([[len(changed(x, other)) for other in universe.secrets] for x in universe.secrets])  # pyright: ignore
    same = np.array([[one == other for other in outliers] for one in outliers])
    assert np.array_equal(space.distances, np.where(same, apart, np.inf))
    assert (~same & (apart == 1)).any()


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_definition_22(seed: int, size: int) -> None:
    """One record changes, and at most k - 1 of those that depend on it by a drawn relation: every pair."""
    universe = (THREE, BITS4)[seed % 2]
    records = len(universe.secrets[0])  # pyright: ignore[reportArgumentType]
    drawn = np.random.default_rng(seed).random((records, records)) < 0.4
    related = [np.flatnonzero(row).tolist() for row in drawn]

    def dependent(x: Any, other: Any) -> bool:
        differ = {*changed(x, other)}
        return 0 < len(differ) <= size and any(differ - {one} <= {*related[one]} for one in differ)

    expected = np.array([[dependent(x, other) for other in universe.secrets] for x in universe.secrets])
    assert_level(dx.neighbours(universe, "dependent", related=related, size=size), expected, seed)


def conditionals(universe: dx.Universe, belief: list[Fraction], known: int) -> list[tuple[list[float], list[float]]]:
    """The belief given each two values of a record and up to so many records of others, both ways."""
    databases: Any = universe.secrets
    records, found = range(len(databases[0])), []
    for person, others in (
        (p, o) for p in records for k in range(known + 1) for o in itertools.combinations(records, k)
    ):
        for theirs in itertools.product(universe.values, repeat=len(others)) if person not in others else ():
            held = [all(d[i] == value for i, value in zip(others, theirs, strict=True)) for d in databases]
            for values in itertools.permutations(universe.values, 2):
                sides = [
                    given(belief, [d[person] == value and there for d, there in zip(databases, held, strict=True)])
                    for value in values
                ]
                if None not in sides and sides[0] != sides[1]:
                    found.append(tuple([float(p) for p in side or []] for side in sides))
    return found


def rounded(first: Any, second: Any) -> set[tuple[tuple[float, ...], ...]]:
    return {tuple(tuple(np.round(side, 12)) for side in pair) for pair in zip(first, second, strict=True)}


@pytest.mark.parametrize("universe", [BITS3, TWO], ids=["three bits", "two of three values"])
@pytest.mark.parametrize("seed", range(3))
def test_bayesian_correlated_and_prior_privacy_of_drawn_beliefs(universe: dx.Universe, seed: int) -> None:
    """Des20 after Def 22: the pairs of one belief, of what was observed elsewhere, of a family; and the optimum."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (2, len(universe)))
    beliefs = [[Fraction(int(count), int(row.sum())) for count in row] for row in counts]
    family = [np.array([float(p) for p in belief]) for belief in beliefs]
    observed = [universe.secrets[place] for place, count in enumerate(counts[0]) for _ in range(count)]
    everybody = len(universe.secrets[0])  # pyright: ignore[reportArgumentType]
    for known in range(everybody):
        expected = [rounded(*zip(*conditionals(universe, belief, known), strict=True)) for belief in beliefs]
        bayesian = dx.BeliefPairs.bayesian(universe, family[0], known=known)
        correlated = dx.BeliefPairs.correlated(universe, observed, known=known)
        prior = dx.BeliefPairs.bayesian(universe, family, known=known)
        assert rounded(bayesian.first, bayesian.second) == expected[0] == rounded(correlated.first, correlated.second)
        assert rounded(prior.first, prior.second) == expected[0] | expected[1]
    space = universe.space()
    for several in (beliefs[:1], beliefs):
        pairs = [pair for belief in several for pair in conditionals(universe, belief, 0)]
        first, second = (np.array(side) for side in zip(*pairs, strict=True))
        least = best_for_beliefs(space.distances, family[0], first, second, [0.6] * len(pairs))
        made = dx.BeliefPairs.bayesian(universe, family[: len(several)], known=0).at(0.6)
        problem = dx.Problem(space, epsilon=None, beliefs=made, prior=family[0], loss="distance")
        assert dx.solve(problem).certificate.value == pytest.approx(least, abs=1e-7)


@pytest.mark.parametrize("epsilon", [0.2, 0.8, 2.0])
@pytest.mark.parametrize("universe", [BITS2, TWO, BITS4], ids=len)
def test_free_lunch_is_hardly_better_than_a_blind_guess(universe: dx.Universe, epsilon: float) -> None:
    """Des20 before Def 23: nobody is right e^ε times as often, or loses e^ε times less, than by one fixed answer."""
    space, size = dx.neighbours(universe, "free_lunch"), len(universe)
    uniform = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="binary")
    assert dx.solve(uniform).certificate.value == pytest.approx((size - 1) / (size - 1 + math.exp(epsilon)), abs=1e-7)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        weights, losses = rng.dirichlet(np.full(size, 3.0)), rng.random((size, 3))
        prior = dx.Prior.from_weights(space, weights)
        right = 1 - dx.solve(uniform.but(prior=prior)).certificate.value
        assert weights.max() - 1e-7 <= right <= math.exp(epsilon) * weights.max() + 1e-7
        least, blind = dx.solve(uniform.but(prior=prior, loss=losses)).certificate.value, (weights @ losses).min()
        assert math.exp(-epsilon) * blind - 1e-7 <= least <= blind + 1e-7


@pytest.mark.parametrize("limit", [4, 5, 11])
def test_one_record_at_a_distance_below_the_threshold(limit: float) -> None:
    """Des20 §2.2.3, location: every pair of databases of two places; a distance of just the threshold is no step."""
    universe = dx.Universe.databases(MAP, 2)
    space = dx.neighbours(universe, "blowfish", policy=near(limit))
    databases: Any = universe.secrets
    steps = [[[(a, b) for a, b in zip(x, z, strict=True) if a != b] for z in databases] for x in databases]
    expected = [[len(step) == 1 and math.dist(*step[0]) < limit for step in row] for row in steps]
    assert_level(space, np.array(expected))
    tie = any(len(step) == 1 and math.dist(*step[0]) == limit for row in steps for step in row)
    assert tie is (limit != 11)


def test_all_outgoing_edges_of_one_node() -> None:
    """Des20 §2.2.3, out-link: the edges that differ all go out of one node; every pair of graphs of two nodes."""
    graphs = [{(node, end) for node, ends in enumerate(x) for end in ends} for x in LINKS.secrets]  # pyright: ignore
    expected = [[len({node for node, _ in one ^ other}) == 1 for other in graphs] for one in graphs]
    assert_level(dx.neighbours(LINKS, "bounded"), np.array(expected))


def test_one_user_or_two_and_not_three() -> None:
    """Des20 §2.2.3, untrackability: every pair of streams of up to three users, whose places are the same in all."""
    users = [sum(map(any, zip(*stream, strict=True))) for stream in CROWD.secrets]  # pyright: ignore
    places = [Counter((t, a) for t, now in enumerate(stream) for a in now if a) for stream in CROWD.secrets]  # pyright: ignore
    alike = np.array([[one == other for other in places] for one in places])
    one_or_two = np.array([[{one, other} == {1, 2} for other in users] for one in users])
    space = dx.neighbours(CROWD, "generic", holds=dx.notions.untrackability())
    assert np.array_equal(space.distances == 1, alike & one_or_two)
    assert (alike & (np.not_equal.outer(users, users)) & ~one_or_two).any()


@pytest.mark.parametrize("given_weights", [(0.25, 0.5, 0.5), (0.125, 0.375, 0.875), (1.0, 0.5, 0.25)])
def test_the_weight_of_the_edges_that_differ(given_weights: tuple[float, ...]) -> None:
    """Des20 §2.2.3, weighted: graphs with edges of given weights, some of which together weigh exactly 1."""
    weights = dict(zip(((0, 1), (0, 2), (1, 2)), given_weights, strict=True))
    graphs: Any = dx.Universe.graphs(3)
    below = dx.notions.weighted(1)
    space = dx.neighbours(
        graphs,
        "generic",
        holds=lambda *both: below(*([weights[edge] * (edge in graph) for edge in weights] for graph in both)),
    )
    weight = np.array(
        [[sum(weights[edge] for edge in x ^ other) for other in graphs.secrets] for x in graphs.secrets]
    )
    assert np.array_equal(space.distances == 1, (weight > 0) & (weight < 1))
    assert (weight == 1).any()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_k_edges_from_one_edge_to_a_node(size: int) -> None:
    """Des20 §2.2.3, k-edge: one edge is the weakest; from all edges of a node on it protects a node as well."""
    k_edge = dx.neighbours(GRAPHS, "generic", holds=dx.notions.k_edges(size)).distances
    edge, node = (dx.neighbours(GRAPHS, name).distances for name in ("edge", "node"))
    differ = np.array([[len(x ^ other) for other in GRAPHS.secrets] for x in GRAPHS.secrets])  # pyright: ignore
    assert np.array_equal(k_edge, np.ceil(differ / size))
    assert (k_edge <= edge).all()
    assert bool((k_edge <= node).all()) is (size >= 3)
    assert bool((node <= k_edge).all()) is (size == 1)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_nodes_that_may_be_absent_count(size: int) -> None:
    """Des20 §2.2.3, node and k-edge: a node with all its edges, or k nodes and edges in all; every pair of graphs."""
    parts: Any = [({*nodes}, {*edges}) for ((nodes, edges),) in FRIENDS.secrets]  # pyright: ignore
    differ = [[(one[0] ^ other[0], one[1] ^ other[1]) for other in parts] for one in parts]
    count = np.array([[len(nodes) + len(edges) for nodes, edges in row] for row in differ])
    below = dx.notions.k_edges(size)
    k_edge = dx.neighbours(FRIENDS, "generic", holds=lambda x, z: below(*({*g[0][0], *g[0][1]} for g in (x, z))))
    assert_level(k_edge, (count > 0) & (count <= size), size)

    def rest(graph: Any, node: int) -> Any:
        return {*graph[0]} - {node}, {edge for edge in graph[1] if node not in edge}

    node = dx.neighbours(
        FRIENDS, "generic", holds=lambda x, z: any(rest(x[0], one) == rest(z[0], one) for one in range(3))
    )
    of_one = [
        [any(n <= {one} and all(one in e for e in edges) for one in range(3)) for n, edges in r] for r in differ
    ]
    assert_level(node, (count > 0) & np.array(of_one), size)


@pytest.mark.parametrize("at", ABSENT.secrets, ids=str)
def test_individual_privacy_of_every_database_and_record(at: Any) -> None:
    """Des20 Def 24, and where the record is fixed as well: neighbours of the given database, and of no other."""
    databases: Any = ABSENT.secrets
    differ = [[changed(x, other) if at in (x, other) else [] for other in databases] for x in databases]
    one = np.array([[len(places) == 1 for places in row] for row in differ])
    assert_level(dx.neighbours(ABSENT, "individual", at=at), one)
    for record in (0, 1):
        space = dx.neighbours(ABSENT, "generic", holds=dx.notions.individual_record(at, record))
        assert_level(space, np.array([[places == [record] for places in row] for row in differ]), record)


def test_who_is_absent_differs() -> None:
    """Des20 Def 24 and groups: a record that is there in one of two databases only is one that differs."""
    apart = np.array([[len(changed(x, other)) for other in ABSENT.secrets] for x in ABSENT.secrets])  # pyright: ignore
    given_one: Any = (0, None)
    at = ABSENT.places[given_one]
    one = np.zeros(apart.shape, dtype=bool)
    one[at, :] = one[:, at] = True
    individual = dx.neighbours(ABSENT, "individual", at=given_one)
    assert np.array_equal(individual.distances == 1, one & (apart == 1))
    assert np.array_equal(dx.neighbours(ABSENT, "group", size=2).distances, np.ceil(apart / 2))
