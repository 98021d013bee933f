"""The relations of Des20 §2.2.3 on every pair of secrets, and for what is drawn: limits, policies, constraints."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.judges.oracle_beliefs import best_for_beliefs
from tests.material.notions import BITS3, BITS4, GRAPHS, HALF, ORDERS, RATINGS, THREE, TWO, changed

REPORTS = dx.Reports(tuple("abc"))


def related(universe: dx.Universe, holds: Any) -> np.ndarray:
    """Where a function of two secrets holds, but for a secret and itself."""
    found = np.array([[x != other and bool(holds(x, other)) for other in universe.secrets] for x in universe.secrets])
    assert found.any()
    return found


def assert_level(space: dx.MetricSpace, pairs: np.ndarray, rng: np.random.Generator) -> None:
    """The neighbours are those of the pairs, and the level of a drawn mechanism is its largest ratio on them."""
    assert np.array_equal(space.distances == 1, pairs)
    rows = rng.dirichlet(np.full(3, 4.0), len(space))
    least = max(np.log(rows[x] / rows[other]).max() for x, other in np.argwhere(pairs))
    found = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, rows, REPORTS))
    assert found == pytest.approx(least, rel=1e-12)


def test_user_level_and_w_event_privacy_of_every_pair_of_streams() -> None:
    """Des20: all events of one user, or one event at each time of a window, differ between neighbours."""
    streams = dx.Universe.streams((0, 1), 3, users=2)

    def users(x: Any, other: Any) -> int:
        return sum(len({tuple(now[user] for now in stream) for stream in (x, other)}) - 1 for user in range(2))

    distances = dx.neighbours(streams, "user").distances
    assert np.array_equal(distances, [[users(x, other) for other in streams.secrets] for x in streams.secrets])
    for width in (1, 2, 3, 4):

        def in_a_window(x: Any, other: Any, width: int = width) -> bool:
            times = changed(x, other)
            return max(times) - min(times) < width and all(len(changed(x[t], other[t])) == 1 for t in times)

        space = dx.neighbours(streams, "w_event", window=width)
        assert_level(space, related(streams, in_a_window), np.random.default_rng(width))


@cache
def levenshtein(one: tuple, other: tuple) -> int:
    """By its recursion, from the first letters on."""
    if not one or not other:
        return len(one) + len(other)
    replaced = levenshtein(one[1:], other[1:]) + (one[0] != other[0])
    return min(replaced, 1 + levenshtein(one[1:], other), 1 + levenshtein(one, other[1:]))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_word_and_substitution_word_privacy_at_every_limit(limit: int) -> None:
    """Des20: words at a Levenshtein, or of one length at a Hamming distance of at most the parameter."""
    words, same = dx.Universe.words("ab", 4, shortest=0), dx.Universe.words("abc", 4, shortest=4)
    rng = np.random.default_rng(limit)
    near = dx.neighbours(words, "generic", holds=dx.notions.words_within(limit))
    assert_level(near, related(words, lambda x, other: levenshtein(x, other) <= limit), rng)
    replaced = dx.neighbours(same, "generic", holds=dx.notions.substitutions_within(limit))
    assert_level(replaced, related(same, lambda x, other: len(changed(x, other)) <= limit), rng)


def test_set_operations_differ_in_one_dataset_by_one_step() -> None:
    """Des20, set operation: one of two datasets is the same, and the other one is a neighbour."""
    people, sets = TWO, dx.Universe.databases("ab", 2, absent=True)
    first, second = dx.neighbours(people, "bounded"), dx.neighbours(sets, "unbounded")
    both = list(itertools.product(people.secrets, sets.secrets))

    def operands(x: Any, other: Any) -> bool:
        (a, b), (c, d) = x, other
        removed = len(changed(b, d)) == 1 and any(None in (b[i], d[i]) for i in changed(b, d))
        return (b == d and len(changed(a, c)) == 1) or (a == c and removed)

    pairs = np.array([[operands(x, other) for other in both] for x in both])
    assert_level(dx.product(first, second), pairs, np.random.default_rng(1))


@pytest.mark.parametrize("limit", [1, 1.5, 2])
@pytest.mark.parametrize(("metric", "order"), [("manhattan", 1), ("euclidean", 2), ("chebyshev", np.inf)])
def test_secrets_within_a_distance_are_neighbours(metric: str, order: float, limit: float) -> None:
    """Des20, pixel, adjacent and under a neighbourhood: at a distance of at most the threshold, in any metric."""
    places = np.array(THREE.secrets)
    norms = np.linalg.norm(places[:, None, :] - places[None, :, :], order, axis=2)
    points = dx.MetricSpace.from_points(places, metric)
    assert np.allclose(points.distances, norms, atol=1e-12)

    def distance(x: Any, other: Any) -> float:
        return points.distances[THREE.places[x], THREE.places[other]]

    rng = np.random.default_rng(2)
    space = dx.neighbours(THREE, "generic", holds=dx.notions.within(limit, distance))
    assert_level(space, (norms > 0) & (norms <= limit), rng)
    # at a distance lower than the threshold: of finitely many secrets, at most a threshold that is a little lower
    lower = dx.notions.within(limit + 0.01 - 1e-6, distance)
    below = dx.neighbours(THREE, "generic", holds=lower)
    assert_level(below, (norms > 0) & (norms < limit + 0.01), rng)


@pytest.mark.parametrize(
    "nodes", [some for size in (1, 2, 3) for some in itertools.combinations(range(4), size)], ids=str
)
def test_edges_of_protected_nodes_and_of_no_others(nodes: tuple[int, ...]) -> None:
    """Des20, protected: for any protected nodes; the edges between other nodes may be published as they are."""

    def of_one(x: Any, other: Any) -> bool:
        return any(all(node in edge for edge in x ^ other) for node in nodes)

    space = dx.neighbours(GRAPHS, "generic", holds=dx.notions.protected(nodes))
    assert_level(space, related(GRAPHS, of_one), np.random.default_rng(1))
    left: Any = [frozenset(edge for edge in graph if not {*edge} & {*nodes}) for graph in GRAPHS.secrets]  # pyright: ignore
    kinds = sorted(set(left), key=sorted)
    published = np.array([[float(one == kind) for kind in kinds] for one in left])
    labels = dx.Reports(tuple(str(sorted(kind)) for kind in kinds))
    assert dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, published, labels)) == 0
    entire = dx.Mechanism.from_matrix(space, np.eye(len(GRAPHS)))
    assert dx.evaluate.smallest_epsilon(entire) == math.inf


def test_which_entry_is_retrieved() -> None:
    """Des20, private information retrieval: requests of any two entries of a database are neighbours."""
    for count in (2, 3, 5):
        entries = dx.Universe.databases(range(count), 1)
        pairs = related(entries, lambda x, other: True)
        assert_level(dx.neighbours(entries, "free_lunch"), pairs, np.random.default_rng(count))


@pytest.mark.parametrize("seed", range(4))
def test_distance_based_privacy_of_drawn_items(seed: int) -> None:
    """Des20, distance-based: one user's rating of an item differs, and those of items that are similar to it."""
    rng = np.random.default_rng(seed)
    items = rng.random((3, 2))

    def similar(x: Any, other: Any) -> bool:
        users = changed(x, other)
        rated = changed(x[users[0]], other[users[0]])
        near = (all(math.dist(items[i], items[j]) <= 0.6 for j in rated) for i in range(3))
        return len(users) == 1 and any(near)

    holds = dx.notions.distance_based(lambda i, j: math.dist(items[i], items[j]), 0.6)
    assert_level(dx.neighbours(RATINGS, "generic", holds=holds), related(RATINGS, similar), rng)


@pytest.mark.parametrize("labels", [(0, 2), (1,), (0, 1, 2)])
def test_edge_labelled_privacy_of_any_subset(labels: tuple[int, ...]) -> None:
    """Des20, edge-labelled: some of the links of one node differ, with labels of the subset alone."""
    links = [tuple(link for link in range(3) if bits >> link & 1) for bits in range(8)]
    universe = dx.Universe.databases(links, 2)

    def labelled(x: Any, other: Any) -> bool:
        nodes = changed(x, other)
        return len(nodes) == 1 and all(
            (link in x[nodes[0]]) == (link in other[nodes[0]]) for link in range(3) if link not in labels
        )

    space = dx.neighbours(universe, "generic", holds=dx.notions.edge_labelled(labels))
    assert_level(space, related(universe, labelled), np.random.default_rng(len(labels)))
    if len(labels) == 3:
        assert np.array_equal(space.distances, dx.neighbours(universe, "bounded").distances)


@pytest.mark.parametrize(("order", "limit"), [(1, 2), (2, 1.5), (np.inf, 1)])
@pytest.mark.parametrize("seed", range(4))
def test_distributional_privacy_of_a_drawn_fixed_set(seed: int, order: float, limit: float) -> None:
    """Des20, distributional: near each other in any metric, with a value in common, and both in the fixed set."""
    rng = np.random.default_rng(seed)
    everything = dx.Universe.databases(range(4), 2)
    fixed = {secret for secret in everything.secrets if rng.random() < 0.8}
    universe = everything.where(lambda database: database in fixed)
    assert {*universe.secrets} == fixed
    near = related(universe, lambda x, other: np.linalg.norm(np.subtract(x, other), order) <= limit)
    common = related(universe, lambda x, other: any(a == b for a in x for b in other))
    metric = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}[order]
    points, at = dx.MetricSpace.from_points(np.array(universe.secrets), metric).distances, universe.places
    space = dx.neighbours(
        universe, "generic", holds=lambda x, other: points[at[x], at[other]] <= limit and bool({*x} & {*other})
    )
    assert (near & ~common).any() and (common & ~near).any()
    assert_level(space, near & common, rng)


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("query", [sum, max, min, lambda x: x[0] - x[1]], ids=["sum", "max", "min", "difference"])
def test_sensitivity_induced_neighbours_have_near_answers(query: Any, limit: int) -> None:
    """Des20, sensitivity-induced: H∘f is as private as H is for answers that differ by at most the threshold."""
    space = dx.neighbours(TWO, "generic", holds=dx.notions.query_within(query, limit))
    pairs = related(TWO, lambda x, other: -limit <= query(x) - query(other) <= limit)
    rng = np.random.default_rng(limit)
    assert_level(space, pairs, rng)
    asked = dx.queries.Query.of(TWO, query)
    rows = rng.dirichlet(np.full(3, 4.0), len(asked.answers))
    answers = list(enumerate(asked.answers))
    near = [(i, j) for (i, a), (j, b) in itertools.permutations(answers, 2) if abs(float(a) - float(b)) <= limit]
    least = max(np.log(rows[i] / rows[j]).max() for i, j in near)
    alone = dx.Mechanism.from_matrix(asked.induced(space), rows, REPORTS)
    lifted = dx.Mechanism.from_matrix(space, rows[asked.index], REPORTS)
    assert dx.evaluate.smallest_epsilon(alone) == pytest.approx(least, rel=1e-12)
    assert dx.evaluate.smallest_epsilon(lifted) == pytest.approx(least, rel=1e-12)


def test_induced_neighbours_by_what_they_are_known_to_be() -> None:
    """Des20, induced: without constraints one record differs; of a known sum two do, and of orders one cycle."""

    def one_cycle(x: Any, other: Any) -> bool:
        step, start = dict(zip(x, other, strict=True)), x[changed(x, other)[0]]
        place, length = step[start], 1
        while place != start:
            place, length = step[place], length + 1
        return length == len(changed(x, other))

    rng = np.random.default_rng(3)
    known = [
        (BITS4, lambda x, other: len(changed(x, other)) == 1),
        (HALF, lambda x, other: len(changed(x, other)) == 2),
        (ORDERS, one_cycle),
    ]
    for universe, holds in known:
        space = dx.neighbours(universe, "generic", holds=dx.notions.induced(universe))
        assert_level(space, related(universe, holds), rng)


@pytest.mark.parametrize("seed", range(6))
def test_definition_26(seed: int) -> None:
    """Des20 Def 26: both databases keep the constraints and differ in one record, by an edge of the policy graph."""
    rng = np.random.default_rng(seed)
    everything = dx.Universe.databases(range(4), 2)
    policy = [pair for pair in itertools.combinations(range(4), 2) if rng.random() < 0.5] or [(0, 3)]
    kept = {secret for secret in everything.secrets if rng.random() < 0.8}
    universe = everything.where(lambda database: database in kept)
    edges = [{*pair} for pair in policy]

    def joined(x: Any, other: Any) -> bool:
        return len(changed(x, other)) == 1 and all({x[i], other[i]} in edges for i in changed(x, other))

    assert {*universe.secrets} == kept
    assert_level(dx.neighbours(universe, "blowfish", policy=policy), related(universe, joined), rng)


@pytest.mark.parametrize(("values", "records"), [(2, 1), (2, 4), (3, 1), (3, 3), (4, 2), (5, 2)])
def test_blowfish_of_a_complete_graph_is_bounded(values: int, records: int) -> None:
    """Des20 after Def 26: for any number of values and of records; one edge of the graph less is another notion."""
    universe = dx.Universe.databases(range(values), records)
    complete = list(itertools.combinations(range(values), 2))
    space, bounded = dx.neighbours(universe, "blowfish", policy=complete), dx.neighbours(universe, "bounded")
    assert np.array_equal(space.distances, bounded.distances)
    pairs = related(universe, lambda x, other: len(changed(x, other)) == 1)
    for one in (space, bounded):
        assert_level(one, pairs, np.random.default_rng(values))
    for edge in complete if values > 2 else []:
        fewer = dx.neighbours(universe, "blowfish", policy=[pair for pair in complete if pair != edge])
        assert not np.array_equal(fewer.distances, bounded.distances)


@pytest.mark.parametrize("policy", [{0}, {2}, {0, 1}, {1, 2}, {0, 1, 2}], ids=str)
def test_the_asymmetric_relation_accommodates_one_sided_privacy(policy: set[int]) -> None:
    """Des20 after Def 25: one-sided privacy, stated one way, is that of its own name; both ways it is not."""

    def replaced(x: Any, other: Any) -> bool:
        return len(changed(x, other)) == 1 and all(x[place] in policy for place in changed(x, other))

    one_way = dx.neighbours(THREE, "generic_one_way", holds=replaced)
    one_sided = dx.neighbours(THREE, "one_sided", sensitive=policy)
    assert np.array_equal(one_way.distances, one_sided.distances)
    for space in (one_way, one_sided):
        assert_level(space, related(THREE, replaced), np.random.default_rng(4))
    both_ways = dx.neighbours(THREE, "generic", holds=replaced)
    assert np.array_equal(both_ways.distances, both_ways.distances.T)
    assert np.array_equal(both_ways.distances, one_way.distances) is (policy == {0, 1, 2})


@pytest.mark.parametrize("records", [1, 2, 3])
def test_participation_is_no_secret_under_bounded_privacy(records: int) -> None:
    """Des20, RAPPOR: what a record is is protected, and whether it is there may be published as it is."""
    universe = dx.Universe.databases("ab", records, absent=True)
    there = [tuple(value is not None for value in database) for database in universe.secrets]  # pyright: ignore
    differ = np.array([[len(changed(x, y)) for y in universe.secrets] for x in universe.secrets])  # pyright: ignore
    same = np.array([[one == other for other in there] for one in there])
    bounded, unbounded = dx.neighbours(universe, "bounded"), dx.neighbours(universe, "unbounded")
    assert np.array_equal(bounded.distances, np.where(same, differ, np.inf))
    assert_level(bounded, same & (differ == 1), np.random.default_rng(records))
    patterns = sorted(set(there))
    published = np.array([[float(one == pattern) for pattern in patterns] for one in there])
    reports = dx.Reports(tuple(map(str, patterns)))
    for space, level in ((bounded, 0.0), (unbounded, math.inf)):
        assert dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, published, reports)) == level


def test_rappor_protects_what_a_record_is_and_not_whether_it_is_there() -> None:
    """Des20, RAPPOR: each bit of a value, one of three, is flipped at random; who is absent sends nothing."""
    universe = dx.Universe.databases(range(3), 1, absent=True)
    flip, sent = 0.2, list(itertools.product((0, 1), repeat=3))
    rows = np.zeros((4, 9))
    for place, (value,) in enumerate(universe.secrets):  # pyright: ignore
        if value is None:
            rows[place, 8] = 1
        else:
            rows[place, :8] = [
                math.prod(flip if bit != (i == value) else 1 - flip for i, bit in enumerate(z)) for z in sent
            ]
    reports = dx.Reports((*map(str, sent), "nothing"))
    bounded, unbounded = (
        dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(dx.neighbours(universe, name), rows, reports))
        for name in ("bounded", "unbounded")
    )
    assert bounded == pytest.approx(2 * math.log((1 - flip) / flip), rel=1e-9)
    assert unbounded == math.inf


@pytest.mark.parametrize("seed", range(4))
def test_datasets_with_different_outputs_of_a_private_function(seed: int) -> None:
    """Des20, coupled worlds: neighbours are datasets that have a different output according to a private function."""
    rng = np.random.default_rng(seed)
    private = dict(zip(TWO.secrets, rng.permutation([0, 0, 0, 0, 1, 1, 1, 2, 2]).tolist(), strict=True))
    space = dx.neighbours(TWO, "generic", holds=lambda x, other: private[x] != private[other])
    outputs = np.array(list(private.values()))
    assert_level(space, outputs[:, None] != outputs, rng)


@pytest.mark.parametrize("seed", range(4))
def test_datasets_that_satisfy_a_pair_of_predicates_are_neighbours(seed: int) -> None:
    """Des20, pufferfish as a relation: one dataset satisfies the one predicate, and the other one the other."""
    rng = np.random.default_rng(seed)
    drawn = [rng.permutation([0, 0, 0, 1, 1, 2, 2, 2, 2]) for _ in range(2)]
    secrets: Any = [tuple(lambda d, k=kind, s=side: k[TWO.places[d]] == s for side in (0, 1)) for kind in drawn]
    space = dx.neighbours(TWO, "generic", holds=lambda x, other: any(one(x) and two(other) for one, two in secrets))
    first, second = (np.outer(kind == 0, kind == 1) for kind in drawn)
    pairs = first | second
    assert_level(space, pairs | pairs.T, rng)
    # it is that of an adversary who is in doubt between any two datasets
    doubts = [(np.eye(9)[x] + np.eye(9)[y]) / 2 for x, y in itertools.combinations(range(9), 2)]
    rows = rng.dirichlet(np.full(3, 4.0), 9)
    level = dx.evaluate.belief_level(rows, dx.BeliefPairs.pufferfish(TWO, secrets, doubts)).epsilon
    found = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, rows, REPORTS))
    assert level == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_pufferfish_of_drawn_predicates_and_beliefs(seed: int) -> None:
    """Des20, pufferfish: given the one or the other predicate reports look alike, to every adversary; the optimum."""
    rng = np.random.default_rng(seed)
    beliefs = rng.dirichlet(np.ones(8), 2)
    kinds = [dict(zip(BITS3.secrets, rng.permutation([0, 0, 0, 1, 1, 1, 2, 2]), strict=True)) for _ in range(2)]
    secrets: Any = [tuple(lambda d, k=kind, s=side: k[d] == s for side in (0, 1)) for kind in kinds]
    pairs = dx.BeliefPairs.pufferfish(BITS3, secrets, list(beliefs))
    masks = [[np.array([kind[d] == side for d in BITS3.secrets]) for side in (0, 1)] for kind in kinds]
    sides = [
        tuple(belief * inside / (belief * inside).sum() for inside in (mask, other))
        for belief in beliefs
        for one in masks
        for mask, other in (one, one[::-1])
    ]
    rows = rng.dirichlet(np.full(3, 4.0), 8)
    least = max(np.log((one @ rows) / (other @ rows)).max() for one, other in sides)
    assert dx.evaluate.belief_level(rows, pairs).epsilon == pytest.approx(least, rel=1e-12)
    prior, loss = rng.dirichlet(np.ones(8)), rng.random((8, 3))
    problem = dx.Problem(BITS3.space(), epsilon=None, beliefs=pairs.at(0.5), prior=prior, loss=loss)
    best = dx.solve(problem)
    first, second = (np.array(some) for some in zip(*sides, strict=True))
    value = best_for_beliefs(loss, prior, first, second, [0.5] * len(sides))
    assert best.certificate.value == pytest.approx(value, abs=1e-7)
    assert np.all(first @ best.mechanism.matrix <= math.exp(0.5) * (second @ best.mechanism.matrix) + 1e-12)
    free = best_for_beliefs(loss, prior, first, second, [50.0] * len(sides))
    assert value > free + 1e-3
