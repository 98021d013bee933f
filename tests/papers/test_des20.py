"""The notions of Des20 §2.2.3: which secrets are how far apart, and (ε, δ) under any of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics.hockey_stick import bound_pairs
from dxopt.spec import load
from tests.judges.exact import violations
from tests.judges.oracle_objectives import best
from tests.material.files import PROBLEMS
from tests.material.notions import (
    BITS2,
    BITS3,
    NOTIONS,
    THREE,
    TWO,
    apart,
    changed,
    influenced,
    levenshtein,
    one_element,
)


@pytest.mark.parametrize("name", NOTIONS)
def test_notions(name: str) -> None:
    notion = NOTIONS[name]
    space = notion.make(notion.universe)
    assert len(space) == len(notion.universe)
    assert space.symmetric is notion.symmetric
    for (first, second), expected in notion.expected.items():
        x, other = notion.universe.places[first], notion.universe.places[second]
        assert space.distances[x, other] == pytest.approx(expected), (first, second)
        if notion.symmetric:
            assert space.distances[other, x] == pytest.approx(expected), (second, first)


def one_removed(x: tuple, other: tuple) -> bool:
    return len(changed(x, other)) == 1 and None in (x[changed(x, other)[0]], other[changed(x, other)[0]])


def one_changed(x: tuple, other: tuple) -> bool:
    return len(changed(x, other)) == 1 and not one_removed(x, other)


def one_attribute(x: tuple, other: tuple) -> bool:
    return one_changed(x, other) and len(changed(*(record[changed(x, other)[0]] for record in (x, other)))) == 1


def one_bit(x: tuple, other: tuple) -> bool:
    if not one_attribute(x, other):
        return False
    first, second = (record[changed(x, other)[0]] for record in (x, other))
    return (first[changed(first, second)[0]] ^ second[changed(first, second)[0]]).bit_count() == 1


def assert_private_on_these_pairs(space: dx.MetricSpace, pairs: np.ndarray) -> None:
    """Drawn mechanisms are private at the largest log-ratio of the pairs of a definition, and at no smaller level."""
    rng, (x, other) = np.random.default_rng(8), np.nonzero(pairs)
    for _ in range(3):
        rows = rng.dirichlet(np.full(3, 4.0), len(space))
        mechanism = dx.Mechanism.from_matrix(space, rows, dx.Reports(tuple("abc")))
        assert dx.evaluate.smallest_epsilon(mechanism) == pytest.approx(
            np.log(rows[x] / rows[other]).max(), rel=1e-12
        )


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize(
    ("relation", "steps"),
    [("unbounded", one_removed), ("bounded", one_changed), ("attribute", one_attribute), ("bit", one_bit)],
)
def test_definition_20(relation: str, steps: Callable[[tuple, tuple], bool], absent: bool) -> None:
    """Neighbours are at distance 1, and no others are: every pair of databases of two records of two attributes."""
    one = dx.Universe.databases(itertools.product((0, 1), (0, 1, 2, 3)), 2, absent=absent)
    if relation == "unbounded" and not absent:
        one = dx.Universe.databases((5, 6, 7), 3, absent=True)
    space = dx.neighbours(one, relation)
    expected = np.array([[steps(x, other) for other in one.secrets] for x in one.secrets])  # pyright: ignore
    assert np.array_equal(space.distances == 1, expected)
    assert expected.any()
    assert_private_on_these_pairs(space, expected)


SENSITIVE = {1, 2}
AT = (0, 1, 2)
STREAMS = dx.Universe.streams((0, 1), 3, users=2)
OTHER_DEFINITIONS: dict[str, tuple[dx.Universe, dict[str, Any], Callable[[Any, Any], bool]]] = {
    "one_sided": (
        THREE,
        {"sensitive": SENSITIVE},
        lambda x, other: len(changed(x, other)) == 1 and x[changed(x, other)[0]] in SENSITIVE,
    ),
    "both": (dx.Universe.databases((0, 1, 2), 2, absent=True), {}, lambda x, other: len(changed(x, other)) == 1),
    "free_lunch": (dx.Universe.databases((0, 1, 2), 2, absent=True), {}, lambda x, other: True),
    "individual": (THREE, {"at": AT}, lambda x, other: AT in (x, other) and len(changed(x, other)) == 1),
    "node": (
        dx.Universe.graphs(4),
        {},
        lambda x, other: any(all(node in edge for edge in x ^ other) for node in range(4)),
    ),
    "edge": (dx.Universe.graphs(4), {}, lambda x, other: len(x ^ other) == 1),
    "event": (STREAMS, {}, lambda x, other: len(changed(sum(x, ()), sum(other, ()))) == 1),
    "user": (STREAMS, {}, lambda x, other: len({place % 2 for place in changed(sum(x, ()), sum(other, ()))}) == 1),
    "group": (THREE, {"size": 2}, lambda x, other: len(changed(x, other)) <= 2),
    "blowfish": (
        THREE.where(lambda database: sum(database) != 3),
        {"policy": [(0, 1), (1, 2)]},
        lambda x, other: len(changed(x, other)) == 1 and apart(x, other) == 1,
    ),
}


@pytest.mark.parametrize("relation", OTHER_DEFINITIONS)
def test_neighbours_are_those_of_the_definition(relation: str) -> None:
    """The original, Definitions 21, 23, 24 and 26, groups, nodes, edges, events and users: every pair of secrets."""
    one, parameters, steps = OTHER_DEFINITIONS[relation]
    space = dx.neighbours(one, relation, **parameters)
    expected = np.array([[x != other and steps(x, other) for other in one.secrets] for x in one.secrets])
    assert np.array_equal(space.distances == 1, expected)
    assert expected.any()
    assert_private_on_these_pairs(space, expected)


@pytest.mark.parametrize("relation", ["generic", "generic_one_way"])
@pytest.mark.parametrize("seed", range(4))
def test_definition_25(relation: str, seed: int) -> None:
    """Any relation, symmetric or not: K is private if and only if its ratios are at most e^ε on all pairs of it."""
    rng = np.random.default_rng(seed)
    drawn = (rng.random((9, 9)) < 0.2) & ~np.eye(9, dtype=bool)
    space = dx.neighbours(TWO, relation, holds=lambda x, other: bool(drawn[TWO.places[x], TWO.places[other]]))
    pairs = drawn if relation == "generic_one_way" else drawn | drawn.T
    assert np.array_equal(space.distances == 1, pairs)
    rows = rng.dirichlet(np.full(3, 4.0), 9)
    least = max(np.log(rows[x] / rows[other]).max() for x, other in np.argwhere(pairs))
    mechanism = dx.Mechanism.from_matrix(space, rows, dx.Reports(tuple("abc")))
    assert dx.evaluate.smallest_epsilon(mechanism) == pytest.approx(least, rel=1e-12)


def test_words_at_a_hamming_or_levenshtein_distance() -> None:
    """Word and substitution-word privacy, and sequences of requests: neighbours are at most so far apart."""
    words = dx.Universe.words("ab", 3, shortest=0)

    def hamming(x: tuple, other: tuple) -> float:
        return sum(a != b for a, b in zip(x, other, strict=True)) if len(x) == len(other) else math.inf

    for relation, distance in (("substitution", hamming), ("edit", levenshtein)):
        apart = np.array([[distance(x, other) for other in words.secrets] for x in words.secrets])  # pyright: ignore
        space = dx.neighbours(words, relation)
        assert np.array_equal(space.distances, apart)
        for limit in (1, 2, 3):
            within = dx.neighbours(
                words, "generic", holds=lambda x, other, limit=limit, distance=distance: distance(x, other) <= limit
            )
            assert np.array_equal(within.distances, np.ceil(apart / limit))
            assert np.array_equal(within.distances == 1, (apart > 0) & (apart <= limit))


@pytest.mark.parametrize("name", ["sum", "maximum", "first"])
def test_sensitivity_induced_privacy_is_that_of_the_answers(name: str) -> None:
    """Neighbours have answers within a threshold: H∘f is as private for them as H is on the answers they induce."""
    threshold = 1
    query = {
        "sum": lambda: dx.queries.total(TWO),
        "maximum": lambda: dx.queries.percentile(TWO, 100),
        "first": lambda: dx.queries.Query.of(TWO, lambda x: x[0]),
    }[name]()
    given = [float(query.answers[place]) for place in query.index]
    apart = np.abs(np.subtract.outer(given, given))
    space = dx.neighbours(TWO, "generic", holds=lambda x, y: apart[TWO.places[x], TWO.places[y]] <= threshold)
    assert np.array_equal(space.distances == 1, (apart <= threshold) & ~np.eye(len(TWO), dtype=bool))
    answers = query.induced(space)
    assert np.array_equal(answers.distances, np.abs(np.subtract.outer(query.answers, query.answers)))
    rng = np.random.default_rng(6)
    for _ in range(5):
        rows = rng.dirichlet(np.full(3, 4.0), len(answers))
        reports = dx.Reports(tuple("abc"))
        alone = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(answers, rows, reports))
        lifted = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, rows[query.index], reports))
        assert alone == pytest.approx(lifted, rel=1e-12)


ABSENT = dx.Universe.databases((0, 1, 2), 2, absent=True)


def test_the_original_is_bounded_and_unbounded_together() -> None:
    """Des20 after Def 20: a step of `both` is a step of one or the other, and never of both."""
    both, bounded, unbounded = (
        dx.neighbours(ABSENT, name).distances == 1 for name in ("both", "bounded", "unbounded")
    )
    assert np.array_equal(both, bounded | unbounded)
    assert not (bounded & unbounded).any()


SMALL = {
    "bounded": (TWO, {}),
    "unbounded": (dx.Universe.databases((0, 1), 2, absent=True), {}),
    "one_sided": (TWO, {"sensitive": [2]}),
    "individual": (TWO, {"at": (0, 1)}),
    "event": (dx.Universe.streams((0, 1), 3), {}),
    "edge": (dx.Universe.graphs(3), {}),
    "generic": (BITS3, {"holds": lambda x, other: abs(sum(x) - sum(other)) == 1}),
    "both": (dx.Universe.databases((0, 1), 2, absent=True), {}),
    "attribute": (dx.Universe.databases(itertools.product((0, 1), (0, 1, 2)), 1), {}),
    "bit": (dx.Universe.databases(range(4), 1), {}),
    "blowfish": (TWO, {"policy": [(0, 1), (1, 2)]}),
    "group": (BITS3, {"size": 2}),
    "dependent": (BITS3, {"related": [[1], [2], []], "size": 2}),
    "free_lunch": (BITS2, {}),
    "node": (dx.Universe.graphs(3), {}),
    "user": (dx.Universe.streams((0, 1), 2, users=2), {}),
    "w_event": (dx.Universe.streams((0, 1), 3), {"window": 2}),
    "substitution": (dx.Universe.words("ab", 2, shortest=1), {}),
    "edit": (dx.Universe.words("ab", 2, shortest=0), {}),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_small_probability_of_error(name: str) -> None:
    """Des20, multidimensional definitions: (ε, δ) for neighbours under any notion, against a dense linear program."""
    universe, parameters = SMALL[name]
    space = dx.neighbours(universe, name, **parameters)
    prior = dx.Prior.from_weights(space, 1 + np.arange(len(space)) % 3)
    problem = dx.Problem(space, epsilon=0.7, prior=prior, loss="binary", delta=0.1, pairs="adjacent")
    bound = bound_pairs(space.distances, "adjacent")
    assert np.array_equal(bound, space.distances == 1)
    report = dx.solve(problem)
    value = best(1 - np.eye(len(space)), budgets=problem.budgets, prior=prior.probabilities, delta=0.1, bound=bound)
    assert report.certificate.value == pytest.approx(value, abs=1e-7)
    assert dx.evaluate.smallest_delta(report.mechanism, 0.7, pairs="adjacent") <= 0.1 + 1e-12
    assert (
        value < best(1 - np.eye(len(space)), budgets=problem.budgets, prior=prior.probabilities, bound=bound) - 1e-3
    )


def test_the_problem_file_of_element_level_privacy() -> None:
    """The pairs that are written out are those of the notion: all of one element is left out, however often it is."""
    (task,) = load(PROBLEMS / "des20-element-level.yaml")
    written = {"none": 0, "a": 1, "b": 2}
    visits = [tuple(written[word] for word in label.strip("()").split(", ")) for label in task.problem.space.labels]
    streams = [tuple((visit,) for visit in pair) for pair in visits]
    steps = np.array([[one_element(x, other) or one_element(other, x) for other in streams] for x in streams])
    np.fill_diagonal(steps, False)
    assert np.array_equal(task.problem.space.distances == 1, steps)
    # how often is no secret at ε, but costs no more than two steps; whether at all costs one
    twice, once = visits.index((1, 1)), visits.index((1, 0))
    assert task.problem.space.distances[twice, visits.index((0, 0))] == 1
    assert task.problem.space.distances[twice, once] == 2


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_group_privacy_and_privacy_under_correlation_are_equivalent(size: int) -> None:
    """Up to k records differ, or one individual influences up to k records: stated apart, the same neighbours.

    So are the databases in which everyone depends on everyone; of the same optimum is every mechanism for either.
    """
    universe = dx.Universe.databases((0, 1, 2), 3)
    group = dx.neighbours(universe, "group", size=size)
    correlation = dx.neighbours(universe, "generic", holds=influenced(size))
    named = dx.neighbours(universe, "generic", holds=dx.notions.substitutions_within(size))
    everyone = [[other for other in range(3) if other != record] for record in range(3)]
    dependent = dx.neighbours(universe, "dependent", related=everyone, size=size)
    assert np.array_equal(group.distances, correlation.distances)
    assert np.array_equal(group.distances, named.distances)
    assert np.array_equal(group.distances, dependent.distances)
    rows = np.random.default_rng(size).dirichlet(np.full(4, 20.0), len(universe))
    reports = dx.Reports(tuple("abcd"))
    levels = [
        dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(space, rows, reports)) for space in (group, correlation)
    ]
    assert levels[0] == levels[1]


def test_each_user_randomises_their_own_record() -> None:
    """Local privacy is that of one record under `bounded`; what is collected of all is private for each of them."""
    person = dx.Universe.databases(("no", "yes", "perhaps"), 1)
    alone = dx.neighbours(person, "bounded")
    problem = dx.Problem(alone, epsilon=0.9, prior=dx.Prior.uniform(alone), loss="binary")
    own = dx.solve(problem).mechanism
    assert dx.solve(problem).certificate.value == pytest.approx(2 / (2 + math.exp(0.9)), abs=1e-7)
    users = dx.Universe.databases(("no", "yes", "perhaps"), 3)
    collected = np.kron(np.kron(own.matrix, own.matrix), own.matrix).astype(np.float64)
    together = dx.neighbours(users, "bounded")
    level = dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(together, collected))
    assert level == pytest.approx(0.9, rel=1e-9)
    assert violations(collected, together.distances, level * (1 + 1e-12)) == []


def test_bandits() -> None:
    """A reward of a sequence differs (instantaneous); locally, each reward is randomised before it is ever used."""
    rewards = dx.Universe.streams((0, 1), 3)
    sequence = dx.neighbours(rewards, "event")
    one = dx.neighbours(dx.Universe.databases((0, 1), 1), "bounded")
    problem = dx.Problem(one, epsilon=0.8, prior=dx.Prior.uniform(one), loss="binary")
    each = dx.solve(problem).mechanism.matrix
    assert np.abs(np.log(each[0] / each[1])).max() == pytest.approx(0.8, rel=1e-9)
    seen = np.kron(np.kron(each, each), each).astype(np.float64)
    assert violations(seen, sequence.distances, 0.8 * (1 + 1e-9)) == []
    # whichever arm is pulled next is a function of what was seen: post-processing
    sums = [sum(bits) for bits in itertools.product((0, 1), repeat=3)]
    arms = (np.array(sums)[:, None] >= np.arange(1, 4)).astype(float)
    pulls = seen @ np.column_stack([arms, 3 - arms.sum(axis=1)]) / 3
    assert violations(pulls, sequence.distances, 0.8 * (1 + 1e-9)) == []
    assert dx.evaluate.smallest_epsilon(dx.Mechanism.from_matrix(sequence, seen)) == pytest.approx(0.8, rel=1e-9)
    # the mean of the rewards, published once with noise, is instantaneous and not local: no single reward is seen
    mean = dx.classic.geometric(dx.line(4), epsilon=0.8).matrix[[int(sum(map(sum, s))) for s in rewards.secrets]]  # pyright: ignore
    assert violations(mean, sequence.distances, 0.8 * (1 + 1e-9)) == []


def density(stream: tuple, until: int, marked: float) -> dict[tuple[int, int], float]:
    """State after some time and report at the end, of a bit that is drawn anew, more often 1, at each event."""
    likely = {(0, 0): 0.5, (1, 1): 0.5}
    for time, (event,) in enumerate(stream):
        moved: dict[tuple[int, int], float] = {}
        for (seen, bit), share in likely.items():
            for fresh, part in ((1, marked), (0, 1 - marked)) if event else ((bit, 1.0),):
                state = (fresh if time < until else seen, fresh)
                moved[state] = moved.get(state, 0.0) + share * part
        likely = moved
    flip = 0.4
    return {
        (seen, report): sum(
            share * (1 - flip if report == bit else flip) for (s, bit), share in likely.items() if s == seen
        )
        for seen, report in itertools.product((0, 1), repeat=2)
    }


def test_pan_privacy_of_an_algorithm_whose_states_are_known() -> None:
    """The attacker sees the memory once, at any time, and the report: together one mechanism for each time."""
    streams = dx.Universe.streams((0, 1), 3)
    event, user = dx.neighbours(streams, "event"), dx.neighbours(streams, "user")
    reports = dx.Reports(("00", "01", "10", "11"))
    levels: dict[str, list[float]] = {"event": [], "user": []}
    for until in range(4):
        rows = [list(density(stream, until, 0.6).values()) for stream in streams.secrets]  # pyright: ignore
        for name, space in (("event", event), ("user", user)):
            mechanism = dx.Mechanism.from_matrix(space, rows, reports)
            levels[name].append(dx.evaluate.smallest_epsilon(mechanism))
            assert violations(np.array(rows), space.distances, levels[name][-1] * (1 + 1e-12)) == []
        one = [[len(changed(x, z)) == 1 for z in streams.secrets] for x in streams.secrets]  # pyright: ignore
        ratios = [np.log(np.divide(rows[x], rows[z])).max() for x, z in np.argwhere(one)]
        assert levels["event"][-1] == pytest.approx(max(ratios), rel=1e-9)
    # the memory alone tells by 0.6 against 0.5 whether the user was there; before that it tells nothing, but the last
    # report with it does; seen in the middle both add up, and seen at the end the report says nothing more
    memory, report = math.log(0.5 / 0.4), math.log((0.6 * 0.6 + 0.4 * 0.4) / 0.4)
    assert levels["user"] == pytest.approx([report, memory + report, memory + report, memory], rel=1e-9)
    assert max(levels["event"]) <= max(levels["user"]) + 1e-12
    # an algorithm that counts in the clear and adds noise at the end only is private, and not pan-private
    plain = np.array([[float(sum(map(sum, s)) == n) for n in range(4)] for s in streams.secrets])  # pyright: ignore
    noisy = plain @ dx.classic.geometric(dx.line(4), epsilon=0.8).matrix
    assert dx.evaluate.smallest_epsilon(
        dx.Mechanism.from_matrix(event, noisy, dx.Reports(tuple("0123")))
    ) == pytest.approx(0.8, rel=1e-9)
    state = dx.Mechanism.from_matrix(event, plain, dx.Reports(tuple("0123")))
    assert dx.evaluate.smallest_epsilon(state) == math.inf


def test_the_training_record_that_a_classifier_gives_away() -> None:
    """Differential training privacy: how far predictions move when a record is left out, for a given classifier."""
    training = [(0, "a"), (0, "b"), (1, "b"), (1, "b")]

    def predicted(records: list[tuple[int, str]], feature: int) -> np.ndarray:
        counts = np.array([1 + sum(record == (feature, label) for record in records) for label in "ab"], dtype=float)
        return counts / counts.sum()

    risk = {
        left_out: max(
            dx.characterise.multiplicative_distance(
                predicted(training, feature), predicted([r for k, r in enumerate(training) if k != left_out], feature)
            )
            for feature in (0, 1)
        )
        for left_out in range(4)
    }
    assert risk[0] == pytest.approx(math.log((2 / 4) / (1 / 3)))
    assert risk[2] == risk[3] == pytest.approx(math.log((1 / 3) / (1 / 4)))


@pytest.mark.parametrize("seed", range(4))
def test_any_relation_with_either_divergence(seed: int) -> None:
    """Adjacency relation divergence, for the two divergences that are proven: the log-ratio, and its excess δ."""
    rng = np.random.default_rng(seed)
    drawn = np.triu(rng.random((8, 8)) < 0.3, 1)
    space = dx.neighbours(BITS3, "generic", holds=lambda x, other: bool(drawn[BITS3.places[x], BITS3.places[other]]))
    rows = rng.dirichlet(np.full(3, 5.0), 8)
    mechanism = dx.Mechanism.from_matrix(space, rows, dx.Reports(tuple("abc")))
    joined = np.argwhere(drawn | drawn.T)
    for epsilon in (0.1, 0.3, 1.0):
        excess = max(np.maximum(rows[x] - math.exp(epsilon) * rows[z], 0).sum() for x, z in joined)
        found = dx.evaluate.smallest_delta(mechanism, epsilon, pairs="adjacent")
        assert found == pytest.approx(excess, abs=1e-12)
    apart = max(dx.characterise.multiplicative_distance(rows[x], rows[z]) for x, z in joined)
    assert apart == pytest.approx(max(np.log(rows[x] / rows[z]).max() for x, z in joined), rel=1e-12)
    assert dx.evaluate.smallest_epsilon(mechanism) == pytest.approx(apart, rel=1e-12)
    adjacent = dx.evaluate.smallest_delta(mechanism, apart * (1 + 1e-12), pairs="adjacent")
    assert adjacent <= 1e-12
    assert dx.evaluate.smallest_delta(mechanism, 0.9 * apart, pairs="adjacent") > 0
    # any other divergence is measured between the same pairs
    found = dx.evaluate.divergence(mechanism, lambda p, q: float(((p - q) ** 2).sum()))
    assert found == pytest.approx(max(((rows[x] - rows[z]) ** 2).sum() for x, z in joined), rel=1e-12)
