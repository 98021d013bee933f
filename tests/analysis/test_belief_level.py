"""How private mechanisms are for pairs of beliefs, against ratios in rationals."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from tests.judges.oracle_beliefs import expected, keeps, largest_ratio
from tests.material.believed import random_pairs
from tests.material.few import few

FLU = dx.Universe.databases(["flu", "well"], 3)
"""A household of three."""
HOUSEHOLDS: Any = FLU.secrets


@pytest.mark.parametrize("seed", few(range(8)))
def test_the_level_is_the_largest_ratio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = dx.line(6)
    pairs = random_pairs(space, rng, 4)
    channel = rng.dirichlet(np.full(4, 0.5), size=6)
    found = dx.evaluate.belief_level(channel, pairs)
    ratios = largest_ratio(pairs.first, pairs.second, channel)
    levels = [
        math.inf if ratio is None else math.log(max(ratio, 1)) / distance
        for ratio, distance in zip(ratios, pairs.distances, strict=True)
    ]
    assert found.epsilon == pytest.approx(max(levels), rel=1e-12)
    if math.isfinite(found.epsilon):
        budgets = [Fraction(found.epsilon) * Fraction(float(distance)) for distance in pairs.distances]
        assert keeps(pairs.first, pairs.second, budgets, channel), "rounded up: proven"
    assert found.pair is not None
    assert levels[found.pair] == max(levels)
    sides = [expected(side[found.pair], channel)[int(found.report)] for side in (pairs.first, pairs.second)]
    assert found.expected == pytest.approx([float(side) for side in sides], rel=1e-12)
    assert found.name == pairs.names[found.pair]
    assert float(found) == found.epsilon


def test_a_report_of_one_belief_alone_is_infinite() -> None:
    pairs = dx.BeliefPairs([[0.5, 0.5, 0.0]], [[0.0, 0.0, 1.0]])
    found = dx.evaluate.belief_level([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], pairs)
    assert found.epsilon == math.inf
    assert (found.pair, found.report) == (0, "0")
    assert "inf" in str(found)


def test_a_constant_report_tells_nothing() -> None:
    pairs = random_pairs(dx.line(4), np.random.default_rng(1))
    found = dx.evaluate.belief_level(np.tile([0.25, 0.75], (4, 1)), pairs)
    assert found.epsilon <= 1e-12
    certain = dx.BeliefPairs([[1.0, 0.0]], [[0.0, 1.0]])
    assert str(dx.evaluate.belief_level([[0.5, 0.5], [0.5, 0.5]], certain)).endswith(
        "no report tells any beliefs apart"
    )


def test_certain_beliefs_measure_ordinary_privacy() -> None:
    space = dx.line(5)
    for mechanism in (dx.tight_constraints(space, 0.7), dx.classic.exponential(space, epsilon=0.7)):
        certain = np.eye(5)
        apart = [(x, y) for x in range(5) for y in range(5) if x != y]
        sides = ([certain[x] for x, _ in apart], [certain[y] for _, y in apart])
        pairs = dx.BeliefPairs(*sides, distances=[space.distances[pair] for pair in apart], labels=space.labels)
        plain = dx.evaluate.smallest_epsilon(mechanism)
        assert dx.evaluate.belief_level(mechanism, pairs).epsilon == pytest.approx(plain, rel=1e-12)


def test_a_household_multiplies_what_a_record_gives() -> None:
    """All three are ill together or none is: the noise of one record at ε gives 3 ε about any of them."""
    together = [1 / 2 if len(set(database)) == 1 else 0.0 for database in HOUSEHOLDS]
    pairs = dx.BeliefPairs.bayesian(FLU, together, known=0)
    level = 0.4
    keep = math.exp(level) / (1 + math.exp(level))
    one = np.array([[keep, 1 - keep], [1 - keep, keep]])
    each = np.kron(np.kron(one, one), one)
    independent = dx.BeliefPairs.bayesian(FLU, "uniform", known=0)
    assert dx.evaluate.belief_level(each, independent).epsilon == pytest.approx(level, rel=1e-12)
    found = dx.evaluate.belief_level(each, pairs)
    assert found.epsilon == pytest.approx(3 * level, rel=1e-12)


def test_implicit_mechanisms_are_measured_by_their_rows() -> None:
    space = dx.line(40)
    tight = dx.tight_constraints(space, 1.0)
    pairs = dx.BeliefPairs.pufferfish(space, [(range(20), range(20, 40))], "uniform")
    found = dx.evaluate.belief_level(tight, pairs)
    assert found.epsilon == dx.evaluate.belief_level(tight.matrix, pairs).epsilon
    ratios = [float(ratio) for ratio in largest_ratio(pairs.first, pairs.second, tight.matrix) if ratio is not None]
    assert found.epsilon == pytest.approx(math.log(max(ratios)), rel=1e-12)


def test_integer_tables_are_measured_with_what_doubles_lose() -> None:
    space = dx.line(5)
    pairs = random_pairs(space, np.random.default_rng(8)).at(0.3)
    report = dx.solve(dx.Problem(space, epsilon=3.0, prior="uniform", beliefs=pairs))
    table = dx.integer_table(report.mechanism)
    found = dx.evaluate.belief_level(table, pairs)
    assert found.epsilon == pytest.approx(0.3, rel=1e-9)
    counts = [[Fraction(count, table.total) for count in row] for row in table.counts.tolist()]
    budgets = [Fraction(found.epsilon) * Fraction(float(distance)) for distance in pairs.distances]
    for theta, other, budget in zip(pairs.first, pairs.second, budgets, strict=True):
        power = sum((budget**k / math.factorial(k) for k in range(40)), Fraction(0))
        for report_counts in zip(*counts, strict=True):
            ours, theirs = (
                sum((Fraction(float(w)) * count for w, count in zip(side, report_counts, strict=True)), Fraction(0))
                for side in (theta, other)
            )
            assert ours <= power * theirs


def test_wrong_arguments_are_refused() -> None:
    pairs = dx.BeliefPairs.of(dx.line(3), [(np.eye(3)[0], np.eye(3)[1])])
    refused: list[tuple[str, Any, Any]] = [
        ("pairs", [[1.0], [1.0]], pairs),
        ("pairs", dx.tight_constraints(dx.line(3, step=2.0), 1.0), pairs),
        ("mechanism", [[0.5], [1.0], [1.0]], pairs),
        ("pairs", [[1.0], [1.0], [1.0]], "uniform"),
    ]
    for field, mechanism, about in refused:
        with pytest.raises(dx.SpecError) as raised:
            dx.evaluate.belief_level(mechanism, about)
        assert raised.value.field == field
