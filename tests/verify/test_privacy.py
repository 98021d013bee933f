"""Privacy as the verifier decides it, in the last place, and which pairs it is about: against rationals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dxopt.verify.privacy import Channel, Levels, bound_pairs, excess, is_least, powers_below, violation
from tests.judges.exact import exp_enclosure, violations

TIMES = 30


def apart(rng: np.random.Generator, size: int) -> np.ndarray:
    """Distances of points on a line at no round places."""
    places = np.sort(rng.random(size)) * 10.0 ** rng.uniform(-2, 1)
    return np.abs(places[:, None] - places[None, :])


def test_adjacent_pairs_are_those_of_the_definition() -> None:
    """Points between which there is none, by rationals, where ways over a third one are longer by a hair or not."""
    rng = np.random.default_rng(11)
    slack, shorter = 1 + Fraction(1e-12), 1 - Fraction(1e-9)
    hair = Fraction(1, 10**15)
    for gap in (0.0, 1e-13, 1e-10, 1e-8, 1e-3):
        for _ in range(TIMES):
            places = np.concatenate([rng.random(3), rng.random(2) * gap])
            distances = np.abs(places[:, None] - places[None, :]) * (1 + 3e-12 * rng.random((5, 5)))
            np.fill_diagonal(distances, 0.0)
            lengths = [[Fraction(number) for number in row] for row in distances.tolist()]
            found = bound_pairs(distances, "adjacent")
            for a, b in np.argwhere(~np.eye(5, dtype=bool)).tolist():
                length = lengths[a][b]
                ways = [(lengths[a][c], lengths[c][b]) for c in range(5)]
                doubtful = any(
                    abs(there + back - slack * length) <= hair * length
                    or abs(max(there, back) - shorter * length) <= hair * length
                    for there, back in ways
                )
                between = any(
                    there + back <= slack * length and max(there, back) < shorter * length for there, back in ways
                )
                assert doubtful or found[a, b] == (not between)


@pytest.mark.parametrize("budget", [1e-15, 1e-3, 1.0, 30.0, 650.0, 699.9, 701.0])
def test_privacy_is_decided_in_the_last_place(budget: float) -> None:
    rng = np.random.default_rng(int(budget))
    distances = np.array([[0.0, budget], [budget, 0.0]])
    levels = Levels.of(distances, bound_pairs(distances, "all"), Fraction(1))
    seen = set()
    for places in range(-8, 9):
        high = float(rng.uniform(0.2, 0.4))
        low = high * math.exp(-budget) * (1 + places * 2.0**-53)
        matrix = np.array([[high, 1 - high], [low, 1 - low]])
        broken = bool(violations(matrix, distances, 1.0))
        assert (violation(Channel.of(matrix), levels) is not None) == broken
        seen.add(broken)
    assert len(seen) == 2


def exact_excess(matrix: np.ndarray, levels: Levels) -> tuple[Fraction, Fraction]:
    """Rationals below and above the largest Σ_z max(0, K[x, z] - e^{εd} K[x', z])."""
    found = [Fraction(0), Fraction(0)]
    for x, other in np.argwhere(levels.bound).tolist():
        around = exp_enclosure(levels.exponent(levels.which[x, other]), 400)
        for side, power in enumerate(reversed(around)):
            over = [
                Fraction(a) - power * Fraction(b)
                for a, b in zip(matrix[x].tolist(), matrix[other].tolist(), strict=True)
            ]
            found[side] = max(found[side], sum((max(Fraction(0), one) for one in over), Fraction(0)))
    return found[0], found[1]


@pytest.mark.parametrize("reports", [2, 300])
def test_delta_is_decided_in_the_last_place(reports: int) -> None:
    rng = np.random.default_rng(reports)
    for _ in range(8):
        distances = apart(rng, 3)
        levels = Levels.of(distances, bound_pairs(distances, "all"), Fraction(1, 3))
        matrix = rng.dirichlet(np.full(reports, 0.3), 3)
        low, high = exact_excess(matrix, levels)
        channel = Channel.of(matrix)
        below, above = low - Fraction(1, 2**60), high + Fraction(1, 2**60)
        least, broken = excess(channel, levels, below)
        assert broken is not None
        assert levels.bound[broken[:2]]
        assert high - Fraction(1, 10**12) * reports <= least <= high
        assert excess(channel, levels, above)[1] is None


@pytest.mark.parametrize("budget", [1e-9, 1e-3, 1.0, 100.0])
def test_a_level_is_the_least_up_to_what_is_said(budget: float) -> None:
    distances = np.array([[0.0, budget], [budget, 0.0]])
    low = 0.25 * math.exp(-budget)
    channel = Channel.of(np.array([[0.25, 0.75], [low, 1 - low]]))
    bound_by = bound_pairs(distances, "all")
    for more, least in ((0.0, True), (0.5e-12, True), (3e-12, False), (1e-6, False)):
        level = 1 + Fraction(more * (1 + budget) / budget)
        assert is_least(channel, Levels.of(distances, bound_by, level)) is least, more


def test_the_first_triple_that_breaks_privacy_is_found() -> None:
    """Entries of 1 are looked at as all others are, and those of 0 break nothing."""
    distances = np.array([[0.0, 0.1], [0.1, 0.0]])
    levels = Levels.of(distances, bound_pairs(distances, "all"), Fraction(1))
    assert violation(Channel.of(np.array([[1.0, 0.0], [0.5, 0.5]])), levels) == (0, 1, 0)
    assert violation(Channel.of(np.array([[0.0, 1.0], [0.5, 0.5]])), levels) == (0, 1, 1)
    assert violation(Channel.of(np.array([[0.0, 1.0], [0.0, 1.0]])), levels) is None


@pytest.mark.parametrize("epsilon", [0.7, 1.0, 3.3e-5])
def test_powers_of_many_distances_are_lower_bounds(epsilon: float) -> None:
    """All at once, in doubles, below e^(εd) by at least 2^-49 and by little more than the rounding of εd."""
    rng = np.random.default_rng(3)
    distances = np.concatenate([rng.uniform(0, 10, 40), rng.uniform(0, 1e-3, 20), rng.uniform(500, 1500, 20), [0.0]])
    for distance, found in zip(distances.tolist(), powers_below(epsilon, distances).tolist(), strict=True):
        exponent = min(Fraction(epsilon) * Fraction(distance), Fraction(700))
        true = exp_enclosure(exponent, 200)[0]
        assert true * (1 - (4 + exponent) * Fraction(1, 1 << 48)) <= Fraction(found)
        assert Fraction(found) <= true * (1 - Fraction(1, 1 << 49))
