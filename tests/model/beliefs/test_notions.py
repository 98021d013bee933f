"""The pairs of beliefs that notions of privacy are made of, against conditional probabilities in rationals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.judges.oracle_beliefs import given

UNIVERSE = dx.Universe.databases([0, 1], 3)
ABSENT = dx.Universe.databases(["a", "b"], 2, absent=True)
DATABASES: Any = UNIVERSE.secrets
REMOVABLE: Any = ABSENT.secrets
WEIGHTS = [3, 0, 2, 5, 1, 4, 0, 1]


def fractions(weights: list[int]) -> list[Fraction]:
    return [Fraction(weight, sum(weights)) for weight in weights]


def as_set(pairs: dx.BeliefPairs) -> set[tuple[tuple[float, ...], tuple[float, ...]]]:
    sides = (np.round(pairs.first, 12).tolist(), np.round(pairs.second, 12).tolist())
    return {(tuple(one), tuple(other)) for one, other in zip(*sides, strict=True)}


def judged(pairs: list[tuple[list[Fraction] | None, list[Fraction] | None]]) -> set[tuple]:
    """Both ways, without what is impossible and what is equal."""
    kept = [(one, other) for one, other in pairs if one is not None and other is not None and one != other]
    rounded = [tuple(tuple(round(float(p), 12) for p in side) for side in pair) for pair in kept]
    return {*rounded, *((other, one) for one, other in rounded)}


def test_pufferfish_is_each_belief_given_the_one_and_the_other() -> None:
    sick = [database[0] == 1 for database in DATABASES]
    some = [sum(database) == 2 for database in DATABASES]
    beliefs = [fractions(WEIGHTS), fractions([1] * 8)]
    pairs = dx.BeliefPairs.pufferfish(
        UNIVERSE,
        [(lambda d: d[0] == 1, lambda d: d[0] == 0), ([(0, 1, 1), "(1, 0, 1)", (1, 1, 0)], lambda d: sum(d) != 2)],
        [[float(p) for p in belief] for belief in beliefs],
    )
    expected = []
    for belief in beliefs:
        for inside in (sick, some):
            expected.append((given(belief, inside), given(belief, [not one for one in inside])))
    assert as_set(pairs) == judged(expected)
    assert pairs.left_out == ()


def test_what_has_no_probability_is_left_out_and_told() -> None:
    certain = [1, 1, 1, 1, 0, 0, 0, 0]
    events = [(lambda d: d[0] == 0, lambda d: d[0] == 1), (lambda d: d[1] == 0, lambda d: d[1] == 1)]
    pairs = dx.BeliefPairs.pufferfish(UNIVERSE, events, [np.array(certain) / 4])
    assert len(pairs) == 2
    assert len(pairs.left_out) == 1
    assert "probability 0" in pairs.left_out[0]
    assert "1 left out" in repr(pairs)
    with pytest.raises(dx.SpecError, match=r"beliefs.*no pairs.*probability 0"):
        dx.BeliefPairs.pufferfish(UNIVERSE, events[:1], [np.array(certain) / 4])


@pytest.mark.parametrize("known", [0, 1, None])
def test_bayesian_conditions_on_whatever_others_are_known(known: int | None) -> None:
    belief = fractions(WEIGHTS)
    expected = []
    for person in range(3):
        others = [other for other in range(3) if other != person]
        for size in range((2 if known is None else known) + 1):
            for some in itertools.combinations(others, size):
                for values in itertools.product([0, 1], repeat=size):
                    sides = []
                    for own in (0, 1):
                        asked = dict(zip((person, *some), (own, *values), strict=True))
                        inside = [all(d[i] == v for i, v in asked.items()) for d in DATABASES]
                        sides.append(given(belief, inside))
                    expected.append((sides[0], sides[1]))
    pairs = dx.BeliefPairs.bayesian(UNIVERSE, [float(p) for p in belief], known=known)
    assert as_set(pairs) == judged(expected)


def test_bayesian_of_independent_records_is_the_pairs_of_neighbours() -> None:
    """Who knows all others tells two databases apart that differ in one record: ordinary privacy."""
    pairs = dx.BeliefPairs.bayesian(UNIVERSE, "uniform")
    masses = [index for index in range(len(pairs)) if pairs.first[index].max() == 1 == pairs.second[index].max()]
    found = {(int(pairs.first[i].argmax()), int(pairs.second[i].argmax())) for i in masses}
    apart = UNIVERSE.space().distances
    assert found == {(x, y) for x in range(8) for y in range(8) if apart[x, y] == 1}


def test_correlated_is_bayesian_of_what_was_observed() -> None:
    observed = [(0, 0, 0), (1, 1, 1), (1, 1, 1), (0, 1, 0)]
    counts = [1, 0, 1, 0, 0, 0, 0, 2]
    one = dx.BeliefPairs.correlated(UNIVERSE, observed)
    other = dx.BeliefPairs.bayesian(UNIVERSE, np.array(counts) / 4)
    assert as_set(one) == as_set(other)
    smoothed = dx.BeliefPairs.correlated(UNIVERSE, observed, smoothing=0.5)
    assert as_set(smoothed) == as_set(dx.BeliefPairs.bayesian(UNIVERSE, (np.array(counts) + 0.5) / 8))
    with pytest.raises(dx.SpecError, match=r"observed.*no database of the universe"):
        dx.BeliefPairs.correlated(UNIVERSE, [(0, 2, 0)])


def test_coupled_worlds_compare_with_the_record_taken_out() -> None:
    belief = fractions([1, 2, 0, 3, 1, 1, 2, 0, 1])
    expected = []
    for person in range(2):
        for value in ("a", "b"):
            first = given(belief, [d[person] == value for d in REMOVABLE])
            assert first is not None
            moved = [Fraction(0)] * 9
            for database, p in zip(REMOVABLE, first, strict=True):
                left = tuple(None if i == person else v for i, v in enumerate(database))
                moved[ABSENT.places[left]] += p
            expected.append((first, moved))
    pairs = dx.BeliefPairs.coupled_worlds(ABSENT, [float(p) for p in belief])
    assert as_set(pairs) == judged(expected)
    with pytest.raises(dx.SpecError, match="absent=True"):
        dx.BeliefPairs.coupled_worlds(UNIVERSE, "uniform")


@pytest.mark.parametrize("zeros", [False, True])
def test_markov_conditions_on_the_state_at_one_time(zeros: bool) -> None:
    transition = [[2, 1, 1], [0 if zeros else 1, 1, 0 if zeros else 2], [1, 0, 3]]
    moves = [[Fraction(p, sum(row)) for p in row] for row in transition]
    start = fractions([1, 0, 3] if zeros else [1, 2, 3])
    traces = list(itertools.product(range(3), repeat=3))
    joint = []
    for trace in traces:
        p = start[trace[0]]
        for before, after in itertools.pairwise(trace):
            p *= moves[before][after]
        joint.append(p)
    expected = []
    for time in range(3):
        for one, other in itertools.combinations(range(3), 2):
            sides = [given(joint, [trace[time] == state for trace in traces]) for state in (one, other)]
            expected.append((sides[0], sides[1]))
    pairs = dx.BeliefPairs.markov("abc", 3, [[float(p) for p in row] for row in moves], [float(p) for p in start])
    assert as_set(pairs) == judged(expected)
    assert len(pairs.left_out) == sum(one is None or other is None for one, other in expected)
    assert (len(pairs.left_out) > 0) is zeros


def test_traces_are_in_the_order_of_products_and_streams() -> None:
    pairs = dx.BeliefPairs.markov(["0", "1"], 3, [[0.9, 0.1], [0.4, 0.6]], times=[1])
    space = dx.product(*[dx.MetricSpace.from_distances([[0, 1], [1, 0]], labels=["0", "1"])] * 3)
    streams: Any = dx.Universe.streams([0, 1], 3).secrets
    for index in range(8):
        second = int(space.labels[index][4])
        assert streams[index][1] == (second,)
        assert bool(pairs.first[0, index] > 0) is (second == 0)


def test_a_chain_without_start_begins_with_what_it_keeps() -> None:
    transition = np.array([[0.9, 0.1], [0.4, 0.6]])
    kept = dx.BeliefPairs.markov(["a", "b"], 2, transition)
    given_start = dx.BeliefPairs.markov(["a", "b"], 2, transition, [0.8, 0.2])
    assert np.allclose(kept.first, given_start.first, atol=1e-14)
    with pytest.raises(dx.SpecError, match="several distributions"):
        dx.BeliefPairs.markov(["a", "b"], 2, np.eye(2))


def test_pairs_as_they_are_given() -> None:
    space = dx.line(3)
    beliefs = ([0.5, 0.5, 0.0], dx.Prior.uniform(space))
    both = dx.BeliefPairs.of(space, [beliefs], distances=[2.0])
    assert len(both) == 2
    assert both.distances.tolist() == [2.0, 2.0]
    one = dx.BeliefPairs.of(space, [beliefs, beliefs], distances=[2.0, 0.5], both_ways=False)
    assert one.distances.tolist() == [0.5], "of the same pair the smaller distance counts"
    assert one.at("ln(4)").budgets.tolist() == [0.5 * np.log(4)]


BROKEN = [
    ("beliefs", lambda: dx.BeliefPairs.of(dx.line(2), [])),
    ("secrets", lambda: dx.BeliefPairs.pufferfish(dx.line(2), [0], "uniform")),  # pyright: ignore[reportArgumentType]
    ("secrets", lambda: dx.BeliefPairs.pufferfish(dx.line(2), [([0], [])], "uniform")),
    ("first", lambda: dx.BeliefPairs([[0.5, 0.6]], [[0.5, 0.5]])),
    ("beliefs", lambda: dx.BeliefPairs([[0.5, 0.5]], [[0.5, 0.25, 0.25]])),
    ("distances", lambda: dx.BeliefPairs([[1, 0]], [[0, 1]], distances=[0])),
    ("length", lambda: dx.BeliefPairs.markov("ab", 40, [[0.5, 0.5], [0.5, 0.5]])),
    ("transition", lambda: dx.BeliefPairs.markov("ab", 2, [[0.5, 0.4], [0.5, 0.5]])),
    ("known", lambda: dx.BeliefPairs.bayesian(UNIVERSE, "uniform", known=3)),
    ("universe", lambda: dx.BeliefPairs.bayesian(dx.Universe.graphs(3), "uniform")),
    ("beliefs", lambda: dx.Problem(dx.line(2), epsilon=None, prior="uniform", beliefs=two_points())),
    (
        "beliefs",
        lambda: dx.Problem(
            dx.line(2), epsilon=None, prior="uniform", beliefs=dx.BeliefPairs([[1, 0]], [[0, 1]], labels="ab").at(1)
        ),
    ),
    (
        "beliefs",
        lambda: dx.Problem(
            dx.line(2), epsilon=1, prior="uniform", beliefs=two_points().at(1), objective=dx.AdversaryError(1)
        ),
    ),
    ("delta", lambda: dx.Problem(dx.line(2), epsilon=1, prior="uniform", beliefs=two_points().at(1), delta=0.1)),
    ("beliefs", lambda: dx.Problem(dx.line(3), epsilon=1, prior="uniform", beliefs=two_points().at(1))),
]


def two_points() -> dx.BeliefPairs:
    return dx.BeliefPairs.of(dx.line(2), [([1.0, 0.0], [0.0, 1.0])])


@pytest.mark.parametrize(("field", "make"), BROKEN)
def test_wrong_pairs_are_refused(field: str, make: Callable[[], object]) -> None:
    with pytest.raises(dx.SpecError) as raised:
        make()
    assert raised.value.field == field


CHAIN: Any = ("ab", 2, [[0.9, 0.1], [0.1, 0.9]])
LATER: dict[str, Callable[[Any], Any]] = {
    "beliefs": lambda given: dx.BeliefPairs.bayesian(UNIVERSE, given),
    "known": lambda given: dx.BeliefPairs.bayesian(UNIVERSE, "uniform", known=given),
    "observed": lambda given: dx.BeliefPairs.correlated(UNIVERSE, given),
    "smoothing": lambda given: dx.BeliefPairs.correlated(UNIVERSE, [], smoothing=given),
    "length": lambda given: dx.BeliefPairs.markov("ab", given, CHAIN[2]),
    "times": lambda given: dx.BeliefPairs.markov(*CHAIN, times=given),
    "pairs": lambda given: dx.BeliefPairs.of(dx.line(2), given),
    "secrets": lambda given: dx.BeliefPairs.pufferfish(dx.line(2), given, "uniform"),
    "names": lambda given: dx.BeliefPairs([[1, 0]], [[0, 1]], names=given),
    "labels": lambda given: dx.BeliefPairs([[1, 0]], [[0, 1]], labels=given),
    "holds": lambda given: UNIVERSE.where(given),
    "metric": lambda given: UNIVERSE.space(given),
    "shortest": lambda given: dx.Universe.words("ab", 2, shortest=given),
    "neighbours": lambda given: dx.neighbours(UNIVERSE, given),
}


LISTS = {"pairs", "beliefs", "observed", "secrets", "times"}


@pytest.mark.parametrize("field", LATER)
def test_what_is_of_another_kind_is_named(field: str) -> None:
    for useless in (object(), [object()] if field in LISTS else np.eye(3)):
        with pytest.raises(dx.SpecError) as raised:
            LATER[field](useless)
        assert raised.value.field == field
        assert "\n" not in str(raised.value)
