"""The notions of Des20 §2.2.3: which secrets are how far apart, and (ε, δ) under any of them."""

from __future__ import annotations

import numpy as np
import pytest

import dxopt as dx
from dxopt.numerics.excess import bound_pairs
from tests.judges.oracle_objectives import best
from tests.material.notions import BITS3, NOTIONS, TWO


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
