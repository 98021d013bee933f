"""Des20 and HLM14 beyond relations between secrets: families of adversaries, classifiers, functions, noise."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import dxopt as dx
from dxopt.mechanisms.noise import Geometric, Laplace, ManhattanLaplace, Noise, PlanarLaplace, Staircase
from tests.judges.oracle_beliefs import best_for_beliefs, given

HOUSEHOLD = dx.Universe.databases([0, 1], 3)
PEOPLE: Any = HOUSEHOLD.secrets
BELIEFS = ([5, 1, 1, 1, 1, 1, 1, 5], [1, 1, 1, 1, 1, 1, 1, 1], [1, 4, 4, 1, 4, 1, 1, 0])


def test_prior_privacy_holds_against_each_of_a_family() -> None:
    """Des20, prior: the optimum against several adversaries, by a dense program over all of their conditionals."""
    family = [np.array(weights) / sum(weights) for weights in BELIEFS]
    space = HOUSEHOLD.space()
    pairs = dx.BeliefPairs.bayesian(HOUSEHOLD, family, known=0).at(0.6)
    problem = dx.Problem(space, epsilon=None, beliefs=pairs, prior=family[0], loss="distance")
    value = dx.solve(problem).certificate.value
    first, second = [], []
    for belief, person in itertools.product(family, range(3)):
        sides = [given(belief.tolist(), [database[person] == value for database in PEOPLE]) for value in (0, 1)]
        for one, other in (sides, sides[::-1]):
            first.append([float(p) for p in one or []])
            second.append([float(p) for p in other or []])
    oracle = best_for_beliefs(space.distances, family[0], np.array(first), np.array(second), [0.6] * len(first))
    assert abs(value - oracle) <= 1e-7
    alone = [dx.BeliefPairs.bayesian(HOUSEHOLD, [belief], known=0).at(0.6) for belief in family]
    values = [dx.solve(problem.but(beliefs=single)).certificate.value for single in alone]
    assert value >= max(values) - 1e-7


def _predictions(training: tuple[int | None, ...]) -> list[float]:
    """A classifier that answers 1 with the share of ones among its records, each answer counted once before."""
    there = [record for record in training if record is not None]
    one = (sum(there) + 1) / (len(there) + 2)
    return [1 - one, one]


def test_differential_training_privacy_is_the_level_of_one_pair() -> None:
    """Des20: how far a classifier's predictions tell whether one record was among its training data."""
    universe = dx.Universe.databases([0, 1], 3, absent=True)
    sets: Any = universe.secrets
    classifier = np.array([_predictions(training) for training in sets])
    certain = np.eye(len(universe))
    data = (1, 1, 0)
    for record in range(3):
        without = tuple(None if index == record else value for index, value in enumerate(data))
        pair = dx.BeliefPairs.of(universe, [(certain[universe.places[data]], certain[universe.places[without]])])
        ratios = np.log(_predictions(data)) - np.log(_predictions(without))
        found = dx.evaluate.belief_level(classifier, pair)
        assert found.epsilon == pytest.approx(float(np.abs(ratios).max()), rel=1e-12)


def test_any_divergence_goes_with_any_relation() -> None:
    """Des20, adjacency relation divergence: here Rényi of order 2 between neighbours in a policy graph."""
    universe = dx.Universe.databases([0, 1, 2], 1)
    space = dx.neighbours(universe, "blowfish", policy=[(0, 1), (1, 2)])
    matrix = np.array([[0.6, 0.3, 0.1], [0.4, 0.4, 0.2], [0.1, 0.4, 0.5]])
    mechanism = dx.Mechanism.from_matrix(space, matrix)
    expected = max(math.log((matrix[x] ** 2 / matrix[y]).sum()) for x, y in ((0, 1), (1, 0), (1, 2), (2, 1)))
    assert dx.evaluate.divergence(mechanism, "renyi", order=2) == pytest.approx(expected, rel=1e-12)


WIDTHS = np.array([0.25, 0.5, 1.0, 0.25])
"""How long each reading of a meter holds."""
READINGS = np.array([[0.0, 1.0, 1.0, 0.0], [0.5, 1.0, 0.5, 0.0], [2.0, 0.0, 1.0, 1.0], [2.0, 0.5, 1.0, 3.0]])


def test_functions_under_l_2_and_l_infinity() -> None:
    """HLM14 Example 2, Des20 functional: readings that hold until the next one, as functions on [0, T]."""
    times = np.arange(0, 2, 1 / 64) + 1 / 128
    place = np.searchsorted(np.cumsum(WIDTHS), times)
    sampled = READINGS[:, place]
    apart = sampled[:, None, :] - sampled[None, :, :]
    integrals = np.sqrt((apart**2).sum(axis=2) / 64)
    squares = dx.MetricSpace.from_points(READINGS * np.sqrt(WIDTHS), "euclidean")
    largest = dx.MetricSpace.from_points(READINGS, "chebyshev")
    assert np.allclose(squares.distances, integrals, atol=1e-12)
    assert np.allclose(largest.distances, np.abs(apart).max(axis=2), atol=1e-12)
    for space in (squares, largest):
        report = dx.solve(dx.Problem(space, epsilon=1.0, prior="uniform", loss="distance"))
        assert report.certificate.private
        ratios = np.log(report.mechanism.matrix[:, None, :] / report.mechanism.matrix[None, :, :])
        assert (ratios.max(axis=2) <= space.distances + 1e-9).all()
    # fewer times tell no more of two functions: finite-dimensional projections are nearer to each other
    fewer = dx.MetricSpace.from_points(READINGS[:, :2] * np.sqrt(WIDTHS[:2]), "euclidean")
    assert (fewer.distances <= squares.distances + 1e-15).all()


ON_LINES = [Laplace(0.7), Staircase(0.7), ManhattanLaplace(0.7, 3), PlanarLaplace(0.7)]


@pytest.mark.parametrize("noise", ON_LINES, ids=repr)
def test_additive_noise_is_the_database_and_noise(noise: Noise) -> None:
    """HLM14 §2.2: X_d = d + N. The same draws move with the database; neighbours look alike by ε times the norm."""
    shape = {ManhattanLaplace: (5, 3), PlanarLaplace: (5, 2)}.get(type(noise), (5,))
    rng = np.random.default_rng(4)
    data, other = rng.normal(size=shape), rng.normal(size=shape)
    drawn = [noise.sample(values, np.random.default_rng(9)) - values for values in (data, other)]
    assert np.allclose(drawn[0], drawn[1], atol=1e-12)
    if isinstance(noise, Staircase):
        apart = np.ceil(np.abs(data - other))  # private for whole steps
    else:
        norms = {PlanarLaplace: 2, ManhattanLaplace: 1}
        apart = np.linalg.norm(data - other, norms[type(noise)], axis=1) if data.ndim > 1 else np.abs(data - other)
    outputs = rng.normal(scale=4, size=(200, *shape))
    densities: Any = noise
    ratio = np.log(densities.density(outputs - data)) - np.log(densities.density(outputs - other))
    assert (ratio <= 0.7 * apart * (1 + 1e-12) + 1e-12).all()
    # rows are perturbed on their own: for the whole database levels add up
    assert (ratio.sum(axis=1) <= 0.7 * apart.sum() * (1 + 1e-12)).all()


def test_additive_noise_in_the_monoid_of_whole_numbers() -> None:
    noise = Geometric(0.5)
    data, other = np.array([3, 0, -7]), np.array([4, 2, -7])
    drawn = [noise.sample(values, np.random.default_rng(1)) - values for values in (data, other)]
    assert np.array_equal(drawn[0], drawn[1])
    outputs = np.arange(-40, 41)[:, None]
    ratio = np.log(noise.mass(outputs - data)) - np.log(noise.mass(outputs - other))
    assert np.allclose(ratio.max(axis=0), 0.5 * np.abs(data - other))
