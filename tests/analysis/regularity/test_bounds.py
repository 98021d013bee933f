"""Bounds on utility and leakage (ECP14 §5), and mechanisms optimal on the whole region (ECP14 §6)."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog

import dxopt as dx
from dxopt.analysis import regularity
from dxopt.analysis.regularity.verdicts import separates
from dxopt.analysis.regularity.weights import Quotient

SPACES = {
    "line": lambda: dx.line(6),
    "grid": lambda: dx.grid((3, 3)),
    "cycle": lambda: dx.MetricSpace.from_graph(nx.cycle_graph(5)),
    "bipartite": lambda: dx.MetricSpace.from_graph(nx.complete_bipartite_graph(2, 3)),
}


def exponential(space: dx.MetricSpace, epsilon: float) -> dx.Mechanism:
    weights = np.exp(-0.5 * epsilon * space.distances)
    return dx.Mechanism.from_matrix(space, weights / weights.sum(axis=1, keepdims=True))


def tight(space: dx.MetricSpace, epsilon: float) -> dx.Mechanism:
    problem = dx.Problem(space, epsilon=epsilon, prior=dx.Prior.uniform(space), loss="binary")
    return dx.solve(problem, method="tight").mechanism


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("epsilon", [0.4, 1.2])
def test_no_private_mechanism_beats_the_bounds(name: str, epsilon: float) -> None:
    space = SPACES[name]()
    rng = np.random.default_rng(3)
    uniform = dx.Prior.uniform(space)
    mechanisms = [exponential(space, epsilon)]
    mechanisms += [m.compose(rng.dirichlet(np.ones(4), len(space))) for m in mechanisms]
    if regularity.verdict(uniform, space, epsilon).status == "regular":
        mechanisms.append(tight(space, epsilon))
    corners = np.array([corner.probabilities for corner in regularity.corner_priors(space, epsilon)])
    regular = [dx.Prior.from_weights(space, rng.dirichlet(np.ones(len(space))) @ corners) for _ in range(3)]
    anything = [dx.Prior.from_weights(space, rng.random(len(space)) ** 4) for _ in range(3)]
    for prior in (*regular, *anything):
        best = regularity.binary_utility_bound(prior, space, epsilon)
        for mechanism in mechanisms:
            assert dx.evaluate.utility(mechanism, prior) <= best * (1 + 1e-12)
        optimum = dx.solve(dx.Problem(space, epsilon=epsilon, prior=prior, loss="binary"), method="optimal")
        assert best >= 1 - optimum.certificate.value - 1e-12
    for prior in regular:
        bound = regularity.utility_bound(prior, space, epsilon)
        assert bound >= regularity.binary_utility_bound(prior, space, epsilon) - 1e-9
        for mechanism in mechanisms:
            leaked = dx.evaluate.min_entropy_leakage(mechanism, prior)
            assert leaked <= regularity.leakage_bound(prior, space, epsilon) + 1e-12


@pytest.mark.parametrize("name", SPACES)
def test_the_tight_mechanism_attains_them(name: str) -> None:
    space = SPACES[name]()
    epsilon = 1.3
    mechanism = tight(space, epsilon)
    corners = np.array([corner.probabilities for corner in regularity.corner_priors(space, epsilon)])
    for seed in range(3):
        gamma = np.random.default_rng(seed).dirichlet(np.ones(len(space)))
        prior = dx.Prior.from_weights(space, gamma @ corners)
        utility = dx.evaluate.utility(mechanism, prior)
        bound = regularity.utility_bound(prior, space, epsilon)
        assert utility <= bound * (1 + 1e-14)
        assert utility == pytest.approx(bound, abs=1e-11)
        assert utility == pytest.approx(regularity.binary_utility_bound(prior, space, epsilon), abs=1e-6)
        leaked = dx.evaluate.min_entropy_leakage(mechanism, prior)
        assert leaked == pytest.approx(regularity.leakage_bound(prior, space, epsilon), abs=1e-10)
        assert leaked <= regularity.leakage_bound(None, space, epsilon)


def test_one_sided_bound_has_the_right_orientation() -> None:
    space = dx.MetricSpace.from_distances([[0.0, 0.2], [3.0, 0.0]])
    phi = regularity.phi(space, 1.0)
    assert phi[0, 1] == pytest.approx(math.exp(-0.2))
    weight = np.linalg.solve(phi.T, np.ones(2))
    channel = dx.Mechanism.from_matrix(space, phi.T * weight)
    prior = dx.Prior.from_weights(space, phi @ np.array([1.0, 2.0]))
    bound = regularity.utility_bound(prior, space, 1.0)
    assert dx.evaluate.utility(channel, prior) == pytest.approx(bound, abs=1e-12)
    assert regularity.is_optimal_on_region(channel, 1.0).status == "optimal"
    optimum = dx.solve(dx.Problem(space, epsilon=1.0, prior=prior, loss="binary"), method="optimal").certificate
    assert 1 - optimum.value == pytest.approx(bound, abs=1e-6)


def test_irregular_priors_have_no_regular_bound() -> None:
    space = dx.line(4)
    prior = dx.Prior.from_weights(space, [1, 30, 1, 30])
    with pytest.raises(dx.SpecError, match="binary_utility_bound"):
        regularity.utility_bound(prior, space, 0.5)
    problem = dx.Problem(space, epsilon=0.5, prior=prior, loss="binary")
    best = 1 - dx.solve(problem, method="optimal").certificate.value
    assert best - 1e-12 <= regularity.binary_utility_bound(prior, space, 0.5) < 0.8


@pytest.mark.parametrize(("values", "individuals", "epsilon"), [(2, 3, 0.7), (3, 2, 1.5), (4, 3, 0.1)])
def test_leakage_about_a_database(values: int, individuals: int, epsilon: float) -> None:
    databases = list(itertools.product(range(values), repeat=individuals))
    space = dx.MetricSpace.from_points(databases, "hamming")
    bound = regularity.database_leakage_bound(values, individuals, epsilon)
    grown = math.exp(epsilon)
    assert bound == pytest.approx(individuals * math.log2(values * grown / (values - 1 + grown)), abs=1e-12)
    assert bound == pytest.approx(regularity.leakage_bound(None, space, epsilon), abs=1e-10)


def test_published_leakage_bound() -> None:
    assert regularity.database_leakage_bound(4, 5, 0.5) == pytest.approx(2.523, abs=5e-4)
    assert regularity.database_leakage_bound(4, 5, 1000.0) == pytest.approx(10.0)
    assert regularity.database_leakage_bound(1, 5, 1.0) == pytest.approx(0.0, abs=1e-12)
    for bad in ((0, 5, 1.0), (4, 2.5, 1.0), (4, 5, 0.0)):
        with pytest.raises(dx.SpecError):
            regularity.database_leakage_bound(*bad)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", SPACES)
def test_tight_mechanisms_in_disguise_are_optimal_on_the_region(name: str) -> None:
    space = SPACES[name]()
    epsilon = 1.3
    rng = np.random.default_rng(8)
    mechanism = tight(space, epsilon)
    size = len(space)
    shuffled = mechanism.remap(rng.permutation(size))
    split = mechanism.compose(np.concatenate([0.3 * np.eye(size), 0.7 * np.eye(size)], axis=1))
    for disguised in (mechanism, shuffled, split):
        found = regularity.is_optimal_on_region(disguised, epsilon)
        assert found.status == "optimal"
        assert found.remap is not None
        back = disguised.remap(found.remap, mechanism.reports)
        assert back.matrix == pytest.approx(mechanism.matrix, abs=1e-12)


@pytest.mark.parametrize("name", SPACES)
def test_other_mechanisms_are_not(name: str) -> None:
    space = SPACES[name]()
    epsilon = 1.3
    blurred = tight(space, epsilon).compose(0.99 * np.eye(len(space)) + 0.01 / len(space))
    for mechanism in (exponential(space, epsilon), blurred, tight(space, epsilon * 0.999)):
        found = regularity.is_optimal_on_region(mechanism, epsilon)
        assert found.status == "not optimal"
        assert found.remap is None
        assert found.shortfall > 1e-5


def test_mechanisms_that_are_not_private_are_refused() -> None:
    space = dx.line(4)
    with pytest.raises(dx.SpecError, match="not private"):
        regularity.is_optimal_on_region(tight(space, 1.3), 1.2)


def test_shortfall_bounds_the_loss_of_utility() -> None:
    space = dx.line(5)
    epsilon = 1.0
    blurred = tight(space, epsilon).compose((1 - 1e-7) * np.eye(5) + 1e-7 / 5)
    found = regularity.is_optimal_on_region(blurred, epsilon)
    assert 1e-9 < found.shortfall < 1e-6
    prior = regularity.corner_prior(space, epsilon, index=2)
    bound = regularity.utility_bound(prior, space, epsilon)
    assert dx.evaluate.utility(blurred, prior) >= bound * (1 - found.shortfall) - 1e-15


def test_classes_are_those_of_the_symmetry() -> None:
    grid = dx.grid((4, 4))
    assert len(Quotient.of(grid.distances, np.full(16, 1 / 16))) == 3
    assert len(Quotient.of(grid.distances, np.arange(1.0, 17.0))) == 16
    star = dx.MetricSpace.from_graph(nx.star_graph(5))
    assert sorted(Quotient.of(star.distances, np.full(6, 1 / 6)).sizes) == [1, 5]


def test_classes_look_both_ways() -> None:
    """Every row holds 0, 1 and 2, but the columns differ."""
    assert len(Quotient.of(np.array([[0.0, 1, 2], [1, 0, 2], [1, 2, 0]]), np.full(3, 1 / 3))) > 1


def test_bound_for_every_prior_is_the_linear_program() -> None:
    space = dx.MetricSpace.from_graph(nx.star_graph(5))
    epsilon = 0.6
    prior = dx.Prior.from_weights(space, [1.0, 3, 3, 3, 3, 3])
    phi = regularity.phi(space, epsilon)
    direct = linprog(np.ones(6), A_ub=-phi, b_ub=-prior.probabilities, bounds=(0, None)).fun
    assert regularity.binary_utility_bound(prior, space, epsilon) == pytest.approx(direct, abs=1e-9)
    with pytest.raises(dx.SpecError, match="not regular"):
        regularity.utility_bound(dx.Prior.from_weights(dx.line(4), [1, 1.4, 1, 1.4]), dx.line(4), 0.4)


def test_rounding_excludes_nothing() -> None:
    mechanism = tight(dx.grid((3, 3)), 1.3)
    assert regularity.is_optimal_on_region(mechanism, 1.3, tolerance=1e-300).status != "not optimal"


def test_a_separating_vector_holds_on_the_whole_interval() -> None:
    middle = np.array([[1.0, 0.5], [1.2, 1.0]])
    assert separates(middle, middle)
    assert not separates(middle - 0.3, middle + 0.3)
