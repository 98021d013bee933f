"""Leakage for any gain, and capacities: against strategies written out, and priors and gains at random."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import dxopt as dx
from tests.judges.rational import fractions
from tests.material.few import few


def mechanism(rng: np.random.Generator, secrets: int = 3, reports: int = 4) -> dx.Mechanism:
    matrix = rng.dirichlet(np.ones(reports), secrets)
    return dx.Mechanism.from_matrix(dx.line(secrets), matrix, dx.Reports(tuple(map(str, range(reports)))))


@pytest.mark.parametrize("seed", few(range(4)))
def test_an_adversary_plays_the_best_of_all_strategies(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = mechanism(rng)
    prior, gain = rng.dirichlet(np.ones(3)), rng.normal(size=(3, 3))
    found = dx.evaluate.g_leakage(made, prior, gain)
    strategies = [
        sum(prior[x] * made.matrix[x, z] * gain[x, guess[z]] for x in range(3) for z in range(4))
        for guess in product(range(3), repeat=4)
    ]
    assert found.after == pytest.approx(max(strategies), abs=1e-12)
    assert found.before == pytest.approx(max(prior @ gain), abs=1e-12)
    assert found.additive == pytest.approx(max(strategies) - max(prior @ gain), abs=1e-12)
    assert found.after == pytest.approx(dx.evaluate.utility(made, prior, gain), abs=1e-12)


def test_the_binary_gain_is_min_entropy() -> None:
    rng = np.random.default_rng(5)
    made, prior = mechanism(rng), rng.dirichlet(np.ones(3))
    by_name = dx.evaluate.g_leakage(made, prior)
    assert by_name.bits == pytest.approx(dx.evaluate.min_entropy_leakage(made, prior), abs=1e-12)
    assert by_name == dx.evaluate.g_leakage(made, prior, "binary")
    for gain in (np.eye(3), lambda x, w: float(x[0] == w[0])):
        other = dx.evaluate.g_leakage(made, prior, gain)
        assert (other.before, other.after) == pytest.approx((by_name.before, by_name.after), abs=1e-12)


def test_gains_that_are_negative_zero_or_infinite() -> None:
    made = dx.Mechanism.from_matrix(dx.line(2), np.eye(2))
    lost = dx.evaluate.g_leakage(made, [0.5, 0.5], np.array([[0.0, -3.0], [-3.0, 0.0]]))
    assert lost.additive == pytest.approx(1.5)
    with pytest.raises(dx.SpecError, match="gain"):
        _ = lost.bits
    first = dx.evaluate.g_leakage(made, [0.5, 0.5], np.array([[1.0, 0.0], [-1.0, 0.0]]))
    assert (first.before, first.bits) == (0.0, math.inf)
    assert dx.evaluate.g_leakage(made, [0.5, 0.5], np.zeros((2, 1))).bits == 0.0
    with pytest.raises(dx.SpecError, match="infinite"):
        dx.evaluate.g_leakage(made, [0.5, 0.5], np.array([[np.inf, 0.0], [0.0, 0.0]]))
    with pytest.raises(dx.SpecError, match=r"^gain: "):
        dx.evaluate.g_leakage(made, [0.5, 0.5], np.eye(3))
    with pytest.raises(dx.SpecError, match="no 'cubic'"):
        dx.evaluate.g_leakage(made, [0.5, 0.5], "cubic")


@pytest.mark.parametrize("seed", few(range(4)))
def test_no_prior_and_gain_leaks_more_than_the_min_capacity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = mechanism(rng)
    most = dx.evaluate.capacity(made)
    for _ in range(100):
        prior, gain = rng.dirichlet(np.full(3, 0.5)), rng.random((3, 5)) ** 3
        found = dx.evaluate.g_leakage(made, prior, gain)
        assert found.bits <= most
        assert found.bits <= dx.evaluate.capacity(made, prior)
    uniform = dx.evaluate.g_leakage(made, dx.Prior.uniform(made.space))
    assert uniform.bits == pytest.approx(most, abs=1e-12)
    # a prior that excludes nothing attains it with the gain 1 / π_x of guessing x right
    prior = rng.dirichlet(np.ones(3))
    assert dx.evaluate.g_leakage(made, prior, np.diag(1 / prior)).bits == pytest.approx(most, abs=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 17, 39])
def test_no_capacity_is_above_what_there_is_to_tell(size: int) -> None:
    made = dx.Mechanism.from_matrix(dx.line(size), np.eye(size))
    assert dx.evaluate.capacity(made) <= math.log2(size)
    prior = np.arange(size) < max(1, size // 2)
    assert dx.evaluate.capacity(made, prior / prior.sum()) <= math.log2(prior.sum())


def test_a_prior_that_excludes_secrets() -> None:
    made = dx.Mechanism.from_matrix(dx.line(3), [[1, 0, 0], [1, 0, 0], [0, 1, 0]])
    assert dx.evaluate.capacity(made) == pytest.approx(1.0)
    assert dx.evaluate.capacity(made, [0.5, 0.5, 0.0]) == pytest.approx(0.0, abs=1e-12)
    assert dx.evaluate.additive_capacity(made) == pytest.approx(1.0)
    assert dx.evaluate.additive_capacity(made, [0.5, 0.5, 0.0]) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", few(range(4)))
def test_additive_capacity_of_bounded_gains(seed: int) -> None:
    """Chatzikokolakis 2017: 1 - Σ_z min_x K[x, z], for every prior alike."""
    rng = np.random.default_rng(seed)
    made = mechanism(rng)
    most = dx.evaluate.additive_capacity(made)
    prior = rng.dirichlet(np.ones(3))
    assert dx.evaluate.additive_capacity(made, prior) == pytest.approx(most, abs=1e-12)
    for _ in range(100):
        # vulnerability is convex: below 1 at every corner, and above 0 as one guess gains nothing
        gain = np.concatenate([rng.uniform(-4, 1, (3, 5)), np.zeros((3, 1))], axis=1)
        assert dx.evaluate.g_leakage(made, rng.dirichlet(np.ones(3)), gain).additive <= most
    # guess w: "it is not w", 1 unless it is, and then 1 - 1/π_w
    attained = dx.evaluate.g_leakage(made, prior, 1.0 - np.diag(1 / prior))
    assert attained.before == pytest.approx(0.0, abs=1e-12)
    assert attained.additive == pytest.approx(most, abs=1e-12)


@pytest.mark.parametrize("seed", few(range(4)))
def test_additive_capacity_of_spanning_gains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    made = mechanism(rng)
    prior = rng.dirichlet(np.ones(3))
    most = dx.evaluate.additive_capacity(made, prior, gains="spanning")
    for _ in range(100):
        gain = rng.random((3, 5)).round() + rng.normal(size=5)
        assert dx.evaluate.g_leakage(made, prior, gain).additive <= most + 1e-15
    # guess z: whoever makes this report more often than all do; each shifted to gain nothing before any report
    gain = (made.matrix > prior @ made.matrix).astype(float)
    gain -= prior @ gain
    assert dx.evaluate.g_leakage(made, prior, gain).additive == pytest.approx(most, abs=1e-12)


def test_capacities_that_are_not_known_are_refused() -> None:
    made = mechanism(np.random.default_rng(0))
    with pytest.raises(dx.UnsupportedError, match="prior"):
        dx.evaluate.additive_capacity(made, gains="spanning")
    with pytest.raises(dx.SpecError, match="NP-hard"):
        dx.evaluate.additive_capacity(made, gains="binary")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("seed", few(range(25)))
def test_capacities_are_rounded_up(seed: int) -> None:
    """Against rationals: above the exact number, by no more than a few of the last places."""
    rng = np.random.default_rng(seed)
    made = mechanism(rng, 4, 9)
    rows, prior = fractions(made.matrix), dx.Prior.of(rng.dirichlet(np.ones(4)), made.space)
    largest = sum((max(column) for column in zip(*rows, strict=True)), Fraction(0))
    with localcontext() as context:
        context.prec = 60
        exact = (Decimal(largest.numerator) / Decimal(largest.denominator)).ln() / Decimal(2).ln()
        found = Decimal(dx.evaluate.capacity(made))
        assert exact <= found <= exact + Decimal("1e-14")
    least = 1 - sum((min(column) for column in zip(*rows, strict=True)), Fraction(0))
    assert least <= Fraction(dx.evaluate.additive_capacity(made)) <= least + Fraction(1, 10**14)
    weights = [Fraction(weight) for weight in prior.probabilities.tolist()]
    means = [sum((w * row[z] for w, row in zip(weights, rows, strict=True)), Fraction(0)) for z in range(9)]
    spanning = sum(
        (w * max(Fraction(0), row[z] - means[z]) for w, row in zip(weights, rows, strict=True) for z in range(9)),
        Fraction(0),
    )
    found = Fraction(dx.evaluate.additive_capacity(made, prior, gains="spanning"))
    assert spanning <= found <= spanning + Fraction(1, 10**13)


def test_what_hardly_leaks_is_rounded_up_as_well() -> None:
    """Probabilities of thirds sum to a little less than 1, so that entries are a little above their average."""
    made = dx.Mechanism.from_matrix(dx.line(3), np.full((3, 3), 1 / 3))
    third = Fraction(1 / 3)
    exact = 3 * third * 3 * (third - 3 * third * third)
    assert 0 < exact <= Fraction(dx.evaluate.additive_capacity(made, np.full(3, 1 / 3), gains="spanning"))


def test_mechanisms_that_are_never_written_down() -> None:
    """Laws of the truncated geometric mechanism: its capacity is that of its diagonal."""
    small, large = (dx.tight_constraints(dx.line(size), 0.5) for size in (50, 800))
    written = dx.Mechanism.from_matrix(small.space, small.matrix)
    assert dx.evaluate.capacity(small) == pytest.approx(dx.evaluate.capacity(written), abs=1e-10)
    assert dx.evaluate.capacity(large) > dx.evaluate.capacity(small) + 3
